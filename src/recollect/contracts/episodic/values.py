"""The values of this API: episodes, rules, facts, and what a store says of itself.

Responsible for their fields and for refusing malformed ones. Leaves deltas to ``deltas`` and
storage to ``store`` and ``facts``. Invariant: a value that exists can be stored and is read back
equal.

They are dataclasses, which pydantic understands where it is installed; nothing here needs it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from recollect.contracts.episodic import scope
from recollect.contracts.episodic.errors import ConsolidationRuleError
from recollect.contracts.episodic.models import Model
from recollect.errors import InvalidInput
from recollect.exchange.importers.stargraph import KEY
from recollect.model import validate
from recollect.model.cron import parse_cron
from recollect.model.instants import instant


@dataclass(frozen=True, kw_only=True)
class Episode(Model):
    """What happened at a node of a graph, for one user, session and agent."""

    id: str
    content: str
    timestamp: datetime
    source_node: str
    agent: str
    user: str
    session: str
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        validate.identifier(self.id)
        validate.text(self.content, "content")
        instant_of(self.timestamp, "timestamp")
        validate.plain(self.source_node, "source_node")
        for part in scope.PARTS:  # one that another API wrote without a scope shows ""
            value = getattr(self, part)
            if value != "":
                scope.name(value, part)
        metadata = validate.data(self.metadata, "metadata")
        if KEY in metadata:
            raise InvalidInput(f"the key {KEY!r} of metadata is used by this API", hint="rename it")
        object.__setattr__(self, "metadata", metadata)  # as it is stored: a tuple is a list


@dataclass(frozen=True, kw_only=True)
class ConsolidationRule(Model):
    """Which episodes become facts, and how often a caller should run it."""

    id: str
    cadence: dict[str, Any]
    when_filter: str
    then_emits: list[str]

    def __post_init__(self) -> None:
        try:
            validate.identifier(self.id, "the id of a rule")
            validate.data(self.cadence, "cadence")
            validate.plain(self.when_filter, "when_filter")
            validate.names(self.then_emits, "then_emits", at_most=16)
            _check_cadence(self.cadence)
        except InvalidInput as error:
            raise ConsolidationRuleError(error.message, hint=error.hint) from error


def _check_cadence(cadence: dict[str, Any]) -> None:
    """Refuses what is neither ``{"every": N}`` nor ``{"cron": "…"}``."""
    (name, value), *more = list(cadence.items()) or [("", None)]
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if name == "cron" and isinstance(value, str) and not more:
        parse_cron(value)
    elif name != "every" or not is_count or more:
        raise InvalidInput(
            f"cadence {validate.shown(cadence)} is not understood",
            hint='write {"every": 10} or {"cron": "0 3 * * *"}',
        )


@dataclass(frozen=True, kw_only=True)
class Fact(Model):
    """A statement that was promoted, and the episodes it rests on (``lineage``)."""

    id: str
    user: str
    agent: str
    payload: dict[str, Any]
    lineage: list[dict[str, Any]]
    confidence: float
    pinned_at: datetime
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class FactPattern(Model):
    """Which facts a query wants; None stands for any."""

    subject: str | None = None
    predicate: str | None = None
    object: str | None = None
    user: str | None = None
    agent: str | None = None


@dataclass(frozen=True, kw_only=True)
class StoreHealth(Model):
    """Whether a store can be used, and how much it holds."""

    ok: bool
    fragment_count: int
    version: int = 1
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class MigrationPlan(Model):
    """Operations to change a store's columns."""

    target_version: int
    operations: list[dict[str, Any]]


def instant_of(moment: object, what: str) -> str:
    """The instant of an aware datetime, as it is stored."""
    if not isinstance(moment, datetime):
        raise InvalidInput(f"{what} must be a datetime, not {validate.shown(moment)}")
    return instant(moment)
