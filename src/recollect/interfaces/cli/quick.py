"""The verbs of every day, started without Typer.

Responsible for parsing a plain command line of one of them, from the declarations that Typer reads
too. Leaves everything else to Typer: help, and every command line that is not understood here, so
that mistakes are explained in one place. Invariant: a command line that is
parsed here means the same to Typer.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, Final, Literal, get_args, get_origin

from recollect.interfaces.cli import lean

TYPE_CHECKING = False  # as type checkers know it
if TYPE_CHECKING:
    from recollect.interfaces.cli.call import Call, Verb
    from recollect.interfaces.cli.declare import Parameter

# Loading Typer takes longer than these verbs do.
_VERBS: Final = {"recall": "read", "context": "read", "remember": "write", "recent": "recent"}
_SHARED: Final = ("--store", "--space")


class NotPlain(Exception):
    """A command line that is left to Typer."""


def run(given: Sequence[str], *, alone: bool) -> int | None:
    """Runs a plain command line and returns the exit code, or ends the process if it is ``alone``.

    None if the command line is left to Typer, and then nothing was done.
    """
    place = _verb_at(given)
    if place is None:
        return None
    if alone:
        gc.disable()  # loading leaves no garbage, and the process ends soon
    lean.load_msgspec()
    from recollect.interfaces.cli import answer
    from recollect.interfaces.cli.declare import Exit

    code = answer.OK
    try:
        verb, call, values = parsed(given, place)
        verb.run(call, values)
    except NotPlain:
        gc.enable()
        return None
    except Exit as ended:
        code = ended.code
    except Exception as error:  # noqa: BLE001 - the last place that can report it readably
        code = answer.refuse(error, given)
    if alone:
        lean.leave(code)
    return code


def parsed(given: Sequence[str], place: int) -> tuple[Verb, Call, dict[str, Any]]:
    """The verb at a place of a command line, the shared options before it, and its values."""
    from recollect.interfaces.cli.call import Call, shared_parameters

    name = given[place]
    module = import_module(f"recollect.interfaces.cli.{_VERBS[name]}")
    verb: Verb = getattr(module, name)
    before = values(shared_parameters(), given[:place])
    call = Call(store=before["store"], named=before["space"], json=before["json"])
    return verb, call, values(verb.parameters(), given[place + 1 :])


def _verb_at(given: Sequence[str]) -> int | None:
    """Where a verb of this module stands, behind nothing but shared options."""
    place = 0
    while place < len(given) and given[place].startswith("--"):
        place += 2 if given[place] in _SHARED else 1
    return place if place < len(given) and given[place] in _VERBS else None


def values(parameters: Sequence[Parameter], words: Sequence[str]) -> dict[str, Any]:
    """The value of each parameter."""
    flags = {flag: one for one in parameters if one.declared.is_option for flag in one.flags}
    arguments = [one for one in parameters if not one.declared.is_option]
    found: dict[str, Any] = {one.name: one.default for one in parameters if one.default is not ...}
    rest = iter(words)
    for word in rest:
        if word == "--":
            _take(arguments, list(rest), found)
        elif word.startswith("-") and word != "-":
            _option(flags, word, rest, found)
        else:
            _take(arguments, [word], found)
    if any(one.default is ... and one.name not in found for one in parameters):
        raise NotPlain
    return found


def _take(arguments: list[Parameter], words: Sequence[str], found: dict[str, Any]) -> None:
    """The next arguments, each of one word."""
    for word in words:
        if not arguments:
            raise NotPlain
        one = arguments.pop(0)
        found[one.name] = _value(one.typed, word)


def _option(
    flags: dict[str, Parameter], word: str, rest: Iterator[str], found: dict[str, Any]
) -> None:
    """An option with its value: ``--name value``, ``--name=value``, ``-n value`` or a flag."""
    name, has_value, value = word.partition("=")
    one = flags.get(name)
    if one is None or (has_value and not name.startswith("--")):
        raise NotPlain
    if one.typed is bool:
        if has_value:
            raise NotPlain
        found[one.name] = True
        return
    if not has_value:
        value = next(rest, "-")
        if value.startswith("-"):
            raise NotPlain
    if get_origin(_given(one.typed)) is list:
        found[one.name] = [*(found[one.name] or ()), value]
    else:
        found[one.name] = _value(one.typed, value)


def _value(typed: Any, word: str) -> object:
    """A word as a value of a type; one that may be a mistake is left to Typer."""
    kind = _given(typed)
    if get_origin(kind) is Literal:
        if word in get_args(kind):
            return word
    elif kind is str:
        return word
    elif kind is int and word.isascii() and word.isdigit():
        return int(word)
    elif kind is float and word.isascii() and word.replace(".", "", 1).isdigit():
        return float(word)
    raise NotPlain


def _given(typed: Any) -> Any:
    """A type without the None that stands for an option left out."""
    if not isinstance(typed, UnionType):
        return typed
    (kind,) = (one for one in get_args(typed) if one is not NoneType)
    return kind
