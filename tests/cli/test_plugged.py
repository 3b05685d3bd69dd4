"""``hooks status`` and ``mcp status`` find the plugins, which the assistants install themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.interfaces.cli.assistants import plugged
from tests.cli.conftest import shell as shell  # noqa: PLC0414 - a fixture
from tests.cli.running import Shell

OURS = "recollect@recollect"
WHERE = {
    "claude-code": (".claude/settings.json", json.dumps({"enabledPlugins": {OURS: True}})),
    "codex": (".codex/config.toml", f'[plugins."{OURS}"]\nenabled = true\n'),
    "gemini-cli": (".gemini/extensions/recollect/gemini-extension.json", "{}"),
}


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize("assistant", WHERE)
def test_a_plugin_is_found(assistant: str, tmp_path: Path) -> None:
    name, text = WHERE[assistant]
    assert list(plugged.found(tmp_path / "app", tmp_path)) == []
    write(tmp_path / name, text)
    assert list(plugged.found(tmp_path / "app", tmp_path)) == [(assistant, tmp_path / name)]


@pytest.mark.parametrize("assistant", ["claude-code", "codex"])
def test_a_plugin_that_is_off_is_not(assistant: str, tmp_path: Path) -> None:
    name, text = WHERE[assistant]
    write(tmp_path / name, text.replace("true", "false"))
    assert list(plugged.found(tmp_path / "app", tmp_path)) == []


def test_a_plugin_that_one_project_switched_off_is_not(tmp_path: Path) -> None:
    name, text = WHERE["claude-code"]
    write(tmp_path / name, text)
    write(tmp_path / "app" / name, text.replace("true", "false"))
    assert list(plugged.found(tmp_path / "app", tmp_path)) == []
    assert list(plugged.found(tmp_path / "other", tmp_path)) != []


@pytest.mark.parametrize("text", ["{", "[]", '{"enabledPlugins": 7}', "\0", "plugins = 7"])
def test_settings_of_another_form_have_none(text: str, tmp_path: Path) -> None:
    write(tmp_path / ".claude" / "settings.json", text)
    write(tmp_path / ".codex" / "config.toml", text)
    assert list(plugged.found(tmp_path / "app", tmp_path)) == []


def test_status_tells_of_a_plugin_and_of_a_missing_program(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    write(Path.home() / WHERE["claude-code"][0], WHERE["claude-code"][1])
    for group in ("hooks", "mcp"):
        ran = shell.run(group, "status", "--json")
        assert ran.code == 1
        assert "is not there" in ran.json["installed"][0]["problem"]
    write(tmp_path / "bin" / "recollect", "#!/bin/sh\n")
    (tmp_path / "bin" / "recollect").chmod(0o755)
    assert shell.run("hooks", "status").code == 0
    assert shell.run("mcp", "status").code == 0


def test_a_second_server_of_claude_code_is_told(shell: Shell) -> None:
    note = "keep one of them"
    assert note not in shell.run("mcp", "install", "claude-code", "--yes").err
    assert shell.run("mcp", "install", "claude-code", "--undo", "--yes").code == 0
    write(Path.home() / WHERE["claude-code"][0], WHERE["claude-code"][1])
    assert note in shell.run("mcp", "install", "claude-code", "--yes").err
    assert note not in shell.run("mcp", "install", "codex", "--yes").err
