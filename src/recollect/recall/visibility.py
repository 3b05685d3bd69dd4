"""What a read shows: one rule for get, list, recall and context.

Responsible for naming why a record or an episode is hidden. Leaves the order of visible ones to
``recall.rank``. Invariant: each reason has one word, which is a value of ``include``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from recollect.errors import InvalidInput
from recollect.index.rows import Card, EpisodeRow, VersionRow
from recollect.model.values import INCLUDES, Include


def check_include(include: Iterable[str]) -> frozenset[Include]:
    """The values of ``include``; an unknown value is refused."""
    if isinstance(include, str):
        raise InvalidInput(
            "include must be a list of strings, not one string", hint=f"pass [{include!r}]"
        )
    words = frozenset(include)
    unknown = sorted(words.difference(INCLUDES))
    if unknown:
        raise InvalidInput(
            f"unknown value {unknown[0]!r} for include", hint=f"choose from {', '.join(INCLUDES)}"
        )
    return frozenset(word for word in INCLUDES if word in words)


def why_hidden(row: VersionRow | Card, position: int, now: str, valid_at: str) -> Include | None:
    """Why a default read leaves a record out, as a word; None if it is visible."""
    if row.until <= position:
        return "replaced"  # a later version replaced it
    status = row.status
    if status == "active" or status == "inbox":
        return "expired" if _expired(row, now, valid_at) else None
    if status == "archived":
        return "replaced" if row.reason == "superseded" else "archived"
    return "forgotten" if status == "forgotten" else "waiting"


def why_episode_hidden(row: EpisodeRow | Card) -> Include | None:
    """The same for an episode."""
    if row.hidden == "forgotten":
        return "forgotten"
    if row.hidden is not None:
        return "hidden"
    return "waiting" if row.trust == "unverified" else None


def is_name(row: EpisodeRow | VersionRow | Card) -> bool:
    """True for a record that is only the name of what it is about: a title answers no question."""
    return not isinstance(row, EpisodeRow) and row.about is not None and row.text == row.about


def statuses(include: Collection[Include]) -> tuple[str, ...]:
    """The statuses that a listing with this ``include`` must read."""
    found = ["active", "inbox"]
    if "waiting" in include:
        found.append("held")
    if "forgotten" in include:
        found.append("forgotten")
    if "replaced" in include or "archived" in include:
        found.append("archived")
    return tuple(found)


def _expired(row: VersionRow | Card, now: str, valid_at: str) -> bool:
    """True if it has expired, or is not valid at the given instant."""
    if row.expires is not None and row.expires <= now:
        return True
    if row.valid_from is not None and row.valid_from > valid_at:
        return True
    return row.valid_to is not None and row.valid_to <= valid_at
