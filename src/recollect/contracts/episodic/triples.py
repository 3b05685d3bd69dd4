"""Triples of a graph as facts.

Responsible for giving each triple an episode, so that its fact has evidence like any other. Leaves
the rest to the two stores. Invariant: each fact is made by ``apply_delta``.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256

import msgspec

from recollect.contracts.episodic.consolidation import deltas_of
from recollect.contracts.episodic.deltas import MemoryDelta
from recollect.contracts.episodic.errors import ConsolidationRuleError
from recollect.contracts.episodic.protocol import FactStore, MemoryStore
from recollect.contracts.episodic.values import ConsolidationRule, Episode, instant_of

Triple = tuple[str, str, str]  # subject, predicate, object


async def promote_triples(
    store: MemoryStore,
    facts: FactStore,
    triples: Iterable[Triple],
    *,
    user: str,
    session: str,
    agent: str,
    rule_id: str,
    timestamp: datetime,
    source_node: str = "graph",
) -> list[MemoryDelta]:
    """Put each triple as an episode and apply the delta that it becomes; returns the deltas.

    A subject and predicate that occur again replace the fact of the triple before. The same call
    again changes nothing. A triple that is later removed from the graph leaves its fact.
    """
    rule = ConsolidationRule(id=rule_id, cadence={"every": 1}, when_filter="", then_emits=[])
    episodes = [
        Episode(
            id=_id(triple, user, session, agent, timestamp),
            content=" ".join(triple),
            timestamp=timestamp,
            source_node=source_node,
            user=user,
            session=session,
            agent=agent,
            metadata=dict(zip(("subject", "predicate", "object"), triple, strict=True)),
        )
        for triple in map(_checked, triples)
    ]
    deltas, skipped = deltas_of(list({one.id: one for one in episodes}.values()), rule, timestamp)
    if skipped:
        raise ConsolidationRuleError(f"a triple cannot be a fact: {skipped[0].reason}")
    for episode in episodes:
        await store.put(episode, user=user, session=session, agent=agent)
    for delta in deltas:
        await facts.apply_delta(delta)
    return deltas


PromoteTriplesToFacts = promote_triples


def _checked(triple: Triple) -> Triple:
    if len(triple) != 3 or not all(isinstance(part, str) and part.strip() for part in triple):
        raise ConsolidationRuleError(f"a triple is three texts, not {repr(triple)[:80]}")
    return triple


def _id(triple: Triple, user: str, session: str, agent: str, timestamp: datetime) -> str:
    """The same triple, said at the same time in the same scope, is the same episode."""
    told = [*triple, user, session, agent, instant_of(timestamp, "timestamp")]
    return f"triple-{sha256(msgspec.json.encode(told)).hexdigest()[:32]}"
