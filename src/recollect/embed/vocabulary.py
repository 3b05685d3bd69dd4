"""The tokens of a plain question, without loading the tokenizer.

Responsible for byte pair encoding of ASCII words with the vocabulary that the static word vectors
bring. Leaves every other text to the tokenizers library, whose tables take ten times as long to
load: more than everything else that a short command does. Invariant: the same ids as that library,
or None.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import msgspec

_BEGIN: Final = "\u2581"  # stands before each word
_WORD_MAX_CHARS: Final = 64  # merging takes quadratic time
_TEXT_MAX_CHARS: Final = (
    1_000  # of a longer text the tokenizer is faster, even if it must be loaded
)
# Printable words, one blank between two. "<" may begin a special token.
_PLAIN: Final = re.compile(r"[!-;=-~]+(?: [!-;=-~]+)*")
# The file whose merges are known to be in the order of their ids, and to be all that are possible.
_KNOWN_BYTES: Final = 1_842_796


class _Model(msgspec.Struct):
    vocab: dict[str, int]


class _File(msgspec.Struct):
    model: _Model


class Vocabulary:
    """Pieces of words and their ids."""

    def __init__(self, ids: dict[str, int]) -> None:
        self._ids = ids

    def ids_of(self, text: str) -> list[int] | None:
        """The ids of a text's tokens; None for a text that only the tokenizer can encode."""
        if len(text) > _TEXT_MAX_CHARS or _PLAIN.fullmatch(text) is None:
            return None
        words = text.split(" ")
        if max(map(len, words)) > _WORD_MAX_CHARS:
            return None
        return [self._ids[piece] for word in words for piece in self._pieces(_BEGIN + word)]

    def _pieces(self, word: str) -> list[str]:
        """The pieces of a word: the two neighbours that form the lowest id are joined first."""
        pieces = list(word)
        while True:  # ends: each round joins two pieces
            best: tuple[int, int] | None = None
            for place in range(len(pieces) - 1):
                id = self._ids.get(pieces[place] + pieces[place + 1])
                if id is not None and (best is None or id < best[0]):
                    best = (id, place)
            if best is None:
                return pieces
            at = best[1]
            pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]


def read(path: Path) -> Vocabulary | None:
    """The vocabulary of a tokenizer's file; None if the file is not the one that is known."""
    data = path.read_bytes()
    if len(data) != _KNOWN_BYTES:
        return None
    return Vocabulary(msgspec.json.decode(data, type=_File).model.vocab)
