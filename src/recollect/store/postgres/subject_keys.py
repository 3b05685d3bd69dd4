"""The keys of a space's subjects, in a table of its database.

Responsible for the same contract as the files. Leaves wrapping to ``store.keys.wrapped_keys``, and
destroying keys together with the order to do so to the function ``append`` of the server.
Invariants: the server never gets the master key; a key is durable before anything is encrypted with
it; who a user is now is asked of the server each time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import cast

from recollect.errors import NotFound
from recollect.index.rows import Row
from recollect.store.keys.subjects import Named
from recollect.store.keys.wrapped_keys import TOLD, Wrapped, Wrapping
from recollect.store.postgres.db import Connection, run
from recollect.store.postgres.pool import Pool
from recollect.store.seam import Seam


class SpaceKeys:
    """The keys of one ledger's subjects. Nothing is asked of the server before it is needed."""

    def __init__(
        self, pool: Pool, place: Callable[[], int], wrapping: Wrapping, seam: Seam
    ) -> None:
        self._pool = pool
        self._place = place
        self.wrapping = wrapping
        self._seam = seam
        self._held: dict[str, Wrapped] = {}
        self._opened: dict[str, bytes] = {}
        self._gone: set[str] = set()

    def named(self, user: str) -> list[Named]:
        """The subjects that a user has been here, oldest first, as far as their keys are there."""
        if not self._prove():
            return []
        found = self._ask("subjects_tagged", tag=self.wrapping.tag(user))
        return [Named(one.pseudonym, one.cipher) for one in self._hold(found)]

    def add(self, user: str) -> Named:
        """Makes a user a subject, under a new pseudonym and key."""
        self._prove()
        kept, key = self.wrapping.new(user)
        if not self._ask("keep_subject", **_row(kept, self.wrapping.tag(user))):
            raise self._dropped()
        self._held[kept.pseudonym], self._opened[kept.pseudonym] = kept, key
        return Named(kept.pseudonym, kept.cipher)

    def key(self, pseudonym: str, cipher: int) -> bytes | None:
        """A key; None if it was destroyed. One that is held is given until it is forgotten."""
        if pseudonym not in self._held and pseudonym not in self._gone:
            self.look_up([pseudonym])
        if pseudonym in self._gone:
            return None
        kept = self._held.get(pseudonym)
        if kept is None or kept.cipher != cipher:
            raise self.wrapping.missing(pseudonym)
        opened = self._opened.get(pseudonym)
        if opened is None:
            opened = self._opened[pseudonym] = self.wrapping.key_of(kept)
        return opened

    def look_up(self, pseudonyms: Collection[str]) -> None:
        """Reads these subjects together, so that ``key`` needs no trip for each of them."""
        wanted = {*pseudonyms} - self._held.keys() - self._gone
        if not wanted:
            return
        found = self._hold(self._ask("get_subjects", pseudonyms=sorted(wanted)))
        rest = wanted - {one.pseudonym for one in found}
        if rest:
            self._gone.update(self._destroyed_of(rest))

    def forget(self, pseudonyms: Iterable[str]) -> None:
        """Drops what this process holds of subjects that were ordered destroyed."""
        for pseudonym in pseudonyms:
            self._held.pop(pseudonym, None)
            self._opened.pop(pseudonym, None)

    def destroy(self, pseudonyms: Iterable[str], by: int) -> tuple[str, ...]:
        """Destroys keys: their rows are deleted, and what stays has no key and no name."""
        gone = sorted({*pseudonyms})
        if not gone:
            return ()
        asked = {"space": self._place(), "pseudonyms": gone}
        with self._pool.transaction() as connection:
            self._lock(connection)  # else a key that arrives now would stay
            run(connection, "note_destroyed", {**asked, "at": self._seam.now(), "by": by})
            had = sorted(str(one) for (one,) in run(connection, "destroy_subjects", asked))
        self.forget(gone)
        return tuple(f"{TOLD % pseudonym} in {self.wrapping.where}" for pseudonym in had)

    def destroyed(self) -> dict[str, int]:
        """The pseudonyms whose keys were destroyed here, each with the event that ordered it."""
        return {str(one): cast(int, by) for one, by in self._ask("list_destroyed")}

    def set_aside(self) -> None:
        """Nothing: the rows stay for a client that has the master key."""

    def lacks(self, pseudonyms: Collection[str]) -> set[str]:
        """Those of these subjects that are neither known nor destroyed here."""
        rest = {*pseudonyms} - {one.pseudonym for one in self.wrapped(pseudonyms)}
        return rest - self._destroyed_of(rest) if rest else rest

    def wrapped(self, pseudonyms: Collection[str]) -> list[Wrapped]:
        """These subjects as they are stored, as far as they are here."""
        if not pseudonyms:
            return []
        return self._hold(self._ask("get_subjects", pseudonyms=sorted({*pseudonyms})))

    def every(self) -> list[Wrapped]:
        """All subjects as they are stored."""
        return [_wrapped(row) for row in self._ask("list_subjects")]

    def take(self, keys: Collection[Wrapped]) -> None:
        """Keeps keys that were wrapped elsewhere; the master key must open them."""
        lacking = self.lacks([one.pseudonym for one in keys])
        rows = [
            _row(one, self.wrapping.tag(self.wrapping.name_of(one)))
            for one in keys
            if one.pseudonym in lacking and self.wrapping.key_of(one)
        ]
        if rows:
            with self._pool.transaction() as connection:
                self._lock(connection)  # else one that is destroyed now would come back
                for row in rows:
                    run(connection, "keep_subject", {**row, "space": self._place()})

    def _prove(self) -> bool:
        """True if there are subjects; refuses a master key that did not wrap their keys.

        With another one, nobody would be found, and the next write would not be encrypted.
        """
        if not self.wrapping.is_proven:
            found = self._ask("any_subject")
            if not found:
                return False
            self.wrapping.key_of(_wrapped(found[0]))
            self.wrapping.is_proven = True
        return True

    def _lock(self, connection: Connection) -> None:
        if not run(connection, "lock_space", {"space": self._place()}):
            raise self._dropped()

    def _dropped(self) -> NotFound:
        return NotFound(f"{self.wrapping.where} was dropped", hint="open it again")

    def _destroyed_of(self, pseudonyms: Iterable[str]) -> set[str]:
        found = self._ask("get_destroyed", pseudonyms=sorted(pseudonyms))
        return {str(one) for (one,) in found}

    def _ask(self, statement: str, /, **params: object) -> list[Row]:
        return self._pool.ask(statement, {**params, "space": self._place()})

    def _hold(self, rows: Iterable[Row]) -> list[Wrapped]:
        found = [_wrapped(row) for row in rows]
        self._held.update((one.pseudonym, one) for one in found)
        return found


def _row(kept: Wrapped, tag: bytes) -> dict[str, object]:
    return {
        "pseudonym": kept.pseudonym,
        "cipher": kept.cipher,
        "tag": tag,
        "key": kept.key,
        "name": kept.name,
        "made": kept.made,
    }


def _wrapped(row: Row) -> Wrapped:
    pseudonym, cipher, key, name, made = row
    blobs = bytes(cast(bytes, key)), bytes(cast(bytes, name))
    return Wrapped(str(pseudonym), cast(int, cipher), *blobs, str(made))
