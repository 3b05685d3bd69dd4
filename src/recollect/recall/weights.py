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
            0.876,  # words
            2.891,  # held
            1.949,  # session_words
            3.677,  # sentence
            6.012,  # session_sentence
            2.734,  # chunk
            0.0,  # session_chunk
            -2.503,  # assistant
            0.844,  # assistant_overview
            -0.149,  # asks
            0.16,  # own
            5.051,  # answers
            4.647,  # date
            3.274,  # standing
            2.753,  # preference
        ),
        calibration=Calibration(slope=0.2984, offset=-3.9254),
        provenance="dev loss 1.0861 over 792 questions",
    ),
    "sentence": Weights(
        weights=(
            1.187,  # words
            3.037,  # held
            2.06,  # session_words
            4.773,  # sentence
            5.923,  # session_sentence
            0.0,  # chunk
            0.0,  # session_chunk
            -2.652,  # assistant
            0.798,  # assistant_overview
            -0.117,  # asks
            0.123,  # own
            4.863,  # answers
            4.721,  # date
            3.397,  # standing
            2.842,  # preference
        ),
        calibration=Calibration(slope=0.3104, offset=-3.9239),
        provenance="dev loss 1.0713 over 788 questions",
    ),
    "static": Weights(
        weights=(
            1.259,  # words
            3.369,  # held
            2.308,  # session_words
            0.0,  # sentence
            0.0,  # session_sentence
            4.695,  # chunk
            4.239,  # session_chunk
            -2.338,  # assistant
            1.012,  # assistant_overview
            -0.156,  # asks
            0.271,  # own
            5.722,  # answers
            4.765,  # date
            3.242,  # standing
            2.42,  # preference
        ),
        calibration=Calibration(slope=0.2988, offset=-3.4026),
        provenance="dev loss 1.1339 over 787 questions",
    ),
    "text": Weights(
        weights=(
            2.176,  # words
            4.44,  # held
            3.471,  # session_words
            0.0,  # sentence
            0.0,  # session_sentence
            0.0,  # chunk
            0.0,  # session_chunk
            -2.475,  # assistant
            0.915,  # assistant_overview
            -0.089,  # asks
            0.163,  # own
            5.793,  # answers
            4.405,  # date
            4.033,  # standing
            2.811,  # preference
        ),
        calibration=Calibration(slope=0.3467, offset=-2.6833),
        provenance="dev loss 1.0206 over 747 questions",
    ),
}
