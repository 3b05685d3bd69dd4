"""Restoring a space from a backup.

Responsible for checking the copy first. Leaves the form of a backup to ``store.backup``. Invariant:
data that was erased after the copy was made stays erased.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from recollect.errors import Conflict, IntegrityError
from recollect.ledger.chain import Draft, chain, event_id
from recollect.ledger.codec import encode_body
from recollect.ledger.erasure import lines_of, without_bodies
from recollect.ledger.line import claimed, has_body, subject_of
from recollect.ledger.verify import verify
from recollect.model.events import EventsErased, Head
from recollect.store.backup import Manifest, copy_checkpoints, read_manifest
from recollect.store.checkpoints.checkpoint_files import FileCheckpoints
from recollect.store.checkpoints.walk import walk_for
from recollect.store.disk.disk import (
    file_pieces,
    make_folder,
    replace_file,
)
from recollect.store.disk.layout import LEDGER
from recollect.store.files.copies.foreign import refuse_foreign
from recollect.store.files.ledger import segments
from recollect.store.keys.subjects import SubjectKeys
from recollect.store.received import first_hash
from recollect.store.seam import Seam


def restore_backup(
    backup: Path,
    folder: Path,
    seam: Seam,
    keys: Callable[[str], SubjectKeys] | None = None,
    erased: Callable[[str], dict[int, str]] | None = None,
) -> Manifest:
    """Restores a space's folder from a backup; the backup is checked first.

    Data that was erased after the copy was made stays erased: a last event records it. That is what
    the backup's manifest says, what is encrypted with a key that was destroyed here, and the events
    that ``erased`` names for this ledger, each with its hash.
    """
    manifest = read_manifest(backup)
    if (folder / LEDGER).exists() or segments.all_segments(folder):
        raise Conflict(f"{folder} already contains a ledger", hint="restore into another folder")
    refuse_foreign(folder)
    later = {int(k): by for k, by in manifest.erased.items() if by > manifest.seq}
    later |= dict.fromkeys(_erased_here(backup, keys, erased), manifest.seq + 1)
    renewed = dict.fromkeys(later, manifest.seq + 1)
    tail = _erasure_line(manifest, sorted(renewed), seam) if renewed else b""

    def pieces() -> Iterator[bytes]:
        yield from without_bodies(file_pieces(backup / LEDGER), renewed)
        yield tail

    check = verify(pieces(), walk=walk_for((backup / LEDGER).stat().st_size))
    expected = manifest.seq + (1 if renewed else 0)
    if not check.ok or check.events != expected:
        problem = check.problem or f"{check.events} events instead of {expected}"
        raise IntegrityError(f"the backup {backup} is damaged: {problem}")
    make_folder(seam, folder)
    copy_checkpoints(FileCheckpoints(backup, seam), FileCheckpoints(folder, seam), manifest.seq)
    replace_file(seam, folder / LEDGER, pieces())
    return manifest


def _erased_here(
    backup: Path,
    keys: Callable[[str], SubjectKeys] | None,
    erased: Callable[[str], dict[int, str]] | None,
) -> list[int]:
    """The events of a backup with a body that was erased on this machine since."""
    first, pieces = first_hash(file_pieces(backup / LEDGER))
    if first is None:
        return []
    gone = keys(first).destroyed() if keys is not None else {}
    listed = erased(first) if erased is not None else {}
    if not gone and not listed:
        return []
    found = list[int]()
    for raw in lines_of(pieces):
        named, claim = subject_of(raw), claimed(raw)
        if named is not None and named[1] in gone:
            found.append(named[0])
        elif claim is not None and listed.get(claim.head.seq) == claim.head.hash and has_body(raw):
            found.append(claim.head.seq)
    return found


def _erasure_line(manifest: Manifest, targets: list[int], seam: Seam) -> bytes:
    head = Head(manifest.seq, manifest.head, manifest.at)
    body = EventsErased(targets=tuple(targets), reason="erased after this backup was made")
    id = event_id(seam.random(16).hex(), 1)
    draft = Draft(id, "events.erased", "system", encode_body(body))
    return chain(head, max(seam.now(), manifest.at), [draft], seam.random(16))[0]
