"""The knobs of the writer: ``[writer]`` in ``config.toml`` beside the folder of the files.

Responsible for reading them. Leaves what they mean to the memory, which keeps them as its limits.
Invariants: the file is only read; nothing else in it is looked at.
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
