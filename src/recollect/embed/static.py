"""Static word vectors from an installed wheel: no download, no network, no model to run.

Responsible for the weights and tokens of ``wordllama``. Does not use its code: importing it takes
three times as long as reading its two files, and sets up logging for the whole process. Invariant:
the rows are those of wordllama's own ``embed``, with unit length.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from recollect.embed import vocabulary
from recollect.embed.cut import CHUNK_MAX_WORDS, chunks
from recollect.embed.rows import unit
from recollect.errors import Unsupported

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from recollect.embed.port import Matrix, Vector
    from recollect.embed.vocabulary import Vocabulary

_PACKAGE: Final = "wordllama"
_WEIGHTS: Final = Path("weights", "l2_supercat_256.safetensors")
_TOKENS: Final = Path("tokenizers", "l2_supercat_tokenizer_config.json")
_TENSOR: Final = "embedding.weight"
_HEADER_MAX_BYTES: Final = 1 << 20
_BATCH_PIECES: Final = 256


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
        return vocabulary.read(self._file)

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
