"""The thing that a question asks for: a password, a birthday, someone's name.

A text about the same subject shares most words with a question and may still lack what was asked
for: "the guest Wi-Fi is called Pelikan" does not answer "what is the password of the guest Wi-Fi?".
Responsible for telling that. Leaves the relevance that follows to ``recall.scoring``. Invariant:
pure; a question that asks for nothing known here needs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

from recollect.index.words.text import STOP_WORDS, token_list

Need = Callable[[str], bool]  # True if a text has it

_MONTH: Final = (
    r"jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|m\u00e4r|mai|okt|dez"  # and what follows
)
_DAY: Final = (  # "4 May", "May 4", "4.5."
    rf"\d\.?\s(?:{_MONTH})|\b(?:{_MONTH})\w*\.?\s\d|\b\d{{1,2}}[./]\d{{1,2}}\b"
)
# A number that is no time of day, and none of a date.
_AMOUNT: Final = rf"(?<![\d:.,])\d+(?:[.,]\d+)*\b(?!:|\.?\s(?:{_MONTH}))"
_MONEY: Final = (
    r"[\u20ac$\u00a3%]|\d\s?k\b"
    rf"|\bfor\s{_AMOUNT}|(?!(?:19|20)\d\d\b|\d\b){_AMOUNT}|{_AMOUNT}\s(?:a|per)\b"
    r"|\b(?:euros?|eur|usd|dollars?|pounds?|cents?|francs?|percent|prices?"
    r"|priced|costs?|cheap\w*|expensive|fees?|free|pa(?:y|ys|id)|salary|budget|rent)\b"
)
# How a question asks for a thing, and one of the words or shapes that an answer has.
_THINGS: Final = (
    (r"\bpass(?:word|phrase|code)s?\b|\bpin\b", r"pass(?:word|phrase|code)|\bpin\b|vault|secret"),
    (r"\bbirthdays?\b|\bborn\b", rf"birth|\bborn\b|\bturn(?:s|ed)\b|{_DAY}"),
    (r"\b(?:tele)?phone number\b|\bmobile number\b", r"\+?\d[\d /().-]{5,}\d"),
    (
        r"\b(?:licen[cs]e|number) plates?\b",
        r"plate|registration|\b[A-Z]{1,3}[- ][A-Z0-9]{1,3}[- ]?\d",
    ),
    (r"\bports?\b", r"\bports?\b|(?::|\b(?:on|at|to|uses?|is)\s)\d{2,5}\b|\b\d{3,5}\b"),
    (r"\be-?mail address\b", r"@"),
    (
        r"\bhow much\b.{0,99}\b(?:cost|costs|pay|paid|charge|charged|earn|worth)\b|\bprice of\b",
        _MONEY,
    ),
    (
        r"\bsize\b|\bhow (?:big|large|tall)\b",
        rf"{_AMOUNT}|\b(?:small|medium|large|size|big|tall|(?-i:X{{0,3}}[SML]))\b",
    ),
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
    rf"(?:{_MONTH}|mon|tue|wed|thu|fri|sat|sun|who|what|when|where|how|it|that|here"
    # Adjectives that English writes like names.
    r"|(?:german|american|european|italian|russian|canadian|australian|indian|asian|african|brazilian"
    r"|british|english|french|spanish|swedish|danish|finnish|polish|turkish|irish|scottish"
    r"|dutch|swiss|austrian|belgian|norwegian|portuguese|chinese|japanese|greek|czech)$)"
)
# In German every noun begins like a name; in other languages other words do.
_NOT_ENGLISH: Final = (
    r"\b(?:der|die|das|den|dem|ist|sind|wann|wie|wo|wer|wem|wen|welche\w?|hat|haben|ich|mein\w*|von"
    r"|beim|zum|zur|f\u00fcr|und|oder|le|les|est|quel\w*|sont|o\u00f9|mon|du|el|los|cu\u00e1l|qu\u00e9|il"
    r"|qual\w*|het|welk\w*|wat|waar)\b"
)
_OR: Final = r"\bor\b"
_READ_MAX_CHARS: Final = 2_000  # of a question; what follows was pasted
_OWN: Final = r"\b(?:i|my|me|we|our|ich|mein|the user)\b"
_STEM_CHARS: Final = 5


def needs_of(query: str) -> tuple[Need, ...]:
    """What an answer to a question must have."""
    query = " ".join(query[:_READ_MAX_CHARS].split())
    small = query.lower()
    found = list[Need]()
    if any(piece in small for piece in _HAS):
        found += [_shape(answer) for asked, answer in _THINGS if _re(asked).search(query)]
    if small.startswith("who"):
        found += _role(query)
    named = _names(query)
    if named and _re(_OR).search(query):  # the answer is one of them
        return (*found, _one_of(named))
    return (*found, *map(_named, named))


def _names(query: str) -> list[str]:
    """What a question names; in a title, and where nouns begin like names, nothing is known."""
    found = {first or second for first, second in re.findall(_NAME, query)}
    named = sorted(name for name in found if _is_name(name))
    is_title = len(named) > 1 and 2 * len(named) >= len(query.split())
    return [] if not named or is_title or _re(_NOT_ENGLISH).search(query) else named


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


def _one_of(names: Sequence[str]) -> Need:
    having = [_named(name) for name in names]
    return lambda text: any(has(text) for has in having)


def _is_name(word: str) -> bool:
    return word.lower() not in STOP_WORDS and _re(_NOT_NAMES).match(word) is None


@cache
def _re(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
