"""Restoring a space from a backup.

Responsible for checking the copy first. Leaves the form of a backup to ``store.backup``. Invariant:
data that was erased after the copy was made stays erased.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from recollect.errors import Conflict, IntegrityError
from recollect.ledger.chain import Draft, chain, event_id
from recollect.ledger.codec import encode_body
from recollect.ledger.erasure import without_bodies
from recollect.ledger.verify import verify
from recollect.model.events import EventsErased, Head
from recollect.store.backup import Manifest, copy_checkpoints, read_manifest
from recollect.store.checkpoint_files import FileCheckpoints
from recollect.store.disk import (
    file_pieces,
    make_folder,
    replace_file,
)
from recollect.store.files import segments
from recollect.store.layout import LEDGER
from recollect.store.seam import Seam
from recollect.store.walk import walk_for


def restore_backup(backup: Path, folder: Path, seam: Seam) -> Manifest:
    """Restores a space's folder from a backup; the backup is checked first.

    Data that was erased after the copy was made stays erased: a last event records it.
    """
    manifest = read_manifest(backup)
    if (folder / LEDGER).exists() or segments.all_segments(folder):
        raise Conflict(f"{folder} already contains a ledger", hint="restore into another folder")
    later = {int(k): by for k, by in manifest.erased.items() if by > manifest.seq}
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


def _erasure_line(manifest: Manifest, targets: list[int], seam: Seam) -> bytes:
    head = Head(manifest.seq, manifest.head, manifest.at)
    body = EventsErased(targets=tuple(targets), reason="erased after this backup was made")
    id = event_id(seam.random(16).hex(), 1)
    draft = Draft(id, "events.erased", "system", encode_body(body))
    return chain(head, max(seam.now(), manifest.at), [draft], seam.random(16))[0]
