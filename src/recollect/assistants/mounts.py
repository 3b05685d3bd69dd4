"""Two memories side by side, as an assistant sees them: the project's and the person's own.

Responsible for asking both and putting their answers into one order, and for finding which of them
has an id. Leaves what a memory holds to ``Memory``, and where the two lie to ``config``.
Invariants: reading makes nothing; a mount that nobody uses is never opened; what is unverified in
either stays apart; a project's memory that is not known (``places.known``) is neither read nor
written.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from datetime import timedelta
from heapq import merge
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Final, Generic, Literal, Self, TypeVar

from msgspec import Struct, structs

from recollect.config import Places, Settings, places
from recollect.errors import (
    Forbidden,
    IntegrityError,
    InvalidInput,
    NotFound,
    RecollectError,
    Unavailable,
)
from recollect.memory.acts import Content
from recollect.memory.face import Memory, Store, Where
from recollect.model import limits, validate
from recollect.model.events import Trust
from recollect.model.frames import Template
from recollect.model.instants import Moment
from recollect.model.rules import at_least, lowest
from recollect.model.validate import Json
from recollect.model.values import (
    INCLUDES,
    Episode,
    Forgotten,
    Hit,
    Omitted,
    Recall,
    Record,
    Value,
    Version,
    Why,
)
from recollect.places import known
from recollect.places.moving import followed
from recollect.recall.pack import Counter, count_tokens, pack
from recollect.recall.visibility import check_include
from recollect.store.layout import is_empty
from recollect.store.seam import REAL, Seam

T = TypeVar("T")
Mount = Literal["project", "me"]
MOUNTS: Final[tuple[Mount, ...]] = ("project", "me")


class Mounted(Value, Generic[T], frozen=True, kw_only=True):
    """An answer, and the mount it comes from."""

    mount: Mount
    value: T


class MountedRecall(Value, frozen=True, kw_only=True):
    """The answers of both mounts to one query, best first; unverified ones stand apart."""

    query: str
    hits: tuple[Mounted[Hit], ...]
    unverified: tuple[Mounted[Hit], ...] = ()
    held: int = 0
    notes: tuple[str, ...] = ()  # why a mount has no part in this


class MountedContext(Value, frozen=True, kw_only=True):
    """Both mounts packed under one budget; ``str(context)`` is the text to paste."""

    query: str
    text: str
    hits: tuple[Mounted[Hit], ...]
    omitted: tuple[Omitted, ...]
    tokens: int
    budget: int
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


class Scoping(Struct, frozen=True, kw_only=True):
    """What every handle that comes from the mounts is narrowed to."""

    user: str | None = None
    session: str | None = None
    agent: str | None = None
    origin: Trust | None = None  # at most; a credential may say less

    def narrow(self, memory: Memory) -> Memory:
        """The memory with no more than this."""
        mine = memory.trust
        origin = self.origin if self.origin and at_least(mine, self.origin) else None
        return memory.scoped(user=self.user, session=self.session, agent=self.agent, origin=origin)


class _Place:
    """One mount: a store that is opened when it is first used, if it is there."""

    def __init__(self, settings: Settings, space: str, seam: Seam) -> None:
        self._settings = settings
        self._space = space
        self._seam = seam
        self._store: Store | None = None
        self._opening = threading.Lock()

    @property
    def settings(self) -> Settings:
        """Where it lies now: this process or another may have moved it."""
        before, self._settings = self._settings, followed(self._settings)
        if self._settings is not before:
            self.close()
        return self._settings

    def has_place(self) -> bool:
        """True if somebody made room for a memory, even if none is in it yet."""
        folder = self.settings.folder
        return self.is_there() if folder is None else folder.is_dir()

    def is_there(self) -> bool:
        """True if there is a memory to read. Looks every time: another process may make it."""
        if self.settings.folder is None:
            return self._space in self._opened().spaces()
        if not self.has_place():
            return False
        return not is_empty(Path(self.reader().where))  # what is left of one is a loss to tell

    def is_known(self) -> bool:
        """True if it may be used. Looks every time: a person may adopt it, or swap it."""
        return known.is_known(self.settings, self._space)

    def reader(self) -> Memory:
        """A handle that makes nothing."""
        return self._opened().space(self._space, create=False)

    def writer(self) -> Memory:
        """A handle that makes its memory, out of git's sight, if there is none yet."""
        if self.settings.folder is None or (self.is_known() and self.is_there()):
            return self._opened().space(self._space)
        if self.settings.known_in is None:
            return self._made()
        self._opened()  # what must be moved first is moved in a turn of its own
        with known.turn(self.settings, self._seam):
            if not self.is_known():
                raise Forbidden(known.ELSEWHERE, hint=f"{known.HINT}; where: me is yours")
            memory = self._made()
            memory.position  # noqa: B018 - makes the ledger, whose first event is listed
            known.listed(self.settings, self._space, self._seam)
        return memory

    def _made(self) -> Memory:
        """A memory in a folder that is there by now."""
        from recollect.store.files.backend import make_workspace

        make_workspace(Path(self.settings.where), self._seam)
        return self._opened().space(self._space)

    def _opened(self) -> Store:
        with self._opening:
            if self._store is None:
                self._store = Store.open(settings=self._settings)
                self._settings = self._store.settings
            return self._store

    def close(self) -> None:
        with self._opening:
            if self._store is not None:
                self._store.close()
            self._store = None


