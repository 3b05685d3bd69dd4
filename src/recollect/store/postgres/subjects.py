"""The subjects of a space on a server, in one transaction or in transactions of their own.

Responsible for joining the parts: the server's table of keys, the master key, and the copies of
wrapped keys on this machine. Leaves the rows to ``store.postgres.subject_keys``. Invariant: what is
destroyed on the server is destroyed on this machine too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Final, NamedTuple, cast

from recollect.errors import RecollectError
from recollect.ledger.erasure import orders_in
from recollect.ledger.line import claimed
from recollect.model.events import GENESIS
from recollect.store.postgres.db import PostgresDb
from recollect.store.postgres.entry import Entry
from recollect.store.postgres.subject_keys import Opening, PostgresKeys, check_whole
from recollect.store.seam import Seam
from recollect.store.subjects import SubjectKeys, Subjects
from recollect.store.wrapped_keys import TOLD, Wrapping

_ELSEWHERE: Final = (
    "NOT cleaned: wrapped copies of the key that `pull` or `backup` left on other machines, until "
    "they pull or back up this memory again"
)


class Keeping(NamedTuple):
    """What a client has for subjects. The server has none of it."""

    master: Callable[[bool], bytes]
    copies: Callable[[str], SubjectKeys]  # of a ledger's wrapped keys, on this machine
    note_erased: Callable[[str, Mapping[int, str]], None]  # for backups from before


class SpaceSubjects:
    """The subjects of one space in one process."""

    def __init__(self, entry: Entry, seam: Seam, keeping: Keeping | None) -> None:
        self._entry = entry
        self._seam = seam
        self._keeping = keeping
        self._wrappings: dict[str, Wrapping] = {}

    def within(self, db: PostgresDb, first: str | None = None) -> Subjects:
        """For one transaction; ``first`` is the hash of the first event, if it is arriving."""

        def here() -> nullcontext[PostgresDb]:
            return nullcontext(db)

        return self._made(here, here, lambda: first or self._first(db))

    def apart(self, reading: Opening, writing: Opening) -> Subjects:
        """For calls that each need a transaction of their own."""

        @contextmanager
        def looking() -> Iterator[PostgresDb | None]:
            if self._entry.existing_head() == GENESIS:
                yield None
                return
            with reading() as db:
                yield db

        def first() -> str | None:
            with looking() as db:
                return None if db is None else self._first(db)

        return self._made(looking, writing, first)

    def _made(
        self, reading: Opening, writing: Opening, first: Callable[[], str | None]
    ) -> Subjects:
        def keys(ledger: str) -> PostgresKeys:
            return PostgresKeys(self._wrapping(ledger), reading, writing, self._entry.granted)

        return Subjects(None if self._keeping is None else keys, first, self._seam)

    def _first(self, db: PostgresDb) -> str | None:
        if db.limited:  # it does not see the first event
            check_whole(self._entry.granted())
        return _first(db)

    def _wrapping(self, ledger: str) -> Wrapping:
        if ledger not in self._wrappings:
            master = cast(Keeping, self._keeping).master
            where = f"{self._entry.pool.where}, space {self._entry.name}"
            self._wrappings[ledger] = Wrapping(ledger, master, self._seam, where)
        return self._wrappings[ledger]

    def destroy(self, db: PostgresDb, orders: Mapping[str, int]) -> None:
        """Destroys keys on the server as events order, in the transaction that orders it."""
        if self._keeping is None or not orders:
            return
        keys = self.within(db).keys
        for by in sorted({*orders.values()}):
            keys.destroy([one for one in orders if orders[one] == by], by)

    def finish(self, db: PostgresDb, orders: Mapping[str, int]) -> list[str]:
        """Destroys the copies on this machine, once the order is durable; tells all of it."""
        if self._keeping is None or not orders:
            return []
        self.destroy(db, orders)
        ledger = self.within(db).ledger
        told = [f"{TOLD % one} in {self._wrapping(ledger).where}" for one in sorted(orders)]
        copies = self._keeping.copies(ledger)
        if copies.wrapped(orders):
            told += copies.destroy(orders, max(orders.values()))
        return [*told, _ELSEWHERE]

    def keep_copies(self, db: PostgresDb) -> None:
        """Copies the wrapped keys to this machine: a backup of the ledger alone cannot be read."""
        if self._keeping is None or db.one("any_subject") is None:
            return
        subjects = self.within(db)
        keys, copies = subjects.keys, self._keeping.copies(subjects.ledger)
        named = [str(pseudonym) for pseudonym, *_ in db.rows("list_subjects")]
        copies.take(keys.wrapped(named))
        destroyed = keys.destroyed()
        if copies.wrapped(destroyed):
            copies.destroy(destroyed, max(destroyed.values()))

    def note_erased(self, db: PostgresDb, erased: Mapping[int, int]) -> list[str]:
        """Notes numbers and hashes on this machine, for backups; says why that was not possible."""
        first = _first(db)
        if self._keeping is None or first is None:  # a token for one user does not see it
            return []
        claims = (claimed(line) for line in lines_of(db, list(erased)))
        heads = (claim.head for claim in claims if claim is not None)
        try:
            self._keeping.note_erased(first, {head.seq: head.hash for head in heads})
        except RecollectError as error:
            return [f"NOT noted on this machine, for backups of before: {error}"]
        return []


def _first(db: PostgresDb) -> str | None:
    """The hash of the ledger's first event, from which it has its name."""
    row = db.one("first_hash")
    return None if row is None else str(row[0])


def lines_of(db: PostgresDb, seqs: list[int]) -> list[bytes]:
    """The lines of these events, each with its newline."""
    rows = db.ask("events_of", {"seqs": seqs}).fetchall()
    return [bytes(line) + b"\n" for _, line in rows]


def encrypted_for(db: PostgresDb, subjects: Collection[str]) -> list[int]:
    """The events with a body that is encrypted for one of these subjects."""
    asked = {"subjects": sorted(subjects)}
    return [int(seq) for (seq,) in db.ask("encrypted_for", asked).fetchall()]


def orders_of(db: PostgresDb, erased: Mapping[int, int]) -> dict[str, int]:
    """The subjects whose keys these erasures destroy, each with the event that orders it."""
    return orders_in(lines_of(db, sorted({*erased.values()})), erased)
