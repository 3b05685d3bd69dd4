"""Isolation: spaces, tokens and rights, and what is left when a guard is removed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from recollect.errors import Forbidden, NotFound, RecollectError, Unavailable
from recollect.memory import Memory
from recollect.memory.handle import Handle
from recollect.model.limits import APPEND_MAX_BYTES, APPEND_MAX_EVENTS
from recollect.store.postgres import schema
from recollect.store.postgres.backend import PostgresBackend
from recollect.store.postgres.db import PostgresDb, adapt, run
from recollect.store.postgres.tokens import make_token, revoke_token
from tests.postgres.conftest import keep_checkpoint, keep_keys

CANARY = "canary7f3a"
SCRIPTS = Path(schema.__file__).parent / "sql"
APPEND = SCRIPTS / "kind_table.sql"
TABLES = (
    "recollect.events",
    "recollect.checkpoints",
    "recollect.frontiers",
    "recollect.subject_keys",
    "recollect.destroyed_keys",
    *(
        f"{schema}.{table}"
        for schema in ("recollect", "recollect_here")
        for table in (
            "position commands authors notes versions tags evidence resting replaced episodes"
            " hidden links frames documents passes sessions proposals concerns branches receipts"
            " erased postings shelves embedders vectors"
        ).split()
    ),
    "recollect_here.full_versions",
)
ALICE, BOB = "alice's secret token", "bob's secret token"
ATTACKS = (
    "SET recollect.space = '1'",
    "SELECT set_config('recollect.space', '1', false)",
    "SELECT set_config('recollect.space', '1', true), set_config('recollect.mark', 'x', true)",
    "SET recollect.mark = ''",
    "SET row_security = off",
    "SET search_path = recollect",
)


@pytest.fixture
def memory(database: str) -> Iterator[Memory]:
    """Alice's space, with a canary in every kind of row; bob has a space beside it."""
    owner = PostgresBackend(database)
    for name, token in (("alice", ALICE), ("bob", BOB)):
        verbs = ("read", "write", "erase")
        make_token(database, token, label=name, space=name, verbs=verbs, origin="person")
        mine = Memory(Handle(owner.space(name, create=True)))
        text = CANARY if name == "alice" else "nothing"
        said = mine.observe(f"{text} was said", role="user", id=f"e-{text}")
        record = mine.remember(
            f"{text} holds", key=text, tags=[text], evidence=[said[0].id], id=f"r-{text}"
        )
        other = mine.remember(f"{text} too", about=text)
        mine.link(record.id, other.id, "relates_to")
        mine.revise(record.id, f"{text} held")
        mine.forget(said[0].id)
        keep_checkpoint(mine)
        keep_keys(database, name, text)
    backend = PostgresBackend(database, token=ALICE)
    yield Memory(Handle(backend.space("alice", create=False)))
    backend.close()
    owner.close()


def raw(database: str) -> psycopg.Connection[object]:
    """A connection as the service's role, as a fragment of injected SQL would have it."""
    connection = psycopg.connect(database, autocommit=True)
    run(connection, "give_up_rights", {})
    return connection


def seen(connection: psycopg.Connection[object]) -> list[str]:
    """Tables of which this connection sees a row."""
    return [
        table
        for table in TABLES
        if connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is not None
    ]


def test_a_token_opens_its_own_space(memory: Memory, database: str) -> None:
    assert CANARY in str(memory.recall(CANARY))
    bob = PostgresBackend(database, token=BOB)
    try:
        assert bob.spaces() == ["bob"]
        for name in ("alice", "nobody"):
            with pytest.raises(NotFound) as refusal:
                Memory(Handle(bob.space(name, create=True))).list()
            assert refusal.value.message.replace(name, "") == ("this token opens no space named ''")
    finally:
        bob.close()


def test_without_entering_nothing_is_seen(memory: Memory, database: str) -> None:
    with raw(database) as connection:
        assert seen(connection) == []
        for attack in ATTACKS:
            try:
                connection.execute(attack)
            except psycopg.Error:
                continue
            with suppress(psycopg.errors.InsufficientPrivilege):
                assert seen(connection) == [], attack


