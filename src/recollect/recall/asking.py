"""What a query asks for, parsed without a model.

Responsible for its terms, for names that do not distinguish texts, for dates and for the kind of
query. Leaves matching to ``recall.relevance``. Invariant: pure; the same query in the same memory
always gives the same result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import islice
from typing import Final, NamedTuple

from recollect.index.words.text import STOP_WORDS, query_tokens, token_list, words
from recollect.model import limits
from recollect.recall.asked_for import Need, needs_of

# Words of the phrasing of a query rather than of its subject: they get a low weight.
SCAFFOLD: Final = frozenset(
    """many much often long far old big ago last past recent recently current currently total
    number amount count first second before after earlier later previous previously time times day
    days week weeks month months year years date kind kinds type types sort name names tell told
    remind remember recall mention mentioned say said talk talked talking discuss discussed
    discussion ask asked conversation conversations chat chats session sessions recommend
    recommendation recommendations suggest suggestion suggestions advice idea ideas tip tips help
    give given list show explain describe summarize summary provide order different various several
    specific please think know want wanted like need get got go going went thing things something
    anything someone use used using make made take took back wondering across throughout between
    since still ever yet also might may""".split()
)

# Patterns are compiled when a query needs them: compiling is slow, and a hook has one query.
_CAPITALISED: Final = r"\b[A-Z][a-z]+\b"
_MONTHS: Final = (
    "january february march april may june july august september october november december".split()
)
_DATE: Final = (
    rf"\b(?:(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?({'|'.join(_MONTHS)})\b"
    r"(?:\s+(\d{1,2})(?:st|nd|rd|th)?\b)?,?\s*(\d{4})?"
)
_YEAR: Final = r"\b((?:19|20)\d\d)\b"

# A request: the user wants something done or proposed.
_REQUEST: Final = (
    r"^\W*(?:(?:can|could|would|will) you\b|please\b|how (?:do|can|should|would|could|to)\b"
    r"|(?:help|show|give|suggest|recommend|explain|write|draft|plan|make|create|teach|tell) me\b"
    r"|what (?:should|would|could|are some|are the|is the best|can)\b"
    r"|which \w+ (?:should|would|are|do)\b|do you (?:have|think|know)\b|should i\b"
    r"|i'm (?:looking|planning|thinking|trying|feeling|having|in the mood)\b"
    r"|i (?:want|need|would like|am looking|am planning)\b|i'd like\b)"
    r"|\b(?:any|some|more) (?:advice|tips|ideas|suggestions|recommendations)\b"
    r"|\b(?:recommend|suggest)\b"
)
# Every match of the pattern contains one of these pieces; so with the others below.
_REQUEST_HAS: Final = (
    *("you", "please", "how ", " me", "which ", "should i", "i'm ", "i'd like", "i want", "i need"),
    *(
        "i would like",
        "i am ",
        "what should",
        "what would",
        "what could",
        "what are",
        "what is the",
    ),
    *("what can", "advice", "tips", "ideas", "suggest", "recommend"),
)
# The user asks what was said in an earlier conversation, so it is not a request. Every match of the
# pattern contains one of these words.
_TOLD_HAS: Final = ("you", "we ", "chat", "conversation", "discussion", "session", "remind")
_TOLD: Final = (
    r"\b(?:you|we) (?:\w+ )?(?:said|told|suggested|recommended|mentioned|gave|listed|provided"
    r"|explained|talked|discussed|described|shared|came up|wrote|made|created)\b"
    r"|\b(?:previous|last|earlier|our|past) (?:chat|conversation|discussion|session)s?\b"
    r"|\bremind me\b|\b(?:did|were|was|had|have) you\b"
)
# The user asks about the past, so it is not a request, however it begins.
_PAST: Final = (
    r"\b(?:did i|have i|had i|do i have|was i"
    r"|i (?:said|told|mentioned|did|was|had|used to|have (?:been|done|made))"
    r"|my (?:last|previous|first))\b|\bsummar"
)
_PAST_HAS: Final = (
    *("did i", "have i", "had i", "do i have", "was i", "i said", "i told", "i mentioned", "i did"),
    *("i was", "i had", "i used to", "i have", "my last", "my previous", "my first", "summar"),
)
# The user wants an overview, so turns of every speaker count. The words are as above.
_OVERVIEW_HAS: Final = (
    "summar over recap everything progress developed evolved throughout across order walk".split()
)
_OVERVIEW: Final = (
    r"\b(?:summar\w+|overview|recap|everything|progress(?:ed|ion)?|developed|evolved|over time"
    r"|throughout|across (?:our|my|all)|order in which|walk me through)\b"
)
# The user asks what was asked: then questions are answers. The words are as above.
_ASKED_HAS: Final = ("ask", "question", "request", "prompt", "brought up", "wanted")
_ASKED: Final = (
    r"\b(?:did|have|had|do) (?:i|we) (?:\w+ )?(?:ask|asked|request|requested)\b"
    r"|\b(?:i|we) (?:\w+ )?(?:asked|requested|brought up|wanted to know|was asking|were asking)\b"
    r"|\b(?:my|our) (?:\w+ )?(?:question|request|prompt)s?\b"
)
# The answer is in many places: a list, a number, a comparison. The words are as above; a few are of
# other languages.
_WIDE_HAS: Final = (
    *(
        "many",
        "often",
        "much",
        "total",
        "all",
        "ever",
        "each",
        "list",
        "compar",
        "betw",
        "over time",
    ),
    *(
        "order",
        "throughout",
        "across",
        "summar",
        "various",
        "different",
        "wie ",
        "jede",
        "zwischen",
    ),
    *("combien", "tous", "toutes", "chaque", "entre", "todos", "todas", "cada", "tutti", "tutte"),
)
_WIDE: Final = (
    r"\b(?:how (?:many|often|much)|total|all|every\w*|each|lists?|compar\w+|between|over time|order"
    r"|throughout|across|summar\w+|various|different|wie (?:viele?|oft)|alle[rnms]?|jede[rnms]?"
    r"|zwischen|combien|tous|toutes|chaque|entre|cu[a\u00e1]nt[oa]s?|todos|todas|cada|quant[ie]"
    r"|tutti|tutte)\b"
)
# Words that ask for an earlier value: no text needs to contain them.
_FORMER: Final = frozenset("former formerly prior".split())
# Every question about a time that is over has one of these.
_THEN_HAS: Final = (*_MONTHS, "last ", " ago", "yesterday", "19", "20")
# Every question about an earlier value has one of these (``recall.before``).
_EARLIER_HAS: Final = "old|previous|former|prior|earlier|before|use to|used to".split("|")

_WORDS_MAX_COUNT: Final = 1_000  # different words of a question, of which 64 become terms


class Day(NamedTuple):
    """A date in a query; parts that it does not name are None."""

    year: int | None
    month: int | None
    day: int | None


class ParsedQuery(NamedTuple):
    """A parsed query. ``plain`` is its text without names, for encoders."""

    terms: tuple[str, ...]  # of its subject
    scaffold: tuple[str, ...]  # of its phrasing
    plain: str
    days: tuple[Day, ...] = ()
    is_request: bool = False
    is_overview: bool = False
    is_wide: bool = False  # about many places: a list, a number of things, a comparison
    is_earlier: bool = False  # about a value that was replaced
    is_then: bool = False  # about what held at a time that is over
    is_about_asking: bool = False  # about what was asked, so that questions are answers
    needs: tuple[Need, ...] = ()  # what an answer must have


def understand(query: str, runs_through: Callable[[str], bool]) -> ParsedQuery:
    """Parses a query; ``runs_through`` says whether most sessions of the memory contain a token.

    A name that occurs throughout the memory does not distinguish texts: it is dropped, unless the
    query has no other term.
    """
    plain = _without(query, {name for name in names(query) if runs_through(*token_list(name))})
    telling = _telling(plain)
    if not telling:
        plain, telling = query, _telling(query)
    is_earlier = _asks_for_earlier(query)
    if is_earlier:
        telling = [word for word in telling if word not in _FORMER] or telling
    content = _first(word for word in telling if word not in SCAFFOLD)
    terms = query_tokens(content or plain, limits.QUERY_MAX_TERMS)
    phrasing = _first(word for word in telling if word in SCAFFOLD)
    scaffold = query_tokens(phrasing, limits.QUERY_MAX_TERMS) if phrasing else []
    is_past = _finds(_TOLD, query, _TOLD_HAS) or _finds(_PAST, query, _PAST_HAS)
    is_overview = _finds(_OVERVIEW, query, _OVERVIEW_HAS)
    return ParsedQuery(
        terms=tuple(terms),
        scaffold=tuple(term for term in scaffold if term not in terms),
        plain=plain,
        days=tuple(days(query)),
        is_request=not is_past and _finds(_REQUEST, query, _REQUEST_HAS),
        is_overview=is_overview,
        is_wide=is_overview or _finds(_WIDE, query, _WIDE_HAS),
        is_earlier=is_earlier,
        is_then=not is_earlier and _asks_for_then(query),
        is_about_asking=_finds(_ASKED, query, _ASKED_HAS) or (is_overview and _is_own(query)),
        needs=needs_of(plain),
    )


def _first(found: Iterable[str]) -> str:
    """The first different words: many more than there can be terms."""
    return " ".join(islice(dict.fromkeys(found), _WORDS_MAX_COUNT))


def _is_own(query: str) -> bool:
    return not {"i", "we", "my", "our"}.isdisjoint(words(query))


def _asks_for_earlier(query: str) -> bool:
    """True if a query is about a value that was replaced; most have none of the words."""
    small = query.lower()
    if not any(piece in small for piece in _EARLIER_HAS):
        return False
    from recollect.recall.before import asks_for_earlier

    return asks_for_earlier(query)


def _finds(pattern: str, text: str, pieces: Sequence[str]) -> bool:
    """True if a pattern matches; it is compiled only if one of the pieces is in the text."""
    return _has(text, pieces) and re.search(pattern, text, re.IGNORECASE) is not None


def _has(text: str, pieces: Sequence[str]) -> bool:
    """True if a text may contain one of these words; any text that is not ASCII may."""
    small = text.lower()
    return not text.isascii() or any(piece in small for piece in pieces)


def names(query: str) -> list[str]:
    """The first few possible names: capitalised words except stop words; each costs a read."""
    found = (word for match in re.findall(_CAPITALISED, query) for word in words(match))
    named = [word for word in dict.fromkeys(found) if word not in STOP_WORDS]
    return named[: limits.QUERY_MAX_TERMS]


def _telling(text: str) -> list[str]:
    return [word for word in words(text) if word not in STOP_WORDS]


def days(text: str) -> list[Day]:
    """The dates in a query; a year alone only if there is nothing more exact."""
    found: list[Day] = []
    dates = re.findall(_DATE, text, re.IGNORECASE) if _has(text, _MONTHS) else []
    for before, month, after, year in dates:
        number = int(before or after or 0)
        if month.lower() == "may" and not (number or year):
            continue  # the verb
        found.append(
            Day(
                int(year) if year else None,
                _MONTHS.index(month.lower()) + 1,
                number if 1 <= number <= 31 else None,
            )
        )
    return found or [Day(int(year), None, None) for year in re.findall(_YEAR, text)]


def closeness(asked: tuple[Day, ...], said: datetime) -> float:
    """How well an instant fits the dates of a query, 0 to 1; things are often told later."""
    return max((_closeness(day, said) for day in asked), default=0.0)


def _closeness(day: Day, said: datetime) -> float:
    if day.year is not None and day.year != said.year and day.day is None:
        return 0.0
    if day.month is None:
        return 0.2
    if day.day is None:
        late = (said.month - day.month) % 12
        return 1.0 if late == 0 else 0.3 if late == 1 else 0.0
    try:
        named = datetime(day.year or said.year, day.month, day.day, tzinfo=said.tzinfo)
    except ValueError:
        return 0.0
    gap = (said - named).days
    return 1.0 if 0 <= gap <= 1 else 0.6 if -1 <= gap <= 7 else 0.3 if -7 <= gap <= 31 else 0.0


def _without(query: str, named: set[str]) -> str:
    if not named:
        return query
    pattern = rf"\b(?:{'|'.join(map(re.escape, sorted(named)))})(?:'s|’s)?\b"
    return " ".join(re.sub(pattern, " ", query, flags=re.IGNORECASE).split())


def _asks_for_then(query: str) -> bool:
    """True if a query is about what held at a time that is over."""
    small = query.lower()
    if not any(piece in small for piece in _THEN_HAS):
        return False
    from recollect.recall.before import asks_for_then

    return asks_for_then(query)
