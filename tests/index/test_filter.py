"""The filter expression: what it means, what it refuses, and that SQL keeps its meaning."""

from __future__ import annotations

import itertools
import pathlib
import random
import re
import sqlite3
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final, get_args

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from recollect.errors import InvalidInput, LimitExceeded
from recollect.index.filter import checks
from recollect.index.filter import fields as f
from recollect.index.filter.expression import Filter
from recollect.index.filter.fields import Column, Field, Path, Scalar
from recollect.index.filter.parse import parse
from recollect.index.filter.sql import WORDS_OF_V, compile_sql
from recollect.index.filter.tree import (
    And,
    Compare,
    Contains,
    Leaf,
    Missing,
    Node,
    Not,
    OneOf,
    Or,
    StartsWith,
)
from recollect.index.rows import Cell, EpisodeRow, VersionRow, pack_names, pack_object
from recollect.index.statements import schema, statements
from recollect.model import limits
from recollect.model.events import Status
from recollect.model.reasons import Reason
from recollect.model.validate import Json
from recollect.model.values import Unit
from recollect.model.words import COLUMNS

Compile = Callable[[Filter, Unit], tuple[str, dict[str, Cell]]]
Row = VersionRow | EpisodeRow

# --- rows: few values, so that filters meet them; many of the kind that engines disagree on

TEXTS: Final = (
    *("a", "A", "b", "ab", "aB", "ba", "a b", "alice.seat", "alice.city", "1", "1.0", "01", "true"),
    *("null", "NULL", "it's", "''", '"', '"a"', "\\", "%", "_", "a%", "*", ",", '","', "]", "[]"),
    *("ä", "a\u0308", "ß", "SS", "é", "İ", "ı", "\uffff", "\U00010000", "🙂", "x🙂y", "\n", "\t "),
    *("; drop table versions", "' or 1=1 --", ":filter_0", "2026-01-01", "\x01", "\x7f", "\ufeff"),
)
NAMES: Final = tuple(text for text in TEXTS if unicodedata.is_normalized("NFC", text))
INSTANTS: Final = (
    "0001-01-01T00:00:00.000000Z",
    "2025-12-31T23:59:59.999999Z",
    "2026-01-01T00:00:00.000000Z",
    "2026-01-01T00:00:00.000001Z",
    "9999-12-31T23:59:59.999999Z",
)
FRACTIONS: Final = (0.0, 0.1, 0.3, 0.1 + 0.2, 0.5, 0.6, 1.0)
COUNTS: Final = (0, 1, 2, 3, 2**53 - 1)
KEYS: Final = ("a", "b", "in", "x y", "it's", "")
SCALARS: Final = (
    *(True, False, 0, 1, -1, 1.0, 0.5, 1e300, 2**53 - 1, "", "a", "A", "ab", "1", "true"),
    *("ä", "\U00010000", "\uffff", "it's"),
)


def random_row(unit: Unit, seq: int, chance: random.Random) -> Row:
    pick = chance.choice

    def name() -> str | None:
        return pick((None, *NAMES))

    def moment() -> str | None:
        return pick((None, *INSTANTS))

    known: dict[str, Cell] = {
        "id": f"{pick(TEXTS)}{seq:02}",
        "seq": seq,
        "at": pick(INSTANTS),
        "text": pick(TEXTS) + pick(TEXTS),
        "user": name(),
        "session": name(),
        "agent": name(),
        "origin": pick(f.WORDS["by"]),
        "trust": pick(f.WORDS["trust"]),
    }
    if unit == "episode":
        return episode(
            **known,
            role=pick(f.WORDS["role"]),
            said_at=pick(INSTANTS),
            metadata=pack_object(random_object(chance, 3)),
        )
    return record(
        **known,
        created_at=pick(INSTANTS),
        kind=pick(NAMES),
        key=name(),
        about=name(),
        tags=pack_names(tuple(dict.fromkeys(chance.choices(NAMES, k=chance.randrange(4))))),
        confidence=pick(FRACTIONS),
        source_type=pick(f.WORDS["how_known"]),
        is_hypothesis=pick((0, 1)),
        status=pick(get_args(Status)),
        reason=pick((None, *get_args(Reason), *NAMES)),
        valid_from=moment(),
        valid_to=moment(),
        expires=moment(),
        supersedes=name(),
        superseded_by=name(),
        reinforcement_count=pick(COUNTS),
        decay_tier=pick(f.WORDS["decay_tier"]),
        data=pack_object(random_object(chance, 3)),
    )


def random_object(chance: random.Random, depth: int) -> dict[str, Json]:
    return {key: random_json(chance, depth) for key in KEYS if chance.random() < 0.6}


def random_json(chance: random.Random, depth: int) -> Json:
    shape = chance.random() if depth else 1.0
    if shape < 0.25:
        return random_object(chance, depth - 1)
    if shape < 0.4:
        return [random_json(chance, 0) for _ in range(chance.randrange(4))]
    return chance.choice((None, *SCALARS))


