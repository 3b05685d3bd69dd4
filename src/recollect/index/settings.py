"""Presets, documents, rules, sessions, receipts and authors: the questions about them.

Responsible for reads by name of what is not a record, an episode or a link. Leaves what they mean
to ``recall`` and ``memory``. Invariant: every read is bound to a position.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from recollect.index.full_text import TextReads
from recollect.index.rows import (
    RULES,
    AuthorRow,
    Cell,
    DocumentRow,
    EpisodeRow,
    PassRow,
    PresetRow,
    ReceiptRow,
    Row,
    SessionRow,
)
from recollect.index.statements import STILL
from recollect.index.tables import author_name, document_name, session_name

if TYPE_CHECKING:  # loaded only when a filter is used
    from recollect.index.filter import Filter


class SettingReads(TextReads):
    """Reads of presets, documents, sessions and receipts at one position."""

    def preset(self, name: str) -> PresetRow | None:
        """A preset that was set; None if the name is unknown or built in."""
        db = self._tables.settle(f"preset {name}")
        row = db.one("get_preset", {"name": name, "at": self.at})
        return None if row is None else PresetRow._make(row)

    def presets(self) -> list[PresetRow]:
        """Every preset that was set, by name."""
        return [
            PresetRow._make(row) for row in self._tables.db.rows("list_presets", {"at": self.at})
        ]

    def events_about_preset(self, name: str) -> list[int]:
        """The seqs of all events whose subject is this preset."""
        rows = self._tables.settle(f"preset {name}").rows("preset_events_of", {"name": name})
        return sorted({cast(int, seq) for row in rows for seq in row if seq != STILL})

    def document(self, type: str, name: str) -> DocumentRow | None:
        """A document."""
        row = self._tables.document(type, name, self.at)
        return None if row is None else DocumentRow._make(row)

    def documents(self, type: str | None, after: tuple[str, str], limit: int) -> list[DocumentRow]:
        """Documents, or those of one type, by type and name, after a type and a name."""
        place: dict[str, Cell] = {"after_type": after[0], "after_name": after[1]}
        params: dict[str, Cell] = {**place, "type": type, "at": self.at, "limit": limit}
        return [DocumentRow._make(row) for row in self._tables.db.rows("list_documents", params)]

    def events_about_document(self, type: str, name: str) -> list[int]:
        """The seqs of all events whose subject is this document."""
        db = self._tables.settle(document_name(type, name))
        rows = db.rows("document_events_of", {"type": type, "name": name})
        if type == RULES:
            rows += db.rows("passes_of", {"rule": name})
        return sorted({cast(int, seq) for row in rows for seq in row if seq != STILL})

    def last_pass(self, rule: str) -> PassRow | None:
        """How far a rule has looked; None if it never has."""
        db = self._tables.settle(document_name(RULES, rule))
        row = db.one("get_pass", {"rule": rule, "at": self.at})
        return None if row is None else PassRow._make(row)

    def episodes_after(
        self, after: int, limit: int, where: Filter | None = None
    ) -> list[EpisodeRow]:
        """Episodes after an event, oldest first; with a filter, at least those it matches."""
        params = {"after": after, "at": self.at, "limit": limit}
        rows = self._tables.db.rows("episodes_after", params, where)
        return [EpisodeRow._make(row) for row in rows]

    def sessions_named(self, id: str) -> list[SessionRow]:
        """The sessions of this name, one for each user that has one; none of a user comes first."""
        from recollect.index.sessions import sessions_named  # hooks read no session

        return sessions_named(self._tables.settle(session_name(id)), self.at, id)

    def receipt(self, id: str) -> ReceiptRow | None:
        """A receipt."""
        row = self._tables.settle(id).one("get_receipt", {"id": id, "at": self.at})
        return None if row is None else ReceiptRow._make(row)

    def count_receipts(self, after: int, through: int) -> int:
        """How many of the events after a position, up to another, are receipts."""
        row = self._tables.db.one("count_receipts", {"after": after, "through": through})
        return cast(int, row[0]) if row else 0

    def receipts(self, before: int, limit: int) -> list[ReceiptRow]:
        """Receipts, newest first."""
        params = {"last": min(self.at, before - 1), "limit": limit}
        return [ReceiptRow._make(row) for row in self._tables.db.rows("list_receipts", params)]

    def author(self, id: str) -> AuthorRow | None:
        """Whose the id of an author is; None if the name was erased."""
        row = self._tables.settle(author_name(id)).one("get_author", {"id": id})
        return None if row is None else AuthorRow._make(row)

    def namings(self, id: str) -> list[AuthorRow]:
        """Every event that names an author; the first counts, and all have to be erased."""
        rows = self._tables.settle(author_name(id)).rows("namings_of", {"id": id})
        return [AuthorRow._make(row) for row in rows]

    def authors_named(self, name: str) -> list[AuthorRow]:
        """The authors of one name: one for each way in which it was known."""
        return [AuthorRow._make(row) for row in self._tables.authors(name)]

    def authors_of_user(self, user: str) -> list[AuthorRow]:
        """The authors that were named for one user."""
        rows = self._tables.db.rows("authors_of_user", {"user": user})
        return [AuthorRow._make(row) for row in rows]

    def authors_of(self, seqs: Sequence[int]) -> list[tuple[str, AuthorRow | None] | None]:
        """The id of who wrote each event, and whose it is; None if nothing says it."""
        self._tables.flush()
        rows = self._tables.db.ones("author_of_event", [{"seq": seq} for seq in seqs])
        return [_author(row) for row in rows]


def _author(row: Row | None) -> tuple[str, AuthorRow | None] | None:
    if row is None or row[5] is None:
        return None
    return str(row[5]), None if row[0] is None else AuthorRow._make(row[:5])
