"""Which records of a memory a store of this API shows.

Responsible for reading them by id, kind, confidence and status, from one state of the memory.
Leaves the index to ``finding``. Invariants: an id is taken as it is, never as the beginning of
another or as a key; every record is shown, however many there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from recollect.contracts.chrono.records import ChronoRecord, record_from, record_id
from recollect.errors import InvalidInput
from recollect.exchange.importers.chrono import ACTIVE
from recollect.finding.search import listing
from recollect.index.reads import Reads
from recollect.index.rows import VersionRow
from recollect.index.statements import STILL
from recollect.memory.handle.handle import Calls
from recollect.memory.handle.healed import heals
from recollect.model import limits, validate
from recollect.model.values import INCLUDES, Include
from recollect.recall.rank import Wish

_PAGE: Final = limits.LIST_MAX_RECORDS
_EVERY: Final[tuple[Include, ...]] = INCLUDES


@heals
class Shown(Calls):
    """The records of one handle."""

    def one(self, id: str) -> tuple[ChronoRecord, VersionRow] | None:
        """The record with exactly this id, whatever its status; None if there is none."""
        try:
            checked = record_id(validate.plain(id, "an id"))
        except InvalidInput:
            if isinstance(id, str):
                return None  # nothing can have it
            raise
        with self._handle.reading() as reads:
            row = reads.version(checked)
        if row is None or not self._handle.may_see(row):
            return None
        return record_from(self._handle, row), row

    def row(self, id: str) -> VersionRow | None:
        """The row of an id, also one that this handle may not see."""
        with self._handle.reading() as reads:
            return reads.version(id)

    def all(
        self,
        kind: str | None = None,
        min_confidence: float = 0.0,
        status: str | None = ACTIVE,
    ) -> list[ChronoRecord]:
        """The records of a kind and a status, the first written first."""
        least = validate.fraction(min_confidence, "min_confidence")
        terms = [f"confidence >= {least!r}"]
        if kind is not None:
            quoted = validate.name(kind, "kind").replace("'", "''")
            terms.append(f"kind = '{quoted}'")
        include = () if status == ACTIVE else _EVERY
        wish = self._handle.wish("record", include, filter=" and ".join(terms))
        with self._handle.reading() as reads:
            rows = sorted(_pages(reads, wish), key=lambda row: (row.created_at, row.id))
        found = (record_from(self._handle, row) for row in rows)
        return [record for record in found if status in (None, record.status)]


def _pages(reads: Reads, wish: Wish) -> Iterator[VersionRow]:
    before = STILL
    while page := listing(reads, wish, before, _PAGE):
        yield from page
        before = page[-1].seq
