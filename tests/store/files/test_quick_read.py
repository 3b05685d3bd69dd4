"""A quick read takes an index that is up to date, and leaves every other one to who can heal it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from recollect import Memory
from recollect.store.files.quick_read import quick_read


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Memory.open(tmp_path) as memory:
        memory.remember("The staging database moved to port 5433.")
        memory.remember("Deploys happen on Fridays only.")
    return tmp_path


def test_an_index_that_is_up_to_date_is_read(folder: Path) -> None:
    reads = quick_read(folder)
    assert reads is not None
    assert len(reads.match("recallable", ["stage"], 10)) == 1


def test_a_glance_changes_nothing_and_sees_no_later_write(folder: Path) -> None:
    before = (folder / "events.wal").read_bytes()
    reads = quick_read(folder)
    assert reads is not None
    with Memory.open(folder) as memory:
        memory.remember("The staging host is called heron.")
        assert len(reads.match("recallable", ["stage"], 10)) == 1
    assert (folder / "events.wal").read_bytes().startswith(before)
    again = quick_read(folder)
    assert again is not None
    assert len(again.match("recallable", ["stage"], 10)) == 2


def test_an_index_that_lags_or_is_missing_is_left_alone(folder: Path) -> None:
    ledger = folder / "events.wal"
    data = ledger.read_bytes()
    for other in (data + b"{", data[:-1], data[: data[:-1].rindex(b"\n") + 1], b""):
        ledger.write_bytes(other)
        assert quick_read(folder) is None
    ledger.unlink()
    assert quick_read(folder) is None
    assert quick_read(folder / "nowhere") is None


def test_a_ledger_of_the_same_size_that_ends_with_another_event_is_left_alone(folder: Path) -> None:
    ledger = folder / "events.wal"
    data = ledger.read_bytes()
    start = data[:-1].rindex(b"\n") + 1
    place = data.index(b'"hash":"', start) + len('"hash":"')
    changed = bytes([data[place] ^ 1])
    ledger.write_bytes(data[:place] + changed + data[place + 1 :])
    assert quick_read(folder) is None


def test_an_index_of_another_release_or_with_an_erasure_to_finish_is_left_alone(
    folder: Path,
) -> None:
    def change(statement: str) -> None:
        connection = sqlite3.connect(folder / "index.db")
        with connection:
            connection.execute(statement)
        connection.close()

    change("INSERT INTO erased (seq, by) VALUES (2, 1000)")
    assert quick_read(folder) is None
    change("DELETE FROM erased")
    assert quick_read(folder) is not None
    change("UPDATE position SET version = 1")
    assert quick_read(folder) is None


def test_a_file_that_is_not_an_index_is_left_alone(folder: Path) -> None:
    (folder / "index.db").write_bytes(b"nothing" * 1_000)
    assert quick_read(folder) is None


def test_a_very_long_last_line_is_left_to_who_reads_whole_ones(folder: Path) -> None:
    with Memory.open(folder) as memory:
        memory.remember("word " * 20_000)
    assert quick_read(folder) is None
