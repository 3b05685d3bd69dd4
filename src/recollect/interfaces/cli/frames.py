"""The verbs about frames and receipts.

Responsible for frames as JSON, in and out, and for showing a replay. Leaves what they mean to the
memory. Invariant: what ``frame show --json`` prints, ``frame set`` takes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from recollect.errors import InvalidInput
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.model import validate
from recollect.model.frames import SIGNALS, Frame
from recollect.model.values import Replay

Name = Annotated[str, Argument(metavar="NAME", help="The name of a frame.")]
Definition = Annotated[
    str, Argument(metavar="FILE", help="The frame as JSON; - reads it from stdin.")
]
ReceiptId = Annotated[str, Argument(metavar="RECEIPT", help="The id of a receipt.")]
EraseIt = Annotated[bool, Option("--erase", help="Delete every byte of it permanently.")]
Asked = Annotated[
    str | None, Option("--query", metavar="TEXT", help="The question, to rank again as of then.")
]


@verb
def list_all(call: Call, at: o.At = None) -> None:
    """List the frames, built-in and custom."""
    with call.memory() as memory:
        found = o.past(memory, at).frames.list()
    call.answer({"frames": found}, lambda _: plain.say(*map(_line, found)))


@verb
def show(call: Call, name: Name, at: o.At = None) -> None:
    """Show the settings of a frame."""
    with call.memory() as memory:
        found = o.past(memory, at).frames.get(name)
    call.answer(found, _shown)


@verb
def set_frame(call: Call, file: Definition, idempotency_key: o.IdempotencyKey = None) -> None:
    """Set a frame from JSON, replacing its earlier settings."""
    with call.memory(create=True) as memory:
        made = memory.frames.set(_definition(file), idempotency_key=idempotency_key)
    call.answer(made, lambda frame: plain.say(f"Set {_line(frame)}"))


@verb
def drop(call: Call, name: Name, erase: EraseIt = False, yes: o.Yes = False) -> None:
    """Remove a frame; its history stays unless --erase is given."""
    with call.memory() as memory:
        if erase:
            call.confirm(f"Erase the frame {name} permanently?", yes=yes, what="erasing")
        memory.frames.drop(name, erase=erase)
    call.answer({"dropped": name}, lambda _: plain.say(f"Dropped {plain.one_line(name)}"))


@verb
def replay(call: Call, receipt: ReceiptId, query: Asked = None) -> None:
    """Print the exact text of an earlier context again."""
    with call.memory() as memory:
        found = memory.replay(receipt, query=query)
    call.answer(found, _replayed)


def _replayed(found: Replay) -> None:
    """The text alone on stdout; where it comes from on stderr."""
    plain.say(plain.safe(found.text))
    receipt = found.receipt
    order = {None: "", True: "; ranks the same", False: "; ranks differently"}[found.same_order]
    plain.say_to_stderr(
        f"handed out at {plain.moment(receipt.now)}, position {receipt.position:,}, in the frame "
        f"{plain.one_line(receipt.frame)}{order}"
    )


def _definition(file: str) -> dict[str, validate.Json]:
    if file == "-":
        return validate.parse_json_object(o.read_stdin(), "frame")
    try:
        return validate.parse_json_object(Path(file).read_text("utf-8"), "frame")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} could not be read: {error}") from error


def _line(frame: Frame) -> str:
    weights = " ".join(f"{weight:.2f}" for weight in frame.weights.each)
    about = "built in" if frame.is_built_in else plain.one_line(frame.where or "everything")
    return f"{plain.bold(plain.one_line(frame.name)):<12} {weights}  {frame.tokens} tokens  {about}"


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