def record(**known: Cell) -> VersionRow:
    """A version of which only the known columns matter."""
    row: dict[str, Cell] = dict.fromkeys(VersionRow._fields, None)
    row |= {"id": "r", "seq": 1, "until": 9, "text_seq": 1, "tz_minutes": 0, "text": "words"}
    row |= {"at": INSTANTS[2], "created_at": INSTANTS[2], "kind": "fact", "tags": "[]"}
    row |= {"what": "added", "origin": "person", "content_id": "0", "evidence": "[]", "data": "{}"}
    row |= {"confidence": 0.5, "source_type": "told", "is_hypothesis": 0, "status": "active"}
    row |= {"trust": "person", "reinforcement_count": 0, "last_reinforced_at": 0.0}
    row |= {"decay_tier": "standard"}
    return VersionRow._make((row | known).values())


def episode(**known: Cell) -> EpisodeRow:
    """An episode of which only the known columns matter."""
    row: dict[str, Cell] = dict.fromkeys(EpisodeRow._fields, None) | {"transient": 0}
    row |= {"id": "e", "seq": 1, "text": "words", "role": "user", "said_at": INSTANTS[2]}
    row |= {"at": INSTANTS[2], "metadata": "{}", "origin": "person", "trust": "person"}
    return EpisodeRow._make((row | known).values())


# --- filters

NUMBERS: Final[tuple[Scalar, ...]] = (*FRACTIONS, *COUNTS, -1, -0.0, 0.25, 2.0, 3.5, 1e300)
LITERALS: Final[dict[f.Type, tuple[Scalar, ...]]] = {
    "text": (*TEXTS, "1a", "2", "3A", "ba1", "ab"),
    "name": NAMES,
    "names": NAMES,
    "number": NUMBERS,
    "boolean": (True, False),
    "instant": INSTANTS,
    "json": SCALARS,
}


def random_filter(chance: random.Random) -> Filter:
    return Filter(random_node(chance, 3))


def random_node(chance: random.Random, depth: int) -> Node:
    shape = chance.choice(("term", "term", "term", "not", "and", "or")) if depth else "term"
    if shape == "term":
        return random_term(chance)
    if shape == "not":
        return Not(random_node(chance, depth - 1))
    terms = tuple(random_node(chance, depth - 1) for _ in range(chance.choice((2, 3))))
    return And(terms) if shape == "and" else Or(terms)


def random_term(chance: random.Random) -> Node:
    field = random_field(chance)
    kind = f.type_of(field)
    verb = chance.choice(checks.TAKES[kind])
    pool = f.WORDS.get(str(field)) or LITERALS[kind]
    if verb == "in":
        return OneOf(field, tuple(chance.choice(pool) for _ in range(chance.choice((1, 2, 3)))))
    if verb == "contains":
        return Contains(field, chance.choice([value for value in pool if value != ""]))
    if verb == "starts with":
        return StartsWith(field, chance.choice([v for v in pool if isinstance(v, str) and v]))
    if verb in ("=", "!="):
        value = chance.choice((None, *pool))
        return Missing(field) if value is None else Compare(field, verb, value)
    return Compare(field, verb, chance.choice([v for v in pool if not isinstance(v, bool)]))


def random_field(chance: random.Random) -> Field:
    name = chance.choice((*f.TYPES, "data", "data", "metadata", "metadata"))
    if name in ("data", "metadata"):
        keys = tuple(chance.choice(KEYS) for _ in range(chance.choice((1, 1, 2, 3))))
        return Path("data" if name == "data" else "metadata", keys)
    return Column(name)


def leaves_of(node: Node) -> Iterator[Leaf]:
    if isinstance(node, Not):
        yield from leaves_of(node.term)
    elif isinstance(node, And | Or):
        for term in node.terms:
            yield from leaves_of(term)
    else:
        yield node


# --- Python and SQL agree

ROWS_EACH: Final = 12
TABLES: Final[dict[Unit, tuple[str, str]]] = {
    "record": ("versions v", "add_version"),
    "episode": ("episodes e", "add_episode"),
}


@pytest.fixture(scope="module", name="db")
def engine() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript(schema())
    yield connection
    connection.close()


@cache
def random_rows(unit: Unit, seed: int) -> list[Row]:
    chance = random.Random(seed)
    return [random_row(unit, seq, chance) for seq in range(1, ROWS_EACH + 1)]


def check_agreement(
    db: sqlite3.Connection, compile: Compile, filter: Filter, unit: Unit, seed: int
) -> None:
    """SQL then Python finds what Python finds; SQL alone does where it sees every field."""
    rows = random_rows(unit, seed)
    wanted = [row for row in rows if filter.matches(row)]
    found = select(db, unit, rows, *compile(filter, unit))
    assert [row for row in found if filter.matches(row)] == wanted
    if all(sees(leaf.field, unit) for leaf in leaves_of(filter.root)):
        assert found == wanted


