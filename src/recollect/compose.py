"""From settings to an engine: the only place that names one.

Responsible for choosing and making a backend. Leaves everything else to it. Invariant: nothing
is read or written before the first use of a space.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from recollect.config import MEMORY, Settings, shown
from recollect.errors import ConfigError, Unavailable, Unsupported
from recollect.model.values import Migrated
from recollect.store.port import Backend
from recollect.store.seam import REAL, Seam

if TYPE_CHECKING:  # the driver is loaded only for who uses it
    from recollect.store.postgres.tokens import Tokens

_SERVERS: Final = ("postgres", "postgresql")


def open_backend(settings: Settings, seam: Seam = REAL) -> Backend:
    """The engine that these settings ask for."""
    if settings.where == MEMORY:
        from recollect.store.memory import MemoryBackend

        return MemoryBackend(seam=seam)
    scheme, is_address, _ = settings.where.partition("://")
    if is_address and scheme in _SERVERS:
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
        raise _no_driver() from error
    return PostgresBackend(settings.where, token=settings.token, seam=seam)


def _no_driver() -> Unsupported:
    return Unsupported(
        "the driver for PostgreSQL is not installed",
        hint="install it with: pip install 'recollect[postgres]'",
    )


def migrate(settings: Settings) -> Migrated:
    """Brings a database on a server to this release."""
    _check_server(settings, "migrate")
    try:
        from recollect.store.postgres.migrate import migrate as bring
    except ImportError as error:
        raise Unsupported(
            "what migrates a database is not installed",
            hint="install it with: pip install 'recollect[migrate]'",
        ) from error
    return bring(settings.where)


def tokens(settings: Settings) -> Tokens:
    """The tokens of a database on a server."""
    _check_server(settings, "token")
    try:
        from recollect.store.postgres.tokens import Tokens
    except ImportError as error:
        raise _no_driver() from error
    return Tokens(settings.where)


def _check_server(settings: Settings, verb: str) -> None:
    if settings.where.partition("://")[0] not in _SERVERS:
        raise ConfigError(
            f"{verb} is for databases on a server, and {shown(settings.where)} is none",
            hint="name one with --store postgresql://...",
        )


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
