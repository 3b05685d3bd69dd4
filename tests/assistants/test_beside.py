"""A plugin's hooks beside hooks in the settings: those in the settings answer, alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect import Memory
from recollect.interfaces.cli.assistants import hook_settings
from recollect.interfaces.cli.assistants.hook_settings import Assistant
from tests.assistants.session import recorded
from tests.assistants.test_hooks import Project
from tests.assistants.test_hooks import project as project  # noqa: PLC0414 - a fixture

ASKED = "On which port does the staging database listen?"
PLUGIN = "--plugin=claude-code"


def install(
    at: Project,
    assistant: Assistant = "claude-code",
    *,
    project: bool = False,
    user: bool = False,
) -> Path:
    file = hook_settings.place(
        project=project, user=user, here=at.folder, home=at.home, assistant=assistant
    )
    change = hook_settings.addition(file, "recollect", assistant)
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(change.after or b"")
    return file


def said(project: Project) -> list[str]:
    with Memory.open(project.store) as memory:
        return [episode.text for episode in memory.sessions.episodes(limit=100)]


def test_a_plugins_hook_does_what_a_hook_does(project: Project) -> None:
    assert "moved to port 5433" in project.prompt(ASKED, PLUGIN).context
    assert "moved to port 5433" in project.start(PLUGIN).context
    assert said(project) == [ASKED]


@pytest.mark.parametrize("where", ["local", "project", "user"])
def test_it_leaves_the_work_to_hooks_in_the_settings(project: Project, where: str) -> None:
    install(project, project=where == "project", user=where == "user")
    for ran in (project.prompt(ASKED, PLUGIN), project.start(PLUGIN)):
        assert (ran.code, ran.out, ran.err) == (0, "", "")
    project.end(recorded().write(project.folder / "t.jsonl"), PLUGIN)
    assert said(project) == []
    assert "moved to port 5433" in project.prompt(ASKED).context  # the one in the settings


def test_it_leaves_the_work_to_them_below_their_folder_too(project: Project) -> None:
    install(project)
    below = project.folder / "src" / "deep"
    below.mkdir(parents=True)
    said_there = {"hook_event_name": "UserPromptSubmit", "prompt": ASKED, **project.common()}
    ran = project.hook("context", PLUGIN, said=said_there | {"cwd": str(below)})
    assert (ran.code, ran.out, said(project)) == (0, "", [])


def test_hooks_of_another_assistant_do_not_count(project: Project) -> None:
    install(project, "codex")
    install(project, "gemini-cli")
    assert project.prompt(ASKED, PLUGIN).context
    assert project.prompt(ASKED, "--plugin=codex").out == ""


def test_an_event_without_a_hook_in_the_settings_is_the_plugins(project: Project) -> None:
    file = install(project)
    settings = json.loads(file.read_text())
    del settings["hooks"]["UserPromptSubmit"]
    file.write_text(json.dumps(settings))
    assert project.prompt(ASKED, PLUGIN).context
    assert project.start(PLUGIN).out == ""


def test_hooks_that_were_removed_do_not_count(project: Project) -> None:
    file = install(project)
    file.write_bytes(hook_settings.removal(file).after or b"")
    assert project.prompt(ASKED, PLUGIN).context


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"hooks": 7}', b"\xff\xfe"])
def test_settings_that_cannot_be_read_do_not_stop_it(project: Project, content: bytes) -> None:
    file = project.home / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_bytes(content)
    assert project.prompt(ASKED, PLUGIN).context


def test_an_assistant_of_a_later_release_has_no_settings_here(project: Project) -> None:
    assert project.prompt(ASKED, "--plugin=another").context


def test_a_plugin_of_a_later_release_may_say_more(project: Project) -> None:
    assert project.prompt(ASKED, PLUGIN, "--further=option").context
