"""Which memories a session opens.

Responsible for opening them and for whether they may be changed. Leaves what is shown to ``pages``.
Invariants: a memory that was found on this machine and is not known is shown, and never changed;
with a token, a session opens and changes what the token allows, checked with every call.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from typing import Final, Protocol

from recollect.errors import NotFound, Unsupported
from recollect.interfaces.web.asked import Place
from recollect.interfaces.web.login.session import Session
from recollect.memory import Memory, Store
from recollect.memory.handle.handle import handle_of
from recollect.model.values import Token
from recollect.places import known
from recollect.serving.entries import Entries, Entry

READ_ONLY: Final = "The inspector was started with --read-only, so nothing can be changed here."
UNKNOWN: Final = (
    "This memory was not created on this machine, so nothing can be changed here: "
    "run `recollect init` to adopt it, if you trust its author."
)
NO_WRITES: Final = "Your token may read but not write, so nothing can be changed here."


class Takes(Protocol):
    """Counts requests of tokens."""

    def __call__(self, token: str, kind: str) -> None:
        """Counts one; an error with a sentence if there are too many."""


class Reach(Protocol):
    """What one session reaches, for the time of one request."""

    @property
    def store(self) -> Store:
        """The store, with the rights of the session."""

    def spaces(self) -> list[str]:
        """The names of the memories that it sees."""

    def open(self, space: str) -> Memory:
        """A memory; NotFound if it sees none of that name."""

    def cannot_write(self, space: str) -> str | None:
        """Why nothing can be changed in it, or None."""

    def cannot_manage(self) -> str | None:
        """Why tokens and jobs cannot be changed, or None."""

    def token(self) -> Token | None:
        """The token that it was opened with; None for the person at this machine."""


class Memories(Protocol):
    """What sessions reach; ``recollect ui`` and a service answer differently."""

    def visit(self, session: Session) -> AbstractContextManager[Reach]:
        """What a session reaches; NotLetIn if it reaches nothing any more."""

    def place(self, root: str, space: str) -> Place:
        """Where a memory is, for the calls that a page lists."""

    def close(self) -> None:
        """Ends what is kept for sessions."""


class Own:
    """The memories of one store, for the person at this machine."""

    def __init__(self, store: Store, *, read_only: bool = False, named: str | None = None) -> None:
        self.store = store
        self._read_only = read_only
        self._named = named  # what --store said
        self._opened: dict[str, Memory] = {}
        self._known: set[str] = set()
        self._token: list[Token | None] = []  # what it allows does not change

    def visit(self, session: Session) -> AbstractContextManager[Own]:
        """Every session is the same person."""
        return nullcontext(self)

    def spaces(self) -> list[str]:
        """Every memory of the store."""
        return self.store.spaces()

    def open(self, space: str) -> Memory:
        """A memory that exists; opened once."""
        found = self._opened.get(space)
        if found is None or _is_gone(found):
            if space not in self.store.spaces():
                raise NotFound(
                    f"the space {space!r} does not exist", hint="choose one from the list"
                )
            found = self._opened[space] = self.store.space(space, create=False)
        return found

    def cannot_write(self, space: str) -> str | None:
        """The reason in a sentence, or None."""
        if self._read_only:
            return READ_ONLY
        if space not in self._known:
            if not known.is_known(self.store.settings, space):
                return UNKNOWN
            self._known.add(space)
        return None

    def cannot_manage(self) -> str | None:
        """The same for the whole store: every memory of it must be known."""
        return next(filter(None, map(self.cannot_write, self.spaces())), None)

    def token(self) -> Token | None:
        """The token that the store was opened with."""
        if not self._token:
            self._token.append(self.store.token())
        return self._token[0]

    def place(self, root: str, space: str) -> Place:
        """Where it is, for the calls that a page lists."""
        settings = self.store.settings
        service = settings.where if settings.is_service else None
        return Place(root=root, space=space, store=self._named, service=service)

    def close(self) -> None:
        """Nothing: the store belongs to the process."""


def _is_gone(memory: Memory) -> bool:
    """True if a memory was dropped or closed since, so that another one may have its name."""
    try:
        space = handle_of(memory).space
    except Unsupported:  # a memory of a service
        return False
    return space.is_dropped or space.is_closed


class Team:
    """The memories of a service, each session with the rights of its token."""

    def __init__(self, store: Store, address: str) -> None:
        self._entries = Entries(store)
        self._address = address  # of the service, for calls as curl and as Python

    @contextmanager
    def visit(self, session: Session) -> Iterator[Reach]:
        """What the token of a session opens now."""
        with self._entries.using(session.token) as entry:
            yield _Entered(entry)

    def place(self, root: str, space: str) -> Place:
        """Where it is: the service is how others name it."""
        return Place(root=root, space=space, store=self._address, service=self._address)

    def check(self, token: str) -> int | None:
        """The id of a token; NotLetIn if it is not valid now."""
        with self._entries.using(token) as entry:
            return entry.token_id

    def close(self) -> None:
        """Closes what sessions had entered."""
        self._entries.close()


class _Entered:
    """What one token reaches."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry

    @property
    def store(self) -> Store:
        return self._entry.store

    def spaces(self) -> list[str]:
        return self.store.spaces()

    def open(self, space: str) -> Memory:
        return self._entry.memory(space)

    def cannot_write(self, space: str) -> str | None:
        held = self.token()
        return None if held is not None and "write" in held.verbs else NO_WRITES

    def cannot_manage(self) -> str | None:
        return None  # each act says what it needs

    def token(self) -> Token | None:
        return self._held

    @cached_property
    def _held(self) -> Token | None:
        return self.store.token()  # asked once for each request
