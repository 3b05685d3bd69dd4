"""Where git keeps a repository, without trusting what a folder claims about it.

Responsible for finding the repository around a folder, and the folder that all its worktrees share.
Leaves what is stored there to ``config``. Git is never run, because its settings may name programs,
and its environment variables are not read. Invariant: a ``.git`` that points elsewhere is accepted
only if the repository there points back to it, as git's own files do. So a folder cannot pose as
part of a repository that does not list it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, NamedTuple

from recollect.store.disk.regular_files import read_regular

DOT_GIT: Final = ".git"
_POINTER_MAX_BYTES: Final = 8_192
_CONFIG_MAX_BYTES: Final = 1_048_576
_INDEX_MAX_BYTES: Final = 268_435_456


class Repository(NamedTuple):
    """A repository around a folder."""

    root: Path  # of its main worktree, if it has one; otherwise of this one
    common: Path | None  # shared by its worktrees; None if the link to it is not confirmed
    tree: Path  # the root of this worktree


def repository_of(start: Path) -> Repository | None:
    """The repository around a folder, or None."""
    for folder in (start, *start.parents):
        dot_git = folder / DOT_GIT
        if dot_git.is_symlink():
            return Repository(folder, None, folder)
        if dot_git.is_dir():
            if _is_repository(dot_git):
                return Repository(folder, dot_git, folder)
        elif dot_git.exists():
            return _pointed_to(folder, dot_git)
    return None


def tracks(common: Path, name: str) -> bool:
    """True if git's index may contain files below this name at the root.

    Searches the bytes of the index, which contains paths as they are.
    """
    try:
        return f"{name}/".encode() in read_regular(common / "index", _INDEX_MAX_BYTES)
    except OSError:
        return False


def _is_repository(git_dir: Path) -> bool:
    return os.path.lexists(git_dir / "HEAD") and (git_dir / "objects").is_dir()


def _pointed_to(folder: Path, dot_git: Path) -> Repository:
    """The repository that a ``.git`` file points to: of a linked worktree or a submodule."""
    pointer = _line(dot_git)
    if pointer is None or not pointer.startswith("gitdir:"):
        return Repository(folder, None, folder)
    git_dir = Path(os.path.realpath(folder / pointer.removeprefix("gitdir:").strip()))
    if git_dir.parent.name == "worktrees":
        common = git_dir.parent.parent
        if _lists_worktree(common, git_dir, dot_git):
            root = common.parent if common.name == DOT_GIT else folder
            return Repository(root, common, folder)
    elif _is_repository(git_dir) and _names_worktree(git_dir, folder):
        return Repository(folder, git_dir, folder)
    return Repository(folder, None, folder)


def _lists_worktree(common: Path, git_dir: Path, dot_git: Path) -> bool:
    """True if the repository's own entry for a worktree names this ``.git`` file."""
    shared, back = _line(git_dir / "commondir"), _line(git_dir / "gitdir")
    return (
        bool(shared and back)
        and _is_repository(common)
        and os.path.realpath(git_dir / str(shared)) == str(common)
        and os.path.realpath(git_dir / str(back)) == os.path.realpath(dot_git)
    )


def _names_worktree(git_dir: Path, folder: Path) -> bool:
    """True if ``core.worktree`` of a repository is this folder, as it is for a submodule."""
    named = _core_worktree(git_dir / "config") or _core_worktree(git_dir / "config.worktree")
    return named is not None and os.path.realpath(git_dir / named) == os.path.realpath(folder)


def _core_worktree(config: Path) -> str | None:
    found, section = None, ""
    for line in _text(config, _CONFIG_MAX_BYTES).splitlines():
        word = line.strip()
        if word.startswith("["):
            section = word.strip("[]").strip().lower()
        name, equals, value = word.partition("=")
        if section == "core" and equals and name.strip().lower() == "worktree":
            found = value.strip().strip('"')
    return found


def _line(path: Path) -> str | None:
    """The one line of a small file; None if it cannot be read or is empty."""
    return _text(path, _POINTER_MAX_BYTES).strip() or None


def _text(path: Path, at_most: int) -> str:
    try:
        text = read_regular(path, at_most).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
    return "" if "\0" in text else text  # file names never contain one
