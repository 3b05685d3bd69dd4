"""The keys of a space's subjects, in a table of its database.

Responsible for the same contract as the files. Leaves wrapping to ``store.wrapped_keys``, and who
may keep or destroy a key to the server (``sql/subjects.sql``). Invariants: the server never gets
the master key; a key is committed together with the first event that it encrypts, and is gone
together with the order to destroy it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import cast

from recollect.errors import Forbidden
from recollect.index.rows import Row
from recollect.store.grants import Grant
from recollect.store.postgres.db import PostgresDb
from recollect.store.subjects import Named
from recollect.store.wrapped_keys import TOLD, Wrapped, Wrapping

Opening = Callable[[], AbstractContextManager[PostgresDb | None]]  # None: there is no ledger yet


class PostgresKeys:
    """The keys of one space's subjects, in the transactions that it is given."""

    def __init__(
        self, wrapping: Wrapping, reading: Opening, writing: Opening, granted: Callable[[], Grant]
    ) -> None:
        self._wrapping = wrapping
        self._reading = reading
        self._writing = writing
        self._granted = granted
        self._held: dict[str, Wrapped] = {}
        self._opened: dict[str, bytes] = {}
        self._gone: dict[str, int] | None = None  # once all rows were read

    def named(self, user: str) -> list[Named]:
        """The subjects that a user has been here, as far as their keys are there."""
        with self._whole(self._reading) as db:
            if db is None or not self._prove(db):
                return []
            found = [*map(_wrapped, db.rows("subjects_tagged", {"tag": self._wrapping.tag(user)}))]
        self._hold(found)
        return [Named(one.pseudonym, one.cipher) for one in found]

    def add(self, user: str) -> Named:
        """Makes a user a subject, under a new pseudonym and key."""
        with self._whole(self._writing) as db:
            if db is not None:
                self._prove(db)
            kept, key = self._wrapping.new(user)
            self._keep(db, kept, self._wrapping.tag(user))
        self._hold([kept])
        self._opened[kept.pseudonym] = key
        return Named(kept.pseudonym, kept.cipher)

    def key(self, pseudonym: str, cipher: int) -> bytes | None:
        """A key; None if it was destroyed."""
        if pseudonym not in self._held:
            self._read_all()
        kept = self._held.get(pseudonym)
        if kept is None and pseudonym in (self._gone or ()):
            return None
        if kept is None or kept.cipher != cipher:
            raise self._wrapping.missing(pseudonym)
        if pseudonym not in self._opened:
            self._opened[pseudonym] = self._wrapping.key_of(kept)
        return self._opened[pseudonym]

    def destroy(self, pseudonyms: Iterable[str], by: int) -> tuple[str, ...]:
        """Destroys keys: their rows are deleted, and what stays has no key and no name."""
        gone = sorted({*pseudonyms})
        with self._writing() as db:
            asked = {"subjects": gone, "by": by}
            had = [] if db is None else [str(one) for (one,) in db.ask("destroy_subjects", asked)]
        for pseudonym in gone:
            self._held.pop(pseudonym, None)
            self._opened.pop(pseudonym, None)
            if self._gone is not None:
                self._gone.setdefault(pseudonym, by)
        return tuple(f"{TOLD % pseudonym} in {self._wrapping.where}" for pseudonym in sorted(had))

    def destroyed(self) -> dict[str, int]:
        """The pseudonyms whose keys were destroyed here, each with the event that ordered it."""
        self._read_all()
        return {**(self._gone or {})}

    def set_aside(self) -> None:
        """Nothing: the rows stay for a client that has the master key."""

    def lacks(self, pseudonyms: Collection[str]) -> set[str]:
        """Those of these subjects that are neither known nor destroyed here."""
        self._read_all()
        return {*pseudonyms} - self._held.keys() - (self._gone or {}).keys()

    def wrapped(self, pseudonyms: Collection[str]) -> list[Wrapped]:
        """These subjects as they are stored, as far as they are here."""
        self._read_all()
        return [self._held[one] for one in sorted(pseudonyms) if one in self._held]

    def take(self, keys: Collection[Wrapped]) -> None:
        """Keeps keys that were wrapped elsewhere; the master key must open them."""
        with self._writing() as db:
            for one in keys:
                self._opened[one.pseudonym] = self._wrapping.key_of(one)
                self._keep(db, one, self._wrapping.tag(self._wrapping.name_of(one)))
        self._hold(keys)

    def _keep(self, db: PostgresDb | None, kept: Wrapped, tag: bytes) -> None:
        if db is None:
            raise self._wrapping.missing(kept.pseudonym)
        row = {
            "pseudonym": kept.pseudonym,
            "cipher": kept.cipher,
            "tag": tag,
            "key": kept.key,
            "name": kept.name,
            "made": kept.made,
        }
        db.ask("keep_subject", row)

    def _prove(self, db: PostgresDb) -> bool:
        """True if there are subjects; refuses a master key that did not wrap their keys.

        With another one, nobody would be found, and the next write would not be encrypted.
        """
        if not self._wrapping.is_proven:
            row = db.one("any_subject")
            if row is None:
                return False
            self._wrapping.key_of(_wrapped(row))
            self._wrapping.is_proven = True
        return True

    def _read_all(self) -> None:
        if self._gone is not None:
            return
        with self._reading() as db:
            if db is not None:
                self._hold(map(_wrapped, db.rows("list_subjects")))
            found = [] if db is None else db.rows("list_destroyed")
            self._gone = {str(pseudonym): cast(int, by) for pseudonym, by in found}

    def _hold(self, found: Iterable[Wrapped]) -> None:
        self._held.update((one.pseudonym, one) for one in found)

    @contextmanager
    def _whole(self, opening: Opening) -> Iterator[PostgresDb | None]:
        """A transaction, with a token for the whole space."""
        check_whole(self._granted())
        with opening() as db:
            yield db


def check_whole(grant: Grant) -> None:
    """Refuses a token for one user or one agent."""
    if grant.user is not None or grant.agent is not None:
        raise Forbidden(
            "this memory is encrypted for each subject, and this token writes for "
            f"{grant.user or grant.agent!r} alone: the server could not check what it writes",
            hint="use a token for the whole space, with memory.scoped(user=…)",
        )


def _wrapped(row: Row) -> Wrapped:
    pseudonym, cipher, key, name, made = row
    blobs = bytes(cast(bytes, key)), bytes(cast(bytes, name))
    return Wrapped(str(pseudonym), cast(int, cipher), *blobs, str(made))
