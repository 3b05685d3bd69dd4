"""The clients of the MCP server, and where each of them keeps its settings.

Responsible for finding a client's file and for its content with or without our entry. Leaves the
text to ``json_text`` and ``toml_text``, and writing it to ``changes``. Invariants: every other
character of a file stays unchanged; a file that cannot be parsed is refused, with the lines to
paste by hand.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Literal, NamedTuple

from recollect.config import project_root
from recollect.errors import ConfigError, InvalidInput
from recollect.interfaces.cli.assistants import json_text, toml_text
from recollect.interfaces.cli.assistants.changes import Change, content
from recollect.interfaces.cli.assistants.program import guarded, is_exposed

Name = Literal[
    "claude-code",
    "claude-desktop",
    "cursor",
    "vscode",
    "codex",
    "gemini-cli",
    "windsurf",
    "zed",
    "opencode",
    "jetbrains",
]
Entry = dict[str, object]

HELP: Final = (
    "claude-code, claude-desktop, cursor, vscode, codex, gemini-cli, windsurf, zed, opencode or "
    "jetbrains."
)
OURS: Final = "recollect"
_WORKSPACE: Final = ["--folder", "${workspaceFolder}"]  # both editors replace it with the folder
_SECTIONS: Final = {
    "vscode": "servers",
    "codex": "mcp_servers",
    "zed": "context_servers",
    "opencode": "mcp",
}
_TYPED: Final = ("claude-code", "cursor", "vscode")  # their entries name the transport


class Place(NamedTuple):
    """A client's file, and the object in it that lists servers."""

    client: str
    file: Path
    section: str
    is_project: bool

    @property
    def text(self) -> ModuleType:
        """What edits a file of its format."""
        return toml_text if self.file.suffix == ".toml" else json_text


def files(client: Name, *, here: Path, home: Path, config: Path) -> tuple[Path | None, Path]:
    """The files a client reads: for the project, if there is one, and for all of a user's."""
    root = project_root(here, home)
    # These programs use ~/.config on macOS, too.
    dots = home / ".config" if config.is_relative_to(home / "Library") else config
    found: dict[str, tuple[Path | None, Path]] = {
        "claude-code": (root / ".mcp.json", home / ".claude.json"),
        "claude-desktop": (None, config / "Claude" / "claude_desktop_config.json"),
        "cursor": (root / ".cursor" / "mcp.json", home / ".cursor" / "mcp.json"),
        "vscode": (root / ".vscode" / "mcp.json", config / "Code" / "User" / "mcp.json"),
        "codex": (root / ".codex" / "config.toml", home / ".codex" / "config.toml"),
        "gemini-cli": (root / ".gemini" / "settings.json", home / ".gemini" / "settings.json"),
        "windsurf": (None, home / ".codeium" / "windsurf" / "mcp_config.json"),
        "zed": (root / ".zed" / "settings.json", dots / "zed" / "settings.json"),
        "opencode": (_either(root), _either(dots / "opencode")),
        "jetbrains": (root / ".junie" / "mcp" / "mcp.json", home / ".junie" / "mcp" / "mcp.json"),
    }
    return found[client]


def _either(folder: Path) -> Path:
    """opencode reads either name; the one that exists is edited."""
    commented = folder / "opencode.jsonc"
    return commented if commented.exists() else folder / "opencode.json"


def place(
    client: Name, *, project: bool, user: bool, here: Path, home: Path, config: Path
) -> Place:
    """The file a client reads, for one project or for all of a user's projects."""
    if project and user:
        raise InvalidInput(
            "--project and --user exclude each other", hint="give at most one of them"
        )
    shared, own = files(client, here=here, home=home, config=config)
    if project and shared is None:
        raise InvalidInput(f"{client} has no settings for a project", hint="leave --project out")
    file = shared if project and shared is not None else own
    return Place(client, file, _SECTIONS.get(client, "mcpServers"), project)


