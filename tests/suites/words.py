"""Random histories of persons and agents, and a judge of whose word was changed by whom.

The judge reads the ledger alone and shares nothing with ``lifecycle``: it replays events in a few
lines of its own. Invariant: it asks of every event that no person wrote whether it changes what a
person said before, and if so, on which later words of a person.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import groupby

from msgspec import UNSET

from recollect import Memory, Quote
from recollect.errors import Conflict, Forbidden, InvalidInput, LimitExceeded, NotFound
from recollect.ledger.codec import decode
from recollect.ledger.scan import scan
from recollect.memory.handle.handle import Handle
from recollect.model import events as e
from recollect.model.validate import Json
from recollect.model.values import Record
from recollect.store.indexed.backend import MemorySpace
from tests.suites.histories import WORDS, Clockwork

KEYS = ("port", "host")
_RANK = e.TRUST_RANK


class Talk:
    """Persons and agents write the same few things in any order; agents quote what there is."""

    def __init__(self, memory: Memory, seam: Clockwork, rng: random.Random) -> None:
        self.memory, self.seam, self.rng = memory, seam, rng
        self.records: list[str] = []
        self.episodes: list[tuple[str, str]] = []  # id and text of what persons said
        self.done: Counter[str] = Counter()
        people = [memory, memory.scoped(user="ann"), memory.scoped(user="bob")]
        self._agents = [one.scoped(trust="agent") for one in people]
        self._handles = [*people, *self._agents * 3, memory.scoped(trust="unverified")]
        self._acts: list[tuple[int, Callable[[Memory], object]]] = [
            (6, self.say),
            (1, self.hear),
            (5, self.remember),
            (6, self.keyed),
            (4, self.restate),
            (6, self.revise),
            (7, self.correct),
            (5, self.replace),
            (6, self.supersede),
            (2, self.forget),
            (2, self.restore),
            (3, self.revert),
            (3, self.undo),
            (2, self.tag),
            (2, self.derive),
            (1, self.retract),
            (2, self.guess),
            (2, self.settle),
            (2, self.expire),
            (2, self.review),
            (2, self.rule),
            (2, self.batch),
        ]

    def play(self, steps: int) -> None:
        weights = [weight for weight, _ in self._acts]
        for act in self.rng.choices([act for _, act in self._acts], weights, k=steps):
            self.seam.tick(1_000)
            try:
                act(self.rng.choice(self._handles))
                self.done[act.__name__] += 1
            except (Conflict, Forbidden, InvalidInput, NotFound, LimitExceeded):
                self.done["refused"] += 1

    def say(self, handle: Memory) -> None:
        """Now, or long ago: an import brings it."""
        long_ago = "2020-01-01T00:00:00Z" if self.rng.random() < 0.3 else None
        (said,) = handle.observe(self._text(), said_at=long_ago)
        self.episodes.append((said.id, said.text))

    def hear(self, handle: Memory) -> None:
        (heard,) = handle.observe(self._text(), role=self.rng.choice(["assistant", "tool"]))
        self.records.append(handle.remember(self._text(), evidence=[heard.id]).id)

    def remember(self, handle: Memory) -> None:
        self.records.append(handle.remember(self._text()).id)

    def keyed(self, handle: Memory) -> None:
        self.records.append(handle.remember(self._text(), key=self.rng.choice(KEYS)).id)

    def restate(self, handle: Memory) -> None:
        known = self._known()
        self.records.append(handle.remember(known.text, key=known.key).id)

    def revise(self, handle: Memory) -> None:
        handle.revise(self._one(), self._text())

    def correct(self, handle: Memory) -> None:
        """With something that a person said, now or long ago, about this or something else."""
        said, words = self._quoted()
        text = f"{words} {self.rng.choice(WORDS)}"
        self.rng.choice(self._agents).revise(self._one(), text, evidence=[Quote(said, words)])

    def replace(self, handle: Memory) -> None:
        said, words = self._quoted()
        agent, key = self.rng.choice(self._agents), self.rng.choice(KEYS)
        expires = timedelta(days=1) if self.rng.random() < 0.3 else None
        grounds = [Quote(said, words)]
        self.records.append(agent.remember(words, key=key, evidence=grounds, expires=expires).id)

    def supersede(self, handle: Memory) -> None:
        """Under the same key, another one, or none; in words that may be another record's."""
        text = self._text() if self.rng.random() < 0.7 else self._known().text
        key = self.rng.choice([None, None, *KEYS])
        grounds: list[str | Quote] = []
        if self.rng.random() < 0.6:
            said, words = self._quoted()
            text, grounds = (words if self.rng.random() < 0.7 else text), [Quote(said, words)]
        self.records.append(
            handle.remember(text, replaces=self._one(), key=key, evidence=grounds).id
        )

    def forget(self, handle: Memory) -> None:
        handle.forget(self._one())

    def restore(self, handle: Memory) -> None:
        handle.undo(self._one())

    def revert(self, handle: Memory) -> None:
        handle.undo(self._one())

    def undo(self, handle: Memory) -> None:
        handle.undo(self._one() if self.rng.random() < 0.5 else None)

    def tag(self, handle: Memory) -> None:
        handle.revise(self._one(), tags=[self.rng.choice(WORDS)])

    def derive(self, handle: Memory) -> None:
        handle.graph.link(self._one(), self._one(), "derived_from")

    def retract(self, handle: Memory) -> None:
        handle.forget(self._one(), derived=True)

    def guess(self, handle: Memory) -> None:
        self.records.append(handle.remember(self._text(), is_hypothesis=True).id)

    def settle(self, handle: Memory) -> None:
        id = self._one()
        settle = handle.review.confirm if self.rng.random() < 0.5 else handle.review.refute
        settle(id)

    def expire(self, handle: Memory) -> None:
        handle.revise(self._one(), expires=timedelta(days=self.rng.randint(1, 9)))

    def review(self, handle: Memory) -> None:
        waiting = self.memory.review.list()
        if waiting:
            one = self.rng.choice(waiting)
            done = self.memory.review.approve(one.id, one.digest)
            self.records += [done.record] if done.record else []

    def rule(self, handle: Memory) -> None:
        """An agent's: it reads what agents and persons said since."""
        agent, data = self._agents[0], {"intent": "update", "key": self.rng.choice(KEYS)}
        agent.settings.rules.set("all")
        speaker = self.rng.choice([self.memory, agent])
        replaces: list[Json] = [self._one()] if self.rng.random() < 0.5 else []
        speaker.observe(self._text(), metadata={**data, "replaces": replaces})
        agent.settings.rules.run("all")

    def batch(self, handle: Memory) -> None:
        with handle.batch() as batch:
            for _ in range(2):
                batch.revise(self._one(), self._text())
            batch.remember(self._text(), key=self.rng.choice(KEYS))
        self.records += [one.id for one in batch.results if isinstance(one, Record)]

    def _text(self) -> str:
        """Of few different ones, so that some are said again."""
        return f"{self.rng.choice(WORDS[:5])} {self.rng.choice(WORDS[:5])} {self.rng.randrange(3)}"

    def _one(self) -> str:
        return self.rng.choice(self.records[-6:]) if self.records else "nothing"

    def _known(self) -> Record:
        return self.memory.history(self._one())[-1].record

    def _quoted(self) -> tuple[str, str]:
        if not self.episodes or self.rng.random() < 0.5:
            self.say(self._handles[self.rng.randrange(3)])
        return self.rng.choice(self.episodes[-4:])


