"""The frozen weights of each configuration, as ``fit`` found them. Not to be edited by hand."""

from __future__ import annotations

from typing import Final, NamedTuple

from benchmarks.recall.relevance import Calibration


class Weights(NamedTuple):
    """One configuration: a weight for each of ``relevance.FEATURES``, and where it is from."""

    weights: tuple[float, ...]
    calibration: Calibration
    provenance: str


WEIGHTS: Final[dict[str, Weights]] = {
    "full": Weights(
        weights=(
            -0.025,
            1.969,
            2.754,
            3.996,
            4.828,
            2.743,
            0.0,
            -1.882,
            0.628,
            -0.287,
            0.309,
            0.254,
            1.503,
            3.484,
            5.252,
            3.21,
            2.945,
        ),
        calibration=Calibration(slope=0.3018, offset=-3.9182),
        provenance="a4ef9fc, dev loss 2.2322 over 794 questions",
    ),
    "static": Weights(
        weights=(
            0.337,
            2.479,
            3.817,
            0.0,
            0.0,
            5.103,
            2.463,
            -1.891,
            0.794,
            -0.326,
            0.367,
            0.294,
            1.204,
            3.965,
            5.404,
            3.16,
            2.75,
        ),
        calibration=Calibration(slope=0.2891, offset=-3.3012),
        provenance="a4ef9fc, dev loss 2.2974 over 789 questions",
    ),
    "text": Weights(
        weights=(
            3.617,
            2.79,
            4.966,
            0.0,
            0.0,
            0.0,
            0.0,
            -2.063,
            0.836,
            -0.26,
            0.295,
            -0.201,
            1.419,
            5.395,
            5.47,
            3.892,
            2.96,
        ),
        calibration=Calibration(slope=0.2977, offset=-2.7176),
        provenance="a4ef9fc, dev loss 2.1576 over 760 questions",
    ),
}
