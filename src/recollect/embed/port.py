"""The embedder port: the interface of an encoder.

Responsible for the contract; each sentence below has a test of the same name. Leaves encoding to
the modules beside this one. Invariant: importing this loads no encoder and no numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:  # numpy is loaded only if there are vectors
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]  # one vector
    Matrix = NDArray[np.float32]  # one vector on each row


class Embedder(Protocol):
    """One way to turn a text into vectors.

    - Rows have unit length; a piece without a meaning to the encoder is a row of zeros.
    - A piece has the same row whatever else is encoded with it.
    - A question may be encoded in another way than a piece.
    - Another model, cut, number of dimensions or way to encode has another name.
    """

    @property
    def name(self) -> str:
        """The name stored with every vector: the model, how it is run, the cut, the dimensions."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        ...

    @property
    def grain(self) -> Literal["sentence", "chunk"]:
        """What a row stands for: a sentence or a chunk."""
        ...

    @property
    def recall_max_pieces(self) -> int:
        """The most missing pieces that a recall encodes itself."""
        ...

    def cut(self, text: str) -> list[str]:
        """The pieces of a text, in order; none if it is blank."""
        ...

    def embed(self, pieces: Sequence[str]) -> Matrix:
        """A row for each piece."""
        ...

    def embed_query(self, text: str) -> Vector:
        """One row for a question."""
        ...
