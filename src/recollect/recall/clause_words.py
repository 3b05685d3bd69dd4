"""The words of a text, clause by clause.

Responsible for sentences, clauses and the words in them that carry something. Leaves what they say
to ``recall.replaced``. Invariants: pure; the work grows with the length of the text and not faster,
whatever the text is; a number has one spelling.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from recollect.index.words.text import STOP_WORDS, token_list

SPEAKER: Final = "user"  # how records name the person

# Before these are used, every run of blanks is one blank.
_SENTENCE: Final = r"(?<=[.!?]) "
_CLAUSE: Final = (
    r"(?<=[,;:]) | [-\u2013\u2014] | (?:and|but|und|aber|et|mais) "
    # A clause begins with its subject: "since you are vegetarian | I left out the ham".
    r"| (?=(?:I|[Ww]e|[Yy]ou|[Hh]e|[Ss]he|[Tt]hey|ich|du|wir|je|tu|nous|vous)['\u2019 ])"
)
_SIGN: Final = r"[^\W_]"  # of a word
# A number with what belongs to it ("09:15", "12A") is one word; others are stemmed.
_NUMBER: Final = r"(?<![^\W_])[^\W\d_]*\d[^\W_]*(?:[.:]\d[^\W_]*|,\d\d\d(?![^\W_]))*"
_GROUPED: Final = r"\d{1,3}(?:[.,]\d\d\d)+"
_THOUSANDS: Final = r"\d{1,6}k"
_COUNTS: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve",
    "zero eins zwei drei vier f\u00fcnf sechs sieben acht neun zehn elf zw\u00f6lf",
    "z\u00e9ro un deux trois quatre cinq six sept huit neuf dix onze douze",
)
_COUNT_MAX_DIGITS: Final = 9
_SMALL_TALK: Final = """now any more anymore longer actually currently yes no please remember note
    noted ok okay got understood thank thanks record way sorry update correction wrong again still
    just also know keep mind"""
_FIRST: Final = r"\b(?:I|[Mm]y|[Mm]e|[Mm]ine|[Ii]ch|[Mm]ein\w{0,2}|[Jj]e|[Mm]on|[Mm]a|[Jj]')(?!\w)"
_SECOND: Final = (
    r"\b(?:[Yy]ou|[Yy]ours?|[Dd]u|[Dd]ein\w{0,2}|[Ii]hr|[Tt]u|[Tt]on|[Vv]ous|[Vv]otre)(?!\w)"
)


class Clause(NamedTuple):
    """The words of a clause, and of its sentence."""

    words: frozenset[str]
    sentence: frozenset[str]
    speaks: bool  # its sentence is about the person at the assistant


class Words(NamedTuple):
    """The words of a text; clauses with the same words are there once."""

    every: frozenset[str]
    clauses: tuple[Clause, ...]
    places: dict[str, list[int]]  # of each word, the clauses that have it
    speaks: bool

    def with_one_of(self, wanted: frozenset[str]) -> Iterator[Clause]:
        """The clauses with one of these words, in order."""
        found = {place for word in wanted for place in self.places.get(word, ())}
        return (self.clauses[place] for place in sorted(found))


def words_of(text: str, *, of_person: bool) -> Words:
    """The words of a text; ``of_person``: in it, "I" is the user; else "you"."""
    clauses = tuple(dict.fromkeys(_clauses(text, of_person)))
    places: dict[str, list[int]] = {}
    for place, clause in enumerate(clauses):
        for word in clause.words:
            places.setdefault(word, []).append(place)
    return Words(frozenset(places), clauses, places, any(each.speaks for each in clauses))


def _clauses(text: str, of_person: bool) -> Iterator[Clause]:
    for line in text.splitlines():
        for sentence in re.split(_SENTENCE, " ".join(line.split())):
            if re.search(_SIGN, sentence) is None:
                continue  # a text may have as many of these as characters
            found = [content(clause) for clause in re.split(_CLAUSE, sentence)]
            every = frozenset[str]().union(*found)
            is_own = speaks(sentence, of_person=of_person)
            yield from (Clause(words, every, is_own) for words in found if words)


def speaks(text: str, *, of_person: bool) -> bool:
    """True for a sentence about the person at the assistant: a person's "I", else "you"."""
    return re.search(_FIRST if of_person else _SECOND, text) is not None


def content(text: str) -> frozenset[str]:
    """The words of a text that carry something: numbers in one spelling, others stemmed."""
    numbers = {_plain(number) for number in set(re.findall(_NUMBER, text))}
    rest = token_list(re.sub(_NUMBER, " ", text))
    counts = _counts()
    return frozenset(numbers.union(counts.get(word, word) for word in rest) - _empty())


def other_spellings(text: str) -> frozenset[str]:
    """Tokens of the numbers of a text as another text may write them: "five" and "5"."""
    counts, found = _counts(), set[str]()
    for number in map(_plain, set(re.findall(_NUMBER, text))):
        if number.isdecimal() and len(number) <= _COUNT_MAX_DIGITS:
            found.update((number, *_words_for().get(number, ())))
            found.update((number[:-3], number[-3:], f"{number[:-3]}k") if len(number) > 3 else ())
    found.update(counts[word] for word in token_list(text) if word in counts)
    return frozenset(found - {""})


def has_digit(term: str) -> bool:
    """True for a word that is or has a number."""
    return any(sign.isdigit() for sign in term)


def _plain(number: str) -> str:
    """A number in its plain spelling: 5000 for "5,000" and "5k"."""
    small = number.lower()
    if re.fullmatch(_GROUPED, small):
        return re.sub("[.,]", "", small)
    return f"{small[:-1]}000" if re.fullmatch(_THOUSANDS, small) else small


@cache
def _counts() -> dict[str, str]:
    """The digits of words for numbers. "One" and "un" say little, and count as words."""
    pairs = (
        (token, str(count))
        for line in _COUNTS
        for count, word in enumerate(line.split())
        for token in token_list(word)
    )
    return {token: digits for token, digits in pairs if digits != "1"}


@cache
def _words_for() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for token, digits in _counts().items():
        found.setdefault(digits, []).append(token)
    return found


@cache
def _empty() -> frozenset[str]:
    more = _SMALL_TALK.split()
    return frozenset(token for word in (*STOP_WORDS, *more) for token in token_list(word))
