"""An option for each field of a record, made from the one list of fields.

Responsible for turning ``model.record_fields.RecordFields`` into options, and what is typed into
values. Leaves checking them to ``Memory.remember``, whose documentation is also the help.
Invariant: a new field of a type that is known here is an option without a change here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from functools import cache, wraps
from typing import Any, Final, NamedTuple, cast, get_type_hints

from recollect.interfaces.cli import options as o
from recollect.interfaces.cli.declare import Option, Parameter, parameters_of
from recollect.memory import Memory
from recollect.model.events import SourceType
from recollect.model.instants import Moment
from recollect.model.record_fields import RecordFields
from recollect.model.validate import Json, parse_json_object
from recollect.model.values import Quote

_HELP: Final = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


class Form(NamedTuple):
    """How a type is written on the command line."""

    typed: object
    metavar: str | None
    parse: Callable[[Any, str], object]
    more: str = ""  # help that only the command line needs


def _as_typed(value: object, option: str) -> object:
    return value


def _words(value: list[str] | None, option: str) -> list[str]:
    return o.words(value)


def _expiry(value: str | None, option: str) -> object:
    return o.expiry(value)


def _object(value: str | None, option: str) -> object:
    return None if value is None else parse_json_object(value)


_SEVERAL: Final = Form(list[str] | None, "TEXT", _words, " May be repeated.")
FORMS: Final[list[tuple[object, Form]]] = [
    (str | None, Form(str | None, "TEXT", _as_typed)),
    (float | None, Form(float | None, "0..1", _as_typed)),
    (bool | None, Form(bool, None, lambda value, _: value or None)),
    (SourceType | None, Form(SourceType | None, None, _as_typed)),
    (Iterable[str] | None, _SEVERAL._replace(parse=lambda value, _: value and o.words(value))),
    (Iterable[str | Quote], _SEVERAL),  # a person need not quote
    (Moment | None, Form(str | None, "WHEN", o.when)),
    (Moment | timedelta | None, Form(str | None, "WHEN", _expiry, " A span is 30d, 12h or 2w.")),
    (Mapping[str, Json] | None, Form(str | None, "JSON", _object)),
]


class FieldOption(NamedTuple):
    """The option of one field."""

    field: str
    form: Form

    @property
    def name(self) -> str:
        """Several values are given one by one: ``tags`` is ``--tag``."""
        return self.field.removesuffix("s") if self.form.typed == list[str] | None else self.field

    @property
    def flag(self) -> str:
        """What is typed."""
        return f"--{self.name.removeprefix('is_').replace('_', '-')}"

    @property
    def parameter(self) -> Parameter:
        """The option of a verb."""
        shown = Option(self.flag, metavar=self.form.metavar, help=self._help)
        default = False if self.form.typed is bool else None
        return Parameter(self.name, self.form.typed, shown, default)

    def _help(self) -> str:
        return _helps().get(self.field, "") + self.form.more


def field_options() -> list[FieldOption]:
    """One option for each field, in the order of the list."""
    return [
        FieldOption(name, next(form for kind, form in FORMS if kind == annotation))
        for name, annotation in get_type_hints(RecordFields).items()
    ]


def takes_fields(function: Callable[..., None]) -> Callable[..., None]:
    """Replaces a function's argument ``fields`` by an option for each field of a record."""
    options = field_options()

    @wraps(function)
    def command(*args: object, **given: Any) -> None:
        fields = {one.field: one.form.parse(given.pop(one.name), one.flag) for one in options}
        function(*args, fields=cast(RecordFields, fields), **given)

    def parameters() -> list[Parameter]:
        own = parameters_of(function)
        place = sum(not one.declared.is_option for one in own)  # options follow the arguments
        return [*own[:place], *(option.parameter for option in options), *own[place:]]

    command.parameters = parameters  # type: ignore[attr-defined]
    return command


@cache
def _helps() -> dict[str, str]:
    """The first sentence about each argument of ``Memory.remember``."""
    import inspect  # slow to load, and only help needs it

    text = inspect.getdoc(Memory.remember) or ""
    found = {name: re.sub(r"\s+", " ", words) for name, words in _HELP.findall(text)}
    return {name: _first_sentence(words) for name, words in found.items()}


def _first_sentence(text: str) -> str:
    return text.replace("``", "").partition(". ")[0].removesuffix(".") + "."
