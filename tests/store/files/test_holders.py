"""An idle process keeps old files open: the report names it, and its next call lets go."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from recollect import Memory
from recollect.store.files.copies import holders

WORD = "Vrélqomůdabigozk"
NEIGHBOUR = """
import sys
from recollect import Memory
memory = Memory.open(sys.argv[1])
print(len(memory.recall("word").hits), flush=True)
for line in sys.stdin:
    print(len(memory.list()), flush=True)
"""

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="there is no /proc")


@contextmanager
def neighbour(where: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has read the memory and waits."""
    child = subprocess.Popen(
        [sys.executable, "-c", NEIGHBOUR, str(where)],
        env={**os.environ, "RECOLLECT_EMBEDDER": "none"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "1\n"
        yield child
    finally:
        child.kill()
        child.communicate()


def held(pid: int) -> set[str]:
    """The names of the old files in which a process could still read the word."""
    found: set[str] = set()
    for number in os.listdir(f"/proc/{pid}/fd"):
        path = Path(f"/proc/{pid}/fd/{number}")
        with suppress(FileNotFoundError):  # what listing them opened
            name = Path(os.readlink(path)).name
            is_old = name.endswith(" (deleted)") and name.startswith(("events.wal", "index.db"))
            if is_old and WORD.encode() in path.read_bytes():
                found.add(name.partition(" ")[0])
    return found


def test_an_idle_reader_is_named_and_lets_go_at_its_next_call(tmp_path: Path) -> None:
    with Memory.open(tmp_path) as memory:
        record = memory.remember(f"The word is {WORD}")
        with neighbour(tmp_path) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            places = memory.erase(record.id).places
            assert held(child.pid)  # the control: it could still read the word
            assert [
                place
                for place in places
                if place.startswith(f"NOT cleaned: process {child.pid} (python")
            ]
            child.stdin.write("look\n")
            child.stdin.flush()
            assert child.stdout.readline() == "0\n"
            assert held(child.pid) == set()


def test_without_other_processes_none_is_named(tmp_path: Path) -> None:
    with Memory.open(tmp_path) as memory:
        record = memory.remember(f"The word is {WORD}")
        places = memory.erase(record.id).places
    assert "other processes: none of yours has an old file open" in places
    assert [place for place in places if place.startswith("NOT")] == []


def test_another_handle_of_this_process_is_named_too(tmp_path: Path) -> None:
    with Memory.open(tmp_path) as memory, Memory.open(tmp_path) as other:
        record = memory.remember(f"The word is {WORD}")
        other.list()
        places = memory.erase(record.id).places
        assert [place for place in places if f"process {os.getpid()} " in place]
        other.list()
        assert held(os.getpid()) == set()


def test_without_proc_the_report_says_that_it_does_not_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holders, "_PROCESSES", tmp_path)
    assert holders.told(holders.OldFiles((), frozenset()))[0].startswith("NOT known")


def test_a_deleted_file_of_another_folder_is_not_an_old_one(tmp_path: Path) -> None:
    """The system gives its number to a new file as soon as an old one is gone."""
    for name in ("here", "elsewhere"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "events.wal").write_text("old")
    with (tmp_path / "elsewhere" / "events.wal").open() as held_open:
        old = holders.files_of(tmp_path / "elsewhere")
        (tmp_path / "elsewhere" / "events.wal").unlink()
        mine = f"NOT cleaned: process {os.getpid()} "
        assert holders.told(old)[0].startswith(mine)  # the control
        other = old._replace(folders=(str(tmp_path / "here"),))
        assert not any(line.startswith(mine) for line in holders.told(other))
        assert not held_open.closed
