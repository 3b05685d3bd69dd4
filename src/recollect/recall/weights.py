"""The frozen weights of each configuration, as ``python -m benchmarks.recall.fit`` found them.

Responsible for nothing but numbers. Leaves their meaning to ``recall.relevance``. Invariant: they
are not edited by hand; with any change ``recall.frames.RANKING_VERSION`` is raised.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from recollect.recall.relevance import Calibration, Configuration


class Weights(NamedTuple):
    """One configuration: a weight for each of ``relevance.SIGNALS``, and where it is from."""

    weights: tuple[float, ...]
    calibration: Calibration
    provenance: str


WEIGHTS: Final[dict[Configuration, Weights]] = {
    "full": Weights(
        weights=(
            -0.082,
            1.977,
            2.795,
            3.969,
            4.854,
            2.697,
            0.0,
            -2.165,
            0.152,
            0.915,
            -0.275,
            0.301,
            -0.215,
            0.313,
            1.504,
            3.462,
            5.288,
            3.166,
            2.918,
        ),
        calibration=Calibration(slope=0.2975, offset=-3.8678),
        provenance="4be5b3b and later, dev loss 2.2280 over 794 questions",
    ),
    "sentence": Weights(
        weights=(
            -0.082,
            1.977,
            2.795,
            3.969,
            4.854,
            2.697,
            0.0,
            -2.165,
            0.152,
            0.915,
            -0.275,
            0.301,
            -0.215,
            0.313,
            1.504,
            3.462,
            5.288,
            3.166,
            2.918,
        ),
        calibration=Calibration(slope=0.2975, offset=-3.8678),
        provenance="4be5b3b and later, dev loss 2.2280 over 794 questions",
    ),
    "static": Weights(
        weights=(
            0.287,
            2.481,
            3.862,
            0.0,
            0.0,
            5.043,
            2.492,
            -2.213,
            0.275,
            1.046,
            -0.312,
            0.356,
            -0.218,
            0.362,
            1.213,
            3.933,
            5.419,
            3.118,
            2.73,
        ),
        calibration=Calibration(slope=0.287, offset=-3.2738),
        provenance="4be5b3b and later, dev loss 2.2925 over 789 questions",
    ),
    "text": Weights(
        weights=(
            3.569,
            2.775,
            5.01,
            0.0,
            0.0,
            0.0,
            0.0,
            -2.332,
            0.386,
            0.835,
            -0.248,
            0.276,
            -0.3,
            -0.138,
            1.411,
            5.417,
            5.431,
            3.849,
            2.934,
        ),
        calibration=Calibration(slope=0.2909, offset=-2.6684),
        provenance="4be5b3b and later, dev loss 2.1525 over 760 questions",
    ),
}