def select(
    db: sqlite3.Connection, unit: Unit, rows: list[Row], sql: str, params: dict[str, Cell]
) -> list[Row]:
    """What the engine finds among these rows."""
    table, add = TABLES[unit][0], statements()[TABLES[unit][1]]
    make = VersionRow if unit == "record" else EpisodeRow
    db.execute("BEGIN")
    try:
        db.executemany(add, [row[: add.count("?")] for row in rows])
        return [
            make(*row)
            for row in db.execute(f"SELECT * FROM {table} WHERE {sql} ORDER BY seq", params)
        ]
    finally:
        db.execute("ROLLBACK")


def sees(field: Field, unit: Unit) -> bool:
    """True if SQL can judge a field exactly."""
    return not f.has(unit, field) or (isinstance(field, Column) and field.name != "tags")


SEEDS: Final = st.integers(0, 255)
FILTERS: Final = st.randoms(use_true_random=False).map(random_filter)
shared_engine = settings(suppress_health_check=list(HealthCheck))


@settings(shared_engine, max_examples=200)  # times ROWS_EACH, times two units: 4,800 cases
@given(FILTERS, SEEDS)
def test_python_and_sql_agree(db: sqlite3.Connection, filter: Filter, seed: int) -> None:
    for unit in TABLES:
        check_agreement(db, compile_sql, filter, unit, seed)


