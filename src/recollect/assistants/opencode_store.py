"""The database of opencode, which holds the talks of every folder.

Responsible for its sessions that belong to a project, one line of JSON for each message with its
parts. Leaves what a line means to ``exchange.talks.opencode``. Invariants: the database is only
read, also while opencode writes it; no view, trigger or computed column of it is run; a talk
between the assistant and its helpers is left out.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from typing import Final
from urllib.parse import quote

from recollect.errors import InvalidInput

HEADER: Final = b"SQLite format 3\x00"
_LOG: Final = "-wal"  # beside the file, while a program has it open or did not end well
_BUSY_TIMEOUT_S: Final = 5.0
_STEPS: Final = 100_000
_STEPS_MAX_COUNT: Final = 100_000  # of so many steps each: a damaged table may have no end
_CELL_MAX_BYTES: Final = 67_108_864
_FOLDERS_MAX_COUNT: Final = 5  # that a message names


def lines(path: Path, belongs: Callable[[str], bool]) -> Iterator[bytes]:
    """The messages of the sessions in folders that belong to the project."""
    try:
        with closing(_opened(path)) as database:
            yield from _of_sessions(database, _sessions(database, path, belongs))
    except (sqlite3.Error, MemoryError, OverflowError, UnicodeError) as error:
        raise InvalidInput(
            f"{path} could not be read as opencode's database: {error}",
            hint="end opencode, then try again",
        ) from error


def _opened(path: Path) -> sqlite3.Connection:
    """The database for reading. Without a log beside it nothing is made beside it either."""
    has_log = path.with_name(path.name + _LOG).exists()
    how = "mode=ro" if has_log else "mode=ro&immutable=1"
    where = f"file:{quote(str(path.absolute()))}?{how}"
    database = sqlite3.connect(where, uri=True, timeout=_BUSY_TIMEOUT_S)
    left = _STEPS_MAX_COUNT

    def stop() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    try:
        database.set_progress_handler(stop, _STEPS)
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _CELL_MAX_BYTES)
        database.text_factory = bytes
        database.execute(_statement("distrust"))
        tables = {name for (name,) in database.execute(_statement("tables"))}
    except BaseException:
        database.close()
        raise
    if tables != {b"session", b"message", b"part"}:
        database.close()
        raise InvalidInput(
            f"{path} is a database, but not opencode's",
            hint="opencode keeps its conversations in ~/.local/share/opencode/opencode.db",
        )
    return database


def _sessions(
    database: sqlite3.Connection, path: Path, belongs: Callable[[str], bool]
) -> list[bytes]:
    """The sessions of the project; an error says where the others were, if there are only those."""
    here, folders = list[bytes](), dict[str, bool]()
    for id, directory, is_helper in database.execute(_statement("sessions")):
        folder = _text(directory)
        if folder not in folders:
            folders[folder] = bool(folder) and belongs(folder)
        if folders[folder] and not is_helper and isinstance(id, bytes):
            here.append(id)
    if folders and not any(folders.values()):
        some = ", ".join(sorted(folders)[:_FOLDERS_MAX_COUNT])
        more = ", …" if len(folders) > _FOLDERS_MAX_COUNT else ""
        raise InvalidInput(
            f"no conversation in {path} was held in this folder",
            hint=f"run this in the folder of the conversation: {some}{more}",
        )
    return here


def _of_sessions(database: sqlite3.Connection, sessions: list[bytes]) -> Iterator[bytes]:
    for session in sessions:
        name = _text(session)
        parts: dict[bytes, list[bytes]] = {}
        for message, data in database.execute(_statement("parts"), [name]):
            if isinstance(message, bytes) and isinstance(data, bytes):
                parts.setdefault(message, []).append(data)
        for id, data in database.execute(_statement("messages"), [name]):
            if isinstance(data, bytes):
                told = b",".join(parts.get(id, ()))
                head = json.dumps(name).encode()
                yield b'{"session":%b,"message":%b,"parts":[%b]}' % (head, data, told)


def _text(cell: object) -> str:
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else ""


def _statement(name: str) -> str:
    text = files("recollect.exchange").joinpath("sql/opencode.sql").read_text("utf-8")
    parts = (part.split("\n", 1) for part in text.split("-- ")[1:])
    return {known.strip(): told.strip().rstrip(";") for known, told in parts}[name]
