"""The days that a text names: "7 May 2023", "last Friday", "two weeks ago".

Responsible for finding them in words. Leaves which days they may mean to ``propose.spans``, and
plain years to ``propose.grounds``, which takes them as numbers. Invariants: pure, and in linear
time; a word that may be something else, such as "may", counts only where it is a day.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from recollect.propose.numbers import GLUE, value_of
from recollect.propose.written import Word

Kind = Literal["day", "month", "weekday", "ordinal", "offset", "count", "unit"]
Way = Literal["last", "this", "next", "either"]


class When(NamedTuple):
    """An expression for days, before it is known when it was said."""

    kind: Kind
    text: str
    length: int  # words that it has
    way: Way = "either"
    numbers: tuple[int, ...] = ()  # by kind, see propose.spans
    year: int | None = None
    is_fact: bool = True  # False for "now", and for what only supports
    anchor: str = ""  # the word before it

    @property
    def is_relative(self) -> bool:
        """True if the day on which it was said decides what it means."""
        return self.year is None


def _table(*lines: str) -> dict[str, int]:
    return {word: place for line in lines for place, word in enumerate(line.split())}


_WEEKDAYS: Final = _table(
    "monday tuesday wednesday thursday friday saturday sunday",
    "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "lunes martes miercoles jueves viernes sabado domingo",
) | {"sonnabend": 5}
# After "last" and the like alone: "sat" and "sun" are words too.
_SHORT_WEEKDAYS: Final = (
    _table("mon tue wed thu fri sat sun") | _table("mon tues wed thur fri") | {"thurs": 3}
)
_MONTHS: Final = _table(
    "january february march april may june july august september october november december",
    "januar februar marz april mai juni juli august september oktober november dezember",
    "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
)
# Beside a day or a year alone.
_SHORT_MONTHS: Final = _table("jan feb mar apr may jun jul aug sep oct nov dec") | {"sept": 8}
_VERBS: Final = frozenset("may march mars".split())  # months only with a capital, or after these:
_BEFORE_MONTHS: Final = frozenset(
    "in since until during by of last next this early mid late im en seit".split()
)
_UNITS: Final = {
    **dict.fromkeys("day days tag tage tagen jour jours dia dias".split(), "day"),
    **dict.fromkeys("week weeks woche wochen semaine semaines semana semanas".split(), "week"),
    **dict.fromkeys("weekend weekends wochenende".split(), "weekend"),
    **dict.fromkeys("month months monat monate monaten mois mes meses".split(), "month"),
    **dict.fromkeys("year years jahr jahre jahren an ans annee annees ano anos".split(), "year"),
    **dict.fromkeys(
        "hour hours minute minutes stunde stunden heure heures hora horas".split(), "hour"
    ),
    **dict.fromkeys("winter spring summer autumn fall fruhling sommer herbst".split(), "season"),
    **dict.fromkeys("night morning afternoon evening".split(), "part"),
}
_MANY: Final = frozenset("weeks weekends months years wochen monate jahre semaines annees".split())
UNIT_NAMES: Final = ("hour", "part", "day", "weekend", "week", "month", "season", "year")
_SEASONS: Final = {
    **dict.fromkeys("spring fruhling".split(), 3),
    **dict.fromkeys("summer sommer".split(), 6),
    **dict.fromkeys("autumn fall herbst".split(), 9),
    "winter": 12,
}
_WAYS: Final[dict[str, Way]] = {
    **dict.fromkeys("last past previous letzte letzten letztes letzter vergangene".split(), "last"),
    **dict.fromkeys("vergangenen vergangenes derniere dernier pasado pasada".split(), "last"),
    **dict.fromkeys("this current diese diesen dieses diesem cette ce este esta".split(), "this"),
    **dict.fromkeys("next coming upcoming following nachste nachsten nachstes".split(), "next"),
    **dict.fromkeys("prochaine prochain proxima proximo".split(), "next"),
}
# What follows its unit in French and Spanish.
_WAYS_AFTER: Final = frozenset(
    "derniere dernier pasado pasada prochaine prochain proxima proximo".split()
)
_OFFSETS: Final = {
    **dict.fromkeys("today tonight heute aujourd hoy".split(), (0, 0)),
    **dict.fromkeys("yesterday gestern ayer".split(), (-1, -1)),
    **dict.fromkeys("tomorrow demain manana".split(), (1, 1)),
    **dict.fromkeys("vorgestern anteayer".split(), (-2, -2)),
    "ubermorgen": (2, 2),
}
# These support a day and are not one: they are vague, or words of another language too.
_VAGUE: Final = {
    **dict.fromkeys("now currently jetzt gerade actuellement ahora".split(), (0, 0)),
    **dict.fromkeys("recently lately newly neulich kurzlich recientemente".split(), (-14, 0)),
    **dict.fromkeys("soon upcoming bald bientot pronto".split(), (0, 14)),
    "hier": (-1, -1),
    "morgen": (1, 1),
}
_AGO: Final = frozenset("ago earlier back".split())
_AHEAD: Final = frozenset("later hence".split())
_AHEAD_BEFORE: Final = frozenset("in dans".split())
_BEFORE_AGO: Final = frozenset("vor hace".split())
_FEW: Final = {"few": (2, 5), "couple": (2, 3), "several": (3, 7), "einigen": (2, 5)}
_ONE: Final = frozenset("a an one ein eine einem einer un une una uno".split())
_OF: Final = frozenset("of de del the".split())
YEARS: Final = range(1900, 2100)
_COUNT_MAX: Final = 1_000


def when_at(words: Sequence[Word], at: int) -> When | None:
    """The expression that begins with this word."""
    low = words[at].low
    if low not in _STARTS and value_of(words[at]) is None:
        return None
    for read in (_numeric, _day_and_month, _month, _relative, _counted, _weekday, _ordinal):
        when = read(words, at)
        if when is not None:
            text = " ".join(word.raw for word in words[at : at + when.length])
            return when._replace(text=text, anchor=_anchor(words, at))
    return None


def _anchor(words: Sequence[Word], at: int) -> str:
    """The word before, without an article."""
    at -= 1 if at and words[at - 1].low in ("the", "dem", "le", "el") else 0
    before = words[at - 1].low if at else ""
    return "as of" if before == "of" and at > 1 and words[at - 2].low == "as" else before


def _low(words: Sequence[Word], at: int) -> str:
    return words[at].low if at < len(words) else ""


def _year_at(words: Sequence[Word], at: int) -> int | None:
    low = _low(words, at)
    known = len(low) == 4 and low.isdecimal() and int(low) in YEARS
    return int(low) if known else None


def _numeric(words: Sequence[Word], at: int) -> When | None:
    """2023-05-08, 08.05.2023 and 5/8/2023, which may be either order."""
    parts = words[at : at + 3]
    if len(parts) < 3 or parts[1].gap != parts[2].gap or parts[1].gap not in ("-", "/", "."):
        return None
    if not all(part.low.isdecimal() and len(part.low) <= 4 for part in parts):
        return None
    first, second, third = (int(part.low) for part in parts)
    if first in YEARS:
        return When("day", "", 3, numbers=(second, third), year=first)
    if third not in YEARS:
        return None
    either = parts[1].gap == "/"
    return When(
        "day", "", 3, numbers=(second, first) + ((first, second) if either else ()), year=third
    )


def _day_number(words: Sequence[Word], at: int) -> int | None:
    """A day of a month, such as 7 and 7th."""
    low = _low(words, at)
    if not low or not low[0].isdecimal():
        return None
    is_joined = at + 1 < len(words) and words[at + 1].gap in GLUE  # as in 3,000
    if is_joined and words[at + 1].low[0].isdecimal() and _year_at(words, at + 1) is None:
        return None
    value, end = value_of(words[at]), low.lstrip("0123456789")
    known = end in ("", "st", "nd", "rd", "th", "er")
    return value if known and value is not None and 1 <= value <= 31 else None


def _day_and_month(words: Sequence[Word], at: int) -> When | None:
    """7 May, 7th of May 2023, May 7, 2023."""
    months = _MONTHS | _SHORT_MONTHS
    day, place = _day_number(words, at), at + 1
    if day is not None:
        place += _low(words, place) in _OF
        month = months.get(_low(words, place))
        place += 1
    else:
        month = months.get(words[at].low)
        place += _low(words, place) == "the"
        day = _day_number(words, place) if month is not None else None
        place += 1
    if day is None or month is None:
        return None
    extra = _low(words, place) in _OF and _year_at(words, place + 1) is not None
    year = _year_at(words, place + extra)
    count = place - at + (1 + extra if year else 0)
    return When("day", "", count, numbers=(month + 1, day), year=year)


def _month(words: Sequence[Word], at: int) -> When | None:
    """May 2023, and a month alone if it cannot be a verb."""
    low = words[at].low
    month = _MONTHS.get(low)
    place = at + 1
    extra = _low(words, place) in _OF
    year = _year_at(words, place + extra)
    if year is not None and (month is not None or low in _SHORT_MONTHS):
        number = _SHORT_MONTHS[low] if month is None else month
        return When("month", "", 2 + extra, numbers=(number + 1,), year=year)
    if month is None or (low in _VERBS and not _is_month(words, at)):
        return None
    return When("month", "", 1, numbers=(month + 1,))


def _is_month(words: Sequence[Word], at: int) -> bool:
    """True for "may" and the like where they are months."""
    before = _low(words, at - 1) if at else ""
    return before in _BEFORE_MONTHS or (words[at].raw[0].isupper() and not words[at].opens)


def _relative(words: Sequence[Word], at: int) -> When | None:
    """Yesterday, last week, next summer, this Friday."""
    low, after = words[at].low, _low(words, at + 1)
    if low in ("before", "after") and at > 0:
        low = ""
    if low == "day" and after in ("before", "after") and _low(words, at + 2) in _OFFSETS:
        first = _OFFSETS[_low(words, at + 2)][0]
        far = first + (-1 if after == "before" else 1)
        return When("offset", "", 3, numbers=(far, far))
    if low == "other" and after == "day":
        return When("offset", "", 2, numbers=(-14, 0), is_fact=False)
    if low in _OFFSETS:
        return When("offset", "", 1, numbers=_OFFSETS[low])
    if low in _WAYS and low not in _WAYS_AFTER:
        found = _with_way(words, at, _WAYS[low])
        if found is not None:
            return found
    if low in _UNITS and after in _WAYS_AFTER:
        found = _of_unit(low, _WAYS[after])
        return found and found._replace(length=2)
    if low in _VAGUE:
        return When("offset", "", 1, numbers=_VAGUE[low], is_fact=False)
    return None


def _with_way(words: Sequence[Word], at: int, way: Way) -> When | None:
    """What follows "last", "this" and "next"."""
    low = _low(words, at + 1)
    day = _WEEKDAYS.get(low, _SHORT_WEEKDAYS.get(low))
    if day is not None:
        return When("weekday", "", 2, way, (day,))
    if low in _MONTHS:
        return When("month", "", 2, way, (_MONTHS[low] + 1,))
    counted = _count(words, at + 1)
    if counted is not None and low not in _ONE:
        low_count, high, place = counted
        unit = _UNITS.get(_low(words, place))
        if unit is not None:
            numbers = (low_count, high, UNIT_NAMES.index(unit))
            return When("count", "", place + 1 - at, way, numbers)
    found = _of_unit(low, way)
    return found and found._replace(length=2)


def _of_unit(low: str, way: Way) -> When | None:
    unit = _UNITS.get(low)
    if unit is None or unit == "hour" or low in _MANY:
        return None
    numbers = (UNIT_NAMES.index(unit), _SEASONS.get(low, 0))
    return When("unit", "", 1, way, numbers, is_fact=unit != "day")


def _count(words: Sequence[Word], at: int) -> tuple[int, int, int] | None:
    """How many, at least and at most, and the place after it."""
    low = _low(words, at)
    if low in _ONE and _low(words, at + 1) in _FEW:
        at, low = at + 1, _low(words, at + 1)
    if low in _FEW:
        return (*_FEW[low], at + 1 + (_low(words, at + 1) == "of"))
    if low in _ONE:
        return 1, 1, at + 1
    value = value_of(words[at]) if low else None
    return (value, value, at + 1) if value and value < _COUNT_MAX else None


def _counted(words: Sequence[Word], at: int) -> When | None:
    """Two weeks ago, in two weeks; and two years, which support the year in which they began."""
    counted = _count(words, at)
    if counted is None:
        return None
    low_count, high, place = counted
    unit = _UNITS.get(_low(words, place))
    if unit is None:
        return None
    before, after = _low(words, at - 1) if at else "", _low(words, place + 1)
    is_ago = after in _AGO or before in _BEFORE_AGO
    is_ahead = after in _AHEAD or (after == "from" and _low(words, place + 2) in ("now", "today"))
    if not (is_ago or is_ahead or before in _AHEAD_BEFORE or unit in ("month", "year")):
        return None
    way: Way = "next" if is_ahead or before in _AHEAD_BEFORE else "last"
    count = place + 1 - at + (after in _AGO or after in _AHEAD)
    numbers = (low_count, high, UNIT_NAMES.index(unit))
    return When("count", "", count, way, numbers, is_fact=is_ago or is_ahead)


def _weekday(words: Sequence[Word], at: int) -> When | None:
    low = words[at].low
    number = _WEEKDAYS.get(low, _WEEKDAYS.get(low.removesuffix("s")))
    return None if number is None else When("weekday", "", 1, numbers=(number,))


def _ordinal(words: Sequence[Word], at: int) -> When | None:
    """The 15th: it may be a day of this month or of the next."""
    day = _day_number(words, at)
    if day is None or words[at].low.isdecimal() or _low(words, at - 1) != "the" or not at:
        return None
    return When("ordinal", "", 1, numbers=(day,), is_fact=False)


_STARTS: Final = frozenset(
    (
        *(*_WEEKDAYS, *(f"{day}s" for day in _WEEKDAYS), *_MONTHS, *_SHORT_MONTHS, *_OFFSETS),
        *(*_VAGUE, *_WAYS, *_UNITS, *_FEW, *_ONE, "other", "day"),
    )
)
