"""Rows as the public values that answers show.

Responsible for turning a row into a frozen value. Leaves the order of columns to ``index.rows``.
Invariant: a value shares nothing with the store.
"""

from __future__ import annotations

from typing import cast

from recollect.index.rows import EpisodeRow, LinkRow, VersionRow, unpack_names, unpack_object
from recollect.model.events import NOTED
from recollect.model.values import Episode, EpisodeStatus, Link, Op, Record, Scope, Source, Version
from recollect.model.words import WORDS, reason_of, status_of


def record_of(row: VersionRow) -> Record:
    """The record a version row describes."""
    return Record(
        id=row.id,
        text=row.text,
        kind=row.kind,
        key=row.key,
        about=row.about,
        tags=unpack_names(row.tags),
        scope=Scope(user=row.user, session=row.session, agent=row.agent),
        confidence=row.confidence,
        how_known=row.source_type,
        evidence=unpack_names(row.evidence),
        is_hypothesis=bool(row.is_hypothesis),
        # Hits are active, and recall makes a record of each: no call is needed for them.
        status="active" if row.status == "active" else status_of(row.status, row.reason),
        reason=None if row.reason is None else reason_of(row.reason),
        valid_from=row.valid_from,
        valid_to=row.valid_to,
        expires=row.expires,
        trust=row.trust,
        replaces=row.supersedes,
        replaced_by=row.superseded_by,
        reinforcement_count=row.reinforcement_count,
        last_reinforced_at=row.reinforced_at or _own_instant(row),
        reinforced_hours=row.last_reinforced_at,
        decay_tier=row.decay_tier,
        data=unpack_object(row.data),
        content_id=row.content_id,
        created_at=row.created_at,
        at=row.at,
        seq=row.seq,
        said_at=row.said_at,
        **{name: getattr(row, name) for name in NOTED},
    )


def _own_instant(row: VersionRow) -> str:
    """When a record was last reinforced, if no other change came after that; or added."""
    return row.at if row.what == "reinforced" else row.created_at


def version_of(row: VersionRow) -> Version:
    """One step of a record's history."""
    return Version(
        seq=row.seq,
        at=row.at,
        what=cast(Op, WORDS.get(row.what, row.what)),
        by=row.origin,
        note=row.note,
        record=record_of(row),
    )


def episode_status(row: EpisodeRow) -> EpisodeStatus:
    """The status of an episode, as people read it."""
    if row.hidden is None:
        return "visible"
    return "forgotten" if row.hidden == "forgotten" else "hidden"


def episode_of(row: EpisodeRow) -> Episode:
    """The episode a row describes."""
    return Episode(
        id=row.id,
        text=row.text,
        role=row.role,
        scope=Scope(user=row.user, session=row.session, agent=row.agent),
        said_at=row.said_at,
        at=row.at,
        metadata=unpack_object(row.metadata),
        trust=row.trust,
        status=episode_status(row),
        seq=row.seq,
    )


def source_of(row: EpisodeRow) -> Source:
    """An episode as quoted evidence."""
    return Source(
        id=row.id,
        quote=row.text,
        role=row.role,
        said_at=row.said_at,
        status=episode_status(row),
    )


def link_of(row: LinkRow) -> Link:
    """The link a row describes."""
    return Link(
        source=row.source,
        target=row.target,
        kind=row.kind,
        weight=row.weight,
        trust=row.trust,
        at=row.at,
        seq=row.seq,
        reinforcement_count=row.reinforcement_count,
        name=row.name,
    )
