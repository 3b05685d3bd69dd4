"""What a memory allows: its policy, and how long expired records are kept.

Responsible for showing these settings and for changing some of them. Leaves what each means to
``model.policy``, and checking it to the memory. Invariant: a setting that is not named stays.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Final

import msgspec

from recollect.errors import InvalidInput, NotFound
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Argument, Option
from recollect.memory import Memory
from recollect.model.counts import counted
from recollect.model.policy import (
    CHECKPOINTS,
    DEFAULT,
    NAME,
    TYPE,
    Policy,
    policy_from,
    signing_from,
)
from recollect.model.validate import Json

Settings = Annotated[
    list[str] | None,
    Argument(metavar="[SETTING=VALUE]...", help="Such as update=review.  [default: show them]"),
]
Reset = Annotated[bool, Option("--reset", help="Return to the defaults.")]
Days = Annotated[
    str | None,
    Argument(metavar="[DAYS|none]", help="Such as 30; none keeps them.  [default: show it]"),
]
_ABOUT: Final = {
    "add": "remember something new",
    "update": "replace or revise what is not a person's",
    "delete": "forget what is not a person's",
    "correct": "change a person's record",
    "forget_at_once": "forget in one command",
}
_SIGNING: Final = {  # the settings of the policy about checkpoints, and their names there
    "checkpoint_events": "every_events",
    "checkpoint_seconds": "every_seconds",
}
_NONE: Final = "none"


@verb
def policy(
    call: Call, settings: Settings = None, reset: Reset = False, mount: o.MountOption = None
) -> None:
    """Show or set what agents may change, and when a checkpoint is signed."""
    if settings and reset:
        raise InvalidInput("--reset takes no settings")
    given = dict(map(_setting, settings or ()))
    signing = {_SIGNING[name]: value for name, value in given.items() if name in _SIGNING}
    agents = {name: value for name, value in given.items() if name not in _SIGNING}
    with call.memory(create=bool(settings), mount=mount) as memory:
        for name in (NAME, CHECKPOINTS) if reset else ():
            with suppress(NotFound):
                memory.settings.documents.drop(TYPE, name)
        data, signed = _data(memory, NAME), _data(memory, CHECKPOINTS)
        if agents:
            data = {**data, **agents}
            memory.settings.documents.set(TYPE, NAME, data)
        if signing:
            signed = _sign(memory, {**signed, **signing})
        now = _policy(data)
    every = {name: signed.get(its) for name, its in _SIGNING.items()}
    call.answer({**msgspec.to_builtins(now), **every}, lambda _: _shown(now, every))


@verb
def retention(call: Call, days: Days = None) -> None:
    """Show or set how long expired records are kept before `erase --expired` erases them."""
    with call.memory() as memory:
        if days is not None:
            memory.settings.set_retention(None if days == "none" else o.days(days))
        now = memory.settings.retention()
    kept = "" if now is None else f" for {counted(now, 'day')}"
    call.answer({"days": now}, lambda _: plain.say(f"Expired records are kept{kept}."), memory)


def _data(memory: Memory, name: str) -> dict[str, Json]:
    """The settings that were set; the others have their defaults."""
    try:
        return memory.settings.documents.get(TYPE, name).data
    except NotFound:
        return {}


def _sign(memory: Memory, wanted: dict[str, Json]) -> dict[str, Json]:
    """Sets when a checkpoint is signed; without any limit, none is signed by itself."""
    limits: dict[str, Json] = {name: value for name, value in wanted.items() if value is not None}
    if not limits:
        with suppress(NotFound):
            memory.settings.documents.drop(TYPE, CHECKPOINTS)
        return {}
    try:
        signing_from(limits)
    except msgspec.ValidationError as error:
        raise InvalidInput(
            f"checkpoints cannot be signed like this: {error}",
            hint="give a number, 1 or more, or none: checkpoint_events=1000",
        ) from error
    memory.settings.documents.set(TYPE, CHECKPOINTS, limits)
    return limits


def _policy(data: dict[str, Json]) -> Policy:
    try:
        return policy_from(data)
    except msgspec.ValidationError as error:
        raise InvalidInput(
            f"the policy of this memory cannot be read: {error}",
            hint="a later release may have set it; `recollect settings policy --reset` drops it",
        ) from error


def _setting(text: str) -> tuple[str, Json]:
    """One ``name=value``."""
    name, found, value = text.partition("=")
    if not found or name not in (*_ABOUT, *_SIGNING):
        listed = ", ".join((*_ABOUT, *_SIGNING))
        raise InvalidInput(
            f"{text!r} is not a setting", hint=f"settings: {listed}; as update=review"
        )
    if name in _SIGNING and value == _NONE:
        return name, None
    if name in ("forget_at_once", *_SIGNING) and value.isascii() and value.isdigit():
        return name, int(value[:9])
    return name, value


def _shown(now: Policy, every: dict[str, Json]) -> None:
    """Each setting in a line, with what it is about."""
    plain.say(plain.dim("Agents may …"))
    width = max(map(len, _ABOUT))
    for name, about in _ABOUT.items():
        value = getattr(now, name)
        told = plain.bold(f"{value!s:<8}") if value != getattr(DEFAULT, name) else f"{value!s:<8}"
        plain.say(f"  {name:<{width}}  {told}  {about}")
    plain.say(plain.dim("What is set to review waits for you in `recollect review`."))
    limits = [f"{name}={value}" for name, value in every.items() if value is not None]
    plain.say(f"A write signs a checkpoint: {', '.join(limits) or 'never'}")
