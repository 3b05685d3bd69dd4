"""What waits for a person: one proposal or waiting record a screen.

Responsible for what a person must see to decide. Leaves deciding to ``acts.review``. Invariant:
the digest in the form is that of what the page shows.
"""

from __future__ import annotations

from typing import Final

import msgspec

from recollect.errors import NotFound
from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.draw.consequences import consequences, heading
from recollect.interfaces.web.draw.words import Piece, Span, compared, span
from recollect.interfaces.web.view import View
from recollect.memory import Memory
from recollect.model.values import INCLUDES, Proposal, Quoted, Record

_LISTED_MAX_COUNT: Final = 20
_QUOTES_MAX_COUNT: Final = 12


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What a proposal rests on, with the quoted words in their place."""

    quoted: Quoted
    span: Span


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One proposal with everything that is needed to decide it."""

    proposal: Proposal
    asks: str
    pieces: tuple[Piece, ...]  # before and after; empty for a new record
    consequences: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    others: tuple[str, ...]  # evidence that is not an episode here
    holder: Record | None  # what else has its key
    position: int


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    case: Case | None
    queue: tuple[Proposal, ...]
    is_cut: bool  # more wait than are listed
    after: int | None  # what was put off before
    later: str | None  # the address of the next one
    is_again: bool  # all were put off: this is the first one again


def page(asked: Asked, memory: Memory) -> View:
    """Reads the one that is asked for, or the one that waits longest."""
    waiting = memory.review.list(limit=_LISTED_MAX_COUNT + 1)
    after, given = asked.maybe("after"), asked.text("id")
    chosen, is_again = _chosen(memory, waiting, given, after)
    main = Main(
        case=None if chosen is None else case(memory, chosen, asked.position),
        queue=tuple(waiting[:_LISTED_MAX_COUNT]),
        is_cut=len(waiting) > _LISTED_MAX_COUNT,
        after=after,
        later=asked.url("review", after=chosen.seq) if chosen and len(waiting) > 1 else None,
        is_again=is_again,
    )
    listed = asked.call(
        asked.python("review.list", limit=_LISTED_MAX_COUNT + 1),
        asked.cli("review", "list", "--json", past=False),
    )
    one = (
        ()
        if chosen is None
        else (
            asked.call(
                asked.python("review.show", chosen.id),
                asked.cli("review", "show", chosen.id, "--json", past=False),
            ),
        )
    )
    title = "Review" if chosen is None else chosen.key or chosen.id
    return View(
        title=title, main=main, answer={"review": waiting, "shown": chosen}, calls=(listed, *one)
    )


def _chosen(
    memory: Memory, waiting: list[Proposal], given: str, after: int | None
) -> tuple[Proposal | None, bool]:
    if given:
        return memory.review.show(given), False
    if not after:
        return (waiting[0] if waiting else None), False
    following = memory.review.list(limit=1, after=after)
    if following:
        return following[0], False
    return (waiting[0] if waiting else None), bool(waiting)


def case(memory: Memory, proposal: Proposal, position: int) -> Case:
    """Everything that is needed to decide one proposal."""
    quoted = {each.episode for each in proposal.quotes}
    return Case(
        proposal=proposal,
        asks=heading(proposal),
        pieces=diff(proposal),
        consequences=consequences(proposal),
        evidence=tuple(_evidence(memory, each) for each in proposal.quotes[:_QUOTES_MAX_COUNT]),
        others=tuple(each for each in proposal.evidence if each not in quoted),
        holder=_holder(memory, proposal),
        position=position,
    )


def diff(proposal: Proposal) -> tuple[Piece, ...]:
    """Before and after, by their words."""
    if proposal.before is None:
        return ()
    if proposal.intent == "delete":
        return (Piece("removed", proposal.before.text),)
    return compared(proposal.before.text, proposal.text or proposal.before.text)


def _evidence(memory: Memory, quoted: Quoted) -> Evidence:
    try:
        text = memory.get(quoted.episode, include=INCLUDES).text
    except NotFound:
        text = quoted.words
    return Evidence(quoted=quoted, span=span(text, quoted.words))


def _holder(memory: Memory, proposal: Proposal) -> Record | None:
    """The record that has the key now, unless it is what the proposal is about."""
    if proposal.key is None:
        return None
    try:
        found = memory.get(key=proposal.key)
    except NotFound:
        return None
    return None if found.id in (proposal.target, proposal.id) else found
