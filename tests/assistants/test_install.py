"""Hooks in an assistant's settings: shown, written, and taken back to the byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import shell as shell  # noqa: PLC0414 - a fixture
from tests.cli.running import Shell

MOMENTS = {
    "SessionStart": "context --hook",
    "UserPromptSubmit": "context --hook",
    "PreCompact": "hooks capture --hook",
    "SessionEnd": "hooks capture --hook",
}
THEIRS = {
    "model": "opus",
    "hooks": {
        "SessionEnd": [{"hooks": [{"type": "command", "command": "notify-send bye"}]}],
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./guard"}]}],
    },
    "permissions": {"allow": ["Bash(git log:*)"]},
}
SPELLED = {
    "two spaces": json.dumps(THEIRS, indent=2) + "\n",
    "tabs": json.dumps(THEIRS, indent="\t"),
    "one line": json.dumps(THEIRS),
    "odd": ' {"model":"opus",\n\n   "hooks" : { } }\r\n',
    "no hooks": "{}",
    "blank": "\n",
}


def local(shell: Shell) -> Path:
    return shell.folder / ".claude" / "settings.local.json"


def commands(settings: Any, moment: str) -> list[str]:
    groups = settings["hooks"].get(moment, [])
    return [hook["command"] for group in groups for hook in group["hooks"]]


def test_the_change_is_shown_and_nothing_is_written_without_a_yes(shell: Shell) -> None:
    shown = shell.run("hooks", "install", "claude-code", "--dry-run")
    assert shown.code == 0
    assert '+    "SessionStart": [' in shown.out
    assert shell.run("hooks", "install", "claude-code").code == 4
    assert not local(shell).parent.exists()


def test_a_person_is_told_that_nothing_is_kept_without_a_memory(shell: Shell) -> None:
    told = shell.run("hooks", "install", "claude-code", "--yes")
    assert "recollect init" in told.err
    shell.run("hooks", "install", "claude-code", "--undo", "--yes")
    shell.run("init")
    told = shell.run("hooks", "install", "claude-code", "--yes")
    assert (told.code, "recollect init" in told.err) == (0, False)


def test_each_moment_runs_its_verb_with_time_to_do_so(shell: Shell) -> None:
    assert shell.run("hooks", "install", "claude-code", "--yes").code == 0
    settings = json.loads(local(shell).read_text())
    assert set(settings) == {"hooks"}
    for moment, verb in MOMENTS.items():
        (told,) = commands(settings, moment)
        assert told.endswith(f" {verb}")
        (group,) = settings["hooks"][moment]
        assert group["hooks"][0]["timeout"] in (10, 60)


@pytest.mark.parametrize("before", SPELLED.values(), ids=SPELLED.keys())
def test_everything_else_stays_and_undoing_restores_the_bytes(shell: Shell, before: str) -> None:
    file = local(shell)
    file.parent.mkdir()
    file.write_bytes(before.encode())
    for _ in range(2):
        assert shell.run("hooks", "install", "claude-code", "--yes").code == 0
    after = json.loads(file.read_bytes())
    theirs = json.loads(before) if before.strip() else {}
    for moment, verb in MOMENTS.items():
        *others, ours = commands(after, moment)
        assert ours.endswith(verb)
        assert others == (commands(theirs, moment) if "hooks" in theirs else [])
    for name in set(theirs) - {"hooks"}:
        assert after[name] == theirs[name]
    assert after["hooks"].get("PreToolUse") == theirs.get("hooks", {}).get("PreToolUse")
    assert shell.run("hooks", "install", "claude-code", "--undo", "--yes").code == 0
    assert file.read_bytes() == before.encode()


def test_a_file_that_was_not_there_goes_again(shell: Shell) -> None:
    shell.run("hooks", "install", "claude-code", "--yes")
    shell.run("hooks", "install", "claude-code", "--undo", "--yes")
    assert not local(shell).exists()
    again = shell.run("hooks", "install", "claude-code", "--undo", "--yes", "--json")
    assert again.json["written"] is False


def test_what_others_changed_since_stays(shell: Shell) -> None:
    shell.run("hooks", "install", "claude-code", "--yes")
    settings = json.loads(local(shell).read_text()) | {"theme": "dark"}
    settings["hooks"]["Stop"] = [{"hooks": [{"type": "command", "command": "true"}]}]
    local(shell).write_text(json.dumps(settings))
    shell.run("hooks", "install", "claude-code", "--undo", "--yes")
    assert json.loads(local(shell).read_text()) == {
        "theme": "dark",
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]},
    }


def test_hooks_of_an_earlier_release_are_known_and_replaced(shell: Shell) -> None:
    shell.run("hooks", "install", "claude-code", "--yes")
    now = local(shell).read_text()
    before = now.replace("hooks capture", "capture claude-code")
    assert before != now
    local(shell).write_text(before)
    assert shell.run("hooks", "status").code == 0
    shell.run("hooks", "install", "claude-code", "--yes")
    assert local(shell).read_text() == now
    local(shell).write_text(before)
    shell.run("hooks", "install", "claude-code", "--undo", "--yes")
    assert "recollect" not in local(shell).read_text()


def test_project_and_user_name_other_files(shell: Shell) -> None:
    shared = shell.folder / ".claude" / "settings.json"
    own = shell.home / ".claude" / "settings.json"
    assert shell.run("hooks", "install", "claude-code", "--project", "--yes").code == 0
    assert commands(json.loads(shared.read_text()), "SessionEnd") == [
        "recollect hooks capture --hook"
    ]
    assert shell.run("hooks", "install", "claude-code", "--user", "--yes").code == 0
    assert own.exists()
    assert not local(shell).exists()
    assert shell.run("hooks", "install", "claude-code", "--user", "--project").code == 2


def test_a_memory_that_was_named_stays_named(shell: Shell) -> None:
    words = ("hooks", "install", "claude-code", "--yes", "--store", "my store", "--space", "team")
    assert shell.run(*words).code == 0
    (told,) = commands(json.loads(local(shell).read_text()), "SessionStart")
    assert f"--store '{shell.folder / 'my store'}' --space team context --hook" in told


@pytest.mark.parametrize(
    "bad",
    [
        "// hi\n{}",
        "[]",
        '{"a": 1, "a": 2}',
        '{"a": ',
        '{"hooks": 1}',
        '{"hooks": {"SessionEnd": 1}}',
    ],
)
def test_settings_of_another_form_are_left_alone(shell: Shell, bad: str) -> None:
    local(shell).parent.mkdir()
    local(shell).write_text(bad)
    assert shell.run("hooks", "install", "claude-code", "--yes").code == 2
    assert local(shell).read_text() == bad


def test_the_installed_commands_do_what_they_say(shell: Shell) -> None:
    shell.run("init")
    shell.run("remember", "The staging database moved to port 5433.")
    captured = shell.run("hooks", "capture", "nowhere.jsonl")
    assert captured.code == 2
    assert shell.run("hooks", "capture").code == 2
    assert shell.run("context", "staging port").code == 0
    assert "hooks" in shell.run("--help").out


@pytest.mark.parametrize(
    ("assistant", "file", "event", "timeout"),
    [
        ("codex", ".codex/hooks.json", "UserPromptSubmit", 10),
        ("gemini-cli", ".gemini/settings.json", "BeforeAgent", 10_000),
    ],
)
@pytest.mark.parametrize("where", ["--user", "--project"])
def test_other_assistants_get_memory_in_their_own_form(
    shell: Shell, assistant: str, file: str, event: str, timeout: int, where: str
) -> None:
    place = (shell.home if where == "--user" else shell.folder) / file
    place.parent.mkdir()
    before = b'{\n    "theme": "x",\n    "hooks": {"enabled": true}\n}'
    place.write_bytes(before)
    done = shell.run("hooks", "install", assistant, where, "--yes")
    assert done.code == 0
    assert "run: recollect init" in done.err
    hooks = json.loads(place.read_text())["hooks"]
    more = {"codex": {"PreCompact"}, "gemini-cli": set[str]()}[assistant]
    assert set(hooks) == {"enabled", "SessionStart", event, "SessionEnd"} | more
    (end,) = hooks["SessionEnd"][0]["hooks"]
    assert end["command"].endswith("hooks capture --hook")
    assert end["timeout"] == 6 * timeout
    (hook,) = hooks[event][0]["hooks"]
    assert hook["command"].endswith("context --hook")
    assert hook["timeout"] == timeout
    assert shell.run("hooks", "status", "--json").json["installed"][0]["name"] == assistant
    assert shell.run("hooks", "install", assistant, where, "--undo", "--yes").code == 0
    assert place.read_bytes() == before


def test_a_prompt_of_gemini_cli_is_answered(shell: Shell) -> None:
    assert shell.run("remember", "The staging database moved to port 5433.").code == 0
    said = {
        "hook_event_name": "BeforeAgent",
        "prompt": "which port has the staging database?",
        "cwd": str(shell.folder),
    }
    told = shell.process("context", "--hook", stdin=json.dumps(said)).json["hookSpecificOutput"]
    assert told["hookEventName"] == "BeforeAgent"
    assert "5433" in told["additionalContext"]


def test_what_becomes_of_prompts_is_in_the_commands_and_stays_there(shell: Shell) -> None:
    shell.run("hooks", "install", "claude-code", "--yes", "--prompts", "none")
    settings = json.loads(local(shell).read_text())
    for moment, what in MOMENTS.items():
        (command,) = commands(settings, moment)
        assert command.endswith(f"{what} --prompts=none")
    shell.run("hooks", "install", "claude-code", "--yes")
    assert json.loads(local(shell).read_text()) == settings
    shell.run("hooks", "install", "claude-code", "--yes", "--prompts", "quoting")
    assert "--prompts" not in local(shell).read_text()


def test_a_person_at_a_terminal_is_asked_what_becomes_of_prompts(shell: Shell) -> None:
    told = shell.terminal("hooks", "install", "claude-code", typed="what?\nmemory\ny\n")
    assert told.code == 0
    assert "questions and one-off orders are not recalled" in told.out
    assert "--prompts=memory" in local(shell).read_text()
    again = shell.terminal("hooks", "install", "claude-code", typed="y\n")
    assert "Store prompts" not in again.out
