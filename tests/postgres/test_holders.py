"""Which processes have an index of a space, and what a report says of those that must drop words.

Two backends are two processes: nothing but the server is between them. ``tests/suites`` has the
same with real processes, one of which is stopped.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import psycopg
import pytest

from benchmarks.server import started as server_started
from recollect import Memory
from recollect.errors import NotFound
from recollect.memory.handle.handle import Handle, handle_of
from recollect.store.indexed.follower import Follower
from recollect.store.indexed.ledger import Tail
from recollect.store.postgres.holders import NOBODY
from recollect.store.postgres.ledger import PostgresLedger
from recollect.store.postgres.ledgers import PostgresBackend
from recollect.store.postgres.pool import Pool
from recollect.store.postgres.vacuum import vacuum
from tests.postgres.conftest import as_address, wait_for_lock
from tests.postgres.proxy import Proxy
from tests.postgres.test_command import recollect
from tests.suites.histories import Stopped

WORD = "zanzibarish"
AT_ONCE = "indexes of 1 other process: dropped"


class Process:
    """A backend and its space, under a name that a report can have."""

    def __init__(self, database: str, name: str) -> None:
        self.backend = PostgresBackend(database)
        self.backend.ledgers._process.name = self.name = name  # type: ignore[attr-defined]
        self.space = self.backend.space("main", create=True)
        self.memory = Memory(Handle(self.space))

    @property
    def not_yet(self) -> str:
        """How a report begins that names this process."""
        return f"NOT cleaned: the index of process {self.name}; "

    @property
    def ledger(self) -> PostgresLedger:
        assert isinstance(self.space.ledger, PostgresLedger)
        return self.space.ledger


@pytest.fixture
def one(database: str) -> Iterator[Process]:
    made = Process(database, "one")
    yield made
    made.backend.close()


@pytest.fixture
def other(database: str) -> Iterator[Process]:
    made = Process(database, "other")
    yield made
    made.backend.close()


def ask(database: str, text: str, *values: object) -> list[tuple[object, ...]]:
    with psycopg.connect(database, autocommit=True) as owner:
        found = owner.execute(text.encode(), values)
        return found.fetchall() if found.description else []


def holders(database: str) -> dict[object, object]:
    """The names of the processes that have the space, each with its epoch."""
    rows = ask(database, "SELECT name, epoch FROM recollect.holders ORDER BY name")
    return dict(rows)  # type: ignore[arg-type]


def erase(process: Process, id: str, **more: object) -> tuple[str, ...]:
    return process.memory.erase(id, **more).places  # type: ignore[arg-type]


def test_a_report_names_who_has_not_looked_and_counts_who_has(one: Process, other: Process) -> None:
    one.memory.remember(f"it is in {WORD}", id="gone")
    assert len(other.memory.list()) == 1
    first = erase(one, "gone", idempotency_key="k")
    assert [place for place in first if place.startswith(other.not_yet)]
    assert NOBODY not in first
    other.memory.list()
    again = erase(one, "gone", idempotency_key="k")
    assert AT_ONCE in again
    assert not [place for place in again if place.startswith("NOT cleaned: the index")]


def test_a_name_in_a_row_adds_no_line_to_a_report(
    one: Process, other: Process, database: str
) -> None:
    """It goes into certificates, whose lines mean something."""
    one.memory.remember(f"it is in {WORD}", id="gone")
    other.memory.list()
    ask(database, "UPDATE recollect.holders SET name = E'x\\ncleaned\\x1b[2J' WHERE name = 'other'")
    (told,) = [place for place in erase(one, "gone") if "process x" in place]
    assert "process x?cleaned?[2J;" in told


def test_of_many_processes_a_report_names_some_and_counts_the_rest(
    one: Process, database: str
) -> None:
    one.memory.remember(f"it is in {WORD}", id="gone")
    ask(database, "INSERT INTO recollect.holders SELECT n::text, h.space, 'p' || n, 0, h.until"
        " FROM recollect.holders h, generate_series(1, 25) n")  # fmt: skip
    places = erase(one, "gone")
    assert sum(place.startswith("NOT cleaned: the index of process p") for place in places) == 20
    assert "NOT cleaned: indexes of 5 more processes" in places


def test_a_report_says_that_nobody_else_has_it(one: Process) -> None:
    one.memory.remember(f"it is in {WORD}", id="gone")
    assert NOBODY in erase(one, "gone")


@pytest.mark.parametrize("how", ["asleep", "closed"])
def test_who_has_no_index_any_more_is_not_named(
    one: Process, other: Process, database: str, how: str
) -> None:
    one.memory.remember(f"it is in {WORD}", id="gone")
    other.memory.list()
    assert holders(database) == {"one": 0, "other": 0}
    if how == "asleep":
        assert other.space.sleep()
    else:
        other.backend.close()
    assert holders(database) == {"one": 0}
    assert NOBODY in erase(one, "gone")


def test_a_row_that_was_not_renewed_is_told_as_not_known(
    one: Process, other: Process, database: str
) -> None:
    """A killed process leaves its row; a stopped one looks before it answers."""
    one.memory.remember(f"it is in {WORD}", id="gone")
    other.memory.list()
    late = "UPDATE recollect.holders SET until = now() - interval '1 minute' WHERE name = 'other'"
    ask(database, late)
    (told,) = [one for one in erase(one, "gone", idempotency_key="k") if "process other" in one]
    assert told.startswith("NOT known: whether process other has ended")
    assert "drops the index before it answers" in told
    other.memory.list()
    assert AT_ONCE in erase(one, "gone", idempotency_key="k")


def test_a_row_of_long_ago_is_removed_by_the_next_that_wakes(
    one: Process, other: Process, database: str
) -> None:
    one.memory.remember("here")
    ask(database, "UPDATE recollect.holders SET until = now() - interval '8 days'")
    other.memory.list()
    assert holders(database) == {"other": 0}


def test_a_row_is_renewed_by_a_look_that_happens_anyway(one: Process, database: str) -> None:
    one.memory.remember("here")
    with Proxy(database) as proxy:
        far = Process(proxy.address, "far")
        for _ in range(4):  # the driver prepares what it sends for the third time
            far.memory.list()
        until = ask(database, "SELECT until FROM recollect.holders WHERE name = 'far'")
        for _ in range(4):
            far.ledger._holding._renew_at = 0.0
            far.memory.list()
        far.ledger._holding._renew_at = 0.0
        assert proxy.counted(far.memory.list) == 1
        assert ask(database, "SELECT until FROM recollect.holders WHERE name = 'far'") > until
        now = ask(database, "SELECT until FROM recollect.holders WHERE name = 'far'")
        assert proxy.counted(far.memory.list) == 1
        assert ask(database, "SELECT until FROM recollect.holders WHERE name = 'far'") == now
        far.backend.close()


def just_before(patch: pytest.MonkeyPatch, process: Process, step: str, *acts: object) -> None:
    """The first calls of a step come after these acts, one each."""
    due, real = list(acts), getattr(process.ledger, step)

    def stepping(*values: object, **named: object) -> object:
        if due:
            due.pop(0)()  # type: ignore[operator]
        return real(*values, **named)

    patch.setattr(process.ledger, step, stepping)


def test_who_wakes_while_something_is_erased_looks_again(
    one: Process, other: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report came too early to name this one, so it must not fold what it has read."""
    one.memory.remember(f"it is in {WORD}", id="gone")
    places = list[tuple[str, ...]]()
    just_before(monkeypatch, other, "wake", lambda: places.append(erase(one, "gone")))
    looks, real = list[int](), other.space.look

    def look(hash: bytes | None = None) -> Tail:
        looks.append(1)
        return real(hash)

    monkeypatch.setattr(other.space, "look", look)
    assert other.memory.list() == []
    assert NOBODY in places[0]
    assert len(looks) == 2
    assert WORD.encode() not in images_of(other.space)


