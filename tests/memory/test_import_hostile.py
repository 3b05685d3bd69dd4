"""Files that were made to harm an import, or to take secrets along."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from recollect import Memory
from recollect.errors import InvalidInput, LimitExceeded
from recollect.exchange.json_stream import elements
from recollect.memory.exchange import import_files
from recollect.memory.exchange.import_files import files_at
from recollect.memory.handle.handle import handle_of

TOKEN = "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory.open(tmp_path / "store", embedder="none")


def test_secrets_in_names_are_removed(memory: Memory, tmp_path: Path) -> None:
    given = {
        "id": "1",
        "memory": "likes tea",
        "user_id": f"ann {TOKEN}",
        "agent_id": f"bot {TOKEN}",
        "run_id": f"run {TOKEN}",
    }
    (tmp_path / "mem0.json").write_text(json.dumps([given]), "utf-8")
    (tmp_path / "note.md").write_text(f"- [{TOKEN}] Tea is green\n", "utf-8")
    done = memory.admin.import_(tmp_path / "mem0.json", "mem0")
    noted = memory.admin.import_(tmp_path / "note.md")
    assert (done.redacted, noted.redacted["github-token"] > 0) == ({"github-token": 3}, True)
    assert TOKEN.encode() not in b"".join(handle_of(memory).space.pieces())
    scopes = {record.scope.user for record in memory.list()}
    assert scopes == {None, "ann [redacted:github-token]"}


def test_a_note_called_note_hides_no_other(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "note.md").write_text("shopping\n", "utf-8")
    (folder / "shopping.md").write_text("buy milk\n", "utf-8")
    assert (memory.admin.import_(folder).kept, memory.admin.import_(folder).known) == (4, 4)
    texts = sorted(record.text for record in memory.list())
    assert texts == ["buy milk", "note", "shopping", "shopping"]


def read_all(path: Path) -> float:
    start = time.perf_counter()
    for file in files_at(path, lambda count: None):
        assert b"".join(file.chunks()) == b"text\n"
    return time.perf_counter() - start


@pytest.mark.timing
def test_an_archive_is_read_as_fast_as_a_folder(tmp_path: Path) -> None:
    """Its list of members was read again for each of them."""
    folder, archive = tmp_path / "notes", tmp_path / "notes.zip"
    folder.mkdir()
    with zipfile.ZipFile(archive, "w") as made:
        for number in range(600):
            (folder / f"{number}.md").write_text("text\n", "utf-8")
            made.writestr(f"{number}.md", "text\n")
    read_all(folder)
    assert read_all(archive) < 25 * read_all(folder)


def test_an_archive_that_unpacks_to_too_much_is_refused(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_files, "_ARCHIVE_MAX_BYTES", 1_000_000)
    file = tmp_path / "bomb.zip"
    for size in (300_000, 400_000):
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
            for number in range(3):
                made.writestr(f"{number}.md", b"x " * (size // 2))
        if size == 300_000:
            memory.admin.import_(file, dry_run=True)
    with pytest.raises(LimitExceeded, match="when unpacked"):
        memory.admin.import_(file, dry_run=True)


def blanks(path: Path, count: int, mark: bytes = b" ") -> Path:
    """An archive of a ChatGPT export that is almost all blanks, which pack a thousandfold."""
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("conversations.json", "w") as file,
    ):
        file.write(b'[{"mapping":{}}')
        for _ in range(count):
            file.write(mark * (1 << 20))
        file.write(b"]")
    return path


@pytest.mark.parametrize("mark", [b" ", b"\n", b"x"])
def test_an_archive_of_blanks_is_refused(memory: Memory, tmp_path: Path, mark: bytes) -> None:
    path = blanks(tmp_path / "bomb.zip", 128, mark)
    assert path.stat().st_size < 200_000
    with pytest.raises(LimitExceeded, match="times as large"):
        memory.admin.import_(path, "chatgpt")


def lines_run(work: Callable[[], object]) -> int:
    """How many lines of Python some work takes, however fast the machine is."""
    count = 0

    def trace(frame: FrameType, event: str, arg: object) -> object:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()  # coverage is measured by another one
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def test_blanks_are_passed_over_at_once() -> None:
    """The second form: a document that is not packed. A line for each blank would be 16 million."""
    chunks = [b"[1,", *[b" \n" * (1 << 17)] * 64, b"2]"]
    found = list[tuple[str | None, object]]()
    assert lines_run(lambda: found.extend(elements(iter(chunks)))) < 10_000
    assert [value for _, value in found] == [1, 2]


def test_control_a_line_for_each_blank_is_found_out() -> None:
    def slowly() -> None:
        at, text = 0, " " * 20_000
        while at < len(text):
            at += 1

    assert lines_run(slowly) > 10_000


def test_what_is_not_a_file_does_not_block(memory: Memory, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInput, match="not a regular file"):
        memory.admin.import_(tmp_path / "pipe")


COLUMNS = "id, scope_key, content, timestamp, metadata"
NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)"
BOMBS = {
    "a view that makes rows": f"CREATE VIEW episodes AS {NUMBERS} SELECT i AS id, 's' AS scope_key,"
    """ '{"content": "x"}' AS content, i AS timestamp, '{}' AS metadata FROM n""",
    "a column that makes bytes": "CREATE TABLE episodes(id, scope_key, timestamp, metadata, content"
    " GENERATED ALWAYS AS (zeroblob(900000000)))",
    "a virtual table": f"CREATE VIRTUAL TABLE episodes USING fts5({COLUMNS})",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_what_a_database_computes_is_not_read(bomb: str, memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "bomb.db"
    with sqlite3.connect(file) as made:
        made.execute(BOMBS[bomb])
    made.close()
    done = memory.admin.import_(file, "stargraph")
    assert (done.kept, done.refused) == (0, 1)
    assert done.problems[0].why == "it has no table of episodes"


def test_a_table_of_episodes_is_read(memory: Memory, tmp_path: Path) -> None:
    """The control of the tests above."""
    file = tmp_path / "good.db"
    with sqlite3.connect(file) as made:
        made.execute(f"CREATE TABLE Episodes({COLUMNS})")
        row = ("1", "s", '{"content": "Tea is green"}', "2026-01-01", "{}")
        made.execute("INSERT INTO Episodes VALUES (?, ?, ?, ?, ?)", row)
    made.close()
    assert memory.admin.import_(file).kept == 1


def test_a_table_that_repeats_its_rows_is_read_once(memory: Memory, tmp_path: Path) -> None:
    """Every entry of its root leads to the same page, so it has more rows than the file can."""
    file, size, times = tmp_path / "loop.db", 512, 60
    with sqlite3.connect(file) as made:
        made.execute(f"PRAGMA page_size = {size}")
        made.execute(f"CREATE TABLE episodes({COLUMNS})")
        row = ("1", "s", f'{{"content": "{"x" * 300}"}}', "t", "{}")
        made.execute("INSERT INTO episodes VALUES (?, ?, ?, ?, ?)", row)
    made.close()
    schema, leaf = file.read_bytes()[:size], file.read_bytes()[size : 2 * size]
    cells = [(3).to_bytes(4, "big") + bytes([number + 1]) for number in range(times)]
    starts = [size - 5 * (number + 1) for number in range(times)]
    head = b"\x05\0\0" + times.to_bytes(2, "big") + starts[-1].to_bytes(2, "big") + b"\0"
    root = head + (3).to_bytes(4, "big") + b"".join(start.to_bytes(2, "big") for start in starts)
    root = root.ljust(starts[-1], b"\0") + b"".join(reversed(cells))
    file.write_bytes(schema[:28] + (3).to_bytes(4, "big") + schema[32:] + root + leaf)
    done = memory.admin.import_(file, "stargraph", dry_run=True)
    assert 0 < done.kept < 6
    assert "repeats its rows" in done.problems[-1].why
