"""What the server itself decides about a ledger: who comes first, and what is never changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from threading import Barrier

import msgspec
import psycopg
import pytest

from recollect.errors import IntegrityError, Unavailable, Unsupported
from recollect.index.statements import INDEX_VERSION
from recollect.ledger.chain import Draft, chain, event_id
from recollect.ledger.codec import encode_body
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.model.events import KIND_OF, EpisodeObserved, Head, LedgerSealed, Origin
from recollect.model.instants import from_microseconds, to_microseconds
from recollect.store.indexed.space import IndexedSpace
from recollect.store.postgres.ledger import PostgresLedger
from recollect.store.postgres.ledgers import PostgresBackend
from recollect.store.postgres.pool import Pool
from recollect.store.seam import REAL
from recollect.testing.seams import FixedSeam

WRITERS = 6
ROUNDS = 20
MINUTE_US = 60_000_000


@pytest.fixture
def backend(database: str) -> Iterator[PostgresBackend]:
    with closing(PostgresBackend(database)) as backend:
        yield backend


@pytest.fixture
def memory(backend: PostgresBackend) -> Memory:
    memory = Memory(Handle(backend.space("main", create=True)))
    memory.remember("Tea is at four.", id="tea")
    return memory


def space_of(memory: Memory) -> IndexedSpace:
    space = memory._handle.space
    assert isinstance(space, IndexedSpace)
    return space


def following(head: Head, text: str) -> tuple[bytes, Head]:
    """An append that continues a ledger, and where it ends then."""
    body = EpisodeObserved(id=f"e-{text}", text=text, role="user", said_at=head.at)
    draft = Draft(event_id(text, 1), KIND_OF[EpisodeObserved], "person", encode_body(body))
    return chain(head, head.at, [draft], b"s" * 16)


def append(ledger: PostgresLedger, before: Head, text: str) -> bool:
    data, head = following(before, text)
    return ledger.append(before, data, head, None, lambda: None)


def test_of_many_writers_at_one_head_one_is_first(memory: Memory, database: str) -> None:
    heads = [space_of(memory).head()]
    start = Barrier(WRITERS)
    with ThreadPoolExecutor(WRITERS) as threads:
        backends = [PostgresBackend(database) for _ in range(WRITERS)]
        ledgers = [backend.ledgers.ledger("main") for backend in backends]

        def write(number: int) -> bool:
            start.wait(30)
            ledger = ledgers[number]
            assert isinstance(ledger, PostgresLedger)
            return append(ledger, heads[-1], f"{len(heads)}.{number}")

        for _ in range(ROUNDS):
            won = list(threads.map(write, range(WRITERS)))
            assert won.count(True) == 1
            heads.append(ledgers[0].tail(0).head)
        for backend in backends:
            backend.close()
    assert [head.seq for head in heads] == [*range(heads[0].seq, heads[0].seq + ROUNDS + 1)]
    assert memory.admin.verify(deep=True).ok
    assert len(memory.sessions.episodes(limit=100)) == ROUNDS


def test_an_append_that_does_not_continue_the_ledger_is_refused(memory: Memory) -> None:
    space = space_of(memory)
    ledger, head = space.ledger, space.head()
    assert isinstance(ledger, PostgresLedger)
    before = b"".join(ledger.pieces(0))
    wrong = (
        Head(head.seq, "0" * 64, head.at),  # another history
        Head(head.seq - 1, head.hash, head.at),
        Head(head.seq + 1, head.hash, head.at),
    )
    for number, claimed in enumerate(wrong):
        assert not append(ledger, claimed, f"wrong {number}")
    assert b"".join(ledger.pieces(0)) == before
    assert append(ledger, head, "right")  # the control
    assert not append(ledger, head, "right again")
    assert memory.admin.verify(deep=True).ok


def two_following(head: Head) -> tuple[list[bytes], Head]:
    """Two appends that continue a ledger, as lines, and where it ends then."""
    first, then = following(head, "one")
    second, last = following(then, "two")
    return [*first.splitlines(), *second.splitlines()], last


LINES: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "none": lambda lines: [],
    "the last is missing": lambda lines: lines[:-1],
    "the first is missing": lambda lines: lines[1:],
    "one is there twice": lambda lines: [*lines, lines[-1]],
    "in another order": lambda lines: lines[::-1],
    "no line": lambda lines: [lines[0], b"{}"],
}


@pytest.mark.parametrize("change", LINES.values(), ids=LINES)
def test_the_server_refuses_lines_that_do_not_lead_to_the_new_head(
    memory: Memory, pool: Pool, change: Callable[[list[bytes]], list[bytes]]
) -> None:
    """Asked directly, as a program with a mistake in it would."""
    space = space_of(memory)
    head, before = space.head(), b"".join(space.ledger.pieces(0))
    lines, last = two_following(head)
    asked = {
        "space": space._place, "head": head.seq, "headed": head.hash, "hashed": last.hash,
        "dated": last.at, "targets": None, "subjects": None,
    }  # fmt: skip
    with pytest.raises(IntegrityError, match="does not continue the ledger"):
        pool.ask("append", {**asked, "lines": change(lines)})
    assert b"".join(space.ledger.pieces(0)) == before
    assert space.head() == head
    assert pool.ask("append", {**asked, "lines": lines}) == [(True,)]  # the control
    assert space.head() == last
    assert memory.admin.verify(deep=True).ok


@pytest.mark.parametrize(("minutes", "is_refused"), [(4, False), (6, True), (60 * 24, True)])
def test_an_event_that_is_dated_far_ahead_of_the_server_is_refused(
    database: str, minutes: int, is_refused: bool
) -> None:
    """A clock that is ahead would else hold back the clocks of all who write later."""
    now_us = to_microseconds(REAL.now())
    ahead = FixedSeam(start=from_microseconds(now_us + minutes * MINUTE_US))
    with closing(PostgresBackend(database, seam=ahead)) as backend:
        memory = Memory(Handle(backend.space("main", create=True), ahead))
        if not is_refused:
            memory.remember("Tea is at four.")
            return
        with pytest.raises(Unavailable, match="5 minutes ahead of its clock") as refused:
            memory.remember("Tea is at four.")
        assert "compare this machine's clock with the server's" in str(refused.value.hint)


# What no reader takes.


def strange(memory: Memory, kind: str, data: bytes, origin: Origin = "person") -> None:
    """Appends an event that this release does not write, with a chain that is right."""
    space = space_of(memory)
    head = space.head()
    lines, after = chain(head, head.at, [Draft("strange.1", kind, origin, data)], b"s" * 16)
    assert space.ledger.append(head, lines, after, None, lambda: None)


def test_a_body_that_no_reader_takes_is_reported_and_given_up(
    memory: Memory, backend: PostgresBackend, database: str
) -> None:
    """It stops its own space alone."""
    strange(memory, "record.added", b'{"id":5}')
    beside = Memory(Handle(backend.space("beside", create=True)))
    assert beside.get(beside.remember("Beside it.").id).text == "Beside it."
    with closing(PostgresBackend(database)) as fresh:
        again = Memory(Handle(fresh.space("main", create=False)))
        for each in (memory, again):
            for call in (each.list, partial(each.remember, "No.")):
                with pytest.raises(IntegrityError, match="event 3: the body"):
                    call()
            (told,) = [one for one in each.admin.doctor() if one.level == "problem"]
            assert "1 events have bodies that cannot be parsed, first 3" in told.detail
            assert "--accept-loss" in str(told.fix)
        again.admin.accept_loss(reason="written by another program")
        again.remember("Yes.")
        for each in (memory, again):
            assert [one.text for one in each.list()] == ["Yes.", "Tea is at four."]
            assert each.admin.verify(deep=True).ok
            assert not [one for one in each.admin.doctor() if one.level == "problem"]
    kinds = [one.kind for one in memory.events.list(limit=100)]
    assert kinds[3:5] == ["ledger.loss_accepted", "events.erased"]


@pytest.mark.parametrize("lie", [None, "digest", "head", "count"])
def test_a_seal_that_says_something_else_is_found(memory: Memory, lie: str | None) -> None:
    """It has the right chain, so only its own words are wrong. Without a lie: the control."""
    space = space_of(memory)
    head = space.head()
    said = LedgerSealed(
        first=1, count=head.seq, head=head.hash, digest=space.digest(), index_version=INDEX_VERSION
    )
    lies = {"digest": "d" * 64, "head": "e" * 64, "count": 1}
    if lie is not None:
        said = msgspec.structs.replace(said, **{lie: lies[lie]})
    strange(memory, "ledger.sealed", encode_body(said), "system")
    assert memory.get("tea").text == "Tea is at four."
    found = memory.admin.verify(deep=True)
    assert found.ok == (lie is None)
    assert found.broken_at == {None: None, "digest": head.seq}.get(lie, head.seq + 1)


def test_an_event_of_a_newer_release_stops_its_space_alone_and_is_not_given_up(
    memory: Memory, backend: PostgresBackend
) -> None:
    strange(memory, "record.invented", b'{"id":"one"}')
    before = b"".join(space_of(memory).ledger.pieces(0))
    for call in (memory.list, partial(memory.remember, "No."), memory.admin.accept_loss):
        with pytest.raises(Unsupported, match="a newer release wrote this ledger"):
            call()
    (told,) = [one for one in memory.admin.doctor() if one.level == "problem"]
    assert told.fix == "update Recollect"
    assert b"".join(space_of(memory).ledger.pieces(0)) == before
    beside = Memory(Handle(backend.space("beside", create=True)))
    assert beside.get(beside.remember("Beside it.").id).text == "Beside it."
    assert beside.admin.doctor()


CHANGES = (
    "DELETE FROM recollect.events WHERE seq = 2",
    "DELETE FROM recollect.events",
    "TRUNCATE recollect.events",
    "UPDATE recollect.events SET seq = 20 WHERE seq = 2",
    "UPDATE recollect.events SET space = space + 1",
    "UPDATE recollect.events SET line = '' WHERE seq = 2",
    "UPDATE recollect.events SET line = convert_to("
    "replace(convert_from(line, 'UTF8'), 'four', 'five'), 'UTF8') WHERE seq > 1",
    "UPDATE recollect.events SET line = convert_to("
    "replace(convert_from(line, 'UTF8'), '\"person\"', '\"system\"'), 'UTF8') WHERE seq > 1",
)


@pytest.mark.parametrize("change", CHANGES)
def test_plain_sql_changes_and_removes_no_event(memory: Memory, database: str, change: str) -> None:
    before = b"".join(memory._handle.space.pieces())
    with (
        psycopg.connect(database, autocommit=True) as operator,
        pytest.raises(psycopg.errors.IntegrityConstraintViolation, match="only ever added"),
    ):
        operator.execute(change.encode())
    assert b"".join(memory._handle.space.pieces()) == before


def test_control_without_the_guard_a_change_is_made_and_found(
    memory: Memory, database: str
) -> None:
    with psycopg.connect(database, autocommit=True) as operator:
        operator.execute("ALTER TABLE recollect.events DISABLE TRIGGER keep_events")
        operator.execute(CHANGES[6].encode())
    assert not memory.admin.verify().ok


def test_control_an_erasure_changes_a_line_and_a_drop_removes_all(
    memory: Memory, backend: PostgresBackend, database: str
) -> None:
    memory.erase("tea")
    assert b"four" not in b"".join(memory._handle.space.pieces())
    assert memory.admin.verify(deep=True).ok
    backend.drop("main", None)
    with psycopg.connect(database) as operator:
        assert operator.execute("SELECT 1 FROM recollect.events").fetchall() == []
