"""Ids, made from values of the clock and chance.

Responsible for the form of the id of a record, an episode, a session, a proposal or a branch.
Leaves whether it is free to the module of each subject. Invariant: an id depends on the act alone.
"""

from __future__ import annotations

from typing import Final

from recollect.lifecycle import commands as c

ID_MIN_CHARS: Final = 6  # random characters in an id


def record_id(act: c.Remember, length: int) -> str:
    return f"{act.stamp}-{act.chance[:length]}"


def episode_id(act: c.Observe, length: int) -> str:
    """An id of an episode begins with ``e-``, so that people can tell it from a record's."""
    return f"e-{act.stamp}-{act.chance[:length]}"


def session_id(act: c.OpenSession, length: int) -> str:
    return f"s-{act.stamp}-{act.chance[:length]}"


def proposal_id(stamp: str, chance: str, length: int) -> str:
    """An id of a proposal begins with ``p-``."""
    return f"p-{stamp}-{chance[:length]}"


def branch_id(stamp: str, chance: str, length: int) -> str:
    """An id of a branch begins with ``b-``."""
    return f"b-{stamp}-{chance[:length]}"
