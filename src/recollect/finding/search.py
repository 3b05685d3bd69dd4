"""Recall and listing: reading the index, then applying the policy of ``recall``.

Responsible for reading enough rows to fill a page after the policy is applied. Leaves candidates to
``finding.candidates`` and the policy to ``recall``. Invariant: every loop ends, because each round
reads rows that it has not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from recollect.finding.candidates import CandidateSearch, Question, expect, marked, wished
from recollect.finding.earlier import predecessors
from recollect.finding.replaced import Marked
from recollect.finding.replaced import marked as with_changes
from recollect.index.reads import Reads
from recollect.index.rows import Card, EpisodeRow, VersionRow, unpack_names
from recollect.index.statements import STILL
from recollect.index.values import record_of, source_of
from recollect.index.words.text import cut
from recollect.model import limits
from recollect.model.values import Hit, Recall, Record, Source
from recollect.recall.rank import Ranked, Wish, hidden_as, showing
from recollect.recall.visibility import statuses, why_hidden
from recollect.store.figures import timed

# Minimum depths of the first search: another leg or a neighbour may lift a late candidate.
_DEPTH: Final = 40
_DEPTH_OF_WORDS: Final = 100  # if full text is the only leg, or the only one with all texts

_TOGETHER: Final = 16  # queries at once; each needs one number for every row


class Chosen(NamedTuple):
    """Hits, all candidates in order, those that are relevant enough, and the search depth."""

    hits: list[Hit]
    order: list[Ranked]
    kept: list[Ranked]
    depth: int


def recall(reads: Reads, question: Question, wish: Wish, k: int) -> Recall:
    """The best hits for a query; unverified ones separately, with the number of texts that wait."""
    if not question.asked.terms:
        return Recall(query=question.query, hits=())
    wish = wished(question, wish)
    look = CandidateSearch(reads, question, wish)
    found = chosen(look, question, wish, k)
    told = with_changes(reads, wish, found.hits)
    unverified, waiting = _unverified(reads, look, wish)
    return Recall(
        query=question.query,
        hits=tuple(told.hits),
        unverified=unverified,
        waiting=waiting,
        abstained=not found.hits and any(one.row.is_wanted for one in found.order),
        degraded=lacking(question, told),
    )


def recall_all(reads: Reads, questions: Sequence[Question], wish: Wish, k: int) -> list[Recall]:
    """The same for many queries, in groups, so that vectors are scanned less often."""
    found: list[Recall] = []
    for start in range(0, len(questions), _TOGETHER):
        some = questions[start : start + _TOGETHER]
        expect(some)
        found += [recall(reads, question, wish, k) for question in some]
    return found


def listing(reads: Reads, wish: Wish, before: int, limit: int) -> list[VersionRow]:
    """Visible records, the last changed first."""
    found: list[VersionRow] = []
    look = limit
    while len(found) < limit:
        page = reads.listing(statuses(wish.include), wish.user, before, look, wish.filter)
        for row in page:
            hidden = why_hidden(row, wish.position, wish.now, wish.valid_at)
            if (hidden is None or hidden in wish.include) and wish.wants(row):
                found.append(row)
        if len(page) < look:
            break
        before = page[-1].seq
        look = min(4 * look, limits.LIST_MAX_RECORDS)
    return found[:limit]


def episode_listing(reads: Reads, wish: Wish, before: int, limit: int) -> list[EpisodeRow]:
    """Visible episodes, newest first."""
    found: list[EpisodeRow] = []
    look = limit
    while len(found) < limit:
        page = reads.episodes(before, look, wish.filter)
        found += [row for row in showing(page, wish) if wish.wants(row)]
        if len(page) < look:
            break
        before = page[-1].seq
        look = min(4 * look, limits.LIST_MAX_RECORDS)
    return found[:limit]


def replaced_by(reads: Reads, row: VersionRow) -> list[Record]:
    """The records that this one replaced, directly or indirectly, nearest first."""
    chain: dict[str, Record] = {}
    rows = predecessors(reads, row)
    while rows:
        before = rows.pop(0)
        if before.id not in chain:
            chain[before.id] = record_of(before)
            rows += predecessors(reads, before)
    return list(chain.values())


def sources_of(reads: Reads, row: VersionRow) -> tuple[list[Source], list[str]]:
    """A record's evidence: episodes to quote, and references to elsewhere."""
    quoted: list[Source] = []
    other: list[str] = []
    for reference in unpack_names(row.evidence):
        episode = reads.episode(reference)
        if episode is None or not reads.supports(episode, row):
            other.append(reference)
        else:
            quoted.append(source_of(episode))
    return quoted, other


