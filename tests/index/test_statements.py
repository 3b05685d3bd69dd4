"""Every named statement is known to a real engine, and used."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import get_args

import pytest

import recollect
from recollect import Memory
from recollect.index import digest
from recollect.index import statements as module
from recollect.index.reads import Reads
from recollect.index.rows import EpisodeRow, LinkRow, PositionRow, VersionRow
from recollect.index.statements import NOW, STILL, schema, statements
from recollect.index.tables import Names
from recollect.lifecycle.commands import Reinforce, Revise
from recollect.memory.handle.handle import handle_of
from recollect.model.events import KINDS
from recollect.model.values import EventUnit
from recollect.store.sqlite import SqliteDb, _position_mark, memory_index

SOURCE = Path(recollect.__file__).parent


@pytest.fixture
def engine() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.create_function("position_mark", 4, _position_mark)
        connection.executescript(schema())
        yield connection


@pytest.mark.parametrize("name", sorted(statements()))
def test_every_statement_is_prepared(engine: sqlite3.Connection, name: str, tmp_path: Path) -> None:
    text = statements()[name]
    if name in ("commit", "rollback"):
        engine.execute("BEGIN")
    if name == "copy_to":
        engine.execute(text, (str(tmp_path / "copy.db"),))
        return
    if name.startswith("words_"):
        engine.execute(statements()[f"show_{name}"])
    if name in ("release", "rollback_to"):
        engine.execute("SAVEPOINT command")
    if text.startswith(("BEGIN", "COMMIT", "ROLLBACK", "SAVE", "RELEASE", "VACUUM", "PRAGMA")):
        engine.execute(text)
        return
    named = dict.fromkeys(re.findall(r":(\w+)", text))
    numbered = len(set(re.findall(r"\?\d+", text)))
    engine.execute(f"EXPLAIN {text}", named or (None,) * (numbered or text.count("?")))


def test_every_statement_is_used() -> None:
    code = "\n".join(
        path.read_text() for path in SOURCE.rglob("*.py") if path.name != "statements.py"
    )
    built = {
        "show_words_",
        "words_",
        "sizes_",
        "totals_",
        "digest_",
        "match_",
        "count_",
        "merge_",
        "shelve_",
        "unshelve_",
        "list_events",
        "list_last_events",
        "log_",
        "every_",
    }
    for name in statements():
        family = next((prefix for prefix in built if name.startswith(prefix)), None)
        assert f'"{name}"' in code or (
            family and (f'f"{family}' in code or f'"{family}' in code)
        ), name


def test_rows_stand_in_the_order_of_the_schema(engine: sqlite3.Connection) -> None:
    def columns(table: str) -> list[str]:
        return [row[1] for row in engine.execute(f"PRAGMA table_info({table})")]

    assert columns("versions") == columns("full_versions") == list(VersionRow._fields)
    assert columns("episodes") == list(EpisodeRow._fields)[:-1]
    assert columns("links") == list(LinkRow._fields)
    assert columns("position")[1:] == [*PositionRow._fields, "mark", "active", "sealed"]


LISTED = {
    ("commands", "author"),
    ("commands", "origin"),
    ("hidden", "origin"),
    ("versions", "tz_minutes"),
    ("episodes", "transient"),
}  # log_digest has them


def test_the_digest_knows_every_float_and_every_until(engine: sqlite3.Connection) -> None:
    tables = {row[0] for row in engine.execute("SELECT name FROM sqlite_schema")}
    for table, columns, floats in digest.TABLES:
        assert table in tables
        cursor = engine.execute(statements()[f"digest_{table}"], {"at": 0})
        names = [column[0] for column in cursor.description]
        kinds = {row[1]: row[2] for row in engine.execute(f"PRAGMA table_info({table})")}
        assert names == [name for name in kinds if (table, name) not in LISTED]
        assert columns == tuple(names)
        assert floats == tuple(name for name in names if kinds[name] == "REAL")


# They ask only for rows whose own event brought the text.
OWN_TEXTS = {"texts_after", "texts_rest"}


def reads_stored_text(engine: sqlite3.Connection, text: str) -> bool:
    """True if a statement reads what a row of versions holds as text, and not through the view."""
    found: list[str | None] = []

    def look(
        action: int, table: str | None, column: str | None, _: str | None, view: str | None
    ) -> int:
        if action == sqlite3.SQLITE_READ and (table, column) == ("versions", "text"):
            found.append(view)
        return sqlite3.SQLITE_OK

    engine.set_authorizer(look)
    named = dict.fromkeys(re.findall(r":(\w+)", text))
    try:
        engine.execute(f"EXPLAIN {text}", named or (None,) * text.count("?"))
    finally:
        engine.set_authorizer(None)
    return any(view != "full_versions" for view in found)


def test_every_text_of_a_version_is_read_through_the_view(engine: sqlite3.Connection) -> None:
    """The rows themselves lack the long ones."""
    selects = {name: text for name, text in statements().items() if "SELECT" in text}
    asked = {name: text for name, text in selects.items() if "versions" in text}
    assert len(asked) > 20
    assert {name for name, text in asked.items() if reads_stored_text(engine, text)} == OWN_TEXTS
    assert all("seq = " in selects[name] and "text_seq" in selects[name] for name in OWN_TEXTS)


def test_control_a_statement_that_reads_the_stored_text_is_seen(engine: sqlite3.Connection) -> None:
    for name in ("get_version", "list_versions", "texts_recallable", "twins"):
        text = statements()[name]
        assert not reads_stored_text(engine, text)
        assert reads_stored_text(engine, text.replace("full_versions", "versions")), name


EVENT_WORDS = {
    "",
    "/",
    "rules/",
    "record.",
    "proposal.",
    *KINDS,
    *(kind.partition(".")[2] for kind in KINDS),
} | set(get_args(EventUnit))


def test_no_statement_holds_a_value() -> None:
    """Parameters are bound; the only literals are closed words of the schema."""
    words = {"shadowed", "forgotten", "active", "unverified", "added", "superseded", "delete"}
    words |= {"inbox", "restored", "held", "reviewed", "archived", "derived_from", *Names._fields}
    words |= {"vouched", "person", "agent", "refuted"}
    words |= {"proposal", "record", "expired", "others", "shown"}
    words |= {"waiting", "replaced"}  # and the last five: why v is hidden
    words |= {"table"}  # of SQLite's own list
    for name, text in statements().items():
        literals = set(re.findall(r"'([^']*)'", text)) - {"", " ", "optimize", "integrity-check"}
        if name.startswith(("list_events", "list_last_events")):  # kinds, and what they are about
            literals = {word.strip("%, ") for word in literals} - EVENT_WORDS
        assert literals <= words, name
        assert {int(n) for n in re.findall(r"\b\d{3,}\b", text)} <= {STILL}, name


def test_a_name_stands_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.sql").write_text("-- name: a\nSELECT 1;\n-- name: a\nSELECT 2;\n")
    monkeypatch.setattr(module, "_HERE", tmp_path)
    (tmp_path / "z.sql").write_text("-- name: b\nSELECT 3;\n")
    (tmp_path / "y.sql").write_text("-- name: a\nSELECT 1;\n-- name: b\nSELECT 2;\n")
    with pytest.raises(ValueError, match=r"x\.sql defines a"):
        module._load("x.sql")
    with pytest.raises(ValueError, match=r"z\.sql defines b"):
        module._load("y.sql", "z.sql")
    assert module._load("y.sql") == {"a": "SELECT 1", "b": "SELECT 2"}


def test_a_page_far_down_a_list_takes_no_more_steps_than_the_first(
    engine: sqlite3.Connection,
) -> None:
    add = statements()["add_version"]
    blank: dict[str, object] = dict.fromkeys(VersionRow._fields, "")
    blank |= {"until": STILL, "text_seq": 1, "confidence": 1.0, "is_hypothesis": 0}
    blank |= {
        "reinforcement_count": 0,
        "last_reinforced_at": 0.0,
        "tz_minutes": 0,
        "status": "active",
    }
    rows = [tuple((blank | {"seq": seq}).values()) for seq in range(1, 4_001)]
    engine.executemany(add, rows)

    def steps(last: int) -> int:
        taken = 0

        def count() -> int:
            nonlocal taken
            taken += 1
            return 0

        params = {"at": STILL - 1, "last": last, "statuses": '["active"]', "user": None}
        engine.set_progress_handler(count, 10)
        found = engine.execute(statements()["list_versions"], {**params, "limit": 20}).fetchall()
        engine.set_progress_handler(None, 0)
        assert [row[1] for row in found] == list(range(last, last - 20, -1))
        return taken

    assert steps(100) <= 2 * steps(4_000)


# What was: however much of it there is, these find what holds now by a key.
BY_KEY = {
    "about_now": "versions_about (about=? AND status=? AND user=?)",
    "derived_from": "PRIMARY KEY (episode=?)",
    "end_preset": "presets_by_name (name=? AND until=?)",
    "end_hidden": "(episode=? AND until=? AND why=?)",
    "end_link": "links_by_source (source=? AND target=? AND kind=? AND until=?)",
    "end_tag": "tags_by_record (record=? AND tag=? AND until=?)",
    "get_episode": "(episode=? AND until>?)",
    "get_preset": "presets_by_name (name=? AND until>?)",
    "get_link": "links_by_source (source=? AND target=? AND kind=? AND until=?)",
    "holder": "versions_by_key (key=? AND status=? AND user=?)",
    "last_named": "(episode=? AND record=?)",
    "open_session_now": "sessions_closed (closed=? AND opened<?)",
    "open_session_of_user_now": "sessions_closed_of_user (user=? AND closed=? AND opened<?)",
    "links_around": "links_from (source=? AND rowid<?)",
    "list_sessions_of_user": "sessions_of_user (user=? AND seq<?)",
    "sessions_named": "(id=?)",
    "twins": "versions_by_content (content_id=? AND status=? AND user=?)",
}


@pytest.mark.parametrize("name", BY_KEY)
def test_what_holds_now_is_found_by_a_key(name: str) -> None:
    sql = statements()[name]
    named = dict.fromkeys(re.findall(r":(\w+)", sql), 1)
    with closing(memory_index("main")) as db:
        plan = db._connection.execute(
            f"EXPLAIN QUERY PLAN {sql}", named or [1] * sql.count("?")
        ).fetchall()
    assert any(BY_KEY[name] in str(row[3]) for row in plan)


def test_links_are_followed_without_reading_a_table_as_a_whole() -> None:
    sql = statements()["links_around"]
    named = dict.fromkeys(re.findall(r":(\w+)", sql), 1)
    with closing(memory_index("main")) as db:
        plan = [row[3] for row in db._connection.execute(f"EXPLAIN QUERY PLAN {sql}", named)]
    assert sum("SEARCH v USING INDEX versions_by_id (id=? AND seq<?)" in step for step in plan) == 2
    assert not [step for step in plan if re.match(r"SCAN [oinlv]\b", step)]


@pytest.mark.parametrize("name", ["list_events", "list_last_events"])
def test_a_page_of_events_is_looked_up_wherever_it_is(
    engine: sqlite3.Connection, name: str
) -> None:
    """Each part begins at its place in an index and has its order from it, so it stops early."""
    params = {"after": 5, "before": 9, "limit": 3, "chars": 9, "kinds": ""}
    plan = [row[3] for row in engine.execute(f"EXPLAIN QUERY PLAN {statements()[name]}", params)]
    parts = {"records", "episodes", "forgotten", "restored", "linked", "unlinked", "handed"}
    parts |= {"presets", "unframed", "documents", "undocumented", "erasing", "noted", "erased"}
    parts |= {"opened", "closed", "passes"}
    for part in parts:
        start, end = plan.index(f"CO-ROUTINE {part}"), plan.index(f"SCAN {part}")
        steps = plan[start + 1 : end]
        assert re.search(r"SEARCH \w USING .*>\? AND \w+<\?", steps[0]), part
        assert not [step for step in steps if "B-TREE" in step or "SCAN" in step], part
    whole = statements()[name].replace("v.seq > :after", "+v.seq > :after")  # the control
    found = [row[3] for row in engine.execute(f"EXPLAIN QUERY PLAN {whole}", params)]
    assert not re.search(r"SEARCH .*>\? AND", found[found.index("CO-ROUTINE records") + 1])


def filled(count: int) -> SqliteDb:
    """An index with this many versions of one user, and one of another."""
    blank: dict[str, object] = dict.fromkeys(VersionRow._fields, "")
    blank |= {"until": STILL, "text_seq": 1, "confidence": 1.0, "is_hypothesis": 0}
    blank |= {"reinforcement_count": 0, "last_reinforced_at": 0.0, "what": "added", "user": "ben"}
    blank["tz_minutes"] = 0
    db = memory_index("main")
    rows: list[dict[str, object]] = [{"seq": seq} for seq in range(1, count + 1)]
    rows.append({"seq": count + 1, "user": "ann"})
    cells = [tuple((blank | row).values()) for row in rows]
    db._connection.executemany(statements()["add_version"], cells)
    return db


def steps_of(db: SqliteDb, sql: str, params: dict[str, object]) -> tuple[int, int]:
    """How many rows a statement finds, and how many tens of steps it takes."""
    taken = 0

    def count() -> int:
        nonlocal taken
        taken += 1
        return 0

    db._connection.set_progress_handler(count, 10)
    found = db._connection.execute(sql, params).fetchall()
    db._connection.set_progress_handler(None, 0)
    return len(found), taken


@pytest.mark.parametrize("name", ["list_events", "list_last_events"])
def test_events_of_another_kind_or_user_are_not_read(name: str) -> None:
    page = {"after": 0, "before": 9_999, "limit": 10, "chars": 9, "kinds": ""}
    wholly = {**page, "kinds": ",record.forgotten,"}  # the control reads every version
    with closing(filled(50)) as few, closing(filled(4_000)) as many:
        rare = statements()[f"{name}_for_user"], {**page, "user": "ann"}
        assert steps_of(many, *rare) == steps_of(few, *rare)
        assert steps_of(many, *rare)[0] == 1
        presets = statements()[name], {**page, "kinds": ",frame.set,"}
        assert steps_of(many, *presets) == steps_of(few, *presets)
        every = statements()[name], wholly
        assert steps_of(many, *every)[1] > 10 * steps_of(few, *every)[1]


@contextmanager
def changed_often(count: int) -> Iterator[SqliteDb]:
    """A record with so many texts, each reinforced once."""
    with Memory.open(":memory:") as memory:
        memory.remember("The port is 0", id="often")
        for number in range(count):
            text = f"The port is {number + 1}"
            memory.events.submit(Revise(id="often", text=text), Reinforce(id="often"))
        with handle_of(memory).reading() as reads:
            assert isinstance(reads.db, SqliteDb)
            yield reads.db


def test_texts_are_found_without_reading_every_version_of_their_record() -> None:
    """Recall looks up many earlier texts of a record at once."""
    with changed_often(100) as few, changed_often(1_000) as many:
        for name, found in (("cards_of_changed_texts", 1), ("last_cards_of_texts", 60)):
            steps = []
            for db in (few, many):
                (last,) = db.rows("command_at", {"seq": NOW})
                seqs = [2, *range(int(str(last[0])) - 1, 0, -2)][:60]
                params: dict[str, object] = {"seqs": json.dumps(seqs), "at": NOW}
                rows, taken = steps_of(db, statements()[name], params)
                assert rows == found
                steps.append(taken)
            assert steps[0] > 20  # the control: steps are counted
            assert steps[1] < 2 * steps[0], name


def test_the_earlier_texts_of_a_record_are_read_one_by_one() -> None:
    with changed_often(50) as db:
        reads = Reads(db)
        now = reads.version("often")
        assert now is not None
        texts = [row.text for row in reads.earlier_texts(now, 3)]
        assert texts == ["The port is 49", "The port is 48", "The port is 47"]
        every = reads.earlier_texts(now, 99)
        assert (len(every), every[-1].seq, every[0].what) == (50, now.seq - 100, "reinforced")
