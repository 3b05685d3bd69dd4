"""The page docs/reference/python.md, made from the public classes.

Responsible for one entry for each public call, value and error: its signature or its fields, and
the first sentence of its documentation. Leaves writing the page to ``tools.reference``. Invariant:
the page says nothing that the code does not say.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Final, Literal, get_args, get_origin

import msgspec

from recollect import errors
from recollect.memory import Batch, Memory, Store
from recollect.memory.admin import Admin
from recollect.memory.branches import Branches
from recollect.memory.contexts.contexts import Contexts
from recollect.memory.contexts.presets import Presets
from recollect.memory.contexts.receipts import Receipts
from recollect.memory.correction.leaving import Leaving
from recollect.memory.documents import Documents
from recollect.memory.doors import Doors
from recollect.memory.events import Events
from recollect.memory.graph.links import Links
from recollect.memory.jobs.jobs import Jobs
from recollect.memory.pages.pages import Pages
from recollect.memory.proof.proofs import Proofs
from recollect.memory.reading import Reading
from recollect.memory.review import Review
from recollect.memory.rules.rules import Rules
from recollect.memory.sessions import Sessions
from recollect.memory.settings import MemorySettings
from recollect.memory.tokens import Tokens
from recollect.memory.writing import Writing
from recollect.model import values
from recollect.model.presets import Preset

_HEAD: Final = """\
# Python

Made by `make reference` from the public classes; do not edit it. Each call is listed with its
signature and the first sentence of its documentation; `help(Memory.remember)` also explains its
arguments and errors.

`AsyncMemory` and `AsyncStore` have the same calls with the same arguments, as coroutines
(`await memory.recall(…)`, `async with memory.batch() as batch:`); only what does no I/O, such as
`scoped`, `scope` and the calls of a batch, is not awaited.
"""
# Each heading with how a handle is called in the signatures, and the class whose calls it lists.
_GROUPS: Final = (
    ("Open a memory", "memory", Memory),
    ("Write", "memory", Writing),
    ("Read", "memory", Reading),
    ("Contexts", "memory", Contexts),
    ("Undo, erase", "memory", Leaving),
    ("Batch", "batch", Batch),
    ("Doors", "memory", Doors),
    ("Review", "memory.review", Review),
    ("Graph", "memory.graph", Links),
    ("Pages", "memory.pages", Pages),
    ("Branches", "memory.branches", Branches),
    ("Sessions", "memory.sessions", Sessions),
    ("Events", "memory.events", Events),
    ("Proof", "memory.proof", Proofs),
    ("Receipts", "memory.proof.receipts", Receipts),
    ("Settings", "memory.settings", MemorySettings),
    ("Presets", "memory.settings.presets", Presets),
    ("Rules", "memory.settings.rules", Rules),
    ("Documents", "memory.settings.documents", Documents),
    ("Admin", "memory.admin", Admin),
    ("Store", "store", Store),
    ("Tokens", "store.tokens", Tokens),
    ("Jobs", "store.jobs", Jobs),
)
_VALUES_HEAD: Final = """\
## Values

Frozen, each with `to_dict()`. `Record`, `Episode`, `Hit`, `Recall` and `Context` are in
`recollect`, `Preset` is in `recollect.model.presets`, all others are in `recollect.model.values`.

| value | fields | |
|---|---|---|"""
_ERRORS_HEAD: Final = """\
## Errors

All are in `recollect.errors`. Each has a `code` for programs, a `message`, and often a `hint` that
names the next step.

| error | is a | `code` | |
|---|---|---|---|"""
_NAMES_HEAD: Final = """\
## Names in the signatures

