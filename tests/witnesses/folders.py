"""Witnesses in folders, with keys of their own, for tests."""

from __future__ import annotations

from pathlib import Path

from recollect.proof.keys import PrivateKey
from recollect.store.seam import REAL, Seam
from recollect.store.witnesses import own_keys
from recollect.store.witnesses.folder import FolderWitness, put_public_key
from recollect.testing.witness_suite import LOGS


def created(root: Path, seam: Seam = REAL) -> tuple[FolderWitness, PrivateKey]:
    """A new witness that pins the logs of the suite, and its key."""
    key = own_keys.create(root / "keys", seam)
    put_public_key(root / "witness", key.public, seam)
    witness = FolderWitness(root / "witness", key.public, seam, key)
    witness.pin(log.key.public for log in LOGS)
    return witness, key
