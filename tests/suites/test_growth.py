"""No input makes a call take more than its length: twice the input, at most 2.6 times the time."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from recollect import Memory
from recollect.errors import LimitExceeded
from recollect.index.fold import Clock, Fold
from recollect.index.tables import Tables
from recollect.index.words.text import words
from recollect.model import events as e
from recollect.model import validate
from recollect.model.presets import Template, holds_mark
from recollect.recall.pack import line_of, pack
from recollect.store.sqlite import memory_index
from tests.index.test_fold import added, events, said
from tests.recall.making import episode
from tests.suites.growth import GROWTH_MAX_RATIO, Call, growth, noticed, spent

pytestmark = pytest.mark.timing

Prepare = Callable[[int], Call]

# Texts that a pattern with two ways to go over the same signs takes long to refuse.
REPEATED = ("<", "< ", "</", "<_", "<recollect", "<recollect ", "&lt;", "{", "{text}", "\u200b<")


def packing(part: str) -> Prepare:
    def prepare(size: int) -> Call:
        hit = episode("e1", part * (size // len(part)))
        return lambda: pack([], [hit], Template(), 1_000_000)

    return prepare


@pytest.mark.parametrize("part", REPEATED)
def test_packing_takes_as_long_as_its_text(part: str) -> None:
    assert growth(packing(part), _size(part)) < GROWTH_MAX_RATIO


@pytest.mark.parametrize("part", REPEATED)
def test_looking_for_marks_takes_as_long_as_the_text(part: str) -> None:
    def prepare(size: int) -> Call:
        text = part * (size // len(part))
        return lambda: (holds_mark(text), line_of(episode("e1", text), Template()))

    assert growth(prepare, _size(part)) < GROWTH_MAX_RATIO


def _size(part: str) -> int:
    """Characters that take some ten milliseconds: each one that is not ASCII is looked at."""
    return 40_000 if part.isascii() else 8_000


MARKS = "\u0301\u0316"  # of two kinds, in the order that normalising turns round


def test_words_take_as_long_as_the_text() -> None:
    """1 MB of marks took three minutes, and the lock was held."""

    def prepare(size: int) -> Call:
        text = "a" + MARKS * size
        return lambda: words(text)

    assert growth(prepare, 10_000) < GROWTH_MAX_RATIO


def test_a_name_is_refused_in_the_time_of_its_length() -> None:
    def refuse(name: str) -> None:
        with pytest.raises(LimitExceeded):
            validate.name(name, "key")

    def prepare(size: int) -> Call:
        name = "a" + MARKS * size
        return lambda: refuse(name)

    assert growth(prepare, 200_000) < GROWTH_MAX_RATIO


def test_control_normalising_marks_as_a_whole_is_noticed() -> None:
    def prepare(size: int) -> Call:
        text = "a" + MARKS * size
        return lambda: unicodedata.normalize("NFKD", text)

    assert noticed(prepare, 500)


def folding(after: Callable[[str], list[e.AnyBody]]) -> Prepare:
    """Many records on one episode, and then what happens to each."""

    def prepare(size: int) -> Call:
        ids = [f"r{n}" for n in range(size)]
        history: list[e.AnyBody] = [said("e")]
        history += [added(id, id, evidence=("e",)) for id in ids]
        events_ = events([*history, *(body for id in ids for body in after(id))])

        def fold() -> None:
            with closing(memory_index("main")) as db:
                tables = Tables(db)
                folding = Fold(tables, Clock(e.GENESIS.at, 0))
                for event in events_:
                    folding.append([event])
                    tables.flush()

        return fold

    return prepare


@pytest.mark.parametrize(
    "after",
    [
        lambda _: [],
        lambda id: [e.RecordForgotten(id=id)],
        lambda id: [e.RecordForgotten(id=id), e.RecordRestored(id=id)],
        lambda id: [e.RecordRevised(id=id, trust="person", text=f"{id} new", evidence=("e",))],
        lambda id: [e.RecordRevised(id=id, trust="unverified")],
    ],
    ids=["added", "forgotten", "restored", "revised", "distrusted"],
)
def test_folding_many_records_on_one_episode(after: Callable[[str], list[e.AnyBody]]) -> None:
    assert growth(folding(after), 80) < GROWTH_MAX_RATIO


def test_erasing_many_records_on_one_episode_at_once() -> None:
    def prepare(size: int) -> Call:
        history: list[e.AnyBody] = [said("e")]
        history += [added(f"r{n}", evidence=("e",)) for n in range(size)]
        db = memory_index("main")
        tables = Tables(db)
        fold = Fold(tables, Clock(e.GENESIS.at, 0))
        fold.append(events(history, gap_s=0))
        tables.flush()
        erasure = e.EventsErased(targets=tuple(range(2, size + 2)))

        def erase() -> None:
            with closing(db):
                fold.event(size + 2, fold.clock.at, "person", erasure)

        return erase

    assert growth(prepare, 80) < GROWTH_MAX_RATIO


LINE = "2026-11-15T10:00:00Z INFO server staging port 5433 request id={0} took {0}ms\n"


@pytest.mark.parametrize("ask", ["recall", "recall_many", "context", "why_not"])
def test_a_pasted_log_is_a_question_like_any_other(tmp_path: Path, ask: str) -> None:
    """A question of 2 MB took ten seconds; from a few pages on its length costs nothing."""
    with Memory.open(tmp_path) as memory:
        record = memory.remember("The staging server has port 5433.")
        calls: dict[str, Callable[[str], object]] = {
            "recall": memory.recall,
            "recall_many": lambda query: memory.recall([query]),
            "context": memory.context,
            "why_not": lambda query: memory.admin.why_not(record.id, query),
        }

        def prepare(size: int) -> Call:
            query = "".join(LINE.format(number) for number in range(size // 70))
            return lambda: calls[ask](query)

        assert growth(prepare, 200_000) < GROWTH_MAX_RATIO
        assert spent(prepare(2_000_000)) < 8 * spent(prepare(20_000)) + 0.05


def test_unverified_texts_are_weighed_up_to_a_limit(tmp_path: Path) -> None:
    """60 MB of a stranger's texts made every recall take three seconds."""
    vocabulary = [f"word{number}" for number in range(20_000)]
    rng = random.Random(7)
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.remember("The staging server has port 5433.")
        hits = memory.recall("which staging server port").hits
        stranger = memory.scoped(trust="unverified")
        for _ in range(2):
            stranger.observe(_long_text(rng, vocabulary), role="tool")
        few = min(spent(lambda: memory.recall("which staging server port")) for _ in range(5))
        for _ in range(10):
            stranger.observe(_long_text(rng, vocabulary), role="tool")
        many = min(spent(lambda: memory.recall("which staging server port")) for _ in range(5))
        assert many < 4 * few
        found = memory.recall("which staging server port")
        assert [hit.id for hit in found.hits] == [hit.id for hit in hits]
        assert found.waiting == 12
        assert found.unverified


def _long_text(rng: random.Random, vocabulary: list[str]) -> str:
    return "staging server port " + " ".join(rng.choices(vocabulary, k=60_000))


# Controls.


def test_quadratic_work_is_noticed() -> None:
    def prepare(size: int) -> Call:
        return lambda: [sum(range(size)) for _ in range(size)]

    assert noticed(prepare, 200)


def test_linear_work_is_not_taken_for_more() -> None:
    def prepare(size: int) -> Call:
        return lambda: sum(range(size))

    assert growth(prepare, 200_000) < GROWTH_MAX_RATIO


def test_looking_ahead_from_each_sign_is_noticed() -> None:
    ahead = re.compile(r"<(?=[\W_]*recollect)", re.IGNORECASE)

    def prepare(size: int) -> Call:
        text = "<" * size
        return lambda: ahead.sub("&lt;", text)

    assert noticed(prepare, 250)
