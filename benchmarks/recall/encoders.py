"""The embedders that recall is measured with, and one that keeps what it encoded.

Responsible for making them from a folder that the caller names. Leaves encoding to
``recollect.embed``. Invariant: a cached row is exactly the row that the embedder returned, so that
caching changes only the time.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from recollect.compose import Embedders
from recollect.config import Settings
from recollect.embed.onnx import OnnxEmbedder
from recollect.embed.port import Embedder
from recollect.embed.static import StaticEmbedder

Legs = Literal["text", "static", "sentence", "full"]
Matrix = NDArray[np.float32]

_BATCH_PIECES: Final = 2_000


class Kept:
    """An embedder whose rows are kept in two files, one line and one row for each piece."""

    recall_max_pieces = 10_000_000

    def __init__(self, inner: Embedder, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._inner = inner
        self._lines = folder / "pieces.jsonl"
        self._path = folder / "rows.f32"
        self.name, self.dimensions, self.grain = inner.name, inner.dimensions, inner.grain
        self._place: dict[str, int] = {}
        if self._lines.exists():
            lines = self._lines.read_text("utf-8").splitlines()
            self._place = {json.loads(line): place for place, line in enumerate(lines)}
        self._rows = self._read()

    def cut(self, text: str) -> list[str]:
        """As the embedder cuts."""
        return self._inner.cut(text)

    def embed(self, pieces: Sequence[str]) -> Matrix:
        """A row for each piece; what is new is encoded and kept."""
        fresh = [piece for piece in dict.fromkeys(pieces) if piece not in self._place]
        for start in range(0, len(fresh), _BATCH_PIECES):
            self._keep(fresh[start : start + _BATCH_PIECES])
        return np.array(self._rows[[self._place[piece] for piece in pieces]], np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The embedder's own."""
        row: NDArray[np.float32] = self._inner.embed_query(text)
        return row

    def _keep(self, fresh: Sequence[str]) -> None:
        rows = np.asarray(self._inner.embed(fresh), np.float32)
        with self._path.open("ab") as file:
            file.write(rows.tobytes())
        with self._lines.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(piece) + "\n" for piece in fresh)
        self._place |= {piece: place for place, piece in enumerate(fresh, len(self._place))}
        self._rows = self._read()

    def _read(self) -> Matrix:
        if not self._path.exists():
            return np.zeros((0, self.dimensions), np.float32)
        whole: Matrix = np.memmap(self._path, np.float32, "r").reshape(-1, self.dimensions)
        return whole


class Chosen(Embedders):
    """The embedders of a configuration, in place of what settings would choose."""

    def __init__(self, *embedders: Embedder) -> None:
        super().__init__(Settings(where=":memory:", why="measured", embedder="none"))
        self._chosen = embedders

    def ready(self) -> tuple[Embedder, ...]:
        """All of them."""
        return self._chosen

    def missing(self) -> tuple[str, ...]:
        """None."""
        return ()


def chosen(legs: Legs, model: Path | None, cache: Path | None) -> Chosen:
    """What a configuration looks with beside words."""
    made: list[Embedder] = []
    if legs in ("static", "full"):
        made.append(StaticEmbedder())
    if legs in ("sentence", "full"):
        if model is None or cache is None:
            raise SystemExit("the sentence encoder needs --model and --cache")
        made.append(Kept(OnnxEmbedder(model), cache))
    return Chosen(*made)