def entry(place: Place, command: str, args: list[str], options: list[str]) -> Entry:
    """The entry for a client's settings."""
    folder = _WORKSPACE if place.is_project and place.client in ("cursor", "vscode") else []
    words = [*args, "mcp", *folder, *options]
    if place.client == "opencode":
        return {"type": "local", "command": [command, *words], "enabled": True}
    told: Entry = {"type": "stdio"} if place.client in _TYPED else {}
    return {**told, "command": command, "args": words}


def found(place: Place) -> Entry | None:
    """Our entry in a client's file, or None; a file that cannot be parsed is refused."""
    before = content(place.file)
    if before is None or not before.strip():
        return None
    told = _parsed(_decoded(before, place, {}), place, {}).get(place.section, {}).get(OURS)
    return told if isinstance(told, dict) else None


def words(told: Entry) -> list[str]:
    """The command line that an entry starts."""
    command, args = told.get("command"), told.get("args")
    first = command if isinstance(command, list) else [command]
    return [str(word) for word in (*first, *(args if isinstance(args, list) else []))]


def addition(place: Place, told: Entry) -> Change:
    """The file with our entry in it."""
    before = content(place.file)
    text = _decoded(before, place, told)
    if not text.strip() and place.text is json_text:
        fresh = json.dumps({place.section: {OURS: told}}, indent=2) + "\n"
        return Change(place.file, before, fresh.encode())
    whole = _parsed(text, place, told)
    there = whole.get(place.section, {})
    # A table of TOML keeps what a person added to it, such as a timeout.
    ours = {**there.get(OURS, {}), **told} if place.text is toml_text else told
    wanted = {**whole, place.section: {**there, OURS: ours}}
    after = place.text.with_member(text, place.section, OURS, told)
    _check(place, after, wanted, told)
    return Change(place.file, before, before if whole == wanted else after.encode())


def removal(place: Place) -> Change:
    """The file without the entry of our name, even if this program did not write it."""
    before = content(place.file)
    if before is None or not before.strip():
        return Change(place.file, before, before)
    text = _decoded(before, place, {})
    whole = _parsed(text, place, {})
    if OURS not in whole.get(place.section, {}):
        return Change(place.file, before, before)
    after = place.text.without_member(text, place.section, OURS)
    del whole[place.section][OURS]
    if place.text is toml_text and not whole[place.section]:
        del whole[place.section]  # a table without lines is not there
    _check(place, after, whole, {})
    return Change(place.file, before, after.encode())


def _check(place: Place, after: str, wanted: dict[str, Any], told: Entry) -> None:
    """Refuses a text that does not mean what was wanted."""
    try:
        is_wanted = place.text.parse(after) == wanted
    except ValueError:
        is_wanted = False
    if not is_wanted:
        raise _refusal(place, told)


def repair(place: Place) -> Change:
    """The file with an entry that imports nothing from the current folder."""
    told, before = found(place), content(place.file)
    args = None if told is None else told.get("args")
    if told is None or not isinstance(args, list):
        return Change(place.file, before, before)
    words = [str(told.get("command")), *map(str, args)]
    if not is_exposed(words):
        return Change(place.file, before, before)
    return addition(place, {**told, "args": guarded(words)[1:]})


# Reading, and what is refused.


def _decoded(data: bytes | None, place: Place, told: Entry) -> str:
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as error:
        raise _refusal(place, told) from error


def _parsed(text: str, place: Place, told: Entry) -> dict[str, Any]:
    """The parsed file."""
    try:
        whole = place.text.parse(text)
    except (ValueError, RecursionError) as error:
        raise _refusal(place, told) from error
    if not isinstance(whole, dict) or not isinstance(whole.get(place.section, {}), dict):
        raise _refusal(place, told)
    return whole


def _refusal(place: Place, told: Entry) -> ConfigError:
    if place.text is toml_text:
        snippet = toml_text.with_member("", place.section, OURS, told).strip()
        return ConfigError(
            f"{place.file} could not be edited and was left unchanged",
            hint=f"change it by hand: {snippet}",
        )
    snippet = json.dumps({OURS: told}, indent=2)[1:-1].strip() if told else f'"{OURS}"'
    return ConfigError(
        f"{place.file} is not valid JSON and was left unchanged",
        hint=f"change it by hand: under {place.section!r}, {snippet}",
    )
