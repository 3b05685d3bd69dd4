"""Why a hit stands where it stands, and why something is no hit, drawn in plain characters.

Responsible for the words that people read for each signal and for its bar. Leaves the signals to
``recall.relevance``. Invariants: eighty columns and no colour are enough; what counts against a
hit is drawn as clearly as what counts for it.
"""

from __future__ import annotations

import sys
from typing import Final

from recollect.interfaces.cli import plain
from recollect.model.values import Episode, Hit, Recall, Record, WhyNot

WORDS: Final = {
    "words": "the question's words in it",
    "coverage": "its part of the question",
    "session_words": "words all over its session",
    "sentence": "closest sentence in meaning",
    "session_sentence": "closest sentence nearby",
    "chunk": "close in meaning",
    "session_chunk": "meaning all over its session",
    "assistant": "an assistant said it",
    "assistant_overview": "asked for all that was said",
    "asks": "it is a question itself",
    "own": "somebody's own statement",
    "answers": "it answers what was asked",
    "date": "said when the question says",
    "standing": "an instruction that stands",
    "preference": "a stated preference",
}
_ALONE: Final = {  # what has no session stands for itself
    "session_words": "its words, standing alone",
    "session_sentence": "its sentence, standing alone",
    "session_chunk": "its meaning, standing alone",
}
_SHOWN_MIN: Final = 0.005  # less is nothing in two digits
_INDENT: Final = "      "
_LABEL_COLUMNS: Final = 30
_BAR_COLUMNS: Final = 32
_BARS: Final = ("█", "░", "│")  # for, against, and where they begin
_ASCII_BARS: Final = ("#", "-", "|")


def recall(found: Recall) -> None:
    """Hits, best first, each with what every signal gave."""
    most = _most([*found.hits, *found.unverified])

    def below(hit: Hit) -> None:
        alone = hit.episode is None or hit.episode.scope.session is None
        plain.say(*shares(hit.shares, most, alone=alone))
        plain.say(f"{_INDENT}{'score':<{_LABEL_COLUMNS}}{hit.score:>+7.2f}")

    plain.recall(found, below)
    if found.hits:
        plain.say("", plain.dim("The shares sum to the score, which decides the order; relevance"))
        plain.say(plain.dim("says how likely it is that this is what was asked for."))
    if found.degraded:
        plain.say(*plain.wrapped(found.degraded))


def why_not(why: WhyNot, text: str, instead: list[Record | Episode]) -> None:
    """The reason, what was weighed, and what stands in its place."""
    plain.say(plain.bold(why.id) + plain.dim(f"  {why.unit}"))
    plain.say(*plain.wrapped(text, "  "))
    answer = "In the answer" if why.reason == "there" else "Not in the answer"
    plain.say(*plain.wrapped(f"{answer}: {_sentence(why)}", "  "))
    if why.relevance is not None and why.score is not None:
        plain.say(f"  {_weighed(why)} {why.relevance:.2f}, of a score of {why.score:.2f}")
        plain.say(*shares(why.shares, _largest(why.shares), alone=why.unit == "record"))
    for other in instead:
        plain.say(*plain.wrapped(plain.one_line(other.text), "      ", f"    {other.id}  "))


def shares(found: dict[str, float], most: float, *, alone: bool = False) -> list[str]:
    """A line for each signal, what counts most first; all lines of one answer share a scale."""
    return [
        _line(_label(name, alone=alone), share, most)
        for name, share in sorted(found.items(), key=lambda each: -each[1])
        if abs(share) >= _SHOWN_MIN
    ]


def _line(label: str, share: float, most: float) -> str:
    good, bad, edge = _signs()
    bar = (good if share > 0 else bad) * max(1, round(abs(share) / most * _BAR_COLUMNS))
    return f"{_INDENT}{label:<{_LABEL_COLUMNS}}{share:>+7.2f} {edge}{bar}"


def _label(name: str, *, alone: bool) -> str:
    words = WORDS | _ALONE if alone else WORDS
    return words.get(name, name.replace("_", " "))


def _signs() -> tuple[str, str, str]:
    """Blocks, or what a terminal without them can write."""
    try:
        "".join(_BARS).encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return _ASCII_BARS
    return _BARS


def _most(hits: list[Hit]) -> float:
    return max((_largest(hit.shares) for hit in hits), default=1.0)


def _largest(found: dict[str, float]) -> float:
    return max(map(abs, found.values()), default=1.0) or 1.0


def _sentence(why: WhyNot) -> str:
    """The reason, without the ids that are listed below it."""
    return why.detail.partition("; before it ")[0]


def _weighed(why: WhyNot) -> str:
    return "it would have the relevance" if why.reason == "unfound" else "it has the relevance"
