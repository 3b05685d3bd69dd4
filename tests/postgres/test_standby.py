"""A standby for reads, and servers that take no writes."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest

from recollect import Store
from recollect.errors import Unavailable
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.store.postgres.db import as_ours
from recollect.store.postgres.ledgers import PostgresBackend
from recollect.store.postgres.pool import Pool, State, findings
from tests.postgres.conftest import entered
from tests.postgres.halting import until
from tests.suites.standbys import Node, Pair, pair

NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def servers() -> Iterator[Pair]:
    with pair() as found:
        found.replicate(is_synchronous=False)
        yield found


@pytest.fixture
def primary(servers: Pair) -> Iterator[PostgresBackend]:
    with closing(PostgresBackend(servers.address_of(servers.primary))) as backend:
        yield backend


@pytest.fixture
def standby(servers: Pair) -> Iterator[PostgresBackend]:
    with closing(PostgresBackend(servers.address_of(servers.standby))) as backend:
        yield backend


def memory_of(backend: PostgresBackend, *, create: bool = False) -> Memory:
    return Memory(Handle(backend.space("bob", create=create)))


def write(servers: Pair, primary: PostgresBackend, count: int) -> None:
    """Writes, and waits until the standby has applied it."""
    memory = memory_of(primary, create=True)
    for _ in range(count):
        memory.remember(f"The train {next(NUMBERS)} leaves at nine.")
    (at,) = servers.primary.ask("SELECT pg_current_wal_lsn()")[0]
    until(lambda: servers.standby.ask(f"SELECT pg_last_wal_replay_lsn() >= '{at}'") == [(True,)])


def test_a_standby_before_there_is_a_memory_is_told_and_changes_nothing(
    servers: Pair,
) -> None:
    with (
        closing(PostgresBackend(servers.standby.address)) as backend,
        pytest.raises(Unavailable, match="does not contain a memory yet"),
    ):
        backend.spaces()


def test_a_standby_answers_every_read_and_refuses_every_write(
    servers: Pair, primary: PostgresBackend, standby: PostgresBackend
) -> None:
    write(servers, primary, 40)  # enough for a snapshot
    token = primary.tokens().create("reader", space="bob", verbs=("read",)).token
    write(servers, primary, 1)
    for memory in (
        memory_of(standby),
        Memory(Handle(entered(standby, token).space("bob", create=False))),
    ):
        assert memory.recall("When does train 7 leave?")
        assert memory.context("When does train 7 leave?").text
        assert len(memory.list(limit=100)) >= 41
        assert memory.admin.verify().ok
        assert memory.status().seq > 40
    memory = memory_of(standby)
    for refused in (
        lambda: memory.remember("No."),
        lambda: memory.observe("No.", role="user"),
        lambda: standby.space("new", create=True).head(),
        lambda: standby.tokens().create("no", space="bob"),
        lambda: standby.drop("bob", None),
    ):
        with pytest.raises(Unavailable, match="takes no writes") as refusal:
            refused()
        assert "primary" in str(refusal.value.hint)
    before = len(memory.list(limit=1_000))
    write(servers, primary, 3)
    assert len(memory.list(limit=1_000)) == before + 3


def test_doctor_says_how_far_a_standby_is_behind(
    servers: Pair, primary: PostgresBackend, standby: PostgresBackend
) -> None:
    write(servers, primary, 1)
    found = {each.what: each for each in memory_of(standby).admin.doctor()}
    assert "answers reads only" in found["standby"].detail
    assert "s ago" in found["standby"].detail
    assert "standby" not in {each.what for each in memory_of(primary).admin.doctor()}


def test_the_service_serves_reads_from_a_standby(servers: Pair, primary: PostgresBackend) -> None:
    from tests.http.serving import Client, served

    token = primary.tokens().create("service", space=None, trust="person").token
    write(servers, primary, 1)
    address = f"postgresql://postgres@/memories?host={servers.standby.folder}"
    with Store.open(address, embedder="none") as store, served(store) as port:
        asking = Client(port, token)
        assert asking.ask("GET", "/v1/spaces/bob/records").status == 200
        assert asking.ask("GET", "/readyz").status == 200
        refused = asking.ask("POST", "/v1/spaces/bob/records", {"text": "No."})
        assert refused.status == 503
        assert "takes no writes" in refused.json["detail"]


def test_a_base_backup_under_load_is_a_whole_memory(
    servers: Pair, primary: PostgresBackend
) -> None:
    write(servers, primary, 5)
    before = {record.text for record in memory_of(primary).list(limit=10_000)}
    restored, done = Node(servers.primary.folder.parent / "restored"), threading.Event()

    def go_on() -> None:
        while not done.is_set():
            write(servers, primary, 1)

    with ThreadPoolExecutor(1) as threads:
        writing = threads.submit(go_on)
        try:
            restored.copy(servers.primary, is_standby=False)
            with closing(PostgresBackend(servers.address_of(restored))) as backend:
                memory = memory_of(backend)
                assert memory.admin.verify(deep=True).ok
                assert before <= {record.text for record in memory.list(limit=10_000)}
                memory.remember("It goes on from here.")
        finally:
            done.set()
            writing.result()
            restored.remove()


def test_a_stricter_commit_than_ours_is_kept(servers: Pair, primary: PostgresBackend) -> None:
    asked = b"SELECT current_setting('synchronous_commit')"
    for wanted, kept in (("off", "on"), ("remote_apply", "remote_apply")):
        servers.primary.ask(f"ALTER DATABASE memories SET synchronous_commit = {wanted}")
        with (
            closing(Pool(servers.address_of(servers.primary))) as pool,
            pool.connection() as connection,
        ):
            assert connection.execute(asked).fetchall() == [(kept,)]
    servers.primary.ask("ALTER DATABASE memories RESET synchronous_commit")


def test_a_read_only_server_and_a_full_disk_are_named() -> None:
    state = State(180_000, 5 << 20, False, True, False, None)
    assert [each.level for each in findings(state)] == ["ok", "problem"]
    assert "5 MiB" in findings(state)[0].detail
    assert "none yet" in findings(state._replace(is_standby=True))[1].detail
    assert "disk is full" in str(as_ours(psycopg.errors.DiskFull()))
