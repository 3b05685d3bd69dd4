"""Five cron fields."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from recollect.errors import InvalidInput
from recollect.model.cron import parse_cron

NOW = datetime(2026, 11, 16, 15, 30, 20, tzinfo=UTC)  # a Monday


@pytest.mark.parametrize(
    ("fields", "then"),
    [
        ("* * * * *", datetime(2026, 11, 16, 15, 31, tzinfo=UTC)),
        ("30 * * * *", datetime(2026, 11, 16, 16, 30, tzinfo=UTC)),
        ("*/20 * * * *", datetime(2026, 11, 16, 15, 40, tzinfo=UTC)),
        ("5/20 9 * * *", datetime(2026, 11, 17, 9, 5, tzinfo=UTC)),
        ("30 7 * * MON-fri", datetime(2026, 11, 17, 7, 30, tzinfo=UTC)),
        ("0 0 * * 7", datetime(2026, 11, 22, tzinfo=UTC)),
        ("0 0 * * 0,3", datetime(2026, 11, 18, tzinfo=UTC)),
        ("0 0 1 jan *", datetime(2027, 1, 1, tzinfo=UTC)),
        ("0 0 29 2 *", datetime(2028, 2, 29, tzinfo=UTC)),
        ("0 0 20 * wed", datetime(2026, 11, 18, tzinfo=UTC)),  # a day or a weekday
        ("0 0 17-19/2 11 *", datetime(2026, 11, 17, tzinfo=UTC)),
    ],
)
def test_the_next_time(fields: str, then: datetime) -> None:
    assert parse_cron(fields).next_after(NOW) == then


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("* * * *", "cron has 4 fields, not five"),
        ("60 * * * *", "minute '60' is not within 0-59"),
        ("9-5 * * * *", "minute '9-5' is not within"),
        ("*/0 * * * *", "not within"),
        ("* * * * day", "weekday 'day' is not a number"),
        ("x-5 * * * *", "minute 'x' is not a number"),
        ("99999 * * * *", "is not a number"),
        ("* * 0 * *", "day '0' is not within 1-31"),
        ("0 0 31 2 *", "names no day of any year"),
    ],
)
def test_other_texts_are_refused(fields: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse_cron(fields)


def test_the_calendar_ends() -> None:
    assert parse_cron("0 0 1 1 *").next_after(datetime(9999, 12, 30, tzinfo=UTC)) is None
