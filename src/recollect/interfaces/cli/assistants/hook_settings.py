"""The hooks in an assistant's settings: adding, removing and repairing our commands.

Responsible for choosing the file and for its text with or without our commands. Leaves writing it
to ``changes``. Invariant: all other settings stay unchanged.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any, Final, Literal

from recollect.config import project_root
from recollect.errors import ConfigError, InvalidInput, RecollectError
from recollect.interfaces.cli.assistants import changes
from recollect.interfaces.cli.assistants.changes import Change
from recollect.interfaces.cli.assistants.program import guarded_text, is_exposed
from recollect.places.consent import PROMPTS, Prompts

Settings = dict[str, Any]

_CONTEXT: Final = "context --hook"
_CAPTURE: Final = "hooks capture --hook"
_PROMPTS: Final = "--prompts="
Assistant = Literal["claude-code", "codex", "gemini-cli"]
# For each hook event: our command, and the time after which the assistant stops waiting: seconds,
# for Gemini CLI milliseconds. That one tells of each request that it might compact the talk.
_MOMENTS: Final[dict[Assistant, dict[str, tuple[str, int]]]] = {
    "claude-code": {
        "SessionStart": (_CONTEXT, 10),
        "UserPromptSubmit": (_CONTEXT, 10),
        "PreCompact": (_CAPTURE, 60),
        "SessionEnd": (_CAPTURE, 60),
    },
    "codex": {
        "SessionStart": (_CONTEXT, 10),
        "UserPromptSubmit": (_CONTEXT, 10),
        "PreCompact": (_CAPTURE, 60),
        "SessionEnd": (_CAPTURE, 60),
    },
    "gemini-cli": {
        "SessionStart": (_CONTEXT, 10_000),
        "BeforeAgent": (_CONTEXT, 10_000),
        "SessionEnd": (_CAPTURE, 60_000),
    },
}
_EVENTS: Final = tuple(dict.fromkeys(event for each in _MOMENTS.values() for event in each))
_FILES: Final = {"codex": (".codex", "hooks.json"), "gemini-cli": (".gemini", "settings.json")}
_OURS: Final = re.compile(r"recollect\b")
_VERB: Final = re.compile(r" (?:context|capture(?: claude-code)?) --hook\b")
_COMMAND_MAX_CHARS: Final = 4_096  # ours are shorter


def place(
    *, project: bool, user: bool, here: Path, home: Path, assistant: Assistant = "claude-code"
) -> Path:
    """The settings file; by default the person's own, of Claude Code those for this project.

    Those affect neither other people in the project nor other projects.
    """
    if project and user:
        raise InvalidInput(
            "--project and --user exclude each other", hint="give at most one of them"
        )
    root = project_root(here, home)
    if assistant != "claude-code":
        folder, name = _FILES[assistant]
        return (root if project else home) / folder / name
    if user:
        return home / ".claude" / "settings.json"
    return root / ".claude" / ("settings.json" if project else "settings.local.json")


def places(here: Path, home: Path) -> Iterator[tuple[Assistant, Path]]:
    """Every file that may hold our commands."""
    for assistant in _MOMENTS:
        for project, user in ((False, False), (True, False), (False, True)):
            if assistant == "claude-code" or not user:  # the others have no file between
                yield (
                    assistant,
                    place(project=project, user=user, here=here, home=home, assistant=assistant),
                )


def addition(
    file: Path, words: str, assistant: Assistant = "claude-code", prompts: Prompts = "quoting"
) -> Change:
    """The file with our commands in it, replacing earlier ones."""
    return _edited(file, lambda settings: _put_in(settings, words, assistant, prompts))


def removal(file: Path) -> Change:
    """The file without our commands."""
    return _edited(file, _taken_out)


def found(file: Path) -> dict[str, str]:
    """Our command at each event, if the file has one."""
    before = changes.content(file)
    settings = _parsed(file, before) if before and before.strip() else {}
    with suppress(AttributeError, KeyError, TypeError):  # hooks of another form are not ours
        return {
            moment: str(hook["command"])
            for moment in _EVENTS
            for group in settings.get("hooks", {}).get(moment, [])
            for hook in group["hooks"]
            if _is_ours(hook)
        }
    return {}


def answers(assistant: str, event: str, here: Path, home: Path) -> bool:
    """True if a command of ours in the assistant's settings answers this event."""
    for each, file in places(here, home):
        with suppress(OSError, RecollectError):  # what cannot be read, the assistant does not run
            if each == assistant and event in found(file):
                return True
    return False


def moments(assistant: Assistant) -> dict[str, tuple[str, int]]:
    """For each event of an assistant, our command and the time after which it stops waiting."""
    return _MOMENTS[assistant]


def repair(file: Path) -> Change:
    """The file with commands that import nothing from the current folder."""
    return _edited(file, _guarded)


def _guarded(settings: Settings) -> None:
    for moment in _EVENTS:
        for group in settings.get("hooks", {}).get(moment, []):
            for hook in group["hooks"]:
                command = str(hook.get("command"))
                if _is_ours(hook) and is_exposed(words_of(command)):
                    hook["command"] = guarded_text(command)


def _is_ours(hook: Settings) -> bool:
    command = str(hook.get("command"))
    name = _OURS.search(command) if len(command) <= _COMMAND_MAX_CHARS else None
    return name is not None and _VERB.search(command, name.end()) is not None


def words_of(command: str) -> list[str]:
    """The words of a command line."""
    try:
        return shlex.split(command)
    except ValueError:  # a quote that is never closed
        return command.split()


def prompts_of(file: Path) -> Prompts | None:
    """What our commands in a file say becomes of prompts; None if it has none."""
    for command in found(file).values():
        _, _, said = command.partition(_PROMPTS)
        return next((each for each in PROMPTS if said.split()[:1] == [each]), "quoting")
    return None


def _put_in(settings: Settings, words: str, assistant: Assistant, prompts: Prompts) -> None:
    """Adds our commands to their events, replacing earlier ones."""
    _taken_out(settings)
    hooks = settings.setdefault("hooks", {})
    more = "" if prompts == "quoting" else f" {_PROMPTS}{prompts}"
    for moment, (what, timeout_s) in _MOMENTS[assistant].items():
        told = {"type": "command", "command": f"{words} {what}{more}", "timeout": timeout_s}
        hooks.setdefault(moment, []).append({"hooks": [told]})


def _taken_out(settings: Settings) -> None:
    """Removes our commands, and whatever is empty after that."""
    hooks = settings.get("hooks", {})
    for moment in _EVENTS:
        groups = hooks.get(moment, [])
        kept = [group for group in map(_without_ours, groups) if group["hooks"]]
        if kept != groups:
            hooks[moment] = kept
        if moment in hooks and not hooks[moment]:
            del hooks[moment]
    if not hooks:
        settings.pop("hooks", None)


def _without_ours(group: Settings) -> Settings:
    kept = [hook for hook in group["hooks"] if not _is_ours(hook)]
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
