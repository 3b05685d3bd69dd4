"""Which repository a folder lies in, by real git, and what is not believed about it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from recollect.store.disk.repository import repository_of, tracks

NOBODY = ["-c", "user.name=x", "-c", "user.email=x@x.test", "-c", "protocol.file.allow=always"]


def git(folder: Path, *words: str) -> None:
    """Git as a person runs it, without this machine's settings."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("GIT")}
    subprocess.run(
        ["git", "-C", str(folder), *NOBODY, *words],
        check=True,
        capture_output=True,
        env=kept | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
    )


def found(start: Path) -> tuple[Path, Path | None] | None:
    """The root of the first worktree, and what all of them share."""
    repository = repository_of(start)
    return None if repository is None else repository[:2]


def made(folder: Path) -> Path:
    """A repository with one commit."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    (folder / "readme").write_text("hi")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    return folder


@pytest.fixture
def main(tmp_path: Path) -> Path:
    return made(tmp_path.resolve() / "main")


def test_a_repository_and_its_worktrees_share_one_folder(main: Path) -> None:
    git(main, "worktree", "add", "-q", "../tree")
    (main / "deep" / "er").mkdir(parents=True)
    for start in (main, main / "deep" / "er", main.parent / "tree", main / ".git" / "hooks"):
        assert found(start) == (main, main / ".git")
    assert found(main.parent) is None


def test_a_worktree_of_a_bare_repository_shares_the_bare_one(main: Path) -> None:
    bare, tree = main.parent / "bare.git", main.parent / "tree"
    git(main, "clone", "-q", "--bare", ".", str(bare))
    git(bare, "worktree", "add", "-q", str(tree))
    assert found(tree) == (tree, bare)
    assert found(bare) is None


def test_a_submodule_has_a_repository_of_its_own(main: Path) -> None:
    top = made(main.parent / "top")
    git(top, "submodule", "add", "-q", str(main), "sub")
    modules = top / ".git" / "modules" / "sub"
    assert found(top / "sub") == (top / "sub", modules)
    git(top / "sub", "worktree", "add", "-q", str(main.parent / "tree"))
    assert found(main.parent / "tree") == (main.parent / "tree", modules)


def test_a_pointer_is_believed_only_if_the_repository_points_back(main: Path) -> None:
    tree, copy = main.parent / "tree", main.parent / "copy"
    git(main, "worktree", "add", "-q", str(tree))
    copy.mkdir()
    pointer = (tree / ".git").read_text()
    for text in (
        pointer,
        f"gitdir: {main / '.git'}\n",
        "gitdir: nowhere",
        "gitdir:",
        "no pointer",
        "gitdir: a\0b",
        "",
    ):
        (copy / ".git").write_text(text)
        assert found(copy) == (copy, None), text
    (copy / ".git").unlink()
    (copy / ".git").symlink_to(main / ".git")
    assert found(copy) == (copy, None)
    tree.rename(main.parent / "moved")
    assert found(main.parent / "moved") == (main.parent / "moved", None)
    git(main, "worktree", "repair", "../moved")
    assert found(main.parent / "moved") == (main, main / ".git")


def test_a_git_dir_elsewhere_does_not_know_its_folder(main: Path) -> None:
    git(main.parent, "init", "-q", "--separate-git-dir", str(main.parent / "kept"), "work")
    work = main.parent / "work"
    assert found(work) == (work, None)


def test_a_folder_that_only_has_the_name_is_passed_over(main: Path) -> None:
    (main / "deep" / ".git").mkdir(parents=True)
    assert found(main / "deep") == (main, main / ".git")


def test_variables_of_git_change_nothing(main: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = made(main.parent / "other")
    for name in ("GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE"):
        monkeypatch.setenv(name, str(other / ".git"))
    assert found(main) == (main, main / ".git")


def test_what_git_tracks_is_seen(main: Path) -> None:
    (main / ".recollect").mkdir()
    (main / ".recollect" / "events.wal").write_text("x")
    assert not tracks(main / ".git", ".recollect")
    git(main, "add", "-f", ".recollect")
    assert tracks(main / ".git", ".recollect")
    assert not tracks(main / "nowhere", ".recollect")
