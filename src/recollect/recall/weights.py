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
            0.907,  # words
            2.749,  # held
            2.033,  # session_words
            3.688,  # sentence
            6.017,  # session_sentence
            2.764,  # chunk
            0.0,  # session_chunk
            -2.389,  # assistant
            0.81,  # assistant_overview
            -0.158,  # asks
            0.17,  # own
            5.419,  # answers
            4.643,  # date
            3.253,  # standing
            2.738,  # preference
        ),
        calibration=Calibration(slope=0.2961, offset=-3.9091),
        provenance="dev loss 1.0896 over 792 questions",
    ),
    "sentence": Weights(
        weights=(
            1.214,  # words
            2.915,  # held
            2.141,  # session_words
            4.793,  # sentence
            5.937,  # session_sentence
            0.0,  # chunk
            0.0,  # session_chunk
            -2.548,  # assistant
            0.773,  # assistant_overview
            -0.126,  # asks
            0.139,  # own
            5.187,  # answers
            4.709,  # date
            3.379,  # standing
            2.831,  # preference
        ),
        calibration=Calibration(slope=0.3087, offset=-3.9145),
        provenance="dev loss 1.0752 over 788 questions",
    ),
    "static": Weights(
        weights=(
            1.291,  # words
            3.222,  # held
            2.405,  # session_words
            0.0,  # sentence
            0.0,  # session_sentence
            4.736,  # chunk
            4.227,  # session_chunk
            -2.212,  # assistant
            0.963,  # assistant_overview
            -0.164,  # asks
            0.28,  # own
            6.074,  # answers
            4.765,  # date
            3.223,  # standing
            2.409,  # preference
        ),
        calibration=Calibration(slope=0.2949, offset=-3.3832),
        provenance="dev loss 1.1382 over 787 questions",
    ),
    "text": Weights(
        weights=(
            2.216,  # words
            4.248,  # held
            3.604,  # session_words
            0.0,  # sentence
            0.0,  # session_sentence
            0.0,  # chunk
            0.0,  # session_chunk
            -2.38,  # assistant
            0.876,  # assistant_overview
            -0.097,  # asks
            0.178,  # own
            6.192,  # answers
            4.402,  # date
            3.996,  # standing
            2.793,  # preference
        ),
        calibration=Calibration(slope=0.3497, offset=-2.7051),
        provenance="dev loss 1.0258 over 747 questions",
    ),
}
