"""The help: of everything, of a group, of one command.

Responsible for its text. Leaves the commands to ``commands`` and their declarations to the modules
of the commands. Invariants: the help of the whole is one screen of 40 lines and 80 columns; a
character of it that could control a terminal is never printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap
from typing import Final, Literal, get_args, get_origin

from recollect.interfaces.cli import answer, plain
from recollect.interfaces.cli.call import Verb, shared_parameters
from recollect.interfaces.cli.commands import (
    ABOUT,
    BEFORE,
    HEADINGS,
    TOP,
    Entry,
    Group,
    every,
    summary,
    verb_at,
)
from recollect.interfaces.cli.declare import Parameter
from recollect.interfaces.cli.words import kind_of

_MAX_COLUMNS: Final = 100
_LEFT_MAX_COLUMNS: Final = 26
_LEFT_OF_ALL: Final = max(len(name) for name in TOP.commands)
_OPTIONS: Final = "Options: --store PLACE, --space NAME, --json, --debug, --version, --help"
_MORE: Final = "More: recollect help COMMAND, recollect help GROUP, recollect help all"

_COMPLETION: Final = (
    ("--install-completion", "Complete commands and options in your shell, with the Tab key."),
    ("--show-completion", "Print what --install-completion would write for your shell."),
)


def of(path: Sequence[str], entry: Entry) -> str:
    """The help of what a command line names."""
    if entry is TOP:
        return "\n".join(_top())
    if isinstance(entry, Group):
        return "\n".join(_group(path, entry))
    return "\n".join(_command(path, verb_at(entry, path[-1])))


def of_all() -> str:
    """Every command under the name of its group, the options before one, and the exit codes."""
    lines = [ABOUT]
    for heading, part in HEADINGS.items():
        if heading != "Groups":
            alone = [(n, e) for n, e in part.items() if not isinstance(e, Group)]
            lines += ["", plain.bold(f"{heading}:"), *_table(_rows(alone))]
        for name, entry in part.items():
            if isinstance(entry, Group):
                lines += ["", f"{plain.bold(name)}: {entry.about}", *_table(_below(entry))]
    options = [(_form(one), _meaning(one)) for one in (*shared_parameters(), *BEFORE)]
    lines += ["", plain.bold("Options:"), *_table([*options, *_COMPLETION])]
    return "\n".join([*lines, "", answer.EXIT_CODES.rstrip()])


def _top() -> Iterator[str]:
    yield ABOUT
    yield "Usage: recollect [OPTIONS] COMMAND ..."
    for heading, part in HEADINGS.items():
        yield ""
        yield plain.bold(f"{heading}:")
        yield from _table(_rows(part.items()), _LEFT_OF_ALL)
    yield from ("", _OPTIONS, _MORE)


def _group(path: Sequence[str], group: Group) -> Iterator[str]:
    line = " ".join(("recollect", *path))
    yield f"Usage: {line} {'[COMMAND]' if group.alone else 'COMMAND'} ..."
    yield from ("", *_wrapped(group.about, "  "), "", plain.bold("Commands:"))
    yield from _table(_below(group))
    if group.alone:
        verb = verb_at(group.alone, path[-1])
        yield from ("", f"Alone, `{line}` does this:", "")
        yield from _about(verb)
        yield from _parts(verb)


def _command(path: Sequence[str], verb: Verb) -> Iterator[str]:
    own = verb.parameters()
    arguments = [one.declared.metavar or one.name for one in own if not one.declared.is_option]
    yield " ".join(("Usage: recollect", *path, "[OPTIONS]", *arguments))
    yield ""
    yield from _about(verb)
    yield from _parts(verb)


def _about(verb: Verb) -> Iterator[str]:
    """The documentation of a command, in paragraphs."""
    paragraphs = (verb.function.__doc__ or "").split("\n\n")
    for number, text in enumerate(paragraphs):
        if number:
            yield ""
        yield from _wrapped(" ".join(text.split()), "  ")


def _parts(verb: Verb) -> Iterator[str]:
    """The arguments and the options."""
    own = verb.parameters()
    for heading, is_option in (("Arguments:", False), ("Options:", True)):
        rows = [(_form(one), _meaning(one)) for one in own if one.declared.is_option is is_option]
        if is_option:
            rows.append(("-h, --help", "Show this help and exit."))
        if rows:
            yield from ("", plain.bold(heading), *_table(rows))


def _rows(entries: Iterable[tuple[str, Entry]]) -> list[tuple[str, str]]:
    return [(name, summary(entry, name)) for name, entry in entries]


def _below(group: Group) -> list[tuple[str, str]]:
    """The commands of a group, and those of its groups under both names."""
    found = [(words, one) for words, one in every(group) if not isinstance(one, Group)]
    return [(" ".join(words), summary(one, words[-1])) for words, one in found]


def _form(one: Parameter) -> str:
    """What is typed: an argument, or the flags of an option with the form of its value."""
    if not one.declared.is_option:
        return one.declared.metavar or one.name
    return " ".join([", ".join(sorted(one.flags, key=len)), *_value(one)])


def _value(one: Parameter) -> list[str]:
    kind = kind_of(one.typed)
    if one.declared.metavar:
        return [one.declared.metavar]
    if get_origin(kind) is Literal:
        return ["|".join(get_args(kind))]
    return [] if kind is bool else [kind.__name__.upper()]


def _meaning(one: Parameter) -> str:
    """The help, and what holds if the option is left out."""
    declared, default = one.declared, one.default
    text = declared.help if isinstance(declared.help, str) else declared.help()
    if default is ...:
        return f"{text}  [required]" if declared.is_option else text
    is_none = default is None or default is False or default == ""
    if is_none or not declared.show_default or "[default" in text:
        return text
    return f"{text}  [default: {default}]"


def _table(rows: Sequence[tuple[str, str]], left: int = 0) -> Iterator[str]:
    """Two columns; a long name stands on a line of its own."""
    left = left or min(max((len(name) for name, _ in rows), default=0), _LEFT_MAX_COLUMNS)
    for name, text in rows:
        lines = list(_wrapped(text, " " * (left + 4)))
        first = f"  {name:<{left}}"
        if len(name) > left or not lines:
            yield first
        else:
            lines[0] = first + lines[0][len(first) :]
        yield from lines


def _wrapped(text: str, indent: str) -> list[str]:
    columns = min(plain.terminal_columns() or 80, _MAX_COLUMNS)
    room = max(columns, len(indent) + 20)
    return wrap(text, room, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
