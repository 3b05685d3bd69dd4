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
            -0.048,  # words
            2.036,  # words_best
            2.101,  # session_words
            3.855,  # sentence
            5.239,  # session_sentence
            2.824,  # chunk
            0.0,  # session_chunk
            -1.959,  # assistant
            0.238,  # assistant_told
            0.77,  # assistant_overview
            -0.313,  # asks
            0.323,  # own
            -0.233,  # replies
            0.543,  # before
            1.446,  # after
            3.463,  # answers
            5.169,  # date
            3.06,  # standing
            2.853,  # preference
        ),
        calibration=Calibration(slope=0.2968, offset=-3.9302),
        provenance="dev loss 2.2356 over 792 questions",
    ),
    "sentence": Weights(
        weights=(
            0.817,  # words
            2.199,  # words_best
            2.117,  # session_words
            4.838,  # sentence
            5.221,  # session_sentence
            0.0,  # chunk
            0.0,  # session_chunk
            -2.116,  # assistant
            0.23,  # assistant_told
            0.793,  # assistant_overview
            -0.257,  # asks
            0.304,  # own
            -0.242,  # replies
            0.429,  # before
            1.688,  # after
            3.444,  # answers
            5.246,  # date
            3.205,  # standing
            2.932,  # preference
        ),
        calibration=Calibration(slope=0.3085, offset=-3.9449),
        provenance="dev loss 2.2197 over 788 questions",
    ),
    "static": Weights(
        weights=(
            0.368,  # words
            2.585,  # words_best
            2.81,  # session_words
            0.0,  # sentence
            0.0,  # session_sentence
            4.734,  # chunk
            3.418,  # session_chunk
            -1.874,  # assistant
            0.406,  # assistant_told
            0.79,  # assistant_overview
            -0.33,  # asks
            0.385,  # own
            -0.215,  # replies
            0.39,  # before
            1.365,  # after
            4.193,  # answers
            5.372,  # date
            3.186,  # standing
            2.731,  # preference
        ),
        calibration=Calibration(slope=0.2836, offset=-3.3081),
        provenance="dev loss 2.3071 over 787 questions",
    ),
    "text": Weights(
        weights=(
            3.814,  # words
            2.661,  # words_best
            4.001,  # session_words
            0.0,  # sentence
            0.0,  # session_sentence
            0.0,  # chunk
            0.0,  # session_chunk
            -2.206,  # assistant
            0.5,  # assistant_told
            0.692,  # assistant_overview
            -0.236,  # asks
            0.251,  # own
            -0.284,  # replies
            -0.018,  # before
            1.653,  # after
            5.485,  # answers
            5.475,  # date
            4.023,  # standing
            3.084,  # preference
        ),
        calibration=Calibration(slope=0.2785, offset=-2.4147),
        provenance="dev loss 2.1316 over 747 questions",
    ),
}
