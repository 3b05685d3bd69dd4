"""The thing that a question asks for: a password, a birthday, someone's name.

A text about the same subject shares most words with a question and may still lack what was asked
for: "the guest Wi-Fi is called Pelikan" does not answer "what is the password of the guest Wi-Fi?".
Responsible for telling that. Leaves the relevance that follows to ``recall.scoring``. Invariant:
pure; a question that asks for nothing known here needs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Final

from recollect.index.text import STOP_WORDS, token_list

Need = Callable[[str], bool]  # True if a text has it

_MONTH: Final = (
    r"jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|m\u00e4r|mai|okt|dez"  # and what follows
)
_MONEY: Final = (
    r"[\u20ac$\u00a3%]|\d\s?k\b|\b(?:euros?|eur|usd|dollars?|pounds?|cents?|francs?|percent|prices?"
    r"|priced|costs?|cheap\w*|expensive|fees?|free|pa(?:y|ys|id)|salary|budget|rent)\b"
)
# How a question asks for a thing, and one of the words or shapes that an answer has.
_THINGS: Final = (
    (r"\bpass(?:word|phrase|code)s?\b|\bpin\b", r"pass(?:word|phrase|code)|\bpin\b|vault|secret"),
    (r"\bbirthdays?\b|\bborn\b", rf"birth|\bborn\b|\bturn(?:s|ed)\b|\d\.?\s+(?:{_MONTH})"),
    (r"\b(?:tele)?phone number\b|\bmobile number\b", r"\+?\d[\d /().-]{5,}\d"),
    (
        r"\b(?:licen[cs]e|number) plates?\b",
        r"plate|registration|\b[A-Z]{1,3}[- ][A-Z0-9]{1,3}[- ]?\d",
    ),
    (r"\bports?\b", r"\bports?\b|:\d{2,5}\b"),
    (r"\be-?mail address\b", r"@"),
    (r"\bhow much\b.*\b(?:cost|costs|pay|paid|charge|charged|earn|worth)\b|\bprice of\b", _MONEY),
    (r"\bsize\b|\bhow (?:big|large|tall)\b", r"\d|\b(?:small|medium|large|size|big|tall)\b"),
    (r"\bsalary\b", r"salary|\bearns?\b|\bpaid\b"),
    (r"\biban\b", r"\b[A-Z]{2}\d{2}|iban"),
)
_HAS: Final = (
    *("pass", "pin", "birthday", "born", "number", "plate", "port", "mail", "much", "price"),
    *("size", "how ", "salary", "iban"),
)
# "Who is the piano tuner?" asks for a tuner, not for whoever else has to do with the piano.
_WHO: Final = r"^\W*who(?:'s|\u2019s| is| are| was)\s+(?:the|our|my|your)\s+(.+)$"
_AFTER_WHO: Final = r"\s+(?:of|for|at|in|on|from|with|to|that|who|now|again|today|these)\b|[?.,!]"
# A name: a capitalised word that does not begin the question, or anyone's "Ines's".
_NAME: Final = r"(?<=[a-z,] )([A-Z][a-z]{2,}\w*)|\b([A-Z][a-z]+)['\u2019]s\b"
_NOT_NAMES: Final = (
    rf"(?:{_MONTH}|mon|tue|wed|thu|fri|sat|sun|who|what|when|where|how|it|that|here)"
)
_OWN: Final = r"\b(?:i|my|me|we|our|ich|mein|the user)\b"
_STEM_CHARS: Final = 5


def needs_of(query: str) -> tuple[Need, ...]:
    """What an answer to a question must have."""
    small = query.lower()
    found = list[Need]()
    if any(piece in small for piece in _HAS):
        found += [_shape(answer) for asked, answer in _THINGS if _re(asked).search(query)]
    if small.lstrip().startswith("who"):
        found += _role(query)
    named = {first or second for first, second in re.findall(_NAME, query)}
    return (*found, *(_named(name) for name in sorted(named) if _is_name(name)))


def lacks(needs: tuple[Need, ...], text: str) -> bool:
    """True if a text lacks something that was asked for."""
    return any(not has(text) for has in needs)


def _shape(answer: str) -> Need:
    return lambda text: _re(answer).search(text) is not None


def _role(query: str) -> list[Need]:
    """The last word of what someone is: of "the piano tuner of the school", the tuner."""
    found = _re(_WHO).match(query)
    said = _re(_AFTER_WHO).split(found[1], 1)[0].split() if found else []
    return [_word(said[-1])] if said and said[-1].lower() not in STOP_WORDS else []


def _word(word: str) -> Need:
    """A word, also in another form of it."""
    tokens = set(token_list(word))
    start = word.lower()[:_STEM_CHARS]
    return lambda text: start in text.lower() or not tokens.isdisjoint(token_list(text))


def _named(name: str) -> Need:
    """A name; who speaks of themselves may be the one who is named."""
    has_name = _word(name)
    return lambda text: has_name(text) or _re(_OWN).search(text) is not None


def _is_name(word: str) -> bool:
    return word.lower() not in STOP_WORDS and _re(_NOT_NAMES).match(word) is None


@cache
def _re(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
