"""The bare engine: sqlite3 doing what SQLite has to do for a memory, and nothing else.

Responsible for the rows that remembering writes, fixed here, and for writing them the plain way:
prebuilt parameters, one transaction, ``synchronous = FULL``. Invariant: the rows are those that
the package writes, to the last cell; ``check_row_set`` compares before anything is measured.
"""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from recollect.index.rows import VersionRow, content_id
from recollect.index.statements import STILL, lookups, schema, statements
from recollect.index.words.facts import packed
from recollect.index.words.text import joined, words
from recollect.memory import Memory
from recollect.memory.handle.acts import stamp

Cell = str | int | float | bytes | None
Row = tuple[Cell, ...]

INDEX: Final = "index.db"
_CACHE: Final = ("temp_store = MEMORY", "cache_size = -16000")
DURABLE: Final = ("journal_mode = WAL", "synchronous = FULL", *_CACHE)
_BUILD: Final = (
    "journal_mode = OFF",
    "synchronous = OFF",
    "temp_store = MEMORY",
    "cache_size = -64000",
    "locking_mode = EXCLUSIVE",
)
_AT: Final = "2026-11-15T12:00:00.000000Z"  # after every instant of a made ledger


class Rows(NamedTuple):
    """Everything that one command of remembered sentences writes into the index."""

    versions: Sequence[Row]
    texts: Sequence[Row]
    command: Row
    position: Row


class Chance(NamedTuple):
    """The cells that clock, chance and the ledger's bytes decide."""

    ids: Sequence[str]
    command_id: str
    at: str
    active_us: int
    hash: str
    offset: int


def rows_of(texts: Sequence[str], first: int, chance: Chance) -> Rows:
    """The row set of one command: a version and its full text each, a command, the position."""
    last = first + len(texts) - 1
    seqs = range(first, last + 1)
    at, active_us = chance.at, chance.active_us
    return Rows(
        versions=[
            _version(seq, id, text, at, active_us / 3_600_000_000)
            for seq, id, text in zip(seqs, chance.ids, texts, strict=True)
        ],
        texts=[shelved(seq, text) for seq, text in zip(seqs, texts, strict=True)],
        command=(last, first, chance.command_id, "", at, active_us, "person", None),
        position=(last, chance.hash, at, active_us, chance.offset),
    )


def _version(seq: int, id: str, text: str, at: str, hours: float) -> Row:
    return tuple(
        VersionRow(
            id=id,
            seq=seq,
            until=STILL,
            at=at,
            what="added",
            origin="person",
            note=None,
            created_at=at,
            text_seq=seq,
            text=text,
            content_id=content_id(text),
            kind="fact",
            key=None,
            about=None,
            tags="[]",
            user=None,
            session=None,
            agent=None,
            confidence=0.7,
            source_type="told",
            evidence="[]",
            is_hypothesis=0,
            status="active",
            reason=None,
            valid_from=None,
            valid_to=None,
            expires=None,
            trust="person",
            supersedes=None,
            superseded_by=None,
            reinforcement_count=0,
            last_reinforced_at=hours,
            decay_tier="standard",
            data="{}",
            said_at=None,
            reinforced_at=None,
            tz_minutes=0,
        )
    )


def made_up(texts: Sequence[str], first: int, seed: random.Random) -> Rows:
    """The row set of a command that never was, with cells as wide and as random as real ones."""
    return rows_of(
        texts,
        first,
        Chance(
            ids=[f"{stamp(_AT)}-{_hex(seed, 3)}{first + n:08x}"[:24] for n in range(len(texts))],
            command_id=_hex(seed, 16),
            at=_AT,
            active_us=1_000_000 + first,
            hash=_hex(seed, 32),
            offset=first * 640,
        ),
    )


def _hex(seed: random.Random, size: int) -> str:
    return seed.randbytes(size).hex()


# Connections.


def connect(path: Path, pragmas: Iterable[str]) -> sqlite3.Connection:
    """A connection that leaves transactions to its user."""
    connection = sqlite3.connect(path, isolation_level=None, cached_statements=256)
    for pragma in pragmas:
        connection.execute(f"PRAGMA {pragma}")
    # The engine checks its own position with this; a bare index has nothing to check.
    connection.create_function("position_mark", 4, lambda *cells: 0, deterministic=True)
    return connection


def copy_of(index: Path, target: Path) -> sqlite3.Connection:
    """A bare, durable index that begins with the rows of another."""
    copy = connect(target, ())
    source = connect(index, ())
    source.backup(copy)
    source.close()
    copy.close()
    return connect(target, DURABLE)


def shelved(seq: int, text: str) -> Row:
    """What full text has of a sentence: its tokens and its facts."""
    found = words(text)
    return seq, joined(found), packed(text, found, of_person=True)


