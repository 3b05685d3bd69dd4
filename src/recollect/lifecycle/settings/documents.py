"""Documents and presets: what setting and dropping one mean, and who may.

Responsible for the events of these acts. Leaves erasing to ``lifecycle.removal``, what the data of
a document means to the code that reads it and a preset to ``recall.presets``. Invariant: changing
one needs at least the trust with which it was set, and opening a gate needs a person.
"""

from __future__ import annotations

from collections.abc import Mapping

from recollect.errors import Conflict, Forbidden, NotFound
from recollect.index.preset_rows import preset_row
from recollect.index.rows import DocumentRow, PresetRow, document_id, document_row, unpack_object
from recollect.lifecycle import commands as c
from recollect.lifecycle.settings.policy import check_policy
from recollect.lifecycle.view import View, no_preset, require_whole_space, stamped
from recollect.model import events as e
from recollect.model.policy import is_gate
from recollect.model.rules import at_least, may_govern
from recollect.model.validate import Json


def set_document(view: View, actor: c.Actor, act: c.SetDocument) -> list[e.AnyBody]:
    check_policy(actor, act)
    known = _changeable_document(view, actor, act.type, act.name)
    _require_gate(actor, known, act.data)
    body = e.DocumentSet(type=act.type, name=act.name, trust=actor.trust, data=act.data)
    if known is not None and document_row(known.seq, known.until, known.at, body) == known:
        return []
    return [stamped(actor, body)]


def drop_document(view: View, actor: c.Actor, act: c.DropDocument) -> list[e.AnyBody]:
    check_policy(actor, act)
    known = _changeable_document(view, actor, act.type, act.name)
    if known is None:
        raise no_document(act.type, act.name)
    _require_gate(actor, known, {})
    return [stamped(actor, e.DocumentDropped(type=act.type, name=act.name))]


def subject(act: c.SetDocument | c.DropDocument) -> str:
    """The id of the document that an act is about."""
    return document_id(act.type, act.name)


def no_document(type: str, name: str) -> NotFound:
    return NotFound(
        f"document {document_id(type, name)!r} was not found",
        hint="`documents.list()` lists all of them",
    )


def _changeable_document(view: View, actor: c.Actor, type: str, name: str) -> DocumentRow | None:
    """The document, if there is one. It changes how a memory works, so changing it needs trust."""
    require_whole_space(actor, "a document")
    if actor.trust == "unverified":
        raise Forbidden("an unverified source may not change a document")
    known = view.document(type, name)
    if known is not None and not at_least(actor.trust, known.trust):
        raise Forbidden(
            f"the document {document_id(type, name)!r} was set with trust {known.trust!r}"
        )
    return known


def _require_gate(actor: c.Actor, known: DocumentRow | None, data: Mapping[str, Json]) -> None:
    """Refuses to open a gate that a profile has closed, unless a person does it."""
    if known is None or may_govern(actor.trust) or is_gate(known.type, data):
        return
    if is_gate(known.type, unpack_object(known.data)):
        raise Forbidden(
            f"the profile {known.name!r} lets every lasting change wait for a review, and only a "
            "person may change that"
        )


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
