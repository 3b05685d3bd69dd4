"""What all encoders do with their rows.

Responsible for unit length. Invariant: a row of zeros stays one, so that it is near to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from recollect.embed.port import Matrix


def unit(rows: Matrix) -> Matrix:
    """The same rows with length one."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    made: Matrix = (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return made
