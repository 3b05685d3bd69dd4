"""Entries in assistants' settings never run code of the folder an assistant works in."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect.interfaces.cli.assistants.program import guarded, guarded_text, is_exposed
from tests.cli.running import Shell

# What a repository could hold to be imported in the place of what we import.
SHADOWS = ("msgspec.py", "sqlite3.py", "recollect/__init__.py", "shlex.py")
OLD = "/usr/bin/python3 -m recollect"
HOOK_FILES = (
    "home/.claude/settings.json",
    "work/.claude/settings.json",
    "work/.claude/settings.local.json",
)
CLIENT_FILES = {
    "home/.claude.json": "mcpServers",
    "work/.mcp.json": "mcpServers",
    "home/.config/Claude/claude_desktop_config.json": "mcpServers",
    "home/.cursor/mcp.json": "mcpServers",
    "work/.cursor/mcp.json": "mcpServers",
    "home/.config/Code/User/mcp.json": "servers",
    "work/.vscode/mcp.json": "servers",
}


@pytest.fixture
def project(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(shell.home / ".config"))
    return shell


def module(shell: Shell, *words: str, folder: Path | None = None) -> None:
    """Runs the program the way an entry was written from: by its module."""
    subprocess.run(
        [sys.executable, "-m", "recollect", *words],
        cwd=folder or shell.folder,
        env=shell.environment,
        check=True,
        capture_output=True,
        timeout=60,
    )


def hostile(shell: Shell, name: str) -> tuple[Path, Path]:
    """A repository that shadows a module, and the file that its code would write."""
    clone, mark = shell.folder / "clone", shell.home / "ran"
    file = clone / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"open({str(mark)!r}, 'w').write('code of the repository ran')\n")
    return clone, mark


def start(shell: Shell, command: list[str], folder: Path) -> None:
    """What an assistant does when a session starts."""
    told = json.dumps({"hook_event_name": "SessionStart", "cwd": str(folder)})
    subprocess.run(
        command,
        cwd=folder,
        env=shell.environment,
        input=told.encode(),
        check=False,
        capture_output=True,
        timeout=60,
    )


def written_hook(shell: Shell) -> list[str]:
    module(shell, "hooks", "install", "claude-code", "--user", "--yes")
    settings = json.loads((shell.home / ".claude" / "settings.json").read_text())
    return shlex.split(settings["hooks"]["SessionStart"][0]["hooks"][0]["command"])


def written_server(shell: Shell) -> list[str]:
    module(shell, "mcp", "install", "cursor", "--user", "--yes")
    told = json.loads((shell.home / ".cursor" / "mcp.json").read_text())
    entry = told["mcpServers"]["recollect"]
    return [entry["command"], *entry["args"]]


@pytest.mark.parametrize("name", SHADOWS)
def test_a_session_runs_no_code_of_the_repository(project: Shell, name: str) -> None:
    command = written_hook(project)
    clone, mark = hostile(project, name)
    start(project, command, clone)
    assert not mark.exists()


def test_a_server_runs_no_code_of_the_repository(project: Shell) -> None:
    command = written_server(project)
    clone, mark = hostile(project, "json.py")  # the server loads msgspec at its first call
    start(project, command, clone)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("written", "name"), [(written_hook, "msgspec.py"), (written_server, "json.py")]
)
def test_control_without_the_guard_the_repository_runs_code(
    project: Shell, written: Any, name: str
) -> None:
    command = [word for word in written(project) if word != "-P"]
    clone, mark = hostile(project, name)
    start(project, command, clone)
    assert mark.exists()


# Entries of an earlier release.


def path_of(shell: Shell, name: str) -> Path:
    base, _, rest = name.partition("/")
    path = (shell.home if base == "home" else shell.folder) / rest
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def old_hooks(shell: Shell, name: str) -> Path:
    hook = {"type": "command", "command": f"{OLD} --space 'a b' context --hook", "timeout": 10}
    file = path_of(shell, name)
    file.write_text(json.dumps({"hooks": {"SessionStart": [{"hooks": [hook]}]}, "n": 1}))
    return file


def old_client(shell: Shell, name: str) -> Path:
    told = {"command": "/usr/bin/python3", "args": ["-m", "recollect", "mcp"], "env": {"A": "b"}}
    file = path_of(shell, name)
    file.write_text(json.dumps({CLIENT_FILES[name]: {"recollect": told, "x": {"command": "y"}}}))
    return file


def strings(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for part in value.values():
            yield from strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from strings(part)
    elif isinstance(value, str):
        yield value


def is_safe(file: Path) -> bool:
    return "-P" in shlex.split(" ".join(strings(json.loads(file.read_text()))))


def laid_out(shell: Shell) -> list[Path]:
    hooks = [old_hooks(shell, name) for name in HOOK_FILES]
    return hooks + [old_client(shell, name) for name in CLIENT_FILES]


def test_doctor_finds_old_entries_and_changes_nothing_without_a_yes(project: Shell) -> None:
    assert project.run("init").code == 0
    files = laid_out(project)
    before = [file.read_bytes() for file in files]
    seen = project.run("admin", "doctor", "--json")
    assert (seen.code, seen.json["ok"]) == (1, False)
    told = [found for found in seen.json["findings"] if found["what"] == "commands"]
    assert len(told) == len(files) == 10
    assert all("doctor --yes" in found["fix"] for found in told)
    assert [file.read_bytes() for file in files] == before


def test_doctor_rewrites_old_entries_after_a_yes(project: Shell) -> None:
    assert project.run("init").code == 0
    files = laid_out(project)
    assert not any(map(is_safe, files))
    assert project.run("admin", "doctor", "--yes").code == 0
    assert all(map(is_safe, files))
    hook = json.loads(files[0].read_text())
    command = hook["hooks"]["SessionStart"][0]["hooks"][0]["command"]
    assert command == "/usr/bin/python3 -P -m recollect --space 'a b' context --hook"
    assert hook["n"] == 1
    entry = json.loads(files[-1].read_text())["servers"]
    assert entry["recollect"]["env"] == {"A": "b"}
    assert entry["x"] == {"command": "y"}
    written = [file.read_bytes() for file in files]
    again = project.run("admin", "doctor", "--json").json
    assert not [found for found in again["findings"] if found["what"] == "commands"]
    assert [file.read_bytes() for file in files] == written


def test_a_person_on_a_terminal_is_asked_and_may_say_no(project: Shell) -> None:
    assert project.run("init").code == 0
    file = old_client(project, "home/.cursor/mcp.json")
    shown = project.terminal("admin", "doctor", typed="n\n")
    assert (shown.code, is_safe(file)) == (1, False)
    assert "Rewrite them?" in shown.out
    assert (project.terminal("admin", "doctor", typed="y\n").code, is_safe(file)) == (0, True)


@pytest.mark.parametrize("verb", ["hooks", "mcp"])
def test_install_rewrites_old_entries_elsewhere(project: Shell, verb: str) -> None:
    files = laid_out(project)
    shown = project.run(verb, "install", "claude-code", "--user", "--dry-run", "--json").json
    assert len(shown["also"]) == len(files) - 1
    done = project.run(verb, "install", "claude-code", "--user", "--yes")
    assert done.code == 0
    own = {"hooks": "home/.claude/settings.json", "mcp": "home/.claude.json"}[verb]
    assert all(is_safe(file) for file in files if file != path_of(project, own))
    assert "-m recollect" not in path_of(project, own).read_text().replace("-P -m", "")


def test_a_file_that_cannot_be_parsed_is_named(project: Shell) -> None:
    assert project.run("init").code == 0
    file = path_of(project, "home/.cursor/mcp.json")
    file.write_text('{ /* mine\n "mcpServers": {"recollect": {"command": "python"}} }')
    told = project.run("admin", "doctor", "--json")
    (found,) = [one for one in told.json["findings"] if one["what"] == "commands"]
    assert (told.code, found["level"]) == (0, "note")
    assert str(file) in found["detail"]


@pytest.mark.parametrize(
    ("words", "exposed"),
    [
        ("python -m recollect mcp", True),
        ("python -u -m recollect mcp", True),
        ("FOO=1 /usr/bin/python3.13 -X utf8 -m recollect context --hook", True),
        ("python -P -m recollect mcp", False),
        ("python -I -m recollect mcp", False),
        ("python -uP -m recollect mcp", False),
        ("/usr/bin/recollect mcp", False),
        ("recollect context --hook", False),
        ("-m recollect", False),
        ("python -m other recollect", False),
    ],
)
def test_which_command_lines_are_exposed(words: str, exposed: bool) -> None:
    assert is_exposed(words.split()) is exposed
    if exposed:
        assert not is_exposed(guarded(words.split()))
        assert guarded_text(words).split() == guarded(words.split())
