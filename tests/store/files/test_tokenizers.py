"""One memory, two Pythons: tokens depend on the interpreter's Unicode tables and on the stemmer.

The other Python is a child process that makes tokens with the tables of Unicode 3.2, which every
Python carries. They do not know SQUARED LATIN CAPITAL LETTER B (Unicode 5.2): to them it parts a
word, to newer tables it is the letter b.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from recollect import Memory
from recollect.index.words import bm25, text
from recollect.store.files import index
from recollect.store.files.build import known_tokens
from recollect.store.sqlite import SqliteDb
from recollect.testing.rebuilding import rebuilt_digest
from tests.suites.canaries import files_hit

NAME = "Zorkfadulv\U0001f131omblequiztark"
PARTS = ["zorkfadulv", "omblequiztark"]  # what older tables make of it
SENTENCE = f"The patient is {NAME} and has diabetes"

OLDER = f"""
import sys, unicodedata
from recollect import Memory
from recollect.index.words import text
text.tables = unicodedata.ucd_3_2_0
memory = Memory.open(sys.argv[1], space="main")
SENTENCE = {SENTENCE!r}
"""


def by_older_tables(where: str, code: str) -> str:
    """Runs code in a process whose Unicode tables are older; returns what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", OLDER + code, where],
        env={**os.environ, "RECOLLECT_EMBEDDER": "none"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def remembered_by_older_tables(where: Path) -> str:
    with Memory.open(where) as memory:
        for number in range(4):
            memory.remember(f"Filler {number} of the sea.")
    return by_older_tables(str(where), "print(memory.remember(SENTENCE).id); memory.close()")


def vocabulary(where: Path) -> set[tuple[str, str, int]]:
    """Every token that full text holds, with its shelf and its text."""
    with closing(sqlite3.connect(where / "index.db")) as engine:
        found: set[tuple[str, str, int]] = set()
        for shelf in ("recallable", "rest"):
            engine.execute(
                f"CREATE VIRTUAL TABLE temp.v_{shelf} USING fts5vocab (main, {shelf}, instance)"
            )
            rows = engine.execute(f"SELECT term, doc FROM temp.v_{shelf}")
            found.update((shelf, str(term), int(doc)) for term, doc in rows)
        return found


def test_the_two_tables_make_different_tokens() -> None:
    made = by_older_tables(":memory:", "print(text.tokens(SENTENCE), '|', text.made_with())")
    theirs, stamp = made.split(" | ")
    assert theirs.split()[3:5] == PARTS
    assert "b".join(PARTS) in text.tokens(SENTENCE)
    assert stamp != text.made_with()
    assert unicodedata.unidata_version in text.made_with()


@pytest.mark.parametrize("act", ["erase", "forget", "revise", "remember", "list"])
def test_an_index_with_other_tokens_is_built_again_first(tmp_path: Path, act: str) -> None:
    id = remembered_by_older_tables(tmp_path)
    assert files_hit(tmp_path, PARTS)
    assert "3.2.0" in str(known_tokens(tmp_path / "index.db"))
    with Memory.open(tmp_path) as memory:
        note = next(found for found in memory.admin.doctor() if found.what == "index")
        assert (note.level, "3.2.0" in note.detail) == ("note", True)
        calls: dict[str, Callable[[], object]] = {
            "erase": lambda: memory.erase(id),
            "forget": lambda: memory.forget(id),
            "revise": lambda: memory.revise(id, "The patient left"),
            "remember": lambda: memory.remember("Another one"),
            "list": memory.list,
        }
        calls[act]()
        found = vocabulary(tmp_path)
        for word in (*PARTS, NAME, "diabetes"):
            memory.recall(word)
        assert memory.admin.verify().ok
        assert memory.admin.digest() == rebuilt_digest(memory.admin)
    assert {(shelf, word) for shelf, word, _ in found if word in PARTS} == set()
    assert found == vocabulary(tmp_path)  # as a fresh fold has it
    if act == "erase":
        assert files_hit(tmp_path, [*PARTS, NAME]) == set()


def test_and_the_other_way_round(tmp_path: Path) -> None:
    with Memory.open(tmp_path) as memory:
        for number in range(4):
            memory.remember(f"Filler {number} of the sea.")
        id = memory.remember(SENTENCE).id
    by_older_tables(str(tmp_path), f"memory.erase({id!r}); memory.close()")
    assert files_hit(tmp_path, [*PARTS, NAME, text.tokens(NAME)]) == set()


def test_an_erasure_that_was_interrupted_in_another_python(tmp_path: Path) -> None:
    id = remembered_by_older_tables(tmp_path)
    by_older_tables(
        str(tmp_path),
        "from recollect.memory.handle import acts\n"
        f"memory._handle.write((acts.erase({id!r}, True, None),), lambda *_: None)",
    )
    assert files_hit(tmp_path, [NAME])
    with Memory.open(tmp_path) as memory:
        memory.list()
        assert memory.admin.verify().ok
    assert files_hit(tmp_path, [*PARTS, NAME]) == set()


def test_control_without_the_stamp_erased_words_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index is taken as it is: the words stay, and the counts of full text do not fit.

    So it is with what may not be recalled. The shelf of the others keeps the tokens it was given.
    """
    id = remembered_by_older_tables(tmp_path)
    by_older_tables(str(tmp_path), f"memory.forget({id!r}); memory.close()")

    def as_it_is(db: SqliteDb) -> bool:
        return True

    monkeypatch.setattr(index, "is_of_this_release", as_it_is)
    with Memory.open(tmp_path) as memory:
        memory.erase(id)
        assert files_hit(tmp_path, PARTS) == {"index.db"}


@pytest.mark.parametrize(("count", "holding"), [(0, 1), (1, 2), (3, 500), (0, 0)])
def test_counts_that_do_not_fit_each_other_stop_no_recall(count: int, holding: int) -> None:
    found = bm25.statistics(count, 10, [holding])
    assert found.weights[0] > 0


def test_the_stamp_is_asked_once_for_each_opening(tmp_path: Path) -> None:
    """Two handles with the same tables never build an index again."""
    with Memory.open(tmp_path) as memory:
        memory.remember("One")
        before = (tmp_path / "index.db").stat().st_ino
        with Memory.open(tmp_path) as other:
            other.remember("Two")
        assert (tmp_path / "index.db").stat().st_ino == before
