"""What each of two ledgers has written since they were one.

Responsible for the last event that both have, and for the commands after it: what they said, and
which of them the other ledger has too. Leaves what becomes of them to ``memory.merging.merge``.
Invariants: a command is known by its id and by the hash of its first line where it was written; a
command that a merge brought carries both in its id here, so also after its bodies were erased.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import Final, Literal, cast

import msgspec

from recollect.errors import Conflict, Unsupported
from recollect.index.rows import RULES
from recollect.ledger.codec import decode, encode_body
from recollect.ledger.line import Line, parse
from recollect.model import events as e
from recollect.model.instants import is_instant
from recollect.model.validate import BROUGHT
from recollect.store.keys.subjects import SETTING
from recollect.store.port import Copyable

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
# Fields that differ from ledger to ledger, or by who brought them, and say nothing.
_NUMBERS: Final = ("written_at", "base", "spans", "root", "through", "targets")
_LOCAL: Final = (*_NUMBERS, "trust", "status")
_INSTANTS: Final = ("written_at", "said_at", "valid_from", "valid_to", "expires")


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
    brought: Literal["", "x", "u"] = ""  # by a merge; "u" if nothing showed it to be this person's
    is_part: bool = False  # only some of its events came

    @property
    def origin(self) -> e.Origin:
        """The highest trust of its events, which is that of its writer."""
        return max((one.origin for one in self.events), key=e.TRUST_RANK.__getitem__)

    @property
    def is_low(self) -> bool:
        """True if it may have less here than where it was written."""
        return self.brought == "u"

    @cached_property
    def said(self) -> tuple[bytes | None, ...]:
        """What each of its events says; None where that was erased."""
        return tuple(_content(one, _LOCAL) for one in self.events if one.travels)

    @cached_property
    def kinds(self) -> list[str]:
        """The kinds of its events, which an erasure leaves."""
        return [one.kind for one in self.events if one.travels]

    def may_be(self, other: Told, *, surely: bool) -> bool:
        """True if a command that was written in another ledger under this id says the same.

        Where words were erased they count as the same, because they must not come back; unless it
        has to be sure, because something will be erased for it.
        """
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

    def parts(self, other: Told, *, surely: bool = False) -> list[Told]:
        """What is here of a command of another ledger.

        What a merge brought is known by its mark alone, and is never taken for another command.
        """
        found = self._by_base.get(other.base, [])
        same = [one for one in found if one.mark == other.mark]
        if same or other.brought:
            return same
        written = [one for one in found if not one.brought]
        return [one for one in written if one.may_be(other, surely=surely)][:1]

    def has(self, other: Told, one: Said) -> bool:
        """True if this event of a command of another ledger is here."""
        return any(here.place == one.place for part in self.parts(other) for here in part.events)

    def twin(self, other: History, seq: int, *, surely: bool = False) -> Said | None:
        """The event here that is event ``seq`` of another ledger."""
        told, said = other.by_seq.get(seq, (None, None))
        if told is None or said is None:
            return None
        parts = self.parts(told, surely=surely)
        return next((one for part in parts for one in part.events if one.place == said.place), None)

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


def fork_of(mine: Copyable, theirs: Copyable) -> int:
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


def _hash(space: Copyable, seq: int) -> str:
    raw = space.line(seq)
    if raw is None:
        raise Conflict(f"event {seq} cannot be read in {space.where}")
    return parse(raw).hash


def told_in(lines: Iterable[Line]) -> Iterator[Told]:
    """The commands of these lines, which must be all after an event."""
    for (_, id), found in groupby(lines, key=lambda one: (one.first, one.id.rpartition(".")[0])):
        yield _told(id, list(found))


def _told(id: str, lines: list[Line]) -> Told:
    """A command; its id has a tag only if a merge brought each event that it still has."""
    bodies = [_body(line) for line in lines]
    tag = BROUGHT.fullmatch(id) if all(b is None or b.written_at for b in bodies) else None
    places: Sequence[int] = range(1, len(lines) + 1)
    if tag is not None and tag["places"] is not None:
        places = places_in(tag["places"])
        if len(places) != len(lines):  # a caller's own key that looks like one
            tag, places = None, range(1, len(lines) + 1)
    said = tuple(
        Said(line.seq, place, line.kind, line.origin, line.at, body)
        for line, place, body in zip(lines, places, bodies, strict=True)
    )
    if tag is None:
        return Told(id, id, lines[0].hash[:16], said)
    return Told(
        id,
        tag["id"],
        tag["mark"],
        said,
        cast(Literal["x", "u"], tag["how"]),
        tag["places"] is not None,
    )


def _body(line: Line) -> e.AnyBody | None:
    if line.subject is not None:
        raise encrypted()
    return decode(line).body


def encrypted() -> Unsupported:
    """The refusal of a memory whose subjects are encrypted."""
    return Unsupported(
        "a memory with encrypted subjects cannot be merged yet",
        hint="copy it to another place, or export and import what is missing",
    )


def encrypts(body: e.AnyBody | None) -> bool:
    """True if it says whose words are encrypted."""
    if not isinstance(body, e.DocumentSet | e.DocumentDropped):
        return False
    return (body.type, body.name) == SETTING


def id_here(told: Told, places: list[int], *, is_low: bool) -> str:
    """The id that a command gets in another ledger, if these of its events come."""
    how = "u" if is_low or told.is_low else "x"
    is_part = told.is_part or len(places) < len(told.events)
    return f"{told.base}~{how}{told.mark}" + (f":{runs(places)}" if is_part else "")


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
    for part in tag.split("+"):
        first, _, last = part.partition("-")
        if first.isdigit() and (last or first).isdigit():
            found += range(int(first), min(int(last or first), int(first) + 10_000) + 1)
    return found


def may_come(one: Said, *, is_mine: bool) -> bool:
    """True if an event can be brought; without a signature no person's decision comes."""
    if one.body is None or not one.travels or isinstance(one.body, e.EventsErased):
        return False
    if encrypts(one.body):
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
            return "preset", body.name
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


def is_timed(one: Said) -> bool:
    """True if every instant that an event says is one."""
    bodies = (one.body, getattr(one.body, "state", None))
    named = [getattr(body, name, None) for body in bodies for name in _INSTANTS]
    return all(map(is_instant, [one.at, *(said for said in named if isinstance(said, str))]))


def is_whole(told: Told, parts: list[Told]) -> bool:
    """True if everything that a command says is in these parts, with the same authors and trust."""
    here = {one.place: one for part in parts for one in part.events}
    return all(
        one.place in here
        and here[one.place].origin == one.origin
        and _content(here[one.place], _NUMBERS) in (None, _content(one, _NUMBERS))
        for one in told.events
        if one.travels and one.body is not None
    )


def _content(one: Said, without: tuple[str, ...]) -> bytes | None:
    """What an event says, without these fields; None if it was erased."""
    if one.body is None:
        return None
    fields = msgspec.json.decode(encode_body(one.body), type=dict)
    for name in without:
        fields.pop(name, None)
    return one.kind.encode() + msgspec.json.encode(fields, order="sorted")
