"""Merging two ledgers that both grew after a copy.

Responsible for what comes from the other one: its erasures first, then its commands in their order,
then what was decided about what both changed. Leaves which commands those are to
``memory.histories``, what both changed to ``memory.meetings`` and the events to
``lifecycle.merging``. Invariants: this ledger goes on and nothing in it is rewritten; a command
comes once, so stopping and merging again are harmless; nothing is written before every conflict is
decided; what was erased on either side does not come.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec
from msgspec import structs

from recollect.compose import scratch_space
from recollect.errors import (
    Changed,
    Conflict,
    InvalidInput,
)
from recollect.index.reads import Reads
from recollect.ledger.codec import decode
from recollect.ledger.line import Line, parse
from recollect.ledger.scan import Damage
from recollect.ledger.verify import verify
from recollect.lifecycle import commands as c
from recollect.lifecycle.decide import origin_of
from recollect.lifecycle.merging import Take, TakeErasure
from recollect.memory.handle import Handle
from recollect.memory.histories import (
    History,
    Said,
    Subject,
    Told,
    fork_of,
    id_here,
    may_come,
    mentioned,
    subject_of,
    told_in,
)
from recollect.memory.meetings import SETTLING, Changes, Sides, meetings
from recollect.memory.merge_steps import KeysOf, Runs, Writing
from recollect.memory.signed_copies import Signatures
from recollect.model import events as e
from recollect.model.counts import counted
from recollect.model.rules import Change, lowest
from recollect.model.values import LedgerConflict, LedgerMerge, Settlement
from recollect.store.port import Ledger, Progress

_ID_MAX_CHARS: Final = 150
_LISTED_MAX_COUNT: Final = 5


class Wanted(NamedTuple):
    """What the person said about a merge."""

    settle: Mapping[str, Settlement]
    digest: str | None
    is_mine: bool
    dry_run: bool


def merge(
    handle: Handle, source: Handle, wanted: Wanted, progress: Progress | None = None
) -> LedgerMerge:
    """Brings what the other ledger has written since both were one."""
    position = handle.space.head().seq
    merging = Merging(handle, source.space, wanted.is_mine)
    with merging.sides() as sides:
        open_sides = [one for one in sides if not one.is_same]
        digest = merging.digest(sides)
        conflicts = tuple(one.conflict() for one in open_sides)
        answer = merging.answer(wanted, digest, len(sides), conflicts)
        if wanted.dry_run:
            return answer
        _check_settled(wanted, digest, [one.meeting.id for one in open_sides])
        settling = [
            _settling(handle, one, wanted.settle.get(one.meeting.id, "ours"), digest, merging.most)
            for one in sides
        ]
    done = Writing(handle, position, progress)
    done.write([*merging.erasing, *merging.coming])
    done.write(settling)
    if merging.erasing:
        from recollect.memory.erasing import cleaned

        cleaned(handle)
    return structs.replace(
        answer,
        commands=done.commands,
        events=done.events,
        left=(*answer.left, *done.left),
        seq=handle.space.head().seq,
    )


class Merging:
    """What would come from another ledger."""

    def __init__(self, handle: Handle, source: Ledger, is_mine: bool) -> None:
        self._handle, self._source, self._is_mine = handle, source, is_mine
        self.fork = fork_of(handle.space, source)
        self._head = source.head()
        self._signatures = Signatures.of(source, handle.seam)
        self._theirs = History(told_in(self._checked_lines()))
        self._mine = History(told_in(_lines(handle.space, self.fork)))
        self.left: list[str] = []
        self.known = 0
        self._gone = self._erased_here()
        self.erasing = [*self._left_over(), *self._erasing()]
        acts = (command.acts[0] for command in self.erasing)
        orders = [act for act in acts if isinstance(act, TakeErasure)]
        self._going = {subject for act in orders for subject in act.about}
        self.coming = list(self._coming())

    def _checked_lines(self) -> list[Line]:
        """The lines of the other ledger after the fork; all of it is checked."""
        lines: list[Line] = []

        def each(line: Line) -> None:
            if line.seq > self.fork:
                self._handle.space.admit(line)
                lines.append(line)

        source = self._source
        check = verify(source.pieces(), seen=source.seen(), each=each, hashes=self._signatures.take)
        if check.broken_at is not None:
            raise Damage(check.broken_at, f"{check.problem}; nothing was merged")
        self._signatures.check()
        return lines

    def _is_trusted(self, told: Told) -> bool:
        """True if a command counts as this person's own."""
        return self._is_mine or told.events[-1].seq <= self._signatures.through

    @property
    def most(self) -> e.Trust:
        """The most trust that the other side of a conflict may have here."""
        return "person" if all(map(self._is_trusted, self._theirs.commands)) else "agent"

    def _comes(self, told: Told, one: Said) -> bool:
        if not may_come(one, is_mine=self._is_trusted(told)):
            return False
        return one.body is not None and self._gone.isdisjoint(mentioned(one.body))

    def _stays(self, _: Told, one: Said) -> bool:
        """True if an event of this ledger will still be here when the erasures have come."""
        if one.body is None or not one.travels:
            return False
        return self._going.isdisjoint(mentioned(one.body))

    # What was erased.

    def _erased_here(self) -> set[Subject]:
        """The subjects of what was erased here, as far as the other ledger still says them."""
        gone: set[Subject] = set()
        for _, _, order in self._mine.erased():
            gone.update(self._about(order))
        for told in self._theirs.commands:  # a proposal goes with what it is about
            for one in told.events:
                if isinstance(one.body, e.ProposalMade) and not gone.isdisjoint(
                    mentioned(one.body)
                ):
                    gone.add(subject_of(one.body))
        return gone

    def _about(self, order: e.EventsErased) -> Iterator[Subject]:
        """The subjects of one erasure here, as far as the other ledger still says them."""
        for target in order.targets:
            body = self._body(self._source, self._theirs, self._mine, target)
            if body is not None and not _is_session(body):
                yield subject_of(body)

    def _body(self, space: Ledger, history: History, other: History, seq: int) -> e.AnyBody | None:
        """The body that a ledger has of an event with this number in the other one."""
        if seq <= self.fork:
            raw = space.line(seq)
            line = None if raw is None else parse(raw)
            if line is None or line.subject is not None:
                return None
            return decode(line).body
        said = _twin(history, other, seq)
        return None if said is None else said.body

    def _erasing(self) -> Iterator[c.Command]:
        """The erasures of the other ledger that concern something here."""
        gone = {target for _, _, order in self._mine.erased() for target in order.targets}
        for told, said, order in self._theirs.erased():
            if not self._is_trusted(told):
                self.left.append(f"{told.id}: an erasure that no known key signed")
                continue
            bodies: dict[int, e.AnyBody | None] = {}
            for target in order.targets:
                twin = _twin(self._mine, self._theirs, target, surely=True)
                seq = target if target <= self.fork else 0 if twin is None else twin.seq
                if seq and seq not in gone:
                    body = self._body(self._handle.space, self._mine, self._theirs, target)
                    bodies[seq] = body
            gone |= bodies.keys()
            if bodies:
                yield self._erasure(told, said, order, bodies)

    def _left_over(self) -> Iterator[c.Command]:
        """Erases the changes of an erased record that had no effect here when they came.

        The index has no row of such a change, so the erasure of the record passed it over. Which
        record it was is read from the other ledger, so only from one that is this person's.
        """
        if self.most != "person":
            return
        gone = {target for _, _, order in self._mine.erased() for target in order.targets}
        for _, said, order in self._mine.erased():
            about = {subject for subject in self._about(order) if self._is_whole(subject, said)}
            left = {
                one.seq
                for told in self._mine.commands
                for one in told.events
                if one.seq < said.seq and isinstance(one.body, Change)
                if subject_of(one.body) in about
            } - gone
            gone |= left
            if left:
                id = self._handle.seam.random(16).hex()
                at = order.written_at or said.at
                act = TakeErasure(targets=tuple(sorted(left)), reason=order.reason, written_at=at)
                yield c.Command(id=id, actor=c.Actor(trust="person"), acts=(act,))

    def _is_whole(self, subject: Subject, said: Said) -> bool:
        """True if an erasure here left nothing of a record."""
        with self._handle.space.reading() as reads:
            return all(row.seq > said.seq for row in reads.versions(subject[1]))

    def _erasure(
        self, told: Told, said: Said, order: e.EventsErased, bodies: dict[int, e.AnyBody | None]
    ) -> c.Command:
        about = {subject_of(body) for body in bodies.values() if body is not None}
        act = TakeErasure(
            targets=tuple(sorted(bodies)),
            about=tuple(sorted(about)),
            reason=order.reason,
            written_at=order.written_at or said.at,
        )
        is_new = not self._mine.has_base(told.base)
        id = told.base if is_new else self._handle.seam.random(16).hex()
        return c.Command(id=id, actor=c.Actor(trust="person"), acts=(act,))

    # What comes.

    def _coming(self) -> Iterator[c.Command]:
        told_here, runs = self._episodes_here(), Runs(self._handle, self.erasing, self._there)
        for told in self._theirs.commands:
            if self._mine.same(told) is not None:
                self.known += 1
                continue
            some = [one for one in told.events if self._comes(told, one)]
            some = [one for one in some if not _is_heard(one, told_here) and runs.needs(one)]
            if not some:
                continue
            command = self._command(told, some)
            if isinstance(command, str):
                self.left.append(f"{told.id}: {command}")
            else:
                yield command

    def _there(self, seq: int) -> int:
        """Where the other ledger wrote this event after the fork; 0 if it did not."""
        twin = _twin(self._theirs, self._mine, seq)
        return 0 if twin is None else twin.seq

    def _command(self, told: Told, some: list[Said]) -> c.Command | str:
        """A command as it comes; or why it cannot."""
        is_mine = self._is_trusted(told)
        writer = c.Actor(trust=_trust(told.origin))
        if any(origin_of(writer, one.body) != one.origin for one in told.events if one.body):
            return "its events have authors that cannot have written them together"
        id = id_here(told, [one.place for one in some], self._mine)
        if len(id) > _ID_MAX_CHARS:
            return "a part of it was erased, and what is left is too scattered"
        take = Take(
            id=id,
            bodies=tuple(_dated(one.body, one.at) for one in some if one.body is not None),
            fork=self.fork,
            named=self._named(some),
            is_mine=is_mine,
        )
        most: e.Trust = "person" if is_mine else "agent"
        actor = c.Actor(trust=lowest([writer.trust, most]))
        return c.Command(id=id, actor=actor, acts=(take,))

    def _named(self, some: list[Said]) -> dict[int, str]:
        """The subjects of later events that these refer to by number."""
        found: dict[int, str] = {}
        for one in some:
            seqs: tuple[int, ...] = ()
            if isinstance(one.body, e.ProposalMade):
                seqs = tuple(seq for seq, _, _ in one.body.spans)
            elif isinstance(one.body, e.LineageRetracted):
                seqs = (one.body.root,)
            for seq in seqs:
                _, said = self._theirs.by_seq.get(seq, (None, None))
                if said is not None and said.body is not None:
                    found[seq] = subject_of(said.body)[1]
        return found

    def _episodes_here(self) -> dict[str, bool]:
        """The episodes of the other ledger that are here; refuses an id that means two things."""
        bodies = [
            one.body
            for told in self._theirs.commands
            for one in told.events
            if self._mine.same(told) is None and one.body is not None
        ]
        found: dict[str, bool] = {}
        with self._handle.space.reading() as reads:
            for body in bodies:
                if isinstance(body, e.EpisodeObserved):
                    row = reads.episode(body.id)
                    found[body.id] = row is not None
                    if row is not None and (row.text, row.role) != (body.text, body.role):
                        raise _two_things("episode", body.id)
                elif isinstance(body, e.RecordAdded):
                    known = reads.version(body.id)
                    if known is not None and (known.key, known.user) != (body.key, body.user):
                        raise _two_things("record", body.id)
        return found

    # What both changed.

    @contextmanager
    def sides(self) -> Iterator[list[Sides]]:
        """What both sides have of everything that both changed."""
        with self._handle.space.reading() as reads:
            keys = KeysOf(reads, self._mine, self._theirs)
            found = meetings(self._mine, self._theirs, keys, self._stays, self._comes)
            if not found:
                yield []
                return
            copy = scratch_space(self._handle.space.name)
            copy.receive(self._source.pieces())
            mine, others = Changes(self._mine), Changes(self._theirs)
            with copy.reading() as theirs:
                made: list[Sides] = []
                for one in found:
                    ours = reads if one.since is None else Reads(reads.db, at=one.since)
                    made.append(Sides(one, ours, theirs, mine, others))
                yield made
            copy.close()

    def digest(self, sides: list[Sides]) -> str:
        """A digest over what is to be decided."""
        cells = [str(self.fork), self._head.hash, *(one.digest() for one in sides)]
        return sha256(msgspec.json.encode(cells)).hexdigest()

    def answer(
        self, wanted: Wanted, digest: str, settled: int, conflicts: tuple[LedgerConflict, ...]
    ) -> LedgerMerge:
        """What would be done."""
        acts = [command.acts[0] for command in self.coming]
        events = sum(len(act.bodies) for act in acts if isinstance(act, Take))
        erased = [command.acts[0] for command in self.erasing]
        space = self._handle.space
        return LedgerMerge(
            space=space.name,
            where=space.where,
            source=self._source.where,
            fork=self.fork,
            commands=len(self.coming) + len(self.erasing),
            events=events + len(self.erasing),
            known=self.known,
            erased=sum(len(act.targets) for act in erased if isinstance(act, TakeErasure)),
            signed=self._signatures.through,
            is_mine=self._is_mine,
            settled=settled,
            conflicts=conflicts,
            digest=digest,
            dry_run=wanted.dry_run,
            left=tuple(self.left),
            seq=space.head().seq,
        )


