"""Which words of a query are searched for."""

from __future__ import annotations

import random

from recollect.index.words.bm25 import parts_of, statistics


def test_a_word_that_half_of_many_texts_contain_is_not_searched_for() -> None:
    found = statistics(1_000, 9_000, [501, 499, 1])
    assert found.telling(("port", "staging", "rare")) == ("staging", "rare")


def test_in_a_small_memory_every_word_is_searched_for() -> None:
    found = statistics(999, 9_000, [501, 1])
    assert found.telling(("port", "rare")) == ("port", "rare")


def test_a_query_of_common_words_alone_is_searched_for_with_all_of_them() -> None:
    found = statistics(1_000, 9_000, [1_000, 900])
    assert found.telling(("port", "staging")) == ("port", "staging")


def test_the_words_of_the_phrasing_are_not_searched_for() -> None:
    found = statistics(1_000, 9_000, [3, 4])  # of a term, and of a word of the phrasing
    assert found.telling(("rare",)) == ("rare",)


def test_few_and_many_terms_are_counted_alike() -> None:
    draw = random.Random(1)
    words = [f"w{number}" for number in range(60)]
    known = [("", " ".join(draw.choices(words[:50], k=draw.randrange(300)))) for _ in range(50)]
    many = parts_of(known, words, 100.0)
    few = [parts_of(known, words[at : at + 20], 100.0) for at in (0, 20, 40)]
    assert many == [sum(parts, ()) for parts in zip(*few, strict=True)]
    assert any(many[0])
    assert not any(parts[-1] for parts in many)
