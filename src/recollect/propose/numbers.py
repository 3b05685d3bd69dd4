"""The numbers of a text, in one spelling: "two hundred", "200" and "2 hundred" are 200.

Responsible for digits, number words and times of day. Leaves dates to ``propose.days``.
Invariants: pure, and in linear time; a number with two possible readings has neither, and counts
only as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

from recollect.propose.written import THIN, Word

_ONES: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen",
    "null eins zwei drei vier funf sechs sieben acht neun zehn elf zwolf dreizehn vierzehn "
    "funfzehn sechzehn siebzehn achtzehn neunzehn",
    "zero un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize",
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince "
    "dieciseis diecisiete dieciocho diecinueve",
)
_TENS: Final = (
    "twenty thirty forty fifty sixty seventy eighty ninety",
    "zwanzig dreissig vierzig funfzig sechzig siebzig achtzig neunzig",
    "vingt trente quarante cinquante soixante",
    "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
)
_ORDINALS: Final = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)
_TIMES: Final = {"once": 1, "single": 1, "twice": 2, "both": 2, "couple": 2, "pair": 2, "thrice": 3}
_DOZEN: Final = 12
_HUNDREDS: Final = frozenset("hundred hundert cent cien ciento".split())
_SCALES: Final = {
    **dict.fromkeys("thousand tausend mille mil".split(), 1_000),
    **dict.fromkeys("million millions millionen millon millones mio".split(), 1_000_000),
    **dict.fromkeys("billion billions bn milliarden milliards".split(), 1_000_000_000),
}
_AND: Final = frozenset("and und et y".split())
# What a number alone says too little for, or what is a word of another language too.
_SAYS_LITTLE: Final = frozenset(
    "one first once single both couple pair un uno eins elf sept seize null cent mille mil".split()
)
_TAILS: Final = frozenset(
    """st nd rd th s am pm km kg g mg ml l cm mm m h hr hrs min sec x er o gb mb tb kb mph kmh
    yo yr yrs usd eur k hz w kw v c f d""".split()
)
_GROUPED: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?")
GLUE: Final = (".", ",", ":", THIN[0])  # between the parts of one number
_THIN: Final = re.compile(rf"\d{{1,3}}(?:{THIN[0]}\d{{3}})+")
_GERMAN: Final = re.compile(r"\d{1,3}(?:\.\d{3}){2,}")
_DECIMAL: Final = re.compile(r"\d+[.,](?:\d{1,2}|\d{4,})")
_TIME: Final = re.compile(r"\d{1,2}:\d\d")
_HEAD: Final = re.compile(r"\d+")
_DIGITS_MAX: Final = 15  # a longer one counts as it is written
_PARTS_MAX: Final = 8  # of one number, such as the groups of 1,000,000
_WORDS_MAX: Final = 16  # of one number in words
_NOON: Final = 12


class Number(NamedTuple):
    """A number of a text: one of these spellings must be found, and these it offers."""

    text: str
    wanted: frozenset[str]
    offered: frozenset[str]
    is_fact: bool  # False for "one" and the like
    length: int  # words that it has


def all_of(words: Sequence[Word]) -> Iterator[Number]:
    """The numbers of some words."""
    at = 0
    while at < len(words):
        number = number_at(words, at)
        if number is not None:
            yield number
        at += number.length if number else 1


def number_at(words: Sequence[Word], at: int) -> Number | None:
    """The number that begins with this word."""
    low = words[at].low
    if low[0].isdecimal():
        return _digits(words, at)
    return _spelled(words, at) if low in _values() else None


def value_of(word: Word) -> int | None:
    """The value of a word that is a small number."""
    head = _HEAD.match(word.low)
    if head is None:
        return _values().get(word.low)
    known = word.low[head.end() :] in _TAILS or head.end() == len(word.low)
    return int(head[0]) if known and head.end() <= 4 else None


def _digits(words: Sequence[Word], at: int) -> Number:
    text, count = _joined(words, at)
    head = _HEAD.match(words[at + count - 1].low)
    tail = words[at + count - 1].low[head.end() :] if head else ""
    number = text[: len(text) - len(tail)].lower()
    after = _after(words, at + count)
    if tail and tail not in _TAILS:  # a name such as 12A
        return _plain_one(text, text.lower(), count)
    half = tail if tail in ("am", "pm") else after if after in ("am", "pm") else None
    if half is None and after in ("a", "p") and _after(words, at + count + 1) == "m":
        half = f"{after}m"
    if half or _TIME.fullmatch(number):
        spoken = half is not None and tail != half
        return _time(text if not spoken else f"{text} {half}", number, half, count)
    value = _spelling(number)
    if tail == "k":
        return _plain_one(text, _times(value, 1_000), count)
    if after in _SCALES or after in _HUNDREDS:
        text = f"{text} {after}"
        return _plain_one(text, _times(value, _SCALES.get(after, 100)), count + 1)
    if _is_below_zero(words, at):
        return _plain_one(f"-{text}", f"-{value}", count)
    wanted = frozenset((value, *(f"{value}:00{half}" for half in ("am", "pm", ""))))
    return Number(text, wanted, frozenset((value,)), True, count)


def _joined(words: Sequence[Word], at: int) -> tuple[str, int]:
    """A number with its groups and decimals, and how many words that are."""
    text, count = words[at].raw, 1
    while count < _PARTS_MAX and at + count < len(words) and words[at + count - 1].low.isdecimal():
        word = words[at + count]
        if word.gap not in GLUE or not word.low[0].isdecimal():
            break
        text, count = f"{text}{word.gap}{word.raw}", count + 1
    return text, count


def _plain_one(text: str, value: str, count: int) -> Number:
    return Number(text, frozenset((value,)), frozenset((value,)), True, count)


def _after(words: Sequence[Word], at: int) -> str:
    return words[at].low if at < len(words) and words[at].gap in (" ", "-", ".") else ""


def _is_below_zero(words: Sequence[Word], at: int) -> bool:
    gap = words[at].gap
    is_signed = gap == "-" if at == 0 else gap.endswith((" -", "(-"))
    return is_signed or (at > 0 and words[at - 1].low == "minus")


def _spelling(number: str) -> str:
    number = number.replace(THIN[0], ",") if _THIN.fullmatch(number) else number
    if _GROUPED.fullmatch(number):
        return number.replace(".", "") if _GERMAN.match(number) else number.replace(",", "")
    if _DECIMAL.fullmatch(number):
        return number.replace(",", ".").rstrip("0").rstrip(".")
    return number[1:] if len(number) == 2 and number[0] == "0" else number


def _times(value: str, scale: int) -> str:
    """A number of thousands, written out."""
    whole, _, part = value.partition(".")
    zeros = len(str(scale)) - 1
    if not (whole + part).isdecimal() or len(value) > _DIGITS_MAX or len(part) > zeros:
        return f"{value}*{scale}"
    return str(int(whole + part.ljust(zeros, "0")))


def _time(text: str, number: str, half: str | None, count: int) -> Number:
    """A time of day. "At 3" may be of either half; "3 pm" is not "3 am"."""
    hour, _, minute = number.partition(":")
    minute = minute or "00"
    hour = _spelling(hour)
    bare = [f"{hour}:{minute}", *([hour] if minute == "00" else [])]
    if half is None:
        wanted = [*bare, *(f"{hour}:{minute}{either}" for either in ("am", "pm"))]
        wanted += _half_of(hour, minute)
        return Number(
            text, frozenset(wanted), frozenset((*bare, *_half_of(hour, minute))), True, count
        )
    exact = f"{hour}:{minute}{half}"
    return Number(text, frozenset((exact, *bare)), frozenset((exact,)), True, count)


def _half_of(hour: str, minute: str) -> list[str]:
    """The same on a clock of twelve hours."""
    if not hour.isdecimal() or not int(hour) > _NOON:
        return []
    return [f"{int(hour) - _NOON}:{minute}pm"]


def _spelled(words: Sequence[Word], at: int) -> Number:
    """A number in words, such as "two hundred and five"."""
    total, current, last = 0, 0, 0  # last: the size of the word before
    count = 0
    while at + count < len(words) and count < _WORDS_MAX:
        low = words[at + count].low
        if low in _AND and count and at + count + 1 < len(words):
            following = _cardinals().get(words[at + count + 1].low, 0)
            if not 0 < following < 100 or last not in _JOINING:
                break
            count += 1
            continue
        step = _step(low, current, last, first=count == 0)
        if step is None or (count and words[at + count].gap not in (" ", "-")):
            break
        value, last = step
        if last >= 1_000:
            total, current = total + value, 0
        else:
            current = value
        count += 1
    text = " ".join(word.raw for word in words[at : at + count])
    spelling = frozenset((str(total + current),))
    is_fact = count > 1 or words[at].low not in _SAYS_LITTLE
    return Number(text, spelling, spelling, is_fact, max(count, 1))


_JOINING: Final = frozenset((100, 1_000, 1_000_000, 10))


def _step(low: str, current: int, last: int, *, first: bool) -> tuple[int, int] | None:
    """The number with one word more, and the size of that word; None if it does not go on."""
    if low in _HUNDREDS:
        return ((current or 1) * 100, 100) if first or (last == 1 and current < 100) else None
    if low in _SCALES:
        return ((current or 1) * _SCALES[low], _SCALES[low]) if last < 1_000 else None
    value = _values().get(low)
    if value is None:
        return None
    size = 10 if value >= 20 and value % 10 == 0 else 1
    fits = first or last >= 100 or (last == 10 and size == 1 and 0 < value < 10)
    return (current + value, size) if fits else None


@cache
def _cardinals() -> dict[str, int]:
    """The values of words that count."""
    found = {word: value for line in _ONES for value, word in enumerate(line.split())}
    for line in _TENS:
        found |= {word: 20 + 10 * place for place, word in enumerate(line.split())}
    ones, tens = _ONES[1].split(), _TENS[1].split()
    for place, ten in enumerate(tens):
        found |= {
            f"{'ein' if value == 1 else ones[value]}und{ten}": 20 + 10 * place + value
            for value in range(1, 10)
        }
    found |= {f"veinti{word}": 20 + n for n, word in enumerate(_ONES[3].split()[:10]) if n}
    return found | {"dozen": _DOZEN}


@cache
def _values() -> dict[str, int]:
    """The same, with ordinals, times and scales."""
    ordinals = {word: 1 + place for place, word in enumerate(_ORDINALS.split())}
    ordinals |= {f"{word[:-1]}ieth": 20 + 10 * n for n, word in enumerate(_TENS[0].split())}
    return {
        **_cardinals(),
        **ordinals,
        **_TIMES,
        **dict.fromkeys(_HUNDREDS, 100),
        **_SCALES,
    }
