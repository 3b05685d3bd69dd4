"""The names of files and folders in a workspace.

Responsible for these names; no other module contains one. Leaves the contents to
``store.files.space``. Invariant: every space has one folder, and no name of a space leads out of
the workspace.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from recollect.store.disk.regular_files import read_regular

LEDGER: Final = "events.wal"
INDEX: Final = "index.db"
LOCK: Final = "ledger.lock"
SEALED: Final = "sealed"
SNAPSHOT: Final = "snapshot.json"  # every record at one position, for who uses the API of S0
SPACES: Final = "spaces"
BACKUP: Final = "backup"
VECTORS: Final = "vectors"
CHECKPOINTS: Final = "checkpoints"
FRONTIER: Final = "frontier.json"  # beside checkpoints: where the next one continues
SUBJECTS: Final = "subjects"  # of a person: the keys of subjects, wrapped
ERASED: Final = "erased"  # of a person: the numbers and hashes of events that were erased here
KEYS: Final = "keys"  # of a person: keys that sign checkpoints, and keys that are trusted
WITNESS_KEY: Final = "witness.pub"  # in the folder of a witness: its public key
LOGS: Final = "logs"  # in the folder of a witness: what it knows of each log
SEEN: Final = "seen"  # beside the checkpoints of a log: the sizes that were cosigned
LOG_KEYS: Final = "log.keys"  # the keys of a log whose checkpoints it cosigns
WITNESS_SUFFIX: Final = ".witness.json"  # of the private key of a witness, among a person's keys
PAGES: Final = "pages"
# Pages are in the first, or in the second if an API that knows them as memory files made it.
PAGE_FOLDERS: Final = (PAGES, "memory")
PAGES_STATE: Final = ".pages.json"  # in a folder of pages: what was rendered
PAGES_ASIDE: Final = "aside"  # in a folder of pages: files of a person that made room for pages
LOG: Final = "log"
HOOKS_LOG: Final = "hooks.log"
IGNORE: Final = ".gitignore"
SETTINGS: Final = "settings.json"
MANIFEST: Final = "manifest.json"  # of a backup
BACKUPS: Final = "backups.json"  # where backups of the space were written
EXPORTS: Final = "exports.json"  # which exports of the space are in the workspace
WRITTEN: Final = "workspace-files.jsonl"  # which files of a graph workspace the memory wrote
DROPPING: Final = "dropping.json"  # in a space that is being dropped: what and why
DROPPED: Final = "dropped.json"  # of a workspace: which spaces were dropped
TOKENS: Final = "tokens.json"  # of a workspace: what opens its spaces, as hashes
JOBS: Final = "jobs.db"  # of a workspace: work that was asked for, and schedules
KNOWN: Final = "known.json"  # of a person: the memories created or adopted here
PERSON: Final = "name"  # of a person: what they are called in ledgers
CHOSEN: Final = "embedders.json"  # of a person: the embedder chosen for each memory
MODELS: Final = "models"  # of a person: models that were fetched by name
SESSIONS: Final = "sessions.json"  # of a person: the memories that sessions are stored in
PAGES_CHOSEN: Final = "page-folders.json"  # of a person: where pages of a memory are kept
SEGMENT_SUFFIX: Final = ".wal"
VECTORS_SUFFIX: Final = ".vec"
NOTE_SUFFIX: Final = ".note"  # of a checkpoint
TREE_SUFFIX: Final = ".tree"  # of hashes of a ledger's tree
NEW_SUFFIX: Final = ".new"  # of a file that is being written
TORN_SUFFIX: Final = ".torn"  # of bytes that were cut off a ledger
OTHERS_SUFFIX: Final = ".other"  # of another program's file that had the name of an own one
MEMORY_SUFFIX: Final = "-memory"  # of the memory beside a projection, unless it lies in one
# In the header of a database file: it is a projection, made from a memory, and can be deleted.
PROJECTION_ID: Final = b"RcBl"
_SQLITE: Final = b"SQLite format 3\x00"
_ID_AT: Final = 68  # of the header, by SQLite's file format
# The log that a memory was taken over from, and its snapshot. An erasure removes both, as it
# removes every file whose name begins with the ledger's and a dot.
ORIGINAL: Final = f"{LEDGER}.original"
ORIGINAL_SNAPSHOT: Final = f"{ORIGINAL}-snapshot"
NOTED: Final = f"{LEDGER}.noted"  # the last event when a store of S0 was closed: "seq:hash"
# The contents of a ledger's file after it was moved. No release mistakes it for a ledger.
MOVED: Final = b"moved: this memory lies in the git folder of its repository now\n"


def folder_of(workspace: Path, space: str) -> Path:
    """The folder of a space: the workspace itself for "main", one below ``spaces/`` for others."""
    return workspace if space == "main" else workspace / SPACES / folder_name(space)


def workspace_of(folder: Path, space: str) -> Path:
    """The workspace of a space's folder."""
    above = folder.parent.parent
    return above if space != "main" and folder_of(above, space) == folder else folder


