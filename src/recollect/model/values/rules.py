"""The values of documents and of rules: one as it is set, and what a pass of it did.

Responsible for their shape. Leaves reading and writing to ``memory.documents`` and running a rule
to ``memory.rules.passes``. Invariants: ``data`` is a copy; the numbers of a pass count everything
it looked at, also where its lists are cut.
"""

from __future__ import annotations

from typing import Literal

from recollect.model.events import Intent, Trust
from recollect.model.validate import Json
from recollect.model.values.records import Value


class Document(Value, frozen=True, kw_only=True):
    """Rules, settings or a policy of a space: JSON under a type and a name.

    ``trust`` is that of the writer, ``seq`` the event that set it and ``at`` its instant.
    """

    type: str
    name: str
    data: dict[str, Json]
    trust: Trust
    at: str
    seq: int

    @property
    def id(self) -> str:
        """What events and ``expect`` know it by."""
        return f"{self.type}/{self.name}"


class Rule(Value, frozen=True, kw_only=True):
    """How episodes become records: which ones, how often, and with which tags.

    ``filter`` is over episodes; all of them if it is None. ``every`` counts new episodes and
    ``cron`` names times; with neither, the rule runs when it is called. ``channels`` are tags of
    what it makes. With ``propose`` a proposer says what the episodes change. ``through`` is the
    last event that it has looked at, and ``passed_at`` when.
    """

    name: str
    filter: str | None
    every: int | None
    cron: str | None
    channels: tuple[str, ...]
    propose: bool
    trust: Trust
    at: str
    seq: int
    through: int = 0
    passed_at: str | None = None


class Derived(Value, frozen=True, kw_only=True):
    """What one episode asked for, and what came of it.

    ``id`` is the record that was added, changed or forgotten, or the proposal that waits; None if
    nothing had to change, or in a dry run.
    """

    episode: str
    intent: Intent
    text: str
    key: str | None
    outcome: Literal["applied", "waiting", "unchanged"]
    id: str | None


class Skipped(Value, frozen=True, kw_only=True):
    """An episode that could not be used, and why."""

    episode: str
    reason: str


class Pass(Value, frozen=True, kw_only=True):
    """What a pass of a rule did; ``proposals`` and ``skipped`` name the first 1,000 of each.

    ``seen`` counts the episodes that the filter matched, ``applied`` and ``waiting`` what was
    changed at once and what waits for a person. ``through`` is the last event that was looked at.
    ``stopped`` says why a pass with a proposer ended early; the next one goes on there.
    """

    rule: str
    proposals: tuple[Derived, ...]
    applied: int
    waiting: int
    skipped: tuple[Skipped, ...]
    seen: int
    through: int
    dry_run: bool
    stopped: str | None = None
