"""Which words of a query are searched for."""

from __future__ import annotations

from recollect.index.bm25 import statistics


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
