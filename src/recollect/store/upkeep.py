"""What happens around the files of a space: backups, leftovers, salvaging.

Responsible for the less common acts on a folder. Leaves locking to ``store.files``, which calls
these under the lock where that matters, and what erasing does to copies to ``store.copies``.
Invariant: no act here changes a header of a ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from recollect.errors import Conflict, IntegrityError, InvalidInput, NotFound, Unavailable
from recollect.ledger.chain import Draft, chain, event_id
from recollect.ledger.codec import encode_body
from recollect.ledger.erasure import without_bodies
from recollect.ledger.scan import Damage, Scanner
from recollect.ledger.verify import verify
from recollect.model.events import EventsErased, Head
from recollect.model.values import Backup
from recollect.store import segments
from recollect.store.active import ActiveFile
from recollect.store.disk import (
    file_pieces,
    make_folder,
    replace_file,
    sync_folder,
    write_file,
)
from recollect.store.layout import SEALED
from recollect.store.port import Progress
from recollect.store.regular import read_regular
from recollect.store.seam import Seam

MANIFEST: Final = "manifest.json"
_LEDGER: Final = "events.wal"
_MANIFEST_MAX_BYTES: Final = 1 << 30
_SEQ_MAX_DIGITS: Final = 16


class Manifest(msgspec.Struct):
    """What a backup says about itself; written last, so a copy without it is unfinished."""

    space: str
    seq: int
    head: str
    at: str
    erased: dict[str, int] = {}  # event -> the event, perhaps later than this copy, that erased it

    def __post_init__(self) -> None:
        for seq in self.erased:
            if not (seq.isascii() and seq.isdigit() and len(seq) <= _SEQ_MAX_DIGITS):
                raise ValueError("`erased` has a key that is not an event's number")


# Names.


def torn_name(folder: Path, seq: int) -> Path:
    """Where what stood after event ``seq`` is kept."""
    for number in range(1, 10_000):
        path = folder / f"{_LEDGER}.{seq}-{number}.torn"
        if not path.exists():
            return path
    raise Conflict(f"there are too many torn copies in {folder}", hint="look at them, then delete")


def remove_leftovers(seam: Seam, folder: Path) -> None:
    """Half-made files of a process that was stopped; the lock says that nobody needs them."""
    half_made = [*folder.glob("index.db.new*"), folder / f"{_LEDGER}.new"]
    for path in (*half_made, *(folder / SEALED).glob("*.new")):
        if path.exists():
            seam.unlink(path)


# Backup and restore.


def backup_folder(seam: Seam, folder: Path, target: str | None) -> Path:
    """A new folder for a backup."""
    if target is not None:
        path = Path(target).expanduser()
        if path.exists():
            raise Conflict(f"{path} exists", hint="name a folder that does not exist yet")
        make_folder(seam, path)
        return path
    stamp = seam.now()[:19].replace("-", "").replace(":", "")
    for number in range(1, 10_000):
        path = folder / "backup" / (stamp if number == 1 else f"{stamp}-{number}")
        if not path.exists():
            make_folder(seam, path)
            return path
    raise Conflict(f"too many backups in {folder}", hint="name a target")


def write_backup(
    seam: Seam, folder: Path, space: str, head: Head, pieces: Iterator[bytes]
) -> Backup:
    """The ledger's copy, then the manifest that vouches for it."""
    write_file(seam, folder / _LEDGER, pieces)
    manifest = Manifest(space, head.seq, head.hash, head.at)
    replace_file(seam, folder / MANIFEST, [msgspec.json.encode(manifest)])  # whole or not there
    sync_folder(seam, folder.parent)
    return Backup(path=str(folder), space=space, seq=head.seq, head=head.hash)


def counted(pieces: Iterator[bytes], total: int, progress: Progress | None) -> Iterator[bytes]:
    """The same pieces, with progress told."""
    done = 0
    for piece in pieces:
        yield piece
        done += len(piece)
        if progress is not None:
            progress(done, total)


def restore_backup(backup: Path, folder: Path, seam: Seam) -> Manifest:
    """Makes a space's folder out of a backup; the backup is checked first.

    What was erased after the copy was made stays erased: an event at the end says so.
    """
    manifest = read_manifest(backup)
    if (folder / _LEDGER).exists() or segments.all_segments(folder):
        raise Conflict(
            f"{folder} holds a ledger already", hint="restore into a folder that does not"
        )
    later = {int(k): by for k, by in manifest.erased.items() if by > manifest.seq}
    renewed = dict.fromkeys(later, manifest.seq + 1)
    tail = _erasure_line(manifest, sorted(renewed), seam) if renewed else b""

    def pieces() -> Iterator[bytes]:
        yield from without_bodies(file_pieces(backup / _LEDGER), renewed)
        yield tail

    check = verify(pieces())
    expected = manifest.seq + (1 if renewed else 0)
    if not check.ok or check.events != expected:
        problem = check.problem or f"{check.events} events instead of {expected}"
        raise IntegrityError(f"the backup {backup} is damaged: {problem}")
    make_folder(seam, folder)
    replace_file(seam, folder / _LEDGER, pieces())
    return manifest


def read_manifest(backup: Path) -> Manifest:
    """What a backup says about itself."""
    try:
        return msgspec.json.decode(
            read_regular(backup / MANIFEST, _MANIFEST_MAX_BYTES), type=Manifest
        )
    except FileNotFoundError as error:
        raise NotFound(f"{backup} holds no finished backup") from error
    except msgspec.MsgspecError as error:
        raise InvalidInput(f"{backup / MANIFEST} could not be parsed: {error}") from error
    except OSError as error:
        raise Unavailable(f"{backup / MANIFEST} could not be read: {error}") from error


def _erasure_line(manifest: Manifest, targets: list[int], seam: Seam) -> bytes:
    head = Head(manifest.seq, manifest.head, manifest.at)
    body = EventsErased(targets=tuple(targets), reason="erased after this backup was made")
    id = event_id(seam.random(16).hex(), 1)
    draft = Draft(id, "events.erased", "system", encode_body(body))
    return chain(head, max(seam.now(), manifest.at), [draft], seam.random(16))[0]


# Salvaging.


def salvage(seam: Seam, active: ActiveFile, aside: Callable[[], Path]) -> bool:
    """Cuts a damaged ledger after its last whole append; true if something was kept aside."""
    scanner = Scanner()
    try:
        for piece in segments.pieces(active):
            for _ in scanner.feed(piece):
                pass
        segments.torn_in(active, scanner)
    except Damage:
        last, sealed = scanner.head.seq, segments.segments(active)
        if any(segment.last > last for segment in sealed):
            segments.reopen_after(seam, active, last, aside)
        else:  # where a segment ends, nothing of the active file can be used
            found = None if sealed and sealed[-1].last == last else active.end_of(last)
            active.cut(0 if found is None else found[1], aside())
        return True
    return segments.set_strays_aside(seam, active, aside)
