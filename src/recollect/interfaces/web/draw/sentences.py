"""What happened, in one sentence for each kind of event.

Responsible for the words. Leaves glyphs, links and markup to the templates. Invariants: every kind
of event has a sentence, and a test asks for it, so that a new kind cannot appear as JSON; a text or
a name of a memory is a piece of its own, so that a template can preset it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal

import msgspec

from recollect.model.values import Change

Role = Literal["plain", "who", "name", "text"]

WHO: Final[Mapping[str, str]] = {
    "person": "A person",
    "agent": "The agent",
    "unverified": "An unverified source",
    "system": "The store",
}


class Said(msgspec.Struct, frozen=True):
    """A piece of a sentence: plain words, who did it, a name, or words of the memory."""

    role: Role
    words: str


Sentence = tuple[Said, ...]


def _about(change: Change) -> Said:
    """What it is about: its key where it has one, else its id."""
    return Said("name", change.key or change.id or "something")


def _did(verb: str) -> Callable[[Change], Sentence]:
    """``The agent revised alice.seat``."""

    def said(change: Change) -> Sentence:
        return _who(change), Said("plain", f" {verb} "), _about(change)

    return said


def _told(words: str) -> Callable[[Change], Sentence]:
    """A sentence without an object."""

    def said(change: Change) -> Sentence:
        return _who(change), Said("plain", f" {words}")

    return said


def _who(change: Change) -> Said:
    if change.author is not None and change.by == "person":
        return Said("who", str(change.author))
    agent = change.scope.agent or change.author if change.by == "agent" else None
    return Said("who", f"Agent {agent}" if agent else WHO.get(change.by, change.by))


SENTENCES: Final[Mapping[str, Callable[[Change], Sentence]]] = {
    "space.opened": _told("opened this memory"),
    "author.named": _told("was named for the first time"),
    "episode.observed": _told("stored a message"),
    "episode.forgotten": _did("forgot what was said:"),
    "episode.restored": _did("brought back what was said:"),
    "record.added": _did("remembered"),
    "record.revised": _did("revised"),
    "record.superseded": _did("replaced"),
    "record.reinforced": _did("restated or used"),
    "record.forgotten": _did("forgot"),
    "record.archived": _did("archived"),
    "record.restored": _did("restored"),
    "record.tagged": _did("changed the tags of"),
    "record.vouched": _did("vouched for"),
    "record.reviewed": _did("reviewed"),
    "link.added": _did("linked"),
    "link.removed": _did("removed a link of"),
    "frame.set": _did("set the preset"),
    "frame.dropped": _did("dropped the preset"),
    "document.set": _did("set"),
    "document.dropped": _did("dropped"),
    "rule.passed": _did("ran the rule"),
    "session.opened": _did("opened the session"),
    "session.closed": _did("closed the session"),
    "proposal.made": _told("proposed a change"),
    "proposal.approved": _told("approved a proposal"),
    "proposal.rejected": _told("rejected a proposal"),
    "proposal.applied": _told("applied a proposal"),
    "proposal.withdrawn": _told("withdrew a proposal"),
    "branch.opened": _told("opened a branch"),
    "branch.closed": _told("closed a branch"),
    "lineage.retracted": _told("took back something with all that was derived from it"),
    "context.handed": _told("asked for a context"),
    "events.erased": _told("erased events for good"),
    "ledger.tail_cut": _told("cut off an append that a crash had interrupted"),
    "ledger.sealed": _told("sealed the ledger up to here"),
    "ledger.loss_accepted": _told("accepted that events are missing"),
}


def sentence(change: Change) -> Sentence:
    """What happened, in pieces."""
    if change.kind is None:
        return (Said("plain", "This event was erased. Its place in the chain remains."),)
    return SENTENCES[change.kind](change)


def plain(change: Change) -> str:
    """The same as one text."""
    return "".join(piece.words for piece in sentence(change))
