"""Embeddings from any server with OpenAI's ``/embeddings`` API.

Responsible for one kind of request and for validating its response. Leaves sending it to
``recollect.endpoint``, and choosing the server to the user, because the texts of a memory are sent
to it. Invariant: no number of a response is used unchecked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from recollect.embed.cut import CHUNK_MAX_WORDS, chunks
from recollect.embed.rows import unit
from recollect.endpoint import Endpoint

if TYPE_CHECKING:
    from recollect.embed.port import Matrix, Vector

_WAIT_S: Final = 0.2  # before the second try; doubled before the next
_BATCH_PIECES: Final = 64
_DIMENSIONS_MAX_COUNT: Final = 16_384
_NUMBER_MAX_BYTES: Final = 64  # in JSON, with the blanks of a server that indents it
_FRAME_MAX_BYTES: Final = 1 << 16  # what an answer has besides numbers
_ANSWER_MAX_BYTES: Final = _BATCH_PIECES * _DIMENSIONS_MAX_COUNT * _NUMBER_MAX_BYTES
_MOST: Final = 1e15  # of a number; the square of more has no place in single precision


class _Item(msgspec.Struct):
    index: int
    embedding: list[float]


class _Answer(msgspec.Struct):
    data: list[_Item]


class EndpointEmbedder:
    """Vectors from a server, one for each chunk. Its dimensions are requested when first needed."""

    grain: Final = "chunk"
    recall_max_pieces = 64

    def __init__(self, url: str, model: str, key: str | None = None) -> None:
        self._server = Endpoint(
            url,
            model,
            "embeddings",
            key,
            what="embedder",
            hint="check its address, model and key; it must have OpenAI's /v1/embeddings; recall "
            "uses full text meanwhile",
            answer_max_bytes=_ANSWER_MAX_BYTES,
            wait_s=_WAIT_S,
        )
        self._model = model
        self._dimensions = 0

    @property
    def dimensions(self) -> int:
        """The length of a vector, as in the server's first response."""
        if not self._dimensions:
            self._ask(["dimensions"])
        return self._dimensions

    @property
    def name(self) -> str:
        """The server, its model, the cut and the dimensions."""
        return f"{self._server.place} {self._model} chunks-{CHUNK_MAX_WORDS} {self.dimensions}"

    def cut(self, text: str) -> list[str]:
        """Chunks of a few sentences."""
        return chunks(text)

    def embed(self, pieces: Sequence[str]) -> Matrix:
        """A row for each piece."""
        some = [
            self._ask(pieces[start : start + _BATCH_PIECES])
            for start in range(0, len(pieces), _BATCH_PIECES)
        ]
        return np.vstack(some) if some else np.zeros((0, self.dimensions), np.float32)

    def embed_query(self, text: str) -> Vector:
        """One row for a question."""
        row: Vector = self._ask([text])[0]
        return row

    def _ask(self, pieces: Sequence[str]) -> Matrix:
        """The rows of some pieces, checked."""
        body = msgspec.json.encode(
            {"model": self._model, "input": list(pieces), "encoding_format": "float"}
        )
        numbers = len(pieces) * (self._dimensions or _DIMENSIONS_MAX_COUNT)
        most = min(_ANSWER_MAX_BYTES, numbers * _NUMBER_MAX_BYTES + _FRAME_MAX_BYTES)
        try:
            told = self._server.ask(body, answer_max_bytes=most)
            answer = msgspec.json.decode(told, type=_Answer)
            ordered = sorted(answer.data, key=lambda item: item.index)
            rows = np.array([item.embedding for item in ordered], np.float64)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise self._server.strange("could not be parsed") from error
        if [item.index for item in ordered] != list(range(len(pieces))) or rows.ndim != 2:
            raise self._server.strange("does not have one vector for each text")
        width = rows.shape[1]
        if width != (self._dimensions or width) or not 0 < width <= _DIMENSIONS_MAX_COUNT:
            raise self._server.strange(f"has {width} dimensions")
        if not (np.abs(rows) < _MOST).all():  # also of what is not a number
            raise self._server.strange("holds a value that is not a number")
        self._dimensions = width
        return unit(rows.astype(np.float32))
