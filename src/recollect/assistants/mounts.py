"""The two memories an assistant uses side by side: the project's and the person's own.

Responsible for asking both, merging their answers into one order, and finding which of them has an
id. Leaves each memory to ``Memory``, and finding the two to ``config``. Invariants: reading creates
nothing; a mount is opened only when it is used; unverified hits of either stay apart; a project's
memory that is not known (``places.known``) is neither read nor written.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from heapq import merge
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Final, Generic, Literal, Self, TypeVar, Unpack

from msgspec import Struct, structs

from recollect.config import Places, Settings, Where, places
from recollect.errors import (
    Forbidden,
    IntegrityError,
    InvalidInput,
    NotFound,
    RecollectError,
    Unavailable,
)
from recollect.memory import Memory, Store
from recollect.memory.acts import Content
from recollect.memory.fields import RecordFields
from recollect.model import limits, validate
from recollect.model.events import Role, Trust
from recollect.model.frames import Template, Units
from recollect.model.instants import Moment
from recollect.model.rules import at_least, lowest
from recollect.model.validate import Json
from recollect.model.values import (
    INCLUDES,
    Episode,
    Forgotten,
    Hit,
    Include,
    Omitted,
    Recall,
    Record,
    Value,
    Version,
    Why,
)
from recollect.places import known
from recollect.places.moving import current
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
    """The hits of both mounts for one query, best first; unverified ones are separate."""

    query: str
    hits: tuple[Mounted[Hit], ...]
    unverified: tuple[Mounted[Hit], ...] = ()
    held: int = 0
    notes: tuple[str, ...] = ()  # why a mount was left out


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
    """The user, session, agent and trust that every handle of the mounts is limited to."""

    user: str | None = None
    session: str | None = None
    agent: str | None = None
    origin: Trust | None = None  # the highest trust; a credential may allow less

    def narrow(self, memory: Memory) -> Memory:
        """The memory, limited to this scope."""
        mine = memory.trust
        origin = self.origin if self.origin and at_least(mine, self.origin) else None
        return memory.scoped(user=self.user, session=self.session, agent=self.agent, origin=origin)


class _Place:
    """One mount: a store that is opened at its first use, if it exists."""

    def __init__(self, settings: Settings, space: str, seam: Seam) -> None:
        self._settings = settings
        self._space = space
        self._seam = seam
        self._store: Store | None = None
        self._opening = threading.Lock()

    @property
    def settings(self) -> Settings:
        """The current settings: this process or another may have moved the memory."""
        before, self._settings = self._settings, current(self._settings)
        if self._settings is not before:
            self.close()
        return self._settings

    def has_place(self) -> bool:
        """True if the place for a memory exists, even if it holds none yet."""
        folder = self.settings.folder
        return self.is_there() if folder is None else folder.is_dir()

    def is_there(self) -> bool:
        """True if there is a memory to read. Checked every time: others may create it."""
        if self.settings.folder is None:
            return self._space in self._opened().spaces()
        if not self.has_place():
            return False
        return not is_empty(Path(self.reader().where))  # what is left of one is a loss to tell

    def is_known(self) -> bool:
        """True if it may be used. Checked every time: a person may adopt or replace it."""
        return known.is_known(self.settings, self._space)

    def reader(self) -> Memory:
        """A handle that does not create the memory."""
        return self._opened().space(self._space, create=False)

    def writer(self) -> Memory:
        """A handle that creates the memory if there is none yet, where git ignores it."""
        if self.settings.folder is None or (self.is_known() and self.is_there()):
            return self._opened().space(self._space)
        if self.settings.known_in is None:
            return self._made()
        self._opened()  # moves the memory if needed, which takes the lock itself
        with known.lock(self.settings, self._seam):
            if not self.is_known():
                raise Forbidden(known.ELSEWHERE, hint=f"{known.HINT}; or write to mount: me")
            memory = self._made()
            memory.position  # noqa: B018 - creates the ledger, whose first event is listed
            known.add(self.settings, self._space, self._seam)
        return memory

    def _made(self) -> Memory:
        """Creates the folder if needed, and opens a memory in it."""
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
    """``project`` and ``me`` behind one API; if both are the same place, there is only ``me``."""

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
        """The mounts of the folder ``start``, by default the current one.

        ``where`` and ``space`` name the project's memory. Nothing is opened before it is used.
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
        """Where a mount is, or would be created."""
        return self._place(mount)[1].settings.where

    def readers(self, mount: str | None = None) -> list[tuple[Mount, Memory]]:
        """The mounts that hold a memory, with handles for reading; only ``mount`` if given."""
        named = None if mount is None else self._place(mount)[0]
        return [
            (name, self._scope.narrow(place.reader()))
            for name, place in self._places.items()
            if (named is None or name == named) and place.is_known() and place.is_there()
        ]

    def notes(self) -> tuple[str, ...]:
        """Why a mount is left out of every answer, without quoting anything from it."""
        unknown = any(not place.is_known() for place in self._places.values())
        return (f"{known.ELSEWHERE}; {known.DECIDES}",) if unknown else ()

    def writer(self, mount: str | None = None) -> tuple[Mount, Memory]:
        """The mount to write to, with a handle for writing; created at the first write."""
        name, place = self._place(mount or self._default())
        return name, self._scope.narrow(place.writer())

    # Writing.

    def remember(
        self,
        text: str,
        *,
        mount: str | None = None,
        idempotency_key: str | None = None,
        **fields: Unpack[RecordFields],
    ) -> Mounted[Record]:
        """Store a record, with the fields of ``Memory.remember``.

        It goes to the project's memory if there is one, else to the person's own.
        """
        name, memory = self.writer(mount)
        made = memory.remember(text, idempotency_key=idempotency_key, **fields)
        return Mounted(mount=name, value=made)

    def observe(
        self,
        content: Content,
        *,
        mount: str | None = None,
        role: Role = "user",
        session: str | None = None,
        at: Moment | None = None,
        metadata: Mapping[str, Json] | None = None,
        id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Mounted[list[Episode]]:
        """Store what was seen or said, verbatim, in the same mount as ``remember``."""
        name, memory = self.writer(mount)
        kept = memory.observe(
            content,
            role=role,
            session=session,
            at=at,
            metadata=metadata,
            id=id,
            idempotency_key=idempotency_key,
        )
        return Mounted(mount=name, value=kept)

    def revise(
        self,
        id: str,
        text: str,
        *,
        reason: str | None = None,
        evidence: Iterable[str] = (),
        mount: str | None = None,
    ) -> Mounted[Record]:
        """Correct a record, in the mount that has it."""
        name, memory, found = self._find(id, mount)
        made = memory.revise(found.id, text, reason=reason, evidence=evidence)
        return Mounted(mount=name, value=made)

    def forget(
        self, id: str, *, reason: str | None = None, mount: str | None = None
    ) -> Mounted[Forgotten]:
        """Remove a record or an episode from recall, in the mount that has it."""
        name, memory, found = self._find(id, mount)
        return Mounted(mount=name, value=memory.forget(found.id, reason=reason))

    # Reading.

    def recall(
        self,
        query: str,
        *,
        k: int = 10,
        unit: Units = "any",
        mount: str | None = None,
        include: Iterable[Include] = (),
        min_relevance: float | None = None,
    ) -> MountedRecall:
        """What the mounts hold about a question, in one order; ``mount`` asks one of them."""
        k = validate.count(k, "k", at_most=limits.RECALL_MAX_HITS)
        words = check_include(include)

        def ask(memory: Memory) -> Recall:
            return memory.recall(query, k=k, unit=unit, include=words, min_relevance=min_relevance)

        found, notes = self._ask_each(ask, mount)
        return MountedRecall(
            query=query,
            hits=_in_one_order([(name, answer.hits) for name, answer in found], k),
            unverified=_in_one_order(
                [(name, answer.unverified) for name, answer in found],
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
        mount: str | None = None,
        min_relevance: float | None = None,
        counter: Counter = count_tokens,
    ) -> MountedContext:
        """Both mounts about a question, packed for a prompt under one token budget."""
        budget = validate.count(tokens, "tokens", at_most=limits.CONTEXT_MAX_TOKENS)
        found = self.recall(
            query, k=limits.CONTEXT_MAX_HITS, mount=mount, min_relevance=min_relevance
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

    def get(self, id: str, *, mount: str | None = None) -> Mounted[Record | Episode]:
        """One record or episode by id, in any state, from the mount that has it."""
        name, _, found = self._find(id, mount)
        return Mounted(mount=name, value=found)

    def history(self, id: str, *, mount: str | None = None) -> Mounted[list[Version]]:
        """Every version of a record, oldest first."""
        name, memory, found = self._find(id, mount)
        return Mounted(mount=name, value=memory.history(found.id))

    def why(self, id: str, *, mount: str | None = None) -> Mounted[Why]:
        """The evidence and history of a record."""
        name, memory, found = self._find(id, mount)
        return Mounted(mount=name, value=memory.why(found.id))

    def close(self) -> None:
        """Closes both; closing twice is allowed."""
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

    # Shared by the calls.

    def _default(self) -> Mount:
        """The mount for a write that does not name one."""
        project = self._places.get("project")
        return "project" if project and (self._named or project.has_place()) else "me"

    def _place(self, mount: str) -> tuple[Mount, _Place]:
        if mount == "project" and "project" in self._places:
            return "project", self._places["project"]
        if mount not in MOUNTS:
            raise InvalidInput(f"unknown mount {mount!r}", hint="use project or me")
        return "me", self._places["me"]

    def _ask_each(
        self, ask: Callable[[Memory], T], mount: str | None
    ) -> tuple[list[tuple[Mount, T]], list[str]]:
        """Each mount's answer; if one of two cannot be read, the other still answers."""
        asked: list[Mount] = list(self._places) if mount is None else [self._place(mount)[0]]
        found: list[tuple[Mount, T]] = []
        failed: dict[Mount, RecollectError] = {}
        for name in asked:
            try:
                found += [(each, ask(memory)) for each, memory in self.readers(name)]
            except (IntegrityError, Unavailable) as error:
                failed[name] = error
        if failed and not found:
            raise next(iter(failed.values()))
        note = "the memory {} could not be read ({}) and was left out; run `recollect doctor`"
        return found, [note.format(name, error.code) for name, error in failed.items()]

    def _find(self, id: str, mount: str | None) -> tuple[Mount, Memory, Record | Episode]:
        """The first mount that has the id, the project's before the person's own."""
        for name, memory in self.readers(mount):
            try:
                return name, memory, memory.get(id, include=INCLUDES)
            except NotFound:
                continue
        raise NotFound(f"nothing here has the id {id!r}", hint="recall shows the ids")


def _in_one_order(
    found: Iterable[tuple[Mount, Iterable[Hit]]], at_most: int
) -> tuple[Mounted[Hit], ...]:
    """Merges the hits of the mounts by relevance; each mount's own order is kept.

    Equally relevant hits alternate, so that a large project does not crowd out a person's memory.
    """
    merged = merge(*(_ranked(mount, hits) for mount, hits in found), key=_by_relevance)
    return tuple(hit for _, hit in islice(merged, at_most))


def _ranked(mount: Mount, hits: Iterable[Hit]) -> Iterator[tuple[int, Mounted[Hit]]]:
    return ((rank, Mounted(mount=mount, value=hit)) for rank, hit in enumerate(hits))


def _by_relevance(ranked: tuple[int, Mounted[Hit]]) -> tuple[float, int]:
    rank, hit = ranked
    return -hit.value.relevance, rank
