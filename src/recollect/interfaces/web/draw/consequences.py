"""What approving a proposal would do, in sentences.

Responsible for the words. Leaves doing it to the memory. Invariant: a sentence says only what the
proposal itself shows to be true.
"""

from __future__ import annotations

from recollect.model.counts import counted
from recollect.model.values import Proposal

ASKS = {
    "add": "wants to add",
    "update": "wants to change",
    "delete": "wants to forget",
    "noop": "found nothing to change in",
}


def heading(proposal: Proposal) -> str:
    """What is asked, after who asks."""
    if proposal.unit == "record":
        return (
            "said something that waits for review" if proposal.before is None else "would replace"
        )
    return "wants to refute" if proposal.refutes else ASKS[proposal.intent]


def consequences(proposal: Proposal) -> tuple[str, ...]:
    """What happens if it is approved."""
    if proposal.stale:
        return (
            "The record has changed since this was proposed, so it can only be rejected or "
            "proposed again.",
        )
    said = [*_what(proposal), *_around(proposal)]
    if proposal.trust != "person" and proposal.intent != "delete":
        said.append("It has a person's trust then: it is recalled, and it may enter a prompt.")
    return tuple(said)


def _what(proposal: Proposal) -> list[str]:
    if proposal.refutes:
        return [
            "The record does not hold: it is archived and not recalled any more. Its page shows it "
            "struck through, and it can be restored."
        ]
    if proposal.intent == "delete":
        return ["The record is forgotten: it is not recalled any more, and can be restored."]
    if proposal.intent == "noop":
        return ["Nothing changes; the proposal is closed."]
    if proposal.before is None:
        key = f" and holds the key {proposal.key}" if proposal.key else ""
        return [f"A new record is there{key}. Nothing is replaced."]
    if proposal.unit == "record":
        return [
            "It takes the key from the record that holds it now, which is replaced: it is not "
            "recalled any more, and its history stays."
        ]
    return ["The record says the new words from then on. The old ones stay in its history."]


def _around(proposal: Proposal) -> list[str]:
    said = []
    if proposal.before is not None and proposal.before.evidence and not proposal.refutes:
        said.append(
            f"What was said only for the old words may be hidden: it rests on "
            f"{counted(len(proposal.before.evidence), 'source')}."
        )
    if proposal.resting:
        said.append(
            f"{counted(len(proposal.resting), 'record')} derived from the old words "
            f"{'is' if len(proposal.resting) == 1 else 'are'} not changed by this; look at "
            f"{'it' if len(proposal.resting) == 1 else 'them'} below."
        )
    return said
