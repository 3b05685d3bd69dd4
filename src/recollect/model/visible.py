"""How a text is shown: invisible characters become marks, and look-alikes are detected.

Responsible for the list of control and invisible characters, for showing each as a mark such as
``[U+200B]``, and for mapping look-alike letters to the ones they imitate. Leaves to others where a
text is shown; the stored text is not changed. Invariants: it takes linear time; a text that was
already converted stays as it is; emoji, Persian, Indic and Japanese texts keep the invisible
characters that belong to their spelling.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Final

# Grouped by effect. Line ends and tabs are allowed.
_CONTROLS: Final = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_TURNS: Final = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_UNSEEN: Final = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2028\u2029\u2060-\u2065"
    "\u206a-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
HIDDEN: Final = f"{_CONTROLS}{_TURNS}{_UNSEEN}"  # for a character class of a pattern
_RUN: Final = f"[{HIDDEN}]+"

_DIFFERENT_FEW: Final = 32

_JOINERS: Final = "\u200c\u200d"
_SPELLING: Final = f"{_JOINERS}\ufe0e\ufe0f"  # with tags and selectors, all that may belong
_JOINING_SCRIPTS: Final = (
    "[\u0600-\u06ff\u0700-\u074f\u0750-\u077f\u0840-\u085f\u08a0-\u08ff\u0900-\u0dff\u0e80-\u0eff"
    "\u1000-\u109f\u1780-\u17ff\u1800-\u18af\ufb50-\ufdff\ufe70-\ufefc]"
)
_IDEOGRAPH: Final = "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]"
_BLACK_FLAG: Final = "\U0001f3f4"
_FLAGS: Final = frozenset(
    "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f"
    for region in ("gbeng", "gbsct", "gbwls")
)


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """A pattern, compiled on first use: compiling all of them would slow every hook."""
    return re.compile(text)


def shown(text: str) -> str:
    """The text with a mark for each run of invisible or control characters."""
    return text if _is_plain(text) else _pattern(_RUN).sub(_marked, text)


def pieces(text: str) -> list[tuple[str, bool]]:
    """The text of ``shown`` in pieces, each with whether it is a mark, to draw marks as boxes."""
    if _is_plain(text):
        return [(text, False)]
    found: list[tuple[str, bool]] = []
    end = 0
    for run in _pattern(_RUN).finditer(text):
        if not _belongs(run):
            found += [(text[end : run.start()], False), (_marked(run), True)]
            end = run.end()
    return [*found, (text[end:], False)]


def _is_plain(text: str) -> bool:
    """True for most texts; checked without a pattern."""
    return text.isascii() and text.replace("\n", "").replace("\t", "").isprintable()


def escaped(document: str) -> str:
    r"""A JSON document with ``\u`` escapes for the same characters; its value is unchanged."""
    return _pattern(f"[{HIDDEN}]").sub(_spelled, document)


def note(texts: Iterable[str]) -> str | None:
    """A sentence about the characters that ``shown`` replaces in the texts, or None."""
    signs: list[str] = []
    for text in texts:
        if not _is_plain(text):
            runs = _pattern(_RUN).finditer(text)
            signs.extend(run[0] for run in runs if not _belongs(run))
    counts: Counter[str] = Counter()
    for sign, count in _counted("".join(signs)):
        counts[_kind(sign)] += count
    if not counts:
        return None
    parts = [f"{counts[kind]} {kind}" for kind in sorted(counts)]
    return f"shown as marks: {', '.join(parts)} characters"


def _counted(signs: str) -> Iterable[tuple[str, int]]:
    """How often each sign occurs; a text may be of nothing else."""
    different = set(signs)
    if len(different) <= _DIFFERENT_FEW:  # counted one by one, which is faster for a few
        return [(sign, signs.count(sign)) for sign in different]
    return Counter(signs).items()


def _kind(char: str) -> str:
    if _pattern(f"[{_CONTROLS}]").match(char):
        return "control"
    return "bidirectional" if _pattern(f"[{_TURNS}]").match(char) else "invisible"


def _marked(run: re.Match[str]) -> str:
    signs = run[0]
    if _belongs(run):
        return signs
    if len(signs) == 1:
        return f"[U+{ord(signs):04X}]"
    return f"[U+{ord(signs[0]):04X} and {len(signs) - 1} more]"


def _belongs(run: re.Match[str]) -> bool:
    """True if the characters belong to the spelling of a script or an emoji."""
    text, signs = run.string, run[0]
    if signs[0] not in _SPELLING and signs[0] < "\U000e0000":
        return False
    before = text[run.start() - 1 : run.start()]
    after = text[run.end() : run.end() + 1]
    if signs in ("\ufe0e", "\ufe0f"):
        return _is_symbol(before) or (
            before in "0123456789#*" and after == "\u20e3" and before != ""
        )
    if signs in ("\u200d", "\ufe0f\u200d") and _is_symbol(before):
        return _is_symbol(after)
    if len(signs) == 1 and signs in _JOINERS:
        return bool(_pattern(_JOINING_SCRIPTS).match(before))
    if len(signs) == 1 and "\U000e0100" <= signs <= "\U000e01ef":
        return bool(_pattern(_IDEOGRAPH).match(before))
    return before == _BLACK_FLAG and signs in _FLAGS


def _is_symbol(char: str) -> bool:
    """An emoji, a part of one, or a sign that has an emoji's form."""
    return not char.isascii() and unicodedata.category(char) in ("So", "Sk", "Sm", "Po", "Pd")


