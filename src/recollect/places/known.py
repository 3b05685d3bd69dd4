"""Which memories an assistant may be shown: those that were created or adopted on this machine.

A folder that was cloned or unpacked may contain a memory whose events all claim to come from a
person, or a link to another project's memory. Responsible for telling such a memory from this
person's own, and for listing a memory that was created here or adopted. Leaves reading the list to
``config`` and asking a person to ``interfaces``. Invariants: a memory that was found by searching,
rather than named, is known only if the list holds its place together with the hash of its ledger's
first event; the place is the path it was found at, without following links; a memory enters the
list only when it is created here or when a person confirms it; after its folder was renamed it is
still known if the listed place is gone and this is that very folder (its inodes), not a copy.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from msgspec import structs

from recollect import config
from recollect.config import Settings
from recollect.errors import ConfigError, RecollectError
from recollect.store.disk.layout import (
    CHOSEN,
    IGNORE,
    LEDGER,
    PAGES_CHOSEN,
    SEALED,
    SEGMENT_SUFFIX,
    SESSIONS,
    SPACES,
    folder_of,
    is_untouched,
)
from recollect.store.disk.regular_files import read_regular
from recollect.store.seam import REAL, Seam

# Neither the path nor any text of the memory: its author may have chosen both to be read here.
ELSEWHERE: Final = "the memory in this folder was not created on this machine, so it is ignored"
HINT: Final = "run `recollect init` to adopt it, if you trust its author"
DECIDES: Final = "tell the user, who alone decides whether to adopt it (`recollect init`)"
LISTS: Final = (
    None,
    CHOSEN,
    SESSIONS,
    PAGES_CHOSEN,
)  # what is kept about a memory under its place; None: known
_LINE_MAX_BYTES: Final = 4_096  # a header is shorter
_FIRST: Final = re.compile(rb'\{"v":[0-9]+,"seq":1,[^\n]*?,"hash":"([0-9a-f]{64})"')


def is_known(settings: Settings, space: str = "main") -> bool:
    """True if an assistant may be shown this memory; also true while there is no memory yet."""
    workspace = settings.folder
    if settings.known_in is None or workspace is None:
        return True
    folder = folder_of(workspace, space)
    if is_untouched(folder) and not _has_link(workspace, folder):
        return True
    first = first_hash(folder)
    if first is None:
        return False
    return _is_listed(settings, space, first) or _renamed_from(settings, space, first) is not None


def _has_link(workspace: Path, folder: Path) -> bool:
    """True if any folder from the workspace down to the space's folder is a symbolic link."""
    path = [folder, *folder.parents]
    return any(each.is_symlink() for each in path[: path.index(workspace) + 1])


def adopt(settings: Settings, space: str = "main", seam: Seam = REAL) -> None:
    """Lists a memory as known, with its current ledger."""
    if settings.folder is None:
        return
    follow(settings, space, seam)
    entry = _entry(settings.folder, space)
    if entry is not None and " " not in entry:
        entry = _marked(settings.folder, space, seam)
    if entry is not None and config.known(list_of(settings)).get(place(settings, space)) != entry:
        with lock(settings, seam):
            add(settings, space, seam)


def follow(settings: Settings, space: str = "main", seam: Seam = REAL) -> None:
    """Lists a memory whose folder was renamed under its new place, with everything kept about it.

    Does nothing for any other memory, nor if the list cannot be written: the memory stays known.
    """
    if settings.known_in is None or settings.folder is None:
        return
    first = first_hash(folder_of(settings.folder, space))
    if first is None or _is_listed(settings, space, first):
        return
    with suppress(OSError, RecollectError), lock(settings, seam):
        gone = _renamed_from(settings, space, first)
        if gone is not None:
            below = place(settings, space).removeprefix(config.place_of(settings.where))
            before = structs.replace(settings, where=gone.removesuffix(below))
            for name in LISTS:
                list_as(before, settings.where, seam, name)
                unlist(before, seam, name)


def _renamed_from(settings: Settings, space: str, first: str) -> str | None:
    """The listed place that this very folder had before it was renamed, if that is gone.

    A ledger that starts alike is not enough, because a clone can bring one: the folder and a file
    in it must be the ones that were listed, and only a rename keeps their inodes.
    """
    workspace = Path(settings.where)
    if _has_link(workspace, folder_of(workspace, space)):
        return None
    mine, listed = _entry(workspace, space), config.known(list_of(settings))
    places = [each for each, entry in listed.items() if entry == mine and entry != first]
    return next((each for each in places if not os.path.lexists(each)), None)


@contextmanager
def lock(settings: Settings, seam: Seam = REAL) -> Iterator[None]:
    """A lock across threads and processes for creating or adopting a memory.

    While a memory is being created here it looks like one from elsewhere: it has a ledger and is
    not listed yet. A caller that must be sure checks again while it holds the lock.
    """
    from recollect.store.disk.disk import alone

    file = list_of(settings)
    prepare(file, seam)
    with alone(seam, file.parent):
        yield


def add(settings: Settings, space: str = "main", seam: Seam = REAL) -> None:
    """Adds a memory to the list. Call it inside ``lock``."""
    entry, file = _marked(Path(settings.where), space, seam), list_of(settings)
    if entry is not None:
        write({**listed(file), place(settings, space): entry}, file, seam)


