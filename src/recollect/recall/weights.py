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
            0.847,  # words
            2.676,  # held
            1.954,  # session_words
            3.308,  # sentence
            6.108,  # session_sentence
            2.557,  # chunk
            0.0,  # session_chunk
            -2.542,  # assistant
            0.905,  # assistant_overview
            -0.15,  # asks
            0.156,  # own
            4.606,  # answers
            4.501,  # date
            3.147,  # standing
            2.647,  # preference
        ),
        calibration=Calibration(slope=0.3063, offset=-3.906),
        provenance="dev loss 1.0133 over 786 questions",
    ),
    "sentence": Weights(
        weights=(
            1.13,  # words
            2.665,  # held
            2.131,  # session_words
            4.36,  # sentence
            6.099,  # session_sentence
            0.0,  # chunk
            0.0,  # session_chunk
            -2.693,  # assistant
            0.825,  # assistant_overview
            -0.161,  # asks
            0.147,  # own
            4.34,  # answers
            4.32,  # date
            3.236,  # standing
            2.789,  # preference
        ),
        calibration=Calibration(slope=0.3251, offset=-3.9623),
        provenance="dev loss 0.9758 over 782 questions",
    ),
    "static": Weights(
        weights=(
            1.26,  # words
            2.983,  # held
            2.447,  # session_words
            0.0,  # sentence
            0.0,  # session_sentence
            4.204,  # chunk
            4.321,  # session_chunk
            -2.395,  # assistant
            1.079,  # assistant_overview
            -0.136,  # asks
            0.271,  # own
            5.32,  # answers
            4.807,  # date
            3.017,  # standing
            2.308,  # preference
        ),
        calibration=Calibration(slope=0.3028, offset=-3.3505),
        provenance="dev loss 1.0324 over 774 questions",
    ),
    "text": Weights(
        weights=(
            2.109,  # words
            4.215,  # held
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
        ),
        calibration=Calibration(slope=0.3529, offset=-2.6725),
        provenance="dev loss 0.9840 over 742 questions",
    ),
}
