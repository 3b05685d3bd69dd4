"""A memory of which a part has vectors: what lacks them is not ranked below what has them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest

from benchmarks.sentences import sentences
from recollect import Memory
from recollect.compose import _static
from recollect.finding import search
from recollect.finding.candidates import Question
from recollect.finding.questions import _encoded, _parsed
from recollect.finding.vectors import Leg, catch_up
from recollect.memory.handle.handle import handle_of
from recollect.model.values import Recall

PARTLY = "the rest has no vectors yet"
PROSE = sentences(10_000, seed=36)
KINDS: dict[str, Callable[[int], str]] = {
    "alike": lambda n: f"Server {n} listens on port {5_000 + n} and belongs to team {n % 7}.",
    "prose": lambda n: PROSE[n],
}


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", embedder="none") as memory:
        yield memory


def fill(memory: Memory, texts: list[str]) -> None:
    for start in range(0, len(texts), 1_000):
        with memory.batch() as batch:
            for number, text in enumerate(texts[start : start + 1_000], start):
                batch.remember(text, id=f"r{number}")


def leg_of(memory: Memory, pieces: int) -> Leg:
    """The first of these texts have vectors."""
    space, embedder = handle_of(memory).space, _static()
    leg = Leg(embedder, space.vectors(embedder.name, embedder.dimensions))
    assert catch_up(space, leg, limit=pieces).pieces == pieces
    return leg


def asked(memory: Memory, leg: Leg, queries: list[str]) -> Iterator[Recall]:
    """What a recall finds that makes no more vectors."""
    with handle_of(memory).reading() as reads:
        questions: list[Question] = _encoded(_parsed(lambda: reads, queries), [leg], [PARTLY])
        for question in questions:
            yield search.recall(reads, question, handle_of(memory).wish(), 5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("count", "questions"), [(1_000, 50), pytest.param(10_000, 200, marks=pytest.mark.nightly)]
)
def test_an_exact_sentence_is_first(memory: Memory, kind: str, count: int, questions: int) -> None:
    texts = [KINDS[kind](number) for number in range(count)]
    fill(memory, texts)
    leg = leg_of(memory, count // 5)
    wanted = random.Random(36).sample(texts, questions)
    found = list(asked(memory, leg, wanted))
    assert [recall.hits[0].text for recall in found] == wanted
    assert {recall.degraded for recall in found} == {PARTLY}
