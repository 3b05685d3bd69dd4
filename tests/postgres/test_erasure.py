"""Erased on a server: what its files keep, what the report says, and the verb that cleans."""

from __future__ import annotations

import json
import random
import threading
from pathlib import Path

import psycopg
import pytest

from recollect import Memory
from recollect.store.postgres.vacuum import vacuum
from recollect.testing.rebuilding import rebuilt_digest
from tests.postgres.test_command import recollect
from tests.suites.canaries import canary, files_hit, words_hit


class Files:
    """The data folder of a server, as far as this process may read it."""

    def __init__(self, database: str) -> None:
        self._database = database
        with psycopg.connect(database) as connection:
            (folder,) = connection.execute("SHOW data_directory").fetchone() or ("",)
            (oid,) = connection.execute(
                "SELECT oid FROM pg_database WHERE datname = current_database()"
            ).fetchone() or (0,)
        self.folder = Path(folder)
        self._base = self.folder / "base" / str(oid)
        if not self._base.exists():
            pytest.skip("the server's files are not on this machine")

    def holding(self, words: list[str]) -> set[str]:
        """Which tables and indexes hold any of these words in any form, once all is on disk."""
        with psycopg.connect(self._database, autocommit=True) as connection:
            connection.execute("CHECKPOINT")
            names = {
                Path(path).name: str(name)
                for name, path in connection.execute(
                    "SELECT relname, pg_relation_filepath(oid) FROM pg_class"
                    " WHERE pg_relation_filepath(oid) IS NOT NULL"
                )
            }
        found = files_hit(self._base, words)
        return {names.get(file.partition(".")[0].partition("_")[0], file) for file in found}


def lives(memory: Memory, count: int) -> tuple[list[str], list[str]]:
    """Ids to erase among others that stay, and the words that must go with them."""
    rng = random.Random(7)
    words = {part: canary(rng) for part in ("text", "key", "tag", "about", "said", "session")}
    ids: list[str] = []
    for number in range(count):
        memory.remember(f"Filler {number} of the sea, {rng.random()}")
        made = memory.remember(
            f"{words['text']} no {number} is what the doctor said",
            key=f"{words['key']}.{number}",
            tags=[words["tag"]],
            about=f"{words['about']} {number}",
        )
        (heard,) = memory.observe(
            f"{words['said']} no {number}", role="user", session=f"{words['session']} {number}"
        )
        ids += [made.id, heard.id]
    return ids, list(words.values())


def test_the_verb_leaves_nothing_in_any_table_or_index(url: str, database: str) -> None:
    """Control: the same search hits before the erasure, and what erased rows leave after it."""
    files = Files(database)
    with Memory.open(url, space="alice") as memory:
        ids, words = lives(memory, 20)
        assert words_hit(files.folder, words) == set(words)
        assert "events" in files.holding(words)
        told: set[str] = set()
        for id in ids:
            told.update(memory.erase(id).places)
    assert any("recollect admin vacuum" in place for place in told)
    assert any("write-ahead log" in place for place in told)
    assert words_hit(files.folder, words) == set(words)  # in the write-ahead log
    code, said = recollect(url, "admin", "vacuum", "--json")
    assert code == 0, said
    done = json.loads(said)
    assert (done["rows_kept"], done["tables"] > 10) == (0, True)
    assert any("write-ahead log" in place for place in done["places"])
    assert files.holding(words) == set()
    with Memory.open(url, space="alice") as memory:
        assert len(memory.list(limit=100)) == 20
        assert memory.recall("filler sea").hits
        assert memory.admin.verify().ok
        assert memory.admin.digest() == rebuilt_digest(memory.admin)


def test_rows_that_a_transaction_still_sees_are_named(url: str, database: str) -> None:
    """Control for the report: an old snapshot keeps dead rows, and the verb says so."""
    files = Files(database)
    with Memory.open(url, space="alice") as memory:
        ids, words = lives(memory, 3)
        with psycopg.connect(database) as old:
            old.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            old.execute("SELECT 1 FROM pg_database")
            for id in ids:
                memory.erase(id)
            done = vacuum(url)
            assert done.rows_kept > 0
            assert any("open transaction" in place for place in done.places)
            assert files.holding(words)
        done = vacuum(url)
        assert (done.rows_kept, files.holding(words)) == (0, set())


def test_erasing_tells_a_person_what_is_not_clean(url: str) -> None:
    with Memory.open(url, space="main") as memory:
        memory.remember("One", id="one")
    code, said = recollect(url, "erase", "one", "--yes")
    assert code == 0
    assert "\n  cleaned       index of this process: rows, full text and free pages\n" in said
    assert "\n  NOT cleaned: pages of tables" in said
    assert "cleaned       NOT" not in said
    assert "erased event 2\n" in recollect(url, "proof", "erasures")[1]


def test_the_verb_tells_a_person(url: str, tmp_path: Path) -> None:
    with Memory.open(url, space="alice") as memory:
        memory.remember("One")
    code, said = recollect(url, "admin", "vacuum")
    assert code == 0
    assert said.startswith("Rewrote ")
    assert "NOT cleaned" in said
    code, said = recollect(str(tmp_path), "admin", "vacuum")
    assert code == 2
    assert "postgresql://" in said


def test_writers_go_on_afterwards(url: str) -> None:
    """Tables are locked one by one; who waits goes on."""
    problems: list[BaseException] = []

    def write() -> None:
        try:
            with Memory.open(url, space="alice") as memory:
                for number in range(30):
                    memory.remember(f"Number {number}")
        except BaseException as error:  # noqa: BLE001 - told below
            problems.append(error)

    with Memory.open(url, space="alice") as memory:
        memory.remember("Zero")
        writer = threading.Thread(target=write)
        writer.start()
        vacuum(url)
        writer.join(60)
        assert problems == []
        assert len(memory.list(limit=100)) == 31
        assert memory.admin.verify().ok
