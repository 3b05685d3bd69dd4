"""The frozen weights of each configuration, as ``python -m benchmarks.recall.fit`` found them.

Responsible for the numbers alone. Leaves their meaning to ``recall.relevance``. Invariant: they
are not edited by hand; any change raises ``recall.presets.RANKING_VERSION``.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from recollect.recall.relevance import Calibration, Configuration


class RankingWeights(NamedTuple):
    """A weight for each of ``relevance.RANKING_SIGNALS``, and how they were fitted."""

    weights: tuple[float, ...]
    calibration: Calibration
    provenance: str


WEIGHTS: Final[dict[Configuration, RankingWeights]] = {
    "full": RankingWeights(
        weights=(
            0.831,  # words
            2.63,  # coverage
            1.968,  # session_words
            3.23,  # sentence
            6.116,  # session_sentence
            2.546,  # chunk
            0.0,  # session_chunk
            -2.522,  # assistant
            0.888,  # assistant_overview
            -0.147,  # asks
            0.16,  # own
            4.539,  # answers
            4.669,  # date
            3.128,  # standing
            2.629,  # preference
            3.0,  # names
        ),
        calibration=Calibration(slope=0.060, lead=0.954, offset=-2.679),
        provenance="dev loss 1.0029 over 786 questions",
    ),
    "sentence": RankingWeights(
        weights=(
            1.096,  # words
            2.691,  # coverage
            2.104,  # session_words
            4.346,  # sentence
            6.07,  # session_sentence
            0.0,  # chunk
            0.0,  # session_chunk
            -2.65,  # assistant
            0.765,  # assistant_overview
            -0.157,  # asks
            0.18,  # own
            4.27,  # answers
            4.469,  # date
            3.087,  # standing
            2.463,  # preference
            3.0,  # names
        ),
        calibration=Calibration(slope=0.086, lead=0.964, offset=-2.831),
        provenance="dev loss 0.9619 over 781 questions",
    ),
    "static": RankingWeights(
        weights=(
            1.233,  # words
            2.834,  # coverage
            2.606,  # session_words
            0.0,  # sentence
            0.0,  # session_sentence
            4.201,  # chunk
            4.258,  # session_chunk
            -2.347,  # assistant
            1.052,  # assistant_overview
            -0.122,  # asks
            0.287,  # own
            5.286,  # answers
            4.912,  # date
            2.996,  # standing
            2.294,  # preference
            3.0,  # names
        ),
        calibration=Calibration(slope=0.116, lead=1.038, offset=-3.023),
        provenance="dev loss 1.0169 over 773 questions",
    ),
    "text": RankingWeights(
        weights=(
            2.109,  # words
            4.215,  # coverage
            3.528,  # session_words
            0.0,  # sentence
            0.0,  # session_sentence
            0.0,  # chunk
            0.0,  # session_chunk
            -2.495,  # assistant
            0.856,  # assistant_overview
            -0.104,  # asks
            0.154,  # own
            5.665,  # answers
            4.386,  # date
            3.99,  # standing
            2.776,  # preference
            3.0,  # names
        ),
        calibration=Calibration(slope=0.198, lead=0.800, offset=-2.810),
        provenance="dev loss 0.9840 over 742 questions",
    ),
}
