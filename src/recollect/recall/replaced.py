"""Texts that still state a value which another has replaced.

Responsible for recognizing such a text by its words, clause by clause, and for whether it says
anything else. Leaves splitting texts to ``recall.clause_words`` and reading the values to
``finding.replaced``. Invariants: pure; each text of an answer is read once, however many values it
may state; in doubt a text states the value, because it is then shown with the new one beside it; a
person's words from after the change are never a former value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from recollect.index.words.bm25 import tokens_of as tokens
from recollect.index.words.text import cut, token_list
from recollect.recall.clause_words import (
    SPEAKER,
    Clause,
    Words,
    content,
    has_digit,
    other_spellings,
    speaks,
    words_of,
)

# Of all texts of one answer; the shortest are read first, so a long one costs no other its mark.
READ_MAX_CHARS: Final = 400_000
COMPARED_MAX_COUNT: Final = 50_000  # clauses that are compared with values
_VALUE_MAX_CHARS: Final = 8_000
_MORE_MAX_COUNT: Final = 1  # words beyond the value, in a clause that is about it
_MORE_THAN_NAME_MAX_COUNT: Final = 2  # the same if the value is a name: "Dr Okafor", not "red"
_AGAIN: Final = r"\b(?:again|back|still|wieder|weiterhin|encore|nouveau)\b"
_DENIES: Final = r"n['\u2019]t\b|\b(?:no|not|never|nicht|kein\w*|nie|plus|pas|without|ohne)\b"


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


class Reader:
    """The texts of one answer, and the values that they may state."""

    def __init__(self, texts: Iterable[Said]) -> None:
        self.is_cut = False  # there was more than is read, or than is compared
        self._read: dict[str, str] = {}
        self._words: dict[tuple[str, bool], Words] = {}
        self._tokens: dict[str, frozenset[str]] = {}
        self._terms: dict[tuple[str, str, str], _Terms] = {}
        self._left = READ_MAX_CHARS
        self._compared = 0
        self.look_at(texts)

    def look_at(self, texts: Iterable[Said]) -> None:
        """Reads these texts too, as far as there is room for more."""
        for text in sorted({said.text for said in texts} - self._read.keys(), key=len):
            self._read[text], self._left = cut(text, self._left)
            self.is_cut = self.is_cut or len(self._read[text]) < len(text)

    def all_tokens(self) -> list[str]:
        """The tokens by which values that these texts may state are found."""
        return sorted(frozenset[str]().union(*map(self._tokens_of, self._read)))

    def has_one_of(self, said: Said, wanted: frozenset[str]) -> bool:
        """True if a text has one of these tokens; most have none."""
        return not wanted.isdisjoint(self._tokens_of(said.text))

    def may_state(self, said: Said, value: str, names: str) -> bool:
        """True if a text has enough words of a value to state it outside of its conversation."""
        found = self._words_of(said)
        known = content(value[:_VALUE_MAX_CHARS]) | content(names)
        here = len(found.every & known)
        return here > 1 or (here == 1 and found.speaks and _is_of_speaker(value))

    def states(self, said: Said, value: Value) -> bool:
        """True if a text states a value that was replaced, and not the one that holds now.

        Where the value was said in the same conversation, a few of its words are enough. Elsewhere
        a clause must say little more than the value; a number says enough by itself. A clause with
        the new value corrects the others that are about no more than it.
        """
        if (said.of_person or said.is_record) and said.said_at > value.since:
            return False
        terms, words = self._terms_of(value), self._words_of(said)
        if said.id in value.grounds and not terms.fresh.isdisjoint(words.every):
            return False
        near = said.id in value.evidence or said.session in value.sessions
        told: list[Clause] = []
        for clause in words.with_one_of(terms.stale):
            if self._is_spent():
                return not terms.telling.isdisjoint(words.every)
            if terms.tells_old(clause, near, is_record=said.is_record):
                told.append(clause)
        if not told:
            return False
        corrected = {
            each.words & terms.topic
            for each in words.with_one_of(terms.fresh)
            if not self._is_spent() and terms.tells_new(each.words)
        }
        topics = {clause.words & terms.topic for clause in told}
        return not all(self._is_corrected(topic, corrected) for topic in topics)

    def says_more(self, said: Said, values: Iterable[Value]) -> bool:
        """True if a text says more than these values."""
        known = frozenset[str]().union(*(self._terms_of(value).every for value in values))
        is_whole = self._read[said.text] == said.text
        return not is_whole or not self._words_of(said).every <= known

    def _is_corrected(self, topic: frozenset[str], corrected: Iterable[frozenset[str]]) -> bool:
        """True if a clause with the new value is about all that a clause with the old one is."""
        return any(not self._is_spent() and topic <= each for each in corrected)

    def _is_spent(self) -> bool:
        self._compared += 1
        if self._compared > COMPARED_MAX_COUNT:
            self.is_cut = True
        return self._compared > COMPARED_MAX_COUNT

    def _tokens_of(self, text: str) -> frozenset[str]:
        if text not in self._tokens:
            read = self._read[text]
            self._tokens[text] = other_spellings(read).union(tokens(read))
        return self._tokens[text]

    def _words_of(self, said: Said) -> Words:
        by_person = said.of_person or said.is_record
        if (said.text, by_person) not in self._words:
            read = self._read[said.text]
            self._words[said.text, by_person] = words_of(read, of_person=by_person)
        return self._words[said.text, by_person]

    def _terms_of(self, value: Value) -> _Terms:
        key = value.text, value.names, value.now
        if key not in self._terms:
            self._terms[key] = _terms_of(value)
        return self._terms[key]


class _Terms(NamedTuple):
    """The words of a value: those that ended, those that came instead, and those of both."""

    stale: frozenset[str]
    fresh: frozenset[str]
    common: frozenset[str]
    topic: frozenset[str]  # what both are about, and the names
    telling: frozenset[str]  # of the stale ones, numbers and names
    of_speaker: bool  # it is about the person at the assistant

    @property
    def every(self) -> frozenset[str]:
        return self.stale | self.fresh | self.topic

    def tells_new(self, clause: frozenset[str]) -> bool:
        """True for a clause with most of the new value, and of what it is about."""
        if not _has_most(clause, self.fresh):
            return False
        return bool(clause & self.stale) or not self.common or _has_most(clause, self.common)

    def tells_old(self, clause: Clause, is_near: bool, *, is_record: bool) -> bool:
        """True for a clause with the value that ended."""
        has = clause.words & self.stale
        is_told = self.stale <= clause.words or bool(has & self.telling)
        is_half = is_told or 2 * len(has) >= len(self.stale)
        about = not self.topic.isdisjoint(clause.sentence)
        if is_near:
            return is_told or (about and is_half)
        if not is_half or not (about or (self.of_speaker and clause.speaks)):
            return False
        if about and any(map(has_digit, has)) and not is_record:
            return True
        most = _MORE_THAN_NAME_MAX_COUNT if has & self.telling else _MORE_MAX_COUNT
        return len(clause.words - self.every) <= most


def _terms_of(value: Value) -> _Terms:
    text = value.text[:_VALUE_MAX_CHARS]
    old, new = content(text), content(value.now[:_VALUE_MAX_CHARS])
    stale, fresh = old - new, new - old
    if not stale and not _came_back(value.now):
        stale = old
    topic = (old & new) | (content(value.names) - stale - fresh)
    names = _names_in(text)
    telling = frozenset(term for term in stale if has_digit(term) or term in names)
    return _Terms(stale, fresh, old & new, topic, telling, _is_of_speaker(text))


def _is_of_speaker(text: str) -> bool:
    return SPEAKER in content(text) or speaks(text, of_person=True)


def _came_back(now: str) -> bool:
    """True for a text with all words of the old one that says that it holds again."""
    return bool(re.search(_AGAIN, now, re.IGNORECASE)) and not re.search(
        _DENIES, now, re.IGNORECASE
    )


def _names_in(text: str) -> frozenset[str]:
    """The names inside its sentences: words that are not there by chance."""
    found = re.findall(r"(?<=[^\W_] )[^\W\d_]+", text)
    return frozenset(token for word in found if word[0].isupper() for token in token_list(word))


def _has_most(clause: frozenset[str], wanted: frozenset[str]) -> bool:
    return bool(wanted) and 2 * len(clause & wanted) > len(wanted)
