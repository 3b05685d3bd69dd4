"""Whether the tables of a space on a server match its events.

Responsible for finding rows that were written into the index with SQL and a writing token, and
events with bodies that cannot be parsed. Leaves repairs to ``store.postgres.repair``. Invariants:
the check changes nothing on the server; it compares with an unnamed temporary file of SQLite, so
memory stays bounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import zip_longest
from typing import Final

from recollect.errors import ConfigError, IntegrityError, NotInstalled, RecollectError
from recollect.index.digest import log_digest, state_digest
from recollect.index.reads import Reads
from recollect.index.rows import Row
from recollect.index.statements import NOW, scratch_statements
from recollect.index.text import made_with
from recollect.ledger.cipher import Ciphers
from recollect.ledger.codec import decode
from recollect.ledger.scan import Damage, scan
from recollect.model.values import Finding
from recollect.store.fold_ledger import Folded, fold_whole
from recollect.store.port import Progress
from recollect.store.postgres.build import pieces
from recollect.store.postgres.db import PostgresDb
from recollect.store.sqlite import SqliteDb

_WRONG: Final = "does not match the events; rebuild the index"
_TOKENS: Final = (
    "a client whose Python has other Unicode tables makes other tokens; those of this one are"
)
_SHELVING: Final = {"shelve_recallable": "recallable", "shelve_rest": "rest"}
_UNSHELVING: Final = {"unshelve_recallable": "recallable", "unshelve_rest": "rest"}


class Scratch(SqliteDb):
    """An index for one comparison; instead of full text it stores the tokens."""

    def __init__(self, space: str) -> None:
        pragmas = ("journal_mode = OFF", "synchronous = OFF", "cache_size = -16000")
        super().__init__("", pragmas=pragmas)
        self._statements = scratch_statements()
        self.create(space)
        self.run("make_shelved")

    def many(self, name: str, rows: Sequence[Row]) -> None:
        """Runs one write for each of these rows, in order."""
        if name in _SHELVING:
            super().many("keep_shelved", [(_SHELVING[name], *row[:2]) for row in rows])
        elif name in _UNSHELVING:
            super().many("drop_shelved", [(_UNSHELVING[name], row[0]) for row in rows])
        else:
            super().many(name, rows)


def difference(
    db: PostgresDb, space: str, ciphers: Ciphers, progress: Progress | None = None
) -> str | None:
    """How the index of the entered space differs from a fresh fold of its ledger, in a sentence."""
    with closing(Scratch(space)) as scratch:
        scratch.run("begin_write")
        try:
            position = Reads(db).position()
            total = position.offset if position else 0
            folded = fold_whole(scratch, pieces(db), progress, total, ciphers=ciphers)
        except IntegrityError as error:
            return f"{error.message}; run `recollect doctor` to see what can be done"
        if not _stands_at(db, folded):
            return f"the position of the index {_WRONG}"
        if state_digest(scratch, NOW) != state_digest(db, NOW):
            return f"the index of records, episodes, links or erasures {_WRONG}"
        if log_digest(scratch) != log_digest(db):
            return f"the list of events in the index {_WRONG}"
        if not _same_shelves(db, scratch):
            return f"the full-text index {_WRONG} ({_TOKENS} {made_with()})"
    return None


def unreadable(found: Iterable[bytes], ciphers: Ciphers) -> list[int]:
    """The events with bodies that cannot be parsed, up to the first damage of the chain.

    A key that is not at hand is an error: what it opens must not be given up for that.
    """
    bad: list[int] = []
    with suppress(Damage):  # ``verify`` reports it
        for append in scan(found):
            for line in append.lines:
                try:
                    decode(line, ciphers)
                except (ConfigError, NotInstalled):
                    raise
                except RecollectError:
                    bad.append(line.seq)
    return bad


def unreadable_found(bad: Sequence[int]) -> Finding:
    """The finding of ``doctor`` about such events."""
    which = ", ".join(f"{seq:,}" for seq in bad[:5])
    return Finding(
        level="problem",
        what="ledger",
        detail=f"{len(bad):,} events have bodies that cannot be parsed, first {which}: "
        "earlier events can be read, but nothing can be written",
        fix="run `recollect doctor --accept-loss` with a token of the owner: it erases these "
        "bodies and records that in an event; revoke the token that wrote them",
    )


def difference_found(problem: str) -> Finding:
    """The finding of ``doctor`` about such a difference."""
    return Finding(
        level="problem",
        what="index",
        detail=f"{problem}: rows were written with SQL, or another Python made the tokens",
        fix="run `recollect admin rebuild`; if rows were written with SQL, revoke that token",
    )


def _stands_at(db: PostgresDb, folded: Folded) -> bool:
    """The position: the last event, the active time and the last finished erasure."""
    position = Reads(db).position()
    if position is None:
        return False
    head = folded.head
    return (position.seq, position.hash, position.at, position.active_us) == (
        *(head.seq, head.hash, head.at),
        folded.active_us,
    ) and position.purged < folded.erasures.first_unfinished


def _same_shelves(db: PostgresDb, scratch: Scratch) -> bool:
    counts: Counter[str] = Counter()
    docs: Counter[str] = Counter()

    def expected() -> Iterator[Row]:
        for shelf, doc, tokens in scratch.stream("list_shelved", ()):
            words = str(tokens).split()
            counts[str(shelf)] += len(words)
            docs[str(shelf)] += 1
            for word, times in sorted(Counter(words).items(), key=lambda each: each[0].encode()):
                yield shelf, doc, word, times, len(words)

    with closing(db.stream("list_postings", {})) as found:
        if any(tuple(a or ()) != b for a, b in zip_longest(found, expected())):
            return False
    shelves = {str(shelf): tuple(sizes) for shelf, *sizes in db.rows("list_shelves")}
    return shelves == {shelf: (docs[shelf], counts[shelf]) for shelf in docs}
