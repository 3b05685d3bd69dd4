"""Who acted, as values.

Responsible for looking names up. Leaves naming to ``store.write_path``. Invariant: an author whose
name was erased keeps the id, so that what they did stays together.
"""

from __future__ import annotations

from collections.abc import Sequence

from recollect.index.reads import Reads
from recollect.index.rows import AuthorRow
from recollect.model.values import Author


class Authors:
    """The authors of many events, each looked up once."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._known: dict[str, Author] = {}

    def known(self, id: str | None) -> Author | None:
        """The author with this id."""
        if id is None:
            return None
        if id not in self._known:
            self._known[id] = _author(id, self._reads.author(id))
        return self._known[id]

    def of(self, seq: int | None) -> Author | None:
        """Who wrote an event."""
        return None if seq is None else self.of_all((seq,))[0]

    def of_all(self, seqs: Sequence[int]) -> list[Author | None]:
        """Who wrote each of these events, in one round trip."""
        found = self._reads.authors_of(seqs)
        return [None if each is None else _author(*each) for each in found]


def _author(id: str, row: AuthorRow | None) -> Author:
    return Author(
        id=id, name=None if row is None else row.name, checked=None if row is None else row.checked
    )
