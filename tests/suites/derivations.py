"""Random derivation graphs, and a judge of their trust that reads the ledger alone.

The judge shares nothing with the index: it replays events in a few lines of its own. Invariant: it
asks of every record, after every command, whether it has more trust than one of its ancestors.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from msgspec import UNSET

from recollect import Memory, Quote
from recollect.errors import Conflict, Forbidden, InvalidInput, LimitExceeded, NotFound
from recollect.ledger.codec import decode
from recollect.ledger.scan import scan
from recollect.memory.handle.handle import Handle
from recollect.model import events as e
from recollect.model.values import Record
from recollect.store.indexed.backend import MemorySpace
from tests.suites.histories import WORDS, Clockwork

RANK = e.TRUST_RANK
ROLES: tuple[e.Role, ...] = ("user", "assistant", "tool", "system")
KEYS = ("port", "host", "owner")


class Graph:
    """Several actors state, derive, correct, link, forget and bring back, in any order."""

    def __init__(self, memory: Memory, seam: Clockwork, rng: random.Random) -> None:
        self.memory, self.seam, self.rng = memory, seam, rng
        self.records: list[str] = []
        self.episodes: list[str] = []
        self.done: Counter[str] = Counter()
        self._handles = [
            *[memory] * 9,
            *[memory.scoped(trust="agent")] * 4,
            memory.scoped(trust="unverified"),
            memory.scoped(user="ann"),
            memory.scoped(user="ann", trust="agent"),
            memory.scoped(user="bob"),
        ]
        self._acts: list[tuple[int, Callable[[Memory], object]]] = [
            (5, self.observe),
            (12, self.remember),
            (3, self.keyed),
            (6, self.restate),
            (6, self.revise),
            (2, self.quote),
            (8, self.spoil),
            (8, self.derive),
            (2, self.unlink),
            (2, self.forget),
            (3, self.restore),
            (3, self.revert),
            (2, self.batch),
            (4, self.undo),
            (6, self.review),
            (3, self.regret),
            (1, self.erase),
        ]

    def play(self, steps: int) -> None:
        """First derivations that are trusted, because only those can fall; then anything."""
        person, agent = self._handles[0], self._handles[-5]
        for _ in range(steps // 3):
            self.seam.tick(1_000)
            self.remember(self.rng.choice([person, person, agent]))
        weights = [weight for weight, _ in self._acts]
        for act in self.rng.choices([act for _, act in self._acts], weights, k=2 * steps // 3):
            self.seam.tick(1_000)
            try:
                act(self.rng.choice(self._handles))
                self.done[act.__name__] += 1
            except (Conflict, Forbidden, InvalidInput, NotFound, LimitExceeded):
                self.done["refused"] += 1

    def observe(self, handle: Memory) -> None:
        (said,) = handle.observe(self._text(), role=self.rng.choice(ROLES))
        self.episodes.append(said.id)

    def remember(self, handle: Memory) -> None:
        self.records.append(handle.remember(self._text(), evidence=self._evidence(0.8)).id)

    def keyed(self, handle: Memory) -> None:
        key = self.rng.choice(KEYS)
        self.records.append(handle.remember(self._text(), key=key, evidence=self._evidence(0.5)).id)

    def restate(self, handle: Memory) -> None:
        known = self.memory.history(self._one())[-1].record
        again = handle.remember(known.text, key=known.key, evidence=self._evidence(0.9))
        self.records.append(again.id)

    def revise(self, handle: Memory) -> None:
        handle.revise(self._one(), self._text(), evidence=self._evidence(0.7))

    def quote(self, handle: Memory) -> None:
        """An agent corrects a record with what a person has just said."""
        text = self._text()
        (said,) = self.memory.observe(text)
        agent = self.memory.scoped(trust="agent")
        agent.revise(self._one(), text, evidence=[Quote(said.id, text), *self._evidence(0.3)])

    def spoil(self, handle: Memory) -> None:
        """A record comes to rest on something that has less trust."""
        known = self.memory.history(self._one())[-1].record
        (heard,) = handle.observe(self._text(), role="assistant")
        less = handle.scoped(trust=self.rng.choice(["agent", "agent", "unverified"]))
        how = self.rng.randrange(3)
        if how == 0:
            handle.remember(known.text, key=known.key, evidence=[heard.id])
        elif how == 1:
            handle.revise(known.id, self._text(), evidence=[heard.id])
        else:
            rumour = less.remember(self._text())
            self.records.append(rumour.id)
            handle.graph.link(known.id, rumour.id, "derived_from")

    def derive(self, handle: Memory) -> None:
        kind = "derived_from" if self.rng.random() < 0.9 else "relates_to"
        handle.graph.link(self._one(), self._one(), kind, weight=self.rng.choice([0.5, 1.0]))

    def unlink(self, handle: Memory) -> None:
        links = self.memory.why(self._one()).links
        if links:
            link = self.rng.choice(links)
            handle.graph.unlink(link.source, link.target, link.kind)

    def forget(self, handle: Memory) -> None:
        handle.forget(self._one())

    def restore(self, handle: Memory) -> None:
        handle.undo(self._one())

    def revert(self, handle: Memory) -> None:
        handle.undo(self._one())

    def review(self, handle: Memory) -> None:
        """A person lets something in that waits, or does not; an agent may not."""
        waiting = handle.review.list()
        if waiting:
            one = self.rng.choice(waiting)
            settle = handle.review.approve if self.rng.random() < 0.8 else handle.review.reject
            settle(one.id, one.digest)
            self.records += [one.record] if one.record else []

    def regret(self, handle: Memory) -> None:
        """A person lets something in, derives from it and takes the approval back."""
        waiting = [one for one in self.memory.review.list() if one.unit == "record"]
        if waiting:
            one = self.rng.choice(waiting)
            self.memory.review.approve(one.id, one.digest)
            self.records.append(self.memory.remember(self._text(), evidence=[one.id]).id)
            self.memory.undo(one.id)

    def undo(self, handle: Memory) -> None:
        handle.undo()

    def erase(self, handle: Memory) -> None:
        handle.erase(self._one(), sources=self.rng.random() < 0.5)

    def batch(self, handle: Memory) -> None:
        """Each act of a batch sees what those before it lowered."""
        with handle.batch() as batch:
            for _ in range(self.rng.randint(2, 4)):
                if self.rng.random() < 0.5:
                    batch.remember(self._text(), evidence=self._evidence(0.9))
                else:
                    batch.revise(self._one(), self._text(), evidence=self._evidence(0.9))
        self.records += [one.id for one in batch.results if isinstance(one, Record)]

    def _text(self) -> str:
        """Of few different ones, so that some are said again."""
        return f"{self.rng.choice(WORDS)} {self.rng.choice(WORDS)} {self.rng.randrange(3)}"

    def _one(self) -> str:
        return self.rng.choice(self.records) if self.records else "nothing"

    def _evidence(self, share: float) -> list[str]:
        known = self.records[-12:] * 2 + self.episodes[-6:]
        if not known or self.rng.random() > share:
            return []
        return list({self.rng.choice(known) for _ in range(self.rng.choice([1, 1, 2, 3]))})


class Belief(NamedTuple):
    """A record as its own events tell it."""

    user: str | None
    born: int
    trust: str
    held: bool
    named: dict[str, int]  # the evidence of its present words, each with the seq that named it
    reviewed: int = 0  # the last review that let it in
    vouched: int = 0  # since when it is a person's word, which only the unverified lowers


class Judge:
    """Folds events, and finds records that have more trust than an ancestor."""

    def __init__(self) -> None:
        self.beliefs: dict[str, Belief] = {}
        self._said: dict[str, tuple[int, str | None, str]] = {}  # seq, user and trust of episodes
        self._links: dict[tuple[str, str], tuple[int, str]] = {}  # seq and trust of derivations
        self._began: dict[int, str] = {}  # which subject an event began

    def see(self, event: e.Event) -> None:
        body = event.body
        if isinstance(body, e.EpisodeObserved):
            self._said[body.id] = event.seq, body.user, event.origin
            self._began[event.seq] = body.id
        elif isinstance(body, e.RecordAdded):
            named = dict.fromkeys(body.evidence, event.seq)
            held = body.status == "held"
            self.beliefs[body.id] = Belief(body.user, event.seq, body.trust, held, named)
            self._began[event.seq] = body.id
        elif isinstance(body, e.RecordRevised):
            self._revised(event.seq, body)
        elif isinstance(body, e.RecordVouched):
            old = self.beliefs[body.id]
            self.beliefs[body.id] = old._replace(trust="person", vouched=event.seq)
        elif isinstance(body, e.RecordReviewed):
            self._reviewed(event.seq, body)
        elif isinstance(body, e.LinkAdded) and body.kind == "derived_from":
            self._links[body.source, body.target] = event.seq, body.trust
        elif isinstance(body, e.LinkRemoved) and body.kind == "derived_from":
            self._links.pop((body.source, body.target), None)
        elif isinstance(body, e.EventsErased):
            self._erased({self._began[seq] for seq in body.targets if seq in self._began})

    def _revised(self, seq: int, body: e.RecordRevised) -> None:
        old = self.beliefs[body.id]
        before = old.named if body.text is UNSET else {}
        names = old.named if body.evidence is UNSET else body.evidence
        self.beliefs[body.id] = old._replace(
            trust=body.trust,
            held=old.held or body.trust == "unverified",
            named={name: before.get(name, seq) for name in names},
        )

    def _reviewed(self, seq: int, body: e.RecordReviewed) -> None:
        old = self.beliefs[body.id]
        if body.verdict == "approved":
            new = old._replace(trust=body.trust, held=False, reviewed=seq)
        else:
            trust = min(old.trust, body.trust, key=RANK.__getitem__)
            new = old._replace(trust=trust, held=True, reviewed=0)
        self.beliefs[body.id] = new

    def _erased(self, subjects: set[str]) -> None:
        for id in subjects:
            self.beliefs.pop(id, None)
            self._said.pop(id, None)
        gone = [ends for ends in self._links if not subjects.isdisjoint(ends)]
        for ends in gone:
            del self._links[ends]

    def wrong(self) -> Iterator[str]:
        """Every record that has more trust than one of its ancestors."""
        for id, belief in self.beliefs.items():
            for name, trust in self._ancestors(id):
                if RANK[belief.trust] > RANK[trust]:
                    yield f"{id} has the trust of {belief.trust}, its ancestor {name} of {trust}"

    def _ancestors(self, id: str) -> Iterator[tuple[str, str]]:
        """Everything that a record was derived from, at any distance, with the trust it lends.

        Through a person's word only what is unverified counts.
        """
        seen, waiting = {(id, False)}, [(id, False)]
        while waiting:
            below, is_word = waiting.pop()
            for name, trust, vouched in self._parents(below):
                through = is_word or vouched
                yield name, "person" if through and trust == "agent" else trust
                if name in self.beliefs and (name, through) not in seen:
                    seen.add((name, through))
                    waiting.append((name, through))

    def _parents(self, id: str) -> Iterator[tuple[str, str, bool]]:
        """What a record was derived from directly, and whether a person vouched for it since."""
        mine = self.beliefs[id]
        for name, named in mine.named.items():
            since, user, trust = self._known(name)
            visible = mine.user in (None, user)
            if name != id and mine.reviewed < named and since < named and visible:
                yield name, trust, mine.vouched > named
        for (source, target), (linked, trust) in self._links.items():
            if source == id and mine.reviewed < linked and trust != "unverified":
                yield target, self._known(target)[2], mine.vouched > linked

    def _known(self, name: str) -> tuple[float, str | None, str]:
        """Since when there is something of this name, whose it is and the trust that it lends."""
        belief = self.beliefs.get(name)
        if belief is not None:
            return belief.born, belief.user, "unverified" if belief.held else belief.trust
        return self._said.get(name, (float("inf"), None, "person"))


def judged(pieces: Iterable[bytes]) -> tuple[list[str], Counter[str]]:
    """What is wrong after any command of a ledger, and what its events did."""
    judge, wrong, seen = Judge(), dict[str, None](), Counter[str]()
    events = [decode(line) for append in scan(list(pieces)) for line in append.lines]
    for command, group in groupby(events, key=lambda event: event.id.rsplit(".", 1)[0]):
        for event in group:
            judge.see(event)
            seen[event.kind] += 1
            if isinstance(event.body, e.RecordRevised) and event.body.reason:
                seen["lowered"] += 1
        wrong.update(dict.fromkeys(f"{what} (command {command[:8]})" for what in judge.wrong()))
    seen["records"] += len(judge.beliefs)
    return list(wrong), seen


def graph(seed: int, steps: int) -> tuple[list[str], Counter[str]]:
    """One random graph in memory: what is wrong with it, and what happened."""
    seam = Clockwork(seed)
    space = MemorySpace("main", seam=seam)
    play = Graph(Memory(Handle(space)), seam, random.Random(seed))
    play.play(steps)
    wrong, seen = judged(space.pieces())
    space.close()
    return [f"seed {seed}: {what}" for what in wrong], seen + play.done
