"""Merging two ledgers that both grew after a copy.

Responsible for what comes from the other one: its erasures first, then its commands in their order,
then what was decided about what both changed. Leaves which commands those are to
``memory.merging.histories``, what both changed to ``memory.merging.meetings`` and the events to
``lifecycle.ledger_merge``. Invariants: this ledger goes on and nothing in it is rewritten; a
command comes once, so stopping and merging again are harmless; nothing is written before every
conflict is decided; what was erased on either side does not come.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from hashlib import sha256
from typing import Final, NamedTuple, cast

import msgspec
from msgspec import structs

from recollect.compose import scratch_space
from recollect.errors import (
    Changed,
    Conflict,
    InvalidInput,
)
from recollect.index.reads import Reads
from recollect.ledger.line import Line, parse
from recollect.ledger.scan import Damage
from recollect.ledger.verify import verify
from recollect.lifecycle import commands as c
from recollect.lifecycle.decide import origin_of
from recollect.lifecycle.ledger_merge import Take, TakeErasure
from recollect.memory.handle.handle import Handle
from recollect.memory.merging.erasures import Erasures
from recollect.memory.merging.histories import (
    History,
    Said,
    Told,
    encrypted,
    encrypts,
    fork_of,
    id_here,
    is_timed,
    is_whole,
    may_come,
    mentioned,
    subject_of,
    told_in,
)
from recollect.memory.merging.meetings import SETTLING, UNFINISHED, Changes, Sides, meetings
from recollect.memory.merging.merge_steps import (
    KeysOf,
    Runs,
    Writing,
    in_commands,
    is_too_large,
    size,
)
from recollect.memory.merging.signed_copies import Signatures
from recollect.model import events as e
from recollect.model.counts import counted
from recollect.model.rules import lowest
from recollect.model.values import Choice, LedgerConflict, LedgerMerge
from recollect.store.carry import begun
from recollect.store.clock import check_arriving
from recollect.store.keys.subjects import SETTING
from recollect.store.port import Copyable, Progress
from recollect.store.write_path import each_of

_ID_MAX_CHARS: Final = 150
_LISTED_MAX_COUNT: Final = 5


class Wanted(NamedTuple):
    """What the person said about a merge."""

    choose: Mapping[str, Choice]
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
        open_sides = [one for one in sides if not one.is_same and not one.meeting.is_raised]
        digest = merging.digest(sides)
        conflicts = tuple(one.conflict() for one in open_sides)
        answer = merging.answer(wanted, digest, len(sides), conflicts)
        if wanted.dry_run:
            return structs.replace(answer, left=(*answer.left, *merging.refused()))
        choose = _settled(wanted, digest, conflicts)
        settling = [
            command
            for one in sides
            for command in _settling(handle, one, choose, digest, merging.most)
        ]
    done = Writing(handle, position, progress)
    try:
        done.write([*merging.erasing, *merging.coming])
        done.write(settling)
    finally:  # also if someone wrote in between: what was ordered is erased
        if merging.erasing:
            from recollect.memory.erasure.erasure import cleaned

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

    def __init__(self, handle: Handle, source: Copyable, is_mine: bool) -> None:
        self._handle, self._source, self._is_mine = handle, source, is_mine
        self.fork = fork_of(handle.space, source)
        self._head = source.head()
        self._signatures = Signatures.of(source, handle.seam)
        self._theirs = History(told_in(self._checked_lines()))
        self._mine = History(told_in(_lines(handle.space, self.fork)))
        self._check_plain()
        self.left: list[str] = []
        self.known = 0
        self._unlike: dict[str, str] = {}
        self._raised = self._came_low()
        both = (self._mine, self._theirs)
        erasures = Erasures(handle, source, self.fork, both, self._is_trusted)
        self._gone, self._going = erasures.gone, erasures.going
        self.erasing = erasures.commands
        self.left += erasures.left
        self.coming = list(self._coming())

    def _checked_lines(self) -> list[Line]:
        """The lines of the other ledger after the fork; all of it is checked."""
        lines: list[Line] = []
        last, now = self._handle.space.line(self.fork), self._handle.now()

        def each(line: Line) -> None:
            if line.seq == self.fork and last is not None and parse(last).hash != line.hash:
                raise Damage(line.seq, "it is not what its file says; nothing was merged")
            if line.seq > self.fork:
                check_arriving(line.seq, line.at, now)
                self._handle.space.admit(line)
                lines.append(line)

        source = self._source
        check = verify(source.pieces(), seen=source.seen(), each=each, hashes=self._signatures.take)
        if check.broken_at is not None:
            raise Damage(check.broken_at, f"{check.problem}; nothing was merged")
        self._signatures.check()
        return lines

    def _check_plain(self) -> None:
        """Refuses a ledger that encrypts, or has begun to since both were one."""
        with self._handle.space.reading() as reads:
            is_on = each_of(reads.document(*SETTING)) is not None
        said = [one.body for told in self._theirs.commands for one in told.events]
        setting = next((body for body in reversed(said) if encrypts(body)), None)
        if is_on or isinstance(setting, e.DocumentSet):
            raise encrypted()

    def _came_low(self) -> set[str]:
        """The commands that came here without a signature, and now come with one.

        What they have less here comes, and what they are about becomes as it is there. Only if all
        that comes is trusted: else nobody could say which of it made the other side what it is.
        """
        if self.most != "person":
            return set()
        found = set()
        for told in self._theirs.commands:
            parts = self._mine.parts(told)
            is_low = parts and not told.is_low and all(part.is_low for part in parts)
            if is_low and not is_whole(told, parts):
                found.add(told.id)
        return found

    def _is_new(self, told: Told) -> bool:
        """True if a command of the other ledger is not here as it is there."""
        return told.id in self._raised or not self._mine.parts(told)

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

    # What comes.

    def _coming(self) -> Iterator[c.Command]:
        heard, runs = self._episodes_here(), Runs(self._handle, self.erasing, self._there)
        for told in self._theirs.commands:
            parts = self._mine.parts(told)
            if parts and not self._is_new(told):
                self.known += 1
                continue
            here = {
                one.place
                for part in parts
                for one in part.events
                if not (part.is_low and isinstance(one.body, e.AuthorNamed))
            }
            some = [one for one in told.events if one.place not in here and self._comes(told, one)]
            some = [one for one in some if not _is_heard(one, heard) and runs.needs(one)]
            command = self._command(told, some) if some else self._unlike.get(told.id)
            self.known += bool(parts and not some)
            if isinstance(command, str):
                self.left.append(f"{told.id}: {command}")
            elif command is not None:
                yield command

    def _there(self, seq: int) -> int:
        """Where the other ledger wrote this event after the fork; 0 if it did not."""
        twin = self._theirs.twin(self._mine, seq)
        return 0 if twin is None else twin.seq

    def _command(self, told: Told, some: list[Said]) -> c.Command | str:
        """A command as it comes; or why it cannot."""
        is_mine = self._is_trusted(told)
        writer = c.Actor(trust=_trust(told.origin))
        if any(origin_of(writer, one.body) != one.origin for one in told.events if one.body):
            return "its events have authors that cannot have written them together"
        if not all(map(is_timed, some)):
            return "it says a time that does not exist"
        if told.id in self._unlike:
            return self._unlike[told.id]
        id = id_here(told, [one.place for one in some], is_low=not is_mine)
        if len(id) > _ID_MAX_CHARS:
            return "a part of it was erased, and what is left is too scattered"
        take = Take(
            id=id,
            bodies=tuple(self._dated(one, is_mine=is_mine) for one in some),
            fork=self.fork,
            named=self._named(some),
            is_mine=is_mine,
        )
        most: e.Trust = "person" if is_mine else "agent"
        actor = c.Actor(trust=lowest([writer.trust, most]))
        command = c.Command(id=id, actor=actor, acts=(take,))
        return "it is too large for one command" if is_too_large(*size(command)) else command

    def _dated(self, one: Said, *, is_mine: bool) -> e.AnyBody:
        """The body with the instant at which it was written; a stranger's is not later than now."""
        body = cast(e.AnyBody, one.body)
        at = (body.written_at or one.at) if is_mine else min(one.at, self._handle.seam.now())
        return structs.replace(body, written_at=at)

    def refused(self) -> list[str]:
        """Why commands would not come that only the state here refuses: tried on a copy."""
        if self.most == "person":
            return []
        with closing(scratch_space(self._handle.space.name, self._handle.seam)) as copy:
            copy.receive(self._handle.space.pieces())
            done = Writing(Handle(copy, self._handle.seam), copy.head().seq, None)
            done.write([*self.erasing, *self.coming])
        return done.left

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
        """The episodes of the other ledger that are here.

        An id that means two things is refused, or the command left out if it is not trusted.
        """
        found: dict[str, bool] = {}
        with self._handle.space.reading() as reads:
            for told in filter(self._is_new, self._theirs.commands):
                for one in told.events:
                    what = None if one.body is None else _unlike(reads, one.body)
                    if isinstance(one.body, e.EpisodeObserved):
                        found[one.body.id] = reads.episode(one.body.id) is not None
                    if what is None or not self._comes(told, one):
                        continue
                    if self._is_trusted(told):
                        raise self._two_things(what, subject_of(cast(e.AnyBody, one.body))[1])
                    self._unlike[told.id] = f"its {what} has an id of another one here"
        return found

    def _two_things(self, what: str, id: str) -> Conflict:
        """The refusal of an id that each ledger gave to something else."""
        here, there = self._handle.space.where, self._source.where
        return Conflict(
            f"each ledger gave the id {id!r} to another {what}, and nothing was merged",
            hint=f"compare `show {id}` in {here} and in {there}, and erase the one that you do not "
            f"need: `recollect erase {id}`",
        )

    # What both changed.

    @contextmanager
    def sides(self) -> Iterator[list[Sides]]:
        """What both sides have of everything that both changed."""
        with begun(self._source) as source, self._handle.space.reading() as reads:
            keys = KeysOf(reads, self._mine, self._theirs)
            raised = self._raised if self.most == "person" else None
            found = meetings(self._mine, self._theirs, keys, self._stays, self._comes, raised)
            if not found:
                yield []
                return
            mine, others = Changes(self._mine), Changes(self._theirs)
            with closing(scratch_space(self._handle.space.name, self._handle.seam)) as copy:
                copy.receive(source)
                with copy.reading() as theirs:
                    made: list[Sides] = []
                    for one in found:
                        ours = reads if one.since is None else Reads(reads.db, at=one.since)
                        made.append(Sides(one, ours, theirs, mine, others))
                    yield made

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
            decided=settled,
            conflicts=conflicts,
            digest=digest,
            dry_run=wanted.dry_run,
            left=tuple(self.left),
            seq=space.head().seq,
        )


