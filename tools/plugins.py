"""Writes the plugins for Claude Code and Codex and the extension for Gemini CLI.

    python -m tools.plugins           writes plugins/
    python -m tools.plugins --check   fails if what is there differs

Responsible for every file in ``plugins`` but the words, which are in ``plugins/words``. Leaves what
a hook runs to ``hook_settings`` and what the server is called to ``interfaces.mcp.lists``.
Invariants: the same words and code give the same bytes; a command starts no program with what a
person typed after it; a file that is not written here is not there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from recollect import __version__
from recollect.interfaces.cli.assistants.hook_settings import Assistant, moments
from recollect.interfaces.mcp.lists import NAME

FOLDER: Final = Path(__file__).resolve().parent.parent / "plugins"
WORDS: Final = FOLDER / "words"
ABOUT: Final = "A memory that you can read, correct and undo, in one local folder."
MISSING: Final = (
    "Recollect is not on PATH, so this session has no memory. "
    "Install it, for example with: pipx install recollect"
)
_BY: Final = {"name": "Recollect"}
_LICENSE: Final = "Apache-2.0"
_SERVERS: Final = {"mcpServers": {NAME: {"command": NAME, "args": ["mcp"]}}}
_SKILL: Final = (
    "When and how to use the memory of the user and this project. Use it when the user states or "
    "corrects a fact, a preference or a decision, or asks about an earlier session."
)


class Command(NamedTuple):
    """A command that a person can give, and what Claude Code may do for it without asking."""

    about: str
    allowed: str


COMMANDS: Final[Mapping[str, Command]] = {
    "recall": Command(
        "Search the memory, or show what it holds.", f"mcp__plugin_{NAME}_{NAME}__recall"
    ),
    "review": Command("Show what waits for your review.", "Bash(recollect review list)"),
    "undo": Command("Take back the last change of the memory.", "Bash(recollect undo --dry-run)"),
}


def files() -> dict[str, str]:
    """Every file, by its path in the folder."""
    return {**_markets(), **dict(_claude_code()), **dict(_codex()), **dict(_gemini_cli())}


def stale(folder: Path = FOLDER) -> list[str]:
    """The files that differ from what they should be, are missing, or should not be there."""
    wanted = files()
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    ours = {name for name in found if not name.startswith("words/")}
    changed = {
        name
        for name, text in wanted.items()
        if name in found and (folder / name).read_text("utf-8") != text
    }
    return sorted(changed | (ours ^ wanted.keys()))


def _markets() -> dict[str, str]:
    """The lists of plugins that Claude Code and Codex install from."""
    about = {"name": NAME, "description": ABOUT, "version": __version__}
    claude_code = {
        "name": NAME,
        "owner": _BY,
        "metadata": {"description": ABOUT},
        "plugins": [about | {"source": "./claude-code"}],
    }
    policy = {"installation": "AVAILABLE", "authentication": "ON_INSTALL"}
    source = {"source": "local", "path": "./codex"}
    listed = {"name": NAME, "source": source, "policy": policy, "category": "Productivity"}
    codex = {"name": NAME, "interface": {"displayName": "Recollect"}, "plugins": [listed]}
    return {
        ".claude-plugin/marketplace.json": _json(claude_code),
        ".agents/plugins/marketplace.json": _json(codex),
    }


def _claude_code() -> Iterator[tuple[str, str]]:
    at = "claude-code"
    told = _manifest() | {"author": _BY, "license": _LICENSE}
    yield f"{at}/.claude-plugin/plugin.json", _json(told)
    yield f"{at}/.mcp.json", _json(_SERVERS)
    yield f"{at}/hooks/hooks.json", _hooks("claude-code")
    yield f"{at}/skills/memory/SKILL.md", _skill("memory", _SKILL, _word("skill"))
    for name, command in COMMANDS.items():
        asks = name == "recall"
        head = {
            "description": command.about,
            **({"argument-hint": "[question]"} if asks else {}),
            "allowed-tools": command.allowed,
            "disable-model-invocation": "true",
        }
        yield f"{at}/commands/{name}.md", _front(head, _asked(name, "$ARGUMENTS"))


def _codex() -> Iterator[tuple[str, str]]:
    """It has no commands of a plugin; a person names a skill instead: ``$recollect:undo``."""
    at = "codex"
    interface = {
        "displayName": "Recollect",
        "shortDescription": ABOUT,
        "developerName": _BY["name"],
        "category": "Productivity",
    }
    told = _manifest() | {
        "author": _BY,
        "license": _LICENSE,
        "skills": "./skills/",
        "mcpServers": "./.mcp.json",
        "hooks": "./hooks/hooks.json",
        "interface": interface,
    }
    yield f"{at}/.codex-plugin/plugin.json", _json(told)
    yield f"{at}/.mcp.json", _json(_SERVERS)
    yield f"{at}/hooks/hooks.json", _hooks("codex")
    yield f"{at}/skills/memory/SKILL.md", _skill("memory", _SKILL, _word("skill"))
    for name, command in COMMANDS.items():
        yield f"{at}/skills/{name}/SKILL.md", _skill(name, command.about, _word(name))
        yield f"{at}/skills/{name}/agents/openai.yaml", _NAMED_ONLY


_NAMED_ONLY: Final = "policy:\n  allow_implicit_invocation: false\n"


def _gemini_cli() -> Iterator[tuple[str, str]]:
    at = "gemini-cli"
    yield f"{at}/gemini-extension.json", _json(_manifest() | _SERVERS)
    yield f"{at}/hooks/hooks.json", _hooks("gemini-cli")
    yield f"{at}/skills/memory/SKILL.md", _skill(f"{NAME}-memory", _SKILL, _word("skill"))
    for name, command in COMMANDS.items():
        text = _asked(name, "{{args}}")
        told = f"description = {json.dumps(command.about)}\nprompt = '''\n{text}'''\n"
        yield f"{at}/commands/{NAME}/{name}.toml", told


def _manifest() -> dict[str, Any]:
    return {"name": NAME, "version": __version__, "description": ABOUT}


def _hooks(assistant: Assistant) -> str:
    """What `recollect hooks install` writes, for a program that is found on PATH."""
    told: dict[str, object] = {}
    for moment, (what, timeout) in moments(assistant).items():
        command = _shell(f"{NAME} {what} --plugin={assistant}", tells=moment == "SessionStart")
        told[moment] = [{"hooks": [{"type": "command", "command": command, "timeout": timeout}]}]
    return _json({"description": "Adds memory to sessions and stores them.", "hooks": told})


def _shell(command: str, *, tells: bool) -> str:
    """A line for any shell, which ends well even if the command is missing or another release's.

    Exit code 2 would stop a prompt.
    """
    said = json.dumps(json.dumps({"systemMessage": MISSING}))
    missing = f"{{ echo {said}; exit 0; }}" if tells else "exit 0"
    return f"sh -c 'command -v {NAME} >/dev/null || {missing}; {command} || true'"


def _asked(name: str, typed: str) -> str:
    """The words of a command, and after them what the person typed, where it takes something."""
    return _word(name) + (f"\nThe question: {typed}\n" if name == "recall" else "")


def _skill(name: str, about: str, text: str) -> str:
    return _front({"name": name, "description": about}, text)


def _front(head: Mapping[str, str], text: str) -> str:
    lines = "".join(f"{name}: {value}\n" for name, value in head.items())
    return f"---\n{lines}---\n\n{text}"


def _word(name: str) -> str:
    return (WORDS / f"{name}.md").read_text("utf-8")


def _json(told: object) -> str:
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Writes, or checks."""
    found = stale()
    if "--check" in sys.argv[1:]:
        sys.exit(f"out of date: {', '.join(found)}; run `make reference`" if found else 0)
    wanted = files()
    for name in found:
        path = FOLDER / name
        if name not in wanted:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted[name], "utf-8")


if __name__ == "__main__":
    main()
