"""Texts that still state a value which another has replaced.

Responsible for recognizing such a text by its words, sentence by sentence, and for whether it says
anything else. Leaves reading the values to ``finding.replaced``. Invariants: pure; in doubt a text
states the value, because it is then shown with the new one beside it; a person's words from after
the change are never a former value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from itertools import chain
from typing import Final, NamedTuple

from recollect.index.bm25 import tokens_of as tokens
from recollect.index.text import STOP_WORDS, token_list

_READ_MAX_CHARS: Final = 8_000  # of a text; a context rarely has room for more
_SENTENCE: Final = r"[.!?]+(?:\s+|$)|\n+"
_CLAUSE: Final = r"[,;:]\s+|\s+[-\u2013\u2014]\s+|\s+(?:and|but)\s+"
# A number with what belongs to it ("09:15", "12A") is one word; others are stemmed.
_NUMBER: Final = r"[^\W\d_]*\d[^\W_]*(?:[.:]\d[^\W_]*)*"
_MORE_MAX_COUNT: Final = 1  # words beyond the value, in a clause that is about it
_MORE_THAN_NAME_MAX_COUNT: Final = 2  # the same if the value is a name: "Dr Okafor", not "red"
_SMALL_TALK: Final = """now any more anymore longer actually currently yes no please remember note
    noted ok okay got understood thank thanks record way sorry update correction wrong again still
    just also know keep mind"""


class Said(NamedTuple):
    """A text as a hit or a source has it: who said it, and when."""

    id: str
    text: str
    said_at: str
    of_person: bool
    is_record: bool = False
    session: str | None = None


class Value(NamedTuple):
    """A value that was replaced, and what holds in its place."""

    text: str
    names: str  # the key and the subject
    now: str  # the text that holds
    since: str  # when that was said
    evidence: frozenset[str]  # the episodes in which the old value was said
    sessions: frozenset[str]  # and the conversations
    grounds: tuple[str, ...]  # the evidence of what holds now


def tokens_of(said: Said) -> tuple[str, ...]:
    """The tokens by which values that a text may state are found."""
    return tokens(said.text[:_READ_MAX_CHARS])


def all_tokens(texts: Iterable[Said]) -> list[str]:
    """The same of several texts, each once."""
    return sorted(set(chain.from_iterable(map(tokens_of, texts))))


def may_state(said: Said, value: str, names: str) -> bool:
    """True if a text has enough words of a value to state it outside of its conversation."""
    known = content(value) | content(names)
    return len(content(said.text[:_READ_MAX_CHARS]) & known) > 1


def states(said: Said, value: Value) -> bool:
    """True if a text states a value that was replaced, and not the one that holds now.

    Where the value was said in the same conversation, a few of its words are enough. Elsewhere a
    clause must say little more than the value; a number says enough by itself.
    """
    if (said.of_person or said.is_record) and said.said_at > value.since:
        return False
    terms = _terms_of(value)
    text = said.text[:_READ_MAX_CHARS]
    if said.id in value.grounds and not terms.fresh.isdisjoint(content(text)):
        return False
    is_near = said.id in value.evidence or said.session in value.sessions
    found = False
    for sentence in re.split(_SENTENCE, text):
        about = not terms.topic.isdisjoint(content(sentence))
        for clause in map(content, re.split(_CLAUSE, sentence)):
            if terms.tells_new(clause):
                return False
            found = found or terms.tells_old(clause, about, is_near, is_record=said.is_record)
    return found


def says_more(text: str, values: list[Value]) -> bool:
    """True if a text says more than these values."""
    known = frozenset[str]().union(*(_terms_of(value).every for value in values))
    return not content(text) <= known


class _Terms(NamedTuple):
    """The words of a value: those that ended, those that came instead, and those of both."""

    stale: frozenset[str]
    fresh: frozenset[str]
    common: frozenset[str]
    topic: frozenset[str]  # what both are about, and the names
    telling: frozenset[str]  # of the stale ones, numbers and names

    @property
    def every(self) -> frozenset[str]:
        return self.stale | self.fresh | self.topic

    def tells_new(self, clause: frozenset[str]) -> bool:
        """True for a clause with most of the new value, and of what it is about."""
        if not _has_most(clause, self.fresh):
            return False
        return bool(clause & self.stale) or not self.common or _has_most(clause, self.common)

    def tells_old(
        self, clause: frozenset[str], about: bool, is_near: bool, *, is_record: bool
    ) -> bool:
        """True for a clause with the value that ended; ``about``: its sentence has the topic."""
        has = clause & self.stale
        if not has:
            return False
        is_told = self.stale <= clause or bool(has & self.telling)
        if is_near:
            return is_told or (about and 2 * len(has) >= len(self.stale))
        if not about or not (is_told or 2 * len(has) >= len(self.stale)):
            return False
        if any(_has_digit(term) for term in has) and not is_record:
            return True
        most = _MORE_THAN_NAME_MAX_COUNT if has & self.telling else _MORE_MAX_COUNT
        return len(clause - self.every) <= most


def _terms_of(value: Value) -> _Terms:
    old, new = content(value.text), content(value.now)
    stale, fresh = old - new or old, new - old
    topic = (old & new) | (content(value.names) - stale - fresh)
    telling = frozenset(term for term in stale if _is_telling(value.text, term))
    return _Terms(stale, fresh, old & new, topic, telling)


def content(text: str) -> frozenset[str]:
    """The words of a text that carry something: numbers as they are written, others stemmed."""
    numbers = {number.lower() for number in re.findall(_NUMBER, text)}
    rest = re.sub(_NUMBER, " ", text)
    return frozenset(numbers.union(token_list(rest)) - _empty())


@cache
def _empty() -> frozenset[str]:
    more = _SMALL_TALK.split()
    return frozenset(token for word in (*STOP_WORDS, *more) for token in token_list(word))


def _is_telling(text: str, term: str) -> bool:
    """True for a number, and for a name inside a sentence: a word that is not there by chance."""
    return _has_digit(term) or term in _names_in(text)


def _names_in(text: str) -> frozenset[str]:
    found = re.findall(r"(?<=[^\W_] )[^\W\d_]+", text)
    return frozenset(token for word in found if word[0].isupper() for token in token_list(word))


def _has_digit(term: str) -> bool:
    return any(sign.isdigit() for sign in term)


def _has_most(clause: frozenset[str], wanted: frozenset[str]) -> bool:
    return bool(wanted) and 2 * len(clause & wanted) > len(wanted)
