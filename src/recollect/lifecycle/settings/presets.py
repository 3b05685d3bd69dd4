"""Presets: what setting and dropping one mean, and who may.

Responsible for the events of acts on presets. Leaves erasing a preset to ``lifecycle.removal`` and
what a preset does to ``recall.presets``. Invariant: changing a preset needs at least the trust with
which it was set.
"""

from __future__ import annotations

from recollect.errors import Conflict, Forbidden
from recollect.index.preset_rows import preset_row
from recollect.index.rows import PresetRow
from recollect.lifecycle import commands as c
from recollect.lifecycle.view import View, no_preset, require_whole_space, stamped
from recollect.model import events as e
from recollect.model.rules import at_least


def set_preset(view: View, actor: c.Actor, act: c.SetPreset) -> list[e.AnyBody]:
    preset = act.preset
    if preset.is_built_in:
        raise Conflict(f"the preset {preset.name!r} is built in", hint="choose another name")
    known = _changeable_preset(view, actor, preset.name)
    body = e.FrameSet(
        name=preset.name,
        trust=actor.trust,
        weights=preset.weights.each,
        unit=preset.unit,
        tokens=preset.tokens,
        floor=preset.floor,
        intro=preset.template.intro,
        record=preset.template.record,
        episode=preset.template.episode,
        where=preset.where,
        guarantees=preset.guarantees,
        cache=preset.cache,
    )
    if known is not None and preset_row(known.seq, known.until, known.at, body) == known:
        return []
    return [stamped(actor, body)]


def drop_preset(view: View, actor: c.Actor, act: c.DropPreset) -> list[e.AnyBody]:
    if _changeable_preset(view, actor, act.name) is None:
        raise no_preset(act.name)
    return [stamped(actor, e.FrameDropped(name=act.name))]


def _changeable_preset(view: View, actor: c.Actor, name: str) -> PresetRow | None:
    """The preset, if there is one. Its text is put into prompts, so changing it needs trust."""
    require_whole_space(actor)
    if actor.trust == "unverified":
        raise Forbidden("an unverified source may not change a preset")
    known = view.preset(name)
    if known is not None and not at_least(actor.trust, known.trust):
        raise Forbidden(f"the preset {name!r} was set with trust {known.trust!r}")
    return known
