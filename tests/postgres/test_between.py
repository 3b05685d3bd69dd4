"""What another process does in one moment of a call: between two steps, at a commit, in a restore.

Two backends are two processes: nothing but the server is between them. Each test makes one moment
certain, with a real call of the other one in it.
"""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Callable, Iterator
from functools import partial

import psycopg
import pytest

from recollect import Memory
from recollect.errors import IntegrityError, NotFound, RecollectError, Unavailable
from recollect.finding.vectors import Leg, catch_up
from recollect.memory.handle.handle import Handle
from recollect.model.events import GENESIS
from recollect.store.indexed import follower, index
from recollect.store.indexed.backend import MemoryBackend
from recollect.store.indexed.space import IndexedSpace
from recollect.store.postgres.ledgers import PostgresBackend
from recollect.store.postgres.pool import Pool
from recollect.store.sqlite import CACHE_BYTES
from recollect.testing.acts import command, remember
from recollect.testing.embedders import WordEmbedder
from recollect.testing.rebuilding import rebuilt_digest
from tests.postgres.conftest import wait_for_lock
from tests.postgres.proxy import Proxy

WORD = "zanzibarish"
PATIENCE_S = 60


class Process:
    """A backend, its space, and a handle for people."""

    def __init__(self, database: str) -> None:
        self.backend = PostgresBackend(database)
        self.space = self.backend.space("main", create=True)
        self.memory = Memory(Handle(self.space))

    def submit(self, id: str) -> int:
        return self.space.submit(
            command(id, remember(id, id), named=True), lambda _, outcome: outcome.last
        )


@pytest.fixture
def one(database: str) -> Iterator[Process]:
    made = Process(database)
    yield made
    made.backend.close()


@pytest.fixture
def other(database: str) -> Iterator[Process]:
    made = Process(database)
    yield made
    made.backend.close()


def ask(database: str, text: str, *values: object) -> list[tuple[object, ...]]:
    with psycopg.connect(database, autocommit=True) as owner:
        found = owner.execute(text.encode(), values)
        return found.fetchall() if found.description else []


def just_before(
    patch: pytest.MonkeyPatch, space: IndexedSpace, step: str, *acts: Callable[[], object]
) -> None:
    """The first calls of a step come after these acts, one each."""
    due, real = list(acts), getattr(space.ledger, step)

    def stepping(*values: object, **named: object) -> object:
        if due:
            due.pop(0)()
        return real(*values, **named)

    patch.setattr(space.ledger, step, stepping)


def same(*processes: Process) -> None:
    """Everybody sees one ledger, whose index is that of a fresh fold."""
    assert len({(each.space.head(), each.memory.admin.digest()) for each in processes}) == 1
    digest = processes[0].memory.admin.digest()
    assert rebuilt_digest(processes[0].memory.admin) == digest
    assert processes[0].memory.admin.verify(deep=True).ok


# Another one writes, drops or empties between two steps.


def test_a_refusal_after_a_drop_says_that_the_space_was_dropped(
    one: Process, other: Process
) -> None:
    one.memory.remember("here", id="here")
    other.backend.drop("main", None)
    with pytest.raises(NotFound, match="was dropped"):
        one.memory.forget("not there")


