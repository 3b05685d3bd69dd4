"""What a machine has for the subjects of spaces on a server.

Responsible for the master key, for the copies of wrapped keys on this machine, and for telling what
was destroyed where. Leaves the server's rows to ``store.postgres.subject_keys``. Invariant: what is
destroyed on the server is destroyed on this machine too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from recollect.errors import RecollectError
from recollect.model.events import Head
from recollect.store.keys.subjects import SubjectKeys
from recollect.store.keys.wrapped_keys import TOLD, Wrapping
from recollect.store.postgres.pool import Pool
from recollect.store.postgres.subject_keys import SpaceKeys
from recollect.store.seam import Seam

_ELSEWHERE: Final = (
    "NOT cleaned: wrapped copies of the key that `pull` or `backup` left on other machines, until "
    "they pull or back up this memory again"
)


class Keeping(NamedTuple):
    """What a client has for subjects. The server has none of it."""

    master: Callable[[bool], bytes]
    copies: Callable[[str], SubjectKeys]  # of a ledger's wrapped keys, on this machine
    note_erased: Callable[[str, Mapping[int, str]], None]  # for backups from before

    def keys(
        self, pool: Pool, place: Callable[[], int], ledger: str, where: str, seam: Seam
    ) -> SpaceKeys:
        """The keys of a space; ``ledger`` is the hash of its first event."""
        return SpaceKeys(pool, place, Wrapping(ledger, self.master, seam, where), seam)

    def finish(self, keys: SpaceKeys, orders: Mapping[str, int]) -> list[str]:
        """Destroys what events ordered destroyed, wherever it still is; tells all of it."""
        if not orders:
            return []
        for by in sorted({*orders.values()}):
            keys.destroy([one for one in orders if orders[one] == by], by)
        told = [f"{TOLD % one} in {keys.wrapping.where}" for one in sorted(orders)]
        copies = self.copies(keys.wrapping.ledger)
        if copies.wrapped(orders):
            told += copies.destroy(orders, max(orders.values()))
        return [*told, _ELSEWHERE]

    def keep_copies(self, keys: SpaceKeys) -> None:
        """Copies the wrapped keys to this machine: a backup of the ledger alone cannot be read."""
        found, copies = keys.every(), self.copies(keys.wrapping.ledger)
        if found:
            copies.take(found)
        destroyed = keys.destroyed()
        if copies.wrapped(destroyed):
            copies.destroy(destroyed, max(destroyed.values()))

    def note_heads(self, first: str, heads: Iterable[Head]) -> list[str]:
        """Notes what was erased on this machine, for backups; says why that was not possible."""
        try:
            self.note_erased(first, {head.seq: head.hash for head in heads})
        except RecollectError as error:
            return [f"NOT noted on this machine, for backups of before: {error}"]
        return []
