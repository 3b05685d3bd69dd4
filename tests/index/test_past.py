"""The past is ranked as it was: bit for bit what full text said then."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from recollect import Memory
from recollect.index.reads import Reads
from recollect.index.statements import NOW
from recollect.index.words import past
from recollect.index.words.text import query_tokens, tokens
from recollect.memory.handle.handle import Handle
from recollect.store.indexed.backend import MemorySpace
from recollect.store.port import Space
from tests.suites.histories import Clockwork, History

QUERIES = [
    "river",
    "winter silver winter market stone",
]


Seen = list[tuple[int, str, dict[str, object]]]


def played(seed: int, steps: int, space: Space | None = None) -> tuple[Memory, Seen]:
    """A random history, and what was found at each position while it was the present."""
    rng = random.Random(seed)
    seam = Clockwork(seed)
    memory = Memory(Handle(space or MemorySpace("main", seam), seam))
    history = History(memory, seam, rng)
    history._acts = [(weight, act) for weight, act in history._acts if act != history.erase]
    seen: Seen = []
    for _ in range(steps):
        history.play(1)
        seen.append((memory.events.position, seam.now(), found(memory)))
    return memory, seen


def found(memory: Memory) -> dict[str, object]:
    answers: dict[str, object] = {}
    ann = memory.scoped(user="ann")
    for query in QUERIES:
        answers[query] = memory.recall(query, k=7)
        answers[f"{query}, hers"] = ann.recall(query, k=3)
        answers[f"{query}, all"] = memory.recall(query, include=["replaced", "waiting", "hidden"])
        with memory._handle.space.reading(memory._handle.position) as reads:
            for shelf in ("recallable", "rest"):
                terms = query_tokens(query, 64)
                answers[f"{query}, {shelf}"] = reads.match(shelf, terms, 500)
    return answers


def differences(memory: Memory, seen: Seen) -> list[str]:
    wrong: list[str] = []
    for position, now, then in seen:
        again = found(Memory(memory._handle.moved(position, now)))
        wrong += [
            f"{position}: {query}" for query, answer in again.items() if answer != then[query]
        ]
    return wrong


def test_at_every_position_recall_is_what_it_was() -> None:
    memory, seen = played(3, 45)
    with memory:
        assert any(then["river"].hits for _, _, then in seen)  # type: ignore[attr-defined]
        assert differences(memory, seen) == []


@pytest.mark.parametrize(
    "histories",
    [pytest.param(3, marks=pytest.mark.ci), pytest.param(24, marks=pytest.mark.nightly)],
)
def test_at_every_position_of_random_histories_recall_is_what_it_was(histories: int) -> None:
    for seed in range(histories):
        memory, seen = played(100 + seed, 40)
        with memory:
            assert differences(memory, seen) == [], f"seed {seed}"


def test_the_present_is_not_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    memory, _ = played(4, 20)
    with memory:
        monkeypatch.setattr(past, "bm25", lambda *given: pytest.fail("walked"))
        memory.recall("river")
        memory.at(memory.events.position).recall("river")


def test_no_texts_no_terms_no_score() -> None:
    assert past.bm25([], ["river"], 10) == []
    assert past.bm25([(1, "river", None)], [], 10) == []
    assert past.bm25([(1, "...", None), (2, "river", None)], ["river"], 10)[0][0] == 2
    assert past.bm25([(1, "river", "ann"), (2, "river", None)], ["river"], 9, "ann") == [
        (1, past.bm25([(1, "river", "ann"), (2, "river", None)], ["river"], 9)[0][1])
    ]


def test_a_recall_of_the_past_splits_each_text_once_for_each_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    split: list[str] = []

    def counted(text: str) -> str:
        split.append(text)
        return tokens(text)

    monkeypatch.setattr(past, "tokens", counted)
    with Memory.open(":memory:", embedder="none") as memory:
        for number in range(50):
            memory.remember(f"river {number}")
        position = memory.events.position
        memory.remember("later")
        assert memory.at(position).recall("river").hits
    # Which texts have the words, and what the words are worth; nothing is on the other shelf.
    assert sorted(Counter(split).values()) == 50 * [2]


def test_control_todays_statistics_are_not_those_of_then() -> None:
    """What the past was ranked by before: the same walk would find differences."""
    memory, seen = played(5, 25)
    terms = query_tokens("river stone", 64)
    with memory, memory._handle.space.reading() as reads:
        today = dict(Reads(reads.db, at=NOW).match("recallable", terms, 500))
        then = [dict(Reads(reads.db, at=at).match("recallable", terms, 500)) for at, _, _ in seen]
    moved = [any(scores[doc] != today[doc] for doc in scores.keys() & today) for scores in then]
    assert sum(moved) > 5
