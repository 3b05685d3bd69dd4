"""The vectors of files and of memory, through the one suite; and what only files can suffer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recollect.finding.vectors import Leg, catch_up
from recollect.index.reads import Reads
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.store.files import vector_file
from recollect.store.files.backend import FileBackend
from recollect.store.files.vector_file import Header
from recollect.store.indexed.backend import MemoryBackend
from recollect.store.port import Backend
from recollect.store.seam import REAL
from recollect.testing.embedders import WordEmbedder
from recollect.testing.vector_suite import VectorSuite, everything, numbers

EMBEDDER = WordEmbedder()


class TestFiles(VectorSuite):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> Iterator[Backend]:
        backend = FileBackend(tmp_path / "workspace")
        yield backend
        backend.close()


class TestMemory(VectorSuite):
    @pytest.fixture
    def backend(self) -> Iterator[Backend]:
        backend = MemoryBackend()
        yield backend
        backend.close()


class Files:
    """A workspace with vectors, opened as another process would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.backend = FileBackend(folder)
        self.space = self.backend.space("main", create=True)
        self.memory = Memory(Handle(self.space))
        self.leg = Leg(EMBEDDER, self.space.vectors(EMBEDDER.name, EMBEDDER.dimensions))

    @property
    def path(self) -> Path:
        (path,) = vector_file.files(self.folder)
        return path

    def found(self, question: str = "coffee") -> list[tuple[int, float]]:
        return self.leg.vectors.best(EMBEDDER.embed_query(question), 50, everything)


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Files]:
    made = Files(tmp_path / "workspace")
    for number in range(20):
        made.memory.observe(f"coffee number {number}\nand bread")
    catch_up(made.space, made.leg)
    yield made
    made.backend.close()


def again(files: Files) -> Files:
    return Files(files.folder)


def test_another_process_sees_what_is_added_and_shares_it(files: Files) -> None:
    other = again(files)
    assert other.found() == files.found()
    files.memory.observe("coffee")
    catch_up(files.space, files.leg)
    assert len(other.found()) == 21
    assert other.found() == files.found()
    assert catch_up(other.space, other.leg).texts == 0


def test_the_folder_can_be_deleted_at_any_moment(files: Files) -> None:
    before = files.found()
    shutil.rmtree(files.folder / "vectors")
    assert files.leg.vectors.through() == 0
    assert files.found() == []
    assert catch_up(files.space, files.leg).texts == 20
    assert files.found() == before


@pytest.mark.timing
def test_opening_reads_no_row(files: Files) -> None:
    """A file with a billion rows, all of them a hole, opens as any other."""
    with vector_file.locked(REAL, files.path) as fd:
        header = vector_file.read_header(fd)
        assert header is not None
        huge = Header(1, header.name, header.dimensions, 10**9, header.through, header.mark)
        os.ftruncate(fd, 512 + huge.rows * huge.row_bytes)
        vector_file.append(REAL, fd, header, b"", huge)
    began = time.process_time()
    other = again(files)
    assert other.leg.vectors.through() == header.through
    assert catch_up(other.space, other.leg).texts == 0
    assert time.process_time() - began < 2


def spoil_header(path: Path) -> None:
    with open(path, "r+b") as file:
        file.seek(20)
        file.write(b"x")


def cut_short(path: Path) -> None:
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size - 1)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def other_bytes(path: Path) -> None:
    path.write_bytes(os.urandom(5_000))


def of_another_embedder(path: Path) -> None:
    other = vector_file.fresh("something else", EMBEDDER.dimensions)
    with vector_file.locked(REAL, path) as fd:
        vector_file.append(REAL, fd, other, b"", other)


