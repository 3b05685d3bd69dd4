"""Random pairs of ledgers that grew after a copy, and a judge of what a merge left in both.

The judge reads the bytes of both ledgers and the rows of both indexes, and shares nothing with
``memory.merging.merge``. Invariant: it counts what each side had written before the merge, and
asks that both sides say the same afterwards, without positions and the times of the import.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import pytest

from recollect import Memory
from recollect.errors import Changed, Conflict
from recollect.ledger.line import Line
from recollect.ledger.scan import scan
from recollect.memory.handle.handle import Handle
from recollect.memory.merging import merge_steps
from recollect.model.instants import to_microseconds
from recollect.model.values import Choice, LedgerMerge
from recollect.store.indexed.backend import MemorySpace
from recollect.store.port import Space
from tests.suites.histories import KEYS, Clockwork, History

STAYS = {
    "space.opened",
    "context.handed",
    "ledger.sealed",
    "ledger.tail_cut",
    "ledger.loss_accepted",
    "events.erased",  # its numbers are its ledger's
    "session.opened",  # where both opened one of the same name, each keeps its own
    "session.closed",
}
# The id of what a merge brought: where it was written, under which hash, and which events of it.
_TAG = re.compile(r"(.+)~[xu]([0-9a-f]{16})(?::(.+))?")
# Keys that callers may choose, and that look nearly like that.
ENDS = ("", "", "", "~k1", "~x12", "~x0123456789abcde:1-2", "~")
# What differs from ledger to ledger, or is the position of something.
NUMBERS = {"written_at", "base", "spans", "root", "through", "command"}
VERSION = ("what", "origin", "text", "key", "user", "agent", "status", "trust", "kind", "about")


def lines_of(space: Space) -> list[Line]:
    """Every event of a ledger."""
    return [line for append in scan(space.pieces()) for line in append.lines]


def said_in(space: Space, after: int = 0) -> Counter[str]:
    """What the events after a position say, with their authors and times; what is erased is not."""
    found: Counter[str] = Counter()
    for line in lines_of(space):
        if line.seq <= after or line.data is None or line.kind in STAYS:
            continue
        found[_said(line)] += 1
    return found


def _said(line: Line) -> str:
    body = json.loads(line.data or b"{}", object_hook=_without_defaults)
    at = body.get("written_at") or line.at
    kind = line.kind
    if line.id.startswith("settled-"):
        kind = f"settled {kind}"
    elif kind == "record.added":  # where both gave a record the same id, it is a version there
        kind = "record.revised"
        body = {name: body.get(name) for name in ("id", "text", "evidence", "user")}
    elif kind == "record.revised" and "text" in body and "reason" not in body:
        body = {name: body.get(name) for name in ("id", "text", "evidence", "user")}
    elif kind in (
        "record.archived",
        "proposal.approved",
        "proposal.rejected",
        "proposal.withdrawn",
    ):
        # without effect it comes without its reason
        body = {"id": body["id"], "record": body.get("record")}
    body = {name: value for name, value in body.items() if name not in NUMBERS and value}
    return json.dumps([kind, line.origin, at, body], sort_keys=True)


def _without_defaults(fields: dict[str, object]) -> dict[str, object]:
    usual = {"decay_tier": "standard", "source_type": "told"}
    return {name: value for name, value in fields.items() if usual.get(name) != value}


@dataclass
class Pair:
    """Two memories that were one."""

    seed: int
    dice: int = 0
    sides: list[MemorySpace] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    resolved: set[str] = field(default_factory=set)  # ids that meant two things
    seen: Counter[str] = field(default_factory=Counter)

    def memory(self, side: int) -> Memory:
        """One of them, on a machine whose clock is as far as both ledgers."""
        self.dice += 1
        us = max(to_microseconds(each.head().at) for each in self.sides)
        return Memory(Handle(self.sides[side], Clockwork(1_000 * self.seed + self.dice, us)))


class Side(History):
    """One of both: in some pairs each uses the same names for its commands as the other.

    Then nothing is erased: which of two commands of one name was erased cannot always be known.
    """

    side: int | None = None

    def erase(self, handle: Memory) -> None:
        if self.side is not None:
            super().erase(handle)

    def _command(self) -> str | None:
        name = super()._command()
        if name is not None:
            name += "" if self.side is None else f"-{self.side}"
            name = self._commands[-1] = name + ENDS[len(self._commands) % len(ENDS)]
        return name


def grown(seed: int, steps: int) -> tuple[Pair, list[History]]:
    """A history, a copy of it, and both going on for themselves."""
    rng = random.Random(seed)
    pair = Pair(seed)
    seam = Clockwork(seed)
    first = MemorySpace("main", seam)
    base = History(Memory(Handle(first, seam)), seam, random.Random(seed))
    base.play(rng.randint(0, steps))
    if first.head().seq == 1:
        base.memory.remember("The first thing.")
    second = MemorySpace("main", Clockwork(seed + 1, to_microseconds(first.head().at)))
    second.receive(first.pieces())
    pair.sides = [first, second]
    histories = [_going_on(base, first, seed + 10), _going_on(base, second, seed + 11)]
    return pair, histories


def _going_on(base: History, space: MemorySpace, seed: int) -> History:
    seam = Clockwork(seed, 1_800_000_000_000_000 + seed % 1_000)
    space.seam = seam
    history = Side(Memory(Handle(space, seam)), seam, random.Random(seed))
    history.side = None if base.rng.getstate()[1][0] % 3 == 0 else seed
    for name in ("records", "episodes", "_commands", "_told"):
        setattr(history, name, copy(getattr(base, name)))
    return history


def merged(pair: Pair, target: int, rng: random.Random, *, races: bool = False) -> None:
    """Merges the other side into one, deciding each conflict by chance.

    With ``races`` someone writes between two of the steps; then it begins again.
    """
    memory, other = pair.memory(target), pair.memory(1 - target)
    words: list[Choice] = ["ours", "theirs"]

    must_stop = False

    def raced(done: int, total: int) -> None:
        nonlocal races, must_stop
        if races and rng.random() < 0.5:
            races, must_stop = False, done < total
            pair.seen["races"] += 1
            pair.memory(target).remember(f"Raced {rng.random()}.", key=rng.choice(KEYS))

    shown, done = _shown(pair, memory, other), None
    while done is None:
        choose = {one.id: rng.choice(words) for one in shown.conflicts}
        try:
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(merge_steps, "AT_ONCE", 3 if races else merge_steps.AT_ONCE)
                done = memory.admin.merge_from(
                    other, is_mine=True, choose=choose, digest=shown.digest, progress=raced
                )
        except Changed:
            pair.seen["stopped"] += 1
            must_stop = False
            shown = _shown(pair, memory, other)
    pair.wrong += ["a write in between did not stop it"] if must_stop else []
    pair.seen["conflicts"] += len(shown.conflicts)
    pair.seen["commands"] += done.commands
    pair.seen["erased"] += done.erased
    pair.wrong += [f"left out: {one}" for one in done.left]


def _shown(pair: Pair, memory: Memory, other: Memory) -> LedgerMerge:
    """What a merge would do; an id that means two things is erased here first."""
    while True:
        try:
            return memory.admin.merge_from(other, is_mine=True, dry_run=True)
        except Conflict as error:
            (id,) = re.findall(r"gave the id '(.+)' to", error.message)
            memory.erase(id, sources=False)
            pair.resolved.add(id)


@dataclass
class Before:
    """What a side had before a merge."""

    said: Counter[str]
    ids: dict[str, dict[str, object]]  # of each event with a body: what it says
    erased: set[str]  # the events without one
    digests: set[str] = field(default_factory=set)  # of the ids that it has erased
    again: set[str] = field(default_factory=set)  # ids that it used once more after that

    @classmethod
    def of(cls, space: Space) -> Before:
        ids: dict[str, dict[str, object]] = {}
        erased: set[str] = set()
        digests: set[str] = set()
        again: set[str] = set()
        mark = ""
        for line in lines_of(space):
            command, _, place = line.id.rpartition(".")
            mark = line.hash[:16] if place == "1" else mark
            tag = _TAG.fullmatch(command)
            base, there, kept = tag.groups() if tag else (command, mark, None)
            names = {f"{base}~{there}.{_place_there(kept, int(place))}"}
            if not tag and not base.startswith("command-"):
                names.add(line.id)
            if line.data is None:
                erased |= names
                continue
            body = json.loads(line.data)
            ids |= dict.fromkeys(names, body)
            digests.update(body.get("ids", ()) if line.kind == "events.erased" else ())
            if "text" in body and "id" in body and _digest(body) in digests:
                again.add(str(body["id"]))
        return cls(said_in(space), ids, erased, digests, again)


def _place_there(kept: str | None, place: int) -> int:
    """The number of an event in its command where it was written, if only a part of that came."""
    if kept is None:
        return place
    ends = [[int(end) for end in part.split("-")] for part in kept.split("+")]
    return [n for end in ends for n in range(end[0], end[-1] + 1)][place - 1]


def judge(pair: Pair, before: list[Before]) -> None:
    """What was lost, what is doubled, what came back, and what differs."""
    after = [said_in(space) for space in pair.sides]
    pair.wrong += different(after[0], after[1])
    for one, other in (before, before[::-1]):
        gone = erased_words(one, other)
        pair.wrong += lost(one.said, after[0], gone | pair.resolved)
        pair.wrong += returned(gone, after)
    pair.wrong += doubled([one.said for one in before], after[0])
    left, right = (state_of(space) for space in pair.sides)
    pair.wrong += [f"differs: {name}" for name in _differing(left, right)]


def erased_words(one: Before, other: Before) -> set[str]:
    """The ids of what the other side has erased, as far as this side still says them."""
    bodies = (one.ids[id] for id in other.erased & one.ids.keys())
    found = {str(body.get("id") or body.get("name") or body.get("rule")) for body in bodies}
    here, there = (
        {str(body["id"]): body for body in side.ids.values() if "text" in body and "id" in body}
        for side in (one, other)
    )
    new = (body for id, body in here.items() if id not in there)
    gone = {str(body["id"]) for body in new if _digest(body) in other.digests}
    return found | gone - one.again


def _digest(body: dict[str, object]) -> str:
    role, text = body.get("role"), str(body["text"])
    said = f"{role}\0{len(text)}" if role else "\0" + "0"
    return sha256(f"erased id\0{body['id']}\0{said}".encode()).hexdigest()[:16]


SETTLED = tuple(f'["proposal.{how}"' for how in ("approved", "rejected", "withdrawn", "applied"))


def lost(had: Counter[str], after: Counter[str], gone: set[str]) -> list[str]:
    """What one side said, and nobody says any more, although nothing about it was erased.

    How a proposal was settled that this side has erased itself may come before that and go later.
    """
    missing = [said for said, count in had.items() if after[said] < count]
    for _, _, _, body in map(json.loads, had):  # a proposal goes with its branch and what it names
        about = {body.get("target"), body.get("branch"), *body.get("evidence", ())}
        gone = gone | {body["id"]} if "intent" in body and about & gone else gone
    made = {body["id"] for _, _, _, body in map(json.loads, had) if "intent" in body}
    settled = [said for said in missing if said.startswith(SETTLED)]
    rest = {said for said in settled if json.loads(said)[3]["id"] not in made}
    return [
        f"lost: {said}"
        for said in missing
        if said not in rest and not any(f'"{id}"' in said for id in gone)
    ]


def returned(gone: set[str], after: list[Counter[str]]) -> list[str]:
    """What says something about an erased id: names of evidence may stay, words may not."""
    found = []
    for said in (*after[0], *after[1]):
        body = json.loads(said)[3]
        if body.get("id") in gone and "text" in body:
            found.append(f"came back: {said}")
    return found


def different(one: Counter[str], other: Counter[str]) -> list[str]:
    """What one ledger says more often than the other."""
    found = [f"only in the first: {said}" for said in one - other]
    return [*found, *(f"only in the second: {said}" for said in other - one)]


def doubled(before: list[Counter[str]], after: Counter[str]) -> list[str]:
    """What is said more often than by both sides before."""
    most = before[0] | before[1]
    return [f"doubled: {said}" for said in most if after[said] > most[said]]


def _differing(left: dict[str, object], right: dict[str, object]) -> Iterator[str]:
    for name in sorted(left.keys() | right.keys()):
        one, other = left.get(name), right.get(name)
        if one == other:
            continue
        if isinstance(one, tuple) and isinstance(other, tuple):
            pairs = [(a, b) for a, b in zip(one, other, strict=False) if a != b]
            one, other = pairs[0]
            if isinstance(one, dict):
                one, other = (
                    sorted(a.items() - b.items()) for a, b in ((one, other), (other, one))
                )
        yield f"{name}: {one} / {other}"


def state_of(space: Space) -> dict[str, object]:
    """Everything that a memory holds, by name, without positions and times of the import."""
    with space.reading() as reads:
        found: dict[str, object] = {}
        ids = [str(id) for (id,) in _all(space, "SELECT DISTINCT id FROM versions")]
        for id in ids:
            rows = reads.versions(id)
            now = reads.version(id)
            assert now is not None
            state = {name: getattr(now, name) for name in now._fields}
            for name in ("seq", "until", "at", "text_seq", "last_reinforced_at", "reinforced_at"):
                del state[name]
            tags = sorted(json.loads(state.pop("tags")))
            is_settled = any((row.note or "").startswith("settled") for row in rows)
            steps: Any = [tuple(getattr(row, name) for name in VERSION) for row in rows]
            if is_settled:  # before the decision, each side had its own first
                steps = None
                for name in (
                    "what",
                    "origin",
                    "note",
                    "session",
                    "agent",
                    "tz_minutes",
                    "supersedes",
                    "created_at",
                    "key",
                    "user",
                    "reinforcement_count",
                ):
                    state.pop(name)
            else:
                steps = [one for one in steps if one[0] not in ("reinforced", "tagged")]
                uses = sum(row.what == "reinforced" for row in rows)
                tagged = sum(row.what == "tagged" for row in rows)
                steps = (steps, uses, tagged)
                for name in ("what", "origin", "note"):
                    state.pop(name)
            found[f"record {id}"] = (state, tags, steps)
        for row in _all(
            space,
            "SELECT source, target, kind, weight, trust, name FROM links "
            "WHERE until = 9007199254740991",
        ):
            found[f"link {row[:3]}"] = row[3:]
        for row in _all(
            space,
            'SELECT id, text, role, "user", session, agent, said_at, at, metadata, '
            "origin, trust FROM episodes",
        ):
            found[f"episode {row[0]}"] = row[1:]
        for row in _all(
            space, "SELECT episode FROM hidden WHERE until = 9007199254740991 AND why = 'forgotten'"
        ):
            found[f"forgotten {row[0]}"] = True
        for row in _all(
            space, "SELECT type, name, trust, data FROM documents WHERE until = 9007199254740991"
        ):
            found[f"document {row[:2]}"] = row[2:]
        for row in _all(space, "SELECT id, intent, trust, target, text, key FROM proposals"):
            found[f"proposal {row[0]}"] = row[1:]
        for row in _all(space, "SELECT id, name FROM branches"):
            found[f"branch {row[0]}"] = row[1:]
    return found


def _all(space: Space, sql: str) -> list[tuple[object, ...]]:
    assert isinstance(space, MemorySpace)
    with space.inside() as index:
        return [tuple(row) for row in index.db._connection.execute(sql)]


def story(seed: int, steps: int) -> Pair:
    """Two ledgers grow after a copy, are merged both ways, grow on and are merged again."""
    pair, histories = grown(seed, steps)
    rng = random.Random(f"merge {seed}")
    for _ in range(2):
        for history in histories:
            history.play(rng.randint(1, steps))
        before = [Before.of(space) for space in pair.sides]
        first = rng.randrange(2)
        merged(pair, first, rng, races=seed % 2 == 0)
        merged(pair, 1 - first, rng)
        judge(pair, before)
        heads = [space.head().seq for space in pair.sides]
        for target in (first, 1 - first):
            merged(pair, target, rng)
        if heads != [space.head().seq for space in pair.sides]:
            pair.wrong.append("merging again wrote something")
    for space in pair.sides:
        problem = space.index_problem()
        pair.wrong += [] if problem is None else [f"index: {problem}"]
        check = Memory(Handle(space)).admin.verify(deep=True)
        pair.wrong += [] if check.ok else [f"not sound: {check.problem}"]
    return pair


def unsigned_story(seed: int, steps: int) -> Pair:
    """The same, but first nobody says that the other memory is this person's."""
    pair, histories = grown(seed, steps)
    rng = random.Random(f"unsigned {seed}")
    for _ in range(2):
        for history in histories:
            history.play(rng.randint(1, steps))
        memory, other = pair.memory(0), pair.memory(1)
        shown = memory.admin.merge_from(other, dry_run=True)
        choose: dict[str, Choice] = {one.id: "ours" for one in shown.conflicts}
        done = memory.admin.merge_from(other, choose=choose, digest=shown.digest)
        pair.seen["unsigned"] += done.commands
        pair.seen["refused"] += len(done.left)
        for target in (0, 1):
            merged(pair, target, rng)
        left, right = (believed(space) for space in pair.sides)
        pair.wrong += [f"differs: {name}" for name in _differing(left, right)]
        heads = [space.head().seq for space in pair.sides]
        for target in (0, 1):
            merged(pair, target, rng)
        if heads != [space.head().seq for space in pair.sides]:
            pair.wrong.append("merging again wrote something")
    for space in pair.sides:
        problem = space.index_problem()
        pair.wrong += [] if problem is None else [f"index: {problem}"]
    return pair


def believed(space: Space) -> dict[str, object]:
    """What a memory holds now: records, links and documents with their trust, and words said."""
    found: dict[str, object] = {}
    with space.reading() as reads:
        for (id,) in _all(space, "SELECT DISTINCT id FROM versions"):
            row = reads.version(str(id))
            assert row is not None
            tags = tuple(sorted(json.loads(row.tags)))
            found[f"record {id}"] = (row.text, row.status, row.trust, row.key, tags)
    whole = state_of(space)
    found |= {name: whole[name] for name in whole if name.startswith(("link ", "document "))}
    return found | {name: True for name in whole if name.startswith(("episode ", "forgotten "))}
