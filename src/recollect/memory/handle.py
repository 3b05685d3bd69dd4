"""What every call of a memory shares: its space, its actor, its position.

Responsible for finding rows that the handle may see, for wishes and for sending commands. Leaves
the calls themselves to ``memory.face`` and ``memory.contexts``. Invariant: a handle on the past
writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Self, TypeVar, cast

import msgspec

from recollect.compose import Embedders
from recollect.errors import Forbidden, InvalidInput, NotFound, Unsupported
from recollect.index.reads import Reads
from recollect.index.rows import EpisodeRow, ReceiptRow, VersionRow
from recollect.index.statements import NOW
from recollect.lifecycle.commands import Act, Actor, Command, Expect
from recollect.memory.acts import Acts
from recollect.model import validate
from recollect.model.instants import Moment, instant
from recollect.recall.rank import Wish
from recollect.recall.visibility import check_include, why_hidden
from recollect.store.port import Outcome, Space
from recollect.store.seam import REAL, Seam

if TYPE_CHECKING:  # the filter is loaded only when somebody filters
    from recollect.finding.candidates import Question
    from recollect.index.filter import Filter, Units

T = TypeVar("T")


class Handle:
    """One memory through somebody's eyes."""

    def __init__(
        self,
        space: Space,
        seam: Seam = REAL,
        *,
        actor: Actor | None = None,
        at: int = NOW,
        then: str | None = None,
        close: Callable[[], None] | None = None,
        embedders: Embedders | None = None,
    ) -> None:
        self._space = space
        self._seam = seam
        self._actor = actor or _first_actor(space, seam)
        self._at = at
        self._then = then  # the instant of a past position
        self._close = close or space.close
        self._acts = Acts(seam)
        self._embedders = embedders  # none for a handle that was made without a store
        self._writes = 0

    def _seen_at(self, position: int, now: str) -> Self:
        """The same memory at a past position, on the clock of then."""
        return type(self)(
            self._space,
            self._seam,
            actor=self._actor,
            at=position,
            then=now,
            close=self._close,
            embedders=self._embedders,
        )

    def _write(
        self,
        made: tuple[Act, ...],
        answer: Callable[[Reads, Outcome], T],
        command: str | None,
        expect: Expect | None = None,
    ) -> T:
        if self._at != NOW:
            raise Unsupported("this handle shows the past, which cannot be written")
        if command is not None:
            id = validate.identifier(command, "command")
        else:
            id = self._seam.random(16).hex()
        self._writes += 1
        sent = Command(
            id=id,
            actor=self._actor,
            acts=made,
            named=command is not None,
            expect=validate.expected(expect),
        )
        return self._space.submit(sent, answer)

    def submit(self, *made: Act) -> None:
        """Acts that happen together or not at all, for faces that have words of their own."""
        if made:
            self._write(made, lambda reads, outcome: None, None)

    def _now(self) -> str:
        """The present, or the instant of the past position this handle shows."""
        return self._then or self._seam.now()

    def _find(self, reads: Reads, id: str) -> VersionRow | EpisodeRow:
        """A row by id or content id, if this handle may see it."""
        row = reads.version(id) or reads.episode(id)
        if row is None and self._at == NOW:
            aliased = [
                found
                for found in reads.by_alias(id)
                if found.status == "active" and self._may_see(found)
            ]
            row = aliased[0] if len(aliased) == 1 else None
        if row is None or not self._may_see(row):
            raise NotFound(f"nothing here has the id {id!r}", hint="`list` shows what there is")
        return row

    def _ask(self, query: str) -> Question:
        """A query, understood and encoded for this memory at this position."""
        from recollect.finding.questions import ask  # what encodes is not needed to write

        (question,) = ask(self._space, self._at, [validate.question(query)], self._embedders)
        return question

    def _may_see(self, row: VersionRow | EpisodeRow | ReceiptRow) -> bool:
        return self._actor.user is None or row.user == self._actor.user

    def _require_whole(self, what: str) -> None:
        """What concerns everybody in the space is not for a handle that speaks for one user."""
        if self._actor.user is not None:
            raise Forbidden(f"{what} concerns the whole space", hint="use a handle without a user")

    def _why_hidden(self, row: VersionRow | EpisodeRow) -> str | None:
        if isinstance(row, EpisodeRow):
            return row.hidden
        now = self._now()
        return why_hidden(row, position=self._at, now=now, valid_at=now)

    def _wish(
        self,
        unit: str,
        include: Iterable[str],
        valid_at: Moment | None,
        min_relevance: float | None,
        where: str | None = None,
    ) -> Wish:
        if unit not in ("any", "record", "episode"):
            raise InvalidInput(f"unit must be any, record or episode, not {unit!r}")
        now = self._now()
        floor = 0.0 if min_relevance is None else validate.fraction(min_relevance, "min_relevance")
        return Wish(
            unit=unit,
            user=self._actor.user,
            include=check_include(include),
            position=self._at,
            now=now,
            valid_at=now if valid_at is None else instant(valid_at),
            min_relevance=floor,
            where=None if where is None else parsed_filter(where, unit),
        )


def parsed_filter(where: str, unit: str) -> Filter:
    """A filter from its text."""
    from recollect.index.filter.parse import parse

    return parse(where, cast("Units", unit))


def _first_actor(space: Space, seam: Seam) -> Actor:
    """A person, or as much of one as the space lets in."""
    widest = space.widest or Actor(trust="person")
    return msgspec.structs.replace(widest, tz_minutes=seam.tz_minutes())
