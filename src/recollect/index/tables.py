"""The gateway between the fold and an engine: writes are buffered, and reads see them.

Responsible for sending rows in few large calls instead of many small ones. Leaves what rows mean
to ``index.fold``. Invariant: a read never misses a row that was written before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, cast

from recollect.index.rows import (
    TEXT,
    Cell,
    EpisodeRow,
    LinkRow,
    Row,
    VersionRow,
    document_id,
    pack_names,
    stored_row,
    version_row,
)
from recollect.index.statements import NOW
from recollect.index.words.facts import packed
from recollect.index.words.text import joined, words
from recollect.model.events import Origin

if TYPE_CHECKING:  # loaded only when a filter is used
    from recollect.index.filter import Filter

Params = Mapping[str, Cell] | Sequence[Cell]


class Db(Protocol):
    """An engine inside a transaction; statements are called by name."""

    def rows(self, name: str, params: Params, where: Filter | None = None) -> list[Row]:
        """All rows of a read; with a filter, at least those that it matches."""
        ...

    def one(self, name: str, params: Params) -> Row | None:
        """The first row of a read, or None."""
        ...

    def ones(self, name: str, params: Sequence[Params]) -> list[Row | None]:
        """The first row of the same read for each of these parameters."""
        ...

    def stream(self, name: str, params: Params) -> Iterable[Row]:
        """The rows of a read, without holding them all."""
        ...

    def many(self, name: str, rows: Sequence[Row]) -> None:
        """Runs one write for each of these rows, in order."""
        ...

    def run(self, name: str) -> None:
        """Runs a statement without rows, such as the end of a transaction."""
        ...


# How many records and episodes are cached between two flushes.
_CURRENT_MAX_COUNT: Final = 20_000
_CURRENT_MAX_CHARS: Final = 16_000_000
_DOCUMENTS_MAX_COUNT: Final = 8
_AUTHORS_MAX_COUNT: Final = 1_000
_USED_BYTES: Final = 1 << 22  # a bit for each of 33 million ids; allocated in 0.2 ms
_USED_MASK: Final = _USED_BYTES - 1

# The order in which buffered writes are sent. Within one flush, two writes touch the same name only
# to end its old row and begin the new one, so this order is always right.
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
    "end_preset",
    "end_document",
    "end_pass",
    "end_proposal",
    "end_branch",
    "add_version",
    "add_tag",
    "add_evidence",
    "add_resting",
    "add_replaced",
    "add_ineffective",
    "add_episode",
    "add_hidden",
    "add_link",
    "add_preset",
    "add_document",
    "add_pass",
    "name_session",
    "open_session",
    "close_session",
    "add_proposal",
    "add_concern",
    "add_branch",
    "add_receipt",
    "shelve_recallable",
    "shelve_rest",
    "add_note",
    "add_author",
    "add_command",
)
_PLACE: Final = {name: place for place, name in enumerate(_ORDER)}
_OF_TEXTS: Final = frozenset(name for name in _ORDER if "shelve_" in name)


class Names(NamedTuple):
    """What deciding will look up: ids of records and episodes, content ids and keys of records."""

    records: AbstractSet[str] = frozenset()
    episodes: AbstractSet[str] = frozenset()
    contents: AbstractSet[str] = frozenset()
    keys: AbstractSet[str] = frozenset()

    def lists(self) -> dict[str, Cell]:
        """The parameters of the statement ``there``, which finds those that exist."""
        return {kind: pack_names(tuple(some)) for kind, some in self._asdict().items()}

    def without(self, found: Iterable[Row]) -> Names:
        """Those that are not among the rows of ``there``."""
        there: dict[Cell, set[Cell]] = {}
        for kind, name in found:
            there.setdefault(kind, set()).add(name)
        kinds = self._asdict().items()
        return Names(*(frozenset(some - there.get(kind, set())) for kind, some in kinds))


class Tables:
    """Buffers writes until something that they touch is read."""

    def __init__(
        self, db: Db, *, keep: bool = True, fresh: bool = False, settled: Db | None = None
    ) -> None:
        self.db = db
        self._settled = db if settled is None else settled  # for reads by names
        self._keep = keep  # true while this process holds the write lock
        self._used = _Used() if fresh else None  # names in an index that is filled from empty
        self._pending: defaultdict[str, list[Row]] = defaultdict(list)
        self._touched: set[str | None] = set()
        # Cached records in their current state; plain tuples, which the garbage collector skips.
        self._current: dict[str, Row | None] = {}
        self._chars = 0  # an upper bound of the length of their texts
        self._episodes: dict[str | None, EpisodeRow] = {}  # written here and not changed since
        self._no_episodes: set[str] = set()
        self._no_contents: set[str] = set()
        self._no_keys: set[str] = set()
        self._sessions: set[tuple[str, str]] = set()  # named since the last flush
        self._documents: dict[str | None, Row | None] = {}  # as they are now
        self._authors: dict[str | None, list[Row]] = {}  # by their names

    def lack(self, absent: Names) -> None:
        """Notes names that do not exist, so that they are not looked up one by one.

        They take the place of those noted before, so that a backlog does not collect them.
        """
        for id in absent.records:
            self._current[id] = None
        self._no_episodes = set(absent.episodes)
        self._no_contents = set(absent.contents)
        self._no_keys = set(absent.keys)

    def has_no_content(self, content_id: str) -> bool:
        """True if it is known, without a query, that no record has this content."""
        return content_id in self._no_contents

    def has_no_key(self, key: str) -> bool:
        """True if it is known, without a query, that no record has this key."""
        return key in self._no_keys

    def write(self, name: str, row: Row, *touched: str | None) -> None:
        """Adds a write; ``touched`` are the names under which later reads look for it."""
        self._pending[name].append(row)
        if not touched:
            return
        self._touched.update(touched)
        for absent in (self._no_episodes, self._no_contents, self._no_keys):
            if absent:
                absent.difference_update(touched)
        if self._episodes or self._documents or self._authors:
            for one in touched:
                self._episodes.pop(one, None)
                self._documents.pop(one, None)
                self._authors.pop(one, None)

    def begin(self, row: VersionRow) -> None:
        """Adds a write of a version that is now current."""
        stored = stored_row(row)
        self.write("add_version", stored, row.id, row.key, row.content_id)
        self._current[row.id] = row if stored[TEXT] is None else stored
        self._chars += len(row.text) + len(row.data)
        if self._used is not None:
            self._used.add(row.id)

    def begin_episode(self, row: EpisodeRow) -> None:
        """Adds a write of an episode that is not hidden."""
        self.write("add_episode", row[:-1], row.id)
        self._episodes[row.id] = row
        self._chars += len(row.text) + len(row.metadata)
        if self._used is not None:
            self._used.add(row.id)

    def tie(self, reference: str, row: VersionRow) -> None:
        """Adds a write of a version's evidence; it does not change the episodes it names."""
        tie = (reference, row.id, row.seq, row.text_seq)
        self.write("add_evidence", tie, row.id, _ties(reference))

    def name_session(self, id: str, user: str | None, seq: int) -> None:
        """Adds a write that makes a session known, if it is not: without looking, for speed."""
        named = (id, user or "")
        if named not in self._sessions:
            self._sessions.add(named)
            self.write("name_session", (*named, seq), session_name(id))

    def flush(self) -> None:
        """Sends all buffered writes."""
        pending, self._pending = self._pending, defaultdict(list)
        self._touched.clear()
        self._sessions.clear()
        held = len(self._current) + len(self._episodes)
        if held > _CURRENT_MAX_COUNT or self._chars > _CURRENT_MAX_CHARS:
            self._let_go()
        for name in sorted(pending, key=_PLACE.__getitem__):
            rows = pending[name]
            self.db.many(name, _tokenized(rows) if name in _OF_TEXTS else rows)

    def drop(self) -> None:
        """Discards the buffered writes: their command was refused, or their rows are gone."""
        self._pending.clear()
        self._touched.clear()
        self._sessions.clear()
        self._no_episodes.clear()
        self._no_contents.clear()
        self._no_keys.clear()
        self._let_go()

    def _let_go(self) -> None:
        self._current.clear()
        self._episodes.clear()
        self._documents.clear()
        self._authors.clear()
        self._chars = 0

    def settle(self, *names: str) -> Db:
        """The engine, after sending every buffered write that touches these names."""
        if not self._touched.isdisjoint(names):
            self.flush()
        return self._settled

    def settle_ties(self, episode: str) -> Db:
        """The engine, after sending every write that names an episode as evidence."""
        return self.settle(_ties(episode))

    def version(self, id: str, at: int = NOW) -> VersionRow | None:
        """The version of a record that is current at a position."""
        if at == NOW and id in self._current:
            held = self._current[id]
            return None if held is None else tuple.__new__(VersionRow, held)
        row = self.settle(id).one("get_version", {"id": id, "at": at})
        found = None if row is None else version_row(row)
        if at == NOW and self._keep:
            self._current[id] = row
            self._chars += 0 if found is None else len(found.text) + len(found.data)
        return found

    def has_version(self, id: str) -> bool:
        """True if there is, or ever was, a record with this id."""
        if id in self._current:
            return self._current[id] is not None
        if self._used is not None and not self._used.has(id):
            return False
        found = self.settle(id).one("has_version", (id,)) is not None
        if not found and self._keep:
            self._current[id] = None
        return found

    def episode(self, id: str, at: int = NOW) -> EpisodeRow | None:
        """An episode in its state at a position."""
        if id in self._no_episodes:
            return None
        if at == NOW and id in self._episodes:
            return self._episodes[id]
        if self._used is not None and not self._used.has(id):
            return None
        row = self.settle(id).one("get_episode", {"id": id, "at": at})
        return None if row is None else EpisodeRow._make(row)

    def document(self, type: str, name: str, at: int = NOW) -> Row | None:
        """A document that holds at a position. Every act of an agent asks for the policy."""
        touched = document_name(type, name)
        if at == NOW and touched in self._documents:
            return self._documents[touched]
        row = self.settle(touched).one("get_document", {"type": type, "name": name, "at": at})
        if at == NOW and self._keep:
            if len(self._documents) >= _DOCUMENTS_MAX_COUNT:
                self._documents.clear()
            self._documents[touched] = row
        return row

    def authors(self, name: str) -> list[Row]:
        """The authors of one name. Every command asks for its own."""
        touched = author_name(name)
        if touched in self._authors:
            return self._authors[touched]
        rows = self.settle(touched).rows("authors_named", {"name": name})
        if self._keep:
            if len(self._authors) >= _AUTHORS_MAX_COUNT:
                self._authors.clear()
            self._authors[touched] = rows
        return rows

    def ended_by(self, id: str) -> list[Origin]:
        """Who has taken a record out since it last came back."""
        rows = self.settle(id).rows("ended_by", {"id": id})
        return [cast(Origin, origin) for (origin,) in rows]

    def forgotten_by(self, id: str) -> Origin | None:
        """Who has forgotten an episode; None if it is not forgotten."""
        row = self.settle(id).one("forgotten_by", {"episode": id})
        return None if row is None else cast(Origin, row[0])

    def link(self, source: str, target: str, kind: str) -> LinkRow | None:
        """A link that holds now."""
        found = self.settle(source, target).one(
            "get_link", {"source": source, "target": target, "kind": kind}
        )
        return None if found is None else LinkRow._make(found)


