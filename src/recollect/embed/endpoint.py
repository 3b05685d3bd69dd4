"""Embeddings from any server with OpenAI's ``/embeddings`` API.

Responsible for one kind of request and for validating its response. Leaves choosing the server to
the user, because the texts of a memory are sent to it. Invariants: the key is sent over TLS or
within this machine, and only to the host that was named (a redirect is an error); every response
has a size limit, every wait a timeout.
"""

from __future__ import annotations

import http.client
import ssl
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import msgspec
import numpy as np

from recollect.embed.cut import CHUNK_MAX_WORDS, chunks
from recollect.embed.rows import unit
from recollect.errors import ConfigError, Unavailable

if TYPE_CHECKING:
    from recollect.embed.port import Matrix, Vector

_TIMEOUT_S: Final = 30.0
_TRIES: Final = 3
_WAIT_S: Final = 0.2  # before the second try; doubled before the next
_ANSWER_MAX_BYTES: Final = 64 << 20
_PIECE_BYTES: Final = 1 << 16
_BATCH_PIECES: Final = 64
_DIMENSIONS_MAX_COUNT: Final = 16_384
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_BUSY: Final = (429, 500, 502, 503, 504)  # worth a retry


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
        parts = urlsplit(url)
        host = parts.hostname or ""
        if not model or not host or parts.username or parts.query:
            raise ConfigError(
                "an endpoint needs an address and a model",
                hint="write it as https://HOST/v1#MODEL; the key is read from the environment",
            )
        if parts.scheme != "https" and not (parts.scheme == "http" and host in _LOOPBACK):
            raise ConfigError(
                f"refusing to send texts to {host} without TLS",
                hint="use https, or a server on localhost",
            )
        self._secure = parts.scheme == "https"
        self._host, self._port = host, parts.port
        self._path = f"{parts.path.rstrip('/')}/embeddings"
        self._model = model
        self._key = key
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
        place = f"{self._host}:{self._port}" if self._port else self._host
        return f"{place}{self._path} {self._model} chunks-{CHUNK_MAX_WORDS} {self.dimensions}"

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
        try:
            answer = msgspec.json.decode(self._sent(body), type=_Answer)
            ordered = sorted(answer.data, key=lambda item: item.index)
            rows = np.array([item.embedding for item in ordered], np.float32)
        except (msgspec.MsgspecError, ValueError) as error:
            raise self._strange("could not be parsed") from error
        if [item.index for item in ordered] != list(range(len(pieces))) or rows.ndim != 2:
            raise self._strange("does not have one vector for each text")
        width = rows.shape[1]
        if width != (self._dimensions or width) or not 0 < width <= _DIMENSIONS_MAX_COUNT:
            raise self._strange(f"has {width} dimensions")
        if not np.isfinite(rows).all():
            raise self._strange("holds a value that is not a number")
        self._dimensions = width
        return unit(rows)

    def _sent(self, body: bytes) -> bytes:
        """The response's bytes; retries a few times."""
        problem = ""
        for attempt in range(_TRIES):
            if attempt:
                time.sleep(_WAIT_S * 2 ** (attempt - 1))
            try:
                status, answer = self._post(body)
            except (OSError, http.client.HTTPException) as error:
                problem = type(error).__name__
                continue
            if status == http.client.OK:
                return answer
            problem = f"status {status}"
            if status not in _BUSY:
                break
        raise Unavailable(
            f"the embedder at {self._host} did not answer: {problem}",
            hint="check its address, model and key; recall uses full text meanwhile",
        )

    def _post(self, body: bytes) -> tuple[int, bytes]:
        """One request; never follows a redirect."""
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        connection = self._connection()
        try:
            connection.request("POST", self._path, body, headers)
            response = connection.getresponse()
            return response.status, self._read(response)
        finally:
            connection.close()

    def _read(self, response: http.client.HTTPResponse) -> bytes:
        """The response's bytes; raises if they are too many or arrive too slowly."""
        end = time.monotonic() + _TIMEOUT_S
        answer = bytearray()
        while piece := response.read1(_PIECE_BYTES):
            answer += piece
            if len(answer) > _ANSWER_MAX_BYTES:
                raise self._strange("is too long")
            if time.monotonic() > end:
                raise TimeoutError
        return bytes(answer)

    def _connection(self) -> http.client.HTTPConnection:
        if not self._secure:
            return http.client.HTTPConnection(self._host, self._port, timeout=_TIMEOUT_S)
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=_TIMEOUT_S, context=ssl.create_default_context()
        )

    def _strange(self, what: str) -> Unavailable:
        return Unavailable(
            f"the response of the embedder at {self._host} {what}",
            hint="check that the server implements OpenAI's /v1/embeddings",
        )
