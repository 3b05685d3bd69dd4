"""What a model that writes is told, and its knobs: ``[writer]`` in ``config.toml``.

Responsible for the text about how a memory is organized, and for reading the knobs from the file
beside the folder of the pages. Leaves what they mean to the memory, which keeps them as its limits.
Invariants: the text holds nothing from any memory; the file is only read, and nothing else in it.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

from recollect.errors import ConfigError, Forbidden
from recollect.memory import Memory
from recollect.model.values import PageLimits
from recollect.store.disk.regular_files import read_regular

CONFIG: Final = "config.toml"
_SECTION: Final = "writer"
_KNOBS: Final = PageLimits.__struct_fields__
_MAX_BYTES: Final = 65_536


def read_knobs(path: Path) -> dict[str, int]:
    """The knobs that a file sets; none if it is not there."""
    try:
        text = read_regular(path, _MAX_BYTES).decode()
        section = tomllib.loads(text).get(_SECTION, {})
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:  # what is not UTF-8 or not TOML is a ValueError
        raise ConfigError(f"{path} cannot be read: {error}", hint="correct or remove it") from error
    if not isinstance(section, dict):
        raise ConfigError(f"`{_SECTION}` in {path} is not a section", hint=f"write [{_SECTION}]")
    return {name: section[name] for name in _KNOBS if name in section}


def apply_knobs(memory: Memory, knobs: dict[str, int]) -> tuple[str, ...]:
    """Makes them the limits of the memory, or advises that a person set others."""
    limits = memory.pages.limits()
    if all(getattr(limits, name) == value for name, value in knobs.items()):
        return ()
    try:
        memory.pages.set_limits(**knobs)
    except Forbidden:
        return (f"[{_SECTION}] in {CONFIG} is not used: a person set the limits of this memory",)
    return ()


SCHEMA: Final = """\
# How this memory is organized

One Markdown file for each entity. The prefix of its name says what it is about:

| prefix | what belongs there |
|---|---|
| user- | lasting facts about the user: user-profile.md, user-preferences.md |
| project- | a project with clear boundaries |
| tool- | a program, a service or a command |
| topic- | a field of knowledge, or something followed over time |
| person- | another person |
| org- | a company, a team or an institution |
| event- | one file for each day, event-YYYY-MM-DD.md: what was learned in its sessions |

## Is it worth writing?

1. It passes quickly, was only read, or is written already: write nothing.
2. It is a preference, a decision, progress, or lasting knowledge: go on.

## Which file?

1. It is about the user: user-profile.md, or user-preferences.md for how they want things done.
2. It is about a project, a tool, a topic, a person or an organization: the file of that entity.
3. It only happened on one day: nothing. The file of the day has it.

## How?

1. The file does not exist: create it with a description of one line, then append.
2. It contradicts an entry: supersede that entry, with the reason. Nothing is deleted.
3. It adds something: append.
4. The file has become long: flag_compact.

An entry has 1 to 3 sentences that can be understood without the others, and 1 to 3 tags. Name the
subject ("User prefers tea"), write what is stable in the present tense, and give what happened its
date.
"""
