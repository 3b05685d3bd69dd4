"""From text to tokens, the same for every index.

Responsible for normalising, splitting and stemming. Leaves weighting tokens to full text
and to ``recall``. Invariant: with the same ``made_with``, the same text always gives the same
tokens; they contain only characters that FTS5's ``ascii`` tokenizer does not split.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
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
_PIECE_CHARS: Final = 256  # characters that are decomposed together
# The same for plain ASCII, in one pass: lower case, digits kept, everything else a blank.
_ASCII: Final = bytes(
    ord(chr(code).lower()) if code < 128 and chr(code).isalnum() else 32 for code in range(256)
)

# Raise it with any change to how this module makes tokens.
_VERSION: Final = 1


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
        return text.encode().translate(_ASCII).decode().split()
    folded = _decomposed(text).casefold()
    for sign in set(folded):
        if sign >= _FIRST_MARK and tables.combining(sign):
            folded = folded.replace(sign, "")
    found: list[str] = []
    for word in _WORD.findall(tables.normalize("NFC", folded)):
        found.extend(_split(word))
    return found


def _decomposed(text: str) -> str:
    """The text in NFKD, except for the order of consecutive marks, which are dropped next.

    Normalising sorts such marks in quadratic time: 1 MB of marks took minutes. So the text is
    decomposed in short pieces.
    """
    starts = range(0, len(text), _PIECE_CHARS)
    return "".join(tables.normalize("NFKD", text[at : at + _PIECE_CHARS]) for at in starts)


def _split(word: str) -> list[str]:
    """A word as it is, or the pairs of an unspaced script."""
    if word.isascii() or not re.search(_UNSPACED, word):
        return [word]
    pieces: list[str] = []
    last = 0
    for run in re.finditer(_UNSPACED, word):
        pieces += [word[last : run.start()]] if run.start() > last else []
        chars = run.group()
        pieces += [chars[i : i + 2] for i in range(max(1, len(chars) - 1))]
        last = run.end()
    return pieces + ([word[last:]] if last < len(word) else [])


def token_list(text: str) -> list[str]:
    """Every token of a text, in order."""
    return list(map(_token.__getitem__, words(text)))


def tokens(text: str) -> str:
    """The text of the full-text index: every token, in order, separated by blanks."""
    return joined(words(text))


def joined(found: Iterable[str]) -> str:
    """The same of words."""
    return " ".join(map(_token.__getitem__, found))


def telling_tokens(text: str) -> set[str]:
    """The distinct tokens of a text, without stop words."""
    return {_token[word] for word in words(text) if word not in STOP_WORDS}


def query_tokens(query: str, at_most: int) -> list[str]:
    """The distinct tokens of a query; stop words only if there is nothing else."""
    found = words(query)
    telling = [word for word in found if word not in STOP_WORDS] or found
    return list(dict.fromkeys(_token[word] for word in telling))[:at_most]
