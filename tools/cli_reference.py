"""The page docs/reference/cli.md, made from the declarations of the commands.

Responsible for one section for each command: how it is called, what it does, its arguments and
options. Leaves writing the page to ``tools.reference``. Invariant: the page says nothing that
``recollect COMMAND --help`` does not say, except where an option that every command has is
listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from recollect.interfaces import cli
from recollect.interfaces.cli.call import Verb, shared_parameters
from recollect.interfaces.cli.commands import HEADINGS, Entry, Group, verb_at
from recollect.interfaces.cli.declare import Parameter

_HEAD: Final = """\
# The command line

Made by `make reference` from the declarations of the commands; do not edit it. `recollect help`
lists the commands, `recollect help all` those of the groups as well, and `recollect help COMMAND`
prints what this page says about one. Arguments in brackets may be left out.

`recollect --install-completion` lets the Tab key complete commands and options in bash, zsh and
fish; `recollect --show-completion` prints what that writes.

## Options of every command

They may stand before the command or after it. Before it, `--debug` shows the traceback of an
unexpected error and `--version` prints the version. [Settings](settings.md) explains where a memory
is found.
"""
_CODES_HEAD: Final = """\
## Exit codes

| code | meaning |
|---|---|"""

_DEFAULT: Final = re.compile(r"\s*\[default(?:: (.*))?\]$")
_CODE: Final = re.compile(r" +(\d+) +(.+)")


def page() -> str:
    """The text of the page."""
    parts = [_HEAD, *_table(shared_parameters()), ""]
    for heading, commands in HEADINGS.items():
        parts += [f"## {heading}", "", *_sections(commands, "")]
    return "\n".join([*parts, _CODES_HEAD, *_codes(), ""])


def _sections(commands: Mapping[str, Entry], group: str) -> Iterator[str]:
    """The sections of some commands, and of the commands of a group in its place."""
    for name, entry in commands.items():
        path = f"{group} {name}".strip()
        if not isinstance(entry, Group):
            yield from _section(path, verb_at(entry, name))
            continue
        if entry.alone:
            yield from _section(path, verb_at(entry.alone, name))
        else:
            yield from (f"### {path}", "", entry.about, "")
        yield from _sections(entry.commands, path)


def _section(path: str, verb: Verb) -> Iterator[str]:
    shared = shared_parameters()
    own = [one for one in verb.parameters() if one not in shared]
    arguments = [one.declared.metavar or "" for one in own if not one.declared.is_option]
    options = ["[OPTIONS]"] if len(own) > len(arguments) else []
    usage = " ".join(["recollect", path, *arguments, *options])
    yield from (f"### {path}", "", f"`{usage}`", "", _plain(verb.function.__doc__ or ""), "")
    if own:
        yield from (*_table(own), "")


def _table(parameters: Sequence[Parameter]) -> Iterator[str]:
    yield from ("| | |", "|---|---|")
    for one in parameters:
        yield f"| `{_cell(_shown(one))}` | {_cell(_meaning(one))} |"


def _shown(one: Parameter) -> str:
    """What is typed: an argument, or the flags of an option with the form of its value."""
    if not one.declared.is_option:
        return one.declared.metavar or one.name
    return " ".join([", ".join(one.flags), *_form(one)])


def _form(one: Parameter) -> Iterator[str]:
    if one.declared.metavar:
        yield one.declared.metavar
    elif one.typed is not bool:
        kind = _without_none(one.typed)
        yield "|".join(get_args(kind)) if get_origin(kind) is Literal else kind.__name__.upper()


def _without_none(typed: Any) -> Any:
    if get_origin(typed) not in (Union, UnionType):
        return typed
    return next(one for one in get_args(typed) if one is not NoneType)


def _meaning(one: Parameter) -> str:
    """The help of a parameter, and what it is if it is left out or must not be."""
    help = one.declared.help
    text = help if isinstance(help, str) else help()
    said = _DEFAULT.search(text)
    if said is not None:
        return f"{text[: said.start()]} {f'Default: {said[1]}.' if said[1] else 'The default.'}"
    if one.default is ...:
        return f"{text} Required." if one.declared.is_option else text
    is_none = one.default is None or one.default is False or one.default == ""
    return text if is_none else f"{text} Default: {one.default}."


def _plain(text: str) -> str:
    """The first paragraph of a docstring, as one line."""
    return " ".join(text.partition("\n\n")[0].split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _codes() -> Iterator[str]:
    """The exit codes, as the command line's own documentation lists them."""
    for line in (cli.__doc__ or "").splitlines():
        if found := _CODE.fullmatch(line):
            yield f"| {found[1]} | {found[2]} |"
