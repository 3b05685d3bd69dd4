"""The formats that can be imported, and how each is recognized.

Responsible for the list. Leaves each format to the module of its name. Invariant: a format is
imported only when it is asked for or recognized.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Final, NamedTuple, cast

from recollect.errors import InvalidInput
from recollect.exchange.items import Found, Source

HEAD_BYTES: Final = 65_536
Importer = Callable[[Sequence[Source]], Iterator[Found]]
Recognizes = Callable[[str, bytes], bool]

# In the order in which they are tried: the strictest first.
FORMATS: Final = {
    "recollect": "own",
    "chrono": "chrono",
    "specsmith": "specsmith",
    "markitect": "markitect",
    "stargraph": "stargraph",
    "elfmem": "elfmem",
    "mcp-memory": "mcp_memory",
    "claude-code": "claude_code",
    "codex": "codex",
    "chatgpt": "chatgpt",
    "claude": "claude",
    "mem0": "mem0",
    "openchronicle": "openchronicle",
    "basic-memory": "basic_memory",
    "markdown": "markdown",
}


class Format(NamedTuple):
    """One format: its name, whether a file is of it, and what is in its files."""

    name: str
    recognizes: Recognizes  # the name of a file, and its first bytes
    read: Importer
    is_whole: bool  # a file has all that is there, so that what it lacks is reported


def format_named(name: str) -> Format:
    """A format by name."""
    if name not in FORMATS:
        raise InvalidInput(
            f"{name!r} is not a format that can be imported", hint=f"use one of: {listed()}"
        )
    module = import_module(f"recollect.exchange.importers.{FORMATS[name]}")
    return Format(
        name,
        cast(Recognizes, module.recognizes),
        cast(Importer, module.read),
        getattr(module, "IS_WHOLE", False),
    )


def recognized(files: Sequence[tuple[str, bytes]]) -> Format | None:
    """The format of some files, each given by its name and first bytes; None if it is unknown."""
    for name in FORMATS:
        found = format_named(name)
        if any(found.recognizes(*file) for file in files):
            return found
    return None


def listed() -> str:
    """The names of all formats, for people."""
    return ", ".join(FORMATS)
