"""Acts on presets.

Responsible for setting and removing one, and for taking the last of these back. Leaves who may to
the memory. Invariants: a preset that was changed since it was shown is not overwritten; a new
preset does not take the place of one that exists.
"""

from __future__ import annotations

from typing import Final

from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.interfaces.web import draft as drafts
from recollect.interfaces.web.draft import Draft
from recollect.interfaces.web.draw.errors import told
from recollect.interfaces.web.forms import Form
from recollect.interfaces.web.pages.presets.preset_edit import shown
from recollect.interfaces.web.view import Done, Shown, UndoForm
from recollect.memory import Memory
from recollect.model.presets import Preset

_CHANGED: Final = (
    "The preset has changed since you looked, so nothing was saved. Your fields are below; save "
    "them again to replace it."
)


def save(form: Form, memory: Memory) -> Done | Shown:
    """Sets a preset as the form has it."""
    memory.admin.flush()  # receipts that wait would move the position
    position = memory.events.position  # read first: what is written after it is noticed
    base, draft = memory.settings.presets.get(form.names["name"]), drafts.read(form.text)
    try:
        preset = drafts.preset_of(draft)
        there = _found(memory, preset.name)
        if there is not None and there != preset:  # else the form was sent twice
            if there.name != base.name and not there.is_built_in:
                raise InvalidInput(
                    f"a preset of the name {preset.name!r} exists already",
                    hint="choose another name, or change that one",
                )
            if not there.is_built_in and form.text("digest") != there.digest:
                return _again(form, memory, base, draft, _CHANGED, 409)
        memory.settings.presets.set(preset, idempotency_key=form.command, expect=position)
    except (InvalidInput, Conflict) as error:
        return _again(form, memory, base, draft, told(error, with_hint=True), 422)
    to = form.url("presets", preset.name)
    return Done(to=to, said="Saved.", undo=_undo(form, memory, preset.name))


def drop(form: Form, memory: Memory) -> Done:
    """Removes a preset; its history stays."""
    name = form.names["name"]
    memory.settings.presets.drop(name, idempotency_key=form.command)
    said = "Removed. Its history stays."
    return Done(to=form.url("presets"), said=said, undo=_undo(form, memory, name))


def undo(form: Form, memory: Memory) -> Done:
    """Takes the last change of a preset back, unless something was written since."""
    memory.undo(expect=form.number("position"), idempotency_key=form.command)
    name = form.names["name"]
    to = form.url("presets", name) if _found(memory, name) else form.url("presets")
    return Done(to=to, said="Taken back. The presets are as they were before.")


def _found(memory: Memory, name: str) -> Preset | None:
    try:
        return memory.settings.presets.get(name)
    except NotFound:
        return None


def _undo(form: Form, memory: Memory, name: str) -> UndoForm | None:
    """A form that takes the last command back, if it was this one."""
    position = memory.events.position
    last = memory.events.list(before=position + 1, limit=1)
    if not last or (last[0].unit, last[0].id) != ("preset", name):
        return None
    return UndoForm(action=form.url("presets", name, "undo"), fields={"position": str(position)})


def _again(form: Form, memory: Memory, base: Preset, draft: Draft, why: str, status: int) -> Shown:
    """The form once more, with what was written in it."""
    main = shown(memory, base, draft, form.text("q"), why)
    title = f"Change {base.name}"
    return Shown(title=title, template="preset_edit.html", main=main, status=status)
