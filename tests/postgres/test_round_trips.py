"""How often a call waits for the server: round trips, counted at a socket in between."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial

import psycopg
import pytest

from recollect import Store
from recollect.errors import NotFound
from recollect.memory import Memory
from recollect.store.postgres import db
from recollect.store.postgres.ledgers import PostgresBackend
from tests.http.serving import Client, served
from tests.postgres.conftest import as_address, make_token
from tests.postgres.proxy import Proxy

Call = Callable[[Memory], object]
TEA = "tea"
READS: dict[str, Call] = {
    "get": lambda memory: memory.get(TEA),
    "list": lambda memory: memory.list(),
    "status": lambda memory: memory.status(),
    "recall": lambda memory: memory.recall("When is tea?"),
    "context": lambda memory: memory.context("When is tea?"),
    "history": lambda memory: memory.history(TEA),
    "scoped": lambda memory: memory.scoped(user="ann").list(),
}
WRITES: dict[str, Call] = {
    "remember": lambda memory: memory.remember("Coffee is at three."),
    "revise": lambda memory: memory.revise(TEA, "Tea is at five."),
    "observe": lambda memory: memory.observe("I like tea.", role="user"),
    "forget": lambda memory: memory.forget(TEA),
}


@pytest.fixture
def proxy(database: str) -> Iterator[Proxy]:
    with Proxy(database) as proxy:
        yield proxy


@pytest.fixture
def memory(url: str, proxy: Proxy) -> Iterator[Memory]:
    """A memory with some records, whose connection is open and whose index is warm."""
    with Memory.open(url, embedder="none") as owner:
        owner.remember("Tea is at four.", id=TEA)
        for number in range(50):
            owner.remember(f"The train number {number} leaves at nine.")
    with Memory.open(as_address(proxy.address), embedder="none") as memory:
        # The driver prepares a statement that it sends for the third time, in a trip of its own.
        for number in range(6):
            memory.list()
            memory.remember(f"Bus {number} leaves at eight.")
        yield memory


@pytest.fixture
def entered(
    memory: Memory, url: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Memory]:
    """The same for the holder of a token, who warmed up as well."""
    monkeypatch.setenv("RECOLLECT_TOKEN", make_token(url, "t", space="main", trust="person"))
    with Memory.open(as_address(proxy.address), embedder="none") as entered:
        for number in range(6):
            entered.list()
            entered.remember(f"Tram {number} leaves at seven.")
        yield entered


def test_control_two_statements_are_two_round_trips(database: str, proxy: Proxy) -> None:
    with psycopg.connect(proxy.address, autocommit=True, prepare_threshold=None) as connection:

        def ask(count: int) -> Callable[[], object]:
            return lambda: [connection.execute("SELECT 1") for _ in range(count)]

        for count in (1, 2, 7):
            assert proxy.counted(ask(count)) == count
    with psycopg.connect(database) as another:
        assert proxy.counted(lambda: another.execute("SELECT 1")) == 0


@pytest.mark.parametrize("call", READS.values(), ids=READS)
def test_a_read_asks_once(memory: Memory, proxy: Proxy, call: Call) -> None:
    assert [proxy.counted(lambda: call(memory)) for _ in range(3)] == [1, 1, 1]
    assert proxy.counted(lambda: (call(memory), call(memory))) == 2  # the control


@pytest.mark.parametrize("name", READS)
def test_a_read_with_a_token_asks_once(entered: Memory, proxy: Proxy, name: str) -> None:
    """The token is looked up in the same look as what is new; for a receipt it is asked again."""
    count = 2 if name == "context" else 1
    assert [proxy.counted(lambda: READS[name](entered)) for _ in range(3)] == [count] * 3


@pytest.mark.parametrize("call", WRITES.values(), ids=WRITES)
def test_a_write_with_a_token_asks_twice(entered: Memory, proxy: Proxy, call: Call) -> None:
    assert proxy.counted(lambda: call(entered)) <= 2


@pytest.mark.parametrize("call", WRITES.values(), ids=WRITES)
def test_a_write_asks_twice_at_most(memory: Memory, proxy: Proxy, call: Call) -> None:
    assert proxy.counted(lambda: call(memory)) <= 2


@pytest.mark.parametrize("call", WRITES.values(), ids=WRITES)
def test_a_write_after_another_process_wrote_asks_once_more(
    memory: Memory, proxy: Proxy, url: str, call: Call
) -> None:
    with Memory.open(url, embedder="none") as other:
        other.remember("Written by another process.")
    assert proxy.counted(lambda: call(memory)) <= 3
    assert "Written by another process." in [record.text for record in memory.list()]


def test_a_read_after_another_process_wrote_asks_once(
    memory: Memory, proxy: Proxy, url: str
) -> None:
    with Memory.open(url, embedder="none") as other:
        made = other.remember("Written by another process.")
    assert proxy.counted(lambda: memory.get(made.id)) == 1


def test_a_space_that_does_not_exist_costs_what_any_other_does(
    memory: Memory, proxy: Proxy, url: str
) -> None:
    def look(name: str) -> None:
        with suppress(NotFound):
            backend.space(name, create=False).existing_head()

    with closing(PostgresBackend(proxy.address)) as backend:
        for _ in range(6):
            look("main")
        known = [proxy.counted(lambda: look("main")) for _ in range(3)]
        missing = [proxy.counted(partial(look, name)) for name in ("a", "b", "c")]
        assert known == missing == [1, 1, 1]
        assert proxy.counted(lambda: backend.heads(["main", "a", "b"])) == 1
        assert backend.heads(["main", "a", "b"]).keys() == {"main"}


def test_a_request_for_a_space_that_does_not_exist_costs_what_any_other_does(
    memory: Memory, proxy: Proxy, url: str
) -> None:
    """The token is looked up in the one statement that looks for the space."""
    token = make_token(url, "all", space=None, trust="person")
    with Store.open(as_address(proxy.address), embedder="none") as store, served(store) as port:
        client = Client(port, token)
        for _ in range(6):
            assert client.get("/v1/spaces/main/records").status == 200
            assert client.get("/v1/spaces/none/records").status == 404

        def look(name: str, status: int) -> None:
            assert client.get(f"/v1/spaces/{name}/records").status == status

        known = [proxy.counted(partial(look, "main", 200)) for _ in range(3)]
        missing = [proxy.counted(partial(look, name, 404)) for name in ("a", "b", "none")]
        assert known == missing == [1, 1, 1]


def test_a_batch_is_one_append(memory: Memory, proxy: Proxy) -> None:
    def hundred() -> None:
        with memory.batch() as batch:
            for number in range(100):
                batch.remember(f"Ship {number} leaves at ten.")

    assert proxy.counted(hundred) <= 2


@pytest.fixture
def statements_of(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bool], None]]:
    """Loads the statements with lists of bytes in binary, or as the driver would send them."""

    def loaded(is_binary: bool) -> None:
        if not is_binary:
            monkeypatch.setattr(db, "_BINARY", re.compile("(?!)()"))
        db._statements.cache_clear()

    yield loaded
    monkeypatch.undo()
    db._statements.cache_clear()


@pytest.mark.parametrize("is_binary", [True, False])
def test_an_append_sends_each_byte_once(
    database: str, proxy: Proxy, statements_of: Callable[[bool], None], is_binary: bool
) -> None:
    """Without it the driver sends bytes in a list as digits: the control."""
    statements_of(is_binary)
    with Memory.open(as_address(proxy.address), embedder="none") as memory:
        for number in range(6):
            memory.remember(f"Tram {number} leaves at seven.")
        before = proxy.sent
        memory.remember("x" * 20_000)
        sent = proxy.sent - before
    assert sent < 21_000 if is_binary else sent > 40_000


def test_the_first_call_of_a_process_asks_a_few_times(memory: Memory, proxy: Proxy) -> None:
    with Memory.open(as_address(proxy.address), embedder="none") as fresh:
        assert proxy.counted(lambda: fresh.get(TEA)) <= 6
    with Memory.open(as_address(proxy.address), embedder="none") as fresh:
        assert proxy.counted(lambda: fresh.remember("The first call is a write.")) <= 7


def test_a_read_after_another_process_erased_asks_once_more(
    memory: Memory, proxy: Proxy, url: str
) -> None:
    """To say that this process has dropped it; the next read has nothing to say."""
    with Memory.open(url, embedder="none") as other:
        other.erase(other.remember("It is erased.").id)
    assert proxy.counted(memory.list) == 2
    assert proxy.counted(memory.list) == 1


def test_who_wakes_is_noted_in_the_trip_that_reads_the_snapshot(
    memory: Memory, proxy: Proxy, database: str
) -> None:
    count = "SELECT count(*) FROM recollect.holders"
    with psycopg.connect(database, autocommit=True) as owner:
        before = owner.execute(count).fetchall()[0][0]
        with Memory.open(as_address(proxy.address), embedder="none") as fresh:
            fresh.list()
            assert owner.execute(count).fetchall()[0][0] == before + 1
        assert owner.execute(count).fetchall()[0][0] == before
