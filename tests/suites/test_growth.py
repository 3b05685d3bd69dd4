"""No input makes a call take more than its length: twice the input, at most 2.6 times the time."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from recollect.model.frames import Template, holds_mark
from recollect.recall.pack import line_of, pack
from tests.recall.making import episode
from tests.suites.growth import GROWTH_MAX_RATIO, Call, growth

Prepare = Callable[[int], Call]

# Texts that a pattern with two ways to go over the same signs takes long to refuse.
REPEATED = ("<", "< ", "</", "<_", "<recollect", "<recollect ", "&lt;", "{", "{text}", "\u200b<")


def packing(part: str) -> Prepare:
    def prepare(size: int) -> Call:
        hit = episode("e1", part * (size // len(part)))
        return lambda: pack([], [hit], Template(), 1_000_000)

    return prepare


@pytest.mark.parametrize("part", REPEATED)
def test_packing_takes_as_long_as_its_text(part: str) -> None:
    assert growth(packing(part), 40_000) < GROWTH_MAX_RATIO


@pytest.mark.parametrize("part", REPEATED)
def test_looking_for_marks_takes_as_long_as_the_text(part: str) -> None:
    def prepare(size: int) -> Call:
        text = part * (size // len(part))
        return lambda: (holds_mark(text), line_of(episode("e1", text), Template()))

    assert growth(prepare, 40_000) < GROWTH_MAX_RATIO


# Controls.


def test_quadratic_work_is_noticed() -> None:
    def prepare(size: int) -> Call:
        return lambda: [sum(range(size)) for _ in range(size)]

    assert growth(prepare, 200) > GROWTH_MAX_RATIO


def test_linear_work_is_not_taken_for_more() -> None:
    def prepare(size: int) -> Call:
        return lambda: sum(range(size))

    assert growth(prepare, 200_000) < GROWTH_MAX_RATIO


def test_looking_ahead_from_each_sign_is_noticed() -> None:
    ahead = re.compile(r"<(?=[\W_]*recollect)", re.IGNORECASE)

    def prepare(size: int) -> Call:
        text = "<" * size
        return lambda: ahead.sub("&lt;", text)

    assert growth(prepare, 250) > GROWTH_MAX_RATIO
