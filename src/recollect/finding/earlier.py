"""Earlier values: what records said before they were revised, and the records they superseded.

Responsible for reading them, and for the records that a question finds only by an earlier value.
Leaves recognizing such a question to ``recall.before``. Invariants: what was erased, forgotten,
held or has expired is not among them, and neither is an earlier value of a record that does not
show now; every loop is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from recollect.index.cards import Cards
from recollect.index.reads import Reads
from recollect.index.rows import Card, VersionRow, is_held
from recollect.model import limits
from recollect.recall.rank import Ended, Wish, card_for, hidden_as, showing

EACH_MAX_COUNT: Final = 3  # earlier values of one record
HEADS_MAX_COUNT: Final = 20  # records whose earlier values are read
_CHAIN_MAX_COUNT: Final = 20  # records that superseded each other, one after the other


def earlier_values(reads: Reads, wish: Wish, heads: Sequence[VersionRow]) -> list[Ended]:
    """The last few values of each of these records before the one they have, newest first."""
    return [each for head in heads[:HEADS_MAX_COUNT] for each in _before(reads, wish, head)]


def found_by_earlier(reads: Reads, wish: Wish, terms: Sequence[str]) -> list[VersionRow]:
    """Visible records with an earlier value that contains these terms, best match first."""
    docs = reads.match("rest", terms, limits.HELD_LOOK_MAX_COUNT, wish.user)
    place = {doc: number for number, (doc, _) in enumerate(docs)}
    rows = Cards(reads).of(place, past=True) if place else []
    heads: dict[str, VersionRow] = {}
    records = [row for row in rows if row.role is None]
    for row in sorted(records, key=lambda row: place[row.text_seq]):
        if len(heads) == HEADS_MAX_COUNT:
            break
        head = head_of(reads, row) if _may_show(row, wish) else None
        if head is not None and showing([head], wish):
            heads[head.id] = head
    return list(heads.values())


def head_of(reads: Reads, row: VersionRow | Card) -> VersionRow | None:
    """The record that holds in place of an earlier one; None if it was erased."""
    now = reads.version(row.id)
    for _ in range(_CHAIN_MAX_COUNT):
        if now is None or now.user != row.user or now.superseded_by is None:
            break
        now = reads.version(now.superseded_by)
    return now if now is not None and now.user == row.user else None


def ended_at(versions: Sequence[VersionRow], row: VersionRow) -> str:
    """When a text of a record stopped holding; its versions come oldest first."""
    holding = [v for v in versions if v.text_seq == row.text_seq and v.status == "active"]
    last = holding[-1].seq if holding else row.seq
    return next((version.at for version in versions if version.seq > last), row.at)


def _before(reads: Reads, wish: Wish, head: VersionRow) -> list[Ended]:
    """The last few values before the one that a record has; a value it has again is not."""
    found: dict[str, Ended] = {}
    for versions in _chain(reads, head):
        latest = {version.text_seq: version for version in versions}  # of each text, its last row
        for row in reversed(latest.values()):
            if row.text not in found and row.text != head.text and _may_show(row, wish):
                found[row.text] = Ended(row, ended_at(versions, row), head, card_for(row, wish))
                if len(found) == EACH_MAX_COUNT:
                    return list(found.values())
    return list(found.values())


def _chain(reads: Reads, head: VersionRow) -> Iterator[list[VersionRow]]:
    """The versions of a record, then of each that was superseded before it."""
    row: VersionRow | None = head
    seen: set[str] = set()
    for _ in range(_CHAIN_MAX_COUNT):
        if row is None or row.user != head.user or row.id in seen:
            return
        seen.add(row.id)
        has_changed = row.at != row.created_at
        yield reads.versions(row.id) if has_changed else [row]
        row = None if row.supersedes is None else reads.version(row.supersedes)


def _may_show(row: VersionRow | Card, wish: Wish) -> bool:
    """True for a value that was replaced, and for no other reason is hidden."""
    if hidden_as(row, wish) != "superseded" or is_held(row) or not wish.may_see(row):
        return False
    was_active = row.status == "active" or row.status == "archived"
    return was_active and (row.expires is None or row.expires > wish.now)
