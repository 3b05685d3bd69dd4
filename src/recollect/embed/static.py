"""Static word vectors from an installed wheel: no download, no network, no model to run.

Responsible for the weights and tokens of ``wordllama``, and for the tokens of a plain question
without the tokenizers library, whose tables take ten times as long to load: more than everything
else that a short command does. Does not use the code of wordllama: importing it takes three times
as long as reading its two files, and sets up logging for the whole process. Invariants: the rows
are those of wordllama's own ``embed``, with unit length; the ids are those of that library, or
None.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from recollect.embed.cut import CHUNK_MAX_WORDS, chunks
from recollect.embed.rows import unit
from recollect.errors import Unsupported

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from recollect.embed.port import Matrix, Vector

_PACKAGE: Final = "wordllama"
_WEIGHTS: Final = Path("weights", "l2_supercat_256.safetensors")
_TOKENS: Final = Path("tokenizers", "l2_supercat_tokenizer_config.json")
_TENSOR: Final = "embedding.weight"
_HEADER_MAX_BYTES: Final = 1 << 20
_BATCH_PIECES: Final = 256
_BEGIN: Final = "\u2581"  # stands before each word
_WORD_MAX_CHARS: Final = 64  # merging takes quadratic time
_TEXT_MAX_CHARS: Final = (
    1_000  # of a longer text the tokenizer is faster, even if it must be loaded
)
# Printable words, one blank between two. "<" may begin a special token.
_PLAIN: Final = re.compile(r"[!-;=-~]+(?: [!-;=-~]+)*")
# The file whose merges are known to be in the order of their ids, and to be all that are possible.
_KNOWN_BYTES: Final = 1_842_796


class StaticEmbedder:
    """The mean of a chunk's word vectors."""

    grain: Final = "chunk"
    recall_max_pieces = 2_000

    def __init__(self) -> None:
        folder = _folder()
        if folder is None:
            raise Unsupported(
                "the static word vectors are not installed",
                hint="install them with: pip install 'recollect[local]'",
            )
        self._file = folder / _TOKENS
        self._weights = _weights(folder / _WEIGHTS)
        self.dimensions = int(self._weights.shape[1])
        self.name = f"wordllama-l2-supercat chunks-{CHUNK_MAX_WORDS} {self.dimensions}"

    @cached_property
    def _tokens(self) -> Tokenizer:
        from tokenizers import Tokenizer

        tokens: Tokenizer = Tokenizer.from_file(str(self._file))
        tokens.no_padding()
        tokens.no_truncation()
        return tokens

    @cached_property
    def _vocabulary(self) -> Vocabulary | None:
        return read(self._file)

    def cut(self, text: str) -> list[str]:
        """Chunks of a few sentences."""
        return chunks(text)

    def embed(self, pieces: Sequence[str]) -> Matrix:
        """A row for each piece."""
        rows = np.zeros((len(pieces), self.dimensions), np.float32)
        for start in range(0, len(pieces), _BATCH_PIECES):
            some = list(pieces[start : start + _BATCH_PIECES])
            for number, found in enumerate(
                self._tokens.encode_batch(some, add_special_tokens=False), start
            ):
                rows[number] = self._mean(found.ids)
        return unit(rows)

    def embed_query(self, text: str) -> Vector:
        """One row for a question; a short process does not load the tokenizer for it."""
        ids = None
        if "_tokens" not in self.__dict__ and self._vocabulary is not None:
            ids = self._vocabulary.ids_of(text)
        row: Vector = self.embed([text])[0] if ids is None else unit(self._mean(ids)[np.newaxis])[0]
        return row

    def _mean(self, ids: list[int]) -> Vector:
        """Summed as wordllama does, in single precision; unknown tokens count as its last one."""
        if not ids:
            return np.zeros(self.dimensions, np.float32)
        known = np.minimum(np.array(ids), len(self._weights) - 1)
        total: Vector = self._weights[known].astype(np.float32).sum(axis=0)
        return total / np.float32(len(ids))


def _folder() -> Path | None:
    """The package's folder, found without importing it."""
    spec = find_spec(_PACKAGE)
    places = spec.submodule_search_locations if spec else None
    folder = Path(next(iter(places))) if places else None
    return folder if folder is not None and (folder / _WEIGHTS).is_file() else None


def _weights(path: Path) -> np.memmap[tuple[int, int], np.dtype[np.float16]]:
    """The matrix, memory-mapped: pages that no word needs are never read."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(min(length, _HEADER_MAX_BYTES)))
    found = header[_TENSOR]
    if found["dtype"] != "F16" or len(found["shape"]) != 2:
        raise Unsupported(
            "the installed static word vectors have a format that this release does not support",
            hint="install the version of wordllama that recollect[local] requires",
        )
    rows, columns = found["shape"]
    offset = 8 + length + found["data_offsets"][0]
    return np.memmap(path, np.float16, "r", offset, (int(rows), int(columns)))


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
