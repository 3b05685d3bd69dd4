"""What each of two ledgers has written since they were one.

Responsible for the last event that both have, and for the commands after it: what they said, and
which of them the other ledger has too. Leaves what becomes of them to ``memory.merging``.
Invariants: a command is known by its id and by what it says, wherever it stands; what it said at
which place is known from its id alone, so also after its bodies were erased.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import groupby
from typing import Final, cast

import msgspec

from recollect.errors import Conflict, Unsupported
from recollect.index.rows import RULES
from recollect.ledger.codec import decode, encode_body
from recollect.ledger.line import Line, parse
from recollect.model import events as e
from recollect.store.port import Ledger

# What the store says about its own ledger, and what reads leave, stays where it is.
_STAYS: Final = frozenset(
    e.KIND_OF[body]
    for body in (e.SpaceOpened, e.ContextHanded, e.TailCut, e.LedgerSealed, e.LossAccepted)
)
# What only a person may say: without a signature it does not come.
_WORDS: Final = (
    e.RecordVouched,
    e.RecordReviewed,
    e.ProposalApproved,
    e.ProposalRejected,
    e.EventsErased,
)
# An id here of a command that has another one there: only these of its events came, or a command
# here has its id and says something else.
_TAGGED: Final = re.compile(r"(.+)~(x[0-9a-f]{16}|k[0-9+-]+)")
_MADE: Final = re.compile(r"[0-9a-f]{32}")  # an id that no caller chose
# Fields that differ from ledger to ledger, or by who brought them, and say nothing.
_LOCAL: Final = ("written_at", "trust", "status", "base", "spans", "root", "through", "targets")


class Said(msgspec.Struct, frozen=True):
    """One event of a command; ``place`` is its number in the command where it was written."""

    seq: int
    place: int
    kind: str
    origin: e.Origin
    at: str
    body: e.AnyBody | None  # None if it was erased

    @property
    def travels(self) -> bool:
        """True if a merge brings it."""
        return self.kind not in _STAYS and self.origin != "system"


class Told(msgspec.Struct, frozen=True, dict=True):
    """One command of a ledger."""

    id: str  # in its ledger
    base: str  # where it was written
    mark: str  # of its first line there: tells it from another command with its id
    events: tuple[Said, ...]

    @property
    def origin(self) -> e.Origin:
        """The highest trust of its events, which is that of its writer."""
        return max((one.origin for one in self.events), key=e.TRUST_RANK.__getitem__)

    @property
    def is_brought(self) -> bool:
        """True if a merge brought it."""
        return any(one.body is not None and one.body.written_at for one in self.events)

    @property
    def is_tagged(self) -> bool:
        """True if its id says which command of this id it is."""
        return self.id.startswith(f"{self.base}~x")

    @property
    def is_part(self) -> bool:
        """True if only some of its events came."""
        return self.id.startswith(f"{self.base}~k")

    @cached_property
    def said(self) -> tuple[bytes | None, ...]:
        """What each of its events says; None where that was erased."""
        return tuple(
            None if one.body is None else _content(one) for one in self.events if one.travels
        )

    @cached_property
    def kinds(self) -> list[str]:
        """The kinds of its events, which an erasure leaves."""
        return [one.kind for one in self.events if one.travels]

    def may_be(self, other: Told, *, surely: bool) -> bool:
        """True if a command of another ledger with this id says the same, so far as it is known.

        Where words were erased they count as the same, because they must not come back; unless it
        has to be sure, because something will be erased for it.
        """
        if _MADE.fullmatch(self.base):
            return True  # by chance: no other command has this id
        if self.is_brought or other.is_brought or self.is_part or other.is_part:
            return True  # what was brought may stand there in other words
        if self.kinds != other.kinds:
            return False
        pairs = zip(self.said, other.said, strict=True)
        return all((None in both and not surely) or both[0] == both[1] for both in pairs)


class History:
    """The commands of a ledger after the last event that another has too."""

    def __init__(self, commands: Iterable[Told]) -> None:
        self.commands = list(commands)
        self._by_base: dict[str, list[Told]] = {}
        for one in self.commands:
            self._by_base.setdefault(one.base, []).append(one)

    def same(self, other: Told, *, surely: bool = False) -> Told | None:
        """The command here that is this one of another ledger."""
        found = self._by_base.get(other.base, ())
        for one in found:
            if one.mark == other.mark:
                return one
        if other.is_tagged:
            return None
        return next(
            (one for one in found if not one.is_tagged and one.may_be(other, surely=surely)), None
        )

    def has_base(self, base: str) -> bool:
        """True if a command here was written under this id."""
        return base in self._by_base

    @cached_property
    def by_seq(self) -> dict[int, tuple[Told, Said]]:
        """Every event, with its command."""
        return {one.seq: (told, one) for told in self.commands for one in told.events}

    def erased(self) -> Iterator[tuple[Told, Said, e.EventsErased]]:
        """The erasures that take effect."""
        for told in self.commands:
            for one in told.events:
                if isinstance(one.body, e.EventsErased) and one.origin in ("person", "system"):
                    yield told, one, one.body


def fork_of(mine: Ledger, theirs: Ledger) -> int:
    """The last event that both ledgers have: the chain makes all before it the same."""
    low, high = 0, min(mine.head().seq, theirs.head().seq)
    while low < high:
        middle = (low + high + 1) // 2
        if _hash(mine, middle) == _hash(theirs, middle):
            low = middle
        else:
            high = middle - 1
    if low == 0:
        raise Conflict(
            "the two ledgers have no event in common: neither began as a copy of the other",
            hint="export one of them and import it into the other: `recollect export`, then "
            "`recollect import`",
        )
    return low


def _hash(space: Ledger, seq: int) -> str:
    raw = space.line(seq)
    if raw is None:
        raise Conflict(f"event {seq} cannot be read in {space.where}")
    return parse(raw).hash


def told_in(lines: Iterable[Line]) -> Iterator[Told]:
    """The commands of these lines, which must be all after an event."""
    for (_, id), found in groupby(lines, key=lambda one: (one.first, one.id.rpartition(".")[0])):
        some = list(found)
        tag = _TAGGED.fullmatch(id)
        base = tag[1] if tag else id
        kept = tag[2] if tag and tag[2].startswith("k") else None
        places = range(1, len(some) + 1) if kept is None else places_in(kept)
        said = (_said(line, place) for line, place in zip(some, places, strict=False))
        mark = tag[2][1:] if tag and kept is None else some[0].hash[:16]
        yield Told(id, base, mark, tuple(said))


def _said(line: Line, place: int) -> Said:
    if line.subject is not None:
        raise Unsupported(
            "a memory with encrypted subjects cannot be merged yet",
            hint="copy it to another place, or export and import what is missing",
        )
    return Said(line.seq, place, line.kind, line.origin, line.at, decode(line).body)


def id_here(told: Told, places: list[int], history: History) -> str:
    """The id that a command gets in a ledger with this history, if only these events come."""
    if len(places) < len(told.events) or told.id.startswith(f"{told.base}~k"):
        return f"{told.base}~k{runs(places)}"
    is_chosen = not _MADE.fullmatch(told.base)  # callers may choose the same twice
    return f"{told.base}~x{told.mark}" if is_chosen or history.has_base(told.base) else told.base


def runs(places: list[int]) -> str:
    """Numbers in order, in short: ``1-3+7``."""
    found: list[list[int]] = []
    for place in places:
        if found and found[-1][1] == place - 1:
            found[-1][1] = place
        else:
            found.append([place, place])
    return "+".join(str(a) if a == b else f"{a}-{b}" for a, b in found)


def places_in(tag: str) -> list[int]:
    """The numbers that ``runs`` shortened."""
    found: list[int] = []
    for part in tag[1:].split("+"):
        first, _, last = part.partition("-")
        if first.isdigit() and (last or first).isdigit():
            found += range(int(first), min(int(last or first), int(first) + 10_000) + 1)
    return found


def may_come(one: Said, *, is_mine: bool) -> bool:
    """True if an event can be brought; without a signature no person's decision comes."""
    if one.body is None or not one.travels or isinstance(one.body, e.EventsErased):
        return False
    if is_mine:
        return True
    merged = isinstance(one.body, e.BranchClosed) and one.body.how == "merged"
    return not merged and not isinstance(one.body, _WORDS)


