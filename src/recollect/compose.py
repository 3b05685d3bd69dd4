"""From settings to an engine: the only place that names one.

Responsible for choosing and making a backend. Leaves everything else to it. Invariant: nothing
is read or written before the first use of a space.
"""

from __future__ import annotations

from pathlib import Path

from recollect.config import MEMORY, Settings
from recollect.errors import ConfigError, Unavailable, Unsupported
from recollect.store.port import Backend
from recollect.store.seam import REAL, Seam


def open_backend(settings: Settings, seam: Seam = REAL) -> Backend:
    """The engine that these settings ask for."""
    if settings.where == MEMORY:
        from recollect.store.memory import MemoryBackend

        return MemoryBackend(seam=seam)
    scheme, is_address, _ = settings.where.partition("://")
    if is_address and scheme in ("postgres", "postgresql"):
        return _postgres(settings, seam)
    if is_address:
        raise Unsupported(
            f"this release has no engine for {scheme}:// addresses",
            hint="name a folder, or a postgresql:// address",
        )
    folder = Path(settings.where)
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file", hint="name a folder")
    from recollect.store.workspace import FileBackend

    return FileBackend(folder, seam=seam)


def _postgres(settings: Settings, seam: Seam) -> Backend:
    try:
        from recollect.store.postgres.backend import PostgresBackend
    except ImportError as error:
        raise Unsupported(
            "the driver for PostgreSQL is not installed",
            hint="install it with: pip install 'recollect[postgres]'",
        ) from error
    return PostgresBackend(settings.where, token=settings.token, seam=seam)


def restore_backup(backup: Path, settings: Settings, seam: Seam = REAL) -> str:
    """Makes a space of a workspace out of a backup; returns the space's name."""
    from recollect.store import upkeep
    from recollect.store.workspace import FileBackend

    backend = open_backend(settings, seam)
    if not isinstance(backend, FileBackend):
        raise Unsupported("a backup can only be restored into a folder")
    name = upkeep.read_manifest(backup).space
    try:
        upkeep.restore_backup(backup, backend.folder_of(name), seam)
    except OSError as error:
        raise Unavailable(
            f"the backup could not be restored: {error}",
            hint="check both folders and the room on the disk, then restore into another folder",
        ) from error
    return name
