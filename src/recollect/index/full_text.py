"""Full text: the questions that recall asks of the texts of a space.

Responsible for finding texts by their terms, with the statistics that their scores need. Leaves
rows to ``index.reads`` and ranking to ``recall``. Invariant: at a past position the answers are
those that were given then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, cast

from recollect.index.branches import BranchReads
from recollect.index.rows import Cell, PositionRow, pack_list
from recollect.index.statements import NOW
from recollect.index.words.bm25 import Statistics, statistics, totals
from recollect.index.words.text import token_list

if TYPE_CHECKING:  # loaded only for reads of the past
    from recollect.index.words import past

Shelf = Literal["recallable", "rest"]


class TextReads(BranchReads):
    """Reads of texts at one position."""

    def position(self) -> PositionRow | None:
        """How far the index is folded; None if it is empty."""
        row = self._tables.db.one("get_position", {})
        return None if row is None else PositionRow._make(row)

    def texts_after(self, after: int, limit: int) -> list[tuple[int, str]]:
        """Every text ever stored, by its number in full text."""
        rows = self._tables.db.rows("texts_after", {"after": after, "limit": limit})
        return [(cast(int, seq), str(text)) for seq, text in rows]

    def count_texts_after(self, after: int, limit: int) -> int:
        """How many such texts there are after a position, counted up to a limit."""
        row = self._tables.db.one("count_texts_after", {"after": after, "limit": limit})
        return cast(int, row[0]) if row else 0

    def match(
        self, shelf: Shelf, terms: Sequence[str], limit: int, user: str | None = None
    ) -> list[tuple[int, float]]:
        """Texts that contain any of the terms, best first, each with its BM25 score.

        With a user only the texts of that user: SQL checks each text's row, instead of returning
        many rows that are then discarded. At a past position every text of that time is read, so
        that the scores are those of that time.
        """
        if self._is_past():
            from recollect.index.words import past

            return past.bm25(self._texts(shelf), terms, limit, user)
        params: dict[str, Cell] = {"query": " OR ".join(map(_quoted, terms)), "limit": limit}
        if user is None:
            rows = self._tables.db.rows(f"match_{shelf}", params)
        else:
            rows = self._tables.db.rows(f"match_{shelf}_of_user", {**params, "user": user})
        return [(doc, -rank) for doc, rank in cast("list[tuple[int, float]]", rows)]

    def statistics(self, terms: Sequence[str]) -> Statistics:
        """The BM25 statistics of all texts that may be recalled here."""
        if self._is_past():
            from recollect.index.words import past

            return past.statistics_of(self._texts("recallable"), terms)
        db = self._tables.db
        count, length = totals(db.one("shelf_totals", {}))
        held = db.ones("count_holding", [{"query": _quoted(term)} for term in terms])
        return statistics(count, length, [cast(int, row[0]) if row else 0 for row in held])

    def sessions(self, limit: int) -> tuple[int, int]:
        """The oldest of the newest trusted episodes in sessions, and the number of sessions."""
        row = self._tables.db.one("recent_sessions", {"at": self.at, "limit": limit})
        return (cast(int, row[0]), cast(int, row[1])) if row and row[1] else (0, 0)

    def sessions_holding(self, term: str, first: int) -> int:
        """How many sessions contain a term in recallable text, from an episode on."""
        db = self._tables.db
        if self._is_past():
            texts = self._texts("recallable")
            seqs = [seq for seq, text, _ in texts if seq >= first and term in token_list(text)]
            row = db.one("sessions_of_texts", {"seqs": pack_list(seqs)})
        else:
            row = db.one("sessions_holding", {"query": _quoted(term), "first": first})
        return cast(int, row[0]) if row else 0

    def neighbours(self, texts: Iterable[int]) -> dict[int, tuple[int | None, int | None]]:
        """The trusted episodes before and after each of these in its session."""
        params: dict[str, Cell] = {"seqs": pack_list(list(texts)), "at": self.at}
        rows = self._tables.db.rows("neighbours_of_texts", params)
        beside = cast("list[tuple[int, int | None, int | None]]", rows)
        return {seq: (before, after) for seq, before, after in beside}

    def turns(self, texts: Iterable[int], most: int) -> dict[int, int]:
        """How many trusted episodes the session of each of these has; counted up to ``most``."""
        params: dict[str, Cell] = {"seqs": pack_list(list(texts)), "at": self.at, "most": most}
        rows = self._tables.db.rows("turns_of_texts", params)
        return dict(cast("list[tuple[int, int]]", rows))

    def _is_past(self) -> bool:
        """True if something happened after this position."""
        if self.at == NOW:
            return False
        position = self.position()
        return position is not None and self.at < position.seq

    def _texts(self, shelf: Shelf) -> Iterable[past.Text]:
        """Every text that was on a shelf at this position."""
        name = "texts_recallable" if shelf == "recallable" else "texts_rest"
        return cast("Iterable[past.Text]", self._tables.db.stream(name, {"at": self.at}))


def _quoted(term: str) -> str:
    """A term for full text; our terms never contain a quote."""
    return f'"{term}"'
