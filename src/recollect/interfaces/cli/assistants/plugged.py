"""Our plugins and extensions, which the assistants install themselves: which of them are on.

Responsible for finding them in the assistants' settings. Leaves installing and removing them to the
assistants. Invariants: nothing is changed and nothing is run; settings that cannot be read have
none.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from recollect.errors import RecollectError
from recollect.interfaces.cli.assistants import changes, hook_settings
from recollect.interfaces.cli.assistants.hook_settings import Assistant

COMMAND: Final = "recollect"  # found on PATH
_OURS: Final = "recollect@"  # and the name of the list that it came from


def found(here: Path, home: Path) -> Iterator[tuple[Assistant, Path]]:
    """Each assistant with our plugin, and the file that says it."""
    claude_code = [file for name, file in hook_settings.places(here, home) if name == "claude-code"]
    on = [file for file in claude_code if _says(file, value=True)]
    if on and not any(_says(file, value=False) for file in claude_code):
        yield "claude-code", on[0]
    codex = home / ".codex" / "config.toml"
    if any(told.get("enabled", True) for told in _ours(_read(codex), "plugins")):
        yield "codex", codex
    extension = home / ".gemini" / "extensions" / "recollect" / "gemini-extension.json"
    if extension.is_file():
        yield "gemini-cli", extension


def _says(file: Path, *, value: bool) -> bool:
    return any(told is value for told in _ours(_read(file), "enabledPlugins"))


def _ours(settings: Any, section: str) -> list[Any]:
    """What settings say of our plugin, from each list that it came from."""
    with suppress(AttributeError):  # another form
        return [told for name, told in settings.get(section, {}).items() if name.startswith(_OURS)]
    return []


def _read(file: Path) -> Any:
    with suppress(OSError, ValueError, RecursionError, RecollectError):
        text = (changes.content(file) or b"").decode()
        return tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    return {}