def has_listed(settings: Settings) -> bool:
    """True if the list has any space of this workspace, with its current ledger."""
    workspace = Path(settings.where)
    names = [unquote(each.name) for each in (workspace / SPACES).glob("*")]
    for space in ("main", *names):
        first = first_hash(folder_of(workspace, space))
        if first is not None and _is_listed(settings, space, first):
            return True
    return False


def list_as(settings: Settings, new: str, seam: Seam, name: str | None = None) -> None:
    """Also lists all spaces of a workspace under another place. Call it inside ``lock``."""
    old = config.place_of(settings.where)
    found = listed(list_of(settings, name))
    moved = {
        config.place_of(new) + key[len(old) :]: found[key] for key in found if _is_in(key, old)
    }
    if moved:
        write({**found, **moved}, list_of(settings, name), seam)


def unlist(settings: Settings, seam: Seam, name: str | None = None) -> None:
    """Removes all spaces of a workspace from the list. Call it inside ``lock``."""
    old = config.place_of(settings.where)
    found = listed(list_of(settings, name))
    kept = {key: value for key, value in found.items() if not _is_in(key, old)}
    if kept != found:
        write(kept, list_of(settings, name), seam)


def forget(settings: Settings, space: str, seam: Seam = REAL) -> None:
    """Removes a space that was dropped from what is kept about memories."""
    if settings.folder is None:
        return
    gone = place(settings, space)
    for file in (list_of(settings, name) for name in (None, SESSIONS, PAGES_CHOSEN)):
        if gone in config.known(file):
            with lock(settings, seam):
                found = listed(file)
                write({key: value for key, value in found.items() if key != gone}, file, seam)


def _is_in(key: str, place: str) -> bool:
    return key == place or key.startswith(f"{place}/")


def listed(file: Path) -> dict[str, str]:
    """A list, to be changed and written again; an error if it cannot be parsed.

    One wrong character would otherwise lose every other line.
    """
    import msgspec

    try:
        data = read_regular(file, config.KNOWN_MAX_BYTES)
        return msgspec.json.decode(data, type=dict[str, str]) if data.strip() else {}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:  # also for bytes that are not UTF-8
        raise ConfigError(
            f"{file} could not be read, so it was not changed: {error}",
            hint="correct it, or move it away to begin an empty list",
        ) from error


def write(found: dict[str, str], file: Path, seam: Seam) -> None:
    """Replaces a list. Call it inside ``lock``."""
    import msgspec

    from recollect.store.disk.disk import replace_file

    data = msgspec.json.format(msgspec.json.encode(found), indent=1)
    replace_file(seam, file, [data + b"\n"])


def _is_listed(settings: Settings, space: str, first: str) -> bool:
    entry = config.known(list_of(settings)).get(place(settings, space), "")
    return entry.partition(" ")[0] == first


def _entry(workspace: Path, space: str) -> str | None:
    """What the list holds about a memory: its first event's hash, and marks of its folder.

    The marks are the inodes of the folder and of the workspace's ``.gitignore``, and when that
    file's inode was last changed: a deleted folder's inodes are soon used again, but no file can be
    unpacked with that instant. It is the one file that is written once; each process that takes the
    lock writes its id into that. An earlier release listed the hash alone, or marks of the lock.
    """
    folder = folder_of(workspace, space)
    first = first_hash(folder)
    try:
        own, ignore = os.lstat(folder), os.lstat(workspace / IGNORE)
    except OSError:
        return first
    is_plain = stat.S_ISDIR(own.st_mode) and stat.S_ISREG(ignore.st_mode)
    marks = f"{own.st_ino}-{ignore.st_ino}-{ignore.st_ctime_ns}"
    return f"{first} {marks}" if first and is_plain else first


def _marked(workspace: Path, space: str, seam: Seam) -> str | None:
    """The same, after the file that marks the folder was written, if it is missing."""
    from recollect.store.files.backend import make_workspace

    if first_hash(folder_of(workspace, space)) is not None:
        with suppress(ConfigError):  # a folder without marks is listed by its hash
            make_workspace(workspace, seam)
    return _entry(workspace, space)


def list_of(settings: Settings, name: str | None = None) -> Path:
    """The list of known memories, or another one beside it."""
    file = config.known_file() if settings.known_in is None else Path(settings.known_in)
    return file if name is None else file.with_name(name)


def prepare(file: Path, seam: Seam = REAL) -> None:
    """Creates the list's folder, so that no memory is created that could not be listed.

    For the same reason a list that cannot be parsed is refused.
    """
    from recollect.store.files.backend import make_workspace

    try:
        make_workspace(file.parent, seam)
    except ConfigError as error:
        raise ConfigError(
            f"the list of known memories could not be created at {file}",
            hint=f"make {file.parent} a writable folder, or name the memory's folder explicitly",
        ) from error
    listed(file)


def place(settings: Settings, space: str) -> str:
    """The path a memory was found at; a link to a known memory counts as a different place."""
    return str(folder_of(Path(config.place_of(settings.where)), space))


def first_hash(folder: Path) -> str | None:
    """The hash of a ledger's first event, which is in its first segment once one is sealed."""
    active = _hash_in(folder / LEDGER)
    if active is not None:
        return active
    sealed = sorted((folder / SEALED).glob(f"{1:010d}-*{SEGMENT_SUFFIX}"))
    return _hash_in(sealed[0]) if sealed else None


def _hash_in(file: Path) -> str | None:
    """The hash in a file's first line, if that is a ledger's first event."""
    try:
        found = _FIRST.match(read_regular(file, _LINE_MAX_BYTES))
    except OSError:
        return None
    return None if found is None else found[1].decode()