@pytest.mark.nightly
@settings(shared_engine, max_examples=1_000)
@given(st.integers(0, 2**64))
def test_python_and_sql_agree_on_100_000_filters(db: sqlite3.Connection, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(100):
        filter = random_filter(chance)
        for unit in TABLES:
            check_agreement(db, compile_sql, filter, unit, chance.randrange(256))


def negation_stays_on_top(filter: Filter, unit: Unit) -> tuple[str, dict[str, Cell]]:
    if isinstance(filter.root, Not):
        sql, params = compile_sql(Filter(filter.root.term), unit)
        return f"NOT ({sql})", params
    return compile_sql(filter, unit)


def values_become_texts(filter: Filter, unit: Unit) -> tuple[str, dict[str, Cell]]:
    sql, params = compile_sql(filter, unit)
    return sql, {name: f"{value!r}" for name, value in params.items()}


def rewritten(pattern: str, by: str) -> Compile:
    def compile(filter: Filter, unit: Unit) -> tuple[str, dict[str, Cell]]:
        sql, params = compile_sql(filter, unit)
        return re.sub(pattern, by, sql), params

    return compile


BROKEN: Final[dict[str, Compile]] = {
    "negation stays on top": negation_stays_on_top,
    "values become texts": values_become_texts,
    "a missing value is forgotten under not": rewritten("IS NULL OR NOT", "IS NOT NULL AND NOT"),
    "a missing value differs": rewritten("<>", "IS NOT"),
    "case is folded": rewritten(r'("\w+") (=|<>|<|>)', r"\1 COLLATE NOCASE \2"),
    "what SQL cannot judge is false": rewritten("TRUE", "FALSE"),
    "what SQL can judge is true": rewritten(r'^[ve]\.".*', "TRUE"),
    "an end is left out": rewritten("<=", "<"),
    "and is or": rewritten(" AND ", " OR "),
    "a text starts later": rewritten(r"substr\((\S+), 1", r"substr(\1, 2"),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_broken_compiler_is_caught(db: sqlite3.Connection, broken: Compile) -> None:
    @settings(shared_engine, max_examples=2_000, phases=[Phase.generate], database=None)
    @given(st.randoms(use_true_random=True).map(random_filter), SEEDS)
    def agrees(filter: Filter, seed: int) -> None:
        for unit in TABLES:
            check_agreement(db, broken, filter, unit, seed)

    with pytest.raises(AssertionError):
        agrees()


def test_every_field_is_a_column_of_its_table() -> None:
    assert {COLUMNS.get(name, name) for name in f.FIELDS["record"]} <= set(VersionRow._fields)
    assert set(f.FIELDS["episode"]) <= set(EpisodeRow._fields)
    assert {name for name, kind in f.TYPES.items() if kind == "word"} == set(f.WORDS)


def test_the_page_names_every_field_word_and_limit() -> None:
    root = pathlib.Path(__file__).resolve().parents[2]
    page = (root / "docs" / "reference" / "filters.md").read_text("utf-8")
    named = set(re.findall(r"`([^`\n]+)`", page))
    assert set(f.TYPES) <= named
    assert {word for words in f.WORDS.values() for word in words} <= named
    for limit in (
        limits.FILTER_MAX_CHARS,
        limits.FILTER_MAX_TERMS,
        limits.FILTER_MAX_VALUES,
        limits.FILTER_MAX_DEPTH,
    ):
        assert re.search(rf"\b{limit:,} (characters|terms|values|nested parentheses)", page)


# --- nothing of the caller's gets into SQL

VOCABULARY: Final = re.compile(
    r"""(?: [ve]\."[a-z_]+" | :filter_[0-9]+ | AND | OR | NOT | IN | IS | NULL | TRUE | FALSE
          | instr | substr | 0 | 1 | <> | <= | >= | [=<>(),\ ] )+""",
    re.VERBOSE,
)


def check_vocabulary(filter: Filter) -> None:
    for unit in TABLES:
        sql, params = compile_sql(filter, unit)
        for name, words in WORDS_OF_V.items():  # constants: codes and what people read
            sql = sql.replace(words, f'v."{name}"')
        assert VOCABULARY.fullmatch(sql)
        assert set(re.findall(r":(\w+)", sql)) == set(params)
        assert set(re.findall(r'"(\w+)"', sql)) <= {
            COLUMNS.get(name, name) for name in f.FIELDS[unit]
        }


@given(FILTERS)
def test_sql_is_made_of_known_words_alone(filter: Filter) -> None:
    check_vocabulary(filter)


@pytest.mark.parametrize(
    "text",
    [
        "'; drop table versions; --",
        "kind = 'a'; drop table versions",
        "kind = 'a' -- and the rest",
        "kind = 'a' /* and the rest */",
        "kind = 'a' union select * from versions",
        "1 = 1",
        "1",
        "true",
        "kind",
        "rowid = 1",
        "seq = 1",
        "until > 0",
        "content_id = 'x'",
        "note = 'x'",
        "v.kind = 'a'",
        "versions.kind = 'a'",
        "kind.a = 'a'",
        "hidden = 'forgotten'",
        "\"kind\" = 'a'",
        "[kind] = 'a'",
        "`kind` = 'a'",
        "KIND = 'a'",
        "kınd = 'a'",
        "load_extension('x') = 1",
        "text = load_extension('x')",
        "text = (select text from versions)",
        "text in (select text from versions)",
        "exists (select 1)",
        "key = kind",
        "kind = :filter_0",
        "kind = ?",
        "kind = %(x)s",
        "kind = $1",
        "kind glob '*'",
        "kind || 'a' = 'aa'",
        "set_config('a', 'b', false) = 'b'",
    ],
)
def test_an_invalid_filter_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse(text)


@pytest.mark.parametrize(
    "attempt",
    [
        "'; drop table versions; --",
        "' or 1=1 --",
        "a' || load_extension('x') || '",
        '"kind"',
        ":filter_0",
        "%(filter_0)s",
        "$1",
        "{filter_0}",
        "%",
        "_",
        "*",
    ],
)
@pytest.mark.parametrize("verb", ["=", "in", "contains", "starts with"])
def test_a_literal_is_only_ever_a_value(db: sqlite3.Connection, verb: str, attempt: str) -> None:
    quoted = "'" + attempt.replace("'", "''") + "'"
    filter = parse(f"text {verb} ({quoted})" if verb == "in" else f"text {verb} {quoted}")
    check_vocabulary(filter)
    rows: list[Row] = [record(id="1", text="plain"), record(id="2", seq=2, text=attempt)]
    assert select(db, "record", rows, *compile_sql(filter, "record")) == rows[1:]
    assert [filter.matches(row) for row in rows] == [False, True]


def test_a_key_is_only_ever_a_key() -> None:
    filter = parse("data.'''; drop table versions'.'a.b' = 1")
    assert filter == Filter(Compare(Path("data", ("'; drop table versions", "a.b")), "=", 1))
    assert compile_sql(filter, "record") == ("TRUE", {})


# --- from text to expression and back


@given(FILTERS)
def test_the_canonical_text_is_the_same_filter(filter: Filter) -> None:
    again = parse(str(filter))
    assert again == filter
    assert repr(again) == repr(filter)  # which tells true from 1, and 1 from 1.0
    assert str(again) == str(filter)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("kind='fact'", "kind = 'fact'"),
        ("  ( ( kind = 'fact' ) )\t\r\n", "kind = 'fact'"),
        ("NOT kind = 'a' AND key = 'b' OR id = 'c'", "(not kind = 'a' and key = 'b') or id = 'c'"),
        ("kind = 'a' or key = 'b' and id = 'c'", "kind = 'a' or (key = 'b' and id = 'c')"),
        ("not (kind = 'a' or key = 'b')", "not (kind = 'a' or key = 'b')"),
        ("not not kind = 'a'", "not not kind = 'a'"),
        ("'work' in tags", "tags contains 'work'"),
        ("3 in data.ids", "data.ids contains 3"),
        ("key STARTS WITH 'alice.'", "key starts with 'alice.'"),
        ("kind In ('a','b')", "kind in ('a', 'b')"),
        ("key = NULL", "key = null"),
        ("key != null", "not key = null"),
        ("at > '2026-01-01'", "at > '2026-01-01T00:00:00.000000Z'"),
        ("at > '2026-01-01T01:30:00+01:30'", "at > '2026-01-01T00:00:00.000000Z'"),
        ("key = 'cafe\u0301'", "key = 'caf\u00e9'"),
        ("text = 'cafe\u0301'", "text = 'cafe\u0301'"),
        ("data.in.'x y'.and = 'it''s'", "data.in.'x y'.and = 'it''s'"),
        ("data.a = TRUE and data.b = -1.50e+1", "data.a = true and data.b = -15.0"),
        ("confidence >= 1e-1", "confidence >= 0.1"),
        ("reinforcement_count > 007", "reinforcement_count > 7"),
        ("is_hypothesis = false", "is_hypothesis = false"),
        # As presets and rules of earlier ledgers have them.
        ("status != 'held'", "status != 'waiting'"),
        ("status in ('held', 'active')", "status in ('waiting', 'active')"),
        ("reason = 'superseded'", "reason = 'replaced'"),
        ("supersedes = 'a' or superseded_by != null", "replaces = 'a' or not replaced_by = null"),
    ],
)
def test_a_text_and_its_canonical_form(text: str, canonical: str) -> None:
    assert str(parse(text)) == canonical
    assert parse(canonical) == parse(text)


