"""The clauses of a short statement: of whom or what it says which value.

Responsible for reading them with a few words and shapes, without a model. Leaves comparing
statements to ``recall.talk``. Invariant: pure; a text that is not understood has no clauses, and
then nothing follows from it.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from recollect.index.caches import SHORT_MAX_COUNT, cached
from recollect.index.words.text import words as plain_words

_CLAUSE: Final = r"[.;!?\n]+(?:\s+|$)|,\s+|\s+-\s+|\s+(?:but|and)\s+(?=(?:i|we|it|the|my|our)\b)"
_WORD: Final = r"[^\W_]+(?:[-.:/'’][^\W_]+)*"

_BE: Final = "be"
_SHORT: Final = {"i'm": "i", "it's": "it", "we're": "we", "he's": "he", "she's": "she"}
_VERBS: Final = {
    **dict.fromkeys((*"am is are isn't aren't was were wasn't weren't".split(), *_SHORT), _BE),
    **{
        form: verb
        for verb in """sit live work stay deploy run listen park start end open close cost weigh
            prefer drive report belong sleep train meet arrive leave go point expire""".split()
        for form in (verb, f"{verb}s", f"{verb}es")
    },
}
_CHANGES: Final = frozenset("moved switched changed migrated relocated transferred".split())
# Every clause has one of these words, as full text splits them.
_HAS: Final = frozenset(
    form.split("'")[-1 if form in _SHORT else 0] for form in (*_VERBS, *_CHANGES)
)

# With one of these words, a clause no longer holds, or never did.
_ENDED: Final = frozenset(
    """not no never don't doesn't isn't aren't wasn't weren't won't cannot can't longer anymore was
    were used""".split()
)
_CUES: Final = frozenset(
    "now actually anymore longer instead correction changed moved switched nowadays".split()
)
_PLACES: Final = frozenset("in on at from with for by near under".split())
# Words that are not part of what a clause is about, or of its value.
_EMPTY: Final = _ENDED | frozenset(
    """the a an my your our his her their its this that these now actually currently any more still
    just instead today nowadays and but so oh well correction update to do does did then
    again""".split()
)


class Clause(NamedTuple):
    """What it is about, the verb, its value, and whether that holds."""

    about: tuple[str, ...]
    verb: str
    value: tuple[str, ...]
    shape: str  # of the value's last word
    holds: bool
    is_change: bool  # such as "moved to"


@cached(SHORT_MAX_COUNT)
def clauses(text: str) -> tuple[Clause, ...]:
    """The clauses of a text that were understood."""
    if text.isascii() and _HAS.isdisjoint(plain_words(text)):
        return ()  # most texts have none of the verbs
    pieces = (re.findall(_WORD, piece) for piece in re.split(_CLAUSE, text, flags=re.IGNORECASE))
    return tuple(clause for words in pieces if (clause := _clause(words)) is not None)


@cached(SHORT_MAX_COUNT)
def has_cue(text: str) -> bool:
    """True if a text says that something changed."""
    return not _CUES.isdisjoint(_small(re.findall(_WORD, text))) or "any more" in text.lower()


def differ(older: Clause, newer: Clause, *, cue: bool) -> bool:
    """True if two clauses that hold say different values of the same thing.

    Both values must end alike, in numbers or in names; a word of change (``cue``) replaces that.
    """
    if not (older.holds and newer.holds) or older.about != newer.about:
        return False
    if older.value == newer.value:
        return False
    alike = older.shape == newer.shape != ""
    if newer.is_change:
        return alike
    same = older.verb == newer.verb and _place(older) == _place(newer)
    return same and (alike or (cue and len(older.value) == len(newer.value)))


def _place(clause: Clause) -> str:
    """The preposition that its value begins with."""
    return clause.value[0] if clause.value[0] in _PLACES else ""


def _clause(words: list[str]) -> Clause | None:
    small = _small(words)
    place = next((n for n, w in enumerate(small) if w in _VERBS or w in _CHANGES), None)
    if place is None:
        return None
    verb = small[place]
    about = [word for word in small[:place] if word not in _EMPTY]
    value = [word for word in small[place + 1 :] if word not in _EMPTY]
    if not value:
        return None
    return Clause(
        about=(*about, *([_SHORT[verb]] if verb in _SHORT else [])),
        verb=_VERBS.get(verb, _BE),
        value=tuple(value),
        shape=_shape(words[len(small) - 1 - small[::-1].index(value[-1])]),
        holds=_ENDED.isdisjoint(small),
        is_change=verb in _CHANGES,
    )


def _small(words: list[str]) -> list[str]:
    return [word.lower().replace("\u2019", "'") for word in words]


def _shape(word: str) -> str:
    """Digits as 0 and the letters beside them as a; a name as A; nothing for other words."""
    if any(sign.isdigit() for sign in word):
        return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "0", word.lower()))
    return "A" if word[0].isupper() else ""