@pytest.mark.parametrize(
    "spoil", [spoil_header, cut_short, empty, other_bytes, of_another_embedder]
)
def test_a_torn_or_foreign_file_is_ignored_and_rebuilt(
    files: Files, spoil: Callable[[Path], None]
) -> None:
    before = files.found()
    files.backend.close()
    spoil(files.path)
    other = again(files)
    assert other.leg.vectors.through() == 0
    assert other.found() == []
    assert [f.what for f in other.memory.admin.doctor() if f.level == "note"] == ["vectors"]
    assert catch_up(other.space, other.leg).missing == 0
    assert other.found() == before
    assert [f.level for f in other.memory.admin.doctor() if f.what == "vectors"] == ["ok"]


def test_rows_that_no_header_counts_are_not_there(files: Files) -> None:
    """As after a crash between the rows and the header."""
    before = files.found()
    with open(files.path, "ab") as file:
        file.write(b"\x01" * 700)
    assert again(files).found() == before
    files.memory.observe("coffee")
    catch_up(files.space, files.leg)
    assert len(again(files).found()) == len(before) + 1


def test_the_vectors_of_another_history_are_not_taken(files: Files, tmp_path: Path) -> None:
    """An older ledger in the place of a newer one: its next texts get numbers that were taken."""
    backup = files.memory.admin.backup(tmp_path / "copy")
    for number in range(5):
        files.memory.observe(f"coffee and a secret {number}")
    catch_up(files.space, files.leg)
    files.backend.close()
    for name in ("events.wal", "index.db", "index.db-wal", "index.db-shm"):
        (files.folder / name).unlink(missing_ok=True)
    shutil.copy(Path(backup.path) / "events.wal", files.folder / "events.wal")
    other = again(files)
    for number in range(9):
        other.memory.observe(f"rain {number}")
    assert other.leg.vectors.through() == 0
    assert catch_up(other.space, other.leg).texts == 29
    assert len(other.found("rain")) == 29
    fresh = set(numbers(other.space)[20:])
    near = [seq for seq, score in other.found("rain") if score > 0.5]
    assert set(near) == fresh


def test_an_accepted_loss_takes_the_vectors_away(files: Files) -> None:
    path = files.path
    files.backend.close()
    ledger = files.folder / "events.wal"
    ledger.write_bytes(ledger.read_bytes()[:-400])
    other = again(files)
    other.memory.admin.accept_loss(reason="a test")
    assert not path.exists()


def test_a_doctor_notes_vectors_beyond_the_ledger(files: Files) -> None:
    with vector_file.locked(REAL, files.path) as fd:
        header = vector_file.read_header(fd)
        assert header is not None
        ahead = vector_file.Header(1, header.name, header.dimensions, header.rows, 10_000, "x")
        vector_file.append(REAL, fd, header, b"", ahead)
    (found,) = (f for f in files.memory.admin.doctor() if f.what == "vectors")
    assert found.level == "note"
    assert "10,000" in found.detail


# --- erasing


def holds(folder: Path, data: bytes) -> list[str]:
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and data in path.read_bytes()
    ]


@pytest.fixture
def secret(files: Files) -> tuple[str, bytes]:
    text = "the wedding is secretly in June"
    id = files.memory.observe(text)[0].id
    files.memory.observe("coffee again")
    catch_up(files.space, files.leg)
    return id, EMBEDDER.embed([text]).astype("<f4").tobytes()


def test_no_byte_of_an_erased_texts_vectors_is_left(
    files: Files, secret: tuple[str, bytes]
) -> None:
    id, data = secret
    static = WordEmbedder("another", 32)
    more = Leg(static, files.space.vectors(static.name, static.dimensions))
    catch_up(files.space, more)
    other = static.embed(["the wedding is secretly in June"]).astype("<f4").tobytes()
    assert len(holds(files.folder, data)) == len(holds(files.folder, other)) == 1
    watching = again(files)
    before = {seq: score for seq, score in watching.found() if score > 0}
    report = files.memory.erase(id)
    assert "vectors/: the rows in 2 files" in report.places
    assert holds(files.folder, data) == holds(files.folder, other) == []
    assert {seq: score for seq, score in watching.found() if score > 0} == before
    rows = watching.leg.vectors.scores(
        EMBEDDER.embed_query("the wedding is secretly in June"), report.events
    )
    assert not any(rows.values())


