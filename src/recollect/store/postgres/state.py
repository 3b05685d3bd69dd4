"""What a server says about itself, for ``doctor``.

Responsible for a standby and how far it is behind, and for a server that takes no writes. Leaves
asking to ``store.postgres.pool``. Invariant: nothing is told that a connection cannot know, such as
how much room the server's disk has.
"""

from __future__ import annotations

from typing import NamedTuple

from recollect.model.values import Finding


class State(NamedTuple):
    """What the server was asked."""

    version: int
    size_bytes: int
    is_standby: bool
    is_read_only: bool
    is_applied: bool  # a standby has applied everything that it received
    behind_s: float | None  # how old the last change is that a standby has applied


def findings(state: State) -> list[Finding]:
    """The server, and what an operator should know about it."""
    size = f"{state.size_bytes / 1_048_576:,.0f} MiB in this database"
    detail = f"PostgreSQL {state.version // 10_000}; {size}; its free disk space is not known here"
    server = Finding(level="ok", what="server", detail=detail)
    if state.is_standby:
        return [server, _standby(state)]
    if state.is_read_only:
        return [server, _READ_ONLY]
    return [server]


_READ_ONLY = Finding(
    level="problem",
    what="server",
    detail="it takes no writes: default_transaction_read_only is on",
    fix="providers turn that on when a disk is nearly full: give it more room, then turn it off",
)


def _standby(state: State) -> Finding:
    last = "none yet" if state.behind_s is None else f"{max(state.behind_s, 0):,.1f} s ago"
    applied = "all that it received is applied" if state.is_applied else "it applies older changes"
    return Finding(
        level="note",
        what="standby",
        detail=f"this server answers reads only; {applied}; its last change was made {last}",
        fix="if the primary is written more often than that, look at pg_stat_replication there",
    )
