"""The plugins are what `make reference` writes, and their commands do no harm."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from recollect import __version__
from recollect.interfaces.mcp.calls import TOOLS
from tools import plugins

PROGRAMS = ("claude-code", "codex", "gemini-cli")
USAGE = "#!/bin/sh\necho 'unknown option' >&2\nexit 2\n"


def test_they_are_up_to_date() -> None:
    assert plugins.stale() == [], "run `make reference` and commit what it writes"


def test_a_changed_a_missing_and_a_further_file_are_noticed(tmp_path: Path) -> None:
    """The control."""
    folder = tmp_path / "plugins"
    shutil.copytree(plugins.FOLDER, folder)
    assert plugins.stale(folder) == []
    changed = folder / "codex" / ".mcp.json"
    changed.write_text(changed.read_text().replace("mcp", "evil", 1))
    (folder / "gemini-cli" / "gemini-extension.json").unlink()
    (folder / "claude-code" / "hooks" / "more.json").write_text("{}")
    assert plugins.stale(folder) == [
        "claude-code/hooks/more.json",
        "codex/.mcp.json",
        "gemini-cli/gemini-extension.json",
    ]


def test_other_words_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(plugins.WORDS, tmp_path / "words")
    (tmp_path / "words" / "undo.md").write_text("Take everything back.\n")
    monkeypatch.setattr(plugins, "WORDS", tmp_path / "words")
    assert plugins.stale() == [
        "claude-code/commands/undo.md",
        "codex/skills/undo/SKILL.md",
        "gemini-cli/commands/recollect/undo.toml",
    ]


def test_they_have_the_version_of_the_package() -> None:
    found = [
        json.loads(text)["version"]
        for name, text in plugins.files().items()
        if name.endswith(("plugin.json", "extension.json"))
    ]
    assert found == [__version__] * len(PROGRAMS)


def test_the_words_name_tools_that_are_there() -> None:
    skill = (plugins.WORDS / "skill.md").read_text()
    named = re.findall(r"`([a-z]+)`", skill.partition("\n")[0])
    assert [name for name in named if name != "recollect"] == [t.name for t in TOOLS["daily"]]


@pytest.mark.parametrize("name", plugins.COMMANDS)
def test_no_command_has_a_shell_run_anything(name: str) -> None:
    """A program runs what stands between these marks, before the model sees it."""
    told = [text for path, text in plugins.files().items() if Path(path).stem == name]
    assert len(told) == 2  # Claude Code's and Gemini CLI's
    assert [text for text in told if re.search(r"!`|!\{|@\{|```!", text)] == []
    assert {"$ARGUMENTS" in text or "{{args}}" in text for text in told} == {name == "recall"}


def test_only_the_person_gives_a_command() -> None:
    files = plugins.files()
    for name in plugins.COMMANDS:
        assert "disable-model-invocation: true" in files[f"claude-code/commands/{name}.md"]
        assert "invocation: false" in files[f"codex/skills/{name}/agents/openai.yaml"]


def test_what_is_allowed_without_asking_only_reads() -> None:
    assert [command.allowed for command in plugins.COMMANDS.values()] == [
        "mcp__plugin_recollect_recollect__recall",
        "Bash(recollect review list)",
        "Bash(recollect undo --dry-run)",
    ]


def hooks(program: str) -> dict[str, str]:
    told = json.loads(plugins.files()[f"{program}/hooks/hooks.json"])["hooks"]
    return {event: groups[0]["hooks"][0]["command"] for event, groups in told.items()}


def run(command: str, folder: Path) -> tuple[int, str, str]:
    """Runs a hook's command with `recollect` in this folder, if it is there."""
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env={"PATH": f"{folder}:/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_without_recollect_the_person_is_told_once_and_the_talk_goes_on(
    program: str, tmp_path: Path
) -> None:
    told = {event: run(command, tmp_path) for event, command in hooks(program).items()}
    code, out, err = told.pop("SessionStart")
    assert (code, json.loads(out), err) == (0, {"systemMessage": plugins.MISSING}, "")
    assert set(told.values()) == {(0, "", "")}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_package_that_does_not_know_the_command_stops_no_prompt(
    program: str, tmp_path: Path
) -> None:
    """Exit code 2 would: the plugin and the package may be of different releases."""
    folder = tmp_path / "with spaces"
    folder.mkdir()
    (folder / "recollect").write_text(USAGE)
    (folder / "recollect").chmod(0o755)
    for command in hooks(program).values():
        assert run(command, folder) == (0, "", "unknown option\n")