def lacking(question: Question, told: Marked) -> str | None:
    """A sentence about what an answer had to do without."""
    return "; ".join(each for each in (question.degraded, told.degraded) if each) or None


def trusted(reads: Reads, question: Question, wish: Wish, k: int) -> Marked:
    """The best trusted hits, and which of them only state what another has replaced."""
    if not question.asked.terms:
        return Marked([], {})
    found = chosen(CandidateSearch(reads, question, wish), question, wish, k)
    return with_changes(reads, wish, found.hits)


def chosen(look: CandidateSearch, question: Question, wish: Wish, k: int) -> Chosen:
    """Searches deeper until there are enough hits or no more texts.

    The search ends if a text was left out as not relevant enough: deeper ones are even less
    relevant. This is judged separately for texts with and without a word of the query, because the
    latter must meet a higher threshold.
    """
    depth = first_depth(question, k)
    while True:
        with timed("recall.legs"):
            found = look(depth)
        with timed("recall.rank"):
            made = look.answered(found.rows, k)
        is_enough = len(made.hits) >= k or found.is_all or True in made.left_out
        if is_enough or (made.left_out and found.has_all_words):
            return Chosen(made.hits, made.order, made.kept, depth)
        depth *= 4


def first_depth(question: Question, k: int) -> int:
    """The depth of the first search: most candidates are visible, so a little more than k."""
    is_whole = question.legs and question.degraded is None
    return max(_DEPTH if is_whole else _DEPTH_OF_WORDS, k + k // 4)


def _unverified(reads: Reads, look: CandidateSearch, wish: Wish) -> tuple[tuple[Hit, ...], int]:
    """A few unverified hits, and the number of other texts that wait."""
    if "waiting" in wish.include:
        return (), 0
    docs = reads.match("rest", look.terms, limits.HELD_LOOK_MAX_COUNT, wish.user)
    if not docs:  # most memories hold nothing unverified about a query
        return (), 0
    seqs = [doc for doc, _ in docs]
    rows = marked(look.cards, look.cards.of(seqs), wish)
    waiting = [
        row
        for row in rows
        if row.is_wanted and wish.may_see(row) and hidden_as(row, wish) == "waiting"
    ]
    unverified = _first_of(waiting, seqs)
    found = look.judged(unverified, limits.UNVERIFIED_MAX_HITS)
    return tuple(found.hits), len(waiting)


def _first_of(waiting: Sequence[Card], seqs: Sequence[int]) -> list[Card]:
    """The best-matching unverified texts, up to a total length, because ranking reads all of it.

    The length is that of their normal form. Of the best one, at least its beginning is ranked.
    """
    place = {doc: number for number, doc in enumerate(seqs)}
    unverified = [row for row in waiting if row.trust == "unverified"]
    found: list[Card] = []
    room = limits.UNVERIFIED_MAX_CHARS
    for row in sorted(unverified, key=lambda row: place[row.text_seq]):
        text, room = cut(row.text, room)
        if found and len(text) < len(row.text):
            break
        found.append(row if text == row.text else row._replace(text=text))
    return found


def first_page(at: int) -> int:
    """The cursor of the first page of a listing."""
    return min(at, STILL - 2) + 1
