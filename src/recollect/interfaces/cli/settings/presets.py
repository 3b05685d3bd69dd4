"""The commands about presets.

Responsible for presets as JSON, in and out. Leaves what they mean to the memory. Invariant: what
``preset show --json`` prints, ``preset set`` takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from recollect.errors import InvalidInput
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Argument, Option
from recollect.model import validate
from recollect.model.presets import SIGNALS, Preset

Name = Annotated[str, Argument(metavar="NAME", help="The name of a preset.")]
Definition = Annotated[
    str, Argument(metavar="FILE", help="The preset as JSON; - reads it from stdin.")
]
EraseIt = Annotated[bool, Option("--erase", help="Delete every byte of it permanently.")]


@verb
def list_all(call: Call, at: o.At = None) -> None:
    """List the presets, built-in and custom."""
    with call.memory() as memory:
        found = o.past(memory, at).settings.presets.list()
    call.answer({"presets": found}, lambda _: _listed(found))


def _listed(found: Sequence[Preset]) -> None:
    """Each preset in a line, under headings for its weights."""
    width = max((len(plain.one_line(preset.name)) for preset in found), default=0) + 2
    plain.say(plain.dim(f"{'':<{width}}{' '.join(SIGNALS)}   tokens  about"))
    for preset in found:
        name = plain.one_line(preset.name).ljust(width)
        each = zip(SIGNALS, preset.weights.each, strict=True)
        weights = " ".join(f"{weight:<{len(signal)}.2f}" for signal, weight in each)
        plain.say(f"{plain.bold(name)}{weights}  {preset.tokens:>7,}  {_about(preset)}")


@verb
def show(call: Call, name: Name, at: o.At = None) -> None:
    """Show the settings of a preset."""
    with call.memory() as memory:
        found = o.past(memory, at).settings.presets.get(name)
    call.answer(found, _shown)


@verb
def set_preset(call: Call, file: Definition, idempotency_key: o.IdempotencyKey = None) -> None:
    """Set a preset from JSON, replacing its earlier settings."""
    with call.memory(create=True) as memory:
        made = memory.settings.presets.set(_definition(file), idempotency_key=idempotency_key)
    call.answer(made, lambda preset: plain.say(f"Set {_line(preset)}"))


@verb
def drop(call: Call, name: Name, erase: EraseIt = False, yes: o.Yes = False) -> None:
    """Remove a preset; its history stays unless --erase is given."""
    with call.memory() as memory:
        if erase:
            call.confirm(f"Erase the preset {name} permanently?", yes=yes, what="erasing")
        memory.settings.presets.drop(name, erase=erase)
    call.answer({"dropped": name}, lambda _: plain.say(f"Dropped {plain.one_line(name)}"))


def _definition(file: str) -> dict[str, validate.Json]:
    if file == "-":
        return validate.parse_json_object(o.read_stdin(), "preset")
    try:
        return validate.parse_json_object(Path(file).read_text("utf-8"), "preset")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} could not be read: {error}") from error


def _line(preset: Preset) -> str:
    weights = " ".join(f"{weight:.2f}" for weight in preset.weights.each)
    name = plain.bold(plain.one_line(preset.name))
    return f"{name}  {weights}  {preset.tokens} tokens  {_about(preset)}"


def _about(preset: Preset) -> str:
    return "built in" if preset.is_built_in else plain.one_line(preset.where or "everything")


def _shown(preset: Preset) -> None:
    plain.say(plain.bold(plain.one_line(preset.name)))
    weights = zip(SIGNALS, preset.weights.each, strict=True)
    rows: dict[str, str] = {name: f"{weight:.2f}" for name, weight in weights}
    rows |= {
        "where": preset.where or "everything",
        "unit": preset.unit,
        "guarantees": " ".join(f"#{tag}" for tag in preset.guarantees) or "nothing",
        "tokens": str(preset.tokens),
        "floor": f"{preset.floor:g}",
        "cache": f"{preset.cache} s" if isinstance(preset.cache, int) else preset.cache,
        "intro": preset.template.intro,
        "record": preset.template.record,
        "episode": preset.template.episode,
    }
    plain.say(*(f"  {name:<13} {plain.one_line(value)}" for name, value in rows.items()))