def test_inside_one_space_no_setting_leads_to_another(memory: Memory, database: str) -> None:
    with raw(database) as connection:
        for attack in ATTACKS:
            connection.execute("BEGIN")
            run(connection, "enter", {"named": "bob", "token": BOB, "writing": False})
            assert {"recollect.versions", "recollect.checkpoints"} <= set(seen(connection))
            try:
                connection.execute(attack)
                for table in TABLES:
                    rows = connection.execute(f"SELECT t::text FROM {table} t").fetchall()
                    assert CANARY not in str(rows), (attack, table)
            except psycopg.Error:
                pass
            connection.execute("ROLLBACK")


ENTER = "SELECT recollect.enter('bob', '{}', true);".format(BOB.replace("'", "''"))
KEEP = """
SELECT set_config('keep.' || n, current_setting('recollect.' || n), false)
FROM unnest(ARRAY['space', 'token', 'rights', 'user', 'agent', 'mark']) n;
"""
AGAIN = """
SELECT set_config('recollect.' || n, current_setting('keep.' || n), true)
FROM unnest(ARRAY['space', 'token', 'rights', 'user', 'agent', 'mark']) n;
SELECT count(*) FROM recollect.versions;
"""
LATER = (  # messages in which a mark of one transaction is used in another
    [f"BEGIN; {ENTER} {KEEP} COMMIT; BEGIN; {AGAIN}"],
    [f"{ENTER} {KEEP} COMMIT; BEGIN; {AGAIN}"],
    [f"BEGIN; {ENTER} {KEEP} COMMIT AND CHAIN; {AGAIN}"],
    ["BEGIN", f"{ENTER} {KEEP} COMMIT; BEGIN; {AGAIN}"],
    ["BEGIN", f"{ENTER} {KEEP} COMMIT AND CHAIN; {AGAIN}"],
    ["BEGIN", f"{ENTER} {KEEP} COMMIT", f"BEGIN; {AGAIN}"],
)


def last_count(connection: psycopg.Connection[object], messages: list[str]) -> str:
    """What the last statement counted."""
    try:
        for message in messages[:-1]:
            connection.execute(message)
        cursor = connection.execute(messages[-1])
        while cursor.nextset():
            pass
        return str(cursor.fetchone())
    except psycopg.Error:
        return "refused"
    finally:
        connection.rollback()


@pytest.mark.parametrize("messages", LATER)
def test_a_mark_is_worth_nothing_in_another_transaction(
    memory: Memory, database: str, messages: list[str]
) -> None:
    with raw(database) as connection:
        assert last_count(connection, messages) in ("(0,)", "refused")


def test_control_a_mark_holds_in_its_own_transaction(memory: Memory, database: str) -> None:
    with raw(database) as connection:
        assert last_count(connection, ["BEGIN", f"{ENTER} {KEEP} {AGAIN}"]) == "(3,)"


def test_control_without_a_message_of_its_own_a_mark_outlives_its_transaction(
    memory: Memory, database: str
) -> None:
    with psycopg.connect(database, autocommit=True) as owner:
        found = owner.execute("SELECT pg_get_functiondef('recollect.enter'::regproc)").fetchone()
        text = str(found[0] if found else "").replace(
            "statement_timestamp() <= transaction_timestamp()", "false"
        )
        owner.execute(text.encode())
    with raw(database) as connection:
        assert last_count(connection, LATER[0]) == "(3,)"


def every_text(
    backend: PostgresBackend, memory: Memory, id: str, text: str
) -> list[Callable[[], object]]:
    """Calls with this in each place where a call takes a text."""
    return [
        lambda: memory.recall(text),
        lambda: memory.list(filter=f"text = {text!r}"),
        lambda: memory.list(filter=text),
        lambda: memory.get(text),
        lambda: memory.tag(id, text),
        lambda: memory.revise(id, text, reason=text),
        lambda: memory.observe(text, role="user", metadata={"a": text}),
        lambda: memory.scoped(user=text, session=text, agent=text).list(),
        lambda: memory.remember("x", idempotency_key=text),
        lambda: memory.at(text),
        lambda: Memory(Handle(backend.space(text, create=True))).list(),
    ]


