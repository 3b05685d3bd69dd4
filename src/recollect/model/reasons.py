"""Reasons: the codes that programs decide by, and the sentence beside each for people.

Responsible for the codes and for all sentences, in one table. Leaves which reason holds to the
fold, to ``recall.pack`` and to ``finding.why_not``. Invariants: every code has a sentence; nothing
is decided by a sentence, so one may be reworded at any time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

# Of a record that was archived or forgotten; the index stores it.
Reason = Literal[
    "superseded", "was_held", "sources_kept", "rejected", "decayed", "merged", "refuted"
]
# Of what a context found and did not pack.
Omission = Literal["budget", "repeat", "source", "contradiction", "replaced", "floor"]

SENTENCES: Final[dict[str, str]] = {
    # A record's own reason.
    "superseded": "superseded",
    "was_held": "it was held before",
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
    "replaced": "states only what {by} has replaced",
    "floor": "less relevant than the preset's floor",
    # In an answer.
    "there": "it is there, at place {place}",
    "there.packed": "it is packed, at place {place}",
    "there.guaranteed": "it is packed, at place {place}, because the preset guarantees it",
    # Not in an answer: hidden from every question.
    "hidden": "it is hidden: {word}",
    "hidden.note": "it is hidden: {word}: {note}",
    "hidden.superseded": "it is hidden: superseded",
    "hidden.superseded.by": "it is hidden: superseded by {by}",
    "hidden.shadowed": "it is hidden: shadowed, because what rested on it was corrected or "
    "forgotten",
    "hidden.shadowed.by": "it is hidden: shadowed, because what rested on it was corrected or "
    "forgotten ({by})",
    "hidden.held": "it is hidden: held, because it would replace something more trusted",
    "hidden.held.unverified": "it is hidden: held, because it comes from an unverified origin",
    "hidden.refuted": "it was refuted: its confidence is 0",
    "hidden.expired": "it is hidden: expired, or not true at the instant asked about ({end})",
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
