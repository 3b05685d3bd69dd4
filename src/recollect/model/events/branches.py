"""The bodies of events about branches.

Responsible for when a branch begins and how it ends. Leaves what is written on it to proposals,
which name it. Invariant: a branch is opened once and closed once, and holds no text of its changes.
"""

from __future__ import annotations

from typing import Literal

from recollect.model.events.body import Body

Ending = Literal["merged", "abandoned", "condensed"]


class BranchOpened(Body, frozen=True, kw_only=True):
    """A line of proposals begins; the proposals of this branch name its id."""

    id: str
    name: str
    parent: str | None = None  # the id of the branch that it comes from
    reason: str | None = None  # what it is for


class BranchClosed(Body, frozen=True, kw_only=True):
    """A branch has ended; the events that settle its proposals stand before it."""

    id: str
    how: Ending
    reason: str | None = None
    record: str | None = None  # the summary of a condensed branch
