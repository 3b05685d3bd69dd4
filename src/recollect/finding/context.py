"""From a query and a preset to the contents of a context.

Responsible for reading candidates, guarantees, links and ages from the index, at one position.
Leaves scoring and packing to ``recall``. Invariants: only trusted records and episodes that the
handle may see are considered; a contradiction is named only by the id of a record that the handle
may see.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from recollect.errors import LimitExceeded
from recollect.finding import search
from recollect.finding.candidates import Question, wished
from recollect.index.reads import Reads
from recollect.index.rows import LinkRow, VersionRow, unpack_names
from recollect.lifecycle.records.links import CONTRADICTS
from recollect.model import limits
from recollect.model.presets import Preset
from recollect.model.reasons import sentence
from recollect.model.values import Hit, Omitted
from recollect.recall.filling import filling
from recollect.recall.pack import Counter, Packed, hits_for, pack
from recollect.recall.presets import hit_of, scored, with_earlier
from recollect.recall.rank import TextRow, Wish, showing
from recollect.store.figures import timed

_LAST = chr(0x10FFFF) * 4  # sorts after every tag with the prefix


class Assembled(msgspec.Struct, frozen=True):
    """The contents of a context: hits, scored and packed by a preset."""

    packed: Packed
    guaranteed: frozenset[str]  # ids
    against: dict[str, tuple[TextRow, ...]]  # id -> the records and episodes that contradict it
    abstained: bool
    degraded: str | None


def assemble(
    reads: Reads, question: Question, preset: Preset, wish: Wish, budget: int, counter: Counter
) -> Assembled:
    """Finds candidates, scores them by the preset and packs them within the budget."""
    wish = wished(question, wish)
    told = search.trusted(reads, question, wish, hits_for(budget))
    every = told.telling
    found = [hit for hit in every if hit.until is None]
    passed = [hit for hit in found if hit.relevance >= preset.floor]
    # The floor decides whether anything is handed out, the budget how much.
    further = filling(found, passed, preset.floor, is_wide=question.asked.is_wide)
    relevant = {hit.id: hit for hit in found}
    said = {hit.id for hit in (*passed, *further) if hit.episode}
    always = [
        relevant.get(row.id) or _quoting(reads, row, said)
        for row in _guaranteed(reads, preset, wish)
    ]
    names = frozenset(hit.id for hit in always)
    candidates = [*always, *(hit for hit in passed if hit.id not in names)]
    more = [hit for hit in further if hit.id not in names]
    both = [*candidates, *more]
    links = reads.trusted_links([hit.id for hit in both if hit.record]) if both else []
    hours, degrees = _hours(reads, both), _degrees(links)
    ranked = scored(preset.weights, candidates, hours, degrees)
    # What is below the floor comes after all of these, however new or often used it is.
    weighed = {hit.id: hit for hit in scored(preset.weights, more, hours, degrees)}
    ranked += [weighed[hit.id] for hit in more]
    against = _against(reads, wish, ranked, links)
    earlier = [hit for hit in every if hit.until is not None and hit.relevance >= preset.floor]
    with timed("recall.pack"):
        packed = pack(
            [hit for hit in ranked if hit.id in names],
            with_earlier(ranked, earlier, names),
            preset.template,
            budget,
            counter,
            {id: [row.id for row in rows] for id, rows in against.items()},
        )
    used = {hit.id for hit in ranked}
    below = tuple(
        Omitted(id=hit.id, reason="floor", detail=sentence("floor"))
        for hit in every
        if hit.relevance < preset.floor and (hit.until is not None or hit.id not in used)
    )
    replaced = tuple(
        Omitted(id=id, reason="replaced", detail=sentence("stale", by=by), by=(by,))
        for id, by in told.spent.items()
    )
    return Assembled(
        msgspec.structs.replace(packed, omitted=packed.omitted + replaced + below),
        names,
        against,
        not passed,
        search.lacking(question, told),
    )


def _quoting(reads: Reads, row: VersionRow, said: set[str]) -> Hit:
    """A record as a hit that no query found, with those of its sources that were found."""
    hit = hit_of(row)
    if said.isdisjoint(unpack_names(row.evidence)):
        return hit
    quoted, _ = search.sources_of(reads, row)
    sources = tuple(source for source in quoted if source.id in said)
    return msgspec.structs.replace(hit, sources=sources)


def _guaranteed(reads: Reads, preset: Preset, wish: Wish) -> list[VersionRow]:
    """Visible records with a guaranteed tag, each once."""
    rows: dict[str, VersionRow] = {}
    for tag in preset.guarantees:
        low, high = (tag[:-1], tag[:-1] + _LAST) if tag.endswith("*") else (tag, tag)
        found = reads.tagged(low, high, wish.user, limits.GUARANTEED_MAX_COUNT + 1)
        rows |= {row.id: row for row in found}
    if len(rows) > limits.GUARANTEED_MAX_COUNT:
        raise LimitExceeded(
            f"the preset {preset.name!r} guarantees over {limits.GUARANTEED_MAX_COUNT:,} records",
            hint="guarantee a tag that fewer records have",
        )
    plain = msgspec.structs.replace(wish, include=frozenset())
    return sorted(showing(rows.values(), plain), key=lambda row: -row.seq)


def _hours(reads: Reads, hits: Sequence[Hit]) -> dict[str, float]:
    """Active hours since each record was last reinforced or each episode observed."""
    now = reads.hours()
    said = {hit.id: hit.episode.seq for hit in hits if hit.episode}
    heard = reads.hours_at(sorted(said.values())) if said else {}
    since = {hit.id: hit.record.reinforced_hours for hit in hits if hit.record}
    since |= {id: heard[seq] for id, seq in said.items()}
    return {id: now - hours for id, hours in since.items()}


def _degrees(links: Sequence[LinkRow]) -> dict[str, float]:
    """The summed weights of each record's links, except contradictions."""
    sums: dict[str, float] = {}
    for link in links:
        if link.kind != CONTRADICTS:
            for end in (link.source, link.target):
                sums[end] = sums.get(end, 0.0) + link.weight
    return sums


def _against(
    reads: Reads, wish: Wish, hits: Sequence[Hit], links: Sequence[LinkRow]
) -> dict[str, tuple[TextRow, ...]]:
    """What contradicts each hit, by its id: visible, trusted records that links name, and the
    newest hit that corrects it.
    """
    here = {hit.id for hit in hits}
    found: dict[str, dict[str, TextRow]] = {}
    for hit in hits:
        if hit.corrected_by is not None and hit.corrected_by in here:
            newer = reads.version(hit.corrected_by) or reads.episode(hit.corrected_by)
            if newer is not None:
                found.setdefault(hit.id, {})[newer.id] = newer
    for link in links:
        if link.kind == CONTRADICTS:
            for end, other in ((link.source, link.target), (link.target, link.source)):
                row = reads.version(other) if end in here else None
                if row is not None and row.trust != "unverified" and showing([row], wish):
                    found.setdefault(end, {})[other] = row
    return {id: tuple(rows[name] for name in sorted(rows)) for id, rows in found.items()}