def _settling(handle: Handle, sides: Sides, choice: str, digest: str, most: e.Trust) -> c.Command:
    """The command that gives both ledgers the same."""
    id = SETTLING + handle.seam.random(16).hex()
    bodies = tuple(sides.settled(choice, digest, most))
    take = Take(id=id, bodies=bodies, fork=0, is_mine=True)
    return c.Command(id=id, actor=c.Actor(trust="person"), acts=(take,))


def _check_settled(wanted: Wanted, digest: str, ids: list[str]) -> None:
    """Refuses a merge of something else than was shown, or one that leaves a conflict open."""
    again = "`recollect pull --merge --dry-run` shows what is there now"
    if wanted.digest not in (None, digest):
        raise Changed("the two ledgers are not what was shown", hint=again)
    for id, word in wanted.settle.items():
        if id not in ids:
            raise InvalidInput(f"{id!r} is not a conflict of this merge", hint=again)
        if word not in ("ours", "theirs"):
            raise InvalidInput(f"{id!r} is settled with {word!r}", hint="use ours or theirs")
    left = [id for id in ids if id not in wanted.settle]
    if left:
        more = ", …" if len(left) > _LISTED_MAX_COUNT else ""
        raise Conflict(
            f"both ledgers changed {counted(len(left), 'thing')}, and nothing was merged: "
            f"{', '.join(left[:_LISTED_MAX_COUNT])}{more}",
            hint="settle each: `ours` keeps what this memory has, `theirs` takes the other's; "
            "a dry run shows both sides",
        )


