"""The words of a command line as values.

Responsible for options and arguments as they are declared, and for saying what is wrong with them.
Leaves finding the command to ``commands``. Invariants: an option may stand anywhere among the
arguments; behind ``--`` every word is an argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from recollect.interfaces.cli.declare import Parameter, UsageError

_TEXTS: Final = ("TEXT", "[TEXT]", "QUERY", "[QUERY]")


def values(parameters: Sequence[Parameter], words: Sequence[str], line: str) -> dict[str, Any]:
    """The value of each parameter; ``line`` is the command up to these words, for errors."""
    return _Words(parameters, words, line).values()


def kind_of(typed: Any) -> Any:
    """A type without the None that stands for an option left out."""
    if get_origin(typed) not in (Union, UnionType):
        return typed
    (kind,) = (one for one in get_args(typed) if one is not NoneType)
    return kind


def is_several(one: Parameter) -> bool:
    """True if a parameter takes more than one value."""
    return get_origin(kind_of(one.typed)) is list


def flags_of(parameters: Sequence[Parameter]) -> dict[str, Parameter]:
    """The options by what is typed for them."""
    return {flag: one for one in parameters if one.declared.is_option for flag in one.flags}


def after_options(parameters: Sequence[Parameter], words: Sequence[str]) -> int:
    """Where the first word stands that is neither an option nor its value."""
    flags = flags_of(parameters)
    place = 0
    while place < len(words) and words[place].startswith("-"):
        one = flags.get(words[place])
        place += 2 if one is not None and one.typed is not bool else 1
    return min(place, len(words))


class _Words:
    """The words of one command line, from left to right."""

    def __init__(self, parameters: Sequence[Parameter], words: Sequence[str], line: str) -> None:
        self._parameters = parameters
        self._flags = flags_of(parameters)
        self._arguments = [one for one in parameters if not one.declared.is_option]
        self._rest = list(words)
        self._line = line
        self._found: dict[str, Any] = {
            one.name: one.default for one in parameters if one.default is not ...
        }

    def values(self) -> dict[str, Any]:
        """Each value by the name of its parameter."""
        while self._rest:
            word = self._rest.pop(0)
            if word == "--":
                while self._rest:
                    self._argument(self._rest.pop(0))
            elif word.startswith("--"):
                self._long(word)
            elif word.startswith("-") and word != "-":
                self._short(word)
            else:
                self._argument(word)
        for one in self._parameters:
            if one.default is ... and one.name not in self._found:
                raise self._error(f"{_shown(one)} is missing")
        return self._found

    def _argument(self, word: str) -> None:
        if not self._arguments:
            raise self._error(f"one word too many: {word!r}", self._hint_of_a_text())
        one = self._arguments[0]
        if is_several(one):
            self._found[one.name] = [*(self._found.get(one.name) or ()), word]
        else:
            self._found[one.name] = self._value(self._arguments.pop(0), word)

    def _long(self, word: str) -> None:
        """``--name value``, ``--name=value`` or a flag."""
        name, has_value, value = word.partition("=")
        one = self._option(name)
        if one.typed is not bool:
            self._keep(one, value if has_value else self._next(name))
        elif has_value:
            raise self._error(f"{name} takes no value")
        else:
            self._found[one.name] = True

    def _short(self, word: str) -> None:
        """``-n value``, ``-nvalue``, or one or several flags."""
        name, value = word[:2], word[2:]
        one = self._option(name, word)
        if one.typed is not bool:
            self._keep(one, value or self._next(name))
            return
        self._found[one.name] = True
        if value:
            self._short(f"-{value}")

    def _option(self, name: str, word: str | None = None) -> Parameter:
        """The option of a name; ``word`` is all that was typed."""
        if name in self._flags:
            return self._flags[name]
        message = f"unknown option {word or name}"
        is_text = any(one.declared.metavar in _TEXTS for one in self._arguments)
        if is_text and not name.startswith("--"):
            import shlex  # only a mistake needs it

            line = f"{self._line} -- {shlex.quote(word or name)}"
            raise self._error(message, f"put -- before a text that begins with a dash: {line}")
        raise self._error(message, _nearest(name, self._flags))

    def _next(self, name: str) -> str:
        """The word behind an option; another option there means that the value was left out."""
        if not self._rest or self._rest[0].partition("=")[0] in (*self._flags, "--", "--help"):
            raise self._error(f"{name} needs a value")
        return self._rest.pop(0)

    def _keep(self, one: Parameter, word: str) -> None:
        if is_several(one):
            self._found[one.name] = [*(self._found[one.name] or ()), word]
        else:
            self._found[one.name] = self._value(one, word)

    def _value(self, one: Parameter, word: str) -> object:
        """A word as a value of a parameter's type."""
        kind, name = kind_of(one.typed), _shown(one)
        if get_origin(kind) is Literal:
            if word not in get_args(kind):
                raise self._error(f"{name}: {word!r} is not one of {', '.join(get_args(kind))}")
            return word
        if kind is str:
            return word
        try:
            number = kind(word)
        except ValueError:
            what = "a whole number" if kind is int else "a number"
            raise self._error(f"{name}: {word!r} is not {what}") from None
        least, most = one.declared.min, one.declared.max
        if (least is not None and number < least) or (most is not None and number > most):
            raise self._error(f"{name}: {word} is not {_range(least, most)}")
        return number

    def _hint_of_a_text(self) -> str | None:
        taken = [one for one in self._parameters if not one.declared.is_option]
        if any(one.declared.metavar in _TEXTS for one in taken):
            before = [one.declared.metavar or "" for one in taken[:-1]]
            line = " ".join([self._line, *before])
            return f'put a text of several words in quotes: {line} "two words"'
        if self._line.endswith(" erase"):
            return "give one id; to erase several at once, use --filter, --about or --user"
        return None

    def _error(self, message: str, hint: str | None = None) -> UsageError:
        return UsageError(message, hint or f"run `{self._line} --help` to see the usage")


def _shown(one: Parameter) -> str:
    """How a parameter is named in an error."""
    return one.flags[0] if one.declared.is_option else (one.declared.metavar or one.name)


def _range(least: int | None, most: int | None) -> str:
    if most is None:
        return f"{least} or more"
    return f"{most} or less" if least is None else f"from {least} to {most}"


def _nearest(name: str, flags: dict[str, Parameter]) -> str | None:
    from difflib import get_close_matches  # only a mistake needs it

    near = get_close_matches(name, flags, n=2)
    return f"did you mean {' or '.join(near)}?" if near else None
