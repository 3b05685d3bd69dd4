"""Random histories over the whole API, and replays of the ledgers they leave.

Clock and dice come from a seeded seam, so that a seed replays a run. Invariant: a replay shares
nothing with the memory it is compared with but the ledger's bytes.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import TypeVar

from recollect import Memory
from recollect.errors import Ambiguous, Conflict, Forbidden, InvalidInput, NotFound
from recollect.index.fold import Clock, Fold
from recollect.index.tables import Tables
from recollect.ledger.codec import decode
from recollect.ledger.scan import Append
from recollect.memory.handle.handle import Handle
from recollect.model.events import GENESIS
from recollect.model.instants import from_microseconds
from recollect.model.validate import Json
from recollect.model.values import INCLUDES, Include
from recollect.model.words import Sources
from recollect.store.indexed.index import Index
from recollect.store.indexed.ledger import Tail
from recollect.store.indexed.memory import MemoryLedgers
from recollect.store.indexed.space import IndexedSpace
from recollect.store.seam import Seam

T = TypeVar("T")

ALL: tuple[Include, ...] = INCLUDES
WORDS = "river stone table window paper garden music letter winter number market silver".split()
KEYS = [f"alice.{word}" for word in WORDS[:6]]
TAGS = WORDS[6:]
_START_US = 1_790_000_000_000_000
_GAPS_US = (0, 0, 900, 5_000_000, 600_000_000, 2_400_000_000, 200_000_000_000)


class Clockwork(Seam):
    """A clock that moves when it is told to, and dice that fall the same way again."""

    def __init__(self, seed: int, start_us: int = _START_US) -> None:
        self.restart(seed, start_us)

    def restart(self, seed: int, start_us: int) -> None:
        self._dice = random.Random(seed)
        self._us = start_us

    def now(self) -> str:
        return from_microseconds(self._us)

    def random(self, count: int) -> bytes:
        return self._dice.randbytes(count)

    def tz_minutes(self) -> int:
        return 60

    def tick(self, us: int) -> None:
        self._us += us


_RULES: dict[str, str | None] = {"facts": "metadata.subject != null", "all": None}


class Stopped(Clockwork):
    """A clock that stands at one instant."""

    def __init__(self, at: str) -> None:
        super().__init__(0)
        self._at = at

    def now(self) -> str:
        return self._at


class History:
    """Does anything that the API allows, in any order."""

    def __init__(self, memory: Memory, seam: Clockwork, rng: random.Random) -> None:
        self.memory = memory
        self.seam = seam
        self.rng = rng
        self.records: list[str] = []
        self.episodes: list[str] = []
        self.done: Counter[str] = Counter()
        self.refused = 0
        state = rng.getstate()  # of Hypothesis, a number
        seed = state[1][0] if isinstance(state, tuple) else state
        self._beside = random.Random(seed)  # for what must not move the other dice
        self._branching = random.Random(f"branches {seed}")  # the same for branches
        self._commands: list[str] = []
        self._told: list[str] = []  # episodes for rules
        self._handles = [
            *[memory] * 4,
            memory.scoped(trust="agent", agent="bot"),
            memory.scoped(trust="agent", session="s1"),
            memory.scoped(trust="unverified"),
            memory.scoped(user="ann"),
            memory.scoped(user="bob", session="s2"),
            memory.scoped(user="bob", trust="agent"),
        ]
        self._acts: list[tuple[int, Callable[[Memory], object]]] = [
            (12, self.remember),
            (8, self.keyed),
            (8, self.observe),
            (4, self.restate),
            (8, self.revise),
            (6, self.forget),
            (5, self.restore),
            (4, self.tag),
            (4, self.link),
            (2, self.unlink),
            (3, self.used),
            (4, self.batch),
            (2, self.again),
            (1, self.erase),
            (1, self.seal),
        ]

    def play(self, steps: int) -> None:
        """So many operations that were not refused; refusals are counted beside them."""
        weights = [weight for weight, _ in self._acts]
        for act in self.rng.choices([act for _, act in self._acts], weights, k=3 * steps):
            self.seam.tick(self.rng.choice(_GAPS_US))
            handle = self.rng.choice(self._handles)
            self._try(act, handle)
            if self._beside.random() < 0.12:
                self.session(handle)
            if self._beside.random() < 0.15:
                self.review(handle)
            if self._beside.random() < 0.15:
                self.rule(handle)
            if self._beside.random() < 0.1:
                self.take_back(handle)
            if self._branching.random() < 0.15:
                self.branch(handle)
            if self.done.total() == steps:
                break

    def make_up_for(self, verbs: Sequence[str]) -> None:
        """One of each of these verbs that was not done yet; each is tried up to 200 times."""
        for act in [act for _, act in self._acts if act.__name__ in verbs]:
            for _ in range(200):
                if self.done[act.__name__]:
                    break
                self._try(act, self.rng.choice(self._handles))

    def _try(self, act: Callable[[Memory], object], handle: Memory) -> None:
        try:
            act(handle)
            self.done[act.__name__] += 1
        except (Conflict, Forbidden, InvalidInput, NotFound):
            self.refused += 1

    # One of each verb.

    def remember(self, handle: Memory) -> None:
        rng = self.rng
        record = handle.remember(
            self._text(),
            about=self._maybe(rng.choice(WORDS)),
            kind=self._maybe("preference"),
            tags=rng.sample(TAGS, rng.randint(0, 3)),
            data=self._maybe(self._data()),
            confidence=self._maybe(rng.random()),
            evidence=self._evidence(),
            expires=self._maybe(timedelta(seconds=rng.choice([1, 60, 3_600, 900_000]))),
            valid_from=self._maybe(rng.choice(["2026-01-01", "2030-01-01"])),
            valid_to=self._maybe(rng.choice(["2026-06-01", "2030-01-01"])),
            how_known=self._maybe(rng.choice(["observed", "inferred", "imported"])),
            is_hypothesis=self._maybe(rng.random() < 0.5),
            id=self._maybe(f"mine-{rng.randrange(400)}"),
            idempotency_key=self._command(),
        )
        self.records.append(record.id)

    def keyed(self, handle: Memory) -> None:
        key = self.rng.choice(KEYS)
        text = f"{key} is {self.rng.choice(WORDS)}"
        record = handle.remember(
            text, key=key, evidence=self._evidence(), idempotency_key=self._command()
        )
        self.records.append(record.id)

    def observe(self, handle: Memory) -> None:
        roles = self.rng.choices(["user", "assistant", "tool", "system"], k=self.rng.randint(1, 3))
        messages = [{"role": role, "content": self._text()} for role in roles]
        metadata = self._maybe({"from": self.rng.choice(WORDS)})
        told = handle.observe(messages, metadata=metadata, said_at=self._maybe("2026-02-03"))
        self.episodes += [episode.id for episode in told]

    def restate(self, handle: Memory) -> None:
        record = self.memory.history(self._record())[-1].record
        tags = self.rng.sample(TAGS, 1)
        again = handle.remember(record.text, key=record.key, evidence=self._evidence(), tags=tags)
        self.records.append(again.id)

    def revise(self, handle: Memory) -> None:
        reason = self._maybe("it was wrong")
        handle.revise(self._record(), self._text(), reason=reason, evidence=self._evidence())

    def forget(self, handle: Memory) -> None:
        sources: list[Sources] = ["hide", "hide", "keep"]
        handle.forget(self._any(), sources=self.rng.choice(sources), reason=self._maybe("no more"))

    def restore(self, handle: Memory) -> None:
        handle.undo(self._any())

    def tag(self, handle: Memory) -> None:
        add, remove = self.rng.sample(TAGS, 2), self.rng.sample(TAGS, 2)
        handle.revise(self._record(), tags=add, untag=remove)

    def link(self, handle: Memory) -> None:
        kind = self.rng.choice(["relates_to", "contradicts"])
        handle.graph.link(self._record(), self._record(), kind, weight=round(self.rng.random(), 3))

    def unlink(self, handle: Memory) -> None:
        links = self.memory.why(self._record()).links
        if links:
            link = self.rng.choice(links)
            handle.graph.unlink(link.source, link.target, link.kind)

    def used(self, handle: Memory) -> None:
        handle.used(None, {self._any() for _ in range(3)})

    def batch(self, handle: Memory) -> None:
        with handle.batch(idempotency_key=self._command()) as batch:
            for _ in range(self.rng.randint(1, 5)):
                what = self.rng.randrange(6)
                if what == 0:
                    batch.observe(self._text(), role=self.rng.choice(["user", "tool"]))
                elif what == 1:
                    batch.remember(self._text(), key=self.rng.choice(KEYS))
                elif what == 2:
                    batch.revise(self._record(), self._text())
                elif what == 3:
                    batch.forget(self._any())
                elif what == 4:
                    batch.revise(self._record(), tags=[self.rng.choice(TAGS)])
                else:
                    batch.remember(self._text(), evidence=self._evidence())
        for result in batch.results:
            (self.episodes if result.id.startswith("e-") else self.records).append(result.id)

    def again(self, handle: Memory) -> None:
        """A command id that was used before: the first outcome, or a Conflict."""
        if self._commands:
            handle.remember(self._text(), idempotency_key=self.rng.choice(self._commands))

    def erase(self, handle: Memory) -> None:
        handle.erase(self._any(), sources=self.rng.random() < 0.7, reason=self._maybe("asked to"))

    def seal(self, handle: Memory) -> None:
        self.memory.admin.seal()

    def session(self, handle: Memory) -> None:
        """Opens one, closes it, or erases that it ran; some have episodes and records too."""
        rng, id = self._beside, self._beside.choice(["s1", "s2", "s3 s4"])
        with suppress(Ambiguous, Conflict, Forbidden, NotFound):
            if rng.random() < 0.6:
                handle.sessions.open(id, task_type=rng.choice(["review", None]))
            else:
                handle.sessions.close(id, erase=rng.random() < 0.4)

    def branch(self, handle: Memory) -> None:
        """Opens a branch, writes on it, or ends it."""
        rng, name = self._branching, self._branching.choice(["b1", "b2"])
        with suppress(Ambiguous, Conflict, Forbidden, InvalidInput, NotFound):
            if not handle.branches.list() or rng.random() < 0.1:
                handle.branches.open(name)
                return
            what, id = rng.random(), rng.choice(self.records[-40:] or ["none"])
            if what < 0.3:
                key = rng.choice([None, *KEYS])
                handle.on(name).remember(f"branched {rng.choice(WORDS)}", key=key)
            elif what < 0.6:
                handle.on(name).revise(id, f"branched {rng.choice(WORDS)}")
            elif what < 0.75:
                handle.on(name).forget(id)
            elif what < 0.85:
                diff = handle.branches.diff(name)
                words = {one.id: rng.choice(["ours", "theirs"]) for one in diff.conflicts}
                handle.branches.merge(name, diff.digest, choose=words)  # type: ignore[arg-type]
            elif what < 0.92:
                handle.branches.abandon(name, "not wanted")
            elif what < 0.97:
                handle.branches.condense(name, f"condensed {rng.choice(WORDS)}")
            else:
                handle.branches.erase(name)

    def review(self, handle: Memory) -> None:
        """Proposes something, or decides one of those that wait the longest."""
        rng = self._beside
        waiting = handle.review.list(limit=20)
        with suppress(Conflict, Forbidden, InvalidInput, NotFound):
            if not waiting or rng.random() < 0.3:
                target = rng.choice([None, *self.records[-40:]])
                text = None if target and rng.random() < 0.3 else f"proposed {rng.choice(WORDS)}"
                key = rng.choice([None, *KEYS]) if target is None else None
                evidence = rng.sample(self.episodes[-20:], min(1, len(self.episodes)))
                handle.review.propose(text, target=target, key=key, evidence=evidence)
                return
            one = rng.choice(waiting)
            if rng.random() < 0.15:
                handle.review.withdraw(one.id)
            elif rng.random() < 0.6:
                made = self.memory.review.approve(one.id, one.digest, reason="looked at")
                self.records += [made.record] if made.record else []
            else:
                self.memory.review.reject(one.id, one.digest, "no")

    def rule(self, handle: Memory) -> None:
        """Says something for a rule, sets or erases one, or runs one."""
        rng, name = self._beside, self._beside.choice(["facts", "all"])
        with suppress(Conflict, Forbidden, InvalidInput, NotFound):
            if rng.random() < 0.5:
                said = handle.observe(
                    f"ruled {rng.choice(WORDS)}",
                    role=rng.choice(["user", "assistant", "tool"]),
                    metadata=self._asked(),
                )
                self._told += [one.id for one in said]
            elif rng.random() < 0.2:
                handle.settings.rules.set(name, filter=_RULES[name], from_start=rng.random() < 0.3)
            elif rng.random() < 0.1:
                self.memory.settings.rules.drop(name, erase=rng.random() < 0.5)
            elif all(one.name != name for one in handle.settings.rules.list()):
                handle.settings.rules.set(name, filter=_RULES[name])
            else:
                made = handle.settings.rules.run(
                    name, limit=rng.randint(1, 9), dry_run=rng.random() < 0.1
                )
                self.records += [
                    one.id for one in made.proposals if one.outcome == "applied" if one.id
                ]

    def _asked(self) -> dict[str, Json]:
        """Metadata that a rule reads, some of it of no use."""
        rng = self._beside
        asked: dict[str, Json] = {"subject": rng.choice(WORDS[:3]), "predicate": "is"}
        if rng.random() < 0.6:
            asked["object"] = rng.choice([*WORDS[:4], 5, True])
        if rng.random() < 0.3:
            asked["intent"] = rng.choice(["noop", "update", "delete", "odd"])
        if rng.random() < 0.3:
            asked["replaces"] = rng.choice([*self.records[-9:], *self._told[-9:], *KEYS])
        if rng.random() < 0.2:
            asked["key"] = rng.choice(KEYS)
        return asked

    def take_back(self, handle: Memory) -> None:
        """Reverts, settles, retracts or archives something."""
        rng = self._beside
        known = rng.choice([*self.records[-40:], "nothing"])
        with suppress(Conflict, Forbidden, InvalidInput, NotFound):
            what = rng.randrange(5)
            if what == 0:
                handle.undo(known)
            elif what == 1:
                versions = self.memory.history(known)
                handle.undo(known, to=rng.choice(versions).seq)
            elif what == 2:
                evidence = rng.sample(self.episodes[-20:], min(1, len(self.episodes)))
                settle = handle.review.confirm if rng.random() < 0.5 else handle.review.refute
                settle(known, evidence=evidence)
            elif what == 3:
                handle.forget(rng.choice([known, *self.episodes[-20:]]), derived=True)
            else:
                handle.admin.archive(below=rng.choice([0.5, 0.9, 0.99]), limit=rng.randint(1, 4))

    # Choices.

    def _text(self) -> str:
        words = self.rng.choices(WORDS, k=self.rng.randint(2, 6))
        return " ".join([*words, str(self.rng.randrange(1_000))])

    def _data(self) -> dict[str, Json]:
        return {"n": self.rng.randrange(9), "deep": {"list": [1, None, 0.5]}}

    def _maybe(self, value: T) -> T | None:
        return value if self.rng.random() < 0.3 else None

    def _record(self) -> str:
        return self._recent(self.records)

    def _any(self) -> str:
        return self._recent(self.episodes if self.rng.random() < 0.25 else self.records)

    def _recent(self, ids: list[str]) -> str:
        """More often one of the last forty than one of all."""
        if not ids:
            return "nobody"
        return self.rng.choice(ids[-40:] if self.rng.random() < 0.8 else ids)

    def _evidence(self) -> list[str]:
        if not self.episodes or self.rng.random() < 0.5:
            return []
        return list({self._recent(self.episodes) for _ in range(self.rng.randint(1, 3))})

    def _command(self) -> str | None:
        if self.rng.random() < 0.8:
            return None
        self._commands.append(f"command-{len(self._commands)}")
        return self._commands[-1]


class Alone(IndexedSpace):
    """A space that shows an index of ours and looks at no ledger."""

    def __init__(self, index: Index, name: str, seam: Seam) -> None:
        super().__init__(MemoryLedgers(seam).ledger(name), name, seam, create=True)
        self.index = index

    def look(self, hash: bytes | None = None) -> Tail:
        return Tail(0, GENESIS, 0, self.epoch, 0, b"", None)

    def follow(self, tail: Tail) -> Index:
        assert self.index is not None
        return self.index


class Replay:
    """A fresh index in memory, folded from a ledger append by append."""

    def __init__(self, name: str) -> None:
        self._index = Index.empty(name)
        self._space = Alone(self._index, name, Stopped(GENESIS.at))
        self._tables = Tables(self._index.db)
        self._fold = Fold(self._tables, Clock(GENESIS.at, 0))
        self._at = GENESIS.at

    def fold(self, appends: Iterable[Append]) -> None:
        """Go on with these."""
        self._index.db.run("begin_write")
        for append in appends:
            self._fold.append([decode(line) for line in append.lines])
            self._at = append.head.at
            self._index.move(append.head, self._fold.clock.active_us, 0)
        self._tables.flush()
        self._index.commit()

    @property
    def memory(self) -> Memory:
        """What a memory shows whose ledger ends here, at the instant of its last event."""
        return Memory(Handle(self._space, Stopped(self._at)))

    def close(self) -> None:
        self._space.close()


def answers(memory: Memory, ids: Iterable[str]) -> dict[str, object]:
    """What every read says: the past and a replay must agree in all of it."""
    found: dict[str, object] = {
        "digest": memory.admin.digest(),
        "list": memory.list(limit=10_000),
        "list of all": memory.list(limit=10_000, include=ALL),
        "episodes": memory.sessions.episodes(limit=10_000),
        "sessions": memory.sessions.list(limit=10_000),
        "active session": memory.sessions.active(),
        "rules": memory.settings.rules.list(limit=1_000),
        "what waits": memory.review.list(limit=1_000),
        "branches": memory.branches.list(closed=True, limit=1_000),
    }
    for id in ids:
        found[f"get {id}"] = _or_refusal(lambda id=id: memory.get(id))  # type: ignore[misc]
        found[f"history {id}"] = _or_refusal(lambda id=id: memory.history(id))  # type: ignore[misc]
        found[f"why {id}"] = _or_refusal(lambda id=id: memory.why(id))  # type: ignore[misc]
    for word in WORDS[:2]:
        hits = memory.recall(word, k=1_000).hits
        found[f"recall {word}"] = sorted(hit.id for hit in hits)
    return found


def _or_refusal(read: Callable[[], object]) -> object:
    try:
        return read()
    except (InvalidInput, NotFound) as refusal:
        return refusal.to_dict()
