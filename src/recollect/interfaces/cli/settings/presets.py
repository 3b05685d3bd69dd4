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
from recollect.model.frames import SIGNALS, Frame

Name = Annotated[str, Argument(metavar="NAME", help="The name of a frame.")]
Definition = Annotated[
    str, Argument(metavar="FILE", help="The frame as JSON; - reads it from stdin.")
]
EraseIt = Annotated[bool, Option("--erase", help="Delete every byte of it permanently.")]


@verb
def list_all(call: Call, at: o.At = None) -> None:
    """List the frames, built-in and custom."""
    with call.memory() as memory:
        found = o.past(memory, at).settings.frames.list()
    call.answer({"frames": found}, lambda _: _listed(found))


def _listed(found: Sequence[Frame]) -> None:
    """Each frame in a line, under headings for its weights."""
    width = max((len(plain.one_line(frame.name)) for frame in found), default=0) + 2
    plain.say(plain.dim(f"{'':<{width}}{' '.join(SIGNALS)}   tokens  about"))
    for frame in found:
        name = plain.one_line(frame.name).ljust(width)
        each = zip(SIGNALS, frame.weights.each, strict=True)
        weights = " ".join(f"{weight:<{len(signal)}.2f}" for signal, weight in each)
        plain.say(f"{plain.bold(name)}{weights}  {frame.tokens:>7,}  {_about(frame)}")


@verb
def show(call: Call, name: Name, at: o.At = None) -> None:
    """Show the settings of a frame."""
    with call.memory() as memory:
        found = o.past(memory, at).settings.frames.get(name)
    call.answer(found, _shown)


@verb
def set_frame(call: Call, file: Definition, idempotency_key: o.IdempotencyKey = None) -> None:
    """Set a frame from JSON, replacing its earlier settings."""
    with call.memory(create=True) as memory:
        made = memory.settings.frames.set(_definition(file), idempotency_key=idempotency_key)
    call.answer(made, lambda frame: plain.say(f"Set {_line(frame)}"))


@verb
def drop(call: Call, name: Name, erase: EraseIt = False, yes: o.Yes = False) -> None:
    """Remove a frame; its history stays unless --erase is given."""
    with call.memory() as memory:
        if erase:
            call.confirm(f"Erase the frame {name} permanently?", yes=yes, what="erasing")
        memory.settings.frames.drop(name, erase=erase)
    call.answer({"dropped": name}, lambda _: plain.say(f"Dropped {plain.one_line(name)}"))


def _definition(file: str) -> dict[str, validate.Json]:
    if file == "-":
        return validate.parse_json_object(o.read_stdin(), "frame")
    try:
        return validate.parse_json_object(Path(file).read_text("utf-8"), "frame")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} could not be read: {error}") from error


def _line(frame: Frame) -> str:
    weights = " ".join(f"{weight:.2f}" for weight in frame.weights.each)
    name = plain.bold(plain.one_line(frame.name))
    return f"{name}  {weights}  {frame.tokens} tokens  {_about(frame)}"


def _about(frame: Frame) -> str:
    return "built in" if frame.is_built_in else plain.one_line(frame.where or "everything")


def _shown(frame: Frame) -> None:
    plain.say(plain.bold(plain.one_line(frame.name)))
    weights = zip(SIGNALS, frame.weights.each, strict=True)
    rows: dict[str, str] = {name: f"{weight:.2f}" for name, weight in weights}
    rows |= {
        "where": frame.where or "everything",
        "unit": frame.unit,
        "guarantees": " ".join(f"#{tag}" for tag in frame.guarantees) or "nothing",
        "tokens": str(frame.tokens),
        "floor": f"{frame.floor:g}",
        "cache": f"{frame.cache} s" if isinstance(frame.cache, int) else frame.cache,
        "intro": frame.template.intro,
        "record": frame.template.record,
        "episode": frame.template.episode,
    }
    plain.say(*(f"  {name:<13} {plain.one_line(value)}" for name, value in rows.items()))