def _spelled(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


# --- look-alikes

# Letters and brackets that readers mistake for these.
_ALIKE: Final = {
    "r": "\u0433\u1d26\u0280\uab47\uab81\u027e",
    "e": "\u0435\u0454\u04bd\u025b\u03b5\u212f\u1d07\u0258",
    "c": "\u0441\u03f2\u1d04\u2ca5\uabaf\u2184",
    "o": (
        "\u043e\u03bf\u03c3\u0585\u1d0f\u0665\u06f5\u0966\u0a66\u0ae6\u0be6\u0c66\u0ce6"
        "\u0d66\u0e50\u0ed0\u101d\u3007\xb0"
    ),
    "l": ("\u04cf\u03b9\u0131\u0269\u217c\u01c0\u05d5\u05df\u0627\u06f1\u0661\u029f\u2223\u2502"),
    "t": "\u0442\u03c4\u1d1b\u057f",
    "<": (
        "\u2039\u3008\u27e8\u3008\u276e\u2770\u29fc\xab\u02c2\u1438\u16b2\u227a\u22d6"
        "\u226a\uff1c\ufe64\U0001d236"
    ),
    ">": (
        "\u203a\u3009\u27e9\u3009\u276f\u2771\u29fd\xbb\u02c3\u1433\u227b\u22d7\u226b\uff1e\ufe65"
    ),
    "/": "\u2044\u2215\u29f8\u2571\uff0f\u27cb\u3033",
}
_PLAIN: Final = {alike: plain for plain, others in _ALIKE.items() for alike in others}


_FOLDED_MAX_COUNT: Final = 4_096  # a hostile text could contain every character there is


class _Folding(dict[int, str]):
    """Maps each character to the one it looks like; computed on first use."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        plain = _PLAIN.get(char) or _PLAIN.get(char.lower(), "")
        if not plain:
            first = unicodedata.normalize("NFKD", char)[0]
            plain = first if first.isascii() else _PLAIN.get(first.lower(), char)
        if len(self) < _FOLDED_MAX_COUNT:
            self[code] = plain
        return plain


_FOLDING: Final = _Folding()


def folded(text: str) -> str:
    """The text in the letters that it looks like; every character keeps its index."""
    return text if text.isascii() else text.translate(_FOLDING)
