"""A workspace: a folder with many spaces, each in its own folder.

Responsible for the folder of each space. Leaves its contents to ``store.files.space``. Invariant:
no name of a space leads out of the workspace.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote
from weakref import WeakSet

from recollect.errors import ConfigError
from recollect.model.values import Drop, Dropped, Token
from recollect.store.disk.disk import make_folder, write_file
from recollect.store.disk.layout import IGNORE, JOBS, LEDGER, SPACES, folder_of, is_dropping
from recollect.store.entered import EnteredBackend
from recollect.store.files import drop
from recollect.store.files.open_files import finish_interrupted
from recollect.store.files.space import FileSpace
from recollect.store.files.tokens import FileTokens
from recollect.store.keys.subjects import SubjectKeys
from recollect.store.port import Opened
from recollect.store.seam import REAL, Seam
from recollect.store.sqlite import as_ours
from recollect.store.tokens.token_list import ListedTokens

if TYPE_CHECKING:  # loaded only if there is work
    from recollect.store.jobs.job_file import JobFile
    from recollect.store.jobs.kept_jobs import KeptJobs


def make_workspace(folder: Path, seam: Seam = REAL) -> None:
    """Makes the folder of a workspace, ignored by git; an existing one is not changed."""
    try:
        make_folder(seam, folder)
        if not (folder / IGNORE).exists():
            write_file(seam, folder / IGNORE, [b"*\n"])
    except OSError as error:
        raise ConfigError(
            f"{folder} could not be created: {error.strerror}", hint="choose another folder"
        ) from error


class FileBackend:
    """A workspace: the space "main" at its root, the others below ``spaces/``."""

    def __init__(
        self,
        folder: Path,
        *,
        seam: Seam = REAL,
        keys: Callable[[str], SubjectKeys] | None = None,
        note_erased: Callable[[str, Mapping[int, str]], None] | None = None,
    ) -> None:
        self._folder = folder
        self._keys = keys  # of the subjects of a ledger
        self._note_erased = note_erased
        self._seam = seam
        self._spaces: WeakSet[FileSpace] = WeakSet()
        self._tokens = FileTokens(folder, seam, lambda: make_workspace(folder, seam))
        self._jobs: JobFile | None = None
        self._opening = threading.Lock()

    @property
    def where(self) -> str:
        """The workspace's folder."""
        return str(self._folder)

    def space(self, name: str, *, create: bool) -> FileSpace:
        """A space by name; no I/O happens before it is used."""
        folder, seam = self.folder_of(name), self._seam
        space = FileSpace(
            folder, name, create=create, seam=seam, keys=self._keys, note_erased=self._note_erased
        )
        self._spaces.add(space)
        return space

    def spaces(self) -> list[str]:
        """The names of the spaces that exist."""
        try:
            found = ["main"] if _is_space(self._folder) else []
            others = sorted((self._folder / SPACES).glob("*"))
            return found + [unquote(other.name) for other in others if _is_space(other)]
        except OSError as error:  # a folder of another account
            raise as_ours(error) from error

    def heads(self, names: Iterable[str]) -> dict[str, int]:
        """The last event of each of these spaces; those that are open here are asked first."""
        opened = {space.name: space for space in self._spaces if space.is_usable}
        return {name: self._head(name, opened.get(name)) for name in names if self.has(name)}

    def _head(self, name: str, opened: FileSpace | None) -> int:
        if opened is not None:
            return opened.head().seq
        with closing(self.space(name, create=False)) as space:
            return space.head().seq

    def drop(self, name: str, reason: str | None) -> Drop:
        """Drops a space: its files and its copies in the workspace."""
        note = self._finish(name)
        if note is not None:  # it was dropped before, and interrupted
            return Drop(
                space=name,
                records=None,
                episodes=None,
                events=note.seq,
                size_bytes=0,
                places=(),
                dropped=note,
            )
        with closing(self.space(name, create=False)) as space:
            return space.drop(reason)

    def would_drop(self, name: str) -> Drop:
        """What dropping a space would remove, and what would remain."""
        with closing(self.space(name, create=False)) as space:
            return space.would_drop()

    def _finish(self, name: str) -> Dropped | None:
        folder = self.folder_of(name)
        return finish_interrupted(self._seam, folder, name) if is_dropping(folder) else None

    def dropped(self) -> list[Dropped]:
        """The notes about the spaces that were dropped here, oldest first."""
        return drop.dropped(self._folder)

    def token(self) -> None:
        """Returns None: the owner needs no token."""

    def entered(self, token: str, opened: Opened) -> EnteredBackend:
        """The same place for the holder of a token."""
        return EnteredBackend(self, token, opened)

    def tokens(self) -> ListedTokens:
        """What opens the spaces of this workspace, in a file of it."""
        return ListedTokens(self._tokens, self._make, self._seam)

    def jobs(self, token: Callable[[], Token | None] = lambda: None) -> KeptJobs:
        """The work that was asked for in this store."""
        from recollect.store.jobs.job_file import JobFile
        from recollect.store.jobs.kept_jobs import KeptJobs

        with self._opening:
            self._jobs = self._jobs or JobFile(self._folder / JOBS, self._seam)
        return KeptJobs(self._jobs, self.has, token)

    def _make(self, name: str) -> None:
        """Creates a space, unless it exists."""
        if not self.has(name):
            make_workspace(self._folder, self._seam)
            with closing(self.space(name, create=True)) as space:
                space.head()

    @contextmanager
    def looking(self, hash: bytes, name: str) -> Iterator[tuple[Token | None, bool]]:
        """The token of a hash, and whether there is a space of this name."""
        yield self.tokens().find(hash), self.has(name)

    def has(self, name: str) -> bool:
        """True if there is a space of this name."""
        try:
            return _is_space(self.folder_of(name))
        except OSError as error:
            raise as_ours(error) from error

    def folder_of(self, name: str) -> Path:
        """The folder of a space; never outside of the workspace."""
        return folder_of(self._folder, name)

    def give_up(self) -> None:
        """Does nothing: no server is waited for."""

    def close(self) -> None:
        """Closes every space."""
        for space in list(self._spaces):
            space.close()
        self._tokens.close()
        if self._jobs is not None:
            self._jobs.close()


def _is_space(folder: Path) -> bool:
    # Asked with every call of a token, and adding to a path takes longer than a look at the file.
    # Where there seems to be none, `Path` says whether that is because we may not look.
    is_there = os.path.exists(f"{folder}/{LEDGER}") or (folder / LEDGER).exists()
    return is_there and not is_dropping(folder)
