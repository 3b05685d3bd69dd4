"""A crash while vectors are added leaves what was there before, or all of it, or nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.finding.vectors import Leg, catch_up
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.store.files import vector_file
from recollect.store.files.space import FileSpace
from recollect.store.seam import Seam
from recollect.testing.embedders import WordEmbedder
from recollect.testing.vector_suite import everything

EMBEDDER = WordEmbedder()
QUERY = EMBEDDER.embed_query("coffee number 3")
State = list[tuple[int, float]]


class Recorder(Seam):
    """Notes the writes to vector files, and where they were synced."""

    def __init__(self) -> None:
        self.log: list[tuple[bytes, int] | None] = []  # bytes and their offset; None is a sync
        self.on = False

    def pwrite(self, fd: int, data: bytes | memoryview, offset: int) -> int:
        taken = super().pwrite(fd, data, offset)
        if self.on:
            self.log.append((bytes(data[:taken]), offset))
        return taken

    def fsync(self, fd: int) -> None:
        super().fsync(fd)
        if self.on:
            self.log.append(None)


class Forgetful(Recorder):
    """The control: a sync that does nothing."""

    def fsync(self, fd: int) -> None:
        """Says it is done."""


def opened(folder: Path, seam: Seam) -> tuple[Memory, Leg]:
    space = FileSpace(folder, "main", create=True, seam=seam)
    vectors = space.vectors(EMBEDDER.name, EMBEDDER.dimensions)
    return Memory(Handle(space)), Leg(EMBEDDER, vectors)


def torn(data: bytes) -> Iterator[bytes]:
    """What a disk may keep of bytes that were on their way."""
    for end in sorted({0, 1, 7, 8, 9, 40, 100, 300, 511, 512, 4_096, len(data) - 1, len(data)}):
        if 0 <= end <= len(data):
            yield data[:end]
            yield data[:end] + bytes(len(data) - end)


def states(before: bytes, log: list[tuple[bytes, int] | None]) -> Iterator[bytes]:
    """Every prefix of the synced writes, with any one of the others missing or torn."""
    for stop in range(len(log) + 1):
        done = log[:stop]
        last_sync = max((n for n, op in enumerate(done) if op is None), default=-1)
        sure = [op for op in done[:last_sync] if op is not None]
        loose = [op for op in done[last_sync + 1 :] if op is not None]
        for spoiled in range(max(1, len(loose))):
            for kept in torn(loose[spoiled][0]) if loose else [b""]:
                ops = [*sure, *loose]
                if loose:
                    ops[len(sure) + spoiled] = (kept, loose[spoiled][1])
                yield applied(before, ops)


def applied(before: bytes, ops: list[tuple[bytes, int]]) -> bytes:
    found = bytearray(before)
    for data, offset in ops:
        found.extend(bytes(max(0, offset + len(data) - len(found))))
        found[offset : offset + len(data)] = data
    return bytes(found)


def seen(folder: Path, data: bytes) -> State:
    """What the next process finds after the crash."""
    (path,) = vector_file.files(folder)
    fresh = path.with_suffix(".tmp")
    fresh.write_bytes(data)
    fresh.replace(path)
    memory, leg = opened(folder, Seam())
    found = leg.vectors.best(QUERY, 100, everything)
    memory.close()
    return found


def crashed(folder: Path, seam: Recorder) -> tuple[int, list[State]]:
    """How many states there are after an interrupted add, and those that are wrong."""
    memory, leg = opened(folder, seam)
    for number in range(4):
        memory.observe(f"coffee number {number}\nand bread")
    catch_up(memory._handle.space, leg)
    (path,) = vector_file.files(folder)
    before, old = path.read_bytes(), leg.vectors.best(QUERY, 100, everything)
    for number in range(6):
        memory.observe(f"coffee number {number}\nor tea")
    seam.on = True
    catch_up(memory._handle.space, leg)
    seam.on = False
    new = leg.vectors.best(QUERY, 100, everything)
    memory.close()
    assert len(new) > len(old) > 0
    found = [seen(folder, data) for data in {*states(before, seam.log)}]
    assert old in found
    assert new in found
    return len(found), [state for state in found if state not in (old, new, [])]


def test_an_interrupted_add_leaves_the_old_or_the_new_or_nothing(tmp_path: Path) -> None:
    count, wrong = crashed(tmp_path, Recorder())
    assert count > 20
    assert wrong == []


def test_control_without_the_sync_there_are_wrong_answers(tmp_path: Path) -> None:
    _, wrong = crashed(tmp_path, Forgetful())
    assert wrong


@pytest.mark.parametrize("deleted", ["vectors", "index.db"])
def test_after_a_crash_everything_is_made_again(tmp_path: Path, deleted: str) -> None:
    crashed(tmp_path, Recorder())
    path = tmp_path / deleted
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    memory, leg = opened(tmp_path, Seam())
    assert catch_up(memory._handle.space, leg).missing == 0
    assert len(leg.vectors.best(QUERY, 100, everything)) == 10
    memory.close()
