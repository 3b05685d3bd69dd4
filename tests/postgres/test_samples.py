"""Nothing about a space can be read without its token, also not from the planner's statistics."""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from recollect.index.statements import postgres_statements
from recollect.memory import Memory
from recollect.memory.handle import Handle
from recollect.store.postgres.backend import PostgresBackend
from recollect.store.postgres.db import _INSERT, _text, run
from recollect.store.postgres.migrate import migrate
from recollect.store.postgres.tokens import make_token
from tests.postgres.conftest import at
from tests.postgres.oracle import (
    ALPHABET,
    Connection,
    Oracle,
    lies_between,
    sample,
    sampled,
    samples,
    starts,
    statistics,
)
from tests.postgres.test_migrations import empty, kept, of_an_earlier_release
from tests.postgres.test_statements import is_owners, numbered
from tests.suites.conftest import Tell, tell

__all__ = ["empty", "tell"]

SERVICE = "recollect_test_service"
TEXT = "my biopsy was positive"
# Where a value of alice's lies, and the value.
CANARIES = (
    ("versions", "text", TEXT),
    ("versions", "key", "health.biopsy"),
    ("versions", "about", "alice liddell"),
    ("versions", "user", "alice.liddell"),
    ("tags", "tag", "oncology-ward"),
    ("episodes", "text", "do not tell anyone about the ward"),
    ("episodes", "session", "night-of-the-12th"),
    ("postings", "token", "lookingglass"),
)
WORDS = tuple(sorted({value for _, _, value in CANARIES} | {"alice-at-home", "alice's laptop"}))


def words(rng: random.Random, count: int = 6) -> str:
    return " ".join("".join(rng.choices("aeioustrnlm", k=5)) for _ in range(count))


def fill(url: str) -> None:
    """Two spaces, one with the canaries among many other values: each is worth a sample."""
    rng = random.Random(12)
    make_token(url, "alice's token", label="alice's laptop", space="alice-at-home", origin="person")
    make_token(url, "bob's token", label="bob's laptop", space="bob")
    backend = PostgresBackend(url)
    memory = Memory(Handle(backend.space("alice-at-home", create=False)))
    with memory.batch() as batch:
        for number in range(120):
            tags, key = [words(rng, 1) + "s"], f"{words(rng, 1)}-{number}"
            batch.remember(words(rng), key=key, about=words(rng, 2), tags=tags)
    for number in range(14):
        memory.scoped(user=f"u{number}").observe(words(rng), session=words(rng, 1))
    mine = memory.scoped(user="alice.liddell")
    mine.remember(TEXT, key="health.biopsy", about="alice liddell", tags=["oncology-ward"])
    mine.observe("do not tell anyone about the ward", session="night-of-the-12th")
    mine.remember("lookingglass")
    backend.close()


@pytest.fixture
def owner(database: str) -> Iterator[Connection]:
    """A superuser's connection to a database in which alice keeps canaries; it is analysed."""
    fill(database)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("ANALYZE")
        yield connection


@pytest.fixture
def service(owner: Connection, database: str) -> Iterator[Connection]:
    """A login with no rights but those of the service, and no token."""
    if owner.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (SERVICE,)).fetchone() is None:
        owner.execute(f"CREATE ROLE {SERVICE} LOGIN")
    owner.execute(f"GRANT recollect_app TO {SERVICE}")
    with psycopg.connect(make_conninfo(database, user=SERVICE), autocommit=True) as connection:
        run(connection, "give_up_rights", {})
        yield connection


@pytest.fixture
def oracle(service: Connection) -> Oracle:
    assert service.execute("SELECT count(*) FROM recollect.versions").fetchone() == (0,)
    return Oracle(service)


