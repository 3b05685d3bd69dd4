"""The files of an import: one, those of a folder, or the members of an archive.

Responsible for finding and opening them, and for how much of them is read. Leaves what they say to
``exchange``. Invariants: only regular files inside the folder are read, and no link is followed; a
member of an archive is read where it is and written nowhere; every count and size has a limit.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final

from recollect.errors import InvalidInput, LimitExceeded
from recollect.store.disk.regular_files import opener

_CHUNK_BYTES: Final = 1 << 18
_FILES_MAX_COUNT: Final = 100_000
_DEPTH_MAX_COUNT: Final = 32
_MEMBER_MAX_BYTES: Final = 1 << 32
_ARCHIVE_MAX_BYTES: Final = 1 << 34
# An archive that unpacks to more than this may not unpack to more than so many times its size.
_BOMB_MIN_BYTES: Final = 1 << 26
_BOMB_RATIO: Final = 200
_LOGS: Final = ("-wal", "-journal")
_LEFT_OUT: Final = frozenset({".git", ".obsidian", "node_modules", ".trash", "__MACOSX"})
_LINKS: Final = "symbolic links"
_ODD: Final = "files that are not regular, such as pipes"
_DEEP: Final = "folders that are nested too deeply"
_UNREADABLE: Final = (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError)

Tick = Callable[[int], None]  # bytes that were read


class FileSource:
    """A file that an importer reads."""

    def __init__(self, name: str, size: int, start: Callable[[], IO[bytes]], tick: Tick) -> None:
        self.name = name
        self.size = size
        self._start = start
        self._tick = tick

    def head(self, at_most: int) -> bytes:
        """The first bytes."""
        try:
            with self._start() as file:
                return file.read(at_most)
        except _UNREADABLE as error:
            raise _unreadable(self.name, error) from error

    def chunks(self) -> Iterator[bytes]:
        """The bytes, in pieces."""
        read = 0
        try:
            with self._start() as file:
                while chunk := file.read(_CHUNK_BYTES):
                    read += len(chunk)
                    if read > _MEMBER_MAX_BYTES:
                        raise LimitExceeded(f"{self.name} is too large", hint="import parts of it")
                    self._tick(len(chunk))
                    yield chunk
        except _UNREADABLE as error:
            raise _unreadable(self.name, error) from error


def files_at(path: Path, tick: Tick, left_out: Counter[str] | None = None) -> list[FileSource]:
    """The files at a path, by name; what of a folder is not read is counted."""
    try:
        if path.is_dir():
            return list(_in_folder(path, tick, Counter() if left_out is None else left_out))
        with open(path, "rb", opener=opener) as file:
            is_archive = zipfile.is_zipfile(file)
        if is_archive:
            return list(_in_archive(path, tick))
        # The log of an SQLite file holds what is not settled in the file yet.
        logs = (path.with_name(path.name + end) for end in _LOGS)
        some = [log for log in logs if log.is_file() and not log.is_symlink()]
        return [_file(one.name, one, tick) for one in (path, *some)]
    except _UNREADABLE as error:
        raise _unreadable(str(path), error) from error


def _file(name: str, path: Path, tick: Tick) -> FileSource:
    def start() -> IO[bytes]:
        return open(path, "rb", opener=opener)

    return FileSource(name, os.stat(path).st_size, start, tick)


def _in_folder(folder: Path, tick: Tick, left_out: Counter[str]) -> Iterator[FileSource]:
    count = 0
    for path, folders, files in os.walk(folder, followlinks=False):
        inside = Path(path).relative_to(folder)
        is_deep = len(inside.parts) >= _DEPTH_MAX_COUNT
        left_out[_DEEP] += len(folders) if is_deep else 0
        left_out[_LINKS] += sum((Path(path) / name).is_symlink() for name in folders)
        folders[:] = [] if is_deep else sorted(name for name in folders if name not in _LEFT_OUT)
        for name in sorted(files):
            file = Path(path) / name
            if file.is_symlink() or not file.is_file():
                left_out[_LINKS if file.is_symlink() else _ODD] += 1
                continue
            count += 1
            if count > _FILES_MAX_COUNT:
                raise LimitExceeded(f"{folder} has more than {_FILES_MAX_COUNT:,} files")
            yield _file((inside / name).as_posix(), file, tick)


def _in_archive(path: Path, tick: Tick) -> Iterator[FileSource]:
    """The members of an archive. Their names are only shown, so none of them leads anywhere."""
    archive = zipfile.ZipFile(path)  # open for all members: its list is long to read
    members = [member for member in archive.infolist() if not member.is_dir()]
    if len(members) > _FILES_MAX_COUNT:
        raise LimitExceeded(f"{path} has more than {_FILES_MAX_COUNT:,} files")
    size, packed = sum(member.file_size for member in members), os.stat(path).st_size
    if size > _BOMB_MIN_BYTES and size > _BOMB_RATIO * packed:  # members may share their bytes
        raise LimitExceeded(
            f"{path} would be {size // packed:,} times as large when unpacked",
            hint="if that is right, unpack it and import the files",
        )
    if size > _ARCHIVE_MAX_BYTES:
        raise LimitExceeded(
            f"{path} would be larger than 16 GiB when unpacked", hint="import parts of it"
        )
    for member in sorted(members, key=lambda each: each.filename):
        yield FileSource(member.filename, member.file_size, _member(archive, member), tick)


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Callable[[], IO[bytes]]:
    def start() -> IO[bytes]:
        try:
            return archive.open(member)
        except RuntimeError as error:  # it is encrypted
            raise InvalidInput(f"{member.filename} cannot be read: {error}") from error

    return start


def _unreadable(name: str, error: Exception) -> InvalidInput:
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return InvalidInput(f"{name} could not be read: {why}")
