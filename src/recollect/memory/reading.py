"""The calls of a memory that read.

Responsible for the public signatures of reading and for what each call may show. Leaves looking to
``finding`` and the policy of reading to ``recall``. Invariant: a read writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Final, overload
from weakref import WeakKeyDictionary

from msgspec import structs

from recollect.errors import InvalidInput, NotFound
from recollect.finding import search
from recollect.index.reads import Reads
from recollect.index.rows import EpisodeRow, LinkRow
from recollect.index.statements import NOW
from recollect.index.values import link_of, record_of, version_of
from recollect.memory.handle import answers
from recollect.memory.handle.authors import Authors
from recollect.memory.handle.handle import Calls, Handle
from recollect.memory.handle.healed import compares, heals
from recollect.model import limits, validate
from recollect.model.instants import Moment
from recollect.model.presets import Units
from recollect.model.values import Episode, Include, Recall, Record, SpaceStatus, Version, Why
from recollect.recall.visibility import check_include
from recollect.store.port import Space

if TYPE_CHECKING:
    from recollect.index.tallies import Tally

List = list  # inside the class, ``list`` is the method
_KEPT: Final[WeakKeyDictionary[Space, Tally]] = WeakKeyDictionary()


@compares
@heals
class Reading(Calls):
    """Get, list, recall, and ask why."""

    @overload
    def get(self, id: str, *, include: Iterable[Include] = ()) -> Record | Episode: ...

    @overload
    def get(self, *, key: str, include: Iterable[Include] = ()) -> Record: ...

    def get(
        self, id: str | None = None, *, key: str | None = None, include: Iterable[Include] = ()
    ) -> Record | Episode:
        """One record or episode, by its id or by the key that a record holds.

        Args:
            id: The id of a record or an episode, the beginning of one (four characters or more),
                the key of a record, or the content id of an active record. Every call that takes
                an id takes the same.
            key: Exactly a key, of this handle's user: its record, and nothing else that is called
                so.
            include: Also return it if it is hidden for one of these reasons, such as
                ``replaced``, ``forgotten`` or ``expired``. Of several that claim a key, it is the
                one that changed last.

        Raises:
            NotFound: This handle sees nothing with that id or key, or it is hidden.
            Ambiguous: A key or a beginning that several have; the message lists their ids.
            InvalidInput: Not exactly one of ``id`` and ``key`` was given.
        """
        if key is not None and id is None:
            return self._keyed(key, include)
        if id is None or key is not None:
            raise InvalidInput("get takes an id or a key", hint="give one of them")
        words = check_include(include) | {"waiting"}
        with self._handle.reading() as reads:
            row = self._handle.find(reads, id)
            hidden = self._handle.why_hidden(row)
            if hidden is not None and hidden not in words:
                hint = f"ask with include=[{hidden!r}]"
                raise NotFound(f"{id!r} is {hidden}", hint=hint, is_seen=True)
            return answers.value_of(row)

    def _keyed(self, key: str, include: Iterable[Include]) -> Record:
        """The record that holds a key, or of those that claim it the one that changed last."""
        words: frozenset[str | None] = check_include(include) | {None}
        handle = self._handle
        with handle.reading() as reads:
            key = validate.name(key, "key")
            rows = reads.keyed(key, handle.actor.user, holder=words == {None})
            shown = [row for row in rows if handle.why_hidden(row) in words]
            if shown:
                return record_of(max(shown, key=lambda row: (row.status == "active", row.seq)))
        raise NotFound(f"nothing here has the key {key!r}", hint="`list` shows what there is")

    def list(
        self,
        *,
        filter: str | None = None,
        include: Iterable[Include] = (),
        limit: int = 100,
        after: str | int | None = None,
    ) -> List[Record]:
        """Records by their last change, newest first.

        Args:
            filter: Only records that match, such as ``kind = 'fact' and tags contains 'work'``.
            include: Also those that are hidden for one of these reasons.
            limit: At most this many, up to 10,000.
            after: The id of the last record of the page before, or its ``seq``, which leads on
                even if it was erased since.

        Raises:
            InvalidInput: The filter could not be parsed, or ``include`` has an unknown word.
            NotFound: ``after`` is not a record of this memory.
        """
        limit = validate.count(limit, "limit", at_most=limits.LIST_MAX_RECORDS)
        wish = self._handle.wish("record", include, filter=filter)
        with self._handle.reading() as reads:
            before = self._cursor(reads, after)
            return [record_of(row) for row in search.listing(reads, wish, before, limit)]

    def status(self) -> SpaceStatus:
        """How many records, episodes and links there are, and where the ledger stands.

        The first call counts; later ones of the same process count what has changed since.

        Raises:
            NotFound: The memory is empty.
            Forbidden: The handle is bound to one user.
        """
        self._handle.require_whole("status")
        return status(self._handle)

    def _cursor(self, reads: Reads, after: str | int | None) -> int:
        """The position before which a page begins."""
        if after is None:
            return search.first_page(self._handle.position)
        if isinstance(after, int):
            return validate.position(after, "after")
        return self._handle.find(reads, after).seq

    @overload
    def recall(
        self,
        query: str,
        *,
        k: int = 10,
        unit: Units = "any",
        filter: str | None = None,
        include: Iterable[Include] = (),
        valid_at: Moment | None = None,
        min_relevance: float | None = None,
    ) -> Recall: ...

    @overload
    def recall(
        self,
        query: List[str] | tuple[str, ...],
        *,
        k: int = 10,
        unit: Units = "any",
        filter: str | None = None,
        include: Iterable[Include] = (),
        valid_at: Moment | None = None,
        min_relevance: float | None = None,
    ) -> List[Recall]: ...

    def recall(
        self,
        query: str | List[str] | tuple[str, ...],
        *,
        k: int = 10,
        unit: Units = "any",
        filter: str | None = None,
        include: Iterable[Include] = (),
        valid_at: Moment | None = None,
        min_relevance: float | None = None,
    ) -> Recall | List[Recall]:
        """What the memory holds about a question, best first.

        Several questions are asked of one state of the memory, and faster than one by one.

        Args:
            query: The question, in plain words; or a list of questions.
            k: At most this many hits for each, up to 1,000.
            unit: Look at records, at episodes, or at both.
            filter: Only hits that match, such as ``about = 'alice'``.
            include: Also what is hidden for one of these reasons.
            valid_at: Only records that are true at this instant; now by default.
            min_relevance: Only hits that are at least this relevant, from 0 to 1. By default what
                is near in meaning only by chance is left out; 0 keeps even that.

        Returns:
            The hits, a few unverified ones apart, and a note if an embedder was missing; a list of
            that for a list of questions.

        Raises:
            InvalidInput: A query is not a text, or another argument could not be understood.
        """
        k = validate.count(k, "k", at_most=limits.RECALL_MAX_HITS)
        wish = self._handle.wish(unit, include, valid_at, min_relevance, filter)
        queries = query if isinstance(query, List | tuple) else [query]
        found = self._handle.answer(queries, partial(search.recall_all, wish=wish, k=k))
        return found if queries is query else found[0]

    def history(self, id: str) -> List[Version]:
        """Every version of a record, oldest first.

        Raises:
            NotFound: This handle sees no record with that id.
            InvalidInput: The id names an episode, which never changes.
        """
        with self._handle.reading() as reads:
            row = self._handle.find(reads, id)
            if isinstance(row, EpisodeRow):
                raise InvalidInput(f"{id} is an episode; episodes never change")
            versions = reads.versions(row.id)
            authors = Authors(reads).of_all([version.seq for version in versions])
            return [
                structs.replace(version_of(version), author=author)
                for version, author in zip(versions, authors, strict=True)
            ]

    def why(self, id: str) -> Why:
        """Where a record comes from: who said it, its evidence, and what it replaced.

        Raises:
            NotFound: This handle sees no record with that id.
            InvalidInput: The id names an episode, which is itself a source.
        """
        with self._handle.reading() as reads:
            row = self._handle.find(reads, id)
            if isinstance(row, EpisodeRow):
                raise InvalidInput(f"{id} is an episode: it is a source itself")
            quoted, other = search.sources_of(reads, row)
            versions = reads.versions(row.id)
            said = next((one for one in versions if one.seq == row.text_seq), versions[0])
            by = reads.version(row.superseded_by) if row.superseded_by else None
            return Why(
                record=record_of(row),
                by=version_of(said).by,  # of its present words
                sources=tuple(quoted),
                other_evidence=tuple(other),
                replaced=tuple(search.replaced_by(reads, row)),
                replaced_by=None if by is None or not self._handle.may_see(by) else record_of(by),
                links=tuple(link_of(link) for link in self._links(reads, row.id)),
                author=Authors(reads).of(said.seq),
            )

    def _links(self, reads: Reads, id: str) -> List[LinkRow]:
        """A record's links, without those that would name another user's record."""
        links = reads.links(id)
        if self._handle.actor.user is None:
            return links
        ends = {end for link in links for end in (link.source, link.target)}
        seen = {end for end in ends if (row := reads.version(end)) and self._handle.may_see(row)}
        return [link for link in links if {link.source, link.target} <= seen]


def status(handle: Handle) -> SpaceStatus:
    """How much there is; ``Memory.status`` documents it. The last count of a space is kept."""
    from recollect.index.tallies import tally
    from recollect.memory.handle.on_branch import BranchSpace

    space = handle.space
    is_kept = handle.position == NOW and not isinstance(space, BranchSpace)
    with handle.reading() as reads:
        found = tally(reads, _KEPT.get(space) if is_kept else None)
        position = reads.position()
    if position is None or found is None:
        raise NotFound(f"the memory {space.name!r} is empty")
    if is_kept:
        _KEPT[space] = found
    counts, command = found.counts, found.command
    return SpaceStatus(
        space=space.name,
        where=space.where,
        seq=command.seq,
        head=position.hash if handle.position == NOW else "",
        at=command.at,
        records=counts.get("active", 0) + counts.get("inbox", 0),
        waiting=counts.get("held", 0),
        replaced=counts.get("superseded", 0),
        archived=counts.get("archived", 0),
        forgotten=counts.get("forgotten", 0),
        episodes=counts["episodes"],
        hidden=counts["shadowed"],
        links=counts["links"],
        active_hours=command.active_us / 3_600_000_000,
    )
