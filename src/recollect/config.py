"""Settings, and where a store is found.

Responsible for being the only reader of environment variables and of files that say where a store
lies. Leaves opening it to ``compose``. Invariant: the same place, home and environment always
lead to the same store.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from recollect.errors import ConfigError

FOLDER: Final = ".recollect"
MEMORY: Final = ":memory:"
STORE_VARIABLE: Final = "RECOLLECT_STORE"
TOKEN_VARIABLE: Final = "RECOLLECT_TOKEN"  # noqa: S105 - a name, not a token
MCP_TOKEN_VARIABLE: Final = "RECOLLECT_MCP_TOKEN"  # noqa: S105 - a name, not a token


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that can be set, resolved."""

    where: str  # a folder, ":memory:" or a URL
    why: str  # how that was found, for people
    token: str | None = None  # what opens spaces on a server

    def __repr__(self) -> str:
        return f"Settings(where={shown(self.where)!r}, why={self.why!r})"


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """Where the two memories lie that an assistant sees side by side."""

    project: Settings  # where it is, or would be made
    me: Settings
    named: bool  # somebody said where the project's memory lies

    @property
    def is_one(self) -> bool:
        """True if the project's memory is the person's own."""
        return self.project.where == self.me.where


def load(
    where: str | os.PathLike[str] | None = None,
    *,
    start: Path | None = None,
    home: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """The settings for a place that was named, or for the nearest one.

    Explicit, then ``RECOLLECT_STORE``, then the nearest ``.recollect/`` up the tree, then that of
    the git repository (its worktrees share one), then the one in the home folder.
    """
    variables = os.environ if environment is None else environment
    token = variables.get(TOKEN_VARIABLE) or None
    if where is not None:
        return _named(os.fspath(where), "named", token)
    if variables.get(STORE_VARIABLE):
        return _named(variables[STORE_VARIABLE], f"from {STORE_VARIABLE}", token)
    start = Path.cwd() if start is None else start
    home = Path.home() if home is None else home
    return _nearest(start, home) or _home(home)


def places(
    where: str | os.PathLike[str] | None = None,
    *,
    start: Path | None = None,
    home: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Places:
    """The project's memory, which may not be there yet, and the one in the home folder.

    A project without one would get it at the root of its git repository, or where it was asked.
    """
    variables = os.environ if environment is None else environment
    start = Path.cwd() if start is None else start
    home = Path.home() if home is None else home
    named = where is not None or bool(variables.get(STORE_VARIABLE))
    project = load(where, environment=variables) if named else _nearest(start, home)
    if project is None:
        root = main_worktree(start) or start
        project = Settings(where=str(root / FOLDER), why=f"for {root}")
    return Places(project=project, me=_home(home), named=named)


def mcp_token(environment: Mapping[str, str] | None = None) -> str | None:
    """What lets a client in over HTTP, if somebody chose it."""
    variables = os.environ if environment is None else environment
    return variables.get(MCP_TOKEN_VARIABLE) or None


def config_home(
    *,
    home: Path | None = None,
    environment: Mapping[str, str] | None = None,
    platform: str = sys.platform,
) -> Path:
    """Where this system's programs keep a person's settings."""
    variables = os.environ if environment is None else environment
    home = Path.home() if home is None else home
    if platform == "darwin":
        return home / "Library" / "Application Support"
    if platform == "win32":
        return Path(variables.get("APPDATA") or home / "AppData" / "Roaming")
    return Path(variables.get("XDG_CONFIG_HOME") or home / ".config")


def _nearest(start: Path, home: Path) -> Settings | None:
    """A project's store. The home folder's is everybody's last resort, so it is passed over."""
    for folder in (start, *start.parents):
        if folder != home and (folder / FOLDER).is_dir():
            return Settings(where=str(folder / FOLDER), why=f"nearest to {start}")
    repository = main_worktree(start)
    if repository is not None and (repository / FOLDER).is_dir():
        return Settings(where=str(repository / FOLDER), why="of the git repository")
    return None


def _home(home: Path) -> Settings:
    return Settings(where=str(home / FOLDER), why="in the home folder")


def main_worktree(start: Path) -> Path | None:
    """The folder of a git repository's first worktree, from inside any of its worktrees."""
    for folder in (start, *start.parents):
        dot_git = folder / ".git"
        if dot_git.is_dir():
            return folder
        if dot_git.is_file():
            return _common_folder(dot_git)
    return None


def _common_folder(dot_git: Path) -> Path | None:
    """Follows a linked worktree's ``.git`` file to the repository it belongs to."""
    try:
        pointer = dot_git.read_text("utf-8").strip().removeprefix("gitdir:").strip()
        git_dir = (dot_git.parent / pointer).resolve()
        common = (git_dir / (git_dir / "commondir").read_text("utf-8").strip()).resolve()
    except (OSError, UnicodeDecodeError):
        return None
    return common.parent if common.name == ".git" else None


def shown(where: str) -> str:
    """A place without the user and password that an address may hold."""
    scheme, slashes, rest = where.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}" if slashes else where


def _named(where: str, why: str, token: str | None) -> Settings:
    if not where:
        raise ConfigError("the store's place is empty", hint="name a folder")
    if where == MEMORY or "://" in where:
        return Settings(where=where, why=why, token=token)
    return Settings(where=str(Path(where).expanduser().absolute()), why=why)