def test_not_binds_before_and_and_and_before_or() -> None:
    a, b, c = (Compare(Column("kind"), "=", word) for word in "abc")
    text = "not kind = 'a' and kind = 'b' or kind = 'c'"
    assert parse(text).root == Or((And((Not(a), b)), c))


# --- what it refuses

PIECES: Final = st.sampled_from(
    (
        *(*f.TYPES, "data", "metadata", "and", "or", "not", "in", "contains", "starts with"),
        *("true", "false", "null", "'a'", "'2026-01-01'", "'", "0.6", "-1", "9" * 5_000, "."),
        *("=", "!=", "<", "<=", ">", ">=", "(", ")", ",", " ", "\n", "\0", "\ud800", "is", "like"),
        *("*", ";", '"', "--"),
    )
)


def check_garbage(text: str) -> None:
    """A text is refused as such, or is a filter that everything can work with."""
    try:
        filter = parse(text)
    except InvalidInput as error:
        str(error).encode()  # can be printed, whatever the text holds
        return
    assert parse(str(filter)) == filter
    check_vocabulary(filter)
    for unit in TABLES:
        for row in random_rows(unit, 0):
            filter.matches(row)


@settings(max_examples=100)
@given(st.text(max_size=60) | st.lists(PIECES, max_size=12).map(" ".join))
@example("kind = 'a'" + " " * limits.FILTER_MAX_CHARS)
@example("(" * 8_000)
@example("not " * 2_000)
@example("-" * 100)
@example("'" * 7_999)
def test_garbage_is_invalid_input_and_nothing_else(text: str) -> None:
    check_garbage(text)


@settings(max_examples=100)
@given(FILTERS, st.randoms(use_true_random=False))
def test_a_damaged_filter_is_a_filter_or_invalid_input(
    filter: Filter, chance: random.Random
) -> None:
    text = str(filter)
    at, end = sorted(chance.randrange(len(text) + 1) for _ in range(2))
    check_garbage(text[:at] + chance.choice(("", "'", "(", ")", " ", "=", "\0", "é")) + text[end:])


