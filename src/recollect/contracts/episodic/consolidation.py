"""From a rule to deltas.

Responsible for running a rule over the episodes of a memory. Leaves its filter to ``where`` and
what an episode asks for to ``lifecycle.proposals.intents``. Invariants: nothing is written; a
repeated subject and predicate replaces only what the same user's episodes brought in.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, NamedTuple

from recollect.contracts.episodic.deltas import (
    AddDelta,
    DeleteDelta,
    MemoryDelta,
    NoopDelta,
    UpdateDelta,
)
from recollect.contracts.episodic.errors import ConsolidationRuleError
from recollect.contracts.episodic.reads import Shown
from recollect.contracts.episodic.table import episode_of
from recollect.contracts.episodic.values import ConsolidationRule, Episode
from recollect.contracts.episodic.where import condition_of
from recollect.lifecycle.proposals.intents import Heard, Intended, Unfit, intended
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from recollect.model.instants import to_datetime

_TRIPLE: Final = ("subject", "predicate", "object")
_ALONE: Final = ("intent", *_TRIPLE)
_HONOURED: Final = (*_ALONE, "replaces")
_REPLACING: Final = ("update", "delete")
_CONFIDENCE: Final = 1.0  # that the episode says so; how far it is believed is a matter of trust


class Skipped(NamedTuple):
    """An episode that a pass left out, and why."""

    episode_id: str
    reason: str


def consolidated(
    memory: Memory, rule: ConsolidationRule
) -> tuple[list[MemoryDelta], tuple[Skipped, ...]]:
    """The deltas of a rule over all episodes that match, oldest first, and what was left out."""
    handle = handle_of(memory)
    now = handle.now()
    where = condition_of(rule.when_filter, now)
    rows = Shown(handle).oldest_first(None if where is None else where.narrowed)
    episodes = [episode_of(row) for row in rows if where is None or where.matches(row)]
    return deltas_of(episodes, rule, to_datetime(now))


def deltas_of(
    episodes: list[Episode], rule: ConsolidationRule, now: datetime
) -> tuple[list[MemoryDelta], tuple[Skipped, ...]]:
    """The deltas of these episodes, in their order."""
    by_id = {one.id: one for one in episodes}
    heard = (Heard(one.id, one.content, _honoured(one), one.user) for one in episodes)
    deltas: list[MemoryDelta] = []
    skipped: list[Skipped] = []
    for found in intended(heard, {}):
        if isinstance(found, Unfit):
            skipped.append(Skipped(found.episode, found.reason))
            continue
        try:
            deltas.append(_delta(found, by_id[found.episode], rule, now))
        except ConsolidationRuleError as error:  # such as a delete that names nothing
            skipped.append(Skipped(found.episode, error.message))
    return deltas, tuple(skipped)


def _honoured(episode: Episode) -> dict[str, Any]:
    """The keys of the metadata that mean something; ``replaces`` does only with an intent."""
    named = _HONOURED if episode.metadata.get("intent") in _REPLACING else _ALONE
    return {name: episode.metadata[name] for name in named if name in episode.metadata}


def _delta(
    found: Intended, episode: Episode, rule: ConsolidationRule, now: datetime
) -> MemoryDelta:
    provenance: dict[str, Any] = {
        "source_episode_ids": [episode.id],
        "promotion_ts": now,
        "rule_id": rule.id,
        "confidence": _CONFIDENCE,
    }
    replaces = list(found.replaces)
    if found.intent == "noop":
        return NoopDelta(**provenance)
    if found.intent == "delete":
        return DeleteDelta(replaces=replaces, **provenance)
    payload = fact_payload(episode, rule)
    if found.intent == "update" and replaces:
        return UpdateDelta(replaces=replaces, fact_payload=payload, **provenance)
    return AddDelta(fact_payload=payload, **provenance)


def fact_payload(episode: Episode, rule: ConsolidationRule) -> dict[str, Any]:
    """What a fact says: the episode's content, its triple, and the channels of the rule."""
    triple = {
        name: episode.metadata[name] for name in _TRIPLE if episode.metadata.get(name) is not None
    }
    return {
        "id": episode.id,
        "user": episode.user,
        "agent": episode.agent,
        "content": episode.content,
        "source_node": episode.source_node,
        **triple,
        **({"channels": list(rule.then_emits)} if rule.then_emits else {}),
    }
