"""Tokens: the same for every engine, in any script."""

from __future__ import annotations

import random
import re
import sqlite3
import unicodedata
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.index.words import text
from recollect.index.words.text import query_tokens, tokens, words
from tests.suites.hostile import hostile, plain


def test_words_are_folded_and_stemmed() -> None:
    assert tokens("The Databases moved, moving!") == "the databas move move"
    assert tokens("Café ﬁle Ⅷ") == "cafe file viii"
    assert tokens("snake_case 5433 v1.2") == "snake case 5433 v1 2"
    assert tokens("!!! …") == ""


def test_unspaced_scripts_become_pairs() -> None:
    assert words("東京都") == ["東京", "京都"]
    assert words("京") == ["京"]
    assert words("pandas使用法") == ["pandas", "使用", "用法"]
    assert words("使用pandas法") == ["使用", "pandas", "法"]


def test_a_question_is_asked_by_its_telling_words() -> None:
    assert query_tokens("what is the port of the port?", 10) == ["port"]
    assert query_tokens("who is it", 10) == ["who", "is", "it"]
    assert query_tokens("one two three", 2) == ["one", "two"]
    assert query_tokens("", 5) == []


def test_long_words_are_cut() -> None:
    assert len(tokens("x" * 500)) == 64


def in_one_piece(text: str) -> list[str]:
    """The words of a text that is normalised as a whole."""
    folded = unicodedata.normalize("NFKD", text).casefold()
    kept = "".join(sign for sign in folded if not unicodedata.combining(sign))
    return re.findall(r"[^\W_]+", unicodedata.normalize("NFC", kept))


marks = st.sampled_from(["\u0301", "\u0316", "\u0345", "\u0344", "\u05b0", "\U0001d165"])
signs = st.sampled_from(["a", "\u00e9", "\u1fb4", "\u212b", "\uac01", "\u1100", "\u1161", " "])


@given(st.lists(st.one_of(marks, signs), max_size=12), st.integers(1, 100))
def test_words_are_those_of_the_whole_text(parts: list[str], times: int) -> None:
    """Long texts are normalised in pieces; where a piece ends makes no difference."""
    text = "".join(parts) * times
    assert words(text) == in_one_piece(text)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_the_engine_does_not_split_tokens_again(text: str) -> None:
    made = tokens(text)
    with closing(sqlite3.connect(":memory:")) as engine:
        engine.execute("CREATE VIRTUAL TABLE t USING fts5 (tokens, tokenize = 'ascii')")
        engine.execute("CREATE VIRTUAL TABLE v USING fts5vocab (t, instance)")
        engine.execute("INSERT INTO t VALUES (?)", (made,))
        found = [row[0] for row in engine.execute('SELECT term FROM v ORDER BY doc, "offset"')]
    assert found == made.split(" ") if made else found == []


@pytest.mark.parametrize("seed", range(4))
def test_a_long_text_in_parts_has_the_words_of_the_whole(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    texts = [hostile(rng, rng.choice((3, 40, 900))) for _ in range(80)]
    texts += [plain(900), "Ü " * 300, "ab\u0301 " * 200, "\uac00 x" * 90, "\u3042" * 200]
    whole = [(text.words(one), text.token_list(one), text.tokens(one)) for one in texts]
    monkeypatch.setattr(text, "_PART_CHARS", 7)
    monkeypatch.setattr(text, "_PART_COUNT", 3)
    assert [(text.words(one), text.token_list(one), text.tokens(one)) for one in texts] == whole
    monkeypatch.setattr(text, "_pieces", lambda one: [one[:5], one[5:]])  # the control
    assert [text.words(one) for one in texts] != [found for found, _, _ in whole]
