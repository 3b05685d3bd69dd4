"""Earlier values: what records said before they were revised, and the records they replaced.

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
from recollect.index.rows import Card, VersionRow, is_held, unpack_names
from recollect.model import limits
from recollect.recall.rank import Ended, Wish, card_for, hidden_as, showing

EACH_MAX_COUNT: Final = 3  # earlier values of one record
HEADS_MAX_COUNT: Final = 20  # records whose earlier values are read
_CHAIN_MAX_COUNT: Final = 20  # records that replaced each other, one after the other


def earlier_values(reads: Reads, wish: Wish, heads: Sequence[VersionRow]) -> list[Ended]:
    """The last few values of each of these records before the one they have, newest first."""
    return [each for head in heads[:HEADS_MAX_COUNT] for each in _before(reads, wish, head)]


def held_then(reads: Reads, earlier: Sequence[Ended], query: str, now: str) -> list[Ended]:
    """Those of these values that held in the stretch of time that a question names."""
    from recollect.recall.times import span_of  # most questions name no time

    span, _ = span_of(query, now, 0)
    return [
        each
        for each in earlier
        if (span.since is None or each.until > span.since)
        and (span.before is None or said_since(reads, each.row) < span.before)
    ]


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
        head = head_of(reads, row) if may_show(row, wish) else None
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


def predecessors(reads: Reads, row: VersionRow | Card) -> list[VersionRow]:
    """The records of the same user whose place one took.

    A record that was held until a review names none, because it took the place later. Those that it
    replaced name it.
    """
    if row.supersedes is not None:
        found = [reads.version(row.supersedes)]
    elif row.at == row.created_at:
        return []
    else:
        named = map(reads.version, reads.superseded_by(row.id))
        found = [each for each in named if each is not None and each.superseded_by == row.id]
    return [each for each in found if each is not None and each.user == row.user]


def ended_at(reads: Reads, row: VersionRow, versions: Sequence[VersionRow]) -> str:
    """When a text of a record was replaced: when the next one was said.

    ``versions`` are those of the record, oldest first.
    """
    after = _next_version(row, versions)
    if after is None:
        return row.at
    if after.text_seq != row.text_seq:
        return said_since(reads, after, row.said_at)
    if after.superseded_by is None:
        return after.at
    others = reads.versions(after.superseded_by)  # the first is added by the event that follows
    then = [each for each in others if each.seq < after.seq] or others[:1]
    return said_since(reads, then[-1]) if then else after.at


def written_at(row: VersionRow, versions: Sequence[VersionRow]) -> str:
    """When it was written down that a text of a record was replaced."""
    after = _next_version(row, versions)
    return row.at if after is None else after.at


def _next_version(row: VersionRow, versions: Sequence[VersionRow]) -> VersionRow | None:
    """The version after the last one in which a text of a record held."""
    holding = [v for v in versions if v.text_seq == row.text_seq and v.status == "active"]
    last = holding[-1].seq if holding else row.seq
    return next((version for version in versions if version.seq > last), None)


def said_since(reads: Reads, row: VersionRow, before: str | None = None) -> str:
    """When the text of a record was said: by its first evidence, by itself, or when it was written.

    ``before`` is when the text before it was said, which a revision keeps unless it says otherwise.
    """
    begun = row if row.seq == row.text_seq else reads.by_event(row.text_seq)
    if not isinstance(begun, VersionRow):  # of a damaged index
        begun = row
    said = (reads.episode(name) for name in unpack_names(begun.evidence))
    heard = [each.said_at for each in said if each is not None and reads.supports(each, begun)]
    if heard:
        return max(heard)  # an agent's revision keeps the evidence of the text before
    own = begun.said_at
    return begun.at if own is None or own == before else own


def _before(reads: Reads, wish: Wish, head: VersionRow) -> list[Ended]:
    """The last few values before the one that a record has; a value it has again is not."""
    found: dict[str, Ended] = {}
    for versions in _chain(reads, head):
        latest = {version.text_seq: version for version in versions}  # of each text, its last row
        for row in reversed(latest.values()):
            if row.text not in found and row.text != head.text and may_show(row, wish):
                until = ended_at(reads, row, versions)
                found[row.text] = Ended(row, until, head, card_for(row, wish))
                if len(found) == EACH_MAX_COUNT:
                    return list(found.values())
    return list(found.values())


def _chain(reads: Reads, head: VersionRow) -> Iterator[list[VersionRow]]:
    """The versions of a record, then of each that was replaced before it."""
    rows, seen = [head], {head.id}
    for _ in range(_CHAIN_MAX_COUNT):
        if not rows:
            return
        row = rows.pop(0)
        has_changed = row.at != row.created_at
        yield reads.versions(row.id) if has_changed else [row]
        before = [each for each in predecessors(reads, row) if each.id not in seen]
        seen.update(each.id for each in before)
        rows += before


def may_show(row: VersionRow | Card, wish: Wish) -> bool:
    """True for a value that was replaced, and for no other reason is hidden."""
    if hidden_as(row, wish) != "replaced" or is_held(row) or not wish.may_see(row):
        return False
    was_active = row.status == "active" or row.status == "archived"
    return was_active and (row.expires is None or row.expires > wish.now)
