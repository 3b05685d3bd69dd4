"""A signed memory on a server: notes of each space, who may write them, how they are carried."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from recollect import Store
from recollect.config import keys_folder
from recollect.errors import Forbidden, NotFound
from recollect.interfaces.cli import main
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.memory.keys import Keys
from recollect.store.checkpoints import checkpoints
from recollect.store.port import Backend
from recollect.store.postgres.ledger import PostgresCheckpoints
from recollect.store.postgres.ledgers import PostgresBackend
from recollect.store.postgres.pool import Pool
from recollect.testing.checkpoint_suite import CheckpointSuite
from tests.postgres.conftest import as_address, drop_space, wait_for_lock

WRITES = ("read", "write")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def backend(database: str) -> Iterator[Backend]:
    backend = PostgresBackend(database)
    yield backend
    backend.close()


class TestPostgres(CheckpointSuite):
    @pytest.fixture
    def backend(self, database: str) -> Iterator[Backend]:
        backend = PostgresBackend(database)
        yield backend
        backend.close()


@pytest.fixture
def shared(backend: Backend) -> Memory:
    return Memory(Handle(backend.space("main", create=True)))


@pytest.fixture
def notes(pool: Pool) -> PostgresCheckpoints:
    return checkpoints_of(pool, "alice")


def checkpoints_of(pool: Pool, name: str) -> PostgresCheckpoints:
    """The notes of a space that has nothing else."""
    pool.ask("make_space", {"name": name})
    with pool.connection() as connection:
        found = connection.execute("SELECT id FROM recollect.spaces WHERE name = %s", (name,))
        ((id,),) = found.fetchall()
    return PostgresCheckpoints(pool, lambda: id)


def test_the_frontier_is_not_a_note(notes: PostgresCheckpoints, pool: Pool) -> None:
    assert (notes.sizes(), notes.frontier()) == ([], None)
    notes.keep_frontier(b"{}")
    for size, note in ((12, b"twelve"), (2, b"two"), (2, b"\x00again")):
        notes.keep(size, note)
    assert (notes.sizes(), notes.note(2), notes.frontier()) == ([2, 12], b"\x00again", b"{}")
    for size in (0, -1, 3):
        with pytest.raises(NotFound, match=f"no checkpoint was signed at {size} events"):
            notes.note(size)
    other = checkpoints_of(pool, "bob")
    assert (other.sizes(), other.frontier()) == ([], None)


def test_no_note_is_kept_for_a_space_that_was_dropped(
    notes: PostgresCheckpoints, pool: Pool, database: str
) -> None:
    with psycopg.connect(database) as dropping, ThreadPoolExecutor(1) as threads:
        drop_space(dropping, "alice")
        late = threads.submit(notes.keep, 2, b"two")
        wait_for_lock(pool)
        dropping.commit()
        with pytest.raises(NotFound, match="dropped"):
            late.result(timeout=30)
    notes.keep_frontier(b"{}")
    assert (notes.sizes(), notes.frontier()) == ([], None)


def signed(memory: Memory) -> str:
    """A note of this memory, whose key is created."""
    memory.remember("Alice sits in 14C.")
    Keys(memory).create()
    return memory.proof.checkpoint().note


def sizes(memory: Memory) -> list[int]:
    return memory._handle.space.checkpoints().sizes()


def test_a_memory_on_a_server_is_signed_and_compared(
    shared: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = signed(shared)
    report = shared.admin.verify()
    assert (report.status, report.anchored_through) == ("anchored", 2)
    assert shared._handle.space.checkpoints().note(2).decode() == note
    shared.remember("More.")
    assert shared.admin.seal().checkpoint == 4
    assert sizes(shared) == [2, 4]
    monkeypatch.delattr(checkpoints, "_from_start")  # from here on, the frontier must serve
    shared.erase(shared.list()[0].id)
    assert shared.proof.checkpoint().size == shared.status().seq
    assert shared.admin.verify(anchor=note).status == "anchored"
    with pytest.raises(NotFound, match="no checkpoint was signed at 3 events"):
        shared._handle.space.checkpoints().note(3)


def test_the_command_line_signs_on_a_server(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ["--store", as_address(database), "--space", "main"]
    assert main([*store, "remember", "Alice sits in 14C."]) == 0
    assert main([*store, "proof", "key", "create"]) == 0
    assert main([*store, "proof", "checkpoint"]) == 0
    assert "Signed 2 events" in capsys.readouterr().out
    assert main([*store, "admin", "verify", "--anchored"]) == 0


def test_a_ledger_that_was_rewritten_on_the_server_is_found(shared: Memory, database: str) -> None:
    signed(shared)
    shared.remember("More.")
    shared.proof.checkpoint()
    with psycopg.connect(database, autocommit=True) as owner:  # cut, with its checkpoints
        owner.execute("ALTER TABLE recollect.events DISABLE TRIGGER USER")
        owner.execute("DELETE FROM recollect.events WHERE seq = 3")
        owner.execute("DELETE FROM recollect.checkpoints WHERE size = 3")
        owner.execute(
            "UPDATE recollect.spaces SET seq = 2, hash = (SELECT substring(encode(line, 'escape')"
            ' FROM \'"hash":"([0-9a-f]{64})"\') FROM recollect.events WHERE seq = 2)'
        )
    shared.admin.rebuild()
    report = shared.admin.verify()
    assert (report.status, report.broken_at) == ("broken", 3)
    for kept in (*keys_folder().glob("*.note"), *keys_folder().glob("*.head")):
        kept.unlink()
    assert shared.admin.verify().status == "self-consistent"  # control: nothing is kept elsewhere


def test_push_pull_and_backups_carry_notes_both_ways(shared: Memory, tmp_path: Path) -> None:
    with Memory.open(tmp_path / "w", embedder="none") as memory:
        note = signed(memory)
        assert memory.admin.copy_to(shared).checkpoints == 1
        assert shared.admin.verify().status == "anchored"
        shared.remember("More.")
        shared.proof.checkpoint()
        assert shared.admin.verify(anchor=note).anchored_through == 3
        backup = Path(shared.admin.backup(tmp_path / "copy").path)
        assert sorted(path.name for path in (backup / "checkpoints").iterdir()) == [
            "2.note",
            "3.note",
        ]
        done = shared.admin.copy_to(memory)
        assert (done.events, done.checkpoints, sizes(memory)) == (1, 1, [2, 3])
        Keys(memory).rotate()  # the note of 3 gets a second signature
        assert memory.admin.copy_to(shared).checkpoints == 1
        assert shared._handle.space.checkpoints().note(3).count("\u2014".encode()) == 2
        assert shared.admin.copy_to(memory).checkpoints == 0
    with Store.restore_backup(tmp_path / "copy", tmp_path / "new") as restored:
        assert restored.admin.verify().status == "anchored"


def test_notes_that_do_not_fit_are_left_behind(
    shared: Memory, database: str, tmp_path: Path
) -> None:
    with Memory.open(tmp_path / "other", embedder="none") as other:
        foreign = signed(other)
    folder = tmp_path / "w" / "checkpoints"
    with Memory.open(tmp_path / "w", embedder="none") as memory:
        note = signed(memory)
        memory.remember("More.")
        (folder / "1.note").write_text(note)  # of another size
        (folder / "3.note").write_bytes(b"\xff" * 400)
        assert memory.admin.copy_to(shared).checkpoints == 1
        (folder / "2.note").write_text(foreign)
        assert memory.admin.copy_to(shared).checkpoints == 0
        with psycopg.connect(database, autocommit=True) as owner:  # a hostile server
            owner.execute("DELETE FROM recollect.checkpoints")
            space = owner.execute("SELECT id FROM recollect.spaces").fetchone()
            for size, data in ((1, note.encode()), (2, foreign.encode()), (3, b"x")):
                owner.execute(
                    "INSERT INTO recollect.checkpoints VALUES (%s, %s, %s)",
                    (space[0] if space else 0, size, data),
                )
        for path in folder.iterdir():
            path.unlink()
        assert shared.admin.copy_to(memory).checkpoints == 0
        assert shared.admin.verify().status == memory.admin.verify().status == "anchored"


@pytest.mark.parametrize(
    ("verbs", "more"),
    [
        (WRITES, {"trust": "agent"}),
        (WRITES, {"trust": "person", "user": "ann"}),
        (WRITES, {"trust": "person", "agent": "helper"}),
        (("read",), {"trust": "person"}),
    ],
    ids=["agent's trust", "one user", "one agent", "reads"],
)
def test_a_limited_token_writes_no_notes(
    shared: Memory, backend: Backend, verbs: tuple[str, ...], more: dict[str, str]
) -> None:
    note = signed(shared)
    made = backend.tokens().create("less", space="main", verbs=verbs, **more)  # type: ignore[arg-type]
    entered = backend.entered(made.token, backend.space)
    mine = Memory(Handle(entered.space("main", create=False)))
    checkpoints = mine._handle.space.checkpoints()
    assert not checkpoints.keeps
    for refused in (
        mine.proof.checkpoint,
        lambda: checkpoints.keep(2, note.encode()),
        lambda: checkpoints.keep_frontier(b"{}"),
    ):
        with pytest.raises(Forbidden):
            refused()
    assert checkpoints.note(2).decode() == note  # reading them is no secret


def test_dropping_a_space_drops_its_notes(shared: Memory, backend: Backend, database: str) -> None:
    signed(shared)
    other = Memory(Handle(backend.space("other", create=True)))
    signed(other)
    backend.drop("main", "left")
    assert sizes(other) == [2]
    with psycopg.connect(database, autocommit=True) as owner:
        left = owner.execute("SELECT count(DISTINCT space) FROM recollect.checkpoints").fetchone()
        assert left == (1,)


def test_a_policy_signs_on_a_server_with_a_token_that_may(shared: Memory, backend: Backend) -> None:
    shared.settings.documents.set("policy", "checkpoints", {"every_events": 4})
    Keys(shared).create()
    made = backend.tokens().create("a", space="main", verbs=WRITES, trust="agent")
    entered = backend.entered(made.token, backend.space)
    agent = Memory(Handle(entered.space("main", create=False)))
    for number in range(6):
        agent.remember(f"An agent says {number}.")  # acknowledged, and not signed
    assert sizes(shared) == []
    assert "checkpoints" in [each.what for each in shared.admin.doctor()]
    person = Memory(Handle(shared._handle.space))
    for number in range(5):
        person.remember(f"Fact {number}.")
    assert sizes(shared) == [9, 13]
    assert "checkpoints" not in [each.what for each in shared.admin.doctor()]
    assert shared.admin.verify().anchored_through == 13
