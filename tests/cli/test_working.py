"""``mcp status`` and ``hooks status`` answer: is it working?"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from tests.cli.running import Ran, Shell
from tests.config.test_config import repository


@pytest.fixture
def shell_at(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(shell.home / "settings"))
    repository(shell.folder)
    return shell


def hooked(shell: Shell, **said: str) -> Ran:
    verb = ["hooks", "capture"] if "transcript_path" in said else ["context"]
    return shell.process(*verb, "--hook", stdin=json.dumps({"cwd": str(shell.folder), **said}))


def test_without_any_client_the_next_step_is_named(shell_at: Shell) -> None:
    ran = shell_at.run("mcp", "status")
    assert ran.code == 1
    assert "No client starts the server." in ran.out
    assert "recollect mcp install" in ran.out
    assert not (shell_at.home / "settings").exists()


def test_each_client_that_starts_the_server_is_listed(shell_at: Shell) -> None:
    for client in ("claude-code", "codex", "opencode"):
        assert shell_at.run("mcp", "install", client, "--yes").code == 0
    assert shell_at.run("mcp", "install", "zed", "--project", "--yes").code == 0
    ran = shell_at.run("mcp", "status", "--json")
    assert ran.code == 0
    found = {each["name"]: each for each in ran.json["installed"]}
    assert set(found) == {"claude-code", "codex", "opencode", "zed"}
    assert all(each["command"].startswith(sys.executable) for each in found.values())
    shown = shell_at.run("mcp", "status").out
    assert f"✓ codex           {shell_at.home / '.codex' / 'config.toml'}" in shown
    assert "not in the settings of: claude-desktop, cursor, vscode" in shown


def test_a_program_that_is_gone_or_a_file_that_cannot_be_read_is_a_problem(
    shell_at: Shell, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    program = tmp_path / "venv" / "recollect"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    file = shell_at.folder / ".mcp.json"
    file.write_text(json.dumps({"mcpServers": {"recollect": {"command": str(program)}}}))
    assert shell_at.run("mcp", "status").code == 0
    assert not ran.exists()  # a cloned repository may bring this file: its program is not run
    program.unlink()
    gone = shell_at.run("mcp", "status", "--json")
    assert (gone.code, "is not there any more" in gone.json["installed"][0]["problem"]) == (1, True)
    file.write_text('{"mcpServers": {"recollect": ')
    broken = shell_at.run("mcp", "status", "--json")
    assert "not valid JSON" in broken.json["installed"][0]["problem"]


def test_hooks_status_tells_what_is_installed_stored_and_done(shell_at: Shell) -> None:
    ran = shell_at.run("hooks", "status")
    assert ran.code == 1
    assert "No hooks are installed for this folder." in ran.out
    shell_at.run("remember", "Staging is on port 5433.")
    assert shell_at.run("hooks", "install", "claude-code", "--yes").code == 0
    shown = shell_at.run("hooks", "status")
    assert shown.code == 0
    assert "settings.local.json" in shown.out
    assert "not stored here; run `recollect init`" in shown.out
    assert shown.out.count("never, as far as the log says") == 3
    assert shell_at.run("init").code == 0
    hooked(shell_at, hook_event_name="SessionStart", source="startup")
    hooked(shell_at, hook_event_name="SessionEnd", transcript_path=str(shell_at.folder / "none"))
    told = shell_at.run("hooks", "status", "--json").json
    assert told["stores_sessions"] is True
    assert "handed over 1 line" in told["last"]["handed over"]
    assert "failed" in told["last"]["failed"]
    assert "captured" not in told["last"]
    shown = shell_at.process("hooks", "status", env={"TZ": "Asia/Kolkata"})  # +05:30
    assert str(shell_at.folder / ".git" / "recollect") in shown.out
    instant = datetime.fromisoformat(told["last"]["handed over"].split()[0])
    local = instant.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert f"handed over  {local:%Y-%m-%d %H:%M:%S} context" in shown.out


def test_a_memory_that_a_verb_created_survives_renaming(shell_at: Shell, tmp_path: Path) -> None:
    assert shell_at.process("remember", "Tea is at four.").code == 0
    assert shell_at.process("recall", "tea").code == 0
    moved = shell_at.folder.rename(tmp_path / "renamed")
    assert (
        replace(shell_at, folder=moved).process("hooks", "status", "--json").json["known"] is True
    )


def test_after_the_folder_was_renamed_sessions_are_still_stored(
    shell_at: Shell, tmp_path: Path
) -> None:
    assert shell_at.process("init").code == 0
    assert shell_at.process("recall", "anything").code == 1  # another process took the lock since
    moved = shell_at.folder.rename(tmp_path / "renamed")
    ran = replace(shell_at, folder=moved).process("hooks", "status", "--json")
    assert (ran.json["stores_sessions"], ran.json["known"]) == (True, True)


def test_a_hostile_log_cannot_control_the_terminal(shell_at: Shell) -> None:
    assert shell_at.run("init").code == 0
    log = shell_at.folder / ".git" / "recollect" / "log"
    log.mkdir()
    no_day = b"2026-99-99T00:00:01Z context x handed over\n"
    (log / "hooks.log").write_bytes(no_day + b"2026 capture x kept \x1b[2J\xff\xe2\x80\xae evil\n")
    out = shell_at.run("hooks", "status").out
    assert "kept" in out
    assert "2026-99-99T00:00:01Z" in out
    assert "\x1b" not in out
    assert "\u202e" not in out
