"""When an episode is shadowed: it was evidence, and for nothing that still holds.

Responsible for ``hidden`` rows of the kind "shadowed", and for ``resting``: which records that hold
now rest on which episode. Leaves the texts that move with them to ``index.fold``. Invariants: what
is kept step by step equals what ``shadows`` computes from all evidence, at every position; an event
costs what its own record names, however many others name the same episode; after an erasure it is
computed from all evidence, so that nothing is left of what was erased.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from recollect.index.rows import Cell, EpisodeRow, VersionRow, is_held, supports, version_row
from recollect.index.statements import STILL
from recollect.index.tables import Tables

Span = tuple[int, int]
Tie = tuple[int, VersionRow]  # and the seq at which its words named an episode


class Shadows:
    """Follows the evidence of one space. Each answer names episodes as they were before."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def follow(
        self, old: VersionRow | None, new: VersionRow, named: Iterable[str]
    ) -> Iterator[EpisodeRow]:
        """After one version followed another: every episode whose shadow came or went.

        ``named`` is what the new version names as evidence and the same words did not name before.
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
        """What a version's words name as evidence, each with the last seq at which they did."""
        params: dict[str, Cell] = {"record": row.id, "text_seq": row.text_seq}
        rows = self._tables.settle(row.id).rows("evidence_of_words", params)
        return {str(reference): cast(int, named) for reference, named in rows}

    def _has_counted(self, episode: str, record: str) -> bool:
        db = self._tables.settle(_resting(episode))
        return db.one("get_resting", {"episode": episode, "record": record}) is not None

    def _turn(
        self, episode: EpisodeRow, row: VersionRow, rests: bool, counted: bool
    ) -> Iterator[EpisodeRow]:
        """A record rests on an episode from its newest version on, or no longer."""
        tie = (episode.id, row.id)
        if counted:
            self._tables.write("drop_resting", tie, row.id, _resting(episode.id))
        self._tables.write("add_resting", (*tie, int(rests)), row.id, _resting(episode.id))
        shadowed = self._is_shadowed(episode)
        if rests and shadowed:
            self._tables.write("end_hidden", (row.seq, episode.id, "shadowed"), episode.id)
            yield episode
        elif not rests and not shadowed and not self._is_rested_on(episode):
            span = (episode.id, "shadowed", row.seq, STILL)
            self._tables.write("add_hidden", span, episode.id)
            yield episode

    def _is_shadowed(self, episode: EpisodeRow) -> bool:
        if episode.hidden != "forgotten":
            return episode.hidden is not None
        db = self._tables.settle(episode.id)  # what is forgotten may be shadowed too
        return db.one("is_shadowed", {"episode": episode.id}) is not None

    def _is_rested_on(self, episode: EpisodeRow) -> bool:
        db = self._tables.settle(_resting(episode.id))
        return db.one("is_rested_on", {"episode": episode.id}) is not None

    def compute(self, id: str) -> Iterator[EpisodeRow]:
        """From all evidence: when an episode was shadowed, and what rests on it now."""
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
            self._tables.write("add_hidden", (id, "shadowed", start, end), id)
        yield episode


def shadows(episode: EpisodeRow, ties: Iterable[Tie]) -> list[Span]:
    """When an episode was shadowed, from all that it ever was evidence for.

    ``ties`` are all versions with words that name it, each with the seq at which they did.
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
    """Every record that has had a say over an episode, and whether it rests on it now."""
    found: dict[str, bool] = {}
    for _, row in _counted(episode, ties):
        rests = row.until == STILL and not retired(row)
        found[row.id] = found.get(row.id, False) or rests
    return found


def _counted(episode: EpisodeRow, ties: Iterable[Tie]) -> list[Tie]:
    """The ties that have a say over an episode, each with the seq from which on it has.

    A record that was always held has none over trusted words. One that came to be held has: what
    it was told is not wrong because it turned out to rest on something else too.
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
    """True for what was corrected or forgotten, unless its sources were meant to stay."""
    if row.status == "forgotten":
        return row.reason != "sources kept"
    return row.status == "archived" and row.reason == "superseded"


def _standing(row: VersionRow) -> tuple[int, bool, bool]:
    """What decides, of a version, whether it holds an episode out of the shadow."""
    return row.text_seq, retired(row), is_held(row)


def _resting(episode: str) -> str:
    """What the records that rest on an episode are known by among ids: none holds a blank."""
    return f"resting {episode}"
