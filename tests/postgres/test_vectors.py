"""Vectors on a server: the one suite, tokens, spaces, and what an erasure leaves of the blocks."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from recollect import compose
from recollect.errors import Forbidden
from recollect.finding.vectors import Leg, catch_up
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle, handle_of
from recollect.store.port import Backend, Space
from recollect.store.postgres.ledgers import PostgresBackend
from recollect.testing.embedders import WordEmbedder
from recollect.testing.vector_suite import VectorSuite, everything, numbers
from tests.postgres.conftest import entered, make_token

EMBEDDER = WordEmbedder()


class TestPostgres(VectorSuite):
    @pytest.fixture
    def backend(self, database: str) -> Iterator[Backend]:
        backend = PostgresBackend(database)
        yield backend
        backend.close()


def leg_of(space: Space) -> Leg:
    return Leg(EMBEDDER, space.vectors(EMBEDDER.name, EMBEDDER.dimensions))


def blocks(database: str) -> list[bytes]:
    with psycopg.connect(database) as connection:
        found = connection.execute("SELECT rows FROM recollect.blocks ORDER BY space, after")
        return [bytes(rows) for (rows,) in found.fetchall()]


def row(text: str) -> bytes:
    """A vector as it lies in a block."""
    return EMBEDDER.embed([text]).astype("<f4").tobytes()


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
    token = make_token(database, "reader", space="main", verbs=("read",), trust="agent")
    mine = entered(backend, token).space("main", create=False)
    leg = leg_of(mine)
    query = EMBEDDER.embed_query("coffee")
    assert not leg.vectors.keeps
    assert [seq for seq, _ in leg.vectors.best(query, 5, everything)] == numbers(space)[:1]
    with pytest.raises(Forbidden):
        catch_up(mine, leg)
    assert len(blocks(database)) == 1


def test_who_writes_much_makes_cheap_vectors(url: str) -> None:
    with Memory.open(url, embedder="static") as memory:
        memory.observe([{"role": "user", "content": f"message {n}"} for n in range(300)])
        embedder = compose._static()
        vectors = handle_of(memory).space.vectors(embedder.name, embedder.dimensions)
        assert vectors.through() == memory.events.position


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
    assert len(blocks(database)) == 2


def test_another_process_reads_the_blocks_and_adds_to_them(
    database: str, backend: PostgresBackend
) -> None:
    space = backend.space("main", create=True)
    Memory(Handle(space)).observe("coffee and bread")
    catch_up(space, leg_of(space))
    other = PostgresBackend(database)
    theirs = other.space("main", create=False)
    leg = leg_of(theirs)
    assert catch_up(theirs, leg).texts == 0
    Memory(Handle(theirs)).observe("coffee alone")
    assert catch_up(theirs, leg).texts == 1
    query = EMBEDDER.embed_query("coffee")
    found = leg_of(space).vectors.best(query, 5, everything)
    assert [seq for seq, _ in found] == numbers(space)[::-1]
    assert len(blocks(database)) == 2
    other.close()


def test_an_erasure_removes_the_rows_and_no_other(database: str, backend: PostgresBackend) -> None:
    space = backend.space("main", create=True)
    memory = Memory(Handle(space))
    gone = memory.observe("coffee\nbread")[0]
    memory.observe("rain")
    catch_up(space, leg_of(space))
    before = b"".join(blocks(database))
    assert all(row(text) in before for text in ("coffee", "bread", "rain"))
    name = f"{EMBEDDER.name} {EMBEDDER.dimensions}"
    assert f"vectors of {name}: rows" in memory.erase(gone.id).places
    after = b"".join(blocks(database))
    assert [row(text) in after for text in ("coffee", "bread", "rain")] == [False, False, True]
    assert catch_up(space, leg_of(space)).missing == 0
    assert memory.erase(memory.observe("boats")[0].id).places  # no block holds it yet


def test_vectors_that_were_made_before_an_erasure_are_not_kept_after_it(
    database: str, backend: PostgresBackend
) -> None:
    """A process that still embeds a text must not bring it back."""
    space = backend.space("main", create=True)
    memory = Memory(Handle(space))
    gone = memory.observe("coffee")[0]
    memory.observe("rain")
    through = space.head().seq
    first, second = numbers(space)
    texts = [(first, EMBEDDER.embed(["coffee"])), (second, EMBEDDER.embed(["rain"]))]
    other = PostgresBackend(database)
    Memory(Handle(other.space("main", create=False))).erase(gone.id)
    other.close()
    leg = leg_of(space)
    leg.vectors.add(0, through, texts)
    kept = b"".join(blocks(database))
    assert [row("coffee") in kept, row("rain") in kept] == [False, True]


def test_both_engines_score_alike(backend: PostgresBackend) -> None:
    server = backend.space("main", create=True)
    memory = Memory(Handle(server))
    for number in range(40):
        memory.observe(f"coffee number {number % 9}\nwith bread {number % 5} and rain")
    local = Memory.open(":memory:", embedder="none")
    memory.admin.copy_to(local)
    ours, theirs = leg_of(local._handle.space), leg_of(server)
    catch_up(local._handle.space, ours)
    catch_up(server, theirs)
    query = EMBEDDER.embed_query("coffee with rain number 3")
    mine = ours.vectors.best(query, 40, everything)
    other = theirs.vectors.best(query, 40, everything)
    assert [seq for seq, _ in mine] == [seq for seq, _ in other]
    assert [score for _, score in mine] == pytest.approx([score for _, score in other], abs=1e-6)