class Bare:
    """Writes row sets, each in one durable transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        named = statements()
        self._version = named["add_version"]
        self._text = named["shelve_recallable"]
        self._command = named["add_command"]
        self._position = named["move_position"]

    def one(self, rows: Rows) -> None:
        """A single sentence."""
        execute = self.connection.execute
        execute("BEGIN IMMEDIATE")
        execute(self._version, rows.versions[0])
        execute(self._text, rows.texts[0])
        execute(self._command, rows.command)
        execute(self._position, rows.position)
        execute("COMMIT")

    def many(self, rows: Rows) -> None:
        """A batch."""
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.executemany(self._version, rows.versions)
        self.connection.executemany(self._text, rows.texts)
        self.connection.execute(self._command, rows.command)
        self.connection.execute(self._position, rows.position)
        self.connection.execute("COMMIT")


# Rebuilding.


class Whole(NamedTuple):
    """All rows of an index that holds nothing but remembered sentences."""

    versions: Sequence[Row]
    texts: Sequence[Row]
    commands: Sequence[Row]
    notes: Sequence[Row]
    position: Row


_REBUILT: Final = frozenset({"versions", "commands", "notes", "position", "made_with"})


def whole(index: Path) -> Whole:
    """The rows of an index, and the tokens of its texts."""
    connection = connect(index, ())
    named = statements()
    try:
        versions = connection.execute("SELECT * FROM versions ORDER BY seq").fetchall()
        commands = connection.execute("SELECT * FROM commands ORDER BY seq").fetchall()
        notes = connection.execute("SELECT * FROM notes ORDER BY seq").fetchall()
        position: Row = connection.execute(named["get_position"]).fetchone()
        for table in set(_tables(connection)[0]) - _REBUILT:
            if connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone() != (0,):
                raise AssertionError(f"there are rows in {table}, which nothing here rebuilds")
    finally:
        connection.close()
    texts = [shelved(row[1], row[9]) for row in versions]
    return Whole(versions, texts, commands, notes, position)


def rebuild(path: Path, rows: Whole) -> None:
    """A fresh index with these rows, on the disk when this returns."""
    path.unlink(missing_ok=True)
    connection = connect(path, _BUILD)
    named = statements()
    connection.executescript(schema())
    connection.execute("BEGIN")
    connection.execute(named["put_position"], rows.position)
    connection.executemany(named["add_version"], rows.versions)
    connection.executemany(named["shelve_recallable"], rows.texts)
    connection.executemany(named["add_command"], rows.commands)
    connection.executemany(named["add_note"], rows.notes)
    connection.execute("COMMIT")
    connection.executescript(lookups())
    for shelf in ("recallable", "rest"):
        connection.execute(named[f"merge_{shelf}"])
    connection.close()
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


# The check.


def check_row_set(folder: Path, texts: Sequence[str]) -> None:
    """Stops unless the row set above is what the package writes.

    From the same beginning, the package remembers a sentence and a batch, the bare engine writes
    the row sets; then both must hold the same rows in every table and the same full text.
    """
    index = folder / "checked" / INDEX
    with Memory.open(index.parent) as memory:
        memory.remember(texts[0])
        bare = Bare(copy_of(index, folder / "checked.db"))
        memory.remember(texts[1])
        bare.one(rows_of(texts[1:2], memory.events.position, _chance_of(index)))
        first = memory.events.position + 1
        with memory.batch() as batch:
            for text in texts[2:]:
                batch.remember(text)
        bare.many(rows_of(texts[2:], first, _chance_of(index)))
        ours = connect(index, ())
        try:
            if (difference := _difference(_content(ours), _content(bare.connection))) is not None:
                raise AssertionError(
                    f"the row set in benchmarks/bare.py is out of date: {difference}"
                )
        finally:
            ours.close()
            bare.connection.close()


def _chance_of(index: Path) -> Chance:
    """The cells of the last command."""
    connection = connect(index, ())
    try:
        seq, first, command_id, _, at, active_us = connection.execute(
            "SELECT seq, first, id, marks, at, active_us FROM commands ORDER BY seq DESC"
        ).fetchone()
        ids = connection.execute(
            "SELECT id FROM versions WHERE seq BETWEEN ? AND ? ORDER BY seq", (first, seq)
        ).fetchall()
        hash, offset = connection.execute('SELECT hash, "offset" FROM position').fetchone()
        return Chance([id for (id,) in ids], command_id, at, active_us, hash, offset)
    finally:
        connection.close()


_POSITION: Final = 'one, version, space, seq, hash, at, active_us, "offset", purged'


def _content(connection: sqlite3.Connection) -> dict[str, list[Row]]:
    """Everything an index says, full text term by term, without the checks of the engine itself."""
    plain, virtual = _tables(connection)
    columns = dict.fromkeys(plain, "*") | {"position": _POSITION}
    found = {
        table: sorted(connection.execute(f"SELECT {columns[table]} FROM {table}"), key=repr)
        for table in plain
    }
    for table in virtual:
        connection.execute(
            f"CREATE VIRTUAL TABLE temp.terms_of_{table} USING fts5vocab(main, {table}, instance)"
        )
        found[table] = connection.execute(f"SELECT * FROM temp.terms_of_{table}").fetchall()
    return found


def _tables(connection: sqlite3.Connection) -> tuple[list[str], list[str]]:
    """The tables of an index, and apart from them those of full text, without their insides."""
    rows = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").fetchall()
    virtual = [name for name, sql in rows if sql.startswith("CREATE VIRTUAL")]
    inside = tuple(f"{name}_" for name in virtual)
    plain = [name for name, _ in rows if name not in virtual and not name.startswith(inside)]
    return plain, virtual


def _difference(ours: dict[str, list[Row]], bare: dict[str, list[Row]]) -> str | None:
    for table, rows in ours.items():
        if len(rows) != len(bare[table]):
            return f"{table} has {len(rows)} rows, not {len(bare[table])}"
        for row, other in zip(rows, bare[table], strict=True):
            if row != other:
                return f"{table} has {row}, not {other}"
    return None
