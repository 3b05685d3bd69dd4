"""A pass of a rule in which a proposer is asked.

Responsible for going from page to page, for what a pass may make, and for the report. Leaves
reading the pages to ``memory.rules.passes`` and everything about a suggestion to
``memory.rules.suggestions``. Invariant: the rule moves on only after all that a page led to was
filed, so that whatever stops a pass, the next one leaves nothing out; what it meets again was filed
under the same key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from recollect.errors import Changed, LimitExceeded
from recollect.index.reads import Reads
from recollect.index.rows import EpisodeRow
from recollect.index.values import episode_of
from recollect.lifecycle import commands as c
from recollect.memory.handle.answers import nothing
from recollect.memory.handle.handle import Handle
from recollect.memory.rules.suggestions import Asker, batches, file_proposals
from recollect.model import limits
from recollect.model.values import Derived, Episode, Pass, Rule, Skipped
from recollect.propose.port import Limited, Proposer

_FULL: Final = limits.PASS_MAX_PROPOSALS - limits.SUGGESTIONS_MAX_COUNT


class Asking:
    """One pass, from page to page."""

    page_max_count: Final = limits.PROPOSER_MAX_EPISODES

    def __init__(self, handle: Handle, rule: Rule, proposer: Proposer, *, dry_run: bool) -> None:
        self._handle = handle
        self._rule = rule
        self._proposer = proposer
        self._dry_run = dry_run
        self._stands = self._through = rule.through
        self._stands_at = 0  # the event that noted it
        self._page: list[Episode] = []
        self._looked = 0
        self._made: list[Derived] = []
        self._skipped: list[Skipped] = []
        self.stopped: str | None = None

    def begin(self) -> None:
        """Refuses to ask if nothing could be written, and lets the proposer count from zero."""
        if not self._dry_run:
            self._handle.require_now()
        if isinstance(self._proposer, Limited):
            self._proposer.begin()

    def look(self, reads: Reads, episodes: Sequence[EpisodeRow]) -> None:
        """Reads the episodes of a page; the proposer is asked when this state is not held open."""
        last = reads.last_pass(self._rule.name)
        if self._stands != (0 if last is None else last.through) and not self._dry_run:
            raise Changed(f"the rule {self._rule.name!r} was run meanwhile", hint="run it again")
        self._stands_at = 0 if last is None else last.seq
        self._page = [episode_of(row) for row in episodes]

    def write(self, through: int) -> None:
        """Asks about the page and files what comes of it; then the rule has looked at it."""
        made, skipped = len(self._made), len(self._skipped)
        asker = Asker(self._handle, self._rule, self._stands_at, self._dry_run)
        for batch in batches(self._page):
            if len(self._made) > _FULL:
                self.stopped = f"{len(self._made)} proposals are enough for one pass"
                return
            try:
                filed = file_proposals(asker, self._proposer, batch)
            except LimitExceeded as error:
                self.stopped = str(error)
                return
            self._made += filed.proposals
            self._skipped += filed.skipped
        self._looked += len(self._page)
        self._through = through
        far = through - self._stands >= limits.PASS_NOTE_MAX_EVENTS
        if not self._dry_run and (self._page or far):
            note = c.Pass(
                rule=self._rule.name,
                set_at=self._rule.seq,
                after=self._stands,
                through=through,
                seen=len(self._page),
                made=len(self._made) - made,
                skipped=len(self._skipped) - skipped,
            )
            self._handle.write((note,), nothing)
            self._stands = through

    def report(self) -> Pass:
        """What the pass did."""
        return Pass(
            rule=self._rule.name,
            proposals=tuple(self._made[: limits.LIST_MAX_PASSED]),
            applied=0,
            waiting=len(self._made),
            skipped=tuple(self._skipped[: limits.LIST_MAX_PASSED]),
            seen=self._looked,
            through=self._through,
            dry_run=self._dry_run,
            stopped=self.stopped,
        )