def _lines(space: Ledger, after: int) -> Iterator[Line]:
    """The events of a ledger after one."""
    rest = b""
    for piece in space.pieces(after):
        *lines, rest = (rest + piece).split(b"\n")
        yield from map(parse, lines)


def _twin(history: History, other: History, seq: int, *, surely: bool = False) -> Said | None:
    """The event of a ledger that is event ``seq`` of the other one."""
    told, said = other.by_seq.get(seq, (None, None))
    same = None if told is None else history.same(told, surely=surely)
    if same is None or said is None:
        return None
    return next((one for one in same.events if one.place == said.place), None)


def _two_things(what: str, id: str) -> Conflict:
    """The refusal of an id that each ledger gave to something else."""
    return Conflict(
        f"each ledger gave the id {id!r} to another {what}, and nothing was merged",
        hint=f"erase it in one of them: `recollect erase {id}`",
    )


def _is_session(body: e.AnyBody) -> bool:
    """True if it is about a session, whose name another one may have: only these events go."""
    return isinstance(body, e.SessionOpened | e.SessionClosed)


def _is_heard(one: Said, here: dict[str, bool]) -> bool:
    return isinstance(one.body, e.EpisodeObserved) and here.get(one.body.id, False)


def _dated(body: e.AnyBody, at: str) -> e.AnyBody:
    """The body with the instant at which it was written."""
    return structs.replace(body, written_at=body.written_at or at)


def _trust(origin: e.Origin) -> e.Trust:
    return "person" if origin == "system" else origin
