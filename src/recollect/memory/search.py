"""Recall and listing: asking the index, then applying the policy of reading.

Responsible for asking for enough rows that the policy can fill a page. Leaves the policy to
``recall``. Invariant: every loop ends, because each turn looks at rows it has not seen.
"""

from __future__ import annotations

from recollect.index.reads import Reads
from recollect.index.rows import (
    EpisodeRow,
    VersionRow,
    record_of,
    source_of,
    supports,
    unpack_names,
)
from recollect.index.statements import STILL
from recollect.index.text import query_tokens
from recollect.model import limits
from recollect.model.values import Hit, Recall, Record, Source
from recollect.recall.rank import Found, Wish, hidden_as, hits, in_order, showing
from recollect.recall.shows import statuses, why_hidden

_FIRST_LOOK = 2  # times k: most of what full text finds is shown, so a short look suffices


def terms_of(query: str) -> tuple[str, ...]:
    """What a question asks full text for."""
    return tuple(query_tokens(query, limits.QUERY_MAX_TERMS))


def recall(reads: Reads, query: str, wish: Wish, k: int) -> Recall:
    """The best hits for a question; unverified ones apart, with a count of what is held."""
    if not wish.terms:
        return Recall(query=query, hits=())
    found = _trusted(reads, wish, k)
    unverified, held = _unverified(reads, wish)
    return Recall(query=query, hits=tuple(found), unverified=unverified, held=held)


def listing(reads: Reads, wish: Wish, before: int, limit: int) -> list[VersionRow]:
    """Records by their last change, newest first, as far as they show."""
    found: list[VersionRow] = []
    look = limit
    while len(found) < limit:
        page = reads.listing(statuses(wish.include), wish.user, before, look, wish.where)
        for row in page:
            hidden = why_hidden(row, at=wish.at, now=wish.now, valid_at=wish.valid_at)
            if (hidden is None or hidden in wish.include) and wish.wants(row):
                found.append(row)
        if len(page) < look:
            break
        before = page[-1].seq
        look = min(4 * look, limits.LIST_MAX_RECORDS)
    return found[:limit]


def episode_listing(reads: Reads, wish: Wish, before: int, limit: int) -> list[EpisodeRow]:
    """Episodes, newest first, as far as they show."""
    found: list[EpisodeRow] = []
    look = limit
    while len(found) < limit:
        page = reads.episodes(before, look, wish.where)
        found += [row for row in showing(page, wish) if wish.wants(row)]
        if len(page) < look:
            break
        before = page[-1].seq
        look = min(4 * look, limits.LIST_MAX_RECORDS)
    return found[:limit]


def replaced_by(reads: Reads, row: VersionRow) -> list[Record]:
    """The records whose place this one took, one after the other, nearest first."""
    chain: dict[str, Record] = {}
    while row.supersedes is not None and row.supersedes not in chain:
        before = reads.version(row.supersedes)
        if before is None or before.user != row.user:
            break
        chain[before.id] = record_of(before)
        row = before
    return list(chain.values())


def sources_of(reads: Reads, row: VersionRow) -> tuple[list[Source], list[str]]:
    """A record's evidence: episodes to quote, and references to elsewhere."""
    quoted: list[Source] = []
    other: list[str] = []
    for reference in unpack_names(row.evidence):
        episode = reads.episode(reference)
        if episode is None or not supports(episode, row):
            other.append(reference)
        else:
            quoted.append(source_of(episode))
    return quoted, other


def _trusted(reads: Reads, wish: Wish, k: int) -> list[Hit]:
    """Looks further until there are enough hits or no more texts.

    The first look is at everybody's texts, because most handles see most of them.
    """
    look = _FIRST_LOOK * k
    user = None
    while True:
        docs = _docs(reads, wish, look, user)
        rows = showing(in_order(docs, _rows(reads, wish, docs)), wish)
        found = hits(rows, wish, k)
        if len(found) >= k or len(docs) < look:
            return found
        look, user = 4 * look, wish.user


def _docs(reads: Reads, wish: Wish, look: int, user: str | None) -> list[tuple[int, float]]:
    """Texts by score. What is hidden lies in the other table."""
    docs = reads.match("recallable", wish.terms, look, user)
    if wish.include:
        docs = sorted([*docs, *reads.match("rest", wish.terms, look, user)], key=_by_score)
    return docs


def _by_score(doc: tuple[int, float]) -> tuple[float, int]:
    return -doc[1], -doc[0]


def _rows(reads: Reads, wish: Wish, docs: list[tuple[int, float]]) -> list[Found]:
    seqs = [doc for doc, _ in docs]
    past = "superseded" in wish.include
    return [*reads.versions_of(seqs, past=past), *reads.episodes_of(seqs)]


def _unverified(reads: Reads, wish: Wish) -> tuple[tuple[Hit, ...], int]:
    """A few unverified hits, and how many more texts are held."""
    if "held" in wish.include:
        return (), 0
    docs = reads.match("rest", wish.terms, limits.HELD_LOOK_MAX_COUNT)
    seqs = [doc for doc, _ in docs]
    rows = in_order(docs, [*reads.versions_of(seqs), *reads.episodes_of(seqs)])
    held = [
        row
        for row in rows
        if wish.may_see(row) and wish.wants(row) and hidden_as(row, wish) == "held"
    ]
    unverified = [row for row in held if row.trust == "unverified"]
    return tuple(hits(unverified, wish, limits.UNVERIFIED_MAX_HITS)), len(held)


def first_page(at: int) -> int:
    """The cursor before which a listing begins."""
    return min(at, STILL - 2) + 1