def document_name(type: str, name: str) -> str:
    """The key of a document among ids, which never contain a blank."""
    return f"document {document_id(type, name)}"


def author_name(name: str) -> str:
    """The key of an author, by its id or by its name, among ids, which never contain a blank."""
    return f"author {name}"


def session_name(id: str) -> str:
    """The key of a session among ids, which never contain a blank."""
    return f"session {id}"


class _Used:
    """Ids that may be in use: one bit each, so that memory stays bounded; all others are not."""

    def __init__(self) -> None:
        self._bits = bytearray(_USED_BYTES)

    def add(self, id: str) -> None:
        bit = hash(id)
        self._bits[bit >> 3 & _USED_MASK] |= 1 << (bit & 7)

    def has(self, id: str) -> int:
        bit = hash(id)
        return self._bits[bit >> 3 & _USED_MASK] & 1 << (bit & 7)


def _tokenized(rows: Iterable[Row]) -> list[Row]:
    """Texts for a shelf as their tokens and facts: made when many are sent, which is faster."""
    made: list[Row] = []
    for doc, searched, *about in rows:
        found = words(str(searched))
        if about:  # for the shelf that keeps them
            text, is_assistants = about
            kept = packed(str(text), found, of_person=not is_assistants)
            made.append((doc, joined(found), kept))
        else:
            made.append((doc, joined(found)))
    return made


def _ties(episode: str) -> str:
    """The key, among ids, of evidence that names an episode; ids never contain a blank."""
    return f"ties {episode}"
