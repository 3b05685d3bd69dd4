"""From text to tokens, the same for every index.

Responsible for normalising, splitting and stemming. Leaves weighting tokens to full text
and to ``recall``. Invariants: with the same ``made_with``, the same text always gives the same
tokens; they contain only characters that FTS5's ``ascii`` tokenizer does not split; the work
follows the bytes of a text, whatever its characters decompose into.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Literal, Protocol

import Stemmer

from recollect.index.caches import Kept

# Letters and digits of any script; an underscore separates words as a blank does.
_WORD: Final = re.compile(r"[^\W_]+")
# Scripts written without blanks: each run becomes overlapping pairs. Compiled when needed.
_UNSPACED: Final = (
    "[\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+"
)
_TOKEN_MAX_CHARS: Final = 64
_FIRST_MARK: Final = "\u0300"  # characters below this one are never combining marks
_UTF8: Final = ("utf-8", "surrogatepass")
_PIECE_CHARS: Final = 256  # characters that are decomposed together
# A text that is longer in its normal form than any language is has no tokens of the rest: U+FDFA
# has six characters for each byte, so that 1 MB of it would be 6 MB with a million words.
_DECOMPOSED_RATIO: Final = 1.25  # characters for each byte
_WORD_MIN_BYTES: Final = 2  # a letter and a blank
_WORDS_ANYWAY: Final = 1_024  # in a short text a sign may stand for a phrase
_MARKS_MAX_COUNT: Final = 64  # of a text; more are removed in one pass, which is slower for a few
# The same for plain ASCII, in one pass: lower case, digits kept, everything else a blank.
_ASCII: Final = bytes(
    ord(chr(code).lower()) if code < 128 and chr(code).isalnum() else 32 for code in range(256)
)

# No other thread works while C goes through a long text or list, so it goes through parts of it.
_PART_CHARS: Final = 16_384
_PART_COUNT: Final = 4_096

# Raise it with any change to how this module makes tokens.
_VERSION: Final = 2


class Tables(Protocol):
    """The properties of characters in a version of Unicode."""

    @property
    def unidata_version(self) -> str:
        """The version of Unicode."""
        ...

    def normalize(self, form: Literal["NFC", "NFKD"], text: str, /) -> str:
        """The text in a normal form."""
        ...

    def combining(self, sign: str, /) -> int:
        """The combining class; 0 for a character that is not a mark."""
        ...


# The interpreter's tables. A test replaces them with an older version, as in another Python.
tables: Tables = unicodedata

_stem: Final[Callable[[str], str]] = Stemmer.Stemmer("english", 0).stemWord

# Stop words: left out of queries, never of the index.
STOP_WORDS: Final = frozenset(
    """a about all am an and any are as at be been being but by can could did do does doing for
    from had has have having he her here hers him his how i if in into is it its just me more most
    my myself no nor not now of off on once only or other our ours out over own same she should so
    some such than that the their theirs them then there these they this those through to too
    under until up very was we were what when where which while who whom why will with would you
    your yours s t d ll m re ve""".split()
)


def made_with() -> str:
    """The versions that decide which tokens a text gives: this module, Unicode and the stemmer.

    Another Python or another release of the stemmer may give other tokens. Full text can remove
    only the tokens that were added, so an index stores this next to its version.
    """
    return f"tokens {_VERSION}, Unicode {tables.unidata_version}, stemmer {Stemmer.version()}"


def _stemmed(word: str) -> str:
    return _stem(word[:_TOKEN_MAX_CHARS])


_token: Final = Kept("_token", _stemmed, 65_536, _TOKEN_MAX_CHARS)  # words repeat


def words(text: str) -> list[str]:
    """The text's words: compatibility forms folded, accents and case removed."""
    if text.isascii():
        return split(text.encode().translate(_ASCII).decode())
    most = _WORDS_ANYWAY + len(text.encode(*_UTF8)) // _WORD_MIN_BYTES
    marks = _marks(text)
    found: list[str] = []
    is_unspaced = False
    for piece in _pieces(decomposed(text)):
        composed = tables.normalize("NFC", _without_marks(piece.casefold(), marks))
        found += _WORD.findall(composed)
        is_unspaced = is_unspaced or re.search(_UNSPACED, composed) is not None
        if len(found) >= most:
            break
    return _split(found, most) if is_unspaced else found[:most]