def test_no_text_of_a_caller_is_ever_run(memory: Memory, database: str) -> None:
    """The attacks in every text that a call takes: kept or refused as text, and nothing crosses."""
    backend = PostgresBackend(database, token=BOB)
    try:
        bob = Memory(Handle(backend.space("bob", create=False)))
        for attack in (*ATTACKS, f"x'; {ATTACKS[0]}; --", "%(named)s :space $1 ? %s"):
            record = bob.remember(attack, key=attack, about=attack, tags=["t"], data={"a": attack})
            assert bob.get(record.id).text == attack
            for ask in every_text(backend, bob, record.id, attack):
                with suppress(RecollectError):
                    assert CANARY not in repr(ask())
            assert CANARY not in repr(bob.list(limit=1_000)), attack
            assert not bob.recall(CANARY).hits, attack
        assert bob.verify().ok
    finally:
        backend.close()
    assert CANARY in repr(memory.list())


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO recollect.events VALUES (1, 99, 'h', 'b')",
        "UPDATE recollect.events SET body = ''",
        "DELETE FROM recollect.events",
        "TRUNCATE recollect.events",
        "SELECT * FROM recollect.tokens",
        "SELECT key FROM recollect.tokens",
        "SELECT * FROM recollect.spaces",
        "UPDATE recollect.revision SET version_num = '9999'",
        "UPDATE recollect.index_version SET version = 1",
        "SELECT recollect.sign(1)",
        "INSERT INTO recollect.position VALUES (1, 1, 'x', 0, '', '', 0, 0, 0)",
    ],
)
def test_the_service_cannot_go_round_the_functions(
    memory: Memory, database: str, statement: str
) -> None:
    with raw(database) as connection:
        connection.execute("BEGIN")
        run(connection, "enter", {"named": "bob", "token": BOB, "writing": True})
        with pytest.raises(psycopg.Error):
            connection.execute(statement)


def test_the_owner_too_meets_the_guard_of_events(memory: Memory, database: str) -> None:
    with psycopg.connect(database, autocommit=True) as owner:
        for statement in (
            "UPDATE recollect.events SET body = 'x'",
            "UPDATE recollect.events SET header = 'x'",
            "DELETE FROM recollect.events",
            "TRUNCATE recollect.events",
        ):
            with pytest.raises(psycopg.errors.IntegrityConstraintViolation):
                owner.execute(statement)


def test_a_token_gives_no_more_than_it_says(memory: Memory, database: str) -> None:
    make_token(database, "reads", label="r", space="alice", verbs=["read"], origin="person")
    make_token(database, "agent", label="a", space="alice", user="ann")
    for token, trust, user in (("reads", "person", None), ("agent", "agent", "ann")):
        backend = PostgresBackend(database, token=token)
        try:
            space = backend.space("alice", create=False)
            assert space.widest is not None
            assert (space.widest.trust, space.widest.user) == (trust, user)
            mine = Memory(Handle(space))
            if token == "reads":
                with pytest.raises(Forbidden):
                    mine.remember("not allowed")
                assert mine.list()
                packed = mine.context(mine.list()[0].text)
                assert packed.text
                assert packed.receipt is None  # a token that may only read writes no receipt
                mine.flush()
                with pytest.raises(Forbidden):
                    mine.frames.set({**mine.frames.get("task").to_dict(), "name": "mine"})
            else:
                record = mine.remember("an agent says")
                assert record.trust == "agent"
                with pytest.raises(RecollectError):
                    mine.scoped(origin="person")
                with pytest.raises(Forbidden):
                    mine.erase(record.id)
        finally:
            backend.close()


def test_a_token_without_erase_is_told_so_whatever_it_erases_by(
    memory: Memory, database: str
) -> None:
    memory.remember("The seat is 14C.", key="seat")
    for token, verbs in (("no", ["read", "write"]), ("yes", ["read", "write", "erase"])):
        make_token(database, token, label=token, space="alice", verbs=verbs, origin="person")
        backend = PostgresBackend(database, token=token)
        try:
            mine = Memory(Handle(backend.space("alice", create=False)))
            record = mine.remember("an id", key="other")
            if token == "no":
                for wish in ({"id": record.id}, {"key": "seat"}, {"filter": "key = 'seat'"}):
                    with pytest.raises(Forbidden, match="this token may not erase in 'alice'"):
                        mine.erase(**wish)  # type: ignore[arg-type]
            else:
                assert mine.erase(key="seat").records  # the control
        finally:
            backend.close()


