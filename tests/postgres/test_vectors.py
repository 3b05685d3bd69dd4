"""Vectors on a server: the one suite, tokens and spaces."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from recollect import compose
from recollect.errors import Forbidden
from recollect.finding.vectors import Leg, catch_up
from recollect.memory import Memory
from recollect.memory.handle import Handle, handle_of
from recollect.store.port import Backend, Space
from recollect.store.postgres.backend import PostgresBackend
from recollect.testing.embedders import WordEmbedder
from recollect.testing.vector_suite import VectorSuite, everything, numbers
from tests.postgres.conftest import make_token

EMBEDDER = WordEmbedder()


class TestPostgres(VectorSuite):
    @pytest.fixture
    def backend(self, database: str) -> Iterator[Backend]:
        backend = PostgresBackend(database)
        yield backend
        backend.close()


def leg_of(space: Space) -> Leg:
    return Leg(EMBEDDER, space.vectors(EMBEDDER.name, EMBEDDER.dimensions))


def rows(database: str, table: str = "vectors") -> int:
    with psycopg.connect(database) as connection:
        found = connection.execute(f"SELECT count(*) FROM recollect.{table}").fetchone()
    return int(found[0]) if found else -1


@pytest.fixture
def backend(database: str) -> Iterator[PostgresBackend]:
    made = PostgresBackend(database)
    yield made
    made.close()


def test_a_token_that_only_reads_keeps_nothing_and_searches_what_is_there(
    database: str, backend: PostgresBackend
) -> None:
    space = backend.space("main", create=True)
    Memory(Handle(space)).observe("coffee and bread")
    catch_up(space, leg_of(space))
    Memory(Handle(space)).observe("coffee alone")
    make_token(database, "reader", label="reader", space="main", verbs=("read",), origin="agent")
    reading = PostgresBackend(database, token="reader")
    mine = reading.space("main", create=False)
    leg = leg_of(mine)
    query = EMBEDDER.embed_query("coffee")
    assert not leg.vectors.keeps
    assert [seq for seq, _ in leg.vectors.best(query, 5, everything)] == numbers(space)[:1]
    with pytest.raises(Forbidden):
        catch_up(mine, leg)
    assert rows(database) == 1
    reading.close()


def test_who_writes_much_makes_cheap_vectors(url: str) -> None:
    with Memory.open(url, embedder="static") as memory:
        memory.observe([{"role": "user", "content": f"message {n}"} for n in range(300)])
        embedder = compose._static()
        vectors = handle_of(memory).space.vectors(embedder.name, embedder.dimensions)
        assert vectors.through() == memory.position


def test_a_space_sees_its_own_vectors_alone(database: str, backend: PostgresBackend) -> None:
    query = EMBEDDER.embed_query("coffee")
    found = {}
    for name in ("alice", "bob"):
        space = backend.space(name, create=True)
        for number in range(len(name)):
            Memory(Handle(space)).observe(f"coffee {name} {number}")
        leg = leg_of(space)
        catch_up(space, leg)
        found[name] = leg.vectors.best(query, 50, everything)
    assert [len(each) for each in found.values()] == [5, 3]


def test_an_erasure_deletes_the_rows(database: str, backend: PostgresBackend) -> None:
    space = backend.space("main", create=True)
    memory = Memory(Handle(space))
    gone = memory.observe("coffee\nbread")[0]
    memory.observe("rain")
    catch_up(space, leg_of(space))
    assert rows(database) == 3
    assert "vectors: rows" in memory.erase(gone.id).places
    assert rows(database) == 1


def test_both_engines_score_alike(backend: PostgresBackend) -> None:
    server = backend.space("main", create=True)
    memory = Memory(Handle(server))
    for number in range(40):
        memory.observe(f"coffee number {number % 9}\nwith bread {number % 5} and rain")
    local = Memory.open(":memory:", embedder="none")
    memory.copy_to(local)
    ours, theirs = leg_of(local._handle.space), leg_of(server)
    catch_up(local._handle.space, ours)
    catch_up(server, theirs)
    query = EMBEDDER.embed_query("coffee with rain number 3")
    mine = ours.vectors.best(query, 40, everything)
    other = theirs.vectors.best(query, 40, everything)
    assert [seq for seq, _ in mine] == [seq for seq, _ in other]
    assert [score for _, score in mine] == pytest.approx([score for _, score in other], abs=1e-6)
