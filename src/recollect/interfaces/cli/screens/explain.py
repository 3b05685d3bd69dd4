"""Why a hit has its rank, and why something is not a hit, drawn in plain characters.

Responsible for the label and the bar of each signal. Leaves the signals to ``recall.relevance``.
Invariants: eighty columns without colour are enough, and bars shrink below them; what counts
against a hit is drawn as clearly as what counts for it.
"""

from __future__ import annotations

import sys
from typing import Final

from recollect.interfaces.cli import plain
from recollect.model.values import Episode, Hit, Recall, Record, WhyNot

WORDS: Final = {
    "words": "words of the question",
    "coverage": "share of the question",
    "session_words": "words across its session",
    "sentence": "closest sentence in meaning",
    "session_sentence": "closest sentence nearby",
    "chunk": "close in meaning",
    "session_chunk": "meaning across its session",
    "assistant": "an assistant said it",
    "assistant_overview": "asked for everything said",
    "asks": "it is a question itself",
    "own": "a first-person statement",
    "answers": "it answers what was asked",
    "date": "date matches the question",
    "standing": "a standing instruction",
    "preference": "a stated preference",
    "names": "its key, tags or subject",
    "question": "it only asks the same",
    "echo": "an echo of what was said",
    "correction": "it corrects the next",
    "earlier": "asked for the value before",
}
_ALONE: Final = {  # without a session
    "session_words": "its words alone",
    "session_sentence": "its closest sentence alone",
    "session_chunk": "its meaning alone",
}
_SHOWN_MIN: Final = 0.005  # less rounds to zero with two digits
_INDENT: Final = "      "
_LABEL_COLUMNS: Final = 30
_BAR_COLUMNS: Final = 32
_BARS: Final = ("█", "░", "│")  # for, against, and the edge between them
_ASCII_BARS: Final = ("#", "-", "|")


def recall(found: Recall, mount_of: plain.MountOf = plain.unnamed, *, full: bool = False) -> None:
    """Hits, best first, each with the share of every signal."""
    most = _most([*found.hits, *found.unverified])

    def below(hit: Hit) -> None:
        alone = hit.episode is None or hit.episode.scope.session is None
        plain.say(*shares(hit.shares, most, alone=alone))
        plain.say(f"{_INDENT}{'score':<{_LABEL_COLUMNS}}{hit.score:>+7.2f}")

    plain.recall(found, below, mount_of, full=full)
    if found.hits:
        plain.say(
            "",
            *map(
                plain.dim,
                plain.wrapped(
                    "The shares add up to the score, which sets the order. Relevance is the "
                    "estimated chance that a hit answers the question."
                ),
            ),
        )


def why_not(why: WhyNot, text: str, instead: list[Record | Episode]) -> None:
    """The reason, the signals, and what is shown instead."""
    plain.say(plain.bold(why.id) + plain.dim(f"  {why.unit}"))
    plain.say(*plain.wrapped(text, "  "))
    answer = "In the answer" if why.reason == "there" else "Not in the answer"
    plain.say(*plain.wrapped(f"{answer}: {why.detail}", "  "))
    if why.relevance is not None and why.score is not None:
        plain.say(f"  {_weighed(why)} {why.relevance:.2f}, of a score of {why.score:.2f}")
        plain.say(*shares(why.shares, _largest(why.shares), alone=why.unit == "record"))
    for other in instead:
        plain.say(*plain.wrapped(plain.one_line(other.text), "      ", f"    {other.id}  "))


def shares(found: dict[str, float], most: float, *, alone: bool = False) -> list[str]:
    """A line for each signal, largest share first; all lines of one answer share a scale."""
    return [
        _line(_label(name, alone=alone), share, most)
        for name, share in sorted(found.items(), key=lambda each: -each[1])
        if abs(share) >= _SHOWN_MIN
    ]


def _line(label: str, share: float, most: float) -> str:
    good, bad, edge = _signs()
    bar = (good if share > 0 else bad) * max(1, round(abs(share) / most * _bar_columns()))
    return f"{_INDENT}{label:<{_LABEL_COLUMNS}}{share:>+7.2f} {edge}{bar}"


def _bar_columns() -> int:
    """The room for bars: as much as fits on a terminal that is narrower than eighty columns."""
    columns = plain.terminal_columns()
    if columns == 0:
        return _BAR_COLUMNS
    room = columns - len(_INDENT) - _LABEL_COLUMNS - len(" +0.00 |")
    return max(1, min(_BAR_COLUMNS, room - 1))


def _label(name: str, *, alone: bool) -> str:
    words = WORDS | _ALONE if alone else WORDS
    return words.get(name, name.replace("_", " "))


def _signs() -> tuple[str, str, str]:
    """Block characters, or ASCII for a terminal that cannot print them."""
    try:
        "".join(_BARS).encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return _ASCII_BARS
    return _BARS


def _most(hits: list[Hit]) -> float:
    return max((_largest(hit.shares) for hit in hits), default=1.0)


def _largest(found: dict[str, float]) -> float:
    return max(map(abs, found.values()), default=1.0) or 1.0


def _weighed(why: WhyNot) -> str:
    return "its relevance would be" if why.reason == "unfound" else "its relevance is"
