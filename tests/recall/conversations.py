"""Conversations in which something is corrected, and others in which nothing is.

Responsible for texts of the shape of an everyday chat: a statement, the same question on several
days with the assistant's answers, then a correction. Leaves what recall makes of them to the tests.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from recollect.memory import Memory


@dataclass(frozen=True)
class Topic:
    """What people say about one thing; ``{}`` stands for its value."""

    is_so: str
    is_not: str
    was: str
    changed: str
    question: str
    answer: str
    values: tuple[str, ...]

    @property
    def small(self) -> str:
        """The statement within a sentence."""
        return self.is_so if self.is_so.startswith("I ") else self.is_so[0].lower() + self.is_so[1:]


def _topic(
    is_so: str, is_not: str, was: str, changed: str, asks: str, answer: str, v: str
) -> Topic:
    return Topic(is_so, is_not, was, changed, asks, answer, tuple(v.split()))


TOPICS = [
    _topic(
        "I sit in {}",
        "I don't sit in {}",
        "I used to sit in {}",
        "I moved, I sit in {}",
        "Where do I sit?",
        "You sit in {}.",
        "14C 2F 31A 7D 22B",
    ),
    _topic(
        "I live in {}",
        "I don't live in {}",
        "I used to live in {}",
        "I moved house, I live in {}",
        "Where do I live?",
        "You live in {}.",
        "Berlin Rome Oslo Lisbon Dublin",
    ),
    _topic(
        "I work at {}",
        "I don't work at {}",
        "I used to work at {}",
        "I changed jobs, I work at {}",
        "Where do I work?",
        "You work at {}.",
        "Acme Initech Globex Hooli",
    ),
    _topic(
        "Staging is on port {}",
        "Staging isn't on port {}",
        "Staging was on port {}",
        "Staging moved to {}",
        "Which port is staging on?",
        "Staging is on port {}.",
        "5432 5433 6543 7001",
    ),
    _topic(
        "The standup is at {}",
        "The standup isn't at {}",
        "The standup was at {}",
        "The standup moved to {}",
        "When is the standup?",
        "The standup is at {}.",
        "9:15 10:30 11:00 8:45",
    ),
    _topic(
        "My manager is {}",
        "My manager isn't {}",
        "My manager was {}",
        "My manager changed to {}",
        "Who is my manager?",
        "Your manager is {}.",
        "Marta Jonas Priya Chen",
    ),
    _topic(
        "We deploy on {}",
        "We don't deploy on {}",
        "We used to deploy on {}",
        "We changed it, we deploy on {}",
        "When do we deploy?",
        "We deploy on {}.",
        "Mondays Tuesdays Thursdays",
    ),
    _topic(
        "The plan costs {}",
        "The plan doesn't cost {}",
        "The plan was {}",
        "The plan changed to {}",
        "How much does the plan cost?",
        "The plan costs {}.",
        "12 19 25 49",
    ),
    _topic(
        "The build runs on {}",
        "The build doesn't run on {}",
        "The build used to run on {}",
        "The build moved to {}",
        "What does the build run on?",
        "The build runs on {}.",
        "Jenkins Buildkite CircleCI",
    ),
]


@dataclass(frozen=True)
class Talk:
    """One conversation: its turns, the question, the old value, and the new one if there is one."""

    turns: tuple[tuple[str, str], ...]
    question: str
    old: str
    new: str | None

    def told_to(self, memory: Memory) -> None:
        """Each pair of turns is a session of its own, a day after the one before."""
        for number, (role, text) in enumerate(self.turns):
            memory.observe(
                text,
                role=role,  # type: ignore[arg-type]
                session=f"day {number // 2}",
                said_at=f"2026-03-{number // 2 + 1:02}T10:{number % 2:02}:00Z",
            )


def _correction(topic: Topic, old: str, new: str, chance: random.Random) -> str:
    return chance.choice(
        [
            f"{topic.is_not.format(old)} any more, {topic.small.format(new)} now.",
            f"{topic.is_so.format(new)} now.",
            f"Actually, {topic.small.format(new)}.",
            f"{topic.is_so.format(new)}.",
            f"{topic.was.format(old)}, but {topic.small.format(new)} now.",
            f"{topic.changed.format(new)}.",
        ]
    )


def talk(seed: int, *, corrected: bool) -> Talk:
    """A conversation, with turns about two other things in between."""
    chance = random.Random(seed)
    topic, *others = chance.sample(TOPICS, 3)
    old, new = chance.sample(topic.values, 2)
    turns = [("user", f"{topic.is_so.format(old)}."), ("assistant", "Noted.")]
    for other in others:
        turns.append(("user", f"{other.is_so.format(other.values[0])}."))
        turns.append(("assistant", "Good to know."))
    for _ in range(chance.randint(2, 6)):
        turns += [("user", topic.question), ("assistant", topic.answer.format(old))]
    if corrected:
        turns += [("user", _correction(topic, old, new, chance)), ("assistant", "Understood.")]
    if chance.random() < 0.5:
        turns += [("user", f"Thanks for the help with number {seed}."), ("assistant", "Sure.")]
    return Talk(tuple(turns), topic.question, old, new if corrected else None)
