"""Hand edits on pages become proposals, for a program that watches a folder.

Responsible for asking a person once about each hand edit. Leaves finding edits to
``memory.pages.sync`` and deciding them to ``memory.review``. Invariants: a proposal has no
trust, so nothing that a file says is believed before a person has approved it; the same edit is
proposed once, also after it was rejected.
"""

from __future__ import annotations

from typing import Final

from msgspec import structs

from recollect.errors import RecollectError
from recollect.index.proposals import ProposalRow
from recollect.index.reads import Reads
from recollect.index.rows import pack_object
from recollect.index.selections import proposals_about
from recollect.lifecycle.commands import Propose
from recollect.memory.handle import answers
from recollect.memory.handle.handle import Handle
from recollect.memory.pages.sync import FilePlan
from recollect.memory.review import proposal_act
from recollect.model.events import Intent
from recollect.model.values import PageChange, Refusal, Suggestion

_INTENTS: Final[dict[str, Intent]] = {"text": "update", "struck": "delete", "added": "add"}
_WAITING_MAX_COUNT: Final = 1_000
_NEEDS_SYNC: Final = "only `recollect pages sync` can take this over"


class Proposing:
    """Asks about the changes of a folder."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle.narrowed(structs.replace(handle.actor, trust="unverified"))
        self.waiting: list[PageChange] = []
        self.left: list[Refusal] = []

    def run(self, files: list[FilePlan]) -> None:
        """Proposes what was not proposed before."""
        for file in files:
            for change in file.changes:
                if change.state == "ready":
                    self._ask(file, change)

    def _ask(self, file: FilePlan, change: PageChange) -> None:
        intent = _INTENTS.get(change.what)
        if intent is None or change.said_at is not None:  # no proposal says when
            self.left.append(Refusal(change=change, reason=_NEEDS_SYNC))
            return
        try:
            wanted = Suggestion(
                intent=intent,
                quotes=(),
                target=change.id,
                text=None if intent == "delete" else change.after,
                about=file.about if intent == "add" else None,
                reason=f"edited on {file.name}",
            )
            act = proposal_act(self._handle.acts, wanted, ())
            if change.what == "struck":  # as a sync does it: the entry stays, struck through
                act = structs.replace(act, why="rejected")
            earlier = self._earlier(act)
            if earlier is not None and earlier.outcome == "rejected":
                said = f"it was rejected ({earlier.id}); {_NEEDS_SYNC}"
                self.left.append(Refusal(change=change, reason=said))
                return
            if earlier is None or earlier.outcome is not None:
                self._handle.write((act,), answers.nothing)
        except RecollectError as error:
            self.left.append(Refusal(change=change, reason=str(error)))
            return
        self.waiting.append(structs.replace(change, state="waits"))

    def _earlier(self, act: Propose) -> ProposalRow | None:
        """The last proposal that asked for exactly this."""
        with self._handle.reading() as reads:
            ids = _about_record(reads, act.target) if act.target else self._additions(reads, act)
            rows = [row for row in map(reads.proposal, ids) if row is not None]
        how = pack_object({} if act.why is None else {"why": act.why})
        wanted = (act.intent, act.target, act.text, act.about, how)
        same = [
            row
            for row in rows
            if (row.intent, row.target, row.text, row.about, row.changes) == wanted
        ]
        return max(same, key=lambda row: row.seq, default=None)

    def _additions(self, reads: Reads, act: Propose) -> list[str]:
        user = self._handle.actor.user
        if act.about is not None:
            return proposals_about(reads, act.about, user)
        waiting = reads.waiting(user, 0, _WAITING_MAX_COUNT)
        return [id for unit, id, _ in waiting if unit == "proposal"]


def _about_record(reads: Reads, id: str) -> list[str]:
    """Every proposal about a record, in any state."""
    found = (
        reads.db.one("proposal_of_event", {"seq": seq}) for seq in reads.proposal_events(id, None)
    )
    return [str(row[0]) for row in found if row is not None]
