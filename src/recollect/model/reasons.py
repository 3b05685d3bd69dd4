"""Reasons: the codes that programs decide by, and the sentence beside each for people.

Responsible for the codes and for all sentences, in one table. Leaves which reason holds to the
fold, to ``recall.pack`` and to ``finding.why_not``. Invariants: every code has a sentence; nothing
is decided by a sentence, so one may be reworded at any time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

# Of a record that was archived or forgotten, as events and rows have it; people read the words of
# ``model.words``.
Reason = Literal[
    "superseded", "was_held", "sources_kept", "rejected", "decayed", "merged", "refuted"
]
# Of what a context found and did not pack.
Omission = Literal["budget", "repeat", "source", "contradiction", "replaced", "floor"]

SENTENCES: Final[dict[str, str]] = {
    # A record's own reason.
    "replaced": "replaced",
    "was_waiting": "it waited for a review before",
    "sources_kept": "its sources were kept",
    "rejected": "rejected",
    "decayed": "faded, because it was not used",
    "merged": "part of another record now",
    "refuted": "it did not hold",
    # Left out of a context.
    "budget": "over the token budget",
    "repeat": "says the same as {by}",
    "source": "is evidence for {by}",
    "contradiction": "contradicts {by}, which is packed and lists it",
    "stale": "states only what {by} has replaced",
    "floor": "less relevant than the preset's floor",
    # In an answer.
    "there": "it is there, at place {place}",
    "there.packed": "it is packed, at place {place}",
    "there.guaranteed": "it is packed, at place {place}, because the preset guarantees it",
    # Not in an answer: left out of every answer.
    "out": "it is {word}",
    "out.note": "it is {word}: {note}",
    "out.replaced": "it was replaced",
    "out.replaced.by": "it was replaced by {by}",
    "out.hidden": "it is hidden, because what rested on it was corrected or forgotten",
    "out.hidden.by": "it is hidden, because what rested on it was corrected or forgotten ({by})",
    "out.waiting": "it waits for a review, because it would replace something more trusted",
    "out.waiting.unverified": "it waits for a review, because its source is unverified",
    "out.refuted": "it was refuted: its confidence is 0",
    "out.expired": "it has expired, or was not true at the instant asked about ({end})",
    # Not in an answer: not wanted by this question.
    "transient": "it only asks, or orders something that is done once",
    "transient.name": "it is only the name of what it is about",
    "filtered": "the filter leaves it out",
    "filtered.unit": "its unit is {mine}, not {wanted}",
    # Not in an answer: not found.
    "unfound": "it shares none of the words asked for",
    "unfound.shares": "it shares {words}, but {depth} others match them better",
    "unfound.far": ", and is not among the {depth} nearest in meaning",
    "unfound.empty": "the query contains no word to search for",
    # Not in an answer: found.
    "quoted": "it is evidence for {by} and quoted there, as a source",
    "weak": "its relevance is {relevance:.2f}, and {wanted:g} was asked for",
    "weak.unsaid": "its relevance is {relevance:.2f}, too low for a text without "
    "any word of the query",
    "rank": "it comes at place {place}, and {k} were asked for",
    "unpacked": "it was found and not packed: {why}",
    "unpacked.floor": "it was found and not packed: {why} of {floor:g}",
}


def sentence(name: str, **values: object) -> str:
    """The sentence of a code, or of a case of one, with these values in it."""
    return SENTENCES[name].format(**values)


def named(ids: Iterable[str]) -> str:
    """Several ids in a sentence."""
    return ", ".join(ids)
