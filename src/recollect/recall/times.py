"""The stretch of time that a question names, and questions that name nothing else: "what is new?".

Responsible for finding the time ("since Monday", "last week"), for what is left of the question,
and for recognizing one without a subject. Leaves what is shown of that time to ``finding.recent``.
Invariants: pure; days begin at midnight of the asker's offset from UTC; a question with one word of
a subject is never unspecific.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Final, NamedTuple

from recollect.index.words.text import STOP_WORDS, words
from recollect.model.instants import instant

_DAYS: Final = "monday tuesday wednesday thursday friday saturday sunday".split()
_MONTHS: Final = (
    "january february march april may june july august september october november december".split()
)
_UNITS: Final = {"hour": 1 / 24, "day": 1, "week": 7, "month": 30, "year": 365}
_NUMBERS: Final = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "couple": 2, "few": 3}
_COUNT: Final = rf"(\d{{1,3}}|{'|'.join(_NUMBERS)})"
_UNIT: Final = rf"({'|'.join(_UNITS)})s?"
_MONTH: Final = rf"({'|'.join(_MONTHS)})"
_TOWARDS: Final = r"(?:(since|until|before|after)\s+)?"
_DAY: Final = rf"({'|'.join(_DAYS)})"


# Every question that names a time consists of such words, of numbers, and of others.
TIME_WORDS: Final = frozenset(
    (
        *(*_DAYS, *_MONTHS, *_NUMBERS, *_UNITS, *(f"{unit}s" for unit in _UNITS)),
        *"since until before after on in the during over last past this previous ago of".split(),
        *"today tonight morning afternoon yesterday".split(),
    )
)
_Days = tuple[datetime, datetime]  # the first, and the one after the last
_Reader = Callable[[re.Match[str], datetime], _Days]
# Words of questions about everything.
_GENERAL: Final = frozenset(
    """know known knows remember remembered remembers memory memories recollect everything all
    anything recent recently lately latest last newest new news time happen happened happens
    happening change changed changes changing changelog update updates updated do did done does
    me us you we i our my mine myself yourself about so far overview summary summarize recap tell
    show list give learn learned learnt store stored save saved keep kept hold held contents
    content have has had been be was were is are past today now since work worked working
    say said talk talked discuss discussed session sessions conversation conversations previously
    previous everyone stuff things thing please hi hello hey ok also what who which when
    how up there any more else other information info that this""".split()
)
# Words that name a subject only if something is about it.
_FAINT: Final = frozenset(
    """user users preference preferences prefer profile facts fact notes note context background
    project projects person personal settings details detail history decide decided decision
    decisions""".split()
)
_EVERYTHING: Final = frozenset(("", "*", "**", "%", "?", "."))


class Span(NamedTuple):
    """From one instant on, and before another; None is open."""

    since: str | None = None
    before: str | None = None

    def holds(self, at: str) -> bool:
        """True if an instant is in it."""
        late_enough = self.since is None or at >= self.since
        return late_enough and (self.before is None or at < self.before)


ALWAYS: Final = Span()


def span_of(query: str, now: str, tz_minutes: int) -> tuple[Span, str]:
    """The stretch of time that a question names, and the question without it."""
    here = datetime.fromisoformat(now).astimezone(timezone(timedelta(minutes=tz_minutes)))
    today = here.replace(hour=0, minute=0, second=0, microsecond=0)
    for pattern, read in _PATTERNS:
        match = re.search(rf"\b{_TOWARDS}{pattern}\b", query, re.IGNORECASE)
        if match is None:
            continue
        try:
            span = _span((match[1] or "").lower(), *read(match, today))
        except (ValueError, OverflowError):  # no such day, or far outside of the calendar
            continue
        return span, f"{query[: match.start()]} {query[match.end() :]}"
    return ALWAYS, query


def _span(word: str, first: datetime, end: datetime) -> Span:
    if word == "since":
        return Span(_text(first))
    if word == "after":
        return Span(_text(end))
    if word in ("before", "until"):
        return Span(None, _text(first if word == "before" else end))
    return Span(_text(first), _text(end))


def _text(moment: datetime) -> str:
    return instant(moment.astimezone(UTC))


def _date(match: re.Match[str], today: datetime) -> _Days:
    return _one(today.replace(year=int(match[2]), month=int(match[3]), day=int(match[4])))


def _named_date(match: re.Match[str], today: datetime) -> _Days:
    """A day and a month; without a year, the last one."""
    number, month = int(match[2] or match[5]), _month_of(match[3] or match[4])
    is_past = match[6] is not None or (month, number) <= (today.month, today.day)
    year = int(match[6] or today.year) - (not is_past)
    return _one(today.replace(year=year, month=month, day=number))


def _month(match: re.Match[str], today: datetime) -> _Days:
    month = _month_of(match[2])
    year = int(match[3]) if match[3] else today.year - (month > today.month)
    first = today.replace(year=year, month=month, day=1)
    return first, _next_month(first)


def _month_of(name: str) -> int:
    return _MONTHS.index(name.lower()) + 1


def _year(match: re.Match[str], today: datetime) -> _Days:
    first = today.replace(year=int(match[2]), month=1, day=1)
    return first, first.replace(year=first.year + 1)


def _today(match: re.Match[str], today: datetime) -> _Days:
    return _one(today)


def _yesterday(match: re.Match[str], today: datetime) -> _Days:
    return _one(today - timedelta(days=1))


def _weekday(match: re.Match[str], today: datetime) -> _Days:
    """The last one; today only without the word "last"."""
    back = (today.weekday() - _DAYS.index(match[3].lower())) % 7
    day = today - timedelta(days=back or (7 if match[2] else 0))
    return _one(day)


def _calendar(match: re.Match[str], today: datetime) -> _Days:
    """This or the last week, month or year of the calendar; a week begins on Monday."""
    is_last, unit = match[2].lower() != "this", match[3].lower()
    if unit == "week":
        first = today - timedelta(days=today.weekday() + 7 * is_last)
        return first, first + timedelta(days=7)
    first = today.replace(day=1) if unit == "month" else today.replace(month=1, day=1)
    if not is_last:
        return first, _next_month(first) if unit == "month" else first.replace(year=first.year + 1)
    before = first - timedelta(days=1)
    return before.replace(day=1, month=before.month if unit == "month" else 1), first


def _last_few(match: re.Match[str], today: datetime) -> _Days:
    return today - _length(match[2], match[3]), today + timedelta(days=1)


def _ago(match: re.Match[str], today: datetime) -> _Days:
    """One day for days ago; for a longer unit, the stretch of it that ended then."""
    day = today - _length(match[2], match[3])
    return day, day + timedelta(days=max(1.0, _UNITS[match[3].lower()]))


def _length(count: str, unit: str) -> timedelta:
    number = _NUMBERS.get(count.lower()) or int(count)
    return timedelta(days=round(number * _UNITS[unit.lower()]))


def _one(day: datetime) -> _Days:
    return day, day + timedelta(days=1)


def _next_month(first: datetime) -> datetime:
    return (first + timedelta(days=31)).replace(day=1)


# The most exact first. Group 1 is "since" and the like.
_PATTERNS: Final[tuple[tuple[str, _Reader], ...]] = (
    (r"(?:on\s+)?(\d{4})-(\d\d)-(\d\d)", _date),
    (
        rf"(?:on\s+)?(?:the\s+)?(?:(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}"
        rf"|{_MONTH}\s+(\d{{1,2}})(?:st|nd|rd|th)?)(?:,?\s+(\d{{4}}))?",
        _named_date,
    ),
    # A month alone needs a word before it: "may" and "march" are verbs too.
    (
        r"(?:(?:in|during|last)\s+|(?<=since )|(?<=before )|(?<=after )|(?<=until ))"
        rf"{_MONTH}(?:,?\s+(\d{{4}}))?",
        _month,
    ),
    (rf"{_MONTH},?\s+(\d{{4}})", _month),
    (rf"(?:in\s+|over\s+|during\s+)?the\s+(?:last|past)\s+{_COUNT}\s+{_UNIT}", _last_few),
    (rf"(?:last|past)\s+{_COUNT}\s+{_UNIT}", _last_few),
    (rf"{_COUNT}\s+{_UNIT}\s+ago", _ago),
    (r"(this|last|past|previous)\s+(week|month|year)", _calendar),
    (rf"(?:on\s+)?(?:(last)\s+)?{_DAY}", _weekday),
    (r"today|this morning|this afternoon|tonight", _today),
    (r"yesterday", _yesterday),
    (r"(?:in|during)\s+((?:19|20)\d\d)", _year),
)


def unspecific(query: str, now: str, tz_minutes: int, *, found: bool) -> Span | None:
    """The time that an unspecific question asks about; None if a question names a subject.

    ``found`` says whether recall found something: then words such as "preferences" are a subject,
    and so is a day alone.
    """
    if query.strip() in _EVERYTHING:
        return ALWAYS
    general = _GENERAL | STOP_WORDS
    if not found:
        general |= _FAINT
    if not all(word in general or word in TIME_WORDS or word[0].isdigit() for word in words(query)):
        return None  # most questions, without parsing the time
    span, rest = span_of(query, now, tz_minutes)
    told = words(rest)
    if not set(told) <= general:
        return None
    is_asked = bool(told) if found else bool(told) or span != ALWAYS
    return span if is_asked else None
