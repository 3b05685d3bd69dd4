"""Clients of several Pythons share a server: postings go by text, whatever made its tokens."""

from __future__ import annotations

import psycopg
import pytest

from recollect import Memory
from recollect.index import text
from recollect.store.postgres.db import _text
from tests.store.files.test_tokenizers import NAME, PARTS, SENTENCE, by_older_tables

OLD_UNSHELVE = """DELETE FROM postings
WHERE shelf = %(shelf)s AND doc = %(doc)s AND token = ANY (%(tokens)s::text[])"""


def remembered_by_older_tables(url: str) -> str:
    with Memory.open(url, space="main") as memory:
        for number in range(4):
            memory.remember(f"Filler {number} of the sea.")
    return by_older_tables(url, "print(memory.remember(SENTENCE).id); memory.close()")


def counts_fit(database: str) -> bool:
    """Whether the shelves' counts are what the postings come to; no text here lacks words."""
    with psycopg.connect(database) as connection:
        kept = connection.execute(
            "SELECT shelf, docs, tokens FROM recollect.shelves WHERE docs <> 0 OR tokens <> 0"
            " ORDER BY shelf"
        ).fetchall()
        real = connection.execute(
            "SELECT shelf, COUNT(DISTINCT doc), SUM(times) FROM recollect.postings"
            " GROUP BY shelf ORDER BY shelf"
        ).fetchall()
    return kept == real


def tokens_on(database: str, shelf: str) -> set[str]:
    with psycopg.connect(database) as connection:
        found = connection.execute(
            "SELECT token FROM recollect.postings WHERE shelf = %s", (shelf,)
        ).fetchall()
    return {str(token) for (token,) in found}


@pytest.mark.parametrize("act", ["erase", "forget", "revise"])
def test_no_posting_stays_that_another_python_made(url: str, database: str, act: str) -> None:
    id = remembered_by_older_tables(url)
    assert tokens_on(database, "recallable") >= {*PARTS, "diabet"}
    with Memory.open(url, space="main") as memory:
        if act == "erase":
            memory.erase(id)
        elif act == "forget":
            memory.forget(id)
        else:
            memory.revise(id, "The patient left")
        assert tokens_on(database, "recallable").isdisjoint({*PARTS, "diabet"})
        assert tokens_on(database, "rest").isdisjoint(PARTS)
        assert counts_fit(database)
        assert memory.verify(deep=True).ok
        for word in (*PARTS, NAME, "diabetes", "sea"):
            memory.recall(word)


def test_an_index_of_another_python_is_reported_as_such(url: str) -> None:
    remembered_by_older_tables(url)
    with Memory.open(url, space="main") as memory:
        problem = memory.verify(deep=True).problem or ""
        assert "Unicode" in problem
        assert text.made_with() in problem
        memory.rebuild()
        assert memory.verify(deep=True).ok


def test_control_deleting_by_tokens_leaves_them(
    url: str, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = remembered_by_older_tables(url)
    _text.cache_clear()
    real = _text.__wrapped__
    monkeypatch.setattr(
        "recollect.store.postgres.db._text",
        lambda name: OLD_UNSHELVE if name == "unshelve" else real(name),
    )
    with Memory.open(url, space="main") as memory:
        memory.erase(id)
    assert tokens_on(database, "recallable") >= set(PARTS)
    assert not counts_fit(database)


def test_counts_that_do_not_fit_stop_no_recall(url: str, database: str) -> None:
    """Postings that are left over must not end a recall with an error of arithmetic."""
    with Memory.open(url, space="main") as memory:
        memory.remember("The sea is blue")
        with psycopg.connect(database) as connection:
            connection.execute("UPDATE recollect.shelves SET docs = 1, tokens = 0")
            connection.execute(
                "INSERT INTO recollect.postings SELECT space, shelf, token, doc + n, times, length"
                " FROM recollect.postings, generate_series(1, 9) n WHERE token = 'sea'"
            )
        assert memory.recall("sea").hits


def test_the_shelf_is_searched_only_if_tokens_are_missing(url: str, database: str) -> None:
    """Where this client's tokens are all there are, no other row of the space is looked at."""
    with Memory.open(url, space="main") as memory:
        record = memory.remember(SENTENCE)
        for number in range(50):
            memory.remember(f"Filler {number} of the sea.")
        words = text.tokens(SENTENCE).split()
        with memory._handle.space._index.writing() as (db, _):  # type: ignore[attr-defined]
            db.connection.execute("SET LOCAL enable_seqscan = off")
            plan = db.connection.execute(
                "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) " + _text("unshelve"),
                {
                    "shelf": "recallable",
                    "doc": record.seq,
                    "tokens": sorted(set(words)),
                    "length": len(words),
                },
            ).fetchall()
            db.run("rollback")
            db.run("begin_write")
    lines = [str(line) for (line,) in plan]
    start = next(n for n, line in enumerate(lines) if "CTE others" in line)
    assert any("never executed" in line for line in lines[start:]), "\n".join(lines)
