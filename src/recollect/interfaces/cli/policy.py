"""``recollect policy``: what agents may change at once, and what waits for you.

Responsible for showing the policy and for changing some of its settings. Leaves what each means to
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
from recollect.model.policy import DEFAULT, NAME, TYPE, Policy, policy_from
from recollect.model.validate import Json

Settings = Annotated[
    list[str] | None,
    Argument(metavar="[SETTING=VALUE]...", help="Such as update=review.  [default: show them]"),
]
Reset = Annotated[bool, Option("--reset", help="Return to the defaults.")]
_ABOUT: Final = {
    "add": "remember something new",
    "update": "replace or revise what is not a person's",
    "delete": "forget what is not a person's",
    "correct": "change a person's record",
    "forget_at_once": "forget in one command",
}


@verb
def policy(
    call: Call, settings: Settings = None, reset: Reset = False, mount: o.MountOption = None
) -> None:
    """Show or set what agents may change at once, and what waits for a review."""
    if settings and reset:
        raise InvalidInput("--reset takes no settings")
    with call.memory(create=bool(settings), mount=mount) as memory:
        if reset:
            with suppress(NotFound):
                memory.documents.drop(TYPE, NAME)
        data = _data(memory)
        if settings:
            data = {**data, **dict(map(_setting, settings))}
            memory.documents.set(TYPE, NAME, data)
        now = _policy(data)
    call.answer(now, _shown)


def _data(memory: Memory) -> dict[str, Json]:
    """The settings that were set; the others have their defaults."""
    try:
        return memory.documents.get(TYPE, NAME).data
    except NotFound:
        return {}


def _policy(data: dict[str, Json]) -> Policy:
    try:
        return policy_from(data)
    except msgspec.ValidationError as error:
        raise InvalidInput(
            f"the policy of this memory cannot be read: {error}",
            hint="a later release may have set it; `recollect policy --reset` drops it",
        ) from error


def _setting(text: str) -> tuple[str, Json]:
    """One ``name=value``."""
    name, found, value = text.partition("=")
    if not found or name not in _ABOUT:
        raise InvalidInput(
            f"{text!r} is not a setting", hint=f"settings: {', '.join(_ABOUT)}; as update=review"
        )
    if name == "forget_at_once" and value.isascii() and value.isdigit():
        return name, int(value[:9])
    return name, value


def _shown(now: Policy) -> None:
    """Each setting in a line, with what it is about."""
    plain.say(plain.dim("Agents may …"))
    width = max(map(len, _ABOUT))
    for name, about in _ABOUT.items():
        value = getattr(now, name)
        told = plain.bold(f"{value!s:<8}") if value != getattr(DEFAULT, name) else f"{value!s:<8}"
        plain.say(f"  {name:<{width}}  {told}  {about}")
    plain.say(plain.dim("What is set to review waits for you in `recollect review`."))
