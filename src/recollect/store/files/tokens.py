"""The tokens of a workspace: one file, ``tokens.json``.

Responsible for reading it again when it was replaced, for replacing it, and for refusing one that
others on this machine can write or read. Leaves what is in it to ``store.tokens.token_list``.
Invariants: only its owner can read it, and it holds hashes and no token; after a crash it is the
old list or the new one.
"""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from recollect.errors import ConfigError
from recollect.model.instants import INSTANT
from recollect.store import posix
from recollect.store.disk.disk import alone, replace_file
from recollect.store.disk.layout import TOKENS, half_made
from recollect.store.disk.regular_files import open_regular
from recollect.store.seam import Seam
from recollect.store.sqlite import as_ours
from recollect.store.tokens.grants import VERBS
from recollect.store.tokens.token_list import TOKENS_MAX_COUNT, KeptToken, TokenList, without_space

_MOST_BYTES: Final = 1 << 24
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_HASH: Final = re.compile(r"[0-9a-f]{64}")
_AWAY: Final = (
    "if you did not write it, move it away: then no token opens this store, and you create new "
    "ones with `recollect admin token create`"
)

Stamp = tuple[int, int, int, int, int]


class FileTokens:
    """The list of one workspace, as one process sees it."""

    def __init__(self, folder: Path, seam: Seam, make_folder: Callable[[], None]) -> None:
        self._path = folder / TOKENS
        self._name = str(self._path)  # converting a path takes longer than a look at it
        self._seam = seam
        self._make_folder = make_folder
        self._reading = threading.Lock()
        self._seen: tuple[Stamp, TokenList] | None = None
        self._fd: int | None = None  # of what was read: its number is not given to another file

    def read(self) -> TokenList:
        """The list as it is now; empty if there is no file."""
        try:
            with self._reading:
                found = _stamp(os.stat(self._name, follow_symlinks=False))
                if self._seen is None or self._seen[0] != found:
                    self._seen = self._read()
                return self._seen[1]
        except FileNotFoundError:
            return TokenList()
        except OSError as error:
            raise as_ours(error) from error

    def change(self, how: Callable[[TokenList], TokenList]) -> TokenList:
        """Replaces the list under the lock of the workspace."""
        try:
            self._make_folder()
            with alone(self._seam, self._path.parent):
                before = self.read()
                after = how(before)
                if after != before:
                    self._seam.unlink(half_made(self._path))  # with it, who may read it
                    data = msgspec.json.format(msgspec.json.encode(after), indent=1)
                    replace_file(self._seam, self._path, [data, b"\n"])
                return after
        except OSError as error:
            raise as_ours(error) from error

    def revoke_space(self, space: str) -> None:
        """Revokes the tokens for one space, because it was dropped."""
        if os.path.lexists(self._name):
            self.change(lambda before: without_space(before, space, self._seam.now()))

    def close(self) -> None:
        """Releases the file."""
        with self._reading:
            if self._fd is not None:
                os.close(self._fd)
            self._fd, self._seen = None, None

    def _read(self) -> tuple[Stamp, TokenList]:
        if stat.S_ISLNK(os.lstat(self._name).st_mode):
            raise ConfigError(f"{self._path} is a link, which is not followed", hint=_AWAY)
        fd = open_regular(self._path, posix.NO_LINK)
        try:
            about = os.fstat(fd)
            _check_owner(self._path, about)
            found = _parsed(self._path, fd, about.st_size)
        except BaseException:
            os.close(fd)
            raise
        if self._fd is not None:
            os.close(self._fd)
        self._fd = fd
        return _stamp(about), found


def _stamp(about: os.stat_result) -> Stamp:
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


def _check_owner(path: Path, about: os.stat_result) -> None:
    """Refuses a file of another account, and one that others can read or write."""
    if about.st_uid not in (os.geteuid(), 0):
        raise ConfigError(f"{path} belongs to another account", hint=_AWAY)
    if about.st_mode & _OTHERS:
        raise ConfigError(
            f"{path} can be read or changed by other accounts",
            hint=f"run `chmod 600 {path}` if no other account had access; else move it away and "
            "create new tokens",
        )


def _parsed(path: Path, fd: int, size: int) -> TokenList:
    if size > _MOST_BYTES:
        raise ConfigError(f"{path} has {size:,} bytes, more than a list of tokens has", hint=_AWAY)
    data = os.pread(fd, size, 0)
    try:
        found = msgspec.json.decode(data, type=TokenList)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", hint=_AWAY) from error
    problem = _problem(found)
    if problem is not None:
        raise ConfigError(f"{path} cannot be used: {problem}", hint=_AWAY)
    return found


def _problem(found: TokenList) -> str | None:
    """What is wrong with a list that somebody else may have written."""
    if found.version != 1:
        return f"it is of version {found.version}, and this release knows 1"
    if len(found.tokens) > TOKENS_MAX_COUNT:
        return f"it lists {len(found.tokens):,} tokens"
    ids = [token.id for token in found.tokens]
    if len(set(ids)) != len(ids) or len(found.by_hash) != len(ids):
        return "two tokens have the same id or hash"
    if any(not 0 < id < found.next for id in ids):
        return "an id is not below the next one"
    bad = next((token.id for token in found.tokens if not _is_sound(token)), None)
    return None if bad is None else f"token {bad} is not one that Recollect writes"


def _is_sound(token: KeptToken) -> bool:
    times = [time for time in (token.made, token.expires, token.revoked) if time is not None]
    return (
        _HASH.fullmatch(token.hash) is not None
        and all(INSTANT.fullmatch(time) for time in times)
        and set(token.verbs) <= set(VERBS)
        and "read" in token.verbs
    )