def test_the_server_refuses_what_a_dishonest_client_would_write(
    memory: Memory, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the client's own check: the ceiling holds on the server too."""
    make_token(database, "agent", label="a", space="alice")
    monkeypatch.setattr("recollect.store.grants.Grant.check", lambda self, command: None)
    backend = PostgresBackend(database, token="agent")
    try:
        forged = Memory(Handle(backend.space("alice", create=False), actor=memory._handle.actor))
        with pytest.raises((Forbidden, Unavailable)):
            forged.remember("a person says so")
    finally:
        backend.close()
    assert not [record for record in memory.list() if "person says" in record.text]


def test_a_token_never_waits_for_a_space_of_another(memory: Memory, database: str) -> None:
    """Neither by holding its lock nor by waiting for it does a stranger learn that it exists."""
    with raw(database) as holder, raw(database) as stranger:
        holder.execute("BEGIN")
        run(holder, "enter", {"named": "alice", "token": ALICE, "writing": True})
        stranger.execute("SET lock_timeout = '5s'")
        for named in ("alice", "nobody"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                run(stranger, "enter", {"named": named, "token": BOB, "writing": True})
        holder.execute("ROLLBACK")


def test_the_server_knows_how_long_an_append_may_be() -> None:
    known = re.search(r"cardinality\(lines\) > (\d+) OR .* > (\d+) THEN", APPEND.read_text("utf-8"))
    assert known is not None
    assert int(known[1]) == APPEND_MAX_EVENTS
    assert APPEND_MAX_BYTES < int(known[2]) < 2 * APPEND_MAX_BYTES  # more no reader takes


@pytest.mark.parametrize("place", [0, 1, 2, None])
def test_additions_that_travel_together_are_each_checked(
    memory: Memory, database: str, place: int | None
) -> None:
    """With none of them for somebody else's space, which is the control, they are taken."""
    rows = {
        "add_tag": ("t", "r", 1, 2),
        "add_hidden": ("e", "w", 1, 2, None),
        "add_erased": (99, 100),
    }
    with raw(database) as connection:
        adapt(connection)
        connection.execute("BEGIN")
        params = {"named": "bob", "token": BOB, "writing": True}
        mine = int(str(run(connection, "enter", params)[0][0]))
        connection.execute("SET search_path = recollect_here")
        db = PostgresDb(connection)
        for number, (name, row) in enumerate(rows.items()):
            db.space = mine + 1 if number == place else mine
            db.many(name, [row])
        if place is None:
            assert db.one("get_erased", {"seq": 99}) == (100,)
        else:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                db.one("get_erased", {"seq": 99})
        connection.execute("ROLLBACK")


def test_a_revoked_token_opens_nothing(memory: Memory, database: str) -> None:
    assert revoke_token(database, "alice") == 1
    with pytest.raises(Forbidden, match="revoked"):
        memory.list()


@pytest.mark.parametrize(
    "guard",
    [
        "ALTER TABLE recollect.versions DISABLE ROW LEVEL SECURITY",
        "DROP POLICY entered ON recollect.versions; "
        "CREATE POLICY entered ON recollect.versions USING (true)",
        "CREATE OR REPLACE FUNCTION recollect.here() RETURNS bigint LANGUAGE sql STABLE AS "
        "$$ SELECT nullif(current_setting('recollect.space', true), '')::bigint $$",
    ],
)
def test_control_each_guard_that_is_gone_is_seen(memory: Memory, database: str, guard: str) -> None:
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(guard)
    with raw(database) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT set_config('recollect.space', '1', true)")
        connection.execute("SELECT set_config('recollect.user', '', true)")
        found = str(connection.execute("SELECT text FROM recollect.versions").fetchall())
        assert CANARY in found
