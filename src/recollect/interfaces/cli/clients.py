"""The clients of the MCP server, and where each of them keeps its settings.

Responsible for finding a client's file and for its text with or without our entry. Leaves writing
it to ``changes``. Invariants: every other character of a file stays unchanged; a file that is not
plain JSON is refused, with the lines to paste by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from recollect.config import project_root
from recollect.errors import ConfigError, InvalidInput
from recollect.interfaces.cli.changes import Change, content
from recollect.interfaces.cli.program import guarded, is_exposed

Name = Literal["claude-code", "claude-desktop", "cursor", "vscode"]
Entry = dict[str, object]

HELP: Final = "claude-code, claude-desktop, cursor or vscode."
OURS: Final = "recollect"
_WORKSPACE: Final = ["--folder", "${workspaceFolder}"]  # both editors replace it with the folder
_SPACE: Final = " \t\r\n"


class Place(NamedTuple):
    """A client's file, and the object in it that lists servers."""

    client: str
    file: Path
    section: str
    is_project: bool


class Member(NamedTuple):
    """One member of an object: the positions of its start and of its value."""

    key: str
    begin: int
    value_begin: int
    value_end: int


def place(
    client: Name, *, project: bool, user: bool, here: Path, home: Path, config: Path
) -> Place:
    """The file a client reads, for one project or for all of a user's projects."""
    if project and user:
        raise InvalidInput(
            "--project and --user exclude each other", hint="give at most one of them"
        )
    if client == "claude-desktop" and project:
        raise InvalidInput(
            "claude-desktop has no settings for a project", hint="leave --project out"
        )
    root = project_root(here, home)
    files = {
        "claude-code": (root / ".mcp.json", home / ".claude.json"),
        "claude-desktop": (root, config / "Claude" / "claude_desktop_config.json"),
        "cursor": (root / ".cursor" / "mcp.json", home / ".cursor" / "mcp.json"),
        "vscode": (root / ".vscode" / "mcp.json", config / "Code" / "User" / "mcp.json"),
    }
    section = "servers" if client == "vscode" else "mcpServers"
    return Place(client, files[client][not project], section, project)


def entry(place: Place, command: str, args: list[str], options: list[str]) -> Entry:
    """The entry for a client's settings."""
    folder = _WORKSPACE if place.is_project and place.client in ("cursor", "vscode") else []
    told: Entry = {} if place.client == "claude-desktop" else {"type": "stdio"}
    return {**told, "command": command, "args": [*args, "mcp", *folder, *options]}


def addition(place: Place, told: Entry) -> Change:
    """The file with our entry in it."""
    before = content(place.file)
    text = _decoded(before, place, told)
    if not text.strip():
        fresh = json.dumps({place.section: {OURS: told}}, indent=2) + "\n"
        return Change(place.file, before, fresh.encode())
    whole = _parsed(text, place, told)
    wanted = {**whole, place.section: {**whole.get(place.section, {}), OURS: told}}
    after = _added(text, place.section, told)
    if json.loads(after) != wanted:
        raise _refusal(place, told)
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
    section = _member(text, _root(text), place.section)
    after = _without(text, section.value_begin) if section else text
    del whole[place.section][OURS]
    if json.loads(after) != whole:
        raise _refusal(place, {})
    return Change(place.file, before, after.encode())


def repair(place: Place) -> Change:
    """The file with an entry that imports nothing from the current folder."""
    before = content(place.file)
    nothing = Change(place.file, before, before)
    if before is None or not before.strip():
        return nothing
    told = _parsed(_decoded(before, place, {}), place, {}).get(place.section, {}).get(OURS)
    if not isinstance(told, dict) or not isinstance(told.get("args"), list):
        return nothing
    words = [str(told.get("command")), *map(str, told["args"])]
    return addition(place, {**told, "args": guarded(words)[1:]}) if is_exposed(words) else nothing


# The text: finding members, adding one and removing one.


def _members(text: str, begin: int) -> Iterator[Member]:
    """The members of the object that begins here; the text must be valid JSON."""
    at = _skip(text, begin + 1)
    while text[at] != "}":
        key, end = scanstring(text, at + 1, True)
        value_begin = _skip(text, _skip(text, end) + 1)
        _, value_end = json.JSONDecoder().raw_decode(text, value_begin)
        yield Member(key, at, value_begin, value_end)
        at = _skip(text, value_end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _root(text: str) -> int:
    return _skip(text, 0)


def _member(text: str, begin: int, key: str) -> Member | None:
    return next((member for member in _members(text, begin) if member.key == key), None)


def _added(text: str, section: str, told: Entry) -> str:
    """The text with our entry in its section, which is created if missing."""
    known = _member(text, _root(text), section)
    step = _step(text)
    if known is None:
        return _put(text, _root(text), section, {OURS: told}, "", step)
    ours = _member(text, known.value_begin, OURS)
    if ours is not None:
        value = _spelled(told, step * 2, step)
        return text[: ours.value_begin] + value + text[ours.value_end :]
    return _put(text, known.value_begin, OURS, told, step, step)


def _put(text: str, begin: int, key: str, value: object, outer: str, step: str) -> str:
    """Adds a last member to the object that begins here."""
    inner = outer + step
    line = f"\n{inner}{json.dumps(key)}: {_spelled(value, inner, step)}"
    members = list(_members(text, begin))
    if not members:
        end = text.index("}", begin)
        return f"{text[: begin + 1]}{line}\n{outer}{text[end:]}"
    at = members[-1].value_end
    return f"{text[:at]},{line}{text[at:]}"


def _without(text: str, begin: int) -> str:
    """The object that begins here, without our entry."""
    members = list(_members(text, begin))
    place = [member.key for member in members].index(OURS)
    if place + 1 < len(members):
        return text[: members[place].begin] + text[members[place + 1].begin :]
    start = members[place - 1].value_end if place else begin + 1
    return text[:start] + text[members[place].value_end :]


def _spelled(value: object, indent: str, step: str) -> str:
    """A value as it would be written at this depth."""
    return json.dumps(value, indent=step).replace("\n", f"\n{indent}")


def _step(text: str) -> str:
    """How the file indents: as its first member does."""
    first = next(_members(text, _root(text)), None)
    before = text[: first.begin] if first else ""
    indent = before.rpartition("\n")[2]
    return indent if "\n" in before and indent and not indent.strip() else "  "


# Reading, and what is refused.


def _decoded(data: bytes | None, place: Place, told: Entry) -> str:
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as error:
        raise _refusal(place, told) from error


def _parsed(text: str, place: Place, told: Entry) -> dict[str, Any]:
    """The parsed file, if it is plain JSON without duplicate keys."""
    try:
        whole = json.loads(text, object_pairs_hook=_once)
    except ValueError as error:
        raise _refusal(place, told) from error
    if not isinstance(whole, dict) or not isinstance(whole.get(place.section, {}), dict):
        raise _refusal(place, told)
    return whole


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    whole = dict(pairs)
    if len(whole) != len(pairs):
        raise ValueError("duplicate key")
    return whole


def _refusal(place: Place, told: Entry) -> ConfigError:
    snippet = json.dumps({OURS: told}, indent=2)[1:-1].strip() if told else f'"{OURS}"'
    return ConfigError(
        f"{place.file} is not plain JSON (comments?) and was left unchanged",
        hint=f"change it by hand: under {place.section!r}, {snippet}",
    )
