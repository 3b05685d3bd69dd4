"""The public face: ``Store`` and ``Memory``.

Responsible for the calls a user makes. Leaves everything else to the layers below. Invariant: a
handle's scope and trust only ever shrink; a handle on the past writes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from recollect.compose import Embedders, open_backend, restore_backup
from recollect.config import AUTO, Settings, load
from recollect.errors import Forbidden, InvalidInput, NotFound
from recollect.finding import search
from recollect.index.caches import forget_texts
from recollect.index.reads import Reads
from recollect.index.rows import (
    EpisodeRow,
    LinkRow,
    episode_of,
    link_of,
    record_of,
    version_of,
)
from recollect.index.statements import NOW
from recollect.lifecycle.commands import Actor
from recollect.lifecycle.leaving import own_sources, sources_of
from recollect.memory import acts, answers, checking
from recollect.memory.acts import Content
from recollect.memory.batch import Batch
from recollect.memory.contexts import Contexts
from recollect.memory.frames import frame_named
from recollect.memory.healing import heals
from recollect.model import limits, validate
from recollect.model.events import GENESIS, TRUST_RANK, Trust
from recollect.model.instants import Moment, instant
from recollect.model.rules import at_least
from recollect.model.validate import Json
from recollect.model.values import (
    Backup,
    Carried,
    Embedded,
    Episode,
    Erasure,
    Finding,
    Forgotten,
    Link,
    Rebuilt,
    Recall,
    Record,
    Scope,
    Sealed,
    SpaceStatus,
    Verification,
    Version,
    Why,
    WhyNot,
)
from recollect.places.moving import settled
from recollect.recall.pack import Counter, count_tokens
from recollect.recall.visibility import check_include
from recollect.store.carry import carry
from recollect.store.port import Backend, Outcome, Progress, Space
from recollect.store.seam import REAL, Seam

if TYPE_CHECKING:  # the filter is loaded only when somebody filters
    pass

T = TypeVar("T")
Where = str | os.PathLike[str] | None
List = list  # inside Memory, `list` is the method


class Store:
    """A workspace or server with many memories; open one for each process."""

    def __init__(self, backend: Backend, settings: Settings, seam: Seam = REAL) -> None:
        self._backend = backend
        self._seam = seam
        self._spaces: dict[tuple[str, bool], Space] = {}
        self._embedders = Embedders(settings, seam)
        self.settings = settings

    @classmethod
    def open(
        cls, where: Where = None, *, embedder: str = AUTO, settings: Settings | None = None
    ) -> Store:
        """The store at a place, or the nearest one (see ``recollect.config.load``)."""
        settings = settled(settings or load(where, embedder=embedder))
        return cls(open_backend(settings), settings)

    @property
    def where(self) -> str:
        """A place a person can look at."""
        return self._backend.where

    def space(self, name: str = "main", *, create: bool = True) -> Memory:
        """The memory of one user, project or team; nothing is touched before it is used."""
        name = validate.space_name(name)
        asked = name, create
        space = self._spaces.get(asked)
        if space is None:
            space = self._spaces[asked] = self._backend.space(name, create=create)
        return Memory(
            space, self._seam, close=lambda: self._close(asked), embedders=self._embedders
        )

    def spaces(self) -> list[str]:
        """The names of the memories that exist here."""
        return self._backend.spaces()

    def close(self) -> None:
        """Closes every memory that came from here."""
        for asked in list(self._spaces):
            self._close(asked)
        self._backend.close()

    def _close(self, asked: tuple[str, bool]) -> None:
        """Handles of one space share it, so closing one closes all."""
        space = self._spaces.pop(asked, None)
        if space is not None:
            space.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({self.where!r})"


@heals
class Memory(Contexts):
    """One memory: remember, observe, recall, correct, forget, and ask why."""

    # Opening and narrowing.

    @classmethod
    def open(
        cls,
        where: Where = None,
        *,
        space: str = "main",
        embedder: str = AUTO,
        settings: Settings | None = None,
    ) -> Memory:
        """The memory at a place, or the nearest one; closing it closes its store too."""
        store = Store.open(where, embedder=embedder, settings=settings)
        memory = store.space(space)
        memory._close = store.close
        return memory

    def scoped(
        self,
        *,
        user: str | None = None,
        session: str | None = None,
        agent: str | None = None,
        origin: Trust | None = None,
    ) -> Memory:
        """The same memory for one user, session or agent, or with less trust; never wider."""
        mine = self._actor
        if origin is not None and origin not in TRUST_RANK:
            raise InvalidInput(f"origin must be person, agent or unverified, not {origin!r}")
        if origin is not None and not at_least(mine.trust, origin):
            raise Forbidden(f"a handle with trust {mine.trust!r} cannot be raised to {origin!r}")
        actor = Actor(
            trust=origin or mine.trust,
            user=_narrow("user", mine.user, user),
            session=_narrow("session", mine.session, session),
            agent=_narrow("agent", mine.agent, agent),
            tz_minutes=mine.tz_minutes,
        )
        return Memory(
            self._space,
            self._seam,
            actor=actor,
            at=self._at,
            then=self._then,
            close=self._close,
            embedders=self._embedders,
        )

    def at(self, position: int | datetime | str) -> Memory:
        """The memory as it was at a position of the ledger or at an instant; read-only."""
        with self._space.reading() as reads:
            last = reads.position()
            newest = min(self._at, last.seq if last else 0)
            if isinstance(position, int):
                if position < 0:
                    raise InvalidInput(f"there is no position {position}")
                seq = min(position, newest)
            else:
                seq = min(reads.seq_at(instant(position)), newest)
            command = reads.command_at(seq)
        return Memory(
            self._space,
            self._seam,
            actor=self._actor,
            at=command.seq if command else 0,
            then=command.at if command else GENESIS.at,
            close=self._close,
            embedders=self._embedders,
        )

    @property
    def name(self) -> str:
        """The name of the space."""
        return self._space.name

    @property
    def where(self) -> str:
        """A place a person can look at."""
        return self._space.where

    @property
    def scope(self) -> Scope:
        """For whom, in which session and by which agent this handle speaks."""
        mine = self._actor
        return Scope(user=mine.user, session=mine.session, agent=mine.agent)

    @property
    def trust(self) -> Trust:
        """The trust with which this handle writes: ``person``, ``agent`` or ``unverified``."""
        return self._actor.trust

    @property
    def position(self) -> int:
        """How many events lie behind what this handle sees."""
        return self._space.head().seq if self._at == NOW else self._at

    # Writing.

    def remember(
        self,
        text: str,
        *,
        key: str | None = None,
        about: str | None = None,
        kind: str | None = None,
        tags: Iterable[str] = (),
        data: Mapping[str, Json] | None = None,
        confidence: float | None = None,
        evidence: Iterable[str] = (),
        expires: Moment | timedelta | None = None,
        valid_from: Moment | None = None,
        valid_to: Moment | None = None,
        source_type: str | None = None,
        is_hypothesis: bool | None = None,
        id: str | None = None,
        command: str | None = None,
    ) -> Record:
        """Hold a belief. Under a ``key`` it takes the place of the record that had the key.

        Saying an active sentence again reinforces it. ``command`` is an idempotency key: the
        same command again returns the first outcome.
        """
        act = self._acts.remember(
            text,
            key=key,
            about=about,
            kind=kind,
            tags=tags,
            data=data,
            confidence=confidence,
            evidence=evidence,
            expires=expires,
            valid_from=valid_from,
            valid_to=valid_to,
            source_type=source_type,
            is_hypothesis=is_hypothesis,
            id=id,
        )
        return self._write((act,), answers.record, command)

    def observe(
        self,
        content: Content,
        *,
        role: str = "user",
        session: str | None = None,
        at: Moment | None = None,
        metadata: Mapping[str, Json] | None = None,
        id: str | None = None,
        command: str | None = None,
    ) -> List[Episode]:
        """Keep what was seen or said, verbatim: a text, or messages with role and content."""
        made = self._acts.observe(
            content, role=role, session=session, at=at, metadata=metadata, id=id
        )
        return self._write(tuple(made), answers.episodes, command)

    def revise(
        self,
        id: str,
        text: str,
        *,
        reason: str | None = None,
        evidence: Iterable[str] = (),
        data: Mapping[str, Json] | None = None,
        expires: Moment | timedelta | None | UnsetType = UNSET,
        command: str | None = None,
    ) -> Record:
        """Correct a belief; the old words stay in its history only.

        ``data`` and ``expires`` stay as they are unless given; ``expires=None`` takes the end away.
        """
        act = self._acts.revise(
            id, text, reason=reason, evidence=evidence, data=data, expires=expires
        )
        return self._write((act,), answers.record, command)

    def forget(
        self,
        id: str,
        *,
        sources: str = "shadow",
        reason: str | None = None,
        command: str | None = None,
    ) -> Forgotten:
        """Take a record or an episode out of default reads; ``restore`` brings it back.

        Episodes that were evidence only for what is forgotten are shadowed with it, unless
        ``sources="keep"``.
        """
        act = acts.forget(id, sources, reason)
        return self._write((act,), answers.forgotten, command)

    def restore(self, id: str, *, command: str | None = None) -> Record | Episode:
        """Undo a forgetting, or bring an archived record back."""
        return self._write((acts.restore(id),), answers.subject, command)

    def erase(
        self,
        id: str,
        *,
        sources: bool = True,
        reason: str | None = None,
        dry_run: bool = False,
    ) -> Erasure:
        """Remove every byte of a record or an episode from this memory, for good.

        A record's own sources (episodes that are evidence for nothing else) go with it unless
        ``sources=False``. Only a handle with a person's trust may do this. ``dry_run`` tells
        what would go.
        """
        with self._space.reading() as reads:
            id = self._find(reads, id).id
            named = [source.id for source in sources_of(reads, id)]
            own = dict.fromkeys(own_sources(reads, id) if sources else ())
            seqs = {seq for name in (id, *own) for seq in reads.events_about(name)}
        report = Erasure(
            id=id,
            seq=0,
            events=tuple(sorted(seqs)),
            episodes=tuple(own),
            kept=tuple(name for name in named if name not in own),
            places=(),
        )
        if dry_run:
            return report
        act = acts.erase(id, sources, reason)
        seq, events = self._write((act,), _erased, None)
        places = self._space.purge() or ("everywhere, by another process",)
        forget_texts()
        return msgspec.structs.replace(report, seq=seq, events=events, places=places)

    def tag(
        self, id: str, *add: str, remove: Iterable[str] = (), command: str | None = None
    ) -> Record:
        """Put tags on a record or take them off."""
        return self._write((acts.tag(id, add, remove),), answers.record, command)

    def link(
        self,
        source: str,
        target: str,
        kind: str = "relates_to",
        *,
        weight: float = 1.0,
        command: str | None = None,
    ) -> Link:
        """Relate two records; the relation is typed and directed."""
        act = acts.link(source, target, kind, weight)

        def answer(reads: Reads, outcome: Outcome) -> Link:
            row = reads.link(source, target, act.kind)
            if row is None:
                raise NotFound("the link was removed since")
            return link_of(row)

        return self._write((act,), answer, command)

    def unlink(
        self, source: str, target: str, kind: str = "relates_to", *, command: str | None = None
    ) -> None:
        """End a relation."""
        self._write((acts.unlink(source, target, kind),), lambda reads, outcome: None, command)

    def batch(self, *, command: str | None = None) -> Batch:
        """Several writes that happen together or not at all, with one fsync."""
        return Batch(self._acts, lambda made: self._write(made, answers.subjects, command))

    # Reading.

    def get(self, id: str, *, include: Iterable[str] = ()) -> Record | Episode:
        """One record or episode by id (or a record by its content id).

        What was superseded, forgotten or has expired is not found unless ``include`` says so.
        """
        words = check_include(include) | {"held"}
        with self._space.reading(self._at) as reads:
            row = self._find(reads, id)
            hidden = self._why_hidden(row)
            if hidden is not None and hidden not in words:
                raise NotFound(f"{id!r} is {hidden}", hint=f"ask with include=[{hidden!r}]")
            return answers.value_of(row)

    def keyed(self, key: str, *, include: Iterable[str] = ()) -> Record:
        """The record that holds a key, for the user this handle speaks for.

        Records that claim the key without holding it (held, forgotten …) are found only if
        ``include`` says so and no other holds it: the one that changed last.
        """
        words: frozenset[str | None] = check_include(include) | {None}
        with self._space.reading(self._at) as reads:
            rows = reads.keyed(validate.name(key, "key"), self._actor.user, holder=words == {None})
            shown = [row for row in rows if self._why_hidden(row) in words]
            if shown:
                return record_of(max(shown, key=lambda row: (row.status == "active", row.seq)))
        raise NotFound(f"nothing here has the key {key!r}", hint="`list` shows what there is")

    def list(
        self,
        *,
        where: str | None = None,
        include: Iterable[str] = (),
        limit: int = 100,
        after: str | None = None,
    ) -> List[Record]:
        """Records by their last change, newest first; ``after`` is the last id of a page."""
        limit = validate.count(limit, "limit", at_most=limits.LIST_MAX_RECORDS)
        wish = self._wish("record", include, None, None, where)
        with self._space.reading(self._at) as reads:
            before = search.first_page(self._at)
            if after is not None:
                before = self._find(reads, after).seq
            return [record_of(row) for row in search.listing(reads, wish, before, limit)]

    def episodes(
        self,
        *,
        where: str | None = None,
        include: Iterable[str] = (),
        limit: int = 100,
        after: str | None = None,
    ) -> List[Episode]:
        """Episodes, newest first; ``after`` is the last id of a page."""
        limit = validate.count(limit, "limit", at_most=limits.LIST_MAX_RECORDS)
        wish = self._wish("episode", include, None, None, where)
        with self._space.reading(self._at) as reads:
            before = search.first_page(self._at)
            if after is not None:
                before = self._find(reads, after).seq
            found = search.episode_listing(reads, wish, before, limit)
            return [episode_of(row) for row in found]

    def recall(
        self,
        query: str,
        *,
        k: int = 10,
        unit: str = "any",
        where: str | None = None,
        include: Iterable[str] = (),
        valid_at: Moment | None = None,
        min_relevance: float | None = None,
    ) -> Recall:
        """What memory holds about a question, best first, over records and episodes."""
        k = validate.count(k, "k", at_most=limits.RECALL_MAX_HITS)
        wish = self._wish(unit, include, valid_at, min_relevance, where)
        question = self._ask(query)
        with self._space.reading(self._at) as reads:
            return search.recall(reads, question, wish, k)

    def recall_many(
        self,
        queries: Iterable[str],
        *,
        k: int = 10,
        unit: str = "any",
        where: str | None = None,
        include: Iterable[str] = (),
        valid_at: Moment | None = None,
        min_relevance: float | None = None,
    ) -> List[Recall]:
        """What ``recall`` gives for each question, all from one state of the memory, and faster."""
        from recollect.finding.questions import ask

        k = validate.count(k, "k", at_most=limits.RECALL_MAX_HITS)
        wish = self._wish(unit, include, valid_at, min_relevance, where)
        questions = ask(self._space, self._at, validate.questions(queries), self._embedders)
        with self._space.reading(self._at) as reads:
            return search.recall_all(reads, questions, wish, k)

    def why_not(
        self,
        id: str,
        query: str,
        *,
        frame: str | None = None,
        tokens: int | None = None,
        counter: Counter = count_tokens,
        k: int = 10,
        unit: str = "any",
        where: str | None = None,
        include: Iterable[str] = (),
        valid_at: Moment | None = None,
        min_relevance: float | None = None,
    ) -> WhyNot:
        """Why a recall leaves a record or an episode out; with a frame, why a context does.

        A context takes ``tokens`` and ``counter``, and its frame decides the rest; a recall takes
        the rest.
        """
        from recollect.finding.why_not import Inquiry, in_context, in_recall

        k = validate.count(k, "k", at_most=limits.RECALL_MAX_HITS)
        wish = self._wish(unit, include, valid_at, min_relevance, where)
        question = self._ask(query)
        with self._space.reading(self._at) as reads:
            row = self._find(reads, id)
            if frame is None:
                return in_recall(Inquiry(row, reads, question, wish), k)
            looked = frame_named(reads, frame)
            budget = looked.tokens if tokens is None else tokens
            budget = validate.count(budget, "tokens", at_most=limits.CONTEXT_MAX_TOKENS)
            wish = self._wish(looked.unit, (), None, None, looked.where)
            return in_context(Inquiry(row, reads, question, wish), looked, budget, counter)

    def history(self, id: str) -> List[Version]:
        """Every version of a record, oldest first."""
        with self._space.reading(self._at) as reads:
            row = self._find(reads, id)
            if isinstance(row, EpisodeRow):
                raise InvalidInput(f"{id} is an episode; episodes never change")
            return [version_of(version) for version in reads.versions(row.id)]

    def why(self, id: str) -> Why:
        """Where a record comes from: who said it, on what evidence, in place of what."""
        with self._space.reading(self._at) as reads:
            row = self._find(reads, id)
            if isinstance(row, EpisodeRow):
                raise InvalidInput(f"{id} is an episode: it is a source itself")
            quoted, other = search.sources_of(reads, row)
            first = reads.versions(row.id)[0]
            by = reads.version(row.superseded_by) if row.superseded_by else None
            return Why(
                record=record_of(row),
                origin=version_of(first).origin,
                sources=tuple(quoted),
                other_evidence=tuple(other),
                replaced=tuple(search.replaced_by(reads, row)),
                replaced_by=None if by is None or not self._may_see(by) else record_of(by),
                links=tuple(link_of(link) for link in self._links(reads, row.id)),
            )

    def _links(self, reads: Reads, id: str) -> List[LinkRow]:
        """A record's links, without those that would name what is another user's."""
        links = reads.links(id)
        if self._actor.user is None:
            return links
        ends = {end for link in links for end in (link.source, link.target)}
        seen = {end for end in ends if (row := reads.version(end)) and self._may_see(row)}
        return [link for link in links if {link.source, link.target} <= seen]

    def status(self) -> SpaceStatus:
        """Counts and position."""
        self._require_whole("status")
        with self._space.reading(self._at) as reads:
            counts = reads.counts()
            position = reads.position()
            command = reads.command_at(self._at)
        if position is None or command is None:
            raise NotFound(f"the memory {self.name!r} is empty")
        return SpaceStatus(
            space=self.name,
            where=self.where,
            seq=command.seq,
            head=position.hash if self._at == NOW else "",
            at=command.at,
            records=counts.get("active", 0) + counts.get("inbox", 0),
            held=counts.get("held", 0),
            archived=counts.get("archived", 0),
            forgotten=counts.get("forgotten", 0),
            episodes=counts["episodes"],
            shadowed=counts["shadowed"],
            links=counts["links"],
            active_hours=command.active_us / 3_600_000_000,
        )

    # Upkeep.

    def digest(self) -> str:
        """The state digest: equal digests mean the same records, episodes, links and history."""
        self._require_whole("the digest")
        return self._space.digest(self._at)

    def verify(self, progress: Progress | None = None, *, deep: bool = False) -> Verification:
        """Checks every line of the ledger and its segments: hashes, neighbours, the index.

        The state that the last seal speaks of is compared with the index's, unless something of
        it was erased since. With ``deep`` the whole ledger is folded again and compared with the
        index, row by row and word by word, and the engine's own check is run.
        """
        return checking.verify(self._space, progress, deep=deep)

    def seal(self) -> Sealed:
        """Closes the active ledger file into a segment under ``sealed/``.

        Nothing is lost or hidden: the ledger's next line says how many events lie behind it,
        where their chain ends and what state they came to; ``verify`` walks the segments.
        """
        self._require_whole("sealing")
        if self._actor.trust != "person":
            raise Forbidden("sealing the ledger needs a person")
        return self._space.seal()

    def rebuild(self, progress: Progress | None = None) -> Rebuilt:
        """Throws the index away and folds the whole ledger again."""
        self._require_whole("rebuilding")
        return self._space.rebuild(progress)

    def embed(self, progress: Progress | None = None) -> tuple[Embedded, ...]:
        """Encodes every text that lacks vectors; says so for each embedder of this store."""
        from recollect.finding.vectors import embed_all

        self._require_whole("embedding")
        return embed_all(self._space, self._embedders, progress)

    def backup(
        self, target: str | os.PathLike[str] | None = None, progress: Progress | None = None
    ) -> Backup:
        """Copies the ledger to a new folder (by default ``backup/`` of the workspace)."""
        self._require_whole("a backup")
        if self._actor.trust != "person":
            raise Forbidden("copying the whole ledger needs a person")
        return self._space.backup(None if target is None else os.fspath(target), progress)

    def copy_to(self, other: Memory, progress: Progress | None = None) -> Carried:
        """Brings to another place what its memory lacks of this one's events, as they are.

        Afterwards both ledgers end alike. Stopped halfway, the same call goes on from there.
        """
        for handle in (self, other):
            handle._require_whole("carrying a memory")
        if self._actor.trust != "person":
            raise Forbidden("copying the whole ledger needs a person")
        return carry(self._space, other._space, progress)

    @classmethod
    def restore_backup(cls, backup: str | os.PathLike[str], where: Where) -> Memory:
        """Makes a memory out of a backup, in a place that holds none of that name yet."""
        settings = load(where)
        name = restore_backup(Path(backup), settings)
        return cls.open(space=name, settings=settings)

    def doctor(self, progress: Progress | None = None) -> List[Finding]:
        """Looks at everything without changing it; says what is wrong and what to do.

        The whole ledger is folded again and compared with the index, as ``verify(deep=True)`` does.
        """
        return checking.findings(self._space, self._seam.now(), progress)

    def accept_loss(self, *, reason: str | None = None) -> None:
        """Goes on from what the ledger still holds after a loss; leaves an event that says so."""
        self._require_whole("accepting a loss")
        if self._actor.trust != "person":
            raise Forbidden("accepting a loss needs a person")
        self._space.accept_loss(validate.reason(reason))

    def close(self) -> None:
        """Lets go of files and connections; closing twice is fine."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        past = "" if self._at == NOW else f", at={self._at}"
        return f"Memory({self.where!r}, space={self.name!r}{past})"


def _erased(reads: Reads, outcome: Outcome) -> tuple[int, tuple[int, ...]]:
    """The event that ordered an erasure, and the events it named."""
    ordered = reads.unfinished_erasures().items()
    return outcome.last, tuple(seq for seq, by in ordered if by == outcome.last)


def _narrow(what: str, mine: str | None, wanted: str | None) -> str | None:
    """A scope's part, set once."""
    if wanted is None:
        return mine
    wanted = validate.name(wanted, what)
    if mine is not None and mine != wanted:
        raise Forbidden(f"this handle is for {what} {mine!r} only")
    return wanted