def test_control_without_the_blanking_they_are_found(
    files: Files, secret: tuple[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    id, data = secret
    monkeypatch.setattr(vector_file, "blank", lambda seam, folder, seqs: (0, []))
    files.memory.erase(id)
    assert holds(files.folder, data) == [f"vectors/{files.path.name}"]


def test_rows_that_never_counted_go_with_an_erasure(
    files: Files, secret: tuple[str, bytes]
) -> None:
    id, _ = secret
    with open(files.path, "ab") as file:
        file.write(b"never counted" * 100)
    files.memory.erase(id)
    assert holds(files.folder, b"never counted") == []


def test_an_erasure_cleans_without_numpy(files: Files, secret: tuple[str, bytes]) -> None:
    id, data = secret
    files.backend.close()
    script = (
        "import sys\nsys.modules['numpy'] = None\nfrom recollect import Memory\n"
        f"Memory.open({str(files.folder)!r}).erase({id!r})\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
    assert holds(files.folder, data) == []


def test_an_erasure_that_was_interrupted_is_finished_for_vectors_too(
    files: Files, secret: tuple[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    id, data = secret

    class Stopped(Exception):
        pass

    def stop(*_: object) -> None:
        raise Stopped

    with monkeypatch.context() as patched:
        patched.setattr(vector_file, "blank", stop)
        with pytest.raises(Stopped):
            files.memory.erase(id)
    assert len(holds(files.folder, data)) == 1
    files.backend.close()
    again(files).memory.remember("the next write finishes it")
    assert holds(files.folder, data) == []


def test_a_backup_holds_no_vectors(files: Files, secret: tuple[str, bytes]) -> None:
    files.memory.admin.backup()
    assert list((files.folder / "backup").rglob("*.vec")) == []
    assert holds(files.folder / "backup", secret[1]) == []


def test_control_who_does_not_look_for_erasures_keeps_an_erased_text(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Reads, "erased_between", lambda *_: set())
    text = "the wedding is secretly in June"
    gone = files.memory.observe(text)[0]
    after, through = files.leg.vectors.through(), files.space.head().seq
    row = EMBEDDER.embed([text])
    files.memory.erase(gone.id)
    files.leg.vectors.add(after, through, [(through, row)])
    assert holds(files.folder, row.astype("<f4").tobytes()) == [f"vectors/{files.path.name}"]


# --- several processes

WORKER = """
import sys
from recollect.memory import Memory
from recollect.finding.vectors import Leg, catch_up
from recollect.store.files.vector_file import Header
from recollect.store.files.backend import FileBackend
from recollect.testing.embedders import WordEmbedder
embedder = WordEmbedder()
space = FileBackend(__import__('pathlib').Path(sys.argv[1])).space('main', create=False)
vectors = space.vectors(embedder.name, embedder.dimensions)
sys.stdin.readline()
catch_up(space, Leg(embedder, vectors))
"""


def test_three_processes_that_encode_at_once_agree(tmp_path: Path) -> None:
    made = Files(tmp_path / "workspace")
    with made.memory.batch() as batch:
        for number in range(3_000):
            batch.observe(f"coffee number {number}\nand bread {number % 7}")
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(made.folder)], stdin=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for worker in workers:
        worker.communicate(timeout=60)
        assert worker.returncode == 0
    with open(made.path, "rb") as file:
        header = vector_file.read_header(file.fileno())
    assert header is not None
    assert header.rows == 6_000
    texts = numbers(made.space)
    scores = made.leg.vectors.scores(EMBEDDER.embed_query("coffee"), texts)
    assert list(scores) == texts
    alone = Files(tmp_path / "alone")
    made.memory.admin.copy_to(alone.memory)
    catch_up(alone.space, alone.leg)
    assert alone.path.read_bytes()[512:] == made.path.read_bytes()[512:]
    for each in (made, alone):
        each.backend.close()
