"""Presets: the ways of looking for a context, their weights, guarantees and words.

Responsible for the list and for one preset, with a question tried on it. Leaves scoring and packing
to the memory. Invariant: a preset's template is shown as text and never rendered here.
"""

from __future__ import annotations

import msgspec

from recollect.errors import LimitExceeded
from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.draw.errors import told
from recollect.interfaces.web.draw.shares import SIGNALS as WORDS
from recollect.interfaces.web.draw.shares import look
from recollect.interfaces.web.pages import context
from recollect.interfaces.web.view import View
from recollect.memory import Memory
from recollect.model.presets import SIGNALS, Preset


class Weight(msgspec.Struct, frozen=True, kw_only=True):
    """How much one signal counts."""

    name: str
    meaning: str
    value: float
    x: float  # where it begins on a bar of 0 to 1000
    colour: int
    pattern: int


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """One preset with its bars."""

    preset: Preset
    weights: tuple[Weight, ...]
    since: str | None = None  # when it was set; None if it is built in


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """What the list shows."""

    presets: tuple[Shown, ...]


class One(msgspec.Struct, frozen=True, kw_only=True):
    """What the page of one preset shows."""

    shown: Shown
    q: str
    side: context.Side | None
    problem: str | None


def page(asked: Asked, memory: Memory) -> View:
    """Reads every preset."""
    found = memory.settings.presets.list()
    return View(
        title="Presets",
        main=Main(presets=tuple(shown(each) for each in found)),
        answer=found,
        calls=(
            asked.call(
                asked.python("settings.presets.list"), asked.cli("settings", "preset", "list")
            ),
        ),
    )


def one(asked: Asked, memory: Memory) -> View:
    """Reads one preset, and tries a question on it."""
    preset = memory.settings.presets.get(asked.names["name"])
    q = asked.text("q")
    side, problem = _tried(memory, preset, q) if q else (None, None)
    calls = [asked.call(asked.python("settings.presets.get", preset.name),
                        asked.cli("settings", "preset", "show", preset.name))]  # fmt: skip
    if q:
        calls.append(
            asked.call(
                asked.python("context", q, preset=preset.name, receipt=False),
                asked.cli("context", q, "--preset", preset.name, "--no-receipt"),
            )
        )
    since = None if preset.is_built_in else memory.settings.presets.since(preset.name)
    return View(
        title=f"Preset {preset.name}",
        main=One(shown=shown(preset, since), q=q, side=side, problem=problem),
        answer={"preset": preset, "context": side.context if side else None},
        calls=tuple(calls),
    )


def _tried(memory: Memory, preset: Preset, q: str) -> tuple[context.Side | None, str | None]:
    try:
        return context.read(memory, q, None, [preset])[0], None
    except LimitExceeded as error:
        return None, told(error)


def meanings() -> dict[str, str]:
    """What each signal means."""
    return {name: WORDS[name][1] for name in SIGNALS}


def shown(preset: Preset, since: str | None = None) -> Shown:
    """A preset with its bars."""
    weights, x = [], 0.0
    for name, value in zip(SIGNALS, preset.weights.each, strict=True):
        colour, pattern = look(name)
        weights.append(
            Weight(name=name, meaning=WORDS[name][1], value=value, x=round(x, 2), colour=colour,
                   pattern=pattern)
        )  # fmt: skip
        x += value * 1000
    return Shown(preset=preset, weights=tuple(weights), since=since)