def test_every_two_characters_of_ascii_are_refused() -> None:
    for pair in itertools.product(map(chr, range(128)), repeat=2):
        with pytest.raises(InvalidInput):
            parse("".join(pair))


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "expected a field, found the end, at character 1 ", "for example"),
        ("   ", "expected a field, found the end, at character 4 ", "for example"),
        ("kind = ", "expected a value, found the end, at character 8 ", "a value is"),
        ("kind = 'a' x", "expected 'and', 'or' or the end, found 'x', at character 12 ", "example"),
        ("kind = 'a' and", "expected a field, found the end, at character 15 ", "for example"),
        ("(kind = 'a'", "expected ')', found the end, at character 12 ", "for example"),
        ("kind = 'a", "a text has no closing quote, at character 8 ", "as ''"),
        ('kind = "a"', "unexpected '\"', at character 8 ", "single quotes"),
        ("kind == 'a'", "expected a value, found '=', at character 7 ", "a value is"),
        ("knd = 'a'", "unknown field 'knd', at character 1 ", "kind, text"),
        ("data = 'a'", "data needs 1 to 16 keys after it, at character 1 ", "data.topic ="),
        ("data.1 = 'a'", "expected a key, found '1', at character 6 ", "data.'2026'"),
        ("text.a = 'a'", "text has no fields inside, at character 1 ", "data.<key>"),
        ("kind like 'a%'", "expected a comparison, found 'like', at character 6 ", "starts with"),
        ("kind not in ('a')", "expected a comparison, found 'not', at character 6 ", "before"),
        ("key is null", "expected a comparison, found 'is', at character 5 ", "= null"),
        ("at between 'a'", "expected a comparison, found 'between', at character 4 ", "at >="),
        ("kind", "expected a comparison, found the end, at character 5 ", "for example"),
        ("key starts 'a'", "expected 'with', found \"'a'\", at character 12 ", "for example"),
        ("kind in 'a'", "expected '(', found \"'a'\", at character 9 ", "for example"),
        ("kind in ()", "expected a value, found ')', at character 10 ", "a value is"),
        ("kind in ('a'", "expected ')', found the end, at character 13 ", "for example"),
        ("'a' = kind", "expected 'in', found '=', at character 5 ", "for example"),
        ("'a' in 'b'", "expected a field, found \"'b'\", at character 8 ", "for example"),
        (
            "kind = null and key < null",
            "null is only allowed after = and !=, at character 17 ",
            "key",
        ),
        (
            "kind in ('a', null)",
            "null is only allowed after = and !=, at character 1 ",
            "kind = null",
        ),
        ("null in data.a", "null is only allowed after = and !=, at character 1 ", "data.a = null"),
        ("confidence = '1'", "confidence compares with a number, not with '1', at", "for example"),
        ("confidence = true", "confidence compares with a number, not with true, at", "example"),
        ("is_hypothesis = 1", "is_hypothesis compares with true or false, not with 1,", "example"),
        ("is_hypothesis = 'a'", "compares with true or false, not with 'a', at", "for example"),
        ("kind = 1", "kind compares with a text, not with 1, at character 1 ", "for example"),
        ("at > 5", "at compares with a date or an instant, as a text, not with 5,", "for example"),
        ("at > 'now'", "'now' is not an ISO 8601 date or time, at character 1 ", "2026-01-31"),
        ("at > '2026-01-01T00:00'", "has no time zone, at character 1 ", "+01:00"),
        ("at > '0001-01-01T00:00+09:00'", "is out of range, at character 1 ", "+01:00"),
        ("at starts with '2026'", "at does not support 'starts with', at character 1 ", ">="),
        ("trust > 'agent'", "trust does not support '>', at character 1 ", "use =, !=, in"),
        (
            "status = 'activ'",
            "unknown value 'activ' for status, at character 1 ",
            "active, waiting",
        ),
        ("tags = 'a'", "tags does not support '=', at character 1 ", "use contains"),
        ("tags != null", "tags does not support '!=', at character 1 ", "use contains"),
        ("tags contains 1", "tags compares with a text, not with 1, at character 1 ", "example"),
        ("text contains ''", "every text contains '', at character 1 ", "remove that term"),
        ("text starts with ''", "every text starts with '', at character 1 ", "remove that term"),
        ("data.a starts with 1", "data.a can only start with text, not 1, at", "for example"),
        ("data.a > true", "true and false cannot be ordered, at character 1 ", "use = or !="),
        ("data.a = 9007199254740992", "an integer is beyond ±(2^53 - 1), at character 10 ", "as"),
        ("data.a = 1e999", "a number is too large, at character 1 ", "for example"),
        ("text = '\0'", "a text contains U+0000 or a lone surrogate, at character 1 ", "example"),
        ("confidence = '\ud800'", "a text contains U+0000 or a lone surrogate, at", "for example"),
        ("data.'\ud800' = 1", "a text contains U+0000 or a lone surrogate, at", "for example"),
    ],
)
def test_a_refusal_says_what_where_and_what_to_do(text: str, message: str, hint: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(text)
    assert message in caught.value.message
    assert re.search(r", at character [0-9]+ of the filter$", caught.value.message)
    assert caught.value.hint
    assert hint in caught.value.hint


def test_a_filter_must_be_text() -> None:
    with pytest.raises(InvalidInput, match="must be text, not int"):
        parse(5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("unit", "text", "message"),
    [
        ("record", "role = 'user'", "unknown field 'role' of records"),
        ("record", "metadata.a = 1", "unknown field 'metadata' of records"),
        ("episode", "kind = 'fact'", "unknown field 'kind' of episodes"),
        ("episode", "tags contains 'a'", "unknown field 'tags' of episodes"),
        ("episode", "data.a = 1", "unknown field 'data' of episodes"),
    ],
)
def test_a_unit_has_its_own_fields(unit: Unit, text: str, message: str) -> None:
    parse(text)
    with pytest.raises(InvalidInput, match=message):
        parse(text, unit)


def test_limits_are_kept() -> None:
    depth, terms, values = (
        limits.FILTER_MAX_DEPTH,
        limits.FILTER_MAX_TERMS,
        limits.FILTER_MAX_VALUES,
    )
    term = "data.a = 1"
    longest = f"text = '{'a' * (limits.FILTER_MAX_CHARS - 9)}'"
    parse("(" * depth + term + ")" * depth)
    parse("not " * depth + term)
    parse(" and ".join([term] * terms))
    parse(f"data.a in ({', '.join('1' * values)})")
    parse("data" + ".a" * 16 + " = 1")
    assert len(str(parse(longest))) == limits.FILTER_MAX_CHARS
    for text in (
        "(" * (depth + 1) + term + ")" * (depth + 1),
        "not " * (depth + 1) + term,
        " or ".join([term] * (terms + 1)),
        f"data.a in ({', '.join('1' * (values + 1))})",
        longest + " ",
    ):
        with pytest.raises(LimitExceeded) as caught:
            parse(text)
        assert caught.value.hint
    with pytest.raises(InvalidInput, match="16 keys"):
        parse("data" + ".a" * 17 + " = 1")


def test_the_largest_filters_run(db: sqlite3.Connection) -> None:
    values = f"reinforcement_count in ({', '.join('0' * limits.FILTER_MAX_VALUES)})"
    many = " or ".join([values] * (limits.FILTER_MAX_CHARS // (len(values) + 4)))
    long = " and ".join(["not key = 'a'"] * limits.FILTER_MAX_TERMS)
    deepest = (
        "not (" * (limits.FILTER_MAX_DEPTH // 2) + values + ")" * (limits.FILTER_MAX_DEPTH // 2)
    )
    for text in (many, long, deepest):
        filter = parse(text)
        assert filter.matches(ALICE) is (text == long)
        assert len(select(db, "record", [ALICE], *compile_sql(filter, "record"))) == (text == long)


def test_the_canonical_text_is_within_the_limit_too() -> None:
    text = " or ".join(["at in(" + ",".join(["'2026-01-01'"] * 256) + ")"] * 2)
    assert len(text) < limits.FILTER_MAX_CHARS
    with pytest.raises(LimitExceeded, match="longer than 8,000 characters"):
        parse(text)


def test_an_expression_made_by_hand_is_held_to_the_same_rules() -> None:
    key, at, data = Column("key"), Column("at"), Path("data", ("a",))
    refused: list[Callable[[], object]] = [
        lambda: Column("seq"),
        lambda: Column('kind" = 1 --'),
        lambda: Path("data", ()),
        lambda: Compare(key, "=", 1),
        lambda: Compare(key, "=", "cafe\u0301"),
        lambda: Compare(at, "=", "2026-01-01"),
        lambda: Compare(data, "=", 2**53),
        lambda: Compare(data, "=", float("nan")),
        lambda: Compare(data, "=", "\0"),
        lambda: OneOf(key, ()),
        lambda: And((Missing(key),)),
        lambda: Or(()),
        lambda: Filter(deep(Missing(key), 17)),
        lambda: Filter(And((Missing(key),) * 65)),
    ]
    for make in refused:
        with pytest.raises(InvalidInput):
            make()
    filter = Filter(deep(And((Missing(key), Missing(at))), 15))
    assert parse(str(filter)) == filter


def deep(node: Node, depth: int) -> Node:
    for _ in range(depth):
        node = Not(node)
    return node


# --- what it means

ALICE: Final = record(
    id="20260101-0000-abc",
    key="alice.seat",
    kind="preference",
    text="Alice sits at the window.",
    tags=pack_names(("work", 'a"b', ",")),
    confidence=0.6,
    is_hypothesis=1,
    at="2026-01-01T00:00:00.000000Z",
    reinforcement_count=3,
    data=pack_object(
        {
            "intent": "update",
            "n": 3,
            "half": 0.5,
            "yes": True,
            "no": None,
            "list": ["x", 1, True, None],
            "deep": {"a": {"b": "c"}},
            "x.y": "dotted",
        }
    ),
)
SAID: Final = episode(role="tool", metadata=pack_object({"intent": "update"}), user="bo")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("kind = 'preference' and confidence >= 0.6 and not (status = 'waiting')", True),
        ("data.intent = 'update' and at > '2025-12-31' and tags contains 'work'", True),
        ("kind = 'Preference'", False),
        ("kind != 'fact'", True),
        ("kind in ('fact', 'preference')", True),
        ("kind in ('fact')", False),
        ("key starts with 'alice.'", True),
        ("key starts with 'Alice.'", False),
        ("text contains 'window'", True),
        ("text contains 'Window'", False),
        ("id > '2026'", True),
        ("key < 'alice.t'", True),
        ("confidence > 0.6", False),
        ("confidence < 1", True),
        ("confidence in (0.5, 0.6)", True),
        ("reinforcement_count = 3.0", True),
        ("reinforcement_count <= 2.5", False),
        ("is_hypothesis = true", True),
        ("is_hypothesis != true", False),
        ("is_hypothesis in (false)", False),
        ("trust in ('person', 'agent')", True),
        ("at = '2026-01-01'", True),
        ("at = '2026-01-01T09:00:00+09:00'", True),
        ("at < '2026-01-01'", False),
        # A missing value compares false, in every way but with null; `not` turns that around.
        ("about = 'a'", False),
        ("about != 'a'", False),
        ("about < 'a'", False),
        ("about in ('a')", False),
        ("about contains 'a'", False),
        ("about starts with 'a'", False),
        ("about = null", True),
        ("about != null", False),
        ("not about = 'a'", True),
        ("not about != 'a'", True),
        ("not (about < 'a')", True),
        ("key = null", False),
        ("key != null", True),
        ("expires > '2026-01-01'", False),
        ("expires = null or expires > '2026-01-01'", True),
        # So does a field of the other unit.
        ("role = 'tool'", False),
        ("role != 'tool'", False),
        ("role = null", True),
        ("metadata.intent = 'update'", False),
        ("metadata.intent = null", True),
        # Tags.
        ("'work' in tags", True),
        ("tags contains 'wor'", False),
        ("tags contains 'a\"b'", True),
        ("tags contains ','", True),
        ("tags contains 'b'", False),
        ("not tags contains 'home'", True),
        # Inside JSON, where types are those of the values.
        ("data.n = 3 and data.n = 3.0 and data.n > 2 and data.n in (1, 3)", True),
        ("data.n = '3'", False),
        ("data.n != '3'", False),
        ("data.n < '4' or data.n > '2'", False),
        ("not data.n = '3'", True),
        ("data.half < 1", True),
        ("data.yes = true", True),
        ("data.yes = 1", False),
        ("data.yes != false", True),
        ("data.yes != 0", False),
        ("data.no = null and data.never = null", True),
        ("data.no = false", False),
        ("data.yes != null", True),
        ("data.list contains 'x' and data.list contains 1 and data.list contains true", True),
        ("data.list contains 0 or data.list contains false", False),
        ("1.0 in data.list", True),
        ("data.list = 'x'", False),
        ("data.list != 'x'", False),
        ("data.list != null", True),
        ("data.list starts with 'x'", False),
        ("data.deep.a.b = 'c'", True),
        ("data.deep.a contains 'b'", False),
        ("data.deep.a.b.c = null", True),
        ("data.intent.deeper = 'update'", False),
        ("data.intent contains 'pda'", True),
        ("data.intent contains 1", False),
        ("data.intent starts with 'up'", True),
        ("data.'x.y' = 'dotted'", True),
        ("data.x.y = 'dotted'", False),
        ("data.intent in (1, true, 'update')", True),
        ("data.intent > 'update'", False),
    ],
)
def test_what_a_filter_means(text: str, wanted: bool) -> None:
    assert parse(text).matches(ALICE) is wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("metadata.intent = 'update' and at > '2025-06-01'", True),
        ("role = 'tool' and user = 'bo'", True),
        ("said_at >= '2026-01-01'", True),
        ("session = null", True),
        ("data.intent = 'update'", False),
        ("kind = 'fact' or tags contains 'a'", False),
        ("origin = 'person'", False),
        ("not kind = 'fact' and tags contains 'a' or kind = null", True),
    ],
)
def test_what_a_filter_means_for_episodes(text: str, wanted: bool) -> None:
    assert parse(text).matches(SAID) is wanted


