"""The words of a text as a reader sees them, so that two texts can be compared.

Responsible for one spelling of digits, quotes, dashes and accents, and for where words begin.
Leaves what words say to ``propose.numbers``, ``propose.days`` and ``propose.grounds``. Invariants:
pure, and in linear time; letters of different scripts stay different, however alike they look.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final, NamedTuple

from recollect.model import visible

# Letters, digits, and the vowel signs of Indic scripts, Thai, Tibetan, Burmese and Khmer.
_WORD: Final = re.compile(r"[\w\u0900-\u109f\u1780-\u17ff]+")
HIDDEN: Final = re.compile(f"[{visible.HIDDEN}]")
THIN: Final = "\u202f\u2009\u200a"  # blanks inside a number, as in French
_ENDS: Final = frozenset(".!?\n\u3002")
_GAP_MAX_CHARS: Final = 8
_FORM_MAX_CHARS: Final = 4  # U+FDFA stands for eighteen characters; it stays as it is
_FOLDED_MAX_COUNT: Final = 4_096
_VOWELS: Final = range(0x0900, 0x10A0)  # where a mark may be a vowel
_MARK_MIN_CLASS: Final = 10  # marks of a lower class change the letter, as in Japanese
_QUOTES: Final = frozenset("\u2019\u2018\u02bc\u00b4\uff07`")
_PICTURES: Final = {"\U0001f51f": " 10 ", "\U0001f4af": " 100 "}  # of numbers
# Letters in signs that have no other form: circles, squares and flags.
_SIGNS: Final = ((0x1F150, 26), (0x1F170, 26), (0x1F1E6, 26))


class Word(NamedTuple):
    """One word: as it is written, without its case, and what stands before it."""

    raw: str
    low: str
    gap: str  # since the word before it; of a long gap, its last characters
    opens: bool  # the first of a sentence


class _Folding(dict[int, str]):
    """Maps each character to the one that is compared; computed on first use."""

    def __missing__(self, code: int) -> str:
        found = _folded(chr(code))
        if len(self) < _FOLDED_MAX_COUNT:
            self[code] = found
        return found


def words(text: str) -> list[Word]:
    """The words of a text, in order."""
    text = plain(text)
    found: list[Word] = []
    end = 0
    for match in _WORD.finditer(text):
        gap = text[end : match.start()]
        opens = not found or not _ENDS.isdisjoint(gap)
        found.append(Word(match[0], match[0].casefold(), gap[-_GAP_MAX_CHARS:], opens))
        end = match.end()
    return found


def plain(text: str) -> str:
    """The text in the characters that are compared."""
    if text.isascii() and text.isprintable() and "_" not in text and "`" not in text:
        return text
    return text.translate(_FOLDING)


def is_plain_letters(word: str) -> bool:
    """True for a word in small letters of one script that has capitals."""
    if word.isascii():
        return word.islower() and word.isalpha()
    return all(unicodedata.category(sign) == "Ll" for sign in word) and not _is_mixed(word)


def has_capitals(word: str) -> bool:
    """True for a word of a script with capitals, which is what shows names in it."""
    return any(unicodedata.category(sign) in ("Lu", "Lt", "Ll") for sign in word)


def _is_mixed(word: str) -> bool:
    """True for letters of more than one script, as in a name with one Cyrillic letter."""
    return len({unicodedata.name(sign, "").partition(" ")[0] for sign in word}) > 1


def _folded(sign: str) -> str:
    """One character as it is compared; none for what no reader sees."""
    if sign in _QUOTES:
        return "'"
    if sign in _PICTURES:
        return _PICTURES[sign]
    if sign in THIN:
        return THIN[0]
    if sign == "_" or sign.isspace():
        return "\n" if sign == "\n" else " "
    kind = unicodedata.category(sign)
    if kind == "Nd":
        return str(unicodedata.decimal(sign))
    if kind in ("No", "Nl"):  # "10\u00b2" is not 102
        return sign
    if kind == "Pd" or sign == "\u2212":
        return "-"
    if kind == "Me" or HIDDEN.match(sign):  # a circle around a letter does not end the word
        return ""
    return _letter_of(ord(sign)) or _form(sign)


def _letter_of(code: int) -> str | None:
    for first, count in _SIGNS:
        if first <= code < first + count:
            return chr(ord("A") + code - first)
    return None


def _form(sign: str) -> str:
    """Its compatibility form without accents, if that is short."""
    form = unicodedata.normalize("NFKD", sign)
    kept = "".join(part for part in form if not _is_accent(part))
    return unicodedata.normalize("NFC", kept) if len(form) <= _FORM_MAX_CHARS else sign


def _is_accent(sign: str) -> bool:
    return unicodedata.combining(sign) >= _MARK_MIN_CLASS and ord(sign) not in _VOWELS


_FOLDING: Final = _Folding()
