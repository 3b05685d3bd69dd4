"""How a verb declares its arguments and options, and how it ends early.

Responsible for the declarations that ``words``, ``help_text`` and ``completion`` read. Leaves what
they do with them to those. Invariant: this loads nothing of the package.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, get_args, get_type_hints

Complete = Callable[[str], list[str]]


class Declared(NamedTuple):
    """An argument or an option of a verb."""

    is_option: bool
    flags: tuple[str, ...]  # of an option; empty: its name
    metavar: str | None
    help: str | Callable[[], str]  # called if help is printed
    show_default: bool = True
    autocompletion: Complete | None = None
    min: int | None = None
    max: int | None = None


def Argument(*, metavar: str, help: str, show_default: bool = True) -> Declared:  # noqa: N802
    """Declares an argument, inside ``Annotated``."""
    return Declared(False, (), metavar, help, show_default)


def Option(  # noqa: N802
    *flags: str,
    metavar: str | None = None,
    help: str | Callable[[], str],
    autocompletion: Complete | None = None,
    min: int | None = None,
    max: int | None = None,
) -> Declared:
    """Declares an option, inside ``Annotated``."""
    return Declared(True, flags, metavar, help, True, autocompletion, min, max)


class Parameter(NamedTuple):
    """One argument or option of one verb."""

    name: str
    typed: Any  # what its value becomes
    declared: Declared
    default: Any = ...  # an ellipsis: it must be given

    @property
    def flags(self) -> tuple[str, ...]:
        """What is typed for an option."""
        return self.declared.flags or (f"--{self.name.replace('_', '-')}",)


def declared(name: str, annotation: object, default: object) -> Parameter:
    """A parameter, from its ``Annotated`` type."""
    typed, shown = get_args(annotation)
    return Parameter(name, typed, shown, default)


def parameters_of(function: Callable[..., None]) -> list[Parameter]:
    """The declared parameters of a function, in their order."""
    made: Callable[[], list[Parameter]] | None = getattr(function, "parameters", None)
    if made is not None:
        return made()
    code, defaults = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    default_of = dict(zip(reversed(names), reversed(defaults), strict=False))
    hints = get_type_hints(function, include_extras=True)
    return [
        declared(name, hints[name], default_of.get(name, ...))
        for name in names
        if hasattr(hints[name], "__metadata__")
    ]


class UsageError(Exception):
    """A command line that cannot be understood, and what to type instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message: Final = message
        self.hint: Final = hint


class Exit(Exception):
    """Ends a verb with an exit code, after its answer."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code: Final = code


class Abort(Exception):
    """Ends a verb because a person declined."""