def segment_name(first: int, last: int) -> str:
    """The name of the segment that holds these events."""
    return f"{first:010d}-{last:010d}{SEGMENT_SUFFIX}"


def half_made(path: Path) -> Path:
    """The path of a file while it is being written."""
    return path.with_name(path.name + NEW_SUFFIX)


OURS: Final = "recollect-page"  # in a name that no person gives a file


def half_made_apart(path: Path, token: str) -> Path:
    """The same in a folder that people use: a name that no file of theirs has."""
    return path.with_name(f".{path.name}.{token}{NEW_SUFFIX}")


def opened_folders(folder: Path) -> tuple[Path, ...]:
    """The folders of a space whose files are opened by their names."""
    return folder, folder / SEALED, folder / VECTORS, folder / CHECKPOINTS


def is_empty(folder: Path) -> bool:
    """True if a space's folder contains no memory and no remains of one."""
    try:
        return not any((folder / name).exists() for name in (LEDGER, INDEX, SEALED))
    except PermissionError:
        return False  # what may not be looked into may hold one: reading it names the cause


def memory_beside(projection: Path) -> Path:
    """The folder of the memory that a projection was made from, if it does not lie in one."""
    return projection.with_name(projection.name + MEMORY_SUFFIX)


def is_reserved(name: str) -> bool:
    """True if a file of this name in a memory's folder could be the memory's own."""
    own = (SETTINGS, MANIFEST, BACKUPS, EXPORTS, WRITTEN, DROPPING, DROPPED, TOKENS, FRONTIER)
    return name.startswith((LEDGER, INDEX, LOCK, JOBS)) or name in (*own, IGNORE)


def is_own(workspace: Path, path: Path) -> bool:
    """True for the files and folders of the memories in a workspace, by their names alone."""
    *above, name = path.relative_to(workspace).parts
    if above[:1] == [SPACES] and len(above) > 1:
        above = above[2:]  # below the folder of a space
    folders = (SEALED, VECTORS, CHECKPOINTS, SPACES, BACKUP, LOG, *PAGE_FOLDERS)
    return (above or [name])[0] in folders or (not above and is_reserved(name))


def is_projection(path: Path) -> bool:
    """True if a file says of itself that it was made from a memory; an empty one may become so."""
    try:
        header = read_regular(path, 100)
    except OSError:
        return False
    end = _ID_AT + len(PROJECTION_ID)
    return not header or (header.startswith(_SQLITE) and header[_ID_AT:end] == PROJECTION_ID)


def projections_of(folder: Path) -> list[Path]:
    """The projections of a space: in its folder, and the one that the folder lies beside."""
    near = [folder.with_name(folder.name.removesuffix(MEMORY_SUFFIX))]
    try:
        inside = [path for path in sorted(folder.iterdir()) if not is_reserved(path.name)]
    except OSError:
        inside = []
    found = [*inside, *(near if folder.name.endswith(MEMORY_SUFFIX) else [])]
    return [
        path for path in found if path.is_file() and path.stat().st_size and is_projection(path)
    ]


def is_moved(folder: Path) -> bool:
    """True if the memory that was here was moved away."""
    try:
        return read_regular(folder / LEDGER, len(MOVED)) == MOVED
    except OSError:
        return False


def is_dropping(folder: Path) -> bool:
    """True if the space was dropped and the removal of its files is not finished."""
    return os.path.lexists(f"{folder}/{DROPPING}")


def is_untouched(folder: Path) -> bool:
    """True if a space's folder contains only files that exist before the first event.

    A folder from elsewhere may contain files of any name, and links to anywhere, that the first
    write would use. So a folder with any other file counts as a memory from elsewhere.
    """
    try:
        with os.scandir(folder) as entries:
            return all(_is_before_a_ledger(entry) for entry in entries)
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _is_before_a_ledger(entry: os.DirEntry[str]) -> bool:
    if entry.name in (IGNORE, LOCK, SETTINGS, DROPPED):
        return entry.is_file(follow_symlinks=False)
    if not entry.is_dir(follow_symlinks=False):
        return False
    if entry.name == LOG:
        with os.scandir(entry) as lines:
            return all(line.is_file(follow_symlinks=False) for line in lines)
    return entry.name in (SPACES, BACKUP)


def folder_name(space: str) -> str:
    """The name in characters that every file system distinguishes; the rest is %-escaped.

    Capitals are escaped too, because some file systems ignore case.
    """
    kept = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.@")
    escaped = "".join(chr(byte) if chr(byte) in kept else f"%{byte:02x}" for byte in space.encode())
    return escaped.replace(".", "%2e", 1) if escaped.startswith(".") else escaped
