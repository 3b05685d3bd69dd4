"""The last event that was signed on this machine, so that a rewritten ledger is noticed at once.

Responsible for ``keys/HEX.head`` (where the ledger was, and the number and hash of that event), and
for comparing a ledger at that place with it, which costs one line (and, for a ledger that was never
signed here, a look at each ``.head``). Leaves signatures to
``store.checkpoints.checkpoints``, which is loaded only where something is signed. Invariants: a
ledger that has another event there, or none, is refused; so is another ledger in the folder of one
that was signed, because who rewrites the first event too makes another ledger.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from recollect.errors import IntegrityError, RecollectError
from recollect.ledger.line import BadLine, parse
from recollect.store.disk.disk import alone, make_folder, replace_file
from recollect.store.disk.regular_files import read_regular
from recollect.store.port import Space
from recollect.store.seam import Seam

SUFFIX: Final = ".head"
ANOTHER: Final = "this is not the ledger that was seen here before"
_MOST_BYTES: Final = 4_096
_NAME_DIGITS: Final = 32  # as ``store.checkpoints.key_ring`` names a ledger


class SeenHead(NamedTuple):
    """An event that was there when it was signed; a copy elsewhere may be older."""

    where: str
    seq: int
    hash: str


def keep(folder: Path, first: str, head: SeenHead, seam: Seam) -> None:
    """Keeps an event as the last that was signed, unless a later one of that place is kept."""
    with suppress(OSError):  # it is kept by the next checkpoint; ``verify`` reads the checkpoint
        make_folder(seam, folder)
        with alone(seam, folder):
            before = _kept(folder, first)
            if before is None or before.where != head.where or before.seq <= head.seq:
                replace_file(seam, _path(folder, first), [msgspec.json.encode(head)])


class Contradiction(NamedTuple):
    """What was signed at this place and is not in the ledger, and the file that names it."""

    what: str
    path: Path


def contradiction(space: Space, folder: Path) -> Contradiction | None:
    """What says that this is not the ledger that was signed here; None if nothing does."""
    if not any(folder.glob(f"*{SUFFIX}")):
        return None
    with suppress(BadLine):  # the call itself says what is wrong
        first = _hash(space, 1)
        if first is None and not _is_empty(space):
            return None
        head, place = None if first is None else _kept(folder, first), place_of(space)
        if first is None or head is None or head.where != place:
            return _another(place, folder)
        if _hash(space, head.seq) != head.hash:
            told = f"event {head.seq} is not the one that was signed on this machine"
            return Contradiction(told, _path(folder, first))
    return None


def _another(place: str, folder: Path) -> Contradiction | None:
    """Whether a folder had another ledger when it was signed; a server has many at a place."""
    for path in _at(folder, place) if os.path.isdir(place) else ():
        return Contradiction("one that was signed in this folder on this machine is gone", path)
    return None


def require(space: Space, folder: Path) -> None:
    """Refuses a ledger that is not the one which was signed here."""
    found = contradiction(space, folder)
    if found is not None:
        raise IntegrityError(
            f"{ANOTHER}: {found.what}",
            hint="`recollect admin doctor` says what to do; if you replaced it on purpose, remove "
            f"{found.path} and the .note beside it",
        )


def forget(space: Space, folder: Path, seam: Seam) -> None:
    """Accepts an earlier state, which a person has restored; ``verify`` still says what it is."""
    first = _hash(space, 1)
    if first is not None:
        place = place_of(space)
        others = _at(folder, place) if os.path.isdir(place) else []
        for path in {_path(folder, first), *others}:
            with suppress(FileNotFoundError):
                seam.unlink(path)


def forget_dropped(folder: Path, first: str | None, seam: Seam) -> None:
    """Lets another ledger stand where one was that a person has dropped."""
    if first is not None:
        with suppress(OSError):  # who reads the new one is told what to remove
            seam.unlink(_path(folder, first))


def _at(folder: Path, place: str) -> list[Path]:
    """What is kept of ledgers that were signed at a place."""
    kept = ((path, _read(path)) for path in sorted(folder.glob(f"*{SUFFIX}")))
    return [path for path, head in kept if head is not None and head.where == place]


def place_of(space: Space) -> str:
    """Where a space is, however its folder was named."""
    return os.path.realpath(space.where) if os.path.isdir(space.where) else space.where


def _is_empty(space: Space) -> bool:
    """True if there is no event, and not only none that this caller may see."""
    try:
        return space.line(1) is None
    except RecollectError:
        return False


def _hash(space: Space, seq: int) -> str | None:
    raw = None
    with suppress(RecollectError):  # a caller who may not see it is not who compares
        raw = space.line(seq)
    return None if raw is None else parse(raw).hash


def _kept(folder: Path, first: str) -> SeenHead | None:
    return _read(_path(folder, first))


def _read(path: Path) -> SeenHead | None:
    try:
        raw = read_regular(path, _MOST_BYTES)
        return msgspec.json.decode(raw, type=SeenHead)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _path(folder: Path, first: str) -> Path:
    return folder / f"{first[:_NAME_DIGITS]}{SUFFIX}"
