"""Which memories an assistant may be shown: those that were made or adopted on this machine.

A folder that was cloned or unpacked may bring a memory along, and every event in it may say that a
person spoke; or it may bring a link that leads to another project's memory. Responsible for telling
such a memory from this person's own, and for listing one that was made here or adopted. Leaves
reading the list to ``config``, asking a person to ``interfaces``. Invariants: a memory that was
found, not named, is known only if the list has its place together with the hash of its ledger's
first event; the place is where it was found, whatever a link there leads to; nothing but a person's
yes, or making it here, puts it there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from recollect import config
from recollect.config import Settings
from recollect.errors import ConfigError
from recollect.store.layout import LEDGER, SEALED, SEGMENT_SUFFIX, SPACES, folder_of, is_untouched
from recollect.store.regular_files import read_regular
from recollect.store.seam import REAL, Seam

# No place and no word of the memory: whoever wrote it may have chosen both to be read here.
ELSEWHERE: Final = "the memory in this folder was not made here, so nothing of it is used"
HINT: Final = "`recollect init` adopts it, if you trust whoever wrote it"
DECIDES: Final = "tell the user, who alone decides whether to adopt it (`recollect init`)"
_LINE_MAX_BYTES: Final = 4_096  # a header is shorter
_FIRST: Final = re.compile(rb'\{"v":[0-9]+,"seq":1,[^\n]*?,"hash":"([0-9a-f]{64})"')


def is_known(settings: Settings, space: str = "main") -> bool:
    """True if an assistant may be shown this memory; where nothing is, nothing is strange."""
    workspace = settings.folder
    if settings.known_in is None or workspace is None:
        return True
    folder = folder_of(workspace, space)
    if is_untouched(folder) and not _has_link(workspace, folder):
        return True
    first = _first_hash(folder)
    return first is not None and _is_listed(settings, space, first)


def _has_link(workspace: Path, folder: Path) -> bool:
    """True if the way from a workspace to a space's folder, both included, follows a link."""
    way = [folder, *folder.parents]
    return any(each.is_symlink() for each in way[: way.index(workspace) + 1])


def adopt(settings: Settings, space: str = "main", seam: Seam = REAL) -> None:
    """Lists a memory as known, with the ledger that it has now."""
    if settings.folder is None:
        return
    first = _first_hash(folder_of(settings.folder, space))
    if first is not None and not _is_listed(settings, space, first):
        with turn(settings, seam):
            listed(settings, space, seam)


@contextmanager
def turn(settings: Settings, seam: Seam = REAL) -> Iterator[None]:
    """Whoever makes or adopts a memory does so alone, across threads and processes.

    In between a memory that is being made here looks like one from elsewhere: it has a ledger and
    is not listed yet. So whoever wants to be sure looks again in a turn of its own.
    """
    from recollect.store.disk import alone

    file = _list_of(settings)
    prepare(file, seam)
    with alone(seam, file.parent):
        yield


def listed(settings: Settings, space: str = "main", seam: Seam = REAL) -> None:
    """Adds a memory to the list; in a ``turn``."""
    folder, file = folder_of(Path(settings.where), space), _list_of(settings)
    first = _first_hash(folder)
    if first is not None:
        _write({**config.known(file), _place(settings, space): first}, file, seam)


def has_listed(settings: Settings) -> bool:
    """True if the list has a space of this workspace, with the ledger that it has now."""
    workspace = Path(settings.where)
    names = [unquote(each.name) for each in (workspace / SPACES).glob("*")]
    for space in ("main", *names):
        first = _first_hash(folder_of(workspace, space))
        if first is not None and _is_listed(settings, space, first):
            return True
    return False


def list_as(settings: Settings, new: str, seam: Seam, name: str | None = None) -> None:
    """Lists everything of a workspace under another place too; in a ``turn``."""
    old = config.place_of(settings.where)
    found = config.known(_list_of(settings, name))
    moved = {
        config.place_of(new) + key[len(old) :]: found[key] for key in found if _is_in(key, old)
    }
    if moved:
        _write({**found, **moved}, _list_of(settings, name), seam)


def unlist(settings: Settings, seam: Seam, name: str | None = None) -> None:
    """Takes everything of a workspace off the list; in a ``turn``."""
    old = config.place_of(settings.where)
    found = config.known(_list_of(settings, name))
    kept = {key: value for key, value in found.items() if not _is_in(key, old)}
    if kept != found:
        _write(kept, _list_of(settings, name), seam)


def _is_in(key: str, place: str) -> bool:
    return key == place or key.startswith(f"{place}/")


def _write(found: dict[str, str], file: Path, seam: Seam) -> None:
    import msgspec

    from recollect.store.disk import replace_file

    data = msgspec.json.format(msgspec.json.encode(found), indent=1)
    replace_file(seam, file, [data + b"\n"])


def _is_listed(settings: Settings, space: str, first: str) -> bool:
    return config.known(_list_of(settings)).get(_place(settings, space)) == first


def _list_of(settings: Settings, name: str | None = None) -> Path:
    """The list of known memories, or another one beside it."""
    file = config.known_file() if settings.known_in is None else Path(settings.known_in)
    return file if name is None else file.with_name(name)


def prepare(file: Path, seam: Seam = REAL) -> None:
    """Room for the list, so that nothing is made that could not be listed then."""
    from recollect.store.files.backend import make_workspace

    try:
        make_workspace(file.parent, seam)
    except ConfigError as error:
        raise ConfigError(
            f"{file}, the list of known memories, cannot be made",
            hint=f"make {file.parent} a folder that you may write, or name the memory's place",
        ) from error


def _place(settings: Settings, space: str) -> str:
    """Where a memory was found. A link that leads to a known memory is a place of its own."""
    return str(folder_of(Path(config.place_of(settings.where)), space))


def _first_hash(folder: Path) -> str | None:
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
