"""S2: the condition of a rule: what it means, compared with SQLite, and what is refused."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, SupportsIndex

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.contracts.episodic import (
    ConsolidationRule,
    ConsolidationRuleError,
    Episode,
    SQLiteMemoryStore,
    sqlite_times,
    sqlite_words,
)
from recollect.contracts.episodic.table import stored_metadata, table_row
from recollect.contracts.episodic.terms import Condition
from recollect.contracts.episodic.where import condition_of
from recollect.index.filter.parse import parse
from recollect.index.rows import EpisodeRow
from recollect.testing.episodic_suite import episode, put, rule

EPISODES = [
    episode("a", 1, "Tea at 4.", mood="calm", n=1, flag=True),
    episode("b", 2, "100% sure_", mood="tense", n=2.5, flag=False),
    episode("c", 3, "[tea] *at* 4?", mood=None, n=0),
    episode("d", 4, "Zoë's 'tea'", user="bob", nested={"k": "v", "odd key": 1}),
    episode("e", 5, "99", session="S2", agent="web", mood="calm", n=1),
    episode("f", 6, "tea at 4.", user="Alice", mood="", n=-3),
]


def row(told: Episode, seq: int) -> EpisodeRow:
    """The row of an episode, as the index has it."""
    stamp = told.timestamp.isoformat(timespec="microseconds")[:26] + "Z"
    return EpisodeRow(
        id=told.id,
        seq=seq,
        text=told.content,
        role="assistant",
        user=told.user,
        session=told.session,
        agent=told.agent,
        said_at=stamp,
        at=stamp,
        metadata=msgspec.json.encode(stored_metadata(told)).decode(),
        origin="agent",
        trust="agent",
        hidden=None,
    )


ROWS = [row(told, seq) for seq, told in enumerate(EPISODES, 1)]


@cache
def table() -> sqlite3.Connection:
    """The same episodes in the stated table; ``content`` is their text, as conditions mean it."""
    db = sqlite3.connect(":memory:", check_same_thread=False)
    db.execute(
        "CREATE TABLE episodes (id TEXT, scope_key TEXT, content TEXT, timestamp TEXT,"
        ' metadata TEXT, "user" TEXT, session TEXT, agent TEXT, source_node TEXT)'
    )
    for told in EPISODES:
        columns = table_row(told)
        db.execute(
            "INSERT INTO episodes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                told.id,
                columns["scope_key"],
                told.content,
                columns["timestamp"],
                columns["metadata"].decode(),
                told.user,
                told.session,
                told.agent,
                told.source_node,
            ),
        )
    return db


NOW = "2026-03-02T12:30:15.250000Z"


def read(when_filter: str) -> Condition | None:
    return condition_of(when_filter, NOW)


def chosen(when_filter: str) -> str:
    found = read(when_filter)
    if found is None:
        return "".join(one.id for one in ROWS)
    chosen = [one for one in ROWS if found.matches(one)]
    narrowed = None if found.narrowed is None else parse(found.narrowed)
    assert all(narrowed is None or narrowed.matches(one) for one in chosen), "read is a part of it"
    return "".join(one.id for one in chosen)


def chosen_by_sqlite(when_filter: str) -> str:
    where = f"WHERE {when_filter}" if when_filter.strip() else ""
    rows = table().execute(f"SELECT id FROM episodes {where} ORDER BY timestamp")
    return "".join(id for (id,) in rows)


# What it means.


@pytest.mark.parametrize(
    "when_filter",
    [
        "",
        "id = 'a'",
        "id == 'a' or ID <> 'a'",
        "episodes.id IN ('a', 'b') AND NOT id IN ('b')",
        "id NOT IN ('a', 'b')",
        "\"user\" = 'alice'",
        "session != 'S1' OR agent = 'web'",
        "source_node = 'node-1'",
        "content = 'Zoë''s ''tea'''",
        "content GLOB '*tea*'",
        "content GLOB 'Tea*'",
        "content NOT GLOB '*tea*'",
        "content LIKE '99'",
        "content GLOB '*'",
        "metadata ->> 'n' GLOB '*'",
        "metadata ->> 'n' NOT GLOB '*'",
        "metadata ->> 'n' NOT LIKE '%'",
        "NOT (metadata ->> 'mood' NOT GLOB '*')",
        "metadata ->> 'mood' NOT GLOB 'c*'",
        "metadata ->> 'mood' NOT LIKE ''",
        "metadata ->> 'nested' IS NOT NULL AND metadata ->> 'nested' GLOB '*'",
        "json_extract(metadata, '$.flag') < 10",
        "NOT json_extract(metadata, '$.flag') > 0.5",
        "json_extract(metadata, '$.flag') BETWEEN 1 AND 2",
        "timestamp >= '2026-03-01T14:00:00.000000+00:00'",
        "timestamp BETWEEN '2026-03-01T13:00:00.000000+00:00'"
        " AND '2026-03-01T15:00:00.000000+00:00'",
        "json_extract(metadata, '$.mood') = 'calm'",
        "NOT json_extract(metadata, '$.mood') = 'calm'",
        "json_extract(metadata, '$.mood') != 'calm'",
        "json_extract(metadata, '$.mood') IS NULL",
        "json_extract(metadata, '$.mood') IS NOT NULL",
        "metadata ->> 'mood' IN ('calm', '')",
        "metadata ->> '$.mood' NOT IN ('calm', '')",
        "json_extract(metadata, '$.flag') = 1",
        "json_extract(metadata, '$.flag') = TRUE",
        "json_extract(metadata, '$.flag') <> false",
        "json_extract(metadata, '$.n') > 0.5",
        "json_extract(metadata, '$.n') BETWEEN -3 AND 1",
        "NOT (json_extract(metadata, '$.n') > 0 AND json_extract(metadata, '$.mood') = 'calm')",
        "NOT (NOT (NOT id = 'a'))",
        "json_extract(metadata, '$.nested.k') = 'v'",
        "json_extract(metadata, '$.nested.\"odd key\"') = 1",
        "scope_key = '/user/alice/session/S1/agent/rag/'",
        "scope_key <> '/user/alice/session/S1/agent/rag/'",
        "scope_key IN ('/user/bob/session/S1/agent/rag/')",
        "id='a'OR(id='b')",
        "content LIKE '%TEA%'",
        "content LIKE 'tea at _.'",
        "content LIKE '%zo\u00cb%'",  # SQLite knows the case of ASCII letters only
        "content NOT LIKE '%t%a%4%'",
        "content LIKE '100!% sure!_' ESCAPE '!'",
        "content LIKE '_ea_at%' OR content GLOB '?tea]*4?'",
        "content GLOB '*4.'",
        "content LIKE ''",
        "metadata LIKE '%\"calm\"%'",
        "metadata ->> 'mood' LIKE 'C_L%'",
        "timestamp LIKE '2026-03-01T14%'",
        "1=1",
        "1 = 2 OR 'a' < 'b'",
        "TRUE AND NOT FALSE",
        "id = content OR session <> agent",
        "'a' = id",
        "length(content) > 5 AND length(id) = 1",
        "length(metadata ->> 'mood') IS NULL",
        "substr(content, 1, 3) = 'Tea'",
        "substr(content, -3) = 'e_.' OR substr(content, 2) LIKE 'EA%'",
        "lower(content) = 'tea at 4.'",
        "upper(substr(content, 1, 3)) IN ('TEA', '100')",
        "lower(\"user\") = lower('ALICE')",
        "length(upper(content)) BETWEEN length('1234567') AND 9",
        "date(timestamp) = date('now', '-1 day')",
        "datetime(timestamp) >= datetime('now', '-22 hours')",
        "datetime(timestamp, '+1 month', 'start of month') > datetime('now', 'start of year')",
        "substr(timestamp, 12, 2) = '14'",
        "date(content) IS NULL AND id <> 'e'",  # 99 would be a Julian day there
    ],
)
def test_it_means_what_sqlite_does(when_filter: str) -> None:  # S2-136
    assert chosen(when_filter) == chosen_by_sqlite(when_filter.replace("'now'", f"'{NOW}'"))


@pytest.mark.parametrize(
    ("when_filter", "wanted"),
    [
        ("timestamp >= datetime('now', '-22 hours')", "cdef"),
        ("timestamp < datetime('now', '-1 day', '+90 minutes')", "ab"),
        ("datetime('now', '-22 hours') <= timestamp", "cdef"),
        ("timestamp >= date('now')", ""),
        ("timestamp >= date('now', '-1 day')", "abcdef"),
        ("timestamp >= date('now', 'start of month') AND timestamp < date('now')", "abcdef"),
        ("timestamp BETWEEN date('now', '-1 year') AND '2026-03-01 14:00:00'", "ab"),
        ("timestamp IN ('2026-03-01 14:00:00', metadata ->> 'n')", "b"),
        ("timestamp > metadata ->> 'mood'", ""),
    ],
)
def test_a_relative_time_is_an_instant_too(when_filter: str, wanted: str) -> None:
    # S2-136: SQLite compares texts, of which the one with a T is the later one of any day
    assert chosen(when_filter) == wanted


TEXTS = st.text("aAbB%_*?\u00e4.", max_size=8)


@given(TEXTS, TEXTS, st.sampled_from(["LIKE", "GLOB"]))
@settings(max_examples=200, deadline=None)
def test_any_pattern_matches_as_in_sqlite(text: str, pattern: str, verb: str) -> None:  # S2-136
    made = sqlite_words.like(pattern) if verb == "LIKE" else sqlite_words.glob(pattern)
    ((wanted,),) = table().execute(f"SELECT ? {verb} ?", (text, pattern))
    assert made.matches(text) == bool(wanted)
    assert made.longest in text or not wanted


@given(TEXTS, st.integers(-9, 9), st.none() | st.integers(-9, 9))
@settings(max_examples=200, deadline=None)
def test_any_part_of_a_text_is_as_in_sqlite(text: str, first: int, count: int | None) -> None:
    given = (text, first) if count is None else (text, first, count)
    ((wanted,),) = table().execute(f"SELECT substr({', '.join('?' * len(given))})", given)
    assert sqlite_words.substr(text, first, count) == wanted


MOVES = st.builds(
    "{}{} {}{}".format,
    st.sampled_from(["+", "-", ""]),
    st.integers(0, 50),
    st.sampled_from(["second", "minute", "hour", "day", "month", "year"]),
    st.sampled_from(["", "s"]),
) | st.sampled_from(["start of day", "start of month", "START OF YEAR"])


@given(st.integers(0, 7_000_000_000), st.lists(MOVES, max_size=3))
@settings(max_examples=200, deadline=None)
def test_any_time_is_moved_as_in_sqlite(second: int, moves: list[str]) -> None:  # S2-136
    text = datetime.fromtimestamp(second, UTC).isoformat(sep=" ")[:19]
    told = ", ".join(["?"] * (1 + len(moves)))
    ((wanted, day),) = table().execute(
        f"SELECT datetime({told}), date({told})", (text, *moves, text, *moves)
    )
    moved = sqlite_times.moved(sqlite_times.read(text, NOW), moves)
    assert sqlite_times.shown(moved, with_time=True) == wanted
    assert sqlite_times.shown(moved, with_time=False) == day


def test_a_hostile_pattern_takes_one_walk_over_a_text() -> None:
    """``%a%a%a…`` against a long text without an end to it; SQLite tries every way."""
    text = "a" * 200_000
    for signs in ("%a" * 2_000 + "%", "%a_" * 2_000 + "%", "%" + "a_" * 2_000):
        pattern = sqlite_words.like(f"{signs}b%")
        assert _looked_at(pattern, text) <= 2 * len(text)
        assert not pattern.matches(text)


def _looked_at(pattern: sqlite_words.Pattern, text: str) -> int:
    """How many characters a pattern looks at on their own."""
    places: list[object] = []

    class Looked(str):
        def __getitem__(self, place: SupportsIndex | slice) -> str:
            places.append(place)
            return super().__getitem__(place)

        def translate(self, table: object) -> str:
            return self

    pattern.matches(Looked(text))
    return len(places)


MOOD, NUMBER, FLAG = (f"json_extract(metadata, '$.{key}')" for key in ("mood", "n", "flag"))
SIGNS = st.sampled_from(["=", "==", "<>", "!=", "<", "<=", ">", ">="])
NEGATION = st.sampled_from(["", "NOT "])
ALL = st.sampled_from(["GLOB '*'", "GLOB '**'", "LIKE '%'"])
TERMS = st.one_of(
    st.builds("id {} '{}'".format, SIGNS, st.sampled_from("abcdefx")),
    st.builds("\"user\" {} '{}'".format, SIGNS, st.sampled_from(["alice", "bob", "Alice", "a%"])),
    st.builds(f"{MOOD} {{}} '{{}}'".format, SIGNS, st.sampled_from(["calm", "tense", "", "z"])),
    st.builds(f"{NUMBER} {{}} {{}}".format, SIGNS, st.sampled_from([0, 1, 2.5, -3, 1e3])),
    st.builds(f"{FLAG} {{}} {{}}".format, SIGNS, st.sampled_from([0, 1, 0.5, -3])),
    st.builds("{} IS {}NULL".format, st.sampled_from([MOOD, NUMBER, FLAG]), NEGATION),
    st.builds(f"{MOOD} {{}}IN ('calm', 'x')".format, NEGATION),
    st.builds("content {}GLOB '{}'".format, NEGATION, st.sampled_from(["*t*", "T*", "99", "*"])),
    st.builds("content LIKE '{}'".format, st.sampled_from(["99", "T%", "%4%", "%", "%_E_%"])),
    st.builds(f"length({MOOD}) {{}} {{}}".format, SIGNS, st.sampled_from([0, 4, 9])),
    st.builds("substr(content, {}, 2) {} 'ea'".format, st.integers(-4, 4), SIGNS),
    st.builds("upper(content) {}LIKE '%T'".format, NEGATION),
    st.sampled_from(["1=1", "1 = 0", "TRUE", "id = lower('A')"]),
    st.builds("{} {}{}".format, st.sampled_from([MOOD, NUMBER, FLAG]), NEGATION, ALL),
    st.builds(f"{MOOD} {{}}GLOB '{{}}'".format, NEGATION, st.sampled_from(["c*", "*n*", "x", ""])),
    st.builds(f"{NUMBER} {{}}BETWEEN 0 AND 2".format, NEGATION),
)  # fmt: skip
CONDITIONS = st.recursive(
    TERMS,
    lambda inner: st.one_of(
        st.builds("NOT ({})".format, inner),
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("{} OR {} AND {}".format, inner, inner, inner),
    ),
    max_leaves=6,
)


@given(CONDITIONS)
@settings(max_examples=100, deadline=None)
def test_any_condition_means_what_sqlite_does(when_filter: str) -> None:  # S2-136
    why = refusal(when_filter)
    if why is None:
        assert chosen(when_filter) == chosen_by_sqlite(when_filter)
    else:
        assert "nested" in why or "terms" in why  # a limit, never a meaning


MIXED = [
    row(episode(id, 1, v=value), seq)
    for seq, (id, value) in enumerate(
        {"n": 5, "t": "5", "y": True, "l": [5, "5"], "o": {"5": 5}, "0": None}.items(), 1
    )
] + [row(episode("-", 1), 9)]


@pytest.mark.parametrize(
    ("term", "true", "false"),
    [
        ("< 10", "ny", ""),
        (">= 5", "n", "y"),
        ("< 'z'", "t", ""),
        ("> 'z'", "", "t"),
        ("BETWEEN 0 AND 9", "ny", ""),
        ("BETWEEN 9 AND 'z'", "", "ny"),
        ("= 5", "n", "tylo"),
        ("<> '5'", "nylo", "t"),
        ("IN (1, '5')", "ty", "nlo"),
        ("GLOB '5'", "t", ""),
        ("GLOB '5*'", "t", ""),
        ("GLOB '*6*'", "", "t"),
        ("LIKE '%5%'", "t", ""),
        ("GLOB '*'", "ntylo", ""),
        ("IS NULL", "0-", "ntylo"),
    ],
)
def test_an_order_or_a_pattern_ignores_values_of_another_type(
    term: str, true: str, false: str
) -> None:  # S2-136: also under NOT; SQLite sorts texts after numbers and reads numbers as texts
    told = f"metadata ->> 'v' {term}"
    for when_filter, wanted in ((told, true), (f"NOT ({told})", false), (f"NOT NOT {told}", true)):
        found = read(when_filter)
        assert found is not None
        assert "".join(one.id for one in MIXED if found.matches(one)) == wanted, when_filter


def refusal(when_filter: str) -> str | None:
    """Why a condition is refused."""
    try:
        read(when_filter)
    except ConsolidationRuleError as error:
        return error.message
    return None


def test_an_instant_counts_and_not_its_text() -> None:  # S2-136
    told = "timestamp > '2026-03-02T02:00:00+12:00'"  # 14:00 in UTC
    assert chosen(told) == "cdef"
    assert chosen("timestamp >= '2026-03-01'") == "abcdef"


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("/user/alice/session/S1/agent/rag/", "abc"),
        ("/user/alice/session/S1/agent/%/", "abc"),
        ("/user/alice/session/%/agent/%/", "abce"),
        ("/user/alice/%", "abce"),
        ("/user/ALICE/%", ""),
        ("/user/Alice/%", "f"),
        ("/user/alic_/%", ""),
        ("/user/%/session/S2/agent/%/", "e"),
        ("/user/%25/%", ""),
    ],
)
def test_a_scope_is_compared_exactly_in_a_condition(pattern: str, wanted: str) -> None:
    # S2-130 S2-136
    assert chosen(f"scope_key LIKE '{pattern}'") == wanted


def test_content_in_a_condition_is_the_text() -> None:  # S2-136
    """Decided: ``content`` alone is not the JSON of the stated column; its fields can be named."""
    payloads = {told.id: json.loads(table_row(told)["content"]) for told in EPISODES}
    assert "node-1" in str(payloads["a"])  # the control: the JSON would match
    assert chosen("content GLOB '*node-1*' OR content GLOB '*alice*'") == ""
    assert chosen("content = 'Tea at 4.'") == "a"
    for name, value in payloads["e"].items():
        wanted = "".join(id for id, told in payloads.items() if told[name] == value)
        for field in (f"json_extract(content, '$.{name}')", f"content ->> '{name}'"):
            assert chosen(f"{field} = '{value}'") == wanted
    for path in ("$.mood", "$.metadata.mood", "$.secret"):
        with pytest.raises(ConsolidationRuleError, match="JSON is not known"):
            read(f"json_extract(content, '{path}') = 'calm'")


# What is refused.


@pytest.mark.parametrize(
    ("when_filter", "place", "message"),
    [
        ("id = 'a'; DROP TABLE episodes", 9, "unexpected ';'"),
        ("id = 'a' -- all", 10, "unexpected '-'"),
        ("id = 'a' /* x */", 10, "unexpected '/'"),
        ("id", 3, "expected a comparison"),
        ("id =", 5, "expected a value"),
        ("id = 'a", 6, "no closing quote"),
        ("id = 'a' AND", 13, "not a column"),
        ("id = 'a' id = 'b'", 10, "expected AND, OR"),
        ("(id = 'a'", 10, "expected \\)"),
        ("id = NULL", 6, "expected a value"),
        ("id = ?", 6, "unexpected"),
        ("id = :id", 6, "unexpected ':'"),
        ("secret = 'a'", 1, "'secret' is not a column"),
        ("id IN (SELECT id FROM other)", 8, "expected a value"),
        ("EXISTS (SELECT 1)", 1, "not a column"),
        ("id = 'a' UNION SELECT 1", 10, "expected AND, OR"),
        ("load_extension('x') = 1", 1, "not a column"),
        ("timestamp > 'yesterday'", 1, "not an ISO 8601"),
        ("timestamp > '2026-01-01T00:00:00'", 1, "no time zone"),
        ("timestamp > 5", 1, "compares with a date"),
        ("id > 5", 1, "compares with a text"),
        ("content GLOB '[a]*'", 9, "has a set of characters"),
        ("content LIKE 5", 14, "a text in single quotes"),
        ("content LIKE id", 14, "a text in single quotes"),
        ("content LIKE '%' ESCAPE '!!'", 9, "one character"),
        ("timestamp > datetime('now', '-1 fortnight')", 1, "'-1 fortnight' is not known"),
        ("timestamp > datetime('now', 'localtime')", 1, "'localtime' is not known"),
        ("timestamp > datetime('now', '-1.5 months')", 1, "whole numbers"),
        ("timestamp > datetime('now', '-999999999 days')", 1, "out of range"),
        ("timestamp > datetime('now', '-9999 years')", 1, "out of range"),
        ("timestamp > datetime('yesterday')", 1, "'yesterday' is not 'now' or a time"),
        ("timestamp > strftime('%s', 'now')", 13, "'strftime' is not a column"),
        ("length(content) > length(NULL)", 26, "expected a value"),
        ("substr(content) = 'a'", 15, "the number of the first"),
        ("substr(content, 1.5) = 'a'", 17, "a whole number"),
        ("substr(content, id) = 'a'", 17, "a whole number"),
        ("length(content, 1) = 1", 15, "expected \\)"),
        ("content || 'a' = 'b'", 9, "unexpected '|'"),
        ("length(content) + 1 > 3", 17, "unexpected '\\+'"),
        ("length(content)", 16, "expected a comparison"),
        ("lower(" * 5_00 + "content" + ")" * 5_00 + " = 'a'", 96, "nested too deeply"),
        ("rowid > 3", 1, "'rowid' is not a column"),
        ("id = 'a' ORDER BY id", 10, "expected AND, OR"),
        ("content REGEXP 'x'", 9, "expected a comparison"),
        ("scope_key LIKE '%'", 1, "not a scope"),
        ("scope_key LIKE '/user/%'", 1, "not a scope"),
        ("scope_key LIKE '/user/al%/session/%/agent/%/'", 1, "not a scope"),
        ("scope_key = '/user/alice/%'", 1, "not a scope"),
        ("scope_key = '/user//session/S1/agent/rag/'", 1, "not a scope"),
        ("scope_key = 'alice'", 1, "not a scope"),
        ("scope_key = '/user'", 1, "not a scope"),
        ("scope_key > 'a'", 11, "expected =, IN or LIKE"),
        ("json_extract(metadata, '$') = 1", 24, "expected a path"),
        ("json_extract(metadata, '$.a[0]') = 1", 24, "expected a path"),
        ("json_extract(metadata, mood) = 1", 24, "expected a path"),
        ("json_extract(content, '$.secret') = 1", 14, "JSON is not known"),
        ("json_extract(other, '$.a') = 1", 14, "JSON is not known"),
        ("json_extract(metadata, '$.a'", 29, "expected \\)"),
        ("metadata -> 'a' = 1", 10, "unexpected '-'"),
        ("id = 'a\0b'", 1, "U\\+0000"),
        ("NOT " * 40 + "id = 'a'", 65, "nested too deeply"),
        ("(" * 5_000 + "id = 'a'" + ")" * 2_000, 17, "nested too deeply"),
        (" OR ".join(["id = 'a'"] * 100), 1, "more than 64 terms"),
        ("id = '" + "a" * 9_000 + "'", 8_000, "too long"),
    ],
)  # fmt: skip
def test_what_cannot_be_translated_is_refused_with_its_place(
    when_filter: str, place: int, message: str
) -> None:  # S2-136 S2-169
    with pytest.raises(ConsolidationRuleError, match=message) as caught:
        read(when_filter)
    assert f"at character {place} of when_filter" in caught.value.message


@given(st.text(max_size=60) | st.text("ids='()% _<>!notandorlikeglob0.", max_size=60))
@settings(max_examples=100, deadline=None)
def test_any_text_is_a_filter_or_refused(when_filter: str) -> None:
    why = refusal(when_filter)
    assert why is None or "of when_filter" in why


def test_no_condition_is_run_as_sql(tmp_path: Path) -> None:  # S2-136
    """The control: what is understood means what it means there."""
    evil = "id = 'x' OR 1 = 1"

    async def scenario() -> None:
        async with SQLiteMemoryStore(tmp_path) as store:
            await put(store, episode("mine"), episode("hers", user="bob"))
            for condition in ("id IN (SELECT id FROM episodes)", "1", f"{evil}; DELETE"):
                with pytest.raises(ConsolidationRuleError):
                    await store.consolidate(rule(condition))
            assert len(await store.consolidate(rule(evil))) == 2
            assert len(await store.recent("alice", limit=9)) == 1

    asyncio.run(scenario())
    assert len(chosen_by_sqlite(evil)) == len(EPISODES)


# What metadata says.


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({"intent": "delete"}, "replaces"),
        ({"intent": "delete", "replaces": []}, "replaces"),
        ({"intent": "update", "replaces": 5}, "replaces is 5"),
        ({"intent": "update", "replaces": [5]}, "replaces is"),
        ({"intent": "update", "replaces": ["a b"]}, "replaces"),
        ({"intent": "merge"}, "intent is 'merge'"),
        ({"intent": ["noop"]}, "intent is"),
        ({"subject": 5, "predicate": "x"}, "subject is 5"),
    ],
)
def test_an_episode_that_cannot_be_read_is_left_out_and_named(
    tmp_path: Path, metadata: dict[str, Any], reason: str
) -> None:  # S2-139 S2-140 S2-170
    async def scenario() -> None:
        async with SQLiteMemoryStore(tmp_path) as store:
            await put(store, episode("good", 1), episode("bad", 2, **metadata))
            found = await store.consolidate(rule())
            assert [delta.source_episode_ids for delta in found] == [["good"]]
            ((id, why),) = store.skipped
            assert (id, reason in why) == ("bad", True), why
            await store.consolidate(rule("id = 'good'"))
            assert store.skipped == ()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("key", "beside", "value", "seen"),
    [
        ("intent", {"replaces": ["f1"]}, "noop", {"kind": "noop"}),
        ("intent", {"replaces": ["f1"]}, "delete", {"kind": "delete", "replaces": ["f1"]}),
        ("intent", {"replaces": ["f1"]}, "update", {"kind": "update", "replaces": ["f1"]}),
        ("replaces", {"intent": "update"}, ["f2"], {"kind": "update", "replaces": ["f2"]}),
        ("subject", {"predicate": "p"}, "s", {"fact_payload": {"subject": "s"}}),
        ("predicate", {"subject": "s"}, "p", {"fact_payload": {"predicate": "p"}}),
        ("object", {}, "o", {"fact_payload": {"object": "o"}}),
        ("subject", {"predicate": "same"}, "same", {"kind": "update", "replaces": ["old"]}),
        ("predicate", {"subject": "same"}, "same", {"kind": "update", "replaces": ["old"]}),
    ],
)
def test_each_honoured_key_changes_the_delta(
    tmp_path: Path, key: str, beside: dict[str, Any], value: Any, seen: dict[str, Any]
) -> None:  # S2-150
    async def scenario() -> tuple[Any, Any]:
        async with SQLiteMemoryStore(tmp_path) as store:
            await put(store, episode("old", 1, subject="same", predicate="same"))
            await put(store, episode("a", 2, **beside), episode("b", 3, **beside, **{key: value}))
            without, having = await store.consolidate(rule("id IN ('a', 'b')"))
            if "old" in seen.get("replaces", ()):
                having = (await store.consolidate(rule()))[-1]
            return vars(without), vars(having)

    without, having = asyncio.run(scenario())
    for field, wanted in seen.items():
        if isinstance(wanted, dict):
            assert wanted.items() <= having[field].items()
            assert key not in without[field]
        else:
            assert having[field] == wanted
            assert without.get(field) != wanted


def test_other_keys_of_metadata_mean_nothing(tmp_path: Path) -> None:  # S2-150
    async def scenario() -> None:
        async with SQLiteMemoryStore(tmp_path) as store:
            await put(store, episode("a", 1, key=5), episode("b", 2, key="k"))
            await put(store, episode("c", 3, key="k"), episode("d", 4, kind="delete"))
            found = await store.consolidate(rule())
            assert ([delta.kind for delta in found], store.skipped) == (["add"] * 4, ())

    asyncio.run(scenario())


def test_replaces_means_nothing_without_an_intent(tmp_path: Path) -> None:  # S2-141 S2-142
    async def scenario() -> None:
        async with SQLiteMemoryStore(tmp_path) as store:
            triple: Any = {"subject": "s", "predicate": "p", "replaces": ["other"]}
            await put(store, episode("a", 1, **triple), episode("b", 2, **triple))
            _, second = await store.consolidate(rule())
            assert vars(second)["replaces"] == ["a"]

    asyncio.run(scenario())


def test_an_update_that_names_nothing_adds(tmp_path: Path) -> None:  # S2-140
    async def scenario() -> None:
        async with SQLiteMemoryStore(tmp_path) as store:
            await put(store, episode("a", intent="update"))
            await put(store, episode("b", intent="update", subject="s", predicate="p"))
            assert [delta.kind for delta in await store.consolidate(rule())] == ["add", "add"]

    asyncio.run(scenario())


def test_the_channels_of_a_rule_are_in_the_payload(tmp_path: Path) -> None:  # S2-154
    async def scenario() -> None:
        async with SQLiteMemoryStore(tmp_path) as store:
            await put(store, episode("a"))
            wanted = ConsolidationRule(
                id="r", cadence={"cron": "0 3 * * *"}, when_filter="", then_emits=["seats", "meals"]
            )
            (delta,) = await store.consolidate(wanted)
            assert vars(delta)["fact_payload"]["channels"] == ["seats", "meals"]

    asyncio.run(scenario())


def test_a_pass_reads_thousands_in_the_order_of_their_instants(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with SQLiteMemoryStore(tmp_path) as store:
            await asyncio.gather(
                *(put(store, episode(f"e{n}", 0, timestamp_n=n)) for n in range(300))
            )
            await put(store, episode("late", 1), episode("early", -1))
            found = [delta.source_episode_ids[0] for delta in await store.consolidate(rule())]
            assert (len(found), found[0], found[-1]) == (302, "early", "late")

    asyncio.run(scenario())
