"""An embedder for tests: hashed words, which need only numpy.

Responsible for predictable vectors: texts with the same words are similar, others are not. Leaves
meaning to real encoders. Invariant: it fulfils the port's contract.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal
from zlib import crc32

import numpy as np

if TYPE_CHECKING:
    from recollect.embed.port import Matrix, Vector


class WordEmbedder:
    """Each line of a text is a piece; each word of a piece adds to one number."""

    def __init__(
        self, name: str = "words", dimensions: int = 256, recall_max_pieces: int = 10
    ) -> None:
        self.name = f"{name} lines {dimensions}"
        self.dimensions = dimensions
        self.grain: Literal["sentence", "chunk"] = "chunk"
        self.recall_max_pieces = recall_max_pieces

    def cut(self, text: str) -> list[str]:
        """Its lines."""
        return [line.strip() for line in text.split("\n") if line.strip()]

    def embed(self, pieces: Sequence[str]) -> Matrix:
        """A row for each piece."""
        rows = np.zeros((len(pieces), self.dimensions), np.float32)
        for row, piece in zip(rows, pieces, strict=True):
            for word in piece.lower().split():
                row[crc32(word.encode()) % self.dimensions] += 1
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        made: Matrix = rows / np.maximum(lengths, np.float32(1e-9))
        return made

    def embed_query(self, text: str) -> Vector:
        """One row for a question."""
        row: Vector = self.embed([text])[0]
        return row