class Mounts:
    """``project`` and ``me`` behind one face; if both lie in one place there is only ``me``."""

    def __init__(
        self,
        where: Places,
        *,
        space: str = "main",
        seam: Seam = REAL,
        scope: Scoping | None = None,
    ) -> None:
        space = validate.space_name(space)
        self._places: dict[Mount, _Place] = {}
        if not where.is_one:
            self._places["project"] = _Place(where.project, space, seam)
        self._places["me"] = _Place(where.me, "main", seam)
        self._named = where.named
        self._scope = scope or Scoping()

    @classmethod
    def open(
        cls,
        where: Where = None,
        *,
        space: str = "main",
        start: Path | None = None,
        scope: Scoping | None = None,
    ) -> Mounts:
        """The mounts of a folder (the current one); ``where`` and ``space`` name the project's.

        Nothing is touched before it is used.
        """
        return cls(places(where, start=start), space=space, scope=scope)

    def lowered(self, origin: Trust) -> Mounts:
        """The same mounts with less trust; never more."""
        other = copy(self)
        other._scope = structs.replace(
            self._scope, origin=lowest([self._scope.origin or "person", origin])
        )
        return other

    def place(self, mount: Mount) -> str:
        """Where a mount lies, or would be made."""
        return self._place(mount)[1].settings.where

    def there(self, where: str | None = None) -> list[tuple[Mount, Memory]]:
        """The mounts that hold a memory, or the one that was named, with a handle for reading."""
        named = None if where is None else self._place(where)[0]
        return [
            (name, self._scope.narrow(place.reader()))
            for name, place in self._places.items()
            if (named is None or name == named) and place.is_known() and place.is_there()
        ]

    def notes(self) -> tuple[str, ...]:
        """Why a mount has no part in any answer, in words that hold nothing of it."""
        unknown = any(not place.is_known() for place in self._places.values())
        return (f"{known.ELSEWHERE}; {known.DECIDES}",) if unknown else ()

    def writing(self, where: str | None = None) -> tuple[Mount, Memory]:
        """The mount to write to, made on the first write, with a handle for that."""
        name, place = self._place(where or self._usual())
        return name, self._scope.narrow(place.writer())

    # Writing.

    def remember(
        self,
        text: str,
        *,
        where: str | None = None,
        key: str | None = None,
        about: str | None = None,
        kind: str | None = None,
        tags: Iterable[str] = (),
        confidence: float | None = None,
        evidence: Iterable[str] = (),
        expires: Moment | timedelta | None = None,
        command: str | None = None,
    ) -> Mounted[Record]:
        """Hold a belief: in the project if there is one, else in the person's own memory."""
        mount, memory = self.writing(where)
        made = memory.remember(
            text,
            key=key,
            about=about,
            kind=kind,
            tags=tags,
            confidence=confidence,
            evidence=evidence,
            expires=expires,
            command=command,
        )
        return Mounted(mount=mount, value=made)

    def observe(
        self,
        content: Content,
        *,
        where: str | None = None,
        role: str = "user",
        session: str | None = None,
        at: Moment | None = None,
        metadata: Mapping[str, Json] | None = None,
        id: str | None = None,
        command: str | None = None,
    ) -> Mounted[list[Episode]]:
        """Keep what was seen or said, verbatim, in the same place as ``remember``."""
        mount, memory = self.writing(where)
        kept = memory.observe(
            content,
            role=role,
            session=session,
            at=at,
            metadata=metadata,
            id=id,
            command=command,
        )
        return Mounted(mount=mount, value=kept)

    def revise(
        self,
        id: str,
        text: str,
        *,
        reason: str | None = None,
        evidence: Iterable[str] = (),
        where: str | None = None,
    ) -> Mounted[Record]:
        """Correct a belief, in whichever mount it is."""
        mount, memory, found = self._find(id, where)
        made = memory.revise(found.id, text, reason=reason, evidence=evidence)
        return Mounted(mount=mount, value=made)

    def forget(
        self, id: str, *, reason: str | None = None, where: str | None = None
    ) -> Mounted[Forgotten]:
        """Take a record or an episode out of default reads, in whichever mount it is."""
        mount, memory, found = self._find(id, where)
        return Mounted(mount=mount, value=memory.forget(found.id, reason=reason))

    # Reading.

    def recall(
        self,
        query: str,
        *,
        k: int = 10,
        unit: str = "any",
        where: str | None = None,
        include: Iterable[str] = (),
        min_relevance: float | None = None,
    ) -> MountedRecall:
        """What the mounts hold about a question, in one order; ``where`` asks one of them."""
        k = validate.count(k, "k", at_most=limits.RECALL_MAX_HITS)
        words = check_include(include)

        def ask(memory: Memory) -> Recall:
            return memory.recall(query, k=k, unit=unit, include=words, min_relevance=min_relevance)

        found, notes = self._ask_each(ask, where)
        return MountedRecall(
            query=query,
            hits=_in_one_order([(mount, answer.hits) for mount, answer in found], k),
            unverified=_in_one_order(
                [(mount, answer.unverified) for mount, answer in found],
                limits.UNVERIFIED_MAX_HITS,
            ),
            held=sum(answer.held for _, answer in found),
            notes=(*self.notes(), *notes),
        )

    def context(
        self,
        query: str,
        *,
        tokens: int = 1500,
        where: str | None = None,
        min_relevance: float | None = None,
        counter: Counter = count_tokens,
    ) -> MountedContext:
        """Both mounts about a question, packed for a prompt under one token budget."""
        budget = validate.count(tokens, "tokens", at_most=limits.CONTEXT_MAX_TOKENS)
        found = self.recall(
            query, k=limits.CONTEXT_MAX_HITS, where=where, min_relevance=min_relevance
        )
        packed = pack([], [hit.value for hit in found.hits], Template(), budget, counter)
        kept = {id(hit) for hit in packed.hits}  # the same id may be in both mounts
        return MountedContext(
            query=query,
            text=packed.text,
            hits=tuple(hit for hit in found.hits if id(hit.value) in kept),
            omitted=packed.omitted,
            tokens=packed.tokens,
            budget=budget,
            notes=(*found.notes, *packed.notes),
        )

    def get(self, id: str, *, where: str | None = None) -> Mounted[Record | Episode]:
        """One record or episode by id, whatever its state, in whichever mount it is."""
        mount, _, found = self._find(id, where)
        return Mounted(mount=mount, value=found)

    def history(self, id: str, *, where: str | None = None) -> Mounted[list[Version]]:
        """Every version of a record, oldest first."""
        mount, memory, found = self._find(id, where)
        return Mounted(mount=mount, value=memory.history(found.id))

    def why(self, id: str, *, where: str | None = None) -> Mounted[Why]:
        """Where a record comes from."""
        mount, memory, found = self._find(id, where)
        return Mounted(mount=mount, value=memory.why(found.id))

    def close(self) -> None:
        """Lets go of both; closing twice is fine."""
        for place in self._places.values():
            place.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # What the calls share.

    def _usual(self) -> Mount:
        """Where a write goes that says nothing about it."""
        project = self._places.get("project")
        return "project" if project and (self._named or project.has_place()) else "me"

    def _place(self, mount: str) -> tuple[Mount, _Place]:
        if mount == "project" and "project" in self._places:
            return "project", self._places["project"]
        if mount not in MOUNTS:
            raise InvalidInput(f"where must be project or me, not {mount!r}")
        return "me", self._places["me"]

    def _ask_each(
        self, ask: Callable[[Memory], T], where: str | None
    ) -> tuple[list[tuple[Mount, T]], list[str]]:
        """What each mount answers; of two, one that cannot be read does not silence the other."""
        asked: list[Mount] = list(self._places) if where is None else [self._place(where)[0]]
        found: list[tuple[Mount, T]] = []
        failed: dict[Mount, RecollectError] = {}
        for name in asked:
            try:
                found += [(mount, ask(memory)) for mount, memory in self.there(name)]
            except (IntegrityError, Unavailable) as error:
                failed[name] = error
        if failed and not found:
            raise next(iter(failed.values()))
        told = "the memory {} could not be read ({}) and has no part in this: `recollect doctor`"
        return found, [told.format(name, error.code) for name, error in failed.items()]

    def _find(self, id: str, where: str | None) -> tuple[Mount, Memory, Record | Episode]:
        """The first mount that has the id, the project's before the person's own."""
        for mount, memory in self.there(where):
            try:
                return mount, memory, memory.get(id, include=INCLUDES)
            except NotFound:
                continue
        raise NotFound(f"nothing here has the id {id!r}", hint="recall tells the ids")


def _in_one_order(
    found: Iterable[tuple[Mount, Iterable[Hit]]], at_most: int
) -> tuple[Mounted[Hit], ...]:
    """Each mount's hits in its own order; of the two next ones, the more relevant goes first.

    Equally relevant ones take turns, so that a large project does not drown a person's own words.
    """
    merged = merge(*(_ranked(mount, hits) for mount, hits in found), key=_by_relevance)
    return tuple(hit for _, hit in islice(merged, at_most))


def _ranked(mount: Mount, hits: Iterable[Hit]) -> Iterator[tuple[int, Mounted[Hit]]]:
    return ((rank, Mounted(mount=mount, value=hit)) for rank, hit in enumerate(hits))


def _by_relevance(ranked: tuple[int, Mounted[Hit]]) -> tuple[float, int]:
    rank, hit = ranked
    return -hit.value.relevance, rank