def test_control_without_the_second_look_it_would_fold_what_was_erased(
    one: Process, other: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    one.memory.remember(f"it is in {WORD}", id="gone")
    lines = one.ledger.lines([1, 2])
    data = b"".join(lines[seq] + b"\n" for seq in (1, 2))  # read before the order came
    just_before(monkeypatch, other, "wake", lambda: erase(one, "gone"))
    real = other.ledger.wake
    monkeypatch.setattr(other.ledger, "wake", lambda *given: real(*given)._replace(epoch=None))
    monkeypatch.setattr(other.ledger, "pieces", lambda *_: iter([data]))
    with other.space.inside() as index:
        assert WORD.encode() in index.db.image()


def test_who_wakes_waits_for_an_order_that_is_on_its_way(
    one: Process, other: Process, pool: Pool
) -> None:
    one.memory.remember(f"it is in {WORD}", id="gone")
    with ThreadPoolExecutor(1) as threads:
        with one.ledger._pool.transaction():
            assert NOBODY in erase(one, "gone")
            waking = threads.submit(other.memory.list)
            wait_for_lock(pool)
        assert waking.result(30) == []
    assert WORD.encode() not in images_of(other.space)


def test_an_order_waits_for_who_is_being_noted_and_names_it(
    one: Process, database: str, pool: Pool
) -> None:
    one.memory.remember(f"it is in {WORD}", id="gone")
    with psycopg.connect(database) as noting, ThreadPoolExecutor(1) as threads:
        noting.execute(
            "SELECT recollect.hold(id, 'x', 'the new one', 0, 60, false) FROM recollect.spaces"
        )
        erasing = threads.submit(erase, one, "gone")
        wait_for_lock(pool)
        noting.commit()
        places = erasing.result(30)
    assert [place for place in places if "process the new one;" in place]


def images_of(space: Follower) -> bytes:
    assert space.index is not None
    return space.index.db.image()


def test_a_wake_without_a_note_is_held_by_the_next_look(one: Process, database: str) -> None:
    """In a transaction that only reads nothing can be noted; reading goes on."""
    one.memory.remember("here")
    far = Process(database, "far")
    with far.space.held(), far.ledger.still():
        assert far.space.follow(far.space.look()).position.seq == 2
    assert holders(database) == {"far": 0, "one": 0}  # noted at the end of the turn
    far.backend.close()


def test_a_row_waits_for_no_disk_but_a_write_around_it_does(one: Process, database: str) -> None:
    one.memory.remember("here")
    ledger, asked = one.ledger, "SELECT current_setting('synchronous_commit')"
    with ledger.alone():
        one.ledger._holding._noted = None
        ledger.hold(0)
        with ledger._pool.connection() as connection:
            assert connection.execute(asked).fetchall() == [("on",)]
    one.ledger._holding._noted = None
    ledger.hold(0)
    with ledger._pool.connection() as connection:
        assert connection.execute(asked).fetchall() == [("on",)]


def test_a_drop_names_who_has_the_space_awake(one: Process, other: Process, database: str) -> None:
    one.memory.remember(f"it is in {WORD}")
    other.memory.list()
    places = one.backend.drop("main", None).places
    assert [place for place in places if place.startswith(other.not_yet)]
    assert holders(database) == {"other": 0}
    assert [place for place in vacuum(database).places if place.startswith(other.not_yet)]
    with pytest.raises(NotFound, match="was dropped"):
        other.memory.list()
    assert holders(database) == {}
    assert not [place for place in vacuum(database).places if "process other" in place]


def test_retention_names_them_too(one: Process, other: Process) -> None:
    one.memory.remember(f"it is in {WORD}", expires=timedelta(days=1))
    other.memory.list()
    one.memory.settings.set_retention(1)
    places = (
        Memory(Handle(one.space, Stopped("2099-01-01T00:00:00.000000Z"))).erase(expired=True).places
    )
    assert [place for place in places if place.startswith(other.not_yet)]
    other.memory.list()
    assert AT_ONCE in one.space.purge()


def test_an_erasure_that_another_ledger_brings_names_them_too(
    one: Process, other: Process, database: str
) -> None:
    """A move: the ledger comes from elsewhere, and later what was erased there."""
    with Memory.open(":memory:") as source:
        source.remember(f"it is in {WORD}", id="gone")
        source.remember("it stays", id="stays")
        origin = handle_of(source).space
        one.space.receive(origin.pieces())
        assert len(other.memory.list()) == 2
        source.erase("gone")
        one.space.receive(origin.pieces())
        one.space.purge()
    assert holders(database) == {"one": 1, "other": 0}
    assert [place for place in one.space.purge() if place.startswith(other.not_yet)]
    assert [record.id for record in other.memory.list()] == ["stays"]
    assert holders(database) == {"one": 1, "other": 1}
    assert WORD.encode() not in images_of(other.space)


def test_doctor_and_the_certificate_name_them(
    one: Process, other: Process, database: str, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    address = as_address(database)
    with Memory.open(address, embedder="none") as memory:
        memory.settings.set_subjects("users")
        memory.scoped(user="ann").remember(f"it is in {WORD}")
        memory.remember("it stays")
        recollect(address, "proof", "key", "create")
        other.backend.close()
        third = Memory.open(address, embedder="none")
        third.list()
        done = memory.erase(subject="ann", certificate=True, idempotency_key="k")
        assert done.certificate is not None
        certified = memory.proof.check_certificate(done.certificate)
        (named,) = [one for one in certified.not_reached if "the index of process" in one]
        code, said = recollect(address, "admin", "doctor")
        assert (code, "the next call there drops it" in said) == (0, True)
        assert named in memory.erase(subject="ann", idempotency_key="k").places
        third.list()
        assert "the next call there drops it" not in recollect(address, "admin", "doctor")[1]
        third.close()


def test_a_read_that_wakes_waits_for_no_standby() -> None:
    """A write does: the control. The server waits for a standby that is not there."""
    with server_started(in_memory=True) as own:
        address = own.get_uri()
        one = Process(address, "one")
        one.memory.remember("here")
        with psycopg.connect(address, autocommit=True) as owner:
            owner.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
            owner.execute("SELECT pg_reload_conf()")
            while owner.execute("SHOW synchronous_standby_names").fetchall() != [("nobody",)]:
                pass
            other = Process(address, "other")
            assert len(other.memory.list()) == 1
            other.ledger._holding._renew_at = 0.0
            assert len(other.memory.list()) == 1
            assert other.space.sleep()
            assert holders(address) == {"one": 0}
            with ThreadPoolExecutor(1) as threads:
                writing = threads.submit(ask, address, "CREATE TABLE waits ()")
                waits = b"SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
                while not (found := owner.execute(waits).fetchall()):
                    assert not writing.done()
                owner.execute("SELECT pg_cancel_backend(%s)", found[0])
                writing.result(30)
        other.backend.close()
        one.backend.close()
