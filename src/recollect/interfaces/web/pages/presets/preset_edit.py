"""Changing a preset: its fields, and what it would pack for a question before it is saved.

Responsible for the draft and its preview. Leaves saving to ``acts.presets``. Invariant: looking at
a draft sets nothing and leaves no receipt.
"""

from __future__ import annotations

import msgspec

from recollect.errors import RecollectError, Unsupported
from recollect.interfaces.web import draft as drafts
from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.draft import Draft
from recollect.interfaces.web.draw.errors import told
from recollect.interfaces.web.pages import context
from recollect.interfaces.web.pages.presets import presets
from recollect.interfaces.web.view import View
from recollect.memory import Memory
from recollect.memory.contexts.contexts import tried
from recollect.memory.handle.handle import handle_of
from recollect.model.presets import Preset


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    base: Preset  # the preset that is changed, or that a new one begins with
    draft: Draft
    shown: presets.Shown | None  # the weights of the draft, unless a field is wrong
    meanings: dict[str, str]  # of the signals
    q: str
    side: context.Side | None
    problem: str | None
    units: tuple[tuple[str, str], ...] = drafts.UNITS
    caches: tuple[tuple[str, str], ...] = drafts.CACHES


def page(asked: Asked, memory: Memory) -> View:
    """Reads a preset as fields, or the fields that are being tried."""
    base = memory.settings.presets.get(asked.names["name"])
    if "tokens" in asked.query:
        draft = drafts.read(asked.text)
    else:
        draft = drafts.of(base)
        if base.is_built_in:
            draft = msgspec.structs.replace(draft, name="")
    main = shown(memory, base, draft, asked.text("q"))
    call = asked.call(
        asked.python("settings.presets.get", base.name),
        asked.cli("settings", "preset", "show", base.name),
    )
    return View(title=f"Change {base.name}", main=main, answer=base, calls=(call,))


def shown(memory: Memory, base: Preset, draft: Draft, q: str, problem: str | None = None) -> Main:
    """A draft, with what it would pack."""
    side, bars = None, None
    try:
        preset = drafts.preset_of(_named(draft))
        bars = presets.shown(preset)
        if q:
            side = context.side(memory, preset, tried(handle_of(memory), q, preset), set())
    except Unsupported:
        problem = problem or "A memory of a service cannot try a preset before it is saved."
    except RecollectError as error:
        problem = problem or told(error, with_hint=True)
    return Main(
        base=base, draft=draft, shown=bars, meanings=presets.meanings(), q=q, side=side,
        problem=problem,
    )  # fmt: skip


def _named(draft: Draft) -> Draft:
    """A name is only needed to save it."""
    return draft if draft.name.strip() else msgspec.structs.replace(draft, name="draft")
