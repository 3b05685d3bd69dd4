"""The example of an engine passes the published suites, and keeps what its page promises."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, nullcontext
from pathlib import Path

import pytest

from recollect.config import load
from recollect.errors import ConfigError, NotFound, RecollectError, Unavailable
from recollect.memory import Memory, Store
from recollect.memory.handle.handle import Handle
from recollect.model.events import Head
from recollect.store.engines import Opening
from recollect.store.indexed.ledger import Erased, Meanwhile
from recollect.store.keys.subject_keys import MemoryKeys
from recollect.store.port import Backend, Space
from recollect.store.seam import REAL
from recollect.testing.admins_suite import AdminsSuite
from recollect.testing.checkpoint_suite import CheckpointSuite
from recollect.testing.clock_suite import ClockSuite
from recollect.testing.jobs_suite import JobsSuite
from recollect.testing.rebuilding import rebuilt_digest
from recollect.testing.seams import FixedSeam
from recollect.testing.shared_suite import SharedSuite
from recollect.testing.store_suite import StoreSuite
from recollect.testing.tokens_suite import EnteredSuite, TokensSuite
from recollect.testing.vector_suite import VectorSuite
from recollect_one_file import File, FileLedger, open_file


def opening(folder: Path) -> Opening:
    """What the door gives to an engine, with keys that end with the process."""
    made: dict[str, MemoryKeys] = {}
    return Opening(
        where=f"sqlite://{folder / 'place.db'}",
        keys=lambda ledger: made.setdefault(ledger, MemoryKeys(REAL)),
    )


class InOneFile:
    """The engine on a file of its own."""

    @pytest.fixture
    def backend(self, tmp_path: Path) -> Iterator[Backend]:
        with closing(open_file(opening(tmp_path))) as backend:
            yield backend

    @pytest.fixture
    def store(self, backend: Backend) -> Store:
        return Store(backend, load(":memory:", embedder="none"))


class TestStore(InOneFile, StoreSuite):
    """The port."""


class TestShared(SharedSuite):
    """Several that have the file open."""

    @pytest.fixture
    def opened(self, tmp_path: Path) -> Iterator[Callable[[], Backend]]:
        with ExitStack() as stack:
            yield lambda: stack.enter_context(closing(open_file(opening(tmp_path))))


class TestVectors(InOneFile, VectorSuite):
    """Vectors, kept in the file."""


class TestCheckpoints(InOneFile, CheckpointSuite):
    """Signed notes, kept in the file."""


class TestTokens(InOneFile, TokensSuite, EnteredSuite, AdminsSuite):
    """Tokens, and what they open."""


class TestJobs(InOneFile, JobsSuite):
    """Background work, kept beside the file."""


class TestClock(ClockSuite):
    """A clock that may be wrong."""

    @pytest.fixture
    def opened(self, seam: FixedSeam, tmp_path: Path) -> Iterator[Callable[[], Memory]]:
        asked = Opening(where=f"sqlite://{tmp_path / 'place.db'}", seam=seam)
        with closing(open_file(asked)) as backend:
            yield lambda: Memory(Handle(backend.space("main", create=True), seam))


def memory_of(backend: Backend, name: str = "main") -> Memory:
    return Memory(Handle(backend.space(name, create=True)))


# --- what the file is


def test_looking_makes_no_file(tmp_path: Path) -> None:
    with closing(open_file(opening(tmp_path))) as backend:
        assert (backend.spaces(), backend.dropped(), backend.tokens().list()) == ([], [], [])
        assert backend.heads(["main"]) == {}
        with pytest.raises(NotFound):
            backend.space("main", create=False).head()
    assert [*tmp_path.iterdir()] == []


def test_only_its_owner_can_read_the_file(tmp_path: Path) -> None:
    with closing(open_file(opening(tmp_path))) as backend:
        memory_of(backend).remember("Tea is at four.")
    (file,) = tmp_path.iterdir()  # nothing else is left beside it
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_database_of_another_program_is_refused_and_not_changed(tmp_path: Path) -> None:
    file = tmp_path / "place.db"
    with closing(sqlite3.connect(file)) as other:
        other.execute("CREATE TABLE theirs (a)")
    before = file.read_bytes()
    with (
        closing(open_file(opening(tmp_path))) as backend,
        pytest.raises(ConfigError, match="another program"),
    ):
        memory_of(backend).remember("Tea is at four.")
    assert file.read_bytes() == before


def test_what_is_not_a_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "place.db").write_text("tea " * 100)
    with closing(open_file(opening(tmp_path))) as backend, pytest.raises(Unavailable):
        backend.spaces()


def test_an_address_without_a_file_is_refused() -> None:
    with pytest.raises(ConfigError, match="does not name a file"):
        open_file(Opening(where="sqlite://"))


def test_erased_words_are_not_in_the_file_any_more(tmp_path: Path) -> None:
    file = tmp_path / "place.db"
    with closing(open_file(opening(tmp_path))) as backend:
        memory = memory_of(backend)
        kept = memory.remember("Tea is at four.")
        gone = memory.remember("The word is zanzibar. " + "It is long. " * 2_000)
        assert b"zanzibar" in file.read_bytes()  # the control
        report = memory.erase(gone.id)
        assert b"zanzibar" not in file.read_bytes()
        assert any(place.startswith("NOT known") for place in report.places)
        assert memory.admin.verify().ok
        assert rebuilt_digest(memory.admin) == memory.admin.digest()
        assert memory.get(kept.id).text == "Tea is at four."


def test_a_subject_is_encrypted_and_erased_by_its_key(tmp_path: Path) -> None:
    file = tmp_path / "place.db"
    with closing(open_file(opening(tmp_path))) as backend:
        memory = memory_of(backend)
        memory.settings.set_subjects("users")
        memory.scoped(user="ann").remember("The word is zanzibar.")
        assert b"zanzibar" not in file.read_bytes()
        assert memory.scoped(user="ann").recall("zanzibar").hits
        memory.erase(subject="ann")
        assert not memory.scoped(user="ann").list()
        assert memory.admin.verify().ok


class Forgetful(FileLedger):
    """Control: appends wherever the ledger ends."""

    def append(
        self, before: Head, data: bytes, head: Head, erased: Erased | None, meanwhile: Meanwhile
    ) -> bool:
        with self._file.writing() as db:
            db.execute("UPDATE ledgers SET seq = ?, hash = ?", (before.seq, before.hash))
            db.execute("DELETE FROM lines WHERE seq > ?", (before.seq,))
            return super().append(before, data, head, erased, meanwhile)


class Keeping(FileLedger):
    """Control: erases nothing."""

    def erase(self, lines: Mapping[int, bytes]) -> None:
        pass


@pytest.mark.parametrize(
    ("kind", "test"),
    [
        (FileLedger, SharedSuite.test_what_one_erases_another_answers_with_no_more),
        (Keeping, SharedSuite.test_what_one_erases_another_answers_with_no_more),
        (FileLedger, SharedSuite.test_of_writers_at_one_head_no_one_overwrites_another),
        (Forgetful, SharedSuite.test_of_writers_at_one_head_no_one_overwrites_another),
    ],
)
def test_control_a_faulty_engine_fails_the_suite(
    kind: type[FileLedger],
    test: Callable[[SharedSuite, Space, Space], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("recollect_one_file.FileLedger", kind)
    fails = nullcontext() if kind is FileLedger else pytest.raises((AssertionError, RecollectError))
    with (
        closing(open_file(opening(tmp_path))) as first,
        closing(open_file(opening(tmp_path))) as second,
        fails,
    ):
        one, other = (backend.space("main", create=True) for backend in (first, second))
        assert one.head() == other.head()  # both know the same end of the ledger
        test(SharedSuite(), one, other)


# --- several processes, and some that are killed

_FRONT = """
import os, signal, sys
from pathlib import Path
import recollect_one_file as engine
from recollect.errors import Unavailable
from tests.examples.test_one_file import LazyFile, memory_of, opening

