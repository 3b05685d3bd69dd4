"""The two memories an assistant uses side by side: the project's and the person's own.

Responsible for asking both and finding which of them has an id. Leaves one mount to ``place``, the
shape of answers to ``mounted`` and finding the two to ``config``. Invariants: reading creates
nothing; a mount is opened only when it is used; unverified hits of either stay apart; a project's
memory that is not known (``places.known``) is neither read nor written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar, Unpack

from msgspec import structs

from recollect.assistants.mounted import (
    MOUNTS,
    Mount,
    Mounted,
    MountedContext,
    MountedRecall,
    in_one_order,
)
from recollect.assistants.place import OpenPlace, Place, Scoping
from recollect.assistants.typed import quoted
from recollect.compose import searching
from recollect.config import Places, Settings, Where, places
from recollect.errors import (
    Ambiguous,
    InvalidInput,
    NotFound,
    RecollectError,
)
from recollect.lifecycle.records.names import MORE_OF_THE_ID
from recollect.memory import Memory
from recollect.model import limits, validate
from recollect.model.events import Role, Trust
from recollect.model.instants import Moment
from recollect.model.messages import Content
from recollect.model.presets import Template, Units
from recollect.model.record_fields import RecordFields
from recollect.model.rules import at_least, lowest
from recollect.model.validate import Json
from recollect.model.values import (
    INCLUDES,
    Episode,
    Forgotten,
    Include,
    Proposal,
    Quote,
    Recall,
    Record,
    Version,
    Why,
)
from recollect.places import known
from recollect.recall.pack import Counter, count_tokens, hits_for, pack
from recollect.recall.visibility import check_include
from recollect.store.seam import REAL, Seam

T = TypeVar("T")


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
        self._places: dict[Mount, Place | OpenPlace] = {}
        if not where.is_one:
            self._places["project"] = Place(where.project, space, seam)
        self._places["personal"] = Place(where.personal, "main", seam)
        self._where = where
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

    @classmethod
    def around(cls, memory: Memory, settings: Settings, *, scope: Scoping) -> Mounts:
        """One memory that is open already, as ``me``; it is closed where it was opened."""
        mounts = cls(Places(project=settings, personal=settings, named=False), scope=scope)
        mounts._places = {"personal": OpenPlace(memory, settings)}
        return mounts

    def lowered(self, trust: Trust) -> Mounts:
        """The same mounts with less trust; never more."""
        other = copy(self)
        other._scope = structs.replace(
            self._scope, trust=lowest([self._scope.trust or "person", trust])
        )
        return other

    def of_agent(self, label: str) -> Mounts:
        """The same mounts for an agent that calls itself so, unless an agent is named already."""
        if self._scope.agent is not None or not validate.is_own_name(label):
            return self
        other = copy(self)
        other._scope = structs.replace(self._scope, agent=label)
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
        adopt = (f"{known.ELSEWHERE}; {known.DECIDES}",) if unknown else ()
        missing = (place.instead() for place in self._places.values())
        return (*adopt, *(why for why in missing if why is not None))

    def by_words(self, mount: str | None = None) -> str | None:
        """How to search by meaning too, if a memory that is asked is searched by words alone."""
        for name, _ in self.readers(mount):
            way = searching(self._place(name)[1].settings)
            if way.by_words:
                return str(way)
        return None

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

        In a git repository it goes to the project's memory, which the first write creates; in
        another folder to the project's memory if there is one, else to the person's own.
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
        said_at: Moment | None = None,
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
            said_at=said_at,
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
        evidence: Iterable[str | Quote] = (),
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

    def propose(
        self,
        text: str | None,
        *,
        id: str | None = None,
        key: str | None = None,
        about: str | None = None,
        reason: str | None = None,
        evidence: Iterable[str | Quote] = (),
        mount: str | None = None,
    ) -> Mounted[Proposal]:
        """Ask a person for a change, in the mount that has ``id``, or that ``remember`` uses."""
        if id is None:
            name, memory = self.writer(mount)
        else:
            name, memory, found = self._find(id, mount)
            id = found.id
        made = memory.review.propose(
            text, target=id, key=key, about=about, reason=reason, evidence=evidence
        )
        return Mounted(mount=name, value=made)

    def quoted(
        self, words: str, *, id: str | None = None, mount: str | None = None
    ) -> Quote | None:
        """Words that a person said of late, as a quote; None if they did not.

        They are looked for in the mount that has ``id``, else in the one that is written to.
        """
        if id is not None:
            return quoted(self._find(id, mount)[1], words)
        readers = self.readers(mount or self._default())
        return quoted(readers[0][1], words) if readers else None

    # Reading.

    def recall(
        self,
        query: str,
        *,
        k: int = 10,
        unit: Units = "any",
        mount: str | None = None,
        filter: str | None = None,
        include: Iterable[Include] = (),
        min_relevance: float | None = None,
    ) -> MountedRecall:
        """What the mounts hold about a question, in one order; ``mount`` asks one of them."""
        k = validate.count(k, "k", at_most=limits.RECALL_MAX_HITS)
        words = check_include(include)

        def ask(memory: Memory) -> Recall:
            return memory.recall(
                query, k=k, unit=unit, filter=filter, include=words, min_relevance=min_relevance
            )

        found, failed = self.ask_each(ask, mount)
        if failed and not any(answer.hits or answer.unverified for _, answer in found):
            raise next(iter(failed.values()))  # "nothing was found" would be wrong
        notes = [left_out(name, error) for name, error in failed.items()]
        notes += dict.fromkeys(answer.degraded for _, answer in found if answer.degraded)
        return MountedRecall(
            query=query,
            hits=in_one_order([(name, answer.hits) for name, answer in found], k),
            unverified=in_one_order(
                [(name, answer.unverified) for name, answer in found],
                limits.UNVERIFIED_MAX_HITS,
            ),
            waiting=sum(answer.waiting for _, answer in found),
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
        found = self.recall(query, k=hits_for(budget), mount=mount, min_relevance=min_relevance)
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
        return "project" if self._where.writes_to_project else "personal"

    def _place(self, mount: str) -> tuple[Mount, Place | OpenPlace]:
        if mount == "project" and "project" in self._places:
            return "project", self._places["project"]
        if mount not in MOUNTS:
            raise InvalidInput(f"unknown memory {mount!r}", hint="use project or personal")
        return "personal", self._places["personal"]

    def ask_each(
        self, ask: Callable[[Memory], T], mount: str | None
    ) -> tuple[list[tuple[Mount, T]], dict[Mount, RecollectError]]:
        """Each mount's answer, or its error: if one cannot be read, the other still answers."""
        asked: list[Mount] = list(self._places) if mount is None else [self._place(mount)[0]]
        found: list[tuple[Mount, T]] = []
        failed: dict[Mount, RecollectError] = {}
        for name in asked:
            try:
                found += [(each, ask(memory)) for each, memory in self.readers(name)]
            except InvalidInput:
                raise  # the call is wrong, whatever the mount
            except RecollectError as error:
                failed[name] = error
        return found, failed

    def _find(self, id: str, mount: str | None) -> tuple[Mount, Memory, Record | Episode]:
        return holder_of(self.readers(mount), id)