def told(oracle: Oracle) -> list[str]:
    """What the estimates say of the canaries, at their beginning and in their middle."""
    found: list[str] = []
    for table, column, value in CANARIES:
        for known in ("", value[: len(value) // 2]):
            found += oracle.letters(table, column, known, (starts, lies_between))
        if oracle.tells(table, column, value, value[::-1]):
            found.append(value)
    return found


def test_no_estimate_tells_a_letter_of_another_space(oracle: Oracle) -> None:
    assert told(oracle) == []
    assert oracle.asked > 1000


def test_control_with_samples_the_estimates_spell_out_every_canary(
    oracle: Oracle, owner: Connection
) -> None:
    sample(owner)
    for table, column, value in CANARIES:
        assert oracle.spelled(table, column, value[: len(value) // 2]).startswith(value)
    assert oracle.tells("versions", "user", "alice.liddell", "alice.lidless")
    assert oracle.letters("versions", "key", "", (lies_between,))


def estimate_of_space(oracle: Oracle, space: int) -> float:
    return oracle.estimate("versions", sql.SQL("v.space = {}").format(space))


def test_no_estimate_tells_which_spaces_there_are(oracle: Oracle, owner: Connection) -> None:
    assert estimate_of_space(oracle, 1) == estimate_of_space(oracle, 999)
    sample(owner)  # the control
    assert estimate_of_space(oracle, 1) > estimate_of_space(oracle, 999)


def test_reading_values_costs_the_same_whatever_another_space_holds(
    service: Connection, owner: Connection
) -> None:
    """A long value lies apart: whether it was fetched would tell what was compared before it."""
    backend = PostgresBackend(owner.info.dsn)
    memory = Memory(Handle(backend.space("alice-at-home", create=False)))
    rng = random.Random(5)
    long = "".join(rng.choices(ALPHABET, k=40_000))
    memory.remember(long, key="long.one")
    backend.close()
    for way in ("enable_indexscan", "enable_bitmapscan", "enable_indexonlyscan"):
        service.execute(f"SET {way} = off")
    assert fetched(service, "long.one") == fetched(service, "long.two")
    assert fetched(owner, "long.one") > fetched(owner, "long.two")  # the control: no policy


def fetched(connection: Connection, key: str) -> int:
    """How many pages a comparison of a key, then of a text, looks at."""
    question = sql.SQL(
        "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) SELECT 1 FROM recollect.versions"
        " WHERE key = {} AND lower(text) = 'x'"
    ).format(key)
    connection.execute(question)  # the first time fills caches
    row = connection.execute(question).fetchone()
    assert row is not None
    plan = row[0][0]["Plan"]
    return int(plan["Shared Hit Blocks"]) + int(plan["Shared Read Blocks"])


def test_the_statistics_are_those_of_an_empty_database(
    owner: Connection, server: str, template: str
) -> None:
    with psycopg.connect(at(server, template)) as fresh:
        said = statistics(fresh)
    assert len(said) > 100
    assert statistics(owner) == said
    assert samples(owner) == ""
    assert owner.execute(
        "SELECT reltuples > 100 FROM pg_class WHERE oid = 'recollect.versions'::regclass"
    ).fetchone() == (True,)  # it was analysed
    sample(owner)  # the control
    assert [word for word in WORDS if word not in samples(owner)] == []


@pytest.mark.parametrize("is_control", [False, True])
def test_an_erased_text_is_in_no_statistics(
    owner: Connection, database: str, is_control: bool
) -> None:
    if is_control:
        sample(owner)
    backend = PostgresBackend(database)
    memory = Memory(Handle(backend.space("alice-at-home", create=False)))
    record = memory.scoped(user="alice.liddell").keyed("health.biopsy")
    memory.erase(record.id)
    backend.close()
    owner.execute("VACUUM")
    assert (TEXT in samples(owner)) == is_control


def places(connection: Connection) -> list[str]:
    """Every catalogue and every view of the system."""
    rows = connection.execute(
        "SELECT c.oid::regclass::text FROM pg_class c WHERE c.relkind IN ('r', 'v', 'm')"
        " AND c.relnamespace IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)"
        " ORDER BY 1"
    )
    return [str(name) for (name,) in rows.fetchall()]


def found_in_catalogues(connection: Connection) -> tuple[set[str], int]:
    """The canaries that this login reads there, and how many places it could read."""
    found: set[str] = set()
    read = 0
    for place in places(connection):
        try:
            rows = connection.execute(
                sql.SQL("SELECT t::text FROM {} t").format(sql.SQL(place))
            ).fetchall()
        except psycopg.Error:
            continue  # not for this login
        read += 1
        text = "\n".join(str(cells) for (cells,) in rows)
        found |= {word for word in (*WORDS, "white rabbit") if word in text}
    return found, read


def test_no_catalogue_and_no_statistics_view_tells_a_canary(
    service: Connection, owner: Connection, database: str
) -> None:
    owner.execute("COMMENT ON TABLE recollect.versions IS 'white rabbit'")  # the control
    backend = PostgresBackend(database, token="alice's token")
    memory = Memory(Handle(backend.space("alice-at-home", create=False)))
    memory.recall("lookingglass")  # its connection stays open, with its last statement
    service.execute("RESET ROLE")  # the login has the service's rights and its own
    found, read = found_in_catalogues(service)
    backend.close()
    assert found == {"white rabbit"}
    assert read > 150


def test_no_column_of_the_schema_is_sampled(owner: Connection) -> None:
    assert sampled(owner) == []
    assert owner.execute(
        "SELECT count(*) FROM pg_statistic_ext WHERE stxnamespace = 'recollect'::regnamespace"
    ).fetchone() == (0,)


def test_what_a_release_adds_is_not_sampled_either(owner: Connection, database: str) -> None:
    owner.execute("ALTER TABLE recollect.spaces ADD COLUMN colour text")
    owner.execute("CREATE TABLE recollect.memos (space bigint, note text)")
    owner.execute("CREATE INDEX memos_by_length ON recollect.memos (space, length(note))")
    forgotten = [
        *("recollect.memos.space", "recollect.memos.note", "recollect.memos_by_length.length"),
        "recollect.spaces.colour",
    ]
    assert sorted(sampled(owner)) == sorted(forgotten)  # the control
    migrate(database)
    assert sampled(owner) == []


def guards(owner: Connection) -> list[object]:
    """Policies, triggers, indexes, constraints, and what each column is."""
    rows: list[object] = []
    for question in (
        "SELECT * FROM pg_policies WHERE schemaname = 'recollect' ORDER BY tablename, policyname",
        "SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
        " WHERE c.relnamespace = 'recollect'::regnamespace AND NOT t.tgisinternal ORDER BY 1",
        "SELECT indexdef FROM pg_indexes WHERE schemaname = 'recollect' ORDER BY 1",
        "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE connamespace = 'recollect'::regnamespace ORDER BY 1",
        "SELECT attrelid::regclass::text, attname, format_type(atttypid, atttypmod),"
        " attcollation, attnotnull, attidentity"
        " FROM pg_attribute JOIN pg_class c ON c.oid = attrelid"
        " WHERE c.relnamespace = 'recollect'::regnamespace AND attnum > 0 ORDER BY 1, 2",
    ):
        rows += owner.execute(question).fetchall()
    return rows


OLD_INDEX = """
CREATE TABLE recollect.tags (space bigint, tag text);
INSERT INTO recollect.tags SELECT 1, t FROM unnest(ARRAY['oncology-ward', 'x']) t,
  generate_series(1, 50);
CREATE SCHEMA recollect_here;
CREATE VIEW recollect_here.tags AS SELECT tag FROM recollect.tags;
CREATE TABLE recollect.index_version AS SELECT 5 AS version;
"""


def test_a_database_of_before_loses_its_samples_and_nothing_else(empty: str, database: str) -> None:
    fill(database)
    of_an_earlier_release(empty, database, "0003")
    ledger = ("spaces", "events")
    rows = kept(empty, tables=ledger)
    with psycopg.connect(empty, autocommit=True) as owner:
        owner.execute(OLD_INDEX)
        sample(owner)
        owner.execute("DELETE FROM recollect.tags")  # an empty table keeps its samples
        owner.execute("ANALYZE")
        assert "oncology-ward" in samples(owner)
        files = owner.execute("SELECT pg_relation_filenode('recollect.events')").fetchone()
        assert migrate(empty).index
        owner.execute("ANALYZE")
        assert samples(owner) == ""
        assert sampled(owner) == []
        assert kept(empty, tables=ledger) == rows
        assert (
            files == owner.execute("SELECT pg_relation_filenode('recollect.events')").fetchone()
        )  # no event was copied
        with psycopg.connect(database, autocommit=True) as fresh:
            assert guards(owner) == guards(fresh)
            assert statistics(owner) == statistics(fresh)
    make_token(empty, "new token", label="new", space="alice-at-home", origin="person")
    backend = PostgresBackend(empty, token="new token")
    memory = Memory(Handle(backend.space("alice-at-home", create=False)))
    assert TEXT in str(memory.recall("biopsy"))
    assert memory.verify().ok
    backend.close()


def scans(connection: Connection) -> set[tuple[str, str]]:
    """How every statement of the service reads the tables of the index: node and table."""
    found: set[tuple[str, str]] = set()
    for name, text in postgres_statements().items():
        if is_owners(name) or _INSERT.match(text) or not re.search(r"\b(FROM|UPDATE) ", text):
            continue
        question = f"EXPLAIN (GENERIC_PLAN, FORMAT JSON) {numbered(_text(name))}"
        plan = str(connection.execute(question.encode()).fetchone())
        found |= set(re.findall(r"'Node Type': '(\w+ Scan)'[^{}]*'Relation Name': '(\w+)'", plan))
    return found


def test_no_statement_reads_a_table_of_all_spaces_as_a_whole(
    service: Connection, database: str
) -> None:
    service.execute("RESET ROLE")
    for name in ("see_one_space", "take_indexes", "give_up_rights"):
        run(service, name, {})
    service.execute("BEGIN")
    token = {"named": "alice-at-home", "token": "alice's token", "writing": False}
    run(service, "enter", token)
    whole = {table for node, table in scans(service) if node == "Seq Scan"}
    assert whole <= {"index_version", "revision"}
    service.execute("SET LOCAL enable_seqscan = on")  # the control
    assert "versions" in {table for node, table in scans(service) if node == "Seq Scan"}


@pytest.mark.nightly
def test_the_oracle_recovers_nothing_for_as_long_as_it_asks(
    service: Connection, owner: Connection, tell: Tell
) -> None:
    """It even knows the values, and asks for a letter in them that it knows is right."""
    seconds = float(os.environ.get("RECOLLECT_ORACLE_SECONDS", "600"))
    oracle, rng, begun = Oracle(service), random.Random(1), time.monotonic()
    columns = readable(service)
    values = {place: held(owner, *place) for place in columns}
    recovered: list[str] = []
    while time.monotonic() < begun + seconds:
        table, column = rng.choice(columns)
        value = rng.choice(values[table, column] or CANARIES[0][2:])
        known = value[: rng.randrange(len(value) + 1)]
        recovered += oracle.letters(table, column, known, (starts, lies_between))
        if oracle.tells(table, column, value, value + "~"):
            recovered.append(value)
    tell(
        f"oracle: {len(''.join(recovered))} characters recovered in"
        f" {time.monotonic() - begun:.0f} s, {oracle.asked:,} questions"
    )
    assert recovered == []
    sample(owner)  # the control
    spelled = [
        oracle.spelled(table, column, value[: len(value) // 2]) for table, column, value in CANARIES
    ]
    tell(f"control, with samples: {spelled}")
    assert all(value in told for (_, _, value), told in zip(CANARIES, spelled, strict=True))


def readable(connection: Connection) -> list[tuple[str, str]]:
    """Every column of text that this login may ask about."""
    rows = connection.execute(
        "SELECT table_name, column_name FROM information_schema.columns"
        " WHERE table_schema = 'recollect' AND data_type = 'text' ORDER BY 1, 2"
    )
    return [(str(table), str(column)) for table, column in rows.fetchall()]


def held(owner: Connection, table: str, column: str) -> list[str]:
    """All values of a column, whosever they are."""
    rows = owner.execute(
        sql.SQL("SELECT DISTINCT {0} FROM recollect.{1} WHERE {0} <> ''").format(
            sql.Identifier(column), sql.Identifier(table)
        )
    )
    return [str(value) for (value,) in rows.fetchall()]
