"""Where things lie in a workspace.

Responsible for the names of files and folders. Leaves what is in them to ``store.files``.
Invariant: every space has one folder, and no name of a space leads out of the workspace.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

LEDGER: Final = "events.wal"
INDEX: Final = "index.db"
LOCK: Final = "ledger.lock"
SEALED: Final = "sealed"


def folder_of(workspace: Path, space: str) -> Path:
    """The folder of a space: the workspace itself for "main", one below ``spaces/`` for others."""
    return workspace if space == "main" else workspace / "spaces" / folder_name(space)


def is_empty(folder: Path) -> bool:
    """True if nothing in a space's folder is a memory, or a part that is left of one."""
    return not any((folder / name).exists() for name in (LEDGER, INDEX, SEALED))


def folder_name(space: str) -> str:
    """The name in characters that every file system keeps apart: the rest is %-escaped.

    Capitals are escaped too, because some file systems do not tell them from small letters.
    """
    kept = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.@")
    escaped = "".join(chr(byte) if chr(byte) in kept else f"%{byte:02x}" for byte in space.encode())
    return escaped.replace(".", "%2e", 1) if escaped.startswith(".") else escaped