folder = Path(sys.argv[1])
"""
_WRITES = """
name, count, kind = sys.argv[2], int(sys.argv[3]), sys.argv[4]
if kind == "lazy":
    engine.File = LazyFile
backend = engine.open_file(opening(folder))
memory = memory_of(backend)
for number in range(count):
    memory.remember(f"{name} says {number}.", id=f"{name}-{number}")
    print(f"{name}-{number}", flush=True)
if kind == "ends":
    backend.close()
else:
    sys.stdin.read()
"""
_FORKS = """
backend = engine.open_file(opening(folder))
memory_of(backend).remember("Tea is at four.")
child = os.fork()
if child == 0:
    try:
        backend.spaces()
    except Unavailable:
        os._exit(7)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), *backend.spaces())
"""
_DIES = """
with engine.FileLedgers(opening(folder)).file.writing() as db:
    db.execute("UPDATE ledgers SET seq = seq + 1, hash = 'x'")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def started(folder: Path, what: str, *asked: str) -> subprocess.Popen[str]:
    """A process that has the file open."""
    return subprocess.Popen(
        [sys.executable, "-c", _FRONT + what, str(folder), *asked],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


class LazyFile(File):
    """Control: an engine whose appends are on the disk only when it is closed."""

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        with self._turn:
            db = self._opened(create=True)
            if not db.in_transaction:
                db.execute("BEGIN IMMEDIATE")
            yield db


def test_a_forked_child_is_refused(tmp_path: Path) -> None:
    said, _ = started(tmp_path, _FORKS).communicate(timeout=120)
    assert said.split() == ["7", "main"]


def test_processes_that_begin_and_write_at_once_lose_nothing(tmp_path: Path) -> None:
    names = ("ann", "bob", "cleo")
    writers = [started(tmp_path, _WRITES, name, "25", "ends") for name in names]
    said = [one.communicate(timeout=120)[0].split() for one in writers]
    assert [one.returncode for one in writers] == [0, 0, 0]
    wanted = {f"{name}-{number}" for name in names for number in range(25)}
    assert {id for ids in said for id in ids} == wanted
    with closing(open_file(opening(tmp_path))) as backend:
        memory = memory_of(backend)
        assert {record.id for record in memory.list(limit=100)} == wanted
        assert memory.admin.verify().ok
        assert {finding.level for finding in memory.admin.doctor()} == {"ok"}
        assert rebuilt_digest(memory.admin) == memory.admin.digest()


def lost(folder: Path, kind: str) -> set[str]:
    """What a writer that was killed had acknowledged, and what is not there."""
    told = set[str]()
    with started(folder, _WRITES, "ann", "20", kind) as one:
        assert one.stdout is not None
        for line in one.stdout:
            told.add(line.strip())
            if len(told) == 20:
                one.send_signal(signal.SIGKILL)
    assert len(told) == 20
    with closing(open_file(opening(folder))) as backend:
        memory = memory_of(backend)
        assert memory.admin.verify().ok
        memory.remember("It goes on.")
        return told - {record.id for record in memory.list(limit=100)}


def test_what_was_acknowledged_outlives_a_killed_process(tmp_path: Path) -> None:
    assert lost(tmp_path, "waits") == set()


def test_control_what_is_acknowledged_before_the_commit_is_lost(tmp_path: Path) -> None:
    assert len(lost(tmp_path, "lazy")) == 20


def test_an_append_that_was_interrupted_has_not_happened(tmp_path: Path) -> None:
    """Killed inside the transaction, between the head and the lines."""
    with closing(open_file(opening(tmp_path))) as backend:
        memory = memory_of(backend)
        memory.remember("Tea is at four.", id="tea")
        before, head = memory.admin.digest(), memory.events.position
    with started(tmp_path, _DIES) as one:
        pass
    assert one.returncode == -signal.SIGKILL
    with closing(open_file(opening(tmp_path))) as backend:
        memory = memory_of(backend)
        assert (memory.admin.digest(), memory.events.position) == (before, head)
        assert memory.admin.verify().ok