def test_a_drop_between_look_and_read_shows_no_empty_space(
    one: Process, other: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    other.memory.remember("here")
    just_before(monkeypatch, one.space, "pieces", lambda: other.backend.drop("main", None))
    with pytest.raises(NotFound, match="was dropped"):
        one.memory.list()


def test_a_seal_waits_for_its_turn(
    one: Process, other: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    one.submit("first")
    just_before(
        monkeypatch, one.space, "append", *(partial(other.submit, f"between-{n}") for n in range(2))
    )
    sealed = one.space.seal()
    assert sealed.seq == one.space.head().seq - 1
    same(one, other)


def test_a_push_that_meets_a_writer_can_be_tried_again(
    one: Process, other: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    other.submit("first")
    source = MemoryBackend().space("main", create=True)
    source.receive(other.space.pieces())
    source.submit(command("pushed", remember("pushed")), lambda *_: None)
    just_before(monkeypatch, one.space, "append", lambda: other.submit("between"))
    with pytest.raises(Unavailable, match="another writer"):
        one.space.receive(source.pieces())
    same(one, other)


def test_an_erasure_and_an_append_count_the_same_bytes(
    one: Process, other: Process, database: str, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    one.submit("kept")
    gone = one.memory.observe(WORD)[0]
    is_at_step, is_held = threading.Event(), threading.Event()

    def wait() -> None:
        is_at_step.set()
        assert is_held.wait(PATIENCE_S)

    just_before(monkeypatch, one.space, "erase", wait)
    eraser = threading.Thread(target=lambda: one.memory.erase(gone.id))
    eraser.start()
    assert is_at_step.wait(PATIENCE_S)
    with other.space.ledger.alone():
        is_held.set()
        wait_for_lock(pool)
        other.submit("between")
    eraser.join(PATIENCE_S)
    assert not eraser.is_alive()
    same(one, other)
    lengths = "SELECT sum(length(line) + 1)::bigint FROM recollect.events"
    assert ask(database, "SELECT size FROM recollect.spaces") == ask(database, lengths)


def test_a_server_that_isolates_more_by_default_lets_writers_follow_each_other(
    database: str, pool: Pool
) -> None:
    ask(database, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %%I SET default_transaction_isolation"
        " = ''repeatable read''', current_database()); END $$")  # fmt: skip
    one, other = Process(database), Process(database)
    try:
        one.submit("first")
        writer = threading.Thread(target=one.submit, args=("second",))
        with other.space.ledger.alone():
            other.space.head()
            writer.start()
            wait_for_lock(pool)
            other.submit("between")
        writer.join(PATIENCE_S)
        assert one.memory.get("second").text == "second"
        same(one, other)
    finally:
        one.backend.close()
        other.backend.close()


@pytest.mark.parametrize("where", ["request", "answer"])
@pytest.mark.parametrize("is_followed", [False, True])
def test_an_append_whose_connection_is_lost_is_there_once(
    database: str, other: Process, where: str, is_followed: bool
) -> None:
    """Nobody needs to ask again, or to have given the command a name."""
    with Proxy(database) as proxy:
        one = Process(proxy.address)
        one.memory.remember("first")
        then = partial(other.submit, "between") if is_followed else lambda: None
        proxy.cut(WORD.encode(), where, then)
        made = one.memory.remember(f"a word: {WORD}")
        texts = [record.text for record in other.memory.list()]
        assert sorted(texts) == sorted(["first", made.text, *(["between"] * is_followed)])
        assert proxy.has_cut
        same(one, other)
        one.backend.close()


# What fails while the others wait, or after the append.


def late_twice(patch: pytest.MonkeyPatch, process: Process, other: Process) -> None:
    """The next append is made while other writers wait."""
    acts = [partial(other.submit, f"late-{n}") for n in range(2)]
    just_before(patch, process.space, "append", *acts)


def test_a_commit_that_fails_is_in_no_read(
    one: Process, other: Process, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one.submit("first")
    ask(database, """CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF position('refused' in encode(NEW.line, 'escape')) > 0 THEN RAISE EXCEPTION 'no'; END IF;
        RETURN NULL; END $$""")  # fmt: skip
    ask(database, "CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON recollect.events"
        " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()")  # fmt: skip
    late_twice(monkeypatch, one, other)
    with one.space.reading() as reads:
        with pytest.raises(Unavailable):
            one.submit("refused")
        assert reads.position() is not None  # this read goes on with what it had
        assert one.space.head() == other.space.head()
    same(one, other)


@pytest.mark.parametrize("where", ["request", "answer"])
def test_a_connection_that_is_lost_while_others_wait_leaves_a_repetition(
    database: str, other: Process, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    with Proxy(database) as proxy:
        one = Process(proxy.address)
        one.submit("first")
        late_twice(monkeypatch, one, other)
        proxy.cut(b"COMMIT", where)
        with pytest.raises(Unavailable):
            one.submit(WORD)
        assert proxy.has_cut
        assert one.space.head() == other.space.head()
        one.submit(WORD)
        assert len(other.memory.list()) == 4
        same(one, other)
        one.backend.close()


@pytest.mark.parametrize("is_late", [False, True])
def test_a_cache_that_cannot_be_kept_fails_no_write(
    one: Process, other: Process, database: str, monkeypatch: pytest.MonkeyPatch, is_late: bool
) -> None:
    monkeypatch.setattr(follower, "_SNAPSHOT_MIN_EVENTS", 4)
    for number in range(2):
        one.submit(f"first-{number}")
    ask(database, "ALTER TABLE recollect.snapshots ADD CONSTRAINT none CHECK (seq < 0)")
    if is_late:
        late_twice(monkeypatch, one, other)
    for number in range(4):
        one.submit(f"then-{number}")
    same(one, other)
    assert ask(database, "SELECT 1 FROM recollect.snapshots") == []


# What was erased is in no cache, and a later reader has no part of it.


def test_no_snapshot_holds_what_was_erased(
    one: Process, other: Process, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "_SNAPSHOT_MIN_EVENTS", 4)

    def images() -> list[bytes]:
        return [zlib.decompress(bytes(data)) for (data,) in ask(  # type: ignore[call-overload]
            database, "SELECT image FROM recollect.snapshots")]  # fmt: skip

    gone = one.memory.remember(f"it is in {WORD}")
    for number in range(20):
        one.submit(f"{number}")
    assert any(WORD.encode() in image for image in images())
    just_before(monkeypatch, one.space, "finish", lambda: seen.append(images()))
    seen = list[list[bytes]]()
    one.memory.erase(gone.id)
    other.memory.list()
    seen.append(images())
    assert seen[-1], "one was kept again"
    assert not [image for kept in seen for image in kept if WORD.encode() in image]


def leg_of(process: Process) -> Leg:
    embedder = WordEmbedder()
    return Leg(embedder, process.space.vectors(embedder.name, embedder.dimensions))


@pytest.mark.parametrize("is_asleep", [False, True])
def test_vectors_of_what_another_erased_are_in_no_memory(
    one: Process, other: Process, is_asleep: bool
) -> None:
    gone = one.memory.observe("coffee")[0]
    one.memory.observe("bread")
    leg = leg_of(one)
    catch_up(one.space, leg)
    assert len(leg.vectors._texts) == 2  # type: ignore[attr-defined]
    if is_asleep:
        assert one.space.sleep()
    other.memory.erase(gone.id)
    leg.vectors.through()
    assert len(leg.vectors._texts) == 1  # type: ignore[attr-defined]


# A database that was restored to an earlier state.


def test_a_restored_database_has_one_history(one: Process, other: Process, database: str) -> None:
    """Events are taken away, as a restore does, and another process writes others instead."""
    for number in range(3):
        one.submit(f"kept-{number}")
    then = ask(database, "SELECT seq, hash, at, size, epoch, blocks FROM recollect.spaces")[0]
    for number in range(3):
        one.submit(f"undone-{number}")
    leg = leg_of(one)
    catch_up(one.space, leg)
    assert one.space.head().seq == other.space.head().seq == 7
    ask(database, "SET session_replication_role = replica;"
        f" DELETE FROM recollect.events WHERE seq > {then[0]};"
        " DELETE FROM recollect.blocks")  # fmt: skip
    ask(database, "UPDATE recollect.spaces SET seq = %s, hash = %s, at = %s, size = %s, epoch = %s,"
        " blocks = %s", *then)  # fmt: skip
    for number in range(3):
        other.submit(f"instead-{number}")
    assert {record.text for record in one.memory.list()} == {
        *(f"kept-{n}" for n in range(3)),
        *(f"instead-{n}" for n in range(3)),
    }
    catch_up(one.space, leg)
    one.submit("after")
    other.submit("after-both")
    same(one, other)


def test_a_head_that_no_event_leads_to_is_told(one: Process, database: str) -> None:
    one.submit("first")
    ask(database, "UPDATE recollect.spaces SET hash = repeat('1', 64)")
    with pytest.raises(IntegrityError):
        one.memory.list()
    with pytest.raises(RecollectError):
        one.submit("second")


# This process.


def test_a_write_inside_a_read_is_told_to_listeners(one: Process) -> None:
    heard = list[int]()
    one.space.on_append(lambda: heard.append(1))
    with one.space.reading():
        one.submit("first")
        one.space.submit_all([command("second", remember("second"))], lambda *_: None)
    assert len(heard) == 2


def test_names_that_are_tried_fill_no_memory(one: Process) -> None:
    one.submit("first")
    made = one.backend.tokens().create("reader", space="main", verbs=("read",), trust="agent")
    entered = one.backend.entered(made.token, one.backend.space)
    for number in range(20):
        with pytest.raises(NotFound):
            entered.space(f"try{number}", create=False).head()
    assert set(one.backend._spaces) == {"main"}


def test_an_index_that_grew_is_counted_and_put_aside(
    one: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    one.submit("first")
    assert one.space.index is not None
    before, awake = one.space.index.size_bytes, one.space.awake_bytes
    for number in range(30):
        one.memory.remember(f"{number} " + "word " * 200)
    assert one.space.awake_bytes > awake
    monkeypatch.setattr(index, "_MEMORY_MAX_BYTES", before)
    one.submit("last")
    assert one.space.index.size_bytes == CACHE_BYTES
    assert one.memory.admin.verify(deep=True).ok


def test_a_forked_child_neither_uses_nor_ends_what_its_parent_has(one: Process) -> None:
    one.submit("first")
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        told = list[str]()
        for call in (one.memory.list, one.backend.spaces, lambda: one.submit("by-the-child")):
            try:
                told.append(f"{call()}")
            except Unavailable:
                told.append("refused")
        one.backend.close()
        os.write(writer, " ".join(told).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        assert pipe.read() == b"refused refused refused"
    assert os.waitpid(pid, 0) == (pid, 0)
    one.submit("second")  # over the same connection
    assert one.space.head().seq == 3


# The memory engine, which has the same index over another ledger.


def test_a_key_in_memory_outlives_the_erasure_of_another() -> None:
    memory = Memory(Handle(MemoryBackend().space("main", create=True)))
    memory.settings.set_subjects("users")
    memory.scoped(user="ann").remember("Ann is here.")
    ben = memory.scoped(user="ben").remember("Ben is here.", id="ben")
    memory.erase(subject="ann")
    memory.admin.rebuild()
    assert memory.get(ben.id).text == "Ben is here."
    memory.scoped(user="ben").remember("Ben stays.")
    assert memory.admin.verify(deep=True).ok


def test_two_handles_of_one_space_in_memory_write_in_turn() -> None:
    backend = MemoryBackend()
    first = backend.space("main", create=False)
    second = backend.space("main", create=True)
    assert second.head() != GENESIS
    for number in range(3):
        for space in (first, second):
            space.submit(command(f"{number}-{id(space)}", remember(f"{number}")), lambda *_: None)
    assert first.head() == second.head()
    assert first.digest() == second.digest()