Subject = tuple[str, ...]  # what it is, and its name


def subject_of(body: e.AnyBody) -> Subject:
    """What an event is about; ids of records and of episodes are of one kind."""
    match body:
        case e.LinkAdded() | e.LinkRemoved():
            return "link", body.source, body.target, body.kind
        case e.DocumentSet() | e.DocumentDropped():
            return "document", body.type, body.name
        case e.RulePassed():
            return "document", RULES, body.rule
        case e.FrameSet() | e.FrameDropped():
            return "frame", body.name
        case e.SessionOpened() | e.SessionClosed():
            return "session", body.id, body.user or ""
        case e.BranchOpened() | e.BranchClosed():
            return "branch", body.id
        case _ if isinstance(body, e.ProposalMade | e.Settled):
            return "proposal", body.id
        case _:
            return "memory", str(getattr(body, "id", ""))


def mentioned(body: e.AnyBody) -> set[Subject]:
    """What an event is about, and what it cannot be without."""
    match body:
        case e.LinkAdded() | e.LinkRemoved():
            return {subject_of(body), ("memory", body.source), ("memory", body.target)}
        case e.ProposalMade():
            named = body.evidence if body.target is None else (body.target, *body.evidence)
            branch = () if body.branch is None else (("branch", body.branch),)
            return {subject_of(body), *branch, *(("memory", id) for id in named)}
        case _:
            return {subject_of(body)}


def _content(one: Said) -> bytes:
    fields = msgspec.json.decode(encode_body(cast(e.AnyBody, one.body)), type=dict)
    for name in _LOCAL:
        fields.pop(name, None)
    return one.kind.encode() + msgspec.json.encode(fields, order="sorted")
