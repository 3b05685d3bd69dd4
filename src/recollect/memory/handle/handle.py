"""What every call of a memory shares: its space, its actor, its position.

Responsible for finding rows that the actor may see, for turning arguments into a ``Wish``, and for
submitting commands. Leaves the calls themselves to the modules beside it. Invariant: a handle on a
past position writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TypeVar, cast, get_args

import msgspec

from recollect.compose import Embedders
from recollect.config import Settings
from recollect.errors import Forbidden, InvalidInput, NotFound, Unsupported
from recollect.index.reads import Reads
from recollect.index.rows import CommandRow, EpisodeRow, ReceiptRow, VersionRow
from recollect.index.statements import NOW
from recollect.index.values import episode_status
from recollect.lifecycle.commands import Act, Actor, Command, Expect, Name
from recollect.lifecycle.marks import require_same
from recollect.lifecycle.records.names import check_not_key, full_id
from recollect.memory.handle.acts import Acts
from recollect.memory.handle.due import Due
from recollect.memory.handle.kept import Kept
from recollect.memory.handle.repeats import repeated
from recollect.model import validate
from recollect.model.instants import Moment, instant
from recollect.model.presets import Units
from recollect.model.validate import Json
from recollect.recall.rank import Wish
from recollect.recall.visibility import check_include, why_hidden
from recollect.store.port import Outcome, Space
from recollect.store.seam import REAL, Seam

if TYPE_CHECKING:  # the filter is loaded only by calls that filter
    from recollect.finding.candidates import Question
    from recollect.index.filter import Filter

T = TypeVar("T")


class Handle:
    """A space as one actor sees it, now or at a past position."""

    def __init__(
        self,
        space: Space,
        seam: Seam = REAL,
        *,
        actor: Actor | None = None,
        position: int = NOW,
        seen_at: str | None = None,
        close: Callable[[], None] | None = None,
        embedders: Embedders | None = None,
        due: Due | None = None,
        name: Name | None = None,
    ) -> None:
        self.space = space
        self.seam = seam
        self.actor = actor or _first_actor(space, seam, name)
        self.position = position
        self.seen_at = seen_at  # the instant of a past position
        self.close = close or space.close
        self.embedders = embedders  # None for a handle that was made without a store
        self.acts = Acts(seam)
        self.kept = Kept()
        self.writes = 0
        self.due = due or Due(space, seam, embedders)

    def narrowed(self, actor: Actor) -> Handle:
        """The same space at the same position, for another actor."""
        return self._with(actor, self.position, self.seen_at)

    def moved(self, position: int, seen_at: str) -> Handle:
        """The same space as it was at a position, on the clock of that time."""
        return self._with(self.actor, position, seen_at)

    def _with(self, actor: Actor, position: int, seen_at: str | None) -> Handle:
        return Handle(
            self.space,
            self.seam,
            actor=actor,
            position=position,
            seen_at=seen_at,
            close=self.close,
            embedders=self.embedders,
            due=self.due,
        )

    def reading(self) -> AbstractContextManager[Reads]:
        """One state of the index, at this handle's position."""
        return self.space.reading(self.position)

    def write(
        self,
        made: tuple[Act, ...],
        answer: Callable[[Reads, Outcome], T],
        idempotency_key: str | None = None,
        expect: Expect | None = None,
        asked: tuple[Json, ...] | None = None,
    ) -> T:
        """Submits acts as one command; ``answer`` reads what came of it in the same transaction.

        ``asked`` is the call, if its acts follow from the state and differ when it is repeated.
        """
        self.require_now()
        if idempotency_key is not None:
            id = validate.command_key(idempotency_key)
        else:
            id = self.seam.random(16).hex()
        self.writes += 1
        command = Command(
            id=id,
            actor=self.actor,
            acts=made,
            named=idempotency_key is not None,
            expect=None if expect is None else validate.expected(expect),
            asked=asked,
        )
        last, events, is_repeated = 0, 0, False

        def answered(reads: Reads, outcome: Outcome) -> T:
            nonlocal last, events, is_repeated
            last, is_repeated = outcome.last, outcome.repeated
            events = 0 if is_repeated else outcome.last - outcome.first + 1
            return answer(reads, outcome)

        done = self.space.submit(command, answered)
        if is_repeated:
            repeated()
        self.due.after(last, events)
        return done

    def done_before(
        self, idempotency_key: str | None, asked: tuple[Json, ...]
    ) -> CommandRow | None:
        """The command of an earlier call with this key, if it was the same call."""
        self.require_now()
        if idempotency_key is None:
            return None
        id = validate.command_key(idempotency_key)
        with self.space.reading() as reads:
            found = reads.command(id)
        if found is not None:
            again = Command(id=id, actor=self.actor, acts=(), named=True, asked=asked)
            require_same(found.marks, again)
            repeated()
        return found

    @property
    def files(self) -> bool:
        """True if a change that may not be made at once is proposed; a person is told instead."""
        return self.actor.trust != "person"

    def now(self) -> str:
        """The present, or the instant of the past position that this handle shows."""
        return self.seen_at or self.seam.now()

    def find(self, reads: Reads, id: str) -> VersionRow | EpisodeRow:
        """What an id, a content id, a key or the beginning of an id names, if it is visible."""
        id = validate.asked(id)
        row: VersionRow | EpisodeRow | None = reads.version(id) or reads.episode(id)
        if row is not None and self.may_see(row):
            check_not_key(reads, self.actor.user, row)
            return row
        row = self._aliased(reads, id)
        if row is None:
            full = full_id(reads, self.actor.user, id)
            row = reads.version(full) or reads.episode(full)
        if row is None or not self.may_see(row):
            raise NotFound(f"nothing here has the id {id!r}", hint="`list` shows what there is")
        return row

    def _aliased(self, reads: Reads, alias: str) -> VersionRow | None:
        """The active record with a content id, if it is the only one."""
        if self.position != NOW:
            return None
        found = [
            row for row in reads.by_alias(alias) if row.status == "active" and self.may_see(row)
        ]
        return found[0] if len(found) == 1 else None

    def ask(self, query: str) -> Question:
        """A query, parsed and encoded for this memory at this position."""
        from recollect.finding.questions import ask  # writing needs no encoder

        queries = [validate.question(query)]
        (question,) = ask(self.space, self.position, queries, self.embedders)
        return question

    def answer(self, queries: Iterable[str], search: Callable[[Reads, list[Question]], T]) -> T:
        """What a search finds for these queries in this memory at this position."""
        from recollect.finding.questions import answer

        checked = validate.questions(queries)
        return answer(self.space, self.position, checked, self.embedders, search)

    def may_see(self, row: VersionRow | EpisodeRow | ReceiptRow) -> bool:
        """True if the row is this actor's, or the actor is not bound to one user."""
        return self.actor.user is None or row.user == self.actor.user

    def require_now(self) -> None:
        """Refuses a handle on a past position."""
        if self.position != NOW:
            raise Unsupported("this handle shows the past, which cannot be written")

    def require_whole(self, what: str) -> None:
        """Refuses a handle bound to one user a call that concerns the whole space."""
        if self.actor.user is not None:
            raise Forbidden(f"{what} concerns the whole space", hint="use a handle without a user")

    def require_person(self, what: str) -> None:
        """Refuses a handle with less than a person's trust."""
        if self.actor.trust != "person":
            raise Forbidden(f"{what} needs a person")

    def why_hidden(self, row: VersionRow | EpisodeRow) -> str | None:
        """The ``include`` word for why a default read leaves a row out, or None if it shows."""
        if isinstance(row, EpisodeRow):
            status = episode_status(row)
            return None if status == "visible" else status
        now = self.now()
        return why_hidden(row, self.position, now, now)

    def wish(
        self,
        unit: str = "any",
        include: Iterable[str] = (),
        valid_at: Moment | None = None,
        min_relevance: float | None = None,
        filter: str | None = None,
        scope: Mapping[str, str | None] | None = None,
    ) -> Wish:
        """Checks what a read asks for: a filter as text, or a scope by its names."""
        if unit not in get_args(Units):
            raise InvalidInput(f"unit must be any, record or episode, not {unit!r}")
        now = self.now()
        least = min_relevance
        if least is not None:
            least = validate.fraction(least, "min_relevance")
        return Wish(
            unit=unit,
            user=self.actor.user,
            include=frozenset() if include == () else check_include(include),
            position=self.position,
            now=now,
            valid_at=now if valid_at is None else instant(valid_at),
            min_relevance=least,
            filter=self._in_scope(scope) if filter is None else parsed_filter(filter, unit),
        )

    def _in_scope(self, scope: Mapping[str, str | None] | None) -> Filter | None:
        """A filter for these names, within this handle's user."""
        if scope is None:
            return None
        from recollect.index.recent import in_scope

        names = {
            part: None if name is None else validate.name(name, part)
            for part, name in scope.items()
        }
        mine = self.actor.user
        if mine is not None and names["user"] not in (None, mine):
            raise Forbidden(f"this handle is for user {mine!r} only")
        return in_scope({**names, "user": names["user"] or mine})


