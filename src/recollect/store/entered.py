"""A store entered with a token: it allows what the token does, no more.

Responsible for asking what the token allows before every call, and for refusing the rest. Leaves
the meaning of a token to ``store.tokens.grants``, and everything else to the engine, whose open
spaces all tokens share. Invariants: a token that has ended opens nothing from the next call on; a
space of others and one that does not exist are refused in the same words.

The process that has the files, or the login of the database, has all of them, so it is this module
that keeps callers apart, on every engine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from recollect.errors import Forbidden, RecollectError, Unavailable
from recollect.index.reads import Reads
from recollect.index.statements import NOW
from recollect.ledger.codec import decode
from recollect.ledger.line import Line, parse
from recollect.lifecycle.commands import Actor, Command, Name
from recollect.model.events import Head
from recollect.model.values import Backup, Drop, Dropped, Finding, Rebuilt, Sealed, Token
from recollect.store.deadline import limited
from recollect.store.entered_parts import GuardedCheckpoints, GuardedSubjects, GuardedVectors
from recollect.store.keys.subjects import Subjects
from recollect.store.keys.wrapped_keys import Wrapped
from recollect.store.listeners import Listener
from recollect.store.port import (
    Answer,
    Backend,
    Checkpoints,
    Opened,
    Progress,
    Space,
    Tick,
    Vectors,
)
from recollect.store.tokens.admins import AdminTokens
from recollect.store.tokens.grants import WHOLE, Grant
from recollect.store.tokens.tokens import Ended, given_token, hash_of, opens_none

if TYPE_CHECKING:  # loaded only if there is work
    from recollect.store.jobs.jobs import Jobs

T = TypeVar("T")


class Local(Backend, Protocol):
    """An engine whose spaces this process has open itself."""

    def looking(self, hash: bytes, name: str) -> AbstractContextManager[tuple[Token | None, bool]]:
        """The token of a hash, and whether there is a space: one look for the whole block."""
        ...

    def has(self, name: str) -> bool:
        """True if there is a space of this name."""
        ...

    def jobs(self, token: Callable[[], Token | None] = lambda: None) -> Jobs:
        """The work that was asked for, for the owner or for the holder of a token."""
        ...


class EnteredBackend:
    """The spaces that one token opens."""

    def __init__(
        self,
        backend: Local,
        token: str,
        opened: Opened,
        *,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self._backend = backend
        self._close = close
        self._hash = hash_of(given_token(token))
        self.opened = opened
        self._looked = threading.local()  # what this thread's look has found, in ``together``

    @property
    def where(self) -> str:
        """The location, for people."""
        return self._backend.where

    def token(self) -> Token:
        """What the token allows; refuses one that has ended."""
        looked: _Looked | None = getattr(self._looked, "found", None)
        found = self._backend.tokens().find(self._hash) if looked is None else looked.token
        return _live(found)

    @contextmanager
    def together(self, name: str) -> Iterator[None]:
        """What this thread asks of one space in this block is answered from one look."""
        with self._backend.looking(self._hash, name) as (token, is_there):
            self._looked.found = _Looked(name, token, is_there)
            try:
                _live(token)
                yield
            finally:
                self._looked.found = None

    @contextmanager
    def granted(self, name: str, *, create: bool = False) -> Iterator[Grant]:
        """What the token allows in a space; one that may be created need not exist."""
        looked: _Looked | None = getattr(self._looked, "found", None)
        if looked is not None and looked.name == name:
            yield self._grant(name, looked.token, looked.is_there, create=create)
            return
        with self._backend.looking(self._hash, name) as (token, is_there):
            yield self._grant(name, token, is_there, create=create)

    def _grant(self, name: str, found: Token | None, is_there: bool, *, create: bool) -> Grant:
        token = _live(found)
        may_create = create and token.space is None and "create" in token.verbs
        if token.space not in (None, name) or not (is_there or may_create):
            raise opens_none(name, token.space)
        holder = Name(text=token.user or token.label, checked="token", user=token.user)
        return Grant(name, frozenset(token.verbs), token.trust, token.user, token.agent, holder)

    def space(self, name: str, *, create: bool) -> EnteredSpace:
        """A space by name; nothing of it is looked at before it is used."""
        return EnteredSpace(self, name, create=create)

    def spaces(self) -> list[str]:
        """The names of the spaces that the token opens."""
        return self._opens(self.token())

    def _opens(self, token: Token) -> list[str]:
        if token.space is None:
            return self._backend.spaces()
        return [token.space] if self._backend.has(token.space) else []

    def heads(self, names: Iterable[str]) -> dict[str, int]:
        """The last event of each of these spaces that the token opens."""
        token = self.token()
        return self._backend.heads(name for name in names if token.space in (None, name))

    def drop(self, name: str, reason: str | None) -> Drop:
        """Drops a space, for a token that may."""
        with self.granted(name) as grant:
            grant.check_drop()
        shared = [self.opened(name, create=create) for create in (False, True)]
        done = self._backend.drop(name, reason)
        for space in shared:  # else files that are open would keep what was dropped
            with suppress(RecollectError):
                space.close()
        return done

    def would_drop(self, name: str) -> Drop:
        """What dropping a space would remove, for a token that may."""
        with self.granted(name) as grant:
            grant.check_drop()
        return self._backend.would_drop(name)

    def dropped(self) -> list[Dropped]:
        """The notes about dropped spaces, for a token that opens every space."""
        token = self.token()
        is_whole = token.space is None and token.user is None
        return self._backend.dropped() if is_whole else []

    def tokens(self) -> AdminTokens:
        """The tokens that this one may look after, if it may."""
        return AdminTokens(self._backend.tokens(), self.token, self._backend.has)

    def jobs(self, token: Callable[[], Token | None] = lambda: None) -> Jobs:
        """The work in the spaces that this token opens."""
        return self._backend.jobs(self.token)

    def entered(self, token: str, opened: Opened) -> EnteredBackend:
        """The same store under another token."""
        return EnteredBackend(self._backend, token, self.opened)

    def give_up(self) -> None:
        """Ends every wait for a server at once."""
        self._backend.give_up()

    def close(self) -> None:
        """Closes the store that was entered only if it was opened for this token alone."""
        self._close()


class EnteredSpace:
    """One space as one token allows it."""

    def __init__(self, backend: EnteredBackend, name: str, *, create: bool) -> None:
        self._backend = backend
        self._name = name
        self._create = create
        self._space: Space | None = None
        self._closed = False

    @property
    def name(self) -> str:
        """The space's name."""
        return self._name

    @property
    def where(self) -> str:
        """The location, for people."""
        return self._backend.where

    @property
    def widest(self) -> Actor:
        """The widest rights of a handle here: those of the token."""
        with self._granted() as grant:
            return Actor(trust=grant.trust, user=grant.user, agent=grant.agent)

    @property
    def is_dropped(self) -> bool:
        """True once this process has noticed that the space was dropped."""
        return self._space is not None and self._space.is_dropped

    @property
    def is_closed(self) -> bool:
        """True after ``close``, also of the store that was entered."""
        return self._closed or (self._space is not None and self._space.is_closed)

    def pages_folder(self) -> None:
        """No folder belongs to a token."""

    @contextmanager
    def _granted(self) -> Iterator[Grant]:
        """What the token allows now; asked before every call."""
        if self._closed:
            raise Unavailable("this memory is closed", hint="open it again")
        if self._space is not None and self._space.is_dropped:
            self._backend.token()
            self._space.head()  # refuses, and says that the space was dropped
        with self._backend.granted(self._name, create=self._create) as grant:
            yield grant

    @contextmanager
    def _inside(self, check: Callable[[Grant], None] = lambda grant: None) -> Iterator[Space]:
        """The space of the engine, if the token allows it; its reads see what the token was."""
        with self._granted() as grant:
            check(grant)
            yield self._opened()

    def _opened(self) -> Space:
        if self._space is None:
            self._space = self._backend.opened(self._name, create=self._create)
        return self._space

    def _allowed(self, check: Callable[[Grant], None] = lambda grant: None) -> Space:
        """The same, for what takes long or waits for other writers: nothing is held meanwhile."""
        with self._inside(check) as space:
            return space

    @contextmanager
    def together(self) -> Iterator[None]:
        """What this thread reads in this block is answered from one look at token and ledger."""
        with self._backend.together(self._name):
            yield

    # Writing.

    def submit(self, command: Command, answer: Answer[T]) -> T:
        """Decides, appends, folds; returns what ``answer`` reads in the same transaction."""
        with self._granted() as grant:
            admitted, space = grant.admitted(command), self._opened()
        return space.submit(admitted, answer)

    def submit_all(
        self, commands: Sequence[Command], answer: Answer[T]
    ) -> list[T | RecollectError]:
        """Submits many commands in as few appends as they fit into; an outcome for each."""
        refused: dict[int, RecollectError] = {}
        allowed: list[Command] = []
        with self._granted() as grant:
            space = self._opened()
            for place, command in enumerate(commands):
                try:
                    allowed.append(grant.admitted(command))
                except Forbidden as error:
                    refused[place] = error
        outcomes = iter(space.submit_all(allowed, answer))
        return [refused[at] if at in refused else next(outcomes) for at in range(len(commands))]

    def later(self, command: Command) -> bool:
        """Queues a command for this process's next append, or for ``flush`` or ``close``."""
        with self._granted() as grant:
            try:
                admitted = grant.admitted(command)
            except Forbidden:
                return False
            space = self._opened()
        return space.later(admitted)

    def flush(self) -> None:
        """Writes the queued commands of all who share the space."""
        self._allowed().flush()

    def on_append(self, call: Listener) -> Listener:
        """Has a function called after each append in this process; returns what ends it."""
        return self._allowed().on_append(call)

    @contextmanager
    def trying(self, command: Command) -> Iterator[Reads]:
        """Reads of the state after a command, which is then undone."""
        space = self._allowed(Grant.check_trial)
        with space.trying(command) as reads, limited(reads):
            yield reads

    @property
    def subjects(self) -> Subjects:
        """The users whose memory is encrypted; a token that only reads adds none."""
        with self._granted() as grant:
            subjects = self._opened().subjects
            return subjects if "write" in grant.verbs else GuardedSubjects(subjects)

    def destroy_keys(self, subjects: Collection[str], by: int) -> tuple[str, ...]:
        """Destroys keys with which nothing is encrypted, as an event orders."""
        return self._allowed(_check_erases).destroy_keys(subjects, by)

    # Reading.

    @contextmanager
    def reading(self, at: int = NOW) -> Iterator[Reads]:
        """Reads that all see one state; a handle shows those of the token's user."""
        with self._inside() as space, space.reading(at) as reads, limited(reads):
            yield reads

    def digest(self, at: int = NOW) -> str:
        """The state digest at a position."""
        with self._inside(_whole("the digest")) as space:
            return space.digest(at)

    def head(self) -> Head:
        """Where the ledger ends."""
        with self._inside() as space:
            return space.head()

    def seen(self) -> Head | None:
        """The last event that the index has folded."""
        with self._inside() as space:
            return space.seen()

    def vectors(self, name: str, dimensions: int) -> Vectors:
        """The vectors of an embedder; a token that sees less than all texts adds none."""
        with self._granted() as grant:
            keeps = "write" in grant.verbs and grant.user is None
            return GuardedVectors(self._opened().vectors(name, dimensions), keeps=keeps)

    def pieces(self, after: int = 0, offset: int = 0) -> Iterator[bytes]:
        """The bytes of the ledger, in pieces."""
        yield from self._allowed(_whole("reading the ledger")).pieces(after, offset)

    def line(self, seq: int) -> bytes | None:
        """The line of one event; a token for one user sees those that this user wrote."""
        with self._granted() as grant:
            space = self._opened()
            raw = space.line(seq)
            if raw is None or grant.user is None:
                return raw
            line = parse(raw)
            if line.erased_by is not None:
                return None
            whose = getattr(decode(line, space.subjects).body, "user", None)
            return raw if whose == grant.user else None

    def size_bytes(self) -> int:
        """About how many bytes ``pieces`` gives."""
        with self._inside() as space:
            return space.size_bytes()

    def tokens(self) -> list[Token]:
        """The tokens that open this space; those for its user, if this token is for one."""
        with self._granted() as grant:
            found = self._opened().tokens() if "erase" in grant.verbs else []
            return [one for one in found if grant.user in (None, one.user)]

    def checkpoints(self) -> Checkpoints:
        """The checkpoints beside the ledger."""
        return GuardedCheckpoints(lambda: self._allowed().checkpoints(), self._granted)

    # Receiving.

    def existing_head(self) -> Head:
        """The end of the ledger, without creating one."""
        with self._inside() as space:
            return space.existing_head()

    def admit(self, line: Line) -> None:
        """Refuses an event of another store that the token may not write."""
        self._allowed(lambda grant: grant.check_line(line)).admit(line)

    def receive(
        self, pieces: Iterable[bytes], tick: Tick | None = None, keys: Collection[Wrapped] = ()
    ) -> Head:
        """Appends the events that another store's ledger has beyond this one, unchanged."""
        check = Grant.check_keeps if keys else Grant.check_writes
        return self._allowed(check).receive(self._checked(pieces), tick, keys)

    def _checked(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """The same bytes, each line only after the token was found to allow it."""
        rest = b""
        with self._granted() as grant:
            pass  # what it allows at the start counts for the whole copy
        for piece in pieces:
            whole, newline, rest = (rest + piece).rpartition(b"\n")
            for raw in whole.split(b"\n") if newline else ():
                grant.check_line(parse(raw))
            yield whole + newline
        yield rest

    # Upkeep.

    def index_problem(self, progress: Progress | None = None) -> str | None:
        """How the index differs from a fresh fold of the ledger; None if it is equal."""
        return self._allowed(_whole("verifying")).index_problem(progress)

    def rebuild(self, progress: Progress | None = None) -> Rebuilt:
        """Discards the index and folds the whole ledger again."""
        return self._allowed(_writes("rebuilding")).rebuild(progress)

    def purge(self) -> tuple[str, ...]:
        """Finishes every recorded erasure; returns the places that it cleaned."""
        return self._allowed(Grant.check_writes).purge()

    def backup(self, target: str | None, progress: Progress | None = None) -> Backup:
        """Copies the ledger to a new folder."""
        return self._allowed(_whole("a backup")).backup(target, progress)

    def seal(self) -> Sealed:
        """Closes the active file into a segment."""
        return self._allowed(_writes("sealing")).seal()

    def examine(self, progress: Progress | None = None) -> list[Finding]:
        """The findings of ``doctor``; changes nothing."""
        with self._granted() as grant:
            space = self._opened()
        return space.examine(progress) if grant.user is None else [grant.not_looked_at()]

    def accept_loss(self, reason: str | None) -> None:
        """Accepts that events were lost."""
        self._allowed(_check_erases).accept_loss(reason)

    def close(self) -> None:
        """Refuses every later use of this handle; the space stays open for others."""
        if not self._closed and self._space is not None:
            with suppress(RecollectError):  # a receipt that cannot be written is not an error
                self._space.flush()
        self._closed = True


class _Looked(NamedTuple):
    """What one look has found."""

    name: str
    token: Token | None
    is_there: bool


def _live(found: Token | None) -> Token:
    if found is None:
        raise Ended("unknown", None)
    if not found.live:
        state, since = ("revoked", found.revoked) if found.revoked else ("expired", found.expires)
        raise Ended(state, since)
    return found


def _whole(what: str) -> Callable[[Grant], None]:
    return lambda grant: grant.check_whole(what)


def _writes(what: str) -> Callable[[Grant], None]:
    def check(grant: Grant) -> None:
        grant.check_writes()
        grant.check_whole(what)

    return check


def _check_erases(grant: Grant) -> None:
    """For what removes content outside a command: a person's token for the whole space."""
    if "erase" not in grant.verbs:
        raise Forbidden(f"this token may not erase in {grant.space!r}")
    if grant.trust != "person" or grant.user is not None or grant.agent is not None:
        raise Forbidden("this needs the whole ledger and a person", hint=WHOLE)
