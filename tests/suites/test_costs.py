"""What a text holds does not make a call cost more than its length explains.

In CI work is counted: the characters that normalising makes, and the words of a text. At night the
processor time of every call is compared with that of a plain text of as many bytes.
"""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from recollect import Memory
from recollect.index.words import text as tokens
from recollect.model import limits
from tests.suites.costs import BEGINS, CALLS, QUERY, Priced, spent
from tests.suites.hostile import PIECES, hostile, plain, repeated

WORST = "\ufdfa"  # 3 bytes, 18 characters in its normal form
BYTES = 30_000


class Counting:
    """The tables of Unicode, and how many characters they have made."""

    def __init__(self) -> None:
        self.made = 0

    @property
    def unidata_version(self) -> str:
        return unicodedata.unidata_version

    def normalize(self, form: Literal["NFC", "NFKD"], text: str, /) -> str:
        made = unicodedata.normalize(form, text)
        self.made += len(made)
        return made

    def combining(self, sign: str, /) -> int:
        return unicodedata.combining(sign)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counting:
    counting = Counting()
    monkeypatch.setattr(tokens, "tables", counting)
    return counting


@pytest.fixture
def unbounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens as they were made before: all of them."""
    monkeypatch.setattr(tokens, "_DECOMPOSED_RATIO", 1_000.0)
    monkeypatch.setattr(tokens, "_WORDS_ANYWAY", 10**9)


def most_words(text: str) -> int:
    """Of a text: as many as a plain one of its bytes may have, and some for a short one."""
    return 1_024 + len(text.encode()) // 2


@pytest.mark.parametrize("seed", range(4))
def test_a_text_has_no_more_words_than_bytes_explain(seed: int) -> None:
    rng = random.Random(seed)
    for text in (hostile(rng, rng.choice((3, 300, 6_000))) for _ in range(60)):
        assert len(tokens.words(text)) <= most_words(text), ascii(text[:20])
        assert len(tokens.decomposed(text)) <= 1.25 * len(text.encode()) + 18 * 256


@pytest.mark.usefixtures("unbounded")
def test_control_without_the_bound_there_are_more() -> None:
    text = repeated(WORST + " ", BYTES)
    assert len(tokens.words(text)) > most_words(text)


def test_a_short_text_keeps_every_word() -> None:
    phrase = unicodedata.normalize("NFKD", WORST)
    assert len(phrase) == 18
    assert tokens.words(WORST) == phrase.split()
    assert len(tokens.words(f"{WORST} " * 128)) == 4 * 128


@pytest.mark.parametrize(
    "piece", ["caf\u00e9 ", "\u4e2d\u6587", "\u1ec7n ", "\uac00\ub098 ", "\u0958\u093e ", "a b "]
)
def test_no_word_of_a_language_is_lost(piece: str) -> None:
    text = repeated(piece, BYTES)
    least = len(tokens.words(piece * 10)) // 10
    assert len(tokens.words(text)) >= least * (len(text) // len(piece)) - 1


def test_a_cut_text_fills_the_room_with_its_normal_form() -> None:
    whole = WORST * 1_000
    assert tokens.cut("plain", 5) == ("plain", 0)
    assert tokens.cut("plain", 9) == ("plain", 4)
    assert tokens.cut("plain", 3) == ("pla", 0)
    kept, left = tokens.cut(whole, 5_000)
    assert (len(kept), left) == (512, 0)  # whole pieces of 256
    assert tokens.cut(whole, 18_000) == (whole, 0)
    assert tokens.cut(whole, 0) == ("", 0)


def work_of_a_recall(counted: Counting, texts: int) -> int:
    """Characters that a recall normalises, with so many unverified texts of the worst sign."""
    with Memory.open(":memory:", embedder="none") as memory:
        memory.remember(BEGINS)
        stranger = memory.scoped(trust="unverified")
        for number in range(texts):
            stranger.remember(f"{BEGINS}{number} {repeated(WORST, 100_000)}")
        memory.recall(QUERY)
        before = counted.made
        found = memory.recall(QUERY)
        assert found.waiting == texts
        assert found.unverified
        return counted.made - before


def test_a_recall_reads_a_fixed_amount_of_unverified_texts(counted: Counting) -> None:
    # The room is filled once, read once, and normalised twice when it is read.
    assert work_of_a_recall(counted, 12) < 3 * limits.UNVERIFIED_MAX_CHARS


@pytest.mark.usefixtures("unbounded")
def test_control_a_recall_that_counts_characters_as_stored_reads_more(
    counted: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recollect.finding import search

    def as_stored(text: str, room: int) -> tuple[str, int]:
        return text[:room], max(room - len(text), 0)

    monkeypatch.setattr(search, "cut", as_stored)
    assert work_of_a_recall(counted, 12) > 3 * limits.UNVERIFIED_MAX_CHARS


# At night.


@pytest.mark.nightly
def test_words_of_a_hundred_thousand_texts() -> None:
    rng = random.Random(20)
    for _ in range(100_000):
        text = hostile(rng, rng.choice((3, 300, 3_000)))
        assert len(tokens.words(text)) <= most_words(text), ascii(text[:20])


def ratio(call: Priced, text: str, size: int, least: float) -> float:
    """How often the time of a plain text; what is too much is measured again, to drop noise."""
    found = spent(call.prepare, text) / least
    for _ in range(3):
        if found <= call.most:
            break
        again = min(spent(call.prepare, plain(size)) for _ in range(2))
        found = min(found, spent(call.prepare, text) / again)
    return found


@pytest.mark.timing
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.call)
def test_no_text_makes_a_call_cost_more_than_its_length(
    call: Priced, record_property: Callable[[str, object], None]
) -> None:
    size, rng = 100_000, random.Random(6)
    least = min(spent(call.prepare, plain(size)) for _ in range(3))
    texts = [repeated(piece, size) for piece in PIECES] + [hostile(rng, size) for _ in range(40)]
    found = max((ratio(call, text, size, least), ascii(text[:16])) for text in texts)
    record_property("slowest", f"{found[1]}, {found[0]:.1f} times")
    assert found[0] <= call.most, found


@pytest.mark.nightly
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.call)
def test_none_of_a_hundred_thousand_texts_costs_more(
    call: Priced, record_property: Callable[[str, object], None]
) -> None:
    found = slowest(call, seed=CALLS.index(call), count=100_000 // len(CALLS) + 1)
    record_property("slowest", f"{found[1]}, {found[0]:.1f} times")
    assert found[0] <= call.most, found


def slowest(call: Priced, *, seed: int, count: int, size: int = 10_000) -> tuple[float, str]:
    """The highest cost among so many random texts, and the beginning of that text."""
    rng = random.Random(seed)
    least = min(spent(call.prepare, plain(size)) for _ in range(5))
    texts = (hostile(rng, size) for _ in range(count))
    return max((ratio(call, text, size, least), ascii(text[:40])) for text in texts)


@pytest.mark.timing
@pytest.mark.usefixtures("unbounded")
def test_control_unbounded_tokens_are_noticed(tmp_path: Path) -> None:
    size = 100_000
    call = next(each for each in CALLS if each.call == "observe")
    least = min(spent(call.prepare, plain(size)) for _ in range(3))
    assert spent(call.prepare, repeated(WORST, size)) / least > call.most
