"""Ids by what they are about, whose they are and when they expired: what an erasure chooses by.

Responsible for exact selections over the whole present. Leaves conditions in the filter language to
``index.filter``. Invariant: case and spelling are compared exactly, so that nothing else is chosen.
"""

from __future__ import annotations

from typing import Literal

from recollect.index.reads import Reads
from recollect.index.rows import Cell


def records_about(reads: Reads, about: str, user: str | None) -> list[str]:
    """Records about something, in any state, of one user or of all."""
    return _ids(reads, "records_about", {"about": about, "user": user})


def records_expired(reads: Reads, before: str, user: str | None) -> list[str]:
    """Records that expired before an instant, in any state, of one user or of all."""
    return _ids(reads, "records_expired", {"before": before, "user": user})


def records_of(reads: Reads, user: str) -> list[str]:
    """A user's records, in any state."""
    return _ids(reads, "records_of_user", {"user": user})


def episodes_of(reads: Reads, user: str) -> list[str]:
    """A user's episodes."""
    return _ids(reads, "episodes_of_user", {"user": user})


def proposals_of(reads: Reads, user: str) -> list[str]:
    """A user's proposals, settled or not."""
    return _ids(reads, "proposals_of_user", {"user": user})


def proposals_about(reads: Reads, about: str, user: str | None) -> list[str]:
    """Proposals whose statement is about something, of one user or of all."""
    return _ids(reads, "proposals_of_about", {"about": about, "user": user})


def proposals_under(reads: Reads, key: str, user: str | None) -> list[str]:
    """Proposals of a record with this key, of one user or of all."""
    return _ids(reads, "proposals_of_key", {"key": key, "user": user})


def branches_of(reads: Reads, user: str) -> list[str]:
    """A user's branches, open or closed."""
    return _ids(reads, "branches_of_user", {"user": user})


def receipts_of(reads: Reads, user: str) -> list[str]:
    """A user's receipts."""
    return _ids(reads, "receipts_of_user", {"user": user})


def everything(
    reads: Reads, what: Literal["record", "episode", "proposal", "branch", "receipt"]
) -> list[str]:
    """Every record, episode, proposal, branch or receipt of the space, in any state."""
    return _ids(reads, f"every_{what}", {})


def _ids(reads: Reads, name: str, params: dict[str, Cell]) -> list[str]:
    return [str(id) for (id,) in reads.db.rows(name, params)]