def test_text_compares_by_code_point() -> None:
    assert parse("text < '\U00010000'").matches(record(text="\uffff"))
    assert parse("text > 'Z'").matches(record(text="a"))


@pytest.mark.parametrize(
    ("text", "unit", "sql", "params"),
    [
        (
            "not (user = 'bo' and key contains 'a' and data.n = 1 and tags contains 'x')",
            "record",
            '((v."user" IS NULL OR NOT (v."user" = :filter_0))'
            ' OR (v."key" IS NULL OR NOT (instr(v."key", :filter_1) > 0))'
            " OR TRUE OR TRUE)",
            {"filter_0": "bo", "filter_1": "a"},
        ),
        (
            "'x' in tags and is_hypothesis = true and role != null and key != null",
            "record",
            '(instr(v."tags", :filter_0) > 0 AND v."is_hypothesis" = :filter_1'
            ' AND FALSE AND v."key" IS NOT NULL)',
            {"filter_0": '"x"', "filter_1": 1},
        ),
        (
            "key = null or id starts with 'ä' or user = null or role in ('user', 'tool')",
            "episode",
            '(TRUE OR substr(e."id", 1, :filter_0) = :filter_1 OR e."user" IS NULL'
            ' OR e."role" IN (:filter_2, :filter_3))',
            {"filter_0": 1, "filter_1": "ä", "filter_2": "user", "filter_3": "tool"},
        ),
    ],
)
def test_the_condition_of_a_filter(
    text: str, unit: Unit, sql: str, params: dict[str, Cell]
) -> None:
    assert compile_sql(parse(text), unit) == (sql, params)
