"""Why something is not in an answer.

Responsible for following one record or episode through the steps of a recall or a context, and for
naming the step that dropped it. Leaves the steps to ``search``, ``context`` and ``recall``, which
run as they do for an answer. Invariant: the id of something that the handle may not see is never
revealed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from recollect.finding.candidates import CandidateSearch, Question
from recollect.finding.context import assemble
from recollect.finding.search import Chosen, chosen
from recollect.index.reads import Reads
from recollect.index.rows import EpisodeRow, VersionRow, searched_text, unpack_names
from recollect.index.words.bm25 import tokens_of
from recollect.model.presets import Preset
from recollect.model.reasons import named, sentence
from recollect.model.values import Absence, Hit, Include, WhyNot
from recollect.recall.pack import Counter, hits_for
from recollect.recall.rank import Ranked, TextRow, Wish, card_for, hidden_as, hits, shares_with
from recollect.recall.visibility import is_name

if TYPE_CHECKING:  # for annotations only
    from collections.abc import Sequence

_WORDS_MAX_COUNT: Final = 6  # words of a query that a sentence lists


class Signals(NamedTuple):
    """Its signals in a recall."""

    relevance: float | None
    score: float | None
    shares: dict[str, float]


class Inquiry(NamedTuple):
    """The record or episode in question, and the handle that asks."""

    row: TextRow
    reads: Reads
    question: Question
    wish: Wish

    def says(
        self,
        reason: Absence,
        detail: str,
        signals: Signals | None = None,
        *,
        place: int | None = None,
        by: Iterable[str] = (),
    ) -> WhyNot:
        """One answer."""
        weighed = signals or Signals(None, None, {})
        return WhyNot(
            id=self.row.id,
            unit="record" if isinstance(self.row, VersionRow) else "episode",
            query=self.question.query,
            reason=reason,
            detail=detail,
            place=place,
            relevance=weighed.relevance,
            score=weighed.score,
            shares=weighed.shares,
            by=tuple(by),
        )


def in_recall(asked: Inquiry, k: int) -> WhyNot:
    """Why a recall of k hits leaves it out."""
    hidden = _kept_back(asked)
    if hidden is None or (hidden.reason == "replaced" and asked.question.asked.is_earlier):
        found = _found(asked, k)
        return found if hidden is None or found.reason == "there" else hidden
    return hidden


def in_context(asked: Inquiry, preset: Preset, budget: int, counter: Counter) -> WhyNot:
    """Why a context of this preset leaves it out."""
    row = asked.row
    looked = assemble(asked.reads, asked.question, preset, asked.wish, budget, counter)
    packed = looked.packed
    for place, hit in enumerate(packed.hits, 1):
        if hit.id == row.id:
            how = "there.guaranteed" if row.id in looked.guaranteed else "there.packed"
            return _there(asked, hit, place, how)
    why = _kept_back(asked) or _found(asked, hits_for(budget))
    for omitted in packed.omitted:
        if omitted.id == row.id:
            below = omitted.reason == "floor"
            case = "unpacked.floor" if below else "unpacked"
            return asked.says(
                "floor" if below else "unpacked",
                sentence(case, why=omitted.detail, floor=preset.floor),
                Signals(why.relevance, why.score, why.shares),
                by=omitted.by,
            )
    return why


# Before the search.


def _kept_back(asked: Inquiry) -> WhyNot | None:
    """The answer for something that no query would find."""
    row, wish = asked.row, asked.wish
    hidden = hidden_as(row, wish)
    if hidden is not None and hidden not in wish.include:
        by = list(_instead(asked))
        return asked.says(hidden, _hidden(row, hidden, by), by=by)
    if isinstance(row, EpisodeRow) and not wish.recalls(row):
        return asked.says("transient", sentence("transient"))
    if isinstance(row, VersionRow) and is_name(row) and "transient" not in wish.include:
        return asked.says("transient", sentence("transient.name"))
    if not wish.wants(row):
        mine = "record" if isinstance(row, VersionRow) else "episode"
        if wish.unit not in ("any", mine):
            return asked.says("filtered", sentence("filtered.unit", mine=mine, wanted=wish.unit))
        return asked.says("filtered", sentence("filtered"))
    if not asked.question.asked.terms:
        return asked.says("unfound", sentence("unfound.empty"))
    return None


def _instead(asked: Inquiry) -> Iterable[str]:
    """What replaced or hid a hidden one, if the handle may see it."""
    row, reads = asked.row, asked.reads
    if isinstance(row, EpisodeRow):
        rested = {version.id: version for version in reads.evidence_for(row)}
        found = [reads.version(id) for id in rested] if row.hidden == "shadowed" else []
    else:
        found = [reads.version(row.superseded_by)] if row.superseded_by else []
    return (other.id for other in found if other is not None and asked.wish.may_see(other))


def _hidden(row: TextRow, hidden: Include, by: Sequence[str]) -> str:
    """The sentence for a hidden one, with what more is known."""
    if hidden in ("replaced", "hidden"):
        return sentence(f"out.{hidden}.by" if by else f"out.{hidden}", by=named(by))
    if hidden == "waiting":
        return sentence("out.waiting.unverified" if row.trust == "unverified" else "out.waiting")
    if isinstance(row, EpisodeRow):
        return sentence("out", word=hidden)
    if hidden == "refuted":
        return sentence("out.refuted")
    if hidden == "expired":
        return sentence("out.expired", end=row.expires or row.valid_to or row.valid_from)
    return sentence("out.note" if row.note else "out", word=hidden, note=row.note)


# Among the candidates.


def _found(asked: Inquiry, k: int) -> WhyNot:
    """Its place in the order of a recall, or why it has no place."""
    row, question, wish = asked.row, asked.question, asked.wish
    looking = CandidateSearch(asked.reads, question, wish)
    made = chosen(looking, question, wish, k)
    for place, hit in enumerate(made.hits, 1):
        if hit.id == row.id:
            return _there(asked, hit, place, "there")
    one = next((one for one in made.order if one.row.id == row.id), None)
    if one is None:
        return _unfound(asked, looking, made)
    signals = _signals(one, question)
    if one not in made.kept:
        return asked.says("floor", _below(one, wish), signals)
    over = [
        other.row.id
        for other in made.kept
        if isinstance(row, EpisodeRow)
        and other.row.is_wanted
        and row.id in unpack_names(other.row.evidence)
        and asked.reads.supports(row, other.row)
    ]
    if one.repeated_by is not None:
        by = (one.repeated_by,)
        return asked.says("repeat", sentence("repeat", by=one.repeated_by), signals, by=by)
    if over:
        return asked.says("source", sentence("quoted", by=named(over)), signals, by=over)
    whole = hits(made.kept, question.weights.weights, looking.cards, len(made.kept))
    place = next(n for n, hit in enumerate(whole, 1) if hit.id == row.id)
    before = [hit.id for hit in made.hits]
    detail = sentence("rank", place=place, k=k)
    return asked.says("rank", detail, signals, place=place, by=before)


def _there(asked: Inquiry, hit: Hit, place: int, case: str) -> WhyNot:
    detail = sentence(case, place=place)
    return asked.says("there", detail, Signals(hit.relevance, hit.score, hit.shares), place=place)


def _signals(one: Ranked, question: Question) -> Signals:
    return Signals(one.relevance, one.score, shares_with(one, question.weights.weights))


def _below(one: Ranked, wish: Wish) -> str:
    """Which threshold it misses: the one asked for, or the default."""
    case = "weak.unsaid" if wish.min_relevance is None else "weak"
    return sentence(case, relevance=one.relevance, wanted=wish.min_relevance)


def _unfound(asked: Inquiry, looking: CandidateSearch, made: Chosen) -> WhyNot:
    """No leg found it: what it shares with the query, and how deep the search went.

    Its signals are those it would have among the candidates.
    """
    row, question = asked.row, asked.question
    rows = [*(one.row for one in made.order), card_for(row, asked.wish)]
    one = next(one for one in looking.ranked(rows) if one.row is rows[-1])
    text = searched_text(row)
    said = set(tokens_of(text))
    shared = [term for term in question.asked.terms if term in said][:_WORDS_MAX_COUNT]
    case = "unfound.shares" if shared else "unfound"
    words = sentence(case, words=named(shared), depth=made.depth)
    far = sentence("unfound.far", depth=made.depth) if question.legs else ""
    return asked.says("unfound", f"{words}{far}", _signals(one, question))
