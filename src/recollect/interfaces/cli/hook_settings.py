"""The hooks in Claude Code's settings: adding, removing and repairing our commands.

Responsible for choosing the file and for its text with or without our commands. Leaves writing it
to ``changes``. Invariant: all other settings stay unchanged.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

from recollect.config import project_root
from recollect.errors import ConfigError, InvalidInput
from recollect.interfaces.cli import changes
from recollect.interfaces.cli.changes import Change
from recollect.interfaces.cli.program import guarded_text, is_exposed

Settings = dict[str, Any]

_CONTEXT: Final = "context --hook"
_CAPTURE: Final = "capture claude-code --hook"
# For each hook event: our command, and the seconds after which the assistant stops waiting.
_MOMENTS: Final = {
    "SessionStart": (_CONTEXT, 10),
    "UserPromptSubmit": (_CONTEXT, 10),
    "PreCompact": (_CAPTURE, 60),
    "SessionEnd": (_CAPTURE, 60),
}
_OURS: Final = re.compile(rf"recollect\b.* (?:{_CONTEXT}|{_CAPTURE})\b")


def place(*, project: bool, user: bool, here: Path, home: Path) -> Path:
    """The settings file; by default the person's own settings for this project.

    Those affect neither other people in the project nor other projects.
    """
    if project and user:
        raise InvalidInput(
            "--project and --user exclude each other", hint="give at most one of them"
        )
    if user:
        return home / ".claude" / "settings.json"
    root = project_root(here, home)
    return root / ".claude" / ("settings.json" if project else "settings.local.json")


def addition(file: Path, words: str) -> Change:
    """The file with our commands in it, replacing earlier ones."""
    return _edited(file, lambda settings: _put_in(settings, words))


def removal(file: Path) -> Change:
    """The file without our commands."""
    return _edited(file, _taken_out)


def repair(file: Path) -> Change:
    """The file with commands that import nothing from the current folder."""
    return _edited(file, _guarded)


def _guarded(settings: Settings) -> None:
    for moment in _MOMENTS:
        for group in settings.get("hooks", {}).get(moment, []):
            for hook in group["hooks"]:
                command = str(hook.get("command"))
                if _OURS.search(command) and is_exposed(_words(command)):
                    hook["command"] = guarded_text(command)


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a quote that is never closed
        return command.split()


def _put_in(settings: Settings, words: str) -> None:
    """Adds our commands to their events, replacing earlier ones."""
    _taken_out(settings)
    hooks = settings.setdefault("hooks", {})
    for moment, (what, timeout_s) in _MOMENTS.items():
        told = {"type": "command", "command": f"{words} {what}", "timeout": timeout_s}
        hooks.setdefault(moment, []).append({"hooks": [told]})


def _taken_out(settings: Settings) -> None:
    """Removes our commands, and whatever is empty after that."""
    hooks = settings.get("hooks", {})
    for moment in _MOMENTS:
        groups = hooks.get(moment, [])
        kept = [group for group in map(_without_ours, groups) if group["hooks"]]
        if kept != groups:
            hooks[moment] = kept
        if moment in hooks and not hooks[moment]:
            del hooks[moment]
    if not hooks:
        settings.pop("hooks", None)


def _without_ours(group: Settings) -> Settings:
    kept = [hook for hook in group["hooks"] if not _OURS.search(str(hook.get("command")))]
    return {**group, "hooks": kept}


def _edited(file: Path, edit: Callable[[Settings], None]) -> Change:
    """The change that an edit makes; the same bytes if the edit changes nothing."""
    before = changes.content(file)
    settings = _parsed(file, before) if before and before.strip() else {}
    wanted = deepcopy(settings)
    try:
        edit(wanted)
    except (AttributeError, KeyError, TypeError) as error:
        raise ConfigError(
            f"the hooks in {file} have an unknown format",
            hint="check the file and correct the hooks first",
        ) from error
    if wanted == settings or (before is None and not wanted):
        return Change(file, before, before)
    indent = re.search(rb'^([ \t]+)"', before or b"", re.MULTILINE)
    text = json.dumps(wanted, indent=indent[1].decode() if indent else 2, ensure_ascii=False)
    end = "\n" if before is None or before.endswith(b"\n") else ""
    return Change(file, before, f"{text}{end}".encode())


def _parsed(file: Path, data: bytes) -> Settings:
    try:
        found = json.loads(data.decode(), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"{file} is not plain JSON and was left unchanged", hint=f"fix it first: {error}"
        ) from error
    if not isinstance(found, dict):
        raise ConfigError(f"{file} does not hold a JSON object", hint="correct the file first")
    return found


def _once(pairs: list[tuple[str, Any]]) -> Settings:
    """An object whose keys are unique; rewriting a duplicate key would lose a value."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate key")
    return found
