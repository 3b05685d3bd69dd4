"""Random conversations in which facts are told, echoed, corrected and asked for.

Responsible for the script of a conversation, for playing it into a memory as an assistant would,
and for a judge. Leaves the engines to the tests. Invariant: the judge reads the script and the
returned text, and nothing else: every value is a word that no other sentence of a script has.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from recollect.assistants.mounted import Mounted, MountedRecall
from recollect.finding import briefing
from recollect.interfaces.mcp.answers import recalled
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from recollect.model.events import Role
from recollect.model.values import Episode, Quote, Record

MARKS = ("since changed:", "an earlier value")


@dataclass(frozen=True)
class Topic:
    """What people and assistants say about one thing; ``{}`` stands for its value."""

    key: str
    record: str
    said: tuple[str, ...]
    echoes: tuple[str, ...]
    changed: tuple[str, ...]
    question: str
    values: tuple[str, ...]


def _topic(key: str, question: str, values: str, record: str, *lines: str) -> Topic:
    """The lines begin with their kind: ``said``, ``echo`` or ``changed``."""
    kinds: dict[str, list[str]] = {"said": [], "echo": [], "changed": []}
    for line in lines:
        kind, words = line.split(": ", 1)
        kinds[kind].append(words)
    said, echoes, changed = map(tuple, kinds.values())
    return Topic(key, record, said, echoes, changed, question, tuple(values.split(", ")))


TOPICS = (
    _topic(
        "staging.port",
        "which port is staging on?",
        "5433, 6000, 7421, 8085",
        "Staging is on port {}.",
        "said: staging is on port {}",
        "said: for staging use port {}",
        "echo: staging is on port {}",
        "echo: staging uses {}",
        "changed: staging is on port {} now",
        "changed: we moved staging to port {}",
    ),
    _topic(
        "deploy.branch",
        "which branch do we deploy from?",
        "hornbill, wagtail, kestrel, lapwing",
        "Deploys come from the {} branch.",
        "said: we deploy from the {} branch",
        "said: deploys come from the {} branch",
        "echo: deploys come from {}",
        "echo: the branch to deploy from is {}",
        "changed: we deploy from the {} branch now",
        "changed: deploys come from the {} branch from now on",
    ),
    _topic(
        "home.city",
        "where do I live?",
        "Porto, Lisbon, Bergen, Utrecht",
        "The user lives in {}.",
        "said: I live in {}",
        "said: my home is in {}",
        "echo: you live in {}",
        "echo: your home is in {}",
        "changed: I moved house, I live in {} now",
        "changed: my home is in {} now",
    ),
    _topic(
        "billing.lead",
        "who leads the billing team?",
        "Priya, Tomasz, Ingrid, Matteo",
        "{} leads the billing team.",
        "said: {} leads the billing team",
        "said: the billing team is led by {}",
        "echo: {} leads billing",
        "echo: the billing team is led by {}",
        "changed: {} leads the billing team now",
        "changed: the billing team is led by {} now",
    ),
    _topic(
        "standup.time",
        "when is the standup?",
        "09:15, 10:30, 11:45, 14:20",
        "The standup is at {}.",
        "said: the standup is at {}",
        "said: our standup starts at {}",
        "echo: the standup is at {}",
        "echo: standup at {}",
        "changed: the standup is at {} now",
        "changed: our standup starts at {} from now on",
    ),
    _topic(
        "release.day",
        "on which day do we release?",
        "Mondays, Tuesdays, Wednesdays, Thursdays",
        "Releases go out on {}.",
        "said: we release on {}",
        "said: releases go out on {}",
        "echo: releases go out on {}",
        "echo: you release on {}",
        "changed: we release on {} now",
        "changed: releases go out on {} now",
    ),
    _topic(
        "editor.theme",
        "which colour theme do I use?",
        "solarized, gruvbox, dracula, monokai",
        "The user's colour theme is {}.",
        "said: my colour theme is {}",
        "said: I use the {} colour theme",
        "echo: your colour theme is {}",
        "echo: theme {}",
        "changed: my colour theme is {} now",
        "changed: I switched my colour theme to {}",
    ),
    _topic(
        "seat.number",
        "what is my seat on the train?",
        "12A, 2F, 31C, 7D",
        "The user's seat on the train is {}.",
        "said: my seat on the train is {}",
        "said: I sit in {} on the train",
        "echo: your seat on the train is {}",
        "echo: you sit in {}",
        "changed: my seat on the train is {} now",
        "changed: they moved me to seat {} on the train",
    ),
    _topic(
        "cache.engine",
        "what do we cache sessions in?",
        "valkey, memcached, dragonfly, hazelcast",
        "Sessions are cached in {}.",
        "said: sessions are cached in {}",
        "said: we keep the session cache in {}",
        "echo: sessions are cached in {}",
        "echo: the session cache is {}",
        "changed: sessions are cached in {} now",
        "changed: we moved the session cache to {}",
    ),
)

_OPENINGS = ("", "Please remember that ", "For the record, ", "By the way, ", "Note that ")
_REPLIES = ("Noted: ", "Got it: ", "OK, ", "Thanks, I will remember that ", "Understood, ")
_CORRECTIONS = ("Actually, ", "Correction: ", "Sorry, I was wrong: ", "Update: ", "")
_PARAPHRASES = (
    "{} it is",
    "fine, {} then, I will go by that for the rest of the week",
    "so {}, good to know before we go any further with this",
)
_FIRST_WAYS = ("agent with evidence",) * 5 + ("person with evidence", "agent", "person")
_WAYS = (*_FIRST_WAYS, "person revises")
_OTHER = (
    "Run the tests again, please.",
    "Can you tidy the imports?",
    "The build is green.",
    "Let us look at the login page tomorrow.",
)


@dataclass
class Script:
    """What was said, and of each topic all values that it had, the last one holding."""

    seed: int
    lines: list[str] = field(default_factory=list)
    values: dict[str, list[str]] = field(default_factory=dict)

    def replaced(self) -> Iterator[tuple[str, str]]:
        """Each value that was replaced, and the one that holds now."""
        for values in self.values.values():
            for old in dict.fromkeys(values[:-1]):
                if old != values[-1]:
                    yield old, values[-1]


class Unmarked(NamedTuple):
    """A line of an answer that has a replaced value, without a word about it."""

    seed: int
    call: str
    question: str
    old: str
    line: str


def judged(script: Script, call: str, question: str, text: str) -> list[Unmarked]:
    """The lines with a replaced value, unless they say so or have the value that holds."""
    return [
        Unmarked(script.seed, call, question, old, line)
        for old, now in script.replaced()
        for line in text.splitlines()
        if _has(line, old) and not _has(line, now) and not any(mark in line for mark in MARKS)
    ]


def _has(line: str, value: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", line) is not None


class Play:
    """One conversation, played into a memory."""

    def __init__(self, memory: Memory, seed: int) -> None:
        self.script = Script(seed)
        self._rng = random.Random(seed)
        self._person = memory
        self._agent = memory.scoped(trust="agent")
        self._said_at = datetime(2026, 3, 2, 9, tzinfo=UTC)
        self._session = ""
        self._records: dict[str, Record] = {}
        self._topics = self._rng.sample(TOPICS, self._rng.randint(2, 4))

    def run(self) -> Script:
        """Facts are told, each perhaps corrected, some twice; and there is other talk."""
        first = list(self._topics)
        while first:
            self._begin_session()
            many = 2 if len(first) > 1 and self._rng.random() < 0.7 else 1
            self._tell([first.pop() for _ in range(many)])
            self._talk()
        for topic in self._topics:
            for _ in range(self._rng.choice((0, 1, 1, 2))):
                self._begin_session()
                self._correct(topic)
                self._talk()
        if self._rng.random() < 0.3:
            self._echo_again(self._rng.choice(self._topics))
        return self.script

    def questions(self) -> list[str]:
        """What is asked of each topic, and of the project in general."""
        return [*(topic.question for topic in self._topics), "what did I tell you to remember?"]

    def _begin_session(self) -> None:
        if not self._session or self._rng.random() < 0.6:
            self._said_at += timedelta(hours=self._rng.randint(1, 70))
            self._session = f"s{self._rng.randrange(10**6)}"

    def _talk(self) -> None:
        if self._rng.random() < 0.4:
            self._say(self._rng.choice(_OTHER))

    def _tell(self, topics: list[Topic]) -> None:
        values = {topic.key: self._new_value(topic) for topic in topics}
        ways = {topic.key: self._way(topic) for topic in topics}
        parts = [self._rng.choice(topic.said).format(values[topic.key]) for topic in topics]
        episode = self._say(self._joined(self._rng.choice(_OPENINGS), parts))
        self._reply(topics, values, ways)
        for topic, part in zip(topics, parts, strict=True):
            self._keep(topic, values[topic.key], episode, part, ways[topic.key])

    def _correct(self, topic: Topic) -> None:
        value, way = self._new_value(topic), self._way(topic)
        part = self._rng.choice(topic.changed).format(value)
        episode = self._say(self._joined(self._rng.choice(_CORRECTIONS), [part]))
        self._reply([topic], {topic.key: value}, {topic.key: way})
        self._keep(topic, value, episode, part, way)

    def _way(self, topic: Topic) -> str:
        """How a value is stored."""
        ways = _FIRST_WAYS if topic.key not in self._records else _WAYS
        return self._rng.choice(ways)

    def _new_value(self, topic: Topic) -> str:
        held = self.script.values.setdefault(topic.key, [])
        value = self._rng.choice([value for value in topic.values if value not in held[-1:]])
        held.append(value)
        return value

    def _joined(self, opening: str, parts: list[str]) -> str:
        """One message: a sentence, or several."""
        if len(parts) == 1:
            return _sentence(opening + parts[0])
        style = self._rng.randrange(3)
        if style == 0:
            that = "that " if "that " in opening else ""
            return _sentence(opening + f" and {that}".join(parts))
        if style == 1:
            return _sentence(opening + ", and ".join(parts))
        return " ".join(map(_sentence, (opening + parts[0], *parts[1:])))

    def _reply(self, topics: list[Topic], values: dict[str, str], ways: dict[str, str]) -> None:
        """The assistant repeats all of it, a part, or nothing.

        Where the record will name what was said, it may do so in words that only fit there.
        """
        parts: list[str] = []
        for topic in topics:
            if self._rng.random() < 0.7:
                is_named = ways[topic.key].endswith("evidence")
                loose = is_named and self._rng.random() < 0.3
                echoes = _PARAPHRASES if loose else topic.echoes
                parts.append(self._rng.choice(echoes).format(values[topic.key]))
        if parts:
            self._say(_sentence(self._rng.choice(_REPLIES) + "; ".join(parts)), "assistant")

    def _echo_again(self, topic: Topic) -> None:
        """Another assistant, in another session, still says the first value."""
        self._session = ""
        self._begin_session()
        value = self.script.values[topic.key][0]
        self._say(_sentence(topic.echoes[0].format(value)), "assistant")

    def _say(self, text: str, role: Role = "user") -> Episode:
        self._said_at += timedelta(minutes=1)
        self.script.lines.append(f"{role}: {text}")
        (episode,) = self._person.observe(
            text, role=role, session=self._session, said_at=self._said_at
        )
        return episode

    def _keep(self, topic: Topic, value: str, episode: Episode, part: str, way: str) -> None:
        """Stores a value; what a person must approve first is approved."""
        text, old = topic.record.format(value), self._records.get(topic.key)
        quote = [Quote(episode=episode.id, words=part)] if part in episode.text else [episode.id]
        evidence = quote if way == "agent with evidence" else [episode.id]
        writer = self._agent if way.startswith("agent") else self._person
        if way.endswith("evidence"):
            kept = writer.remember(text, key=topic.key, evidence=evidence)
        elif way == "person revises" and old is not None:
            kept = writer.revise(old.id, text)
        else:
            kept = writer.remember(text, key=topic.key)
        if kept.status == "waiting" or kept.text != text:
            self.script.lines.append("  (approved)")
            self._approve_all()
        (now,) = [one for one in self._person.list() if one.key == topic.key]
        assert now.text == text
        self.script.lines.append(f"  {topic.key} = {value}, {way}")
        self._records[topic.key] = now

    def _approve_all(self) -> None:
        for one in self._person.review.list():
            self._person.review.approve(one.id, one.digest)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


Asked = Callable[[Memory, str], str]


def by_context(memory: Memory, question: str) -> str:
    """The text of a context."""
    return memory.context(question, receipt=False).text


def by_recall(memory: Memory, question: str) -> str:
    """The answer of the tool ``recall``."""
    found = memory.recall(question, k=10)
    hits = tuple(Mounted(mount="project", value=hit) for hit in found)
    return recalled(MountedRecall(query=question, hits=hits)).short()


def by_hook(memory: Memory, question: str) -> str:
    """What a hook adds to a prompt."""
    handle = handle_of(memory)
    with handle.reading() as reads:
        hits = briefing.about(reads, question, briefing.Viewer(handle.now(), None))
        return briefing.packed(hits, 1_500) if hits else ""


CALLS: dict[str, Asked] = {"context": by_context, "recall": by_recall, "hook": by_hook}


def one_conversation(memory: Memory, seed: int) -> tuple[Script, list[Unmarked]]:
    """Plays a conversation; every answer about it, judged."""
    play = Play(memory, seed)
    script = play.run()
    found = [
        unmarked
        for question in play.questions()
        for call, asked in CALLS.items()
        for unmarked in judged(script, call, question, asked(memory, question))
    ]
    return script, found
