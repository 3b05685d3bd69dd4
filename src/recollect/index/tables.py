"""The gateway between the fold and an engine: writes are gathered, reads see them.

Responsible for sending rows in few large calls instead of many small ones. Leaves what rows mean
to ``index.fold``. Invariant: a read never misses a row that was written before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from recollect.index.rows import (
    Cell,
    EpisodeRow,
    LinkRow,
    Row,
    VersionRow,
    stored_row,
    version_row,
)
from recollect.index.statements import NOW

if TYPE_CHECKING:  # the filter is loaded only when somebody filters
    from recollect.index.filter import Filter

Params = Mapping[str, Cell] | Sequence[Cell]


class Db(Protocol):
    """An engine inside a transaction; every statement is known by its name."""

    def rows(self, name: str, params: Params, where: Filter | None = None) -> list[Row]:
        """All rows of a read; with a filter at least those that it matches."""
        ...

    def one(self, name: str, params: Params) -> Row | None:
        """The first row of a read, or None."""
        ...

    def stream(self, name: str, params: Params) -> Iterable[Row]:
        """The rows of a read, without holding them all."""
        ...

    def many(self, name: str, rows: Sequence[Row]) -> None:
        """One write for each of these rows, in order."""
        ...

    def run(self, name: str) -> None:
        """A statement that stands for itself, such as the end of a transaction."""
        ...


# How many records and episodes are kept at hand between two flushes.
_CURRENT_MAX_COUNT: Final = 20_000
_CURRENT_MAX_CHARS: Final = 16_000_000

# The order in which gathered writes are sent. Within one flush no two writes touch the same
# name except to end what stood there and begin what follows, so this order is always right.
_ORDER: Final = (
    "drop_shadows",
    "drop_resting_on",
    "drop_resting",
    "unshelve_recallable",
    "unshelve_rest",
    "end_version",
    "end_tag",
    "end_link",
    "end_hidden",
    "end_frame",
    "add_version",
    "add_tag",
    "add_evidence",
    "add_resting",
    "add_episode",
    "add_hidden",
    "add_link",
    "add_frame",
    "add_receipt",
    "shelve_recallable",
    "shelve_rest",
    "add_command",
)


class Names(NamedTuple):
    """What deciding will ask for: ids of records and of episodes, content ids of records."""

    records: frozenset[str] = frozenset()
    episodes: frozenset[str] = frozenset()
    contents: frozenset[str] = frozenset()


class Tables:
    """Gathers writes until something that they touch is read."""

    def __init__(self, db: Db, *, keep: bool = True) -> None:
        self.db = db
        self._keep = keep  # true for whoever holds the lock: nobody else changes a record then
        self._pending: dict[str, list[Row]] = {}
        self._touched: set[str | None] = set()
        self._current: dict[str, VersionRow | None] = {}  # records looked at, as they are now
        self._chars = 0  # how long their texts are, at most
        self._episodes: dict[str | None, EpisodeRow] = {}  # written here, and untouched since
        self._no_episodes: set[str] = set()
        self._no_contents: set[str] = set()

    def lack(self, absent: Names) -> None:
        """Takes note of what is not there, so that nobody asks for it name by name."""
        self._current.update(dict.fromkeys(absent.records))
        self._no_episodes.update(absent.episodes)
        self._no_contents.update(absent.contents)

    def foreign(self, ids: Iterable[str]) -> None:
        """Takes note of ids that are another user's, where an engine does not show such rows."""
        blank = VersionRow._make([""] * len(VersionRow._fields))
        self._current.update((id, blank._replace(id=id, user=None)) for id in ids)

    def has_no_content(self, content_id: str) -> bool:
        """True if it is known, without asking, that no record has these contents."""
        return content_id in self._no_contents

    def write(self, name: str, row: Row, *touched: str | None) -> None:
        """Adds a write; ``touched`` names what later reads of it would ask for."""
        self._pending.setdefault(name, []).append(row)
        self._touched.update(touched)
        self._no_episodes.difference_update(touched)
        self._no_contents.difference_update(touched)
        for one in touched:
            self._episodes.pop(one, None)

    def begin(self, row: VersionRow) -> None:
        """Adds a write of a version that holds from now on."""
        self.write("add_version", stored_row(row), row.id, row.key, row.content_id)
        self._hold(row.id, row)

    def begin_episode(self, row: EpisodeRow) -> None:
        """Adds a write of an episode that nothing hides."""
        self.write("add_episode", row[:-1], row.id)
        self._episodes[row.id] = row
        self._chars += len(row.text) + len(row.metadata)

    def tie(self, reference: str, row: VersionRow) -> None:
        """Adds a write of what a version names as evidence; an episode of that name stays as is."""
        tie = (reference, row.id, row.seq, row.text_seq)
        self.write("add_evidence", tie, row.id, _ties(reference))

    def flush(self) -> None:
        """Sends everything gathered so far."""
        pending, self._pending = self._pending, {}
        self._touched.clear()
        held = len(self._current) + len(self._episodes)
        if held > _CURRENT_MAX_COUNT or self._chars > _CURRENT_MAX_CHARS:
            self._let_go()
        for name in _ORDER:
            if name in pending:
                self.db.many(name, pending[name])

    def drop(self) -> None:
        """Forgets what was gathered: its command was refused, or its rows are gone."""
        self._pending.clear()
        self._touched.clear()
        self._no_episodes.clear()
        self._no_contents.clear()
        self._let_go()

    def _hold(self, id: str, row: VersionRow | None) -> None:
        self._current[id] = row
        self._chars += 0 if row is None else len(row.text) + len(row.data)

    def _let_go(self) -> None:
        self._current.clear()
        self._episodes.clear()
        self._chars = 0

    def settle(self, *names: str) -> Db:
        """The engine, with every gathered write that concerns these names sent."""
        if not self._touched.isdisjoint(names):
            self.flush()
        return self.db

    def settle_ties(self, episode: str) -> Db:
        """The engine, with all sent that names an episode as evidence."""
        return self.settle(_ties(episode))

    def version(self, id: str, at: int = NOW) -> VersionRow | None:
        """The version of a record that holds at a position."""
        if at == NOW and id in self._current:
            return self._current[id]
        row = self.settle(id).one("get_version", {"id": id, "at": at})
        found = None if row is None else version_row(row)
        if at == NOW and self._keep:
            self._hold(id, found)
        return found

    def has_version(self, id: str) -> bool:
        """True if there is, or ever was, a record with this id."""
        if id in self._current:
            return self._current[id] is not None
        found = self.settle(id).one("has_version", (id,)) is not None
        if not found and self._keep:
            self._current[id] = None
        return found

    def episode(self, id: str, at: int = NOW) -> EpisodeRow | None:
        """An episode as it stands at a position."""
        if id in self._no_episodes:
            return None
        if at == NOW and id in self._episodes:
            return self._episodes[id]
        row = self.settle(id).one("get_episode", {"id": id, "at": at})
        return None if row is None else EpisodeRow._make(row)

    def link(self, source: str, target: str, kind: str) -> LinkRow | None:
        """A link that holds now."""
        found = self.settle(source, target).one(
            "get_link", {"source": source, "target": target, "kind": kind}
        )
        return None if found is None else LinkRow._make(found)


def _ties(episode: str) -> str:
    """What the evidence that names an episode is known by among ids: none of them holds a blank."""
    return f"ties {episode}"
