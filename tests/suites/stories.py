"""Random histories in which beliefs are told, restated, corrected, forgotten and restored.

Every value is a made-up word that occurs once, in one sentence and in the episodes that carry it.
A plain model beside the memory says which values a default read may still show. Invariant: the
model knows nothing of tables; it follows the words of DESIGN 5.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import msgspec

from recollect import Memory
from recollect.errors import NotFound
from recollect.index.rows import content_id
from recollect.model.events import Role
from recollect.model.validate import Json
from recollect.model.values import INCLUDES, Include, Value

TOPICS = ("seat", "colour", "city", "tea", "train", "song")
ALL: tuple[Include, ...] = INCLUDES
_SYLLABLES = "bra dro fli gno kwe lup mox nar pli qua rho ste tva urz vex wib yal zon".split()


class Told(msgspec.Struct, kw_only=True):
    """An episode: the value it carries, and the statements it is evidence for."""

    id: str
    value: str
    supports: set[tuple[str, int]] = set()


class Held(msgspec.Struct, kw_only=True):
    """A record: what it says now, in which statement, and whether it holds."""

    id: str
    topic: str
    key: str | None
    value: str
    text: str
    statement: int = 1
    live: bool = True
    superseded: bool = False


class Fallen(msgspec.Struct, frozen=True, kw_only=True):
    """A value that was corrected away: where it could be read just before, and how."""

    value: str
    id: str
    text: str
    before: int
    how: str


class Story:
    """One history, played step by step."""

    def __init__(self, memory: Memory, rng: random.Random) -> None:
        self.memory = memory
        self.rng = rng
        self.records: dict[str, Held] = {}
        self.episodes: dict[str, Told] = {}
        self.fallen: list[Fallen] = []
        self.queries: set[str] = set()

    def play(self, steps: int) -> Iterator[str]:
        """Do one thing after the other; yields what was done."""
        acts: list[tuple[int, Callable[[], str | None]]] = [
            (5, self.tell),
            (5, self.correct),
            (2, self.restate),
            (2, self.lean_on),
            (2, self.restore),
            (2, self.noise),
        ]
        weights = [weight for weight, _ in acts]
        while steps:
            did = self.rng.choices([act for _, act in acts], weights)[0]()
            if did is not None:
                steps -= 1
                yield did

    # What may happen.

    def tell(self) -> str | None:
        """A new belief, on what was said."""
        topic = self.rng.choice(TOPICS)
        key = f"alice.{topic}" if self.rng.random() < 0.5 else None
        if key is not None and self._holder(key) is not None:
            return None
        self._remember(topic, key, self._word())
        return "tell"

    def correct(self) -> str | None:
        """One of the three ways in which an old value goes."""
        live = self._live()
        if not live:
            return None
        old = self.rng.choice(live)
        ways = ["revise", "forget", *(["remember"] if old.key else [])]
        how = self.rng.choice(ways)
        fallen = Fallen(
            value=old.value, id=old.id, text=old.text, before=self.memory.events.position, how=how
        )
        if how == "forget":
            self.memory.forget(old.id)
            old.live = False
        elif how == "remember":
            old.live, old.superseded = False, True
            self._remember(old.topic, old.key, self._word())
        else:
            self._revise(old)
        self.fallen.append(fallen)
        return how

    def restate(self) -> str | None:
        """The same sentence again, on more that was said."""
        live = self._live()
        if not live:
            return None
        record = self.rng.choice(live)
        more = self._said(record.value, self._sentence(record.topic, record.value))
        again = self.memory.remember(record.text, key=record.key, evidence=more)
        assert again.id == record.id
        self._support(record, more)
        return "restate"

    def lean_on(self) -> str | None:
        """Another belief rests on the same episode."""
        known = [told for told in self.episodes.values() if told.supports]
        if not known:
            return None
        told = self.rng.choice(known)
        value = self._word()
        text = f"Somebody mentioned {value} too"
        record = self.memory.remember(text, evidence=[told.id])
        self.records[record.id] = Held(id=record.id, topic="lean", key=None, value=value, text=text)
        self._support(self.records[record.id], [told.id])
        return "lean"

    def restore(self) -> str | None:
        """Undo, where the key is free."""
        gone = [
            record
            for record in self.records.values()
            if not record.live and (record.key is None or self._holder(record.key) is None)
        ]
        if not gone:
            return None
        record = self.rng.choice(gone)
        self.memory.undo(record.id)
        record.live, record.superseded = True, False
        return "restore"

    def noise(self) -> str | None:
        """Things that correct nothing."""
        live = self._live()
        if not live:
            return None
        record = self.rng.choice(live)
        what = self.rng.choice(["tag", "used", "link", "observe"])
        if what == "tag":
            self.memory.revise(record.id, tags=[f"tag-{self.rng.randrange(5)}"])
        elif what == "used":
            self.memory.used(None, [record.id])
        elif what == "observe":
            self.memory.observe("It rained all day.")
        elif len(live) > 1:
            other = self.rng.choice([one for one in live if one is not record])
            self.memory.graph.link(record.id, other.id, kind=f"kind-{self.memory.events.position}")
        return what

    # What the model says.

    def showing(self, told: Told) -> bool:
        """An episode shows if it is evidence for nothing, or for a statement that holds."""
        return not told.supports or any(
            self.records[id].live and self.records[id].statement == statement
            for id, statement in told.supports
        )

    def alive(self) -> set[str]:
        """The values that default reads may show."""
        records = {record.value for record in self._live()}
        return records | {told.value for told in self.episodes.values() if self.showing(told)}

    def dead(self) -> set[str]:
        """The values that only come back when asked for."""
        ever = {fallen.value for fallen in self.fallen}
        return ever - self.alive()

    # How things are done.

    def _remember(self, topic: str, key: str | None, value: str) -> None:
        text = self._sentence(topic, value)
        episodes = self._said(value, text)
        record = self.memory.remember(text, key=key, about="alice", evidence=episodes)
        held = Held(id=record.id, topic=topic, key=key, value=value, text=text)
        self.records[record.id] = held
        self._support(held, episodes)

    def _revise(self, record: Held) -> None:
        value = self._word()
        text = self._sentence(record.topic, value)
        episodes = self._said(value, text) if self.rng.random() < 0.6 else []
        self.memory.revise(record.id, text, reason="it was wrong", evidence=episodes)
        record.value, record.text = value, text
        record.statement += 1
        self._support(record, episodes)

    def _said(self, value: str, text: str) -> list[str]:
        """One to three episodes that carry a value."""
        ids: list[str] = []
        for _ in range(self.rng.randint(1, 3)):
            roles: list[Role] = ["user", "user", "assistant"]
            said = f"{self.rng.choice(['Well,', 'You know,', 'By the way:'])} {text}."
            (episode,) = self.memory.observe(said, role=self.rng.choice(roles))
            self.episodes[episode.id] = Told(id=episode.id, value=value)
            ids.append(episode.id)
        return ids

    def _support(self, record: Held, episodes: list[str]) -> None:
        for id in episodes:
            told = self.episodes[id]
            told.supports = told.supports | {(record.id, record.statement)}

    def _live(self) -> list[Held]:
        return [record for record in self.records.values() if record.live]

    def _holder(self, key: str) -> Held | None:
        return next((one for one in self._live() if one.key == key), None)

    def _sentence(self, topic: str, value: str) -> str:
        return f"The {topic} that Alice likes is {value}"

    def _word(self) -> str:
        return "".join(self.rng.choices(_SYLLABLES, k=4)) + f"{self.rng.randrange(10_000):04d}"


# --- looking for values in answers


def answers(story: Story, asked: list[str]) -> Iterator[tuple[str, object]]:
    """Every default read, with what it was; the question itself is taken out of the answer."""
    memory, rng = story.memory, story.rng
    for id in story.records:
        yield f"get {id}", _found(lambda id=id: memory.get(id))  # type: ignore[misc]
    for fallen in story.fallen:
        alias = content_id(fallen.text)
        yield f"get {alias}", _found(lambda alias=alias: memory.get(alias))  # type: ignore[misc]
    yield "list", memory.list(limit=1_000)
    yield "episodes", memory.sessions.episodes(limit=1_000)
    for query in asked:
        for unit in ("any", "record", "episode"):
            found = memory.recall(query, k=rng.choice([1, 10, 200]), unit=unit)
            yield f"recall {query!r} {unit}", (found.hits, found.unverified)
        context = memory.context(query, tokens=rng.choice([60, 1_500, 20_000]))
        yield f"context {query!r}", (context.text, context.hits, context.omitted)


def questions(story: Story) -> list[str]:
    """What somebody may ask: about a topic, for the old value itself, in its very words."""
    fallen = story.rng.sample(story.fallen, min(2, len(story.fallen)))
    asked = [f"what {story.rng.choice(TOPICS)} does Alice like", "Alice well know way mentioned"]
    return [*asked, *(one.value for one in fallen), *(one.text for one in fallen[:1])]


def leaks(story: Story, asked_max_count: int) -> list[str]:
    """Default reads that show what they may not."""
    asked = questions(story)
    asked = story.rng.sample(asked, min(asked_max_count, len(asked)))
    dead = story.dead()
    found: list[str] = []
    for read, answer in answers(story, asked) if dead else ():
        text = flat(answer)
        found += [f"{read} shows {value}" for value in dead if value in text]
    return found


def hidden_though_alive(story: Story) -> list[str]:
    """What the model says must show, and does not."""
    listed = flat([r.text for r in story.memory.list(limit=1_000)])
    shown = {episode.id for episode in story.memory.sessions.episodes(limit=1_000)}
    missing = [r.id for r in story.records.values() if r.live and r.value not in listed]
    return missing + [
        told.id for told in story.episodes.values() if story.showing(told) != (told.id in shown)
    ]


def unreachable(story: Story) -> list[str]:
    """Old values that `at` and `include` do not give back."""
    found = [what for fallen in story.fallen for what in unreachable_value(story, fallen)]
    for record in story.records.values():
        if not record.live:
            include: Include = "replaced" if record.superseded else "forgotten"
            if record.value not in flat(story.memory.get(record.id, include=[include])):
                found.append(f"include: get {record.id}")
            if record.value not in flat(story.memory.list(include=[include], limit=1_000)):
                found.append(f"include: list {record.id}")
    return found


def unreachable_value(story: Story, fallen: Fallen) -> list[str]:
    """The same for one value: the record, and every episode that carried it."""
    past, value = story.memory.at(fallen.before), fallen.value
    carried = [told.id for told in story.episodes.values() if told.value == value]
    reads: dict[str, object] = {
        "at: get": past.get(fallen.id),
        "at: list": past.list(limit=1_000),
        "at: recall": past.recall(value).hits,
        "at: context": past.context(value).text,
    }
    found = [f"{what} {value}" for what, answer in reads.items() if value not in flat(answer)]
    asked = story.memory.recall(value, include=ALL, k=200).hits
    if fallen.text not in [hit.text for hit in asked if hit.id == fallen.id]:
        found.append(f"include: recall {fallen.id}")
    return found + [f"include: recall {id}" for id in carried if id not in flat(asked)]


def flat(answer: object) -> str:
    """All of an answer as one text."""
    return msgspec.json.encode(_plain(answer)).decode() + repr(answer)


def _plain(answer: object) -> Json:
    if isinstance(answer, Value):
        return answer.to_dict()
    if isinstance(answer, list | tuple):
        return [_plain(one) for one in answer]
    return str(answer)


def _found(read: Callable[[], object]) -> object:
    try:
        return read()
    except NotFound as error:
        return error.to_dict()
