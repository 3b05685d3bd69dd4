"""PostgreSQL as an engine for the index.

Responsible for running named statements on a connection, in the entered space. Leaves what they
mean to ``index``. Invariant: the text of a statement comes only from the `.sql` files and the
compiled filter; every value of a caller is a bound parameter.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg.types.numeric import Int8Dumper

from recollect.errors import Forbidden, IntegrityError, RecollectError, Unavailable
from recollect.index.rows import Cell, Row, pack_names
from recollect.index.statements import NOW, limited_statements, postgres_statements
from recollect.index.tables import Names, Params
from recollect.store.subjects import SETTING

if TYPE_CHECKING:  # loaded only when a filter is used
    from recollect.index.filter import Filter

Connection = psycopg.Connection[Any]

_NOTHING: Final[Params] = {}
_NAMED: Final = re.compile(r"(?<!:):([a-z][a-z0-9_]*)")
_INSERT: Final = re.compile(r"INSERT INTO ([a-z]+) \((.*?)\)\s*VALUES \((.*?)\)(.*)", re.DOTALL)
_PLACE: Final = re.compile(r"%s")
_SHELVES: Final = {"shelve_recallable": "recallable", "shelve_rest": "rest"}
_UNSHELVES: Final = {"unshelve_recallable": "recallable", "unshelve_rest": "rest"}
_MATCHES: Final = re.compile(r"match_(recallable|rest)(_of_user)?")
_ROWS_MAX_COUNT: Final = 200  # in one statement
_POSTINGS_MAX_COUNT: Final = 20_000  # in one statement; one text may have more
# Limits for waiting for a lock, for running a statement and for an idle transaction.
WAITS_MAX_S: Final = {
    "lock_timeout": 20,
    "statement_timeout": 600,
    "idle_in_transaction_session_timeout": 300,
}
_STOPPED: Final = (psycopg.errors.AdminShutdown, psycopg.errors.CrashShutdown)
_PIECE_ROWS: Final = 500  # rows at a time: a row of a ledger may be long


class PostgresDb:
    """One connection inside a transaction that has entered a space."""

    def __init__(self, connection: Connection, space: int = 0) -> None:
        self.connection = connection
        self.space = space
        self.limited = False  # true for a token for one user: other statements
        self._asked: tuple[Names, psycopg.Cursor[Any]] | None = None
        self._setting: psycopg.Cursor[Any] | None = None
        self._authors: psycopg.Cursor[Any] | None = None
        self._held: dict[str, tuple[str, Sequence[Cell]]] = {}  # buffered inserts, by table

    def rows(self, name: str, params: Params = _NOTHING, where: Filter | None = None) -> list[Row]:
        """All rows of a read; with a filter, at least those that it matches."""
        match = _MATCHES.fullmatch(name)
        if match is not None and isinstance(params, Mapping):
            name, params = "match", {"user": None, **params, "shelf": match[1]}
        text = self._text(name)
        if where is not None and isinstance(params, Mapping):
            from recollect.index.filter.sql import narrowed

            narrow, more = narrowed(postgres_statements()[name], where)
            text, params = _named(narrow), {**params, **more}
        return self._execute(text, params).fetchall()

    def one(self, name: str, params: Params = _NOTHING) -> Row | None:
        """The first row of a read, or None."""
        row: Row | None = self._execute(self._text(name), params).fetchone()
        return row

    def ones(self, name: str, params: Sequence[Params]) -> list[Row | None]:
        """The first row of the same read for each of these parameters, in one round trip."""
        with self.connection.pipeline():
            asked = [self._execute(self._text(name), each) for each in params]
            return [cursor.fetchone() for cursor in asked]

    def ask(self, name: str, params: Mapping[str, object] | None = None) -> psycopg.Cursor[Any]:
        """Sends a read whose rows are fetched later; a pipeline does not wait for it."""
        return self._execute(self._text(name), params)

    def ask_many(self, name: str, params: Sequence[Mapping[str, object]]) -> None:
        """Sends the same write for each of these parameters."""
        self._send()
        self.connection.cursor().executemany(_text(name), params)

    def look_for(self, names: Names) -> None:
        """Sends a lookup of these names, and of who is a subject; two calls return the results."""
        self._asked = names, self.ask("there", names.lists())
        type, name = SETTING
        self._setting = self.ask("get_document", {"type": type, "name": name, "at": NOW})
        if names.authors:
            self._authors = self.ask("authors_among", {"names": pack_names(tuple(names.authors))})

    def setting(self) -> Row | None:
        """The document that says who is a subject; can be called once per lookup."""
        cursor, self._setting = self._setting, None
        row: Row | None = None if cursor is None else cursor.fetchone()
        return row

    def authors(self) -> list[Row]:
        """The authors of the names that were looked up; can be called once per lookup."""
        cursor, self._authors = self._authors, None
        return [] if cursor is None else cursor.fetchall()

    def absent(self) -> Names:
        """The names that were looked up and not found; can be called once per lookup."""
        if self._asked is None:
            return Names()
        names, cursor = self._asked
        self._asked = None
        return names.without(cursor.fetchall())

    def stream(self, name: str, params: Params) -> Generator[Row, None, None]:
        """The rows of a read, without holding them all."""
        self._send()
        with self.connection.cursor(f"stream_{name}") as cursor:
            cursor.itersize = _PIECE_ROWS
            cursor.execute(self._text(name), params)
            yield from cursor

    def many(self, name: str, rows: Sequence[Row]) -> None:
        """Runs one write for each of these rows, in order."""
        if name in _SHELVES:
            self._shelve(_SHELVES[name], rows)
        elif name in _UNSHELVES:
            self._unshelve(_UNSHELVES[name], rows)
        elif _INSERT.match(postgres_statements()[name]):
            self._insert(name, rows)
        elif len(rows) == 1:
            self._execute(self._text(name), rows[0])
        else:
            self._send()
            self.connection.cursor().executemany(self._text(name), rows)

    def run(self, name: str) -> None:
        """Runs a statement without rows, such as the end of a transaction."""
        self._execute(_text(name))

    @property
    def in_transaction(self) -> bool:
        """True between a begin and its end."""
        return self.connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE

    def _text(self, name: str) -> str:
        return _limited_text(name) if self.limited else _text(name)

    def _execute(
        self, text: str, params: Params | Mapping[str, object] | None = None
    ) -> psycopg.Cursor[Any]:
        """Runs a statement; sends the buffered inserts first."""
        self._send()
        return self.connection.execute(text, params)

    def _hold(self, name: str, text: str, cells: Sequence[Cell]) -> None:
        """Buffers an insert until another statement runs.

        Inserts into different tables are sent as one statement: for a small write the round trip
        costs more than the rows. Parts of one statement do not see each other, so each table occurs
        once. With a token for one user each insert is sent by itself, because the server checks
        that the row it belongs to exists.
        """
        if name in self._held:
            self._send()
        self._held[name] = text, cells
        if self.limited:
            self._send()

    def _send(self) -> None:
        if self._held:
            held, self._held = self._held, {}
            cells = [cell for _, some in held.values() for cell in some]
            text = _together(tuple(text for text, _ in held.values()))
            psycopg.RawCursor(self.connection).execute(text, cells)

    def _insert(self, name: str, rows: Sequence[Row]) -> None:
        """Inserts rows with their space; row-level security checks it once for each statement."""
        if len(rows) == 1:
            self._hold(name, _inserting(name, 1), (self.space, *rows[0]))
            return
        self._send()
        for start in range(0, len(rows), _ROWS_MAX_COUNT):
            some = rows[start : start + _ROWS_MAX_COUNT]
            cells: list[Cell] = []
            for row in some:
                cells.append(self.space)
                cells.extend(row)
            text = _together((_inserting(name, len(some)),))
            psycopg.RawCursor(self.connection).execute(text, cells)

    def _shelve(self, shelf: str, rows: Sequence[Row]) -> None:
        """Adds each text as postings: token, text, frequency, length of the text."""
        postings: list[tuple[str, Cell, int, int]] = []
        texts = words_count = 0
        for doc, tokens, *_ in rows:
            words = str(tokens).split()
            texts += 1
            words_count += len(words)
            postings += [(word, doc, n, len(words)) for word, n in Counter(words).items()]
            if len(postings) >= _POSTINGS_MAX_COUNT:
                self._post(shelf, texts, words_count, postings)
                postings, texts, words_count = [], 0, 0
        if texts:
            self._post(shelf, texts, words_count, postings)

    def _post(
        self, shelf: str, texts: int, words: int, postings: Sequence[tuple[str, Cell, int, int]]
    ) -> None:
        """Inserts postings as arrays: one statement with few parameters for any number of them."""
        if postings:
            tokens, docs, times, lengths = zip(*postings, strict=True)
            columns = " ".join(tokens), _array(docs), _array(times), _array(lengths)
            self._hold("post", _text("post"), (self.space, shelf, *columns))
        self._insert("count_shelf", [(shelf, texts, words)])

    def _unshelve(self, shelf: str, rows: Sequence[Row]) -> None:
        """Removes texts; the statement corrects the counts if other tokens were stored."""
        total = 0
        for doc, tokens in rows:
            words = str(tokens).split()
            total += len(words)
            named = {"tokens": sorted(set(words)), "length": len(words)}
            self._execute(_text("unshelve"), {"shelf": shelf, "doc": doc, **named})
        self._insert("count_shelf", [(shelf, -len(rows), -total)])


def adapt(connection: Connection) -> None:
    """Sends every integer as a bigint, so that a statement is prepared once."""
    connection.adapters.register_dumper(int, Int8Dumper)
    connection.prepare_threshold = 2


def bound_waits(connection: Connection, *names: str) -> None:
    """Sets time limits, so that neither this client nor others wait forever for a lock."""
    for name in names or WAITS_MAX_S:
        run(connection, "put_setting", {"name": name, "value": f"{WAITS_MAX_S[name]}s"})


def run(connection: Connection, name: str, params: Mapping[str, object]) -> list[Row]:
    """Runs a statement outside of a space; returns all its rows."""
    cursor = connection.execute(_text(name), params)
    return cursor.fetchall() if cursor.description else []


def as_ours(error: psycopg.Error) -> RecollectError:
    """Converts an error of the driver or server to one of Recollect's; it stays the cause."""
    if isinstance(error, psycopg.errors.IntegrityConstraintViolation):
        return IntegrityError(
            "the server refused an append that does not continue the ledger",
            hint="run `recollect admin verify`",
        )
    if isinstance(error, psycopg.errors.DatetimeFieldOverflow):
        return Unavailable(
            "the server refused an append that is dated more than 5 minutes ahead of its clock",
            hint="compare this machine's clock with the server's, then try again",
        )
    if isinstance(error, psycopg.errors.ObjectNotInPrerequisiteState):
        return Unavailable(
            "the index of this space is behind its ledger",
            hint="run `recollect admin rebuild` with a token for the whole space",
        )
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return Forbidden(
            "the server does not allow that with this token", hint="use a token that allows it"
        )
    if isinstance(error, psycopg.errors.LockNotAvailable | psycopg.errors.QueryCanceled):
        return Unavailable(
            "the server did not answer in time: another session holds a lock it needs",
            hint="try again; if it lasts, the owner of the database can find it in pg_locks",
        )
    if error.sqlstate is None or isinstance(error, _STOPPED):
        return Unavailable(
            "the connection to the server was lost",
            hint="check that the server is up, then try again",
        )
    return Unavailable(
        f"the server could not be used: {type(error).__name__}",
        hint="look into the server's log, then try again",
    )


