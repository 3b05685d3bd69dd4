"""What passes the checks can be stored and comes back the same; the rest is refused."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput, LimitExceeded
from recollect.model import limits, validate
from recollect.model.instants import (
    INSTANT,
    dated,
    from_microseconds,
    instant,
    later,
    to_datetime,
    to_microseconds,
)
from recollect.model.record_fields import RecordFields
from recollect.model.validate import Json

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-limits.INTEGER_MAX, limits.INTEGER_MAX)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab", max_size=3), inner),
    max_leaves=10,
)


@given(st.dictionaries(st.text("xyz", max_size=5), JSON, max_size=5))
def test_data_comes_back_the_same(value: dict[str, Json]) -> None:
    passed = validate.data(value)
    assert msgspec.json.decode(msgspec.json.encode(passed)) == value


@pytest.mark.parametrize(
    "value",
    [
        {"a": float("nan")},
        {"a": float("inf")},
        {"a": 2**53},
        {"a": -(2**53)},
        {"a": "\ud800"},
        {"a\0": 1},
        {"a": "\0"},
        {"a": {1: 2}},
        {"a": object()},
        {"a": {"b": {2}}},
        [1],
        "text",
    ],
)
def test_a_value_that_is_not_json_is_refused(value: dict[str, Json]) -> None:
    with pytest.raises(InvalidInput):
        validate.data(value)


def test_data_has_limits() -> None:
    deep: Json = 1
    for _ in range(limits.DATA_MAX_DEPTH):
        deep = [deep]
    with pytest.raises(LimitExceeded, match="nested"):
        validate.data({"a": deep})
    with pytest.raises(LimitExceeded, match="keys"):
        validate.data({str(n): n for n in range(limits.DATA_MAX_KEYS + 1)})
    with pytest.raises(LimitExceeded, match="bytes"):
        validate.data({"a": "x" * limits.DATA_MAX_BYTES})
    assert validate.data(None) == {}
    assert validate.data({"a": (1, 2)}) == {"a": [1, 2]}  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ('{"a":1,"a":2}', "twice"),
        ('{"a":{"b":1,"b":1}}', "twice"),
        ('{"a":NaN}', "not a number"),
        ('{"a":Infinity}', "not a number"),
        ('{"a":1e400}', "inf"),
        ("[1]", "object"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_json_text_is_read_strictly(source: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        validate.parse_json_object(source)


def test_json_text_is_read() -> None:
    assert validate.parse_json_object('{"a":[1,{"b":null}]}') == {"a": [1, {"b": None}]}


@pytest.mark.parametrize("value", ["", "   ", "\n", "a\0b", "\ud800", 7])
def test_text_must_say_something_storable(value: str) -> None:
    with pytest.raises(InvalidInput):
        validate.text(value)


def test_what_is_not_text_is_refused_by_its_type() -> None:
    class Word(str):
        __slots__ = ()

        def __str__(self) -> str:
            return "another"

    assert validate.plain(Word("said"), "the text") == "said"
    assert type(validate.plain(Word("said"), "the text")) is str
    with pytest.raises(InvalidInput, match="the text must be text, not int"):
        validate.plain(7, "the text")  # type: ignore[arg-type]


def test_text_is_kept_as_given() -> None:
    assert validate.text(" Zoe\u0308\u2028\u0085 ") == " Zoe\u0308\u2028\u0085 "
    with pytest.raises(LimitExceeded):
        validate.text("é" * (limits.TEXT_MAX_BYTES // 2 + 1))
    with pytest.raises(LimitExceeded):
        validate.text("x" * (limits.TEXT_MAX_BYTES + 1))


def test_names_are_normal_and_short() -> None:
    assert validate.name(" Zoe\u0308 ", "user") == "Zoë"
    assert validate.optional_name(None, "user") is None
    assert validate.optional_name("x", "user") == "x"
    for bad in ("", "  ", "a\tb", "a\0", 3):
        with pytest.raises(InvalidInput):
            validate.name(bad, "user")  # type: ignore[arg-type]
    with pytest.raises(LimitExceeded):
        validate.name("x" * 201, "user")
    assert validate.name("\u1fb3\u0301" * 100 + " " * 900, "user") == "\u1fb4" * 100
    assert len(validate.name("\u03b1\u0313\u0300\u0345" * 200, "user")) == 200  # four make one
    with pytest.raises(LimitExceeded):
        validate.name("\u03b1\u0313\u0300\u0345" * 200 + "x", "user")
    assert validate.names(["a", "b", "a"], "tags", at_most=3) == ("a", "b")
    with pytest.raises(LimitExceeded):
        validate.names(["a", "b"], "tags", at_most=1)
    with pytest.raises(InvalidInput):
        validate.names("ab", "tags", at_most=3)


def test_ids_are_plain() -> None:
    assert validate.identifier("FACT-001") == "FACT-001"
    for bad in ("", "a b", 'a"b', "a\nb", "é", "a\\b", 5):
        with pytest.raises(InvalidInput):
            validate.identifier(bad)  # type: ignore[arg-type]
    with pytest.raises(LimitExceeded):
        validate.identifier("x" * 121)


def test_reasons_are_optional() -> None:
    assert validate.reason(None) is None
    assert validate.reason("because") == "because"
    with pytest.raises(LimitExceeded):
        validate.reason("x" * 2_001)


def test_spaces_have_short_names() -> None:
    assert validate.space_name("alice@example.org") == "alice@example.org"
    with pytest.raises(LimitExceeded):
        validate.space_name("é" * 40)


def test_fractions_lie_between_0_and_1() -> None:
    assert validate.fraction(0, "confidence") == 0.0
    assert validate.fraction(1.0, "confidence") == 1.0
    for bad in (float("nan"), float("inf"), -0.1, 1.1, True, "1"):
        with pytest.raises(InvalidInput):
            validate.fraction(bad, "confidence")  # type: ignore[arg-type]


def test_counts_are_positive() -> None:
    assert validate.count(3, "k", at_most=5) == 3
    for bad in (0, -1, True, 1.5):
        with pytest.raises(InvalidInput):
            validate.count(bad, "k", at_most=5)  # type: ignore[arg-type]
    with pytest.raises(LimitExceeded):
        validate.count(6, "k", at_most=5)


@given(st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999))
def test_instants_round_trip_and_sort(us: int) -> None:
    text = from_microseconds(us)
    assert INSTANT.fullmatch(text)
    assert to_microseconds(text) == us
    assert to_datetime(text).tzinfo is not None


@pytest.mark.parametrize("year", [1900, 2199])
def test_dates_lie_in_years_that_every_zone_can_show(year: int) -> None:
    assert dated(date(year, 1, 1)) == f"{year}-01-01T00:00:00.000000Z"
    outside = {1900: date(1899, 12, 31), 2199: date(2200, 1, 1)}[year]
    with pytest.raises(InvalidInput, match="not between the years 1900 and 2199"):
        dated(outside)


def test_instants_from_what_callers_have() -> None:
    summer = timezone(timedelta(hours=2))
    assert instant(datetime(2026, 7, 1, 12, 0, tzinfo=summer)) == "2026-07-01T10:00:00.000000Z"
    assert instant("2026-07-01T12:00:00+02:00") == "2026-07-01T10:00:00.000000Z"
    assert instant("2026-07-01") == "2026-07-01T00:00:00.000000Z"
    assert instant(date(2026, 7, 1)) == "2026-07-01T00:00:00.000000Z"
    assert later("2026-07-01T00:00:00.000000Z", timedelta(days=1)).startswith("2026-07-02")


@pytest.mark.parametrize(
    "bad",
    [
        "soon",
        "2026-13-01",
        "2026-07-01T12:00:00",
        datetime(2026, 7, 1),  # noqa: DTZ001
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))),
    ],
)
def test_instants_without_a_zone_or_sense_are_refused(bad: str | datetime) -> None:
    with pytest.raises(InvalidInput):
        instant(bad)


def test_a_time_can_be_too_long() -> None:
    with pytest.raises(InvalidInput):
        later("2026-07-01T00:00:00.000000Z", timedelta(days=999_999_999))
    assert instant(datetime(2026, 7, 1, tzinfo=UTC)).endswith("Z")


def test_numbers_that_cannot_be_written_out_are_refused_like_others() -> None:
    huge = 10**5_000  # more digits than Python writes or reads
    with pytest.raises(InvalidInput, match="too large to show"):
        validate.count(-huge, "k", at_most=10)
    with pytest.raises(LimitExceeded):
        validate.count(huge, "k", at_most=10)
    for value in (huge, -huge, float("nan"), float("inf")):
        with pytest.raises(InvalidInput):
            validate.fraction(value, "confidence")
    with pytest.raises(InvalidInput, match="2\\^53"):
        validate.data({"n": huge})
    with pytest.raises(InvalidInput, match="is not JSON"):
        validate.parse_json_object('{"n": ' + "1" * 5_000 + "}")
    with pytest.raises(InvalidInput, match="a key that is not text: 1"):
        validate.data({1: "x"})  # type: ignore[dict-item]
    with pytest.raises(InvalidInput, match="too large to show"):
        validate.data({huge: "x"})  # type: ignore[dict-item]


def test_a_very_long_question_is_cut() -> None:
    long = "word " * 10_000
    assert validate.question(long) == long[: limits.QUESTION_MAX_CHARS]
    assert validate.questions([long, "short"]) == [long[: limits.QUESTION_MAX_CHARS], "short"]
    with pytest.raises(InvalidInput, match="list of strings"):
        validate.questions("short")


def test_what_a_write_expects_is_a_position_or_an_id_with_its_seq() -> None:
    for good in (None, 0, 7, ("a", 3)):
        assert validate.expected(good) == good
    assert validate.expected(["a", 3]) == ("a", 3)  # type: ignore[arg-type]  # as JSON has it
    for bad in (-1, True, "a", ("a",), ("a", -1), ("a", "3"), ("a", 1, 2), 1.5):
        with pytest.raises(InvalidInput, match="expect is"):
            validate.expected(bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="id in expect"):
        validate.expected(("", 3))


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("Mara Lindt", True),
        ("Persona", True),
        ("person", False),
        ("Agent planner", False),
        ("(name erased)", False),
        ("Ma\u202era", False),
        ("\u3164", False),
        ("Ma\u2800ra", False),
        ("", False),
        (" Mara", False),
    ],
)
def test_what_a_person_may_call_themselves(name: str, *, is_one: bool) -> None:
    assert validate.is_own_name(name) == is_one


def test_an_argument_that_a_call_does_not_have_is_refused() -> None:
    given = {"key": "port", "reason": "it moved"}
    assert validate.arguments("remember", given, RecordFields) is given
    with pytest.raises(TypeError, match=r"^remember\(\) got an unexpected .* 'colour'$"):
        validate.arguments("remember", {**given, "colour": "red"}, RecordFields)
