"""Ids that are made from what clock and chance decided.

Responsible for how an id of a record or an episode is written. Leaves whether it is free to
``lifecycle.records`` and ``lifecycle.episodes``. Invariant: an id depends on the act alone.
"""

from __future__ import annotations

from typing import Final

from recollect.lifecycle import commands as c

ID_MIN_CHARS: Final = 6  # of chance in an id


def record_id(act: c.Remember, length: int) -> str:
    return f"{act.stamp}-{act.chance[:length]}"


def episode_id(act: c.Observe, length: int) -> str:
    """Episodes carry an ``e-`` so that a person can tell them from records."""
    return f"e-{act.stamp}-{act.chance[:length]}"
