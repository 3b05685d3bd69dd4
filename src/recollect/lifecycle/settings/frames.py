"""Frames: what setting and dropping one mean, and who may.

Responsible for the events of acts on frames. Leaves erasing a frame to ``lifecycle.removal`` and
what a frame does to ``recall.frames``. Invariant: changing a frame needs at least the trust with
which it was set.
"""

from __future__ import annotations

from recollect.errors import Conflict, Forbidden
from recollect.index.frame_rows import frame_row
from recollect.index.rows import FrameRow
from recollect.lifecycle import commands as c
from recollect.lifecycle.view import View, no_frame, require_whole_space, stamped
from recollect.model import events as e
from recollect.model.rules import at_least


def set_frame(view: View, actor: c.Actor, act: c.SetFrame) -> list[e.AnyBody]:
    frame = act.frame
    if frame.is_built_in:
        raise Conflict(f"the frame {frame.name!r} is built in", hint="choose another name")
    known = _changeable_frame(view, actor, frame.name)
    body = e.FrameSet(
        name=frame.name,
        trust=actor.trust,
        weights=frame.weights.each,
        unit=frame.unit,
        tokens=frame.tokens,
        floor=frame.floor,
        intro=frame.template.intro,
        record=frame.template.record,
        episode=frame.template.episode,
        where=frame.where,
        guarantees=frame.guarantees,
        cache=frame.cache,
    )
    if known is not None and frame_row(known.seq, known.until, known.at, body) == known:
        return []
    return [stamped(actor, body)]


def drop_frame(view: View, actor: c.Actor, act: c.DropFrame) -> list[e.AnyBody]:
    if _changeable_frame(view, actor, act.name) is None:
        raise no_frame(act.name)
    return [stamped(actor, e.FrameDropped(name=act.name))]


def _changeable_frame(view: View, actor: c.Actor, name: str) -> FrameRow | None:
    """The frame, if there is one. Its text is put into prompts, so changing it needs trust."""
    require_whole_space(actor)
    if actor.trust == "unverified":
        raise Forbidden("an unverified source may not change a frame")
    known = view.frame(name)
    if known is not None and not at_least(actor.trust, known.trust):
        raise Forbidden(f"the frame {name!r} was set with trust {known.trust!r}")
    return known
