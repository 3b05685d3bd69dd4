"""What an event makes of a version of a record: its status, reason, trust and successor.

Responsible for these rules alone, as functions from version to version. Leaves which origin may
cause an event to ``model.rules``, and rows, tags, texts and shadows to ``fold.records``. Invariant:
this is the only place that has them. The fold applies them to what is there; a retraction applies
them to what is left without a closure (``lifecycle.retraction.remainder``).

A function whose event can be without effect returns None then.
"""

from __future__ import annotations

from typing import Final, cast

from recollect.index.rows import VersionRow, is_held
from recollect.model.events import Archival, RecordReviewed, Sources, Trust, Verdict
from recollect.model.rules import lowest

LIVE: Final = ("inbox", "active", "held")  # what a review or an archiving can be about


def superseded(row: VersionRow, by: str) -> VersionRow:
    return row._replace(status="archived", reason="superseded", superseded_by=by)


def forgotten(row: VersionRow, sources: Sources) -> VersionRow:
    if row.status == "held" or row.reason == "rejected":
        return row._replace(status="forgotten", reason="was_held")
    return row._replace(status="forgotten", reason="sources_kept" if sources == "keep" else None)


def archived(row: VersionRow, why: Archival) -> VersionRow | None:
    if row.status not in LIVE or (is_held(row) and why != "rejected"):
        return None
    is_refuted = why == "rejected" and not is_held(row)
    return row._replace(status="archived", reason="refuted" if is_refuted else why)


def restored(row: VersionRow) -> VersionRow:
    return row._replace(
        status="held" if is_held(row) else "active", reason=None, superseded_by=None
    )


def vouched(row: VersionRow) -> VersionRow | None:
    if row.status not in ("inbox", "active") or row.trust == "unverified":
        return None
    return row._replace(trust="person")


def approved(row: VersionRow, trust: Trust) -> VersionRow | None:
    if row.status not in LIVE or trust == "unverified":
        return None
    return row._replace(status="active" if row.status == "held" else row.status, trust=trust)


def rejected(row: VersionRow) -> VersionRow | None:
    if row.status not in LIVE:
        return None
    return row._replace(status="archived", reason="rejected")


def reopened(row: VersionRow, trust: Trust) -> VersionRow:
    trust = lowest([row.trust, trust])
    return row._replace(status="held", trust=trust, reason=None, superseded_by=None)


def revised(row: VersionRow, trust: Trust) -> VersionRow:
    """The version with another trust; if part of its evidence is unverified, it is held."""
    is_fallen = trust == "unverified" and row.status in ("active", "inbox")
    return row._replace(trust=trust, status="held" if is_fallen else row.status)


def note_of(body: RecordReviewed) -> str:
    """The note of the version that a review begins: the verdict, and its reason."""
    return body.verdict if body.reason is None else f"{body.verdict}: {body.reason}"


def verdict_of(row: VersionRow) -> Verdict:
    """The verdict of the review that began this version."""
    return cast(Verdict, (row.note or "").partition(":")[0])


def sources_of(row: VersionRow) -> Sources:
    """What a forgetting that began this version said of the sources."""
    return "keep" if row.reason == "sources_kept" else "shadow"


def why_of(row: VersionRow) -> Archival:
    """Why the record was archived by the event that began this version."""
    return cast(Archival, row.reason) if row.reason in ("decayed", "merged") else "rejected"