def split(text: str) -> list[str]:
    """What stands between the blanks of a text that has no other space."""
    if len(text) <= _PART_CHARS:
        return text.split()
    return [word for piece in _pieces(text) for word in piece.split()]


def _pieces(text: str) -> Iterator[str]:
    """A long text in pieces, each up to a blank, before which nothing is composed with the rest."""
    start = 0
    while start < len(text):
        end = text.find(" ", start + _PART_CHARS)
        end = len(text) if end < 0 else end
        yield text[start:end]
        start = end


def parts(found: Sequence[str]) -> Iterator[Sequence[str]]:
    """A list in parts, for work that C does on each."""
    for start in range(0, len(found), _PART_COUNT):
        yield found[start : start + _PART_COUNT]


def decomposed(text: str) -> str:
    """The text in NFKD, except for the order of consecutive marks, which do not count in words.

    Normalising sorts such marks in quadratic time: 1 MB of marks took minutes. So the text is
    decomposed in short pieces. Of a text that becomes much longer than its bytes, the first pieces.
    """
    if text.isascii():
        return text
    room = int(_DECOMPOSED_RATIO * len(text.encode(*_UTF8)))
    pieces: list[str] = []
    for piece in _normal(text):
        pieces.append(piece)
        room -= len(piece)
        if room <= 0:
            break
    return "".join(pieces)


def _normal(text: str) -> Iterator[str]:
    """The normal form, piece by piece."""
    for at in range(0, len(text), _PIECE_CHARS):
        yield tables.normalize("NFKD", text[at : at + _PIECE_CHARS])


def cut(text: str, room: int) -> tuple[str, int]:
    """As much of a text as becomes ``room`` decomposed characters, and what is left of the room."""
    if text.isascii():
        return (text, room - len(text)) if len(text) <= room else (text[:room], 0)
    for number, piece in enumerate(_normal(text)):
        if room <= 0:
            return text[: number * _PIECE_CHARS], 0
        room -= len(piece)
    return text, max(room, 0)


def _marks(text: str) -> set[str]:
    """The combining marks that its decomposed characters have.

    Taken from its own characters: they are fewer than those that they decompose into.
    """
    at = range(0, len(text), _PART_CHARS)
    signs = "".join(set().union(*(set(text[start : start + _PART_CHARS]) for start in at)))
    made = set("".join(_normal(signs)).casefold())
    return {sign for sign in made if sign >= _FIRST_MARK and tables.combining(sign)}


def _without_marks(text: str, marks: set[str]) -> str:
    if len(marks) > _MARKS_MAX_COUNT:
        return text.translate(dict.fromkeys(map(ord, marks)))
    for mark in marks:
        text = text.replace(mark, "")
    return text


def _split(found: Iterable[str], most: int) -> list[str]:
    """Words as they are, and the pairs of unspaced scripts; so many at most."""
    runs = re.compile(f"({_UNSPACED})")
    pieces: list[str] = []
    for word in found:
        if len(pieces) >= most:
            break
        if word.isascii():
            pieces.append(word)
            continue
        for number, part in enumerate(runs.split(word)):  # every second one is a run
            if number % 2 and len(part) > 2:
                count = min(len(part) - 1, max(0, most - len(pieces)))
                pieces += [part[i : i + 2] for i in range(count)]
            elif part:
                pieces.append(part)
    return pieces[:most]


def token_list(text: str) -> list[str]:
    """Every token of a text, in order."""
    found = words(text)
    if len(found) <= _PART_COUNT:
        return list(map(_token.__getitem__, found))
    return [token for part in parts(found) for token in map(_token.__getitem__, part)]


def tokens(text: str) -> str:
    """The text of the full-text index: every token, in order, separated by blanks."""
    return joined(words(text))


def joined(found: Sequence[str]) -> str:
    """The same of words."""
    if len(found) <= _PART_COUNT:
        return " ".join(map(_token.__getitem__, found))
    return " ".join(" ".join(map(_token.__getitem__, part)) for part in parts(found))


def telling_tokens(text: str) -> set[str]:
    """The distinct tokens of a text, without stop words."""
    return {_token[word] for word in words(text) if word not in STOP_WORDS}


def query_tokens(query: str, at_most: int) -> list[str]:
    """The distinct tokens of a query; stop words only if there is nothing else."""
    found = words(query)
    telling = [word for word in found if word not in STOP_WORDS] or found
    return list(dict.fromkeys(_token[word] for word in telling))[:at_most]
