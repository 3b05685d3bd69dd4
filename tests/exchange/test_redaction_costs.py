"""No text makes the search for secrets cost more for each character the longer it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.exchange.redaction import engine, find, values
from recollect.exchange.redaction.shape import Shape

SHORT, LONG = 8_000, 128_000  # what is quadratic costs 16 times as much for each character
MOST = 4.0

# What was read to its end from each place in it.
RUNS = {
    "values that hold their name": ("authorization=", ""),
    "prefixes of base64": ("ABSK/", "_"),
    "prefixes without a digit": ("xoxb-", ""),
    "prefixes": ("xoxb-1-", "_"),
    "other prefixes": ("xapp-1-", "_"),
    "encoded prefixes": ("A" * 21 + "%", "_"),
    "one line of headings": ("password|passwd|pwd|secret|token|", ""),
    "one line with commas": ("aa,password", ""),
    "keys cut short": ("-----BEGIN PRIVATE KEY-----\nAA\n!", ""),
}
# How a name in a program was recognized: each open bracket doubled the attempts.
WAS_DOTTED = re.compile(
    r"[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|->|::|/)[A-Za-z_][A-Za-z0-9_]*|\[[\w.:-]*\]?)+", re.ASCII
)


def growth(search: Callable[[str], object], piece: str, end: str, part: int = 1) -> float:
    """How many times as much a character of a long text costs as one of a short text."""
    long, short = LONG // part, SHORT // part
    return least(search, piece, end, long) / least(search, piece, end, short)


def least(search: Callable[[str], object], piece: str, end: str, size: int) -> float:
    """The processor seconds for each character, the best of three."""
    text = piece * (size // len(piece)) + end
    found = []
    for _ in range(3):
        started = process_time()
        search(text)
        found.append((process_time() - started) / size)
    return min(found)


@pytest.mark.parametrize(("piece", "end"), RUNS.values(), ids=RUNS.keys())
def test_a_character_costs_the_same_in_a_long_text(piece: str, end: str) -> None:
    assert growth(find, piece, end) < MOST


def test_control_a_shape_without_a_bound_costs_more() -> None:
    shape = Shape("token", "xapp-", r"(?P<value>xapp-[a-z-]{20,}+)(?!_)")

    def search(text: str) -> object:
        return [*engine._shaped(text, text, shape)]

    assert growth(search, "xapp-", "_", part=8) > MOST


@pytest.mark.parametrize("before", ["cookie: x=", "password=", "token: '"])
def test_brackets_are_not_tried_in_every_way(before: str) -> None:
    started = process_time()
    assert find(f"{before}a1{'[b.c' * 24}!") is not None
    assert process_time() - started < 1.0  # it took seconds, and twice as long for each bracket


def test_control_they_were() -> None:
    def seconds(count: int) -> float:
        started = process_time()
        WAS_DOTTED.fullmatch(f"a{'[b.c' * count}!")
        return process_time() - started

    assert min(seconds(16) for _ in range(3)) > 16 * min(seconds(8) for _ in range(3))


@given(st.lists(st.sampled_from([*"a_1.:-/[]>!\u00e9", "->", "::", "[a", ".b"]), max_size=14))
def test_names_in_programs_are_recognized_as_before(parts: list[str]) -> None:
    name = "a" + "".join(parts)
    assert bool(values._DOTTED.fullmatch(name)) == bool(WAS_DOTTED.fullmatch(name))


def test_a_long_credential_is_taken_out_to_its_end() -> None:
    value = "aB3dE6gH9jK2" * 200
    (found,) = find(f"authorization: Custom {value} and more")
    assert (found.kind, found.end - found.start) == ("authorization", len(value))


@pytest.mark.parametrize(
    "table",
    [
        "user|password|secret\nann|hunter2a|tr0ub4dor\nbob|aB3dE6gH|xY0zA1b2\n",
        "x\nuser|password\nann|hunter2a\n\nnothing\ntoken|user\naB3dE6gH|ann\n",
    ],
)
def test_every_column_of_a_table_is_searched(table: str) -> None:
    cells = {cell for cell in re.split(r"[|\n]", table) if re.search(r"\d", cell)}
    assert {table[each.start : each.end] for each in find(table)} == cells
