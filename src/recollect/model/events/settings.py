"""The bodies of events about frames, documents, rules and sessions.

Responsible for what such an event says. Leaves its effect to ``index.fold``. Invariant: a frame or
a document is set whole.
"""

from __future__ import annotations

from recollect.model.events.body import Body, Int53, Trust
from recollect.model.validate import Json


class FrameSet(Body, frozen=True, kw_only=True):
    """A frame is set as a whole; an earlier definition under its name ends."""

    name: str
    trust: Trust
    weights: tuple[float, ...]  # in the order of model.presets.SIGNALS
    unit: str
    tokens: Int53
    floor: float
    intro: str
    record: str
    episode: str
    where: str | None = None
    guarantees: tuple[str, ...] = ()
    cache: str | Int53 = "none"


class FrameDropped(Body, frozen=True, kw_only=True):
    """A frame was removed."""

    name: str


class DocumentSet(Body, frozen=True, kw_only=True):
    """A document (rules, settings, a policy) has this data, whole; what it was before ends."""

    type: str
    name: str
    trust: Trust
    data: dict[str, Json]


class DocumentDropped(Body, frozen=True, kw_only=True):
    """A document is removed."""

    type: str
    name: str


class RulePassed(Body, frozen=True, kw_only=True):
    """A rule has looked at the episodes up to an event; a rule is a document of the type "rules".

    What it made of them stands in the same command. With ``through`` 0 it begins again.
    """

    rule: str
    through: Int53
    seen: Int53 = 0  # episodes that its filter matched
    made: Int53 = 0  # of those, the ones that asked for a change
    skipped: Int53 = 0  # and the ones that could not be used


class SessionOpened(Body, frozen=True, kw_only=True):
    """A session is open; its id is the name that what is written in it has as ``session``."""

    id: str
    task_type: str | None = None
    start_active_hours: float | None = None  # if the writer counts active hours itself


class SessionClosed(Body, frozen=True, kw_only=True):
    """A session has ended."""

    id: str
