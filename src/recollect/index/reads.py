"""The named reads: the questions that callers and decisions ask the index.

Responsible for turning plain tuples into typed rows, at one position. Leaves policy (what a
default read shows, how hits are ranked) to ``recall`` and ``memory``. Invariant: every read is
bound to a position; the present is a position after every event.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, cast

from recollect.index.rows import (
    Card,
    Cell,
    CommandRow,
    EpisodeRow,
    EventRow,
    LinkRow,
    Row,
    VersionRow,
    content_id,
    pack_list,
    supports,
    version_row,
)
from recollect.index.settings import SettingReads
from recollect.index.statements import NOW, STILL
from recollect.index.tables import Db, Tables
from recollect.model.events import Origin, Trust
from recollect.model.limits import EVENT_TEXT_MAX_CHARS, US_PER_HOUR

if TYPE_CHECKING:  # loaded only for filters
    from recollect.index.filter import Filter


class Reads(SettingReads):
    """Reads of one space at one position; in a write transaction they see its own writes."""

    def __init__(self, db: Db, *, at: int = NOW, tables: Tables | None = None) -> None:
        super().__init__(tables or Tables(db, keep=False), at)

    @property
    def db(self) -> Db:
        """The engine these reads go to."""
        return self._tables.db

    def command(self, id: str) -> CommandRow | None:
        """A command that happened."""
        row = self._tables.settle(id).one("get_command", {"id": id})
        return None if row is None else CommandRow._make(row)

    def command_at(self, seq: int) -> CommandRow | None:
        """The last command that was complete at a position."""
        row = self._tables.db.one("command_at", {"seq": seq})
        return None if row is None else CommandRow._make(row)

    def command_of(self, seq: int) -> CommandRow | None:
        """The command that an event belongs to; None if a token for one user does not see it."""
        row = self._tables.db.one("command_of_event", {"seq": seq})
        command = None if row is None else CommandRow._make(row)
        return command if command and command.first <= seq else None

    def seq_at(self, instant: str) -> int:
        """The position that the ledger had reached at an instant; 0 before the first event."""
        low, high, best = 1, self._last_seq(), 0
        while low <= high:  # instants never decrease, so a binary search works
            command = self.command_at((low + high) // 2)
            if command is None or command.at <= instant:
                low = (low + high) // 2 + 1
                best = command.seq if command else best
            else:
                high = command.seq - 1
        return best

    def _last_seq(self) -> int:
        position = self.position()
        return min(self.at, position.seq) if position else 0

    def version(self, id: str) -> VersionRow | None:
        """A record."""
        return self._tables.version(id, self.at)

    def has_version(self, id: str) -> bool:
        """True if there is, or ever was, a record with this id."""
        return self._tables.has_version(id)

    def versions(self, id: str) -> list[VersionRow]:
        """Every version of a record up to here, oldest first."""
        db = self._tables.settle(id)
        return _versions(db.rows("get_versions", {"id": id, "at": self.at}))

    def earlier_texts(self, row: VersionRow | Card, limit: int) -> list[VersionRow]:
        """The last version with each of the texts that a record had before, newest first."""
        found: list[VersionRow] = []
        last: VersionRow | Card | None = row
        while last is not None and len(found) < limit:
            last = version = self._tables.version(row.id, last.text_seq - 1)
            found += [] if version is None else [version]
        return found

    def has_replaced(self) -> bool:
        """True if any value was ever replaced."""
        return self.db.one("has_replaced", {}) is not None

    def replaced(
        self, tokens: Sequence[str], user: str | None, each: int, limit: int
    ) -> list[tuple[str, int, str]]:
        """Those of these tokens that replaced values had, with a value's text and what came next.

        Of each token the newest ``each`` of a user, those of the rarest tokens first. A value may
        have come back since.
        """
        params: dict[str, Cell] = {
            "tokens": pack_list(tokens),
            "user": user,
            "at": self.at,
            "each": each,
            "limit": limit,
        }
        rows = self.db.rows("replaced_with", params)
        return [(str(token), cast(int, text_seq), str(by)) for token, text_seq, by in rows]

    def by_alias(self, alias: str) -> list[VersionRow]:
        """Current records with this content id."""
        db = self._tables.settle(alias)
        return _versions(db.rows("versions_by_content", {"content_id": alias}))

    def holder(self, key: str, user: str | None) -> VersionRow | None:
        """The active record under a key."""
        if self.at == NOW and self._tables.has_no_key(key):
            return None
        rows = self.keyed(key, user, holder=True)
        return next((row for row in rows if row.status == "active"), None)

    def about_now(self, about: str, user: str | None, limit: int) -> list[str]:
        """The ids of the last active records of a user about something, as of now."""
        self._tables.flush()
        params: dict[str, Cell] = {"about": about, "user": user, "limit": limit}
        return [str(id) for (id,) in self._tables.db.rows("about_now", params)]

    def keyed(self, key: str, user: str | None, *, holder: bool) -> list[VersionRow]:
        """The records of a user under a key: only its holder, or also earlier ones.

        At a past position at least the holder.
        """
        params: dict[str, Cell] = {"key": key, "user": user}
        name = "holder" if holder else "keyed"
        if self.at != NOW:
            name, params["at"] = "keyed_at", self.at
        return _versions(self._tables.settle(key).rows(name, params))

    def under_key(self, key: str, user: str | None, limit: int) -> list[VersionRow]:
        """Records with this key, of one user or of all; the active ones come first."""
        if self.at == NOW and self._tables.has_no_key(key):
            return []
        params: dict[str, Cell] = {"key": key, "user": user, "limit": limit}
        name = "under_key"
        if self.at != NOW:
            name, params["at"] = "under_key_at", self.at
        return _versions(self._tables.settle(key).rows(name, params))

    def ids_beginning_with(self, prefix: str, user: str | None, limit: int) -> list[str]:
        """The ids of records and episodes that begin so, of one user or of all, in their order."""
        self._tables.flush()
        params: dict[str, Cell] = {
            "low": prefix,
            "high": prefix[:-1] + chr(ord(prefix[-1]) + 1),
            "user": user,
            "at": self.at,
            "limit": limit,
        }
        rows = self._tables.db.rows("ids_between", params)
        return [str(id) for (id,) in rows]

    def twin(self, text: str, user: str | None) -> VersionRow | None:
        """An active, trusted record of the same user with the same text."""
        alias = content_id(text)
        if self._tables.has_no_content(alias):
            return None
        found = self._tables.settle(alias).rows(
            "twins", {"content_id": alias, "text": text, "user": user}
        )
        return self.version(min(str(id) for (id,) in found)) if found else None

    def listing(
        self,
        statuses: Sequence[str],
        user: str | None,
        before: int,
        limit: int,
        where: Filter | None = None,
    ) -> list[VersionRow]:
        """Records of these statuses, the last changed first.

        With a filter at least those that it matches: callers check each row.
        """
        params: dict[str, Cell] = {
            "at": self.at,
            "last": min(self.at, before - 1),
            "statuses": pack_list(statuses),
            "user": user,
            "limit": limit,
        }
        return _versions(self._tables.db.rows("list_versions", params, where))

    def episode(self, id: str) -> EpisodeRow | None:
        """An episode."""
        return self._tables.episode(id, self.at)

    def episodes(self, before: int, limit: int, where: Filter | None = None) -> list[EpisodeRow]:
        """Episodes, newest first; with a filter at least those that it matches."""
        params = {"at": self.at, "last": min(self.at, before - 1), "limit": limit}
        rows = self._tables.db.rows("list_episodes", params, where)
        return [EpisodeRow._make(row) for row in rows]

    def evidence_of(self, record: str) -> list[str]:
        """Everything that any version of a record names as evidence."""
        rows = self._tables.settle(record).rows("evidence_of_record", {"record": record})
        return [str(reference) for (reference,) in rows]

    def evidence_of_text(self, row: VersionRow | Card) -> list[str]:
        """What a record named as evidence for one of its texts."""
        params: dict[str, Cell] = {"record": row.id, "text_seq": row.text_seq}
        return [str(name) for name, _ in self.db.rows("evidence_of_words", params)]

    def evidence_for(self, episode: EpisodeRow) -> list[VersionRow]:
        """Every version that rests on an episode."""
        return [row for named, row in self._ties(episode.id) if supports(episode, row, named)]

    def naming(self, name: str) -> list[VersionRow]:
        """Every version whose evidence has a name, whatever that is of."""
        return [row for _, row in self._ties(name)]

    def _ties(self, name: str) -> Iterator[tuple[int, VersionRow]]:
        db = self._tables.settle_ties(name)
        rows = db.rows("evidence_of_episode", {"episode": name})
        return ((cast(int, named), version_row(version)) for named, *version in rows)

    def has_rested(self, record: str, episode: EpisodeRow) -> bool:
        """True if a version of a record rests on an episode, or did."""
        row = self.version(record)
        named = self._tables.settle(record).one("last_named", (episode.id, record))
        if row is None or named is None or named[0] is None:
            return False
        return supports(episode, row, cast(int, named[0]))

    def supports(self, episode: EpisodeRow | Card, row: VersionRow | Card) -> bool:
        """True if a version that names an episode rests on it."""
        if episode.seq < row.text_seq:  # named with the text or later, so after it was observed
            return supports(episode, row, row.text_seq)
        params = (episode.id, row.id, row.text_seq)
        named = self._tables.settle(row.id).one("named_at", params)
        return named is not None and supports(episode, row, cast(int, named[0]))

    def derived_from(self, record: VersionRow, above: Trust) -> list[str]:
        """The ids of records derived directly from this one that have more than this trust."""
        self._tables.flush()  # whatever was written before may change one of them
        params: dict[str, Cell] = {"record": record.id, "user": record.user, "above": above}
        return sorted({str(id) for (id,) in self.db.rows("derived_from", params)})

    def named_by(self, id: str) -> list[tuple[str, int, int]]:
        """The words that name something as evidence: a record, its text's event, and since when."""
        rows = self._tables.settle_ties(id).rows("named_by", {"id": id})
        found = [(str(record), cast(int, text), cast(int, seq)) for record, text, seq in rows]
        return [each for each in found if each[2] <= self.at]

    def superseded_by(self, id: str) -> list[str]:
        """The records whose place another had taken at this position."""
        self._tables.flush()
        rows = self.db.rows("superseded_by", {"id": id, "at": self.at})
        return sorted(str(each) for (each,) in rows)

    def is_vouched(self, id: str, key: str | None, user: str | None) -> bool:
        """True if a record, or one of the user's under this key, ever had a person's trust."""
        db = self._tables.settle(id, key or id)
        return db.one("is_vouched", {"id": id, "key": key, "user": user}) is not None

    def ended_by(self, id: str) -> list[Origin]:
        """Who has taken a record out since it last came back."""
        return self._tables.ended_by(id)

    def forgotten_by(self, id: str) -> Origin | None:
        """Who has forgotten an episode; None if it is not forgotten."""
        return self._tables.forgotten_by(id)

    def links(self, id: str) -> list[LinkRow]:
        """Links from or to a record."""
        rows = self._tables.settle(id).rows("links_of", {"id": id, "at": self.at})
        return [LinkRow._make(row) for row in rows]

    def trusted_links(self, ids: Sequence[str]) -> list[LinkRow]:
        """Links from or to any of these records, except unverified ones."""
        params: dict[str, Cell] = {"ids": pack_list(ids), "at": self.at}
        return [LinkRow._make(row) for row in self._tables.db.rows("trusted_links_of", params)]

    def tagged(self, low: str, high: str, user: str | None, limit: int) -> list[VersionRow]:
        """Active, trusted records with a tag between these two, newest change first."""
        params: dict[str, Cell] = {
            "low": low,
            "high": high,
            "user": user,
            "limit": limit,
            "at": self.at,
        }
        return _versions(self._tables.db.rows("tagged", params))

    def hours(self) -> float:
        """The active hours up to here."""
        command = self.command_at(self.at)
        return command.active_us / US_PER_HOUR if command else 0.0

    def hours_at(self, events: Sequence[int]) -> dict[int, float]:
        """The active hours up to each of these events."""
        rows = self._tables.db.rows("active_at_events", {"seqs": pack_list(events)})
        return {cast(int, seq): cast(int, us) / US_PER_HOUR for seq, us in rows}

    def links_changed(self, first: int, last: int) -> list[LinkRow]:
        """The links that began or ended with one of these events, as they were and are."""
        rows = self._tables.db.rows("links_changed", {"first": first, "last": last})
        return [LinkRow._make(row) for row in rows]

    def link(self, source: str, target: str, kind: str) -> LinkRow | None:
        """A current link."""
        return self._tables.link(source, target, kind)

    def events(
        self,
        *,
        kinds: Sequence[str],
        id: str | None,
        user: str | None,
        after: int,
        before: int | None,
        limit: int,
    ) -> list[EventRow]:
        """Events in their order: the first after a position, or the last before another."""
        self._tables.flush()
        name = "list_events" if before is None else "list_last_events"
        end = self.at if before is None else min(self.at, before - 1)
        params: dict[str, Cell] = {
            "kinds": f",{','.join(kinds)}," if kinds else "",
            "after": after,
            "before": end + 1,
            "limit": limit,
            "chars": EVENT_TEXT_MAX_CHARS,
        }
        if id is not None:
            name, params["id"] = f"{name}_of", id
        if user is not None:
            name, params["user"] = f"{name}_for_user", user
        return [EventRow._make(row) for row in self._tables.db.rows(name, params)]

    def by_event(self, seq: int) -> VersionRow | EpisodeRow | None:
        """The version or the episode that an event made, unless it was erased."""
        version = self._tables.db.one("version_of_event", {"seq": seq})
        if version is not None:
            return version_row(version)
        episode = self._tables.db.one("episode_of_event", {"seq": seq, "at": self.at})
        return None if episode is None else EpisodeRow._make(episode)

    def begun_by(self, seqs: Iterable[int]) -> list[tuple[str, str, int]]:
        """What began with these events: ids of records, and of episodes with role and length."""
        found = []
        for seq in seqs:
            row = self._tables.db.one("record_of_event", {"seq": seq})
            if row is not None:
                found.append((str(row[0]), "", 0))
            elif isinstance(episode := self.by_event(seq), EpisodeRow):
                found.append((episode.id, episode.role, len(episode.text)))
        return found

    def events_about(self, id: str) -> list[int]:
        """The seqs of all events about this record or episode, a link of it, or a proposal."""
        db = self._tables.settle(id)
        seqs = {row.seq for row in self.versions(id)}
        for name, param in (("link_events_of", "id"), ("hidden_events_of", "episode")):
            for seq, until in db.rows(name, {param: id}):
                seqs.add(cast(int, seq))
                if until != STILL:
                    seqs.add(cast(int, until))
        seqs.update(cast(int, seq) for (seq,) in db.rows("ineffective_of", {"id": id}))
        episode = self.episode(id)
        if episode is not None:
            seqs.add(episode.seq)
        return sorted(seqs.union(self.proposal_events(id, episode and episode.seq)))

    def subjects(self, first: int, last: int) -> list[tuple[str, str]]:
        """What a range of events is about and what each did, without what they superseded."""
        rows = self._tables.db.rows("subjects_of_events", {"first": first, "last": last})
        return [(str(id), str(what)) for id, what in rows]

    def erased_between(self, after: int, through: int) -> set[int]:
        """The erased events after one position, up to another."""
        params = {"after": after, "through": through}
        return {cast(int, seq) for (seq,) in self._tables.db.rows("erased_between", params)}

    def counts(self) -> dict[str, int]:
        """Counts: records by status, episodes, shadowed episodes, links."""
        db, params = self._tables.db, {"at": self.at}
        found = {str(status): cast(int, n) for status, n in db.rows("count_versions", params)}
        for name in ("episodes", "shadowed", "links"):
            row = db.one(f"count_{name}", params)
            found[name] = cast(int, row[0]) if row else 0
        return found


def _versions(rows: Iterable[Row]) -> list[VersionRow]:
    return [version_row(row) for row in rows]