class Calls:
    """A group of calls over one handle."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle


def handle_of(calls: Calls) -> Handle:
    """The handle of a memory, for code that reads its index or ledger directly."""
    handle = getattr(calls, "_handle", None)  # a memory of a service has none
    if not isinstance(handle, Handle):
        hint = "do it where the store is, with its folder"
        raise Unsupported("a service does not offer this", hint=hint)
    return handle


def clock_of(calls: Calls) -> tuple[str, int]:
    """The instant that a memory shows and the offset of its clock; a service's: this machine's."""
    handle = getattr(calls, "_handle", None)
    if isinstance(handle, Handle):
        return handle.now(), handle.actor.tz_minutes
    return REAL.now(), REAL.tz_minutes()


def parsed_filter(text: str, unit: str) -> Filter:
    """A filter from its text."""
    from recollect.index.filter.parse import parse

    return parse(text, cast("Units", unit))


def _first_actor(space: Space, seam: Seam, name: Name | None) -> Actor:
    """A person of this name, or as much trust as the space grants."""
    widest = space.widest or Actor(trust="person")
    return msgspec.structs.replace(widest, tz_minutes=seam.tz_minutes(), name=name)


def named(settings: Settings) -> Name | None:
    """What the person here is called; None if no names are kept."""
    return None if settings.name == "" else Name(text=settings.name or "")
