"""The keys of subjects: in the process, and in files of one person.

    ~/.recollect/subjects/HEX.json    of the ledger whose first event has this hash
    ~/.recollect/master.key           wraps them, if no other master key is set

Responsible for these keys and files. Leaves the master key to ``store.keys.master_key`` and
encrypting to ``ledger.cipher``. Invariants: no key lies in a workspace, a backup or an export; a
key and the name of its user are stored wrapped, and no name is stored for a destroyed one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Final

import msgspec

from recollect.errors import ConfigError, KeyMissing
from recollect.ledger.cipher import KEY_BYTES
from recollect.store.disk.disk import alone, make_folder, replace_file, sync_folder, write_all
from recollect.store.disk.regular_files import read_regular
from recollect.store.keys.subjects import Named
from recollect.store.keys.wrapped_keys import (
    CIPHER,
    PSEUDONYM_BYTES,
    TOLD,
    Wrapped,
    Wrapping,
    missing,
)
from recollect.store.seam import Seam
from recollect.store.sqlite import as_ours

_MOST_BYTES: Final = 1 << 28
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_NAME_DIGITS: Final = 32


class _Destroyed(msgspec.Struct, frozen=True):
    """What stays of a subject whose key was destroyed."""

    pseudonym: str
    at: str
    by: int  # the event that ordered it


class _File(msgspec.Struct, frozen=True, kw_only=True):
    subjects: tuple[Wrapped, ...] = ()
    destroyed: tuple[_Destroyed, ...] = ()


class MemoryKeys:
    """Keys that end with the process."""

    def __init__(self, seam: Seam) -> None:
        self._seam = seam
        self._named: dict[str, list[Named]] = {}
        self._keys: dict[str, bytes] = {}
        self._destroyed: dict[str, int] = {}

    def named(self, user: str) -> list[Named]:
        """The subjects that a user has been here, as far as their keys are there."""
        return [*self._named.get(user, ())]

    def add(self, user: str) -> Named:
        """Makes a user a subject."""
        made = Named(self._seam.random(PSEUDONYM_BYTES).hex(), CIPHER)
        self._keys[made.pseudonym] = self._seam.random(KEY_BYTES)
        self._named.setdefault(user, []).append(made)
        return made

    def key(self, pseudonym: str, cipher: int) -> bytes | None:
        """A key; None if it was destroyed."""
        if pseudonym in self._destroyed:
            return None
        if pseudonym not in self._keys or cipher != CIPHER:
            raise missing(pseudonym, "in this process")
        return self._keys[pseudonym]

    def look_up(self, pseudonyms: Collection[str]) -> None:
        """Nothing: they are in memory."""

    def destroy(self, pseudonyms: Iterable[str], by: int) -> tuple[str, ...]:
        """Destroys keys."""
        gone = set(pseudonyms)
        had = gone & self._keys.keys()
        for pseudonym in gone:
            self._keys.pop(pseudonym, None)
            self._destroyed.setdefault(pseudonym, by)
        for user, named in [*self._named.items()]:
            self._named[user] = [one for one in named if one.pseudonym not in gone]
            if not self._named[user]:
                del self._named[user]
        return tuple(TOLD % pseudonym for pseudonym in sorted(had))

    def destroyed(self) -> dict[str, int]:
        """The pseudonyms whose keys were destroyed here."""
        return {**self._destroyed}

    def set_aside(self) -> None:
        """Nothing wraps these keys."""

    def lacks(self, pseudonyms: Collection[str]) -> set[str]:
        """Those of these subjects that are not known here."""
        return {*pseudonyms} - self._keys.keys() - self._destroyed.keys()

    def wrapped(self, pseudonyms: Collection[str]) -> list[Wrapped]:
        """Nothing: there is no master key here."""
        return []

    def take(self, keys: Collection[Wrapped]) -> None:
        """Refuses keys that were wrapped elsewhere: there is no master key here."""
        if keys:
            raise missing(min(one.pseudonym for one in keys), "in this process")


class FileKeys:
    """The keys of one ledger's subjects in a file of this person."""

    def __init__(
        self, folder: Path, ledger: str, master: Callable[[bool], bytes], seam: Seam
    ) -> None:
        self._folder = folder
        self._path = folder / f"{ledger[:_NAME_DIGITS]}.json"
        self._wrapping = Wrapping(ledger, master, seam, str(self._path))
        self._seam = seam
        self._stamp: tuple[int, ...] | None = None
        self._file = _File()
        self._of: dict[str, Wrapped] = {}
        self._names: dict[str, list[Named]] | None = None
        self._unwrapped: dict[str, bytes] = {}
        self._gone: dict[str, int] = {}

    def named(self, user: str) -> list[Named]:
        """The subjects that a user has been here, as far as their keys are there."""
        self._look()
        if self._names is None:
            self._names = {}
            for kept in self._file.subjects:
                name = self._wrapping.name_of(kept)
                self._names.setdefault(name, []).append(Named(kept.pseudonym, kept.cipher))
        return [*self._names.get(user, ())]

    def add(self, user: str) -> Named:
        """Makes a user a subject, under a new pseudonym and key."""
        kept, key = self._wrapping.new(user)
        names = self._names
        is_known = self._change(
            lambda file: msgspec.structs.replace(file, subjects=(*file.subjects, kept))
        )
        made = Named(kept.pseudonym, kept.cipher)
        if is_known and names is not None:  # else the names are read again
            names.setdefault(user, []).append(made)
            self._names = names
        self._unwrapped[kept.pseudonym] = key
        return made

    def key(self, pseudonym: str, cipher: int) -> bytes | None:
        """A key; None if it was destroyed."""
        self._look()
        if pseudonym in self._gone:
            return None
        known = self._unwrapped.get(pseudonym)
        if known is not None and cipher == CIPHER:
            return known
        kept = self._of.get(pseudonym)
        if kept is None or kept.cipher != cipher:
            raise self._wrapping.missing(pseudonym)
        self._unwrapped[pseudonym] = key = self._wrapping.key_of(kept)
        return key

    def look_up(self, pseudonyms: Collection[str]) -> None:
        """Nothing: all of them are in one file."""

    def destroy(self, pseudonyms: Iterable[str], by: int) -> tuple[str, ...]:
        """Destroys keys: they are left out of the file, and the bytes of the old one overwritten.

        What a disk keeps of overwritten bytes is beyond a program: flash memory writes elsewhere.
        """
        self._look()
        gone = set(pseudonyms) - self._gone.keys()
        if not gone:
            return ()
        had = sorted(gone & self._of.keys())
        at = self._seam.now()

        def without(file: _File) -> _File:
            known = {one.pseudonym for one in file.destroyed}
            told = tuple(_Destroyed(one, at, by) for one in sorted(gone - known))
            left = tuple(one for one in file.subjects if one.pseudonym not in gone)
            return _File(subjects=left, destroyed=(*file.destroyed, *told))

        self._change(without, blank=True)
        for pseudonym in gone:
            self._unwrapped.pop(pseudonym, None)
        return tuple(f"{TOLD % pseudonym} in {self._path}" for pseudonym in had)

    def destroyed(self) -> dict[str, int]:
        """The pseudonyms whose keys were destroyed here, each with the event that ordered it."""
        self._look()
        return {**self._gone}

    def set_aside(self) -> None:
        """If the master key is missing, renames the file that it wraps: new keys can be made."""
        try:
            self.named("")
        except KeyMissing:
            names = (f"{self._path.stem}.lost{number}" for number in ("", *range(2, 1_000)))
            free = next(name for name in names if not (self._folder / name).exists())
            with alone(self._seam, self._folder):
                self._seam.replace(self._path, self._folder / free)
                sync_folder(self._seam, self._folder)

    def lacks(self, pseudonyms: Collection[str]) -> set[str]:
        """Those of these subjects that are neither known nor destroyed here."""
        self._look()
        return {*pseudonyms} - self._of.keys() - self._gone.keys()

    def wrapped(self, pseudonyms: Collection[str]) -> list[Wrapped]:
        """These subjects as they are stored, as far as they are here."""
        self._look()
        return [self._of[one] for one in sorted(pseudonyms) if one in self._of]

    def take(self, keys: Collection[Wrapped]) -> None:
        """Keeps keys that were wrapped elsewhere; the master key must open them."""
        lacking = self.lacks([one.pseudonym for one in keys])
        new = {one.pseudonym: one for one in keys if one.pseudonym in lacking}
        for one in new.values():
            self._wrapping.key_of(one)
        if new:
            self._change(
                lambda file: msgspec.structs.replace(
                    file, subjects=(*file.subjects, *_without(new, file))
                )
            )

    def _look(self) -> None:
        """Reads the file again if it was changed."""
        try:
            stamp = self._stamped()
            if stamp == self._stamp:
                return
            self._take(_File() if stamp is None else self._read(), stamp)
        except OSError as error:
            raise as_ours(error) from error

    def _stamped(self) -> tuple[int, ...] | None:
        try:
            found = os.stat(self._path)
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    def _take(self, file: _File, stamp: tuple[int, ...] | None) -> None:
        self._file, self._stamp, self._names = file, stamp, None
        self._of = {kept.pseudonym: kept for kept in file.subjects}
        self._gone = {one.pseudonym: one.by for one in file.destroyed}
        self._unwrapped = {
            pseudonym: key for pseudonym, key in self._unwrapped.items() if pseudonym in self._of
        }

    def _read(self) -> _File:
        for path in (self._folder, self._path):
            if path.stat().st_mode & _OTHERS:
                raise ConfigError(
                    f"{path} can be read by others, and the keys of subjects are in it",
                    hint=f"run: chmod go= {path}",
                )
        try:
            return msgspec.json.decode(read_regular(self._path, _MOST_BYTES), type=_File)
        except ValueError as error:  # also for bytes that are not UTF-8
            raise ConfigError(
                f"{self._path} could not be parsed",
                hint="restore it from a copy; without it, the memory of subjects cannot be read",
            ) from error

    def _change(self, change: Callable[[_File], _File], *, blank: bool = False) -> bool:
        """Changes the file; True if it was as this process knew it."""
        try:
            make_folder(self._seam, self._folder)
            with alone(self._seam, self._folder):
                before = self._read() if self._path.exists() else _File()
                after = change(before)
                data = msgspec.json.format(msgspec.json.encode(after), indent=1)
                self._replace(data + b"\n", blank=blank)
                is_known = before == self._file
                self._take(after, self._stamped())
                return is_known
        except OSError as error:
            raise as_ours(error) from error

    def _replace(self, data: bytes, *, blank: bool) -> None:
        old = self._seam.open(self._path, os.O_RDWR) if blank and self._path.exists() else None
        try:
            replace_file(self._seam, self._path, [data])
            if old is not None:  # it has no name any more
                write_all(self._seam, old, bytes(os.fstat(old).st_size), 0)
                self._seam.fsync(old)
        finally:
            if old is not None:
                self._seam.close(old)


def _without(new: dict[str, Wrapped], file: _File) -> list[Wrapped]:
    """Those that are not in the file yet: another process may have written it."""
    known = {one.pseudonym for one in file.subjects} | {one.pseudonym for one in file.destroyed}
    return [one for pseudonym, one in new.items() if pseudonym not in known]