def left_out(name: Mount, error: RecollectError) -> str:
    """Why a mount is missing from an answer: without it, the answer would look complete."""
    why = error.message if error.hint is None else f"{error.message}; {error.hint}"
    return f"the memory {name} could not be read ({error.code}) and was left out: {why}"


def holder_of(
    memories: Iterable[tuple[Mount, Memory]], id: str
) -> tuple[Mount, Memory, Record | Episode]:
    """What an id names, in the project's memory before the person's own.

    A key or the beginning of an id may name something in each: then the caller must choose. So it
    must if an id in one is a key in the other, unless the record with the key has less trust.
    """
    found: list[tuple[Mount, Memory, Record | Episode]] = []
    unclear: Ambiguous | None = None
    for name, memory in memories:
        try:
            found.append((name, memory, memory.get(id, include=INCLUDES)))
        except NotFound:
            continue
        except Ambiguous as error:
            unclear = error
    exact = [one for one in found if id in (one[2].id, getattr(one[2], "content_id", None))]
    if unclear is not None and not (exact and unclear.hint == MORE_OF_THE_ID):
        raise unclear
    if not found:
        raise NotFound(f"nothing here has the id {id!r}", hint="recall shows the ids")
    meant = [one for one in found if _is_key_over(one[2], id, exact[0][2])] if exact else found
    if meant and len(found) > 1:
        listed = " and ".join(f"{value.id} in {name}" for name, _, value in found)
        raise Ambiguous(
            f"{id!r} could mean {listed}", hint="use one of these ids, or name the memory"
        )
    return (exact or found)[0]


def _is_key_over(value: Record | Episode, key: str, named: Record | Episode) -> bool:
    """True if this record holds the key with at least the trust of what has it as an id."""
    is_holder = isinstance(value, Record) and value.key == key and value.status == "active"
    return is_holder and value.id != key and at_least(value.trust, named.trust)