def _array(numbers: Iterable[Cell]) -> str:
    """Integers as an array literal of the server."""
    return "{" + ",".join(map(str, numbers)) + "}"


@cache
def _text(name: str) -> str:
    """A statement with the driver's parameter syntax."""
    return _named(postgres_statements()[name])


@cache
def _limited_text(name: str) -> str:
    """The same, for a token for one user."""
    text = limited_statements().get(name)
    return _text(name) if text is None else _named(text)


def _named(text: str) -> str:
    return _NAMED.sub(r"%(\1)s", text.replace("%", "%%")).replace("?", "%s")


@cache
def _together(texts: tuple[str, ...]) -> str:
    """Combines inserts into different tables into one statement."""
    number = count(1)
    *others, last = (_PLACE.sub(lambda _: f"${next(number)}", text) for text in texts)
    held = ", ".join(f"held_{place} AS ({text})" for place, text in enumerate(others))
    return f"WITH {held} {last}" if held else last


@cache
def _inserting(name: str, count: int) -> str:
    """An insert statement for this many rows, each with its space."""
    insert = _INSERT.match(postgres_statements()[name])
    if insert is None:
        raise ValueError(f"{name} adds nothing")
    table, columns, values, rest = insert.groups()
    one = f"(%s, {values.replace('?', '%s')})"
    every = ", ".join([one] * count)
    return f"INSERT INTO recollect.{table} (space, {columns}) VALUES {every}{rest}"  # noqa: S608