| name | stands for |
|---|---|"""
_WIDTH: Final = 100
_SENTENCE: Final = re.compile(r"(?<=[.?!])\s")
_NAME: Final = re.compile(r"[A-Z]\w+")
_BAR: Final = r"\|"  # in a table, also within code
_MODULES: Final = re.compile(r"\b(?:collections\.abc|datetime|typing)\.")


def page() -> str:
    """The text of the page."""
    parts = [_HEAD]
    for heading, handle, group in _GROUPS:
        calls = "\n\n".join(_calls(handle, group))
        parts += [f"## {heading}", "", "```text", calls, "```", ""]
    parts += [_NAMES_HEAD, *_names(), ""]
    parts += [_VALUES_HEAD, *map(_value, _all_values()), "", _ERRORS_HEAD, *_errors()]
    return "\n".join([*parts, ""])


def _calls(handle: str, group: type) -> Iterator[str]:
    """The calls of a class, in the order in which it is written."""
    for name, member, function in public(group):
        if isinstance(member, property):
            shown = f"{handle}.{name}: {_typed(inspect.signature(function).return_annotation)}"
        else:
            owner = group.__name__ if isinstance(member, classmethod) else handle
            shown = _signature(f"{owner}.{name}", function)
        yield f"{shown}\n    {_first_sentence(function)}"


def public(group: type) -> Iterator[tuple[str, object, FunctionType]]:
    """The public members of a class: name, member, and the function inside."""
    for name, member in vars(group).items():
        function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        if not name.startswith("_") and isinstance(function, FunctionType):
            yield name, member, function


def _signature(name: str, function: Callable[..., object]) -> str:
    """A call on one line, or with its parameters on as few lines as they need."""
    found = inspect.signature(function)
    shown = list(_parameters(list(found.parameters.values())[1:]))
    answer = _typed(found.return_annotation)
    line = f"{name}({', '.join(shown)}) -> {answer}"
    if len(line) <= _WIDTH:
        return line
    lines = [" " * 8]
    for part in shown:
        if len(lines[-1]) + len(part) > _WIDTH:
            lines.append(" " * 8)
        lines[-1] += f"{part}, "
    return "\n".join([f"{name}(", *(one.rstrip() for one in lines), f") -> {answer}"])


def _parameters(parameters: list[inspect.Parameter]) -> Iterator[str]:
    is_named = False
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY and not is_named:
            yield "*"
        is_named = is_named or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        stars = (
            "*" if one.kind is one.VAR_POSITIONAL else "**" if one.kind is one.VAR_KEYWORD else ""
        )
        shown = getattr(one.default, "__name__", None) or repr(one.default)
        default = "" if one.default is one.empty else f" = {shown}"
        yield f"{stars}{one.name}: {_typed(one.annotation)}{default}"


def _names() -> Iterator[str]:
    """The names in the signatures that are not classes, with what they stand for."""
    found: dict[str, object] = {}
    for _, _, group in _GROUPS:
        for _, _, function in public(group):
            used = inspect.get_annotations(function).values()
            names = {name for one in used for name in _NAME.findall(str(one))}
            known = inspect.unwrap(function).__globals__
            found |= {name: known[name] for name in names & known.keys()}
    for name, one in sorted(found.items()):
        if get_origin(one) is Literal:
            yield f"| `{name}` | {', '.join(f'`{value!r}`' for value in get_args(one))} |"
        elif get_origin(one) is not None:
            yield f"| `{name}` | `{_MODULES.sub('', str(one)).replace('|', _BAR)}` |"


def _typed(annotation: object) -> str:
    """An annotation as it is written; ``List`` is `list` where a method has that name."""
    return str(annotation).replace("List[", "list[")


def _first_sentence(documented: object) -> str:
    paragraph = " ".join((inspect.getdoc(documented) or "").partition("\n\n")[0].split())
    return _SENTENCE.split(paragraph)[0].replace("``", "`")


def _all_values() -> Iterator[type[msgspec.Struct]]:
    named: dict[str, type[msgspec.Struct]] = {"Preset": Preset}
    for name in values.__all__:
        one = getattr(values, name)
        if isinstance(one, type) and issubclass(one, values.Value) and one is not values.Value:
            named[name] = one
    yield from (named[name] for name in sorted(named))


def _value(value: type[msgspec.Struct]) -> str:
    fields = ", ".join(f"`{name}`" for name in value.__struct_fields__)
    return f"| `{value.__name__}` | {fields} | {_first_sentence(value)} |"


def _errors() -> Iterator[str]:
    for one in vars(errors).values():
        if isinstance(one, type) and issubclass(one, errors.RecollectError):
            kind = one.__bases__[0].__name__
            yield f"| `{one.__name__}` | `{kind}` | `{one.code}` | {_first_sentence(one)} |"
