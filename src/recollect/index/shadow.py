"""When an episode is shadowed: it was evidence, but no record that it supports is still current.

Responsible for ``hidden`` rows of the kind "shadowed", and for ``resting``: which current records
rest on which episode. Leaves moving their texts between shelves to ``index.fold``. Invariants: the
incremental result equals what ``shadows`` computes from all evidence, at every position; the cost
of an event depends on the evidence of its own record, however many others name the same episode;
after an erasure the result is computed from all evidence, so that nothing erased is left in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from recollect.index.rows import Cell, EpisodeRow, VersionRow, is_held, supports, version_row
from recollect.index.statements import STILL
from recollect.index.tables import Tables

Span = tuple[int, int]
Tie = tuple[int, VersionRow]  # and the seq at which its text named an episode


class Shadows:
    """Tracks the evidence of one space. Answers contain episodes as they were before."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def follow(
        self, old: VersionRow | None, new: VersionRow, named: Iterable[str]
    ) -> Iterator[EpisodeRow]:
        """Every episode that became or stopped being shadowed when one version followed another.

        ``named`` is the evidence of the new version that was not named for the same text before.
        """
        changed = old is not None and _standing(old) != _standing(new)
        ties = self._ties(old) if old is not None and changed else {}
        fresh = dict.fromkeys(named, new.seq)
        for reference in fresh:
            self._tables.tie(reference, new)
        now = {**ties, **fresh} if old is not None and old.text_seq == new.text_seq else fresh
        for id in {**ties, **fresh}:
            episode = self._tables.episode(id)
            if episode is None:
                continue
            counted = old is not None and self._has_counted(id, new.id)
            counts = id in now and supports(episode, new, now[id])
            counts &= counted or _has_say(episode, new)
            if counted or counts:
                yield from self._turn(episode, new, counts and not retired(new), counted)

    def _ties(self, row: VersionRow) -> dict[str, int]:
        """The evidence named for a version's text, each with the last seq at which it was named."""
        params: dict[str, Cell] = {"record": row.id, "text_seq": row.text_seq}
        rows = self._tables.settle(row.id).rows("evidence_of_words", params)
        return {str(reference): cast(int, named) for reference, named in rows}

    def _has_counted(self, episode: str, record: str) -> bool:
        db = self._tables.settle(_resting(episode))
        return db.one("get_resting", {"episode": episode, "record": record}) is not None

    def _turn(
        self, episode: EpisodeRow, row: VersionRow, rests: bool, counted: bool
    ) -> Iterator[EpisodeRow]:
        """Marks that a record rests on an episode as of its newest version, or no longer does."""
        tie = (episode.id, row.id)
        if counted:
            self._tables.write("drop_resting", tie, row.id, _resting(episode.id))
        self._tables.write("add_resting", (*tie, int(rests)), row.id, _resting(episode.id))
        shadowed = self._is_shadowed(episode)
        if rests and shadowed:
            self._tables.write("end_hidden", (row.seq, episode.id, "shadowed"), episode.id)
            yield episode
        elif not rests and not shadowed and not self._is_rested_on(episode):
            span = (episode.id, "shadowed", row.seq, STILL, None)
            self._tables.write("add_hidden", span, episode.id)
            yield episode

    def _is_shadowed(self, episode: EpisodeRow) -> bool:
        if episode.hidden != "forgotten":
            return episode.hidden is not None
        db = self._tables.settle(episode.id)  # a forgotten episode may be shadowed too
        return db.one("is_shadowed", {"episode": episode.id}) is not None

    def _is_rested_on(self, episode: EpisodeRow) -> bool:
        db = self._tables.settle(_resting(episode.id))
        return db.one("is_rested_on", {"episode": episode.id}) is not None

    def compute(self, id: str) -> Iterator[EpisodeRow]:
        """Computes, from all evidence, when an episode was shadowed and what rests on it now."""
        episode = self._tables.episode(id)
        if episode is None:
            return
        self._tables.flush()
        rows = self._tables.db.rows("evidence_of_episode", {"episode": id})
        ties = [(cast(int, named), version_row(version)) for named, *version in rows]
        self._tables.write("drop_resting_on", (id,), _resting(id))
        for record, rests in resting(episode, ties).items():
            self._tables.write("add_resting", (id, record, int(rests)), record, _resting(id))
        self._tables.write("drop_shadows", (id,), id)
        for start, end in shadows(episode, ties):
            self._tables.write("add_hidden", (id, "shadowed", start, end, None), id)
        yield episode


def shadows(episode: EpisodeRow, ties: Iterable[Tie]) -> list[Span]:
    """When an episode was shadowed, computed from every version that it was evidence for.

    ``ties`` are all versions whose text names it, each with the seq at which it did.
    """
    counted = _counted(episode, ties)
    if not counted:
        return []
    start = min(begin for begin, _ in counted)
    spans: list[Span] = []
    for begin, end in sorted((begin, row.until) for begin, row in counted if not retired(row)):
        if begin > start:
            spans.append((start, begin))
        start = max(start, end)
    if start < STILL:
        spans.append((start, STILL))
    return spans


def resting(episode: EpisodeRow, ties: Iterable[Tie]) -> dict[str, bool]:
    """Every record whose evidence counts for an episode, and whether it rests on it now."""
    found: dict[str, bool] = {}
    for _, row in _counted(episode, ties):
        rests = row.until == STILL and not retired(row)
        found[row.id] = found.get(row.id, False) or rests
    return found


def _counted(episode: EpisodeRow, ties: Iterable[Tie]) -> list[Tie]:
    """The ties that count for an episode, each with the seq from which on it counts.

    A record that was always held does not count for trusted episodes. One that became held later
    does: its trusted evidence is not wrong because other evidence turned out to be unverified.
    """
    tied = [
        (max(named, row.seq), row)
        for named, row in ties
        if supports(episode, row, named) and named < row.until
    ]
    since: dict[str, int] = {}
    for begin, row in tied:
        if _has_say(episode, row):
            since[row.id] = min(begin, since.get(row.id, STILL))
    return [(begin, row) for begin, row in tied if begin >= since.get(row.id, STILL)]


def _has_say(episode: EpisodeRow, row: VersionRow) -> bool:
    return episode.trust == "unverified" or not is_held(row)


def retired(row: VersionRow) -> bool:
    """True for a corrected or forgotten record, unless its sources were to be kept."""
    if row.status == "forgotten":
        return row.reason != "sources_kept"
    return row.status == "archived" and row.reason == "superseded"


def _standing(row: VersionRow) -> tuple[int, bool, bool]:
    """The fields of a version that decide whether it keeps an episode unshadowed."""
    return row.text_seq, retired(row), is_held(row)


def _resting(episode: str) -> str:
    """The key, among ids, of the records that rest on an episode; ids never contain a blank."""
    return f"resting {episode}"