def _settling(
    handle: Handle,
    sides: Sides,
    choose: Mapping[str, Choice],
    digest: str,
    most: e.Trust,
) -> Iterator[c.Command]:
    """The commands that give both ledgers the same; only the last one settles it."""
    choice = choose.get(sides.meeting.id, "theirs" if sides.meeting.is_raised else "ours")
    parts = list(in_commands(sides.settled(choice, digest, most)))
    for place, bodies in enumerate(parts, 1):
        begin = SETTLING if place == len(parts) else UNFINISHED
        id = begin + handle.seam.random(16).hex()
        take = Take(id=id, bodies=bodies, fork=0, is_mine=True)
        yield c.Command(id=id, actor=c.Actor(trust="person"), acts=(take,))


def _settled(
    wanted: Wanted, digest: str, conflicts: tuple[LedgerConflict, ...]
) -> dict[str, Choice]:
    """How each conflict is settled, by its id.

    Refuses a merge of something else than was shown, or one that leaves a conflict open.
    """
    again = "the same merge with `--dry-run` shows what is there now"
    if wanted.digest not in (None, digest):
        raise Changed("the two ledgers are not what was shown", hint=again)
    found: dict[str, Choice] = {}
    for name, word in wanted.choose.items():
        named = [one.id for one in conflicts if name in (one.id, one.ours.key, one.theirs.key)]
        if not named:
            raise InvalidInput(
                f"{name!r} is not a conflict of this merge: it is decided already, or only one "
                "side has changed it",
                hint=again,
            )
        if len(named) > 1 or named[0] in found:
            raise InvalidInput(f"{name!r} names more than one decision", hint="use each id once")
        if word not in ("ours", "theirs"):
            raise InvalidInput(f"{name!r} is decided with {word!r}", hint="use ours or theirs")
        found[named[0]] = word
    left = [one.id for one in conflicts if one.id not in found]
    if left:
        more = ", …" if len(left) > _LISTED_MAX_COUNT else ""
        raise Conflict(
            f"both ledgers changed {counted(len(left), 'thing')}, and nothing was merged: "
            f"{', '.join(left[:_LISTED_MAX_COUNT])}{more}",
            hint="decide each: `ours` keeps what this memory has, `theirs` takes the other's; "
            "a dry run shows both sides",
        )
    return found


def _lines(space: Copyable, after: int) -> Iterator[Line]:
    """The events of a ledger after one."""
    rest = b""
    for piece in space.pieces(after):
        *lines, rest = (rest + piece).split(b"\n")
        yield from map(parse, lines)


def _unlike(reads: Reads, body: e.AnyBody) -> str | None:
    """What something here is that has the id of another such thing in the other ledger."""
    if isinstance(body, e.EpisodeObserved):
        row = reads.episode(body.id)
        is_other = row is not None and (row.text, row.role) != (body.text, body.role)
        return "episode" if is_other else None
    if isinstance(body, e.RecordAdded):
        known = reads.version(body.id)
        is_other = known is not None and (known.key, known.user) != (body.key, body.user)
        return "record" if is_other else None
    return None


def _is_heard(one: Said, here: dict[str, bool]) -> bool:
    return isinstance(one.body, e.EpisodeObserved) and here.get(one.body.id, False)


def _trust(origin: e.Origin) -> e.Trust:
    return "person" if origin == "system" else origin
