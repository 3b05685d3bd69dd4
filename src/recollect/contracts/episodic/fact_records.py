"""A fact as a record of the memory.

Responsible for both directions of the translation. Leaves reading and writing to ``facts``.
Invariants: what a record has a field for is stored only there; the rest of the payload and the
lineage are in its data under ``episodic``, so that they are erased with the text. Any caller may
write that data, so of a lineage only what the memory's evidence confirms counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final, NamedTuple

import msgspec

from recollect.contracts.episodic.deltas import AddDelta, UpdateDelta, text_of
from recollect.contracts.episodic.values import Fact, FactPattern, instant_of
from recollect.exchange.importers.stargraph import KEY
from recollect.index.filter import And, Column, Compare, Filter, Missing, Node, Not, Path
from recollect.index.reads import Reads
from recollect.index.rows import VersionRow, unpack_names, unpack_object
from recollect.lifecycle.commands import Revise
from recollect.memory.handle.acts import Acts
from recollect.model import validate
from recollect.model.instants import to_datetime
from recollect.model.record_fields import RecordFields
from recollect.model.validate import Json
from recollect.model.values import Record

_ELSEWHERE: Final = "elsewhere"  # its episodes are in another memory
_LINEAGE: Final = Path("data", (KEY, "lineage"))


class New(NamedTuple):
    """A fact to store: its id, its text and the other fields of its record."""

    id: str
    text: str
    fields: RecordFields

    def as_correction(self, acts: Acts, id: str, reason: str) -> Revise:
        """The same as a correction of another fact; as a proposal, if it may not be made."""
        act = acts.revise(
            id,
            self.text,
            reason=reason,
            evidence=self.fields["evidence"],
            data=self.fields["data"],
            expires=msgspec.UNSET,
            files=True,
        )
        return msgspec.structs.replace(act, confidence=self.fields["confidence"])


def new_fact(delta: AddDelta | UpdateDelta, *, is_elsewhere: bool = False) -> New:
    """The fact of a delta; its id is made from what it says and rests on.

    ``is_elsewhere``: its episodes are in another memory.
    """
    payload = dict(delta.fact_payload)
    text = text_of(payload)
    content = payload.pop("content", None)
    sources = list(dict.fromkeys(delta.source_episode_ids))
    lineage: dict[str, Json] = {
        "rule_id": delta.rule_id,
        "source_episode_ids": list(sources),
        "promotion_ts": instant_of(delta.promotion_ts, "promotion_ts"),
    }
    own: dict[str, Json] = {"payload": payload, "lineage": [lineage]}
    if content is not None:
        own["has_content"] = True  # it is the record's text
    if is_elsewhere:
        own[_ELSEWHERE] = True
    said = msgspec.json.encode([text, sorted(sources)])
    subject = payload.get("subject")
    channels = payload.get("channels")
    fields: dict[str, Any] = {
        "confidence": delta.confidence,
        "evidence": sources,
        "data": {KEY: own},
        "how_known": "inferred",
        "tags": [name for name in channels or () if is_name(name)]
        if isinstance(channels, list)
        else [],
    }
    if is_name(subject):
        fields["about"] = subject
    return New(f"fact-{sha256(said).hexdigest()[:32]}", text, fields)  # type: ignore[arg-type]


def is_name(value: object) -> bool:
    """True if a value of a payload can be a tag, or what a record is about."""
    return isinstance(value, str) and validate.is_name(value)


def is_fact(reads: Reads, row: VersionRow) -> bool:
    """True if a record has a lineage, and rests on episodes that it names."""
    return bool(_confirmed(reads, row.id, unpack_object(row.data)))


def _confirmed(reads: Reads, id: str, data: Mapping[str, Json]) -> list[dict[str, Json]]:
    """What a record's lineage says about episodes that it rests on, here or in another memory."""
    own = data.get(KEY)
    told = own.get("lineage") if isinstance(own, dict) else None
    elsewhere = _named_elsewhere(reads, id, own) if isinstance(own, dict) else frozenset()
    found: list[dict[str, Json]] = []
    for one in told if isinstance(told, list) else ():
        named = one.get("source_episode_ids") if isinstance(one, dict) else None
        if isinstance(one, dict) and isinstance(named, list):
            sources: list[Json] = [
                name for name in named if name in elsewhere or _rests_on(reads, id, name)
            ]
            found += [{**one, "source_episode_ids": sources}] if sources else []
    return found


def _rests_on(reads: Reads, id: str, name: Json) -> bool:
    episode = reads.episode(name) if isinstance(name, str) else None
    return episode is not None and reads.has_rested(id, episode)


def _named_elsewhere(reads: Reads, id: str, own: Mapping[str, Json]) -> frozenset[Json]:
    """What a record names as episodes of another memory.

    Only in a memory that had no episode of its own when the record was written: there
    ``apply_delta`` takes any name, so data that claims the same reaches no more.
    """
    if own.get(_ELSEWHERE) is not True:
        return frozenset()
    versions = reads.versions(id)
    if not versions or reads.episodes(versions[0].seq, 1):
        return frozenset()
    return frozenset(name for row in versions for name in unpack_names(row.evidence))


def fact_of(reads: Reads, record: Record) -> Fact | None:
    """A record as a fact, if it is one; parts of its data that another API changed are left out."""
    lineage = _confirmed(reads, record.id, record.data)
    if not lineage:
        return None
    own = record.data.get(KEY)
    own = own if isinstance(own, dict) else {}
    payload = own.get("payload")
    said = {"content": record.text} if own.get("has_content") else {}
    return Fact(
        id=record.id,
        user=record.scope.user or "",
        agent=record.scope.agent or "",
        payload={**(payload if isinstance(payload, dict) else {}), **said},
        lineage=lineage,
        confidence=record.confidence,
        pinned_at=to_datetime(record.at),
    )


def where(pattern: FactPattern) -> str:
    """A filter for the records that may be facts of a pattern."""
    terms: list[Node] = [Not(Missing(_LINEAGE))]
    for name in ("user", "agent"):
        value = getattr(pattern, name)
        if value is not None:
            terms.append(_named(name, value))
    for name in ("subject", "predicate", "object"):
        value = getattr(pattern, name)
        if value is not None:
            path = Path("data", (KEY, "payload", name))
            terms.append(Compare(path, "=", validate.plain(value, name)))
    return str(Filter(And(tuple(terms)) if len(terms) > 1 else terms[0]))


def _named(name: str, value: str) -> Node:
    """A term for a name; "" is that of a fact without one."""
    return Missing(Column(name)) if value == "" else Compare(Column(name), "=", value)