@dataclass
class Held:
    """A record as its own events tell it."""

    user: str | None
    key: str | None
    text: str
    status: str
    trust: str
    changed: int  # the last event that was more than a use of it
    changed_at: str
    expires: str | None
    is_word: bool = False  # a person has said it
    heir_of: str | None = None  # what a person said, and this took the place of
    waits: bool = False  # for a review, also if it was forgotten meanwhile
    evidence: tuple[str, ...] = ()


@dataclass
class Judge:
    """Folds events, and finds changes of a person's word that no later words of a person allow."""

    records: dict[str, Held] = field(default_factory=dict)
    said: dict[str, tuple[int, str, str | None, str]] = field(default_factory=dict)  # by persons
    heirs: dict[str, str] = field(default_factory=dict)  # what took the place of a person's word

    def command(self, events: list[e.Event]) -> Iterator[str]:
        """What is wrong in a command; the judge knows its effect afterwards."""
        bodies = [event.body for event in events if event.body is not None]
        words = {id for id in self.records if self._is_persons(id)}
        before = {id: Held(**vars(self.records[id])) for id in words}
        is_retraction = any(isinstance(body, e.LineageRetracted) for body in bodies)
        for event in events:
            if event.origin != "person" and event.body is not None:
                yield from self._wrong(event, event.body, before, bodies)
            self._see(event, is_retraction)

    def _is_persons(self, id: str) -> bool:
        one = self.records[id]
        if _is_said(one) or one.waits:
            return _is_said(one)
        others = (other for other in self.records.values() if one.key and _is_said(other))
        return any((other.key, other.user) == (one.key, one.user) for other in others)

    def _wrong(
        self, event: e.Event, body: e.AnyBody, before: dict[str, Held], bodies: list[e.AnyBody]
    ) -> Iterator[str]:
        if isinstance(body, e.RecordVouched | e.RecordReviewed):
            yield f"event {event.seq}: {event.origin} vouched for {body.id}"
        is_use = isinstance(body, e.RecordReinforced | e.RecordAdded)
        id = getattr(body, "id", "")
        if is_use or not event.kind.startswith("record.") or id not in before:
            return
        new = _comes(body, bodies, self.records)
        if isinstance(body, e.RecordSuperseded) and _ends_sooner(before[id], body.by, bodies):
            yield f"event {event.seq}: {event.origin} put what expires in the place of {id}"
        if new is None or not self._was_said(before[id], *new):
            yield f"event {event.seq}: {event.origin} did {event.kind} to a person's word, {id}"

    def _was_said(self, old: Held, text: str, evidence: Iterable[str]) -> bool:
        brought = _words(text) - _words(old.text)
        said = (self.said[name] for name in evidence if name in self.said)
        return any(
            (user == old.user and seq > old.changed and said_at >= old.changed_at)
            and brought & _words(words)
            for seq, said_at, user, words in said
        )

    def _see(self, event: e.Event, is_retraction: bool) -> None:
        body, seq, by_person = event.body, event.seq, event.origin == "person"
        if isinstance(body, e.EpisodeObserved) and by_person and body.role == "user":
            self.said[body.id] = seq, body.said_at, body.user, body.text
        elif isinstance(body, e.RecordAdded):
            waits = body.status == "held"
            said, heir = by_person and not waits, self.heirs.get(body.id)
            self.records[body.id] = Held(
                body.user, body.key, body.text, body.status, body.trust, seq, event.at,
                body.expires, said, heir, waits, body.evidence,
            )  # fmt: skip
        elif event.kind.startswith("record.") and body is not None:
            one = self.records[getattr(body, "id")]  # noqa: B009  # a union of many
            # A person who takes back a change of their own says nothing.
            if isinstance(body, e.RecordSuperseded) and not by_person and self._is_persons(body.id):
                self.heirs[body.by] = body.id
                if body.by in self.records:
                    self.records[body.by].heir_of = body.id
            if isinstance(body, e.RecordRestored) and by_person:  # what took its place did not
                for other in self.records.values():
                    other.heir_of = None if other.heir_of == body.id else other.heir_of
            self._change(one, body, by_person and not is_retraction)
            if not isinstance(body, e.RecordReinforced) or (by_person and body.how == "restated"):
                one.changed, one.changed_at = seq, event.at

    def _change(self, one: Held, body: e.AnyBody, by_person: bool) -> None:
        holds = one.status == "active"
        if isinstance(body, e.RecordRevised):
            one.trust = body.trust
            one.expires = one.expires if body.expires is UNSET else body.expires
            # With other evidence the same text is set again: a revert, which says nothing new.
            is_said = body.text not in (UNSET, one.text) or body.is_hypothesis is False
            one.text = one.text if body.text is UNSET else body.text
            one.evidence = one.evidence if body.evidence is UNSET else body.evidence
            one.is_word |= by_person and is_said and holds and body.trust != "unverified"
            if body.trust == "unverified":
                one.status, one.waits = "held" if holds else one.status, True
        elif isinstance(body, e.RecordReinforced):
            one.is_word |= by_person and body.how == "restated" and holds
        elif isinstance(body, e.RecordReviewed) and body.verdict == "approved":
            one.trust, one.is_word, one.waits = body.trust, True, False
            one.status = "active" if one.status == "held" else one.status
        elif isinstance(body, e.RecordReviewed):
            one.trust = min(one.trust, body.trust, key=_RANK.__getitem__)
            one.status, one.waits = "archived" if body.verdict == "rejected" else "held", True
        elif isinstance(body, e.RecordSuperseded):
            one.status = "archived"
        elif isinstance(body, e.RecordForgotten | e.RecordArchived):
            one.status = "forgotten" if isinstance(body, e.RecordForgotten) else "archived"
        elif isinstance(body, e.RecordRestored):
            one.status = "held" if one.waits else "active"
        elif isinstance(body, e.RecordVouched):
            one.trust, one.is_word = "person", True


