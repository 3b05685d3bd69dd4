"""Sessions are stored only where a person ran ``recollect init``; nothing else counts as a yes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from recollect import Memory
from recollect.assistants.mounts import Mounts
from recollect.config import places
from recollect.places import consent, known
from recollect.store.disk.layout import KNOWN, SESSIONS
from tests.assistants.session import recorded
from tests.assistants.test_hooks import Project, Ran
from tests.assistants.test_known import command
from tests.config.test_config import repository


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A repository, in which nobody has done anything yet."""
    made = Project(tmp_path)
    repository(made.folder)
    made.store = made.folder / ".git" / "recollect"
    return made


def remember(project: Project) -> None:
    """What an assistant does with its tools."""
    with Mounts(places(start=project.folder, home=project.home, environment={})) as mounts:
        assert mounts.remember("We deploy from main.").mount == "project"


def said(project: Project) -> int:
    """How many episodes the project's memory holds."""
    with Memory.open(project.store) as memory:
        return len(memory.sessions.episodes())


def test_a_memory_that_an_assistant_made_takes_no_session_until_init(
    project: Project, tmp_path: Path
) -> None:
    path = recorded().write(tmp_path / "t.jsonl")
    assert project.end(path) == Ran(0, "", "")
    assert not project.store.exists()
    remember(project)
    assert project.end(path) == Ran(0, "", "")
    assert project.log[-1].endswith("stored nothing, because `recollect init` was not run here")
    assert said(project) == 0
    assert command(project, "init").code == 0
    project.end(path)
    assert "capture SessionEnd kept" in project.log[-1]
    assert said(project) > 0


def test_a_folder_cannot_bring_the_yes_along(project: Project, tmp_path: Path) -> None:
    """A person's own lists, copied into a cloned memory, are only files there."""
    assert command(project, "init").code == 0
    (tmp_path / "second").mkdir()
    cloned = Project(tmp_path / "second")
    cloned.home = project.home
    shutil.copytree(project.store, cloned.store)
    for name in (SESSIONS, KNOWN):
        shutil.copy(project.home / ".recollect" / name, cloned.store / name)
    path = recorded().write(tmp_path / "t.jsonl")
    assert cloned.end(path) == Ran(0, "", "")
    found = places(start=cloned.folder, home=cloned.home, environment={}).project
    known.adopt(found)  # known, as a memory that an earlier release adopted
    assert not consent.is_given(found)
    assert cloned.end(path) == Ran(0, "", "")
    with Memory.open(cloned.store) as memory:
        assert memory.sessions.episodes() == []


def test_another_ledger_in_the_same_place_needs_another_yes(project: Project) -> None:
    assert command(project, "init").code == 0
    found = places(start=project.folder, home=project.home, environment={}).project
    assert consent.is_given(found)
    shutil.rmtree(project.store)
    remember(project)
    assert known.is_known(found)
    assert not consent.is_given(found)


def test_in_the_home_folder_too(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.folder = project.home
    path = recorded().write(tmp_path / "t.jsonl")
    assert command(project, "remember", "I drink tea.").code == 0
    project.end(path)
    with Memory.open(project.home / ".recollect") as mine:
        assert mine.sessions.episodes() == []
    assert command(project, "init").code == 0
    project.end(path)
    with Memory.open(project.home / ".recollect") as mine:
        assert mine.sessions.episodes() != []
