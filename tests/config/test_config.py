"""Where a store is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.config import load, main_worktree, places
from recollect.errors import ConfigError


def find(start: Path, home: Path, **environment: str) -> str:
    return load(start=start, home=home, environment=environment).where


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / "deep" / "er").mkdir(parents=True)
    return tmp_path / "project"


def test_a_named_place_wins(project: Path, home: Path) -> None:
    assert load("x").where == str(Path("x").absolute())
    assert load("~/x").where == str(Path("~/x").expanduser())
    assert load(":memory:").where == ":memory:"
    assert load("postgresql://host/db").where == "postgresql://host/db"
    assert load(project).where == str(project)
    with pytest.raises(ConfigError):
        load("")


def test_then_the_variable_then_the_nearest_then_home(project: Path, home: Path) -> None:
    deep = project / "deep" / "er"
    assert find(deep, home) == str(home / ".recollect")
    (project / ".recollect").mkdir()
    assert find(deep, home) == str(project / ".recollect")
    (project / "deep" / ".recollect").mkdir()
    assert find(deep, home) == str(project / "deep" / ".recollect")
    assert find(deep, home, RECOLLECT_STORE=":memory:") == ":memory:"


def test_worktrees_share_the_store_of_their_repository(
    project: Path, home: Path, tmp_path: Path
) -> None:
    (project / ".git" / "worktrees" / "w").mkdir(parents=True)
    (project / ".git" / "worktrees" / "w" / "commondir").write_text("../..\n")
    worktree = tmp_path / "elsewhere" / "w"
    worktree.mkdir(parents=True)
    (worktree / ".git").write_text(f"gitdir: {project / '.git' / 'worktrees' / 'w'}\n")
    assert main_worktree(worktree) == project
    assert main_worktree(project / "deep") == project
    assert find(worktree, home) == str(home / ".recollect")
    (project / ".recollect").mkdir()
    assert find(worktree, home) == str(project / ".recollect")


def test_a_strange_git_file_is_passed_over(tmp_path: Path, home: Path) -> None:
    odd = tmp_path / "odd"
    odd.mkdir()
    (odd / ".git").write_text("gitdir: nowhere")
    assert main_worktree(odd) is None
    assert main_worktree(home) is None
    bare = tmp_path / "bare"
    (bare / "worktrees" / "w").mkdir(parents=True)
    (bare / "worktrees" / "w" / "commondir").write_text("../..")
    (odd / ".git").write_text(f"gitdir: {bare / 'worktrees' / 'w'}")
    assert main_worktree(odd) is None


def test_the_home_folders_store_is_the_last_resort_even_from_inside_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    repository, worktree = home / "repository", home / "worktree"
    (repository / ".git" / "worktrees" / "w").mkdir(parents=True)
    (repository / ".git" / "worktrees" / "w" / "commondir").write_text("../..\n")
    worktree.mkdir()
    (worktree / ".git").write_text(f"gitdir: {repository / '.git' / 'worktrees' / 'w'}\n")
    (home / ".recollect").mkdir()
    assert find(worktree, home) == str(home / ".recollect")
    (repository / ".recollect").mkdir()
    assert find(worktree, home) == str(repository / ".recollect")


def test_the_project_and_the_person_have_a_place_each(project: Path, home: Path) -> None:
    deep = project / "deep"
    found = places(start=deep, home=home, environment={})
    assert found.project.where == str(deep / ".recollect")
    assert (found.me.where, found.named, found.is_one) == (str(home / ".recollect"), False, False)
    (project / ".git").mkdir()
    assert places(start=deep, home=home, environment={}).project.where == str(
        project / ".recollect"
    )
    named = places(start=deep, home=home, environment={"RECOLLECT_STORE": ":memory:"})
    assert (named.project.where, named.named) == (":memory:", True)
    assert places(project, start=deep, home=home, environment={}).project.where == str(project)
    assert places(start=home, home=home, environment={}).is_one