def _comes(
    body: e.AnyBody, bodies: list[e.AnyBody], records: dict[str, Held]
) -> tuple[str, tuple[str, ...]] | None:
    """The text that takes the place of another by an event, and its evidence."""
    if isinstance(body, e.RecordRevised) and body.text is not UNSET:
        return body.text, body.evidence or ()
    if not isinstance(body, e.RecordSuperseded):
        return None
    for other in bodies:
        if isinstance(other, e.RecordAdded) and other.id == body.by:
            return other.text, other.evidence
        if isinstance(other, e.RecordRevised) and other.id == body.by and other.evidence:
            return records[other.id].text, other.evidence
    there = records.get(body.by)  # it says so already, on what it names
    return None if there is None else (there.text, there.evidence)


def _ends_sooner(old: Held, by: str, bodies: list[e.AnyBody]) -> bool:
    new = (body for body in bodies if isinstance(body, e.RecordAdded) and body.id == by)
    return any(one.expires and one.expires < (old.expires or "9") for one in new)


def _is_said(one: Held) -> bool:
    return one.is_word or one.heir_of is not None


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def judged(pieces: Iterable[bytes]) -> tuple[list[str], Counter[str]]:
    """What is wrong in a ledger, and what it has."""
    judge, wrong, seen = Judge(), list[str](), Counter[str]()
    events = [decode(line) for append in scan(list(pieces)) for line in append.lines]
    for _, group in groupby(events, key=lambda event: event.id.rsplit(".", 1)[0]):
        command = list(group)
        wrong += judge.command(command)
        seen.update(event.kind for event in command)
        seen["corrected"] += sum(
            event.origin == "agent" and event.kind in ("record.revised", "record.superseded")
            for event in command
        )
    seen["words"] += sum(map(judge._is_persons, judge.records))
    return wrong, seen


def talk(seed: int, steps: int) -> tuple[list[str], Counter[str]]:
    """One random history in memory: what is wrong with it, and what happened."""
    seam = Clockwork(seed)
    space = MemorySpace("main", seam=seam)
    play = Talk(Memory(Handle(space)), seam, random.Random(seed))
    play.play(steps)
    wrong, seen = judged(space.pieces())
    space.close()
    return [f"seed {seed}: {what}" for what in wrong], seen + play.done
