"""The same face, awaited: ``AsyncStore`` and ``AsyncMemory``.

Responsible for carrying each call to a worker thread and its answer back. Leaves everything else
to ``Store`` and ``Memory``. Invariant: one call is one thread hop, and a store has no more than
``WORKERS_MAX_COUNT`` threads at work; further calls wait their turn without a thread.

    async with await AsyncMemory.open("my-memory") as memory:
        async with asyncio.timeout(2):
            await memory.remember("Tea is at four.", command="tea-1")

**Deadlines and cancellation.** ``asyncio.timeout`` and ``task.cancel()`` bound how long the caller
waits; they never cut an operation in half.

- A call that still waits for a thread when it is cancelled never happens.
- A call that a thread has begun runs to its end: a write is then whole and durable, and nobody
  hears the answer. So a write that was cancelled or timed out may still have happened. With
  ``command=`` the same call again is safe: it returns what came of the first.
- A batch whose block is cancelled before its end writes nothing.
- Closing a store, or a memory made by ``AsyncMemory.open``, waits for every call that was made
  before, also for those that nobody waits for any more. A cancelled ``close`` may go on; call it
  again to be sure.

Handles belong to no event loop and may be shared by several. After a fork they refuse.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

from msgspec import UNSET, UnsetType

from recollect.config import AUTO, Settings
from recollect.errors import Unavailable
from recollect.lifecycle.commands import Act
from recollect.memory import Batch, Memory, Store
from recollect.memory.acts import Content
from recollect.memory.face import List, Where
from recollect.memory.frames import Frames
from recollect.memory.receipts import Receipts
from recollect.model.events import Trust
from recollect.model.frames import Frame
from recollect.model.instants import Moment
from recollect.model.limits import WORKERS_MAX_COUNT
from recollect.model.validate import Json
from recollect.model.values import (
    Backup,
    Carried,
    Context,
    Embedded,
    Episode,
    Erasure,
    Finding,
    Forgotten,
    Link,
    Rebuilt,
    Recall,
    Receipt,
    Record,
    Replay,
    Scope,
    Sealed,
    SpaceStatus,
    Verification,
    Version,
    Why,
    WhyNot,
)
from recollect.recall.pack import Counter, count_tokens
from recollect.store.port import Progress

P = ParamSpec("P")
T = TypeVar("T")


class Workers:
    """The threads of one store."""

    def __init__(self, count: int = WORKERS_MAX_COUNT) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="recollect")
        self._process = os.getpid()

    async def run(self, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """One hop: the call happens in a thread, in the caller's context."""
        if os.getpid() != self._process:  # the threads stayed behind, and a call would wait forever
            raise Unavailable(
                "this memory was opened before a fork", hint="open it again in the child"
            )
        # A cancelled waiter takes its call out of the queue, unless a thread has begun it.
        work = partial(contextvars.copy_context().run, call, *args, **kwargs)
        try:
            answer = asyncio.get_running_loop().run_in_executor(self._pool, work)
        except RuntimeError as error:
            raise Unavailable("this memory is closed", hint="open it again") from error
        return await answer

    async def close(self, last: Callable[[], None]) -> None:
        """Takes no more calls, waits for those there are, then does the last thing."""
        await asyncio.to_thread(self._end, last)

    def _end(self, last: Callable[[], None]) -> None:
        self._pool.shutdown()
        last()


class AsyncStore:
    """A workspace or server with many memories; open one for each process."""

    def __init__(self, store: Store, workers: Workers | None = None) -> None:
        self._store = store
        self._workers = workers or Workers()
        self.settings = store.settings

    @classmethod
    async def open(
        cls, where: Where = None, *, embedder: str = AUTO, settings: Settings | None = None
    ) -> AsyncStore:
        """The store at a place, or the nearest one (see ``recollect.config.load``)."""
        workers = Workers()
        store = await workers.run(Store.open, where, embedder=embedder, settings=settings)
        return cls(store, workers)

    @property
    def where(self) -> str:
        """A place a person can look at."""
        return self._store.where

    async def space(self, name: str = "main", *, create: bool = True) -> AsyncMemory:
        """The memory of one user, project or team; nothing is touched before it is used."""
        memory = await self._workers.run(self._store.space, name, create=create)
        return AsyncMemory(memory, self._workers, close=partial(self._workers.run, memory.close))

    async def spaces(self) -> list[str]:
        """The names of the memories that exist here."""
        return await self._workers.run(self._store.spaces)

    async def close(self) -> None:
        """Closes every memory that came from here."""
        await self._workers.close(self._store.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"Async{self._store!r}"


class AsyncFrames:
    """The frames of a memory."""

    def __init__(self, frames: Frames, workers: Workers) -> None:
        self._frames = frames
        self._run = workers.run

    async def list(self) -> list[Frame]:
        """The built-in frames, then those that somebody set, by name."""
        return await self._run(self._frames.list)

    async def get(self, name: str) -> Frame:
        """One frame."""
        return await self._run(self._frames.get, name)

    async def since(self, name: str) -> str:
        """When a frame that somebody set was set as it is."""
        return await self._run(self._frames.since, name)

    async def set(
        self, frame: Frame | Mapping[str, object], *, command: str | None = None
    ) -> Frame:
        """Lets a frame be as stated, whole; a mapping is read as its JSON would be."""
        return await self._run(self._frames.set, frame, command=command)

    async def drop(self, name: str, *, erase: bool = False, command: str | None = None) -> None:
        """Takes a frame away; with ``erase`` every byte of it, for good."""
        await self._run(self._frames.drop, name, erase=erase, command=command)


class AsyncReceipts:
    """The receipts of a memory."""

    def __init__(self, receipts: Receipts, workers: Workers) -> None:
        self._receipts = receipts
        self._run = workers.run

    async def list(self, *, limit: int = 100, after: str | None = None) -> list[Receipt]:
        """Receipts, newest first; ``after`` is the last id of a page."""
        return await self._run(self._receipts.list, limit=limit, after=after)

    async def get(self, id: str) -> Receipt:
        """One receipt."""
        return await self._run(self._receipts.get, id)

    async def erase(self, id: str, *, reason: str | None = None) -> None:
        """Removes every byte of a receipt, for good; the memory that it names stays."""
        await self._run(self._receipts.erase, id, reason=reason)


class AsyncMemory:
    """One memory: remember, observe, recall, correct, forget, and ask why."""

    def __init__(
        self,
        memory: Memory,
        workers: Workers | None = None,
        *,
        close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """A face for a memory that is open already; closing it closes that memory."""
        self._memory = memory
        self._workers = workers or Workers()
        self._close = close or partial(self._workers.close, memory.close)
        self._run = self._workers.run

    # Opening and narrowing.

    @classmethod
    async def open(
        cls,
        where: Where = None,
        *,
        space: str = "main",
        embedder: str = AUTO,
        settings: Settings | None = None,
    ) -> AsyncMemory:
        """The memory at a place, or the nearest one; closing it closes its store too."""
        workers = Workers()
        opened = workers.run(Memory.open, where, space=space, embedder=embedder, settings=settings)
        return cls(await opened, workers)

    def scoped(
        self,
        *,
        user: str | None = None,
        session: str | None = None,
        agent: str | None = None,
        origin: Trust | None = None,
    ) -> AsyncMemory:
        """The same memory for one user, session or agent, or with less trust; never wider."""
        return self._like(
            self._memory.scoped(user=user, session=session, agent=agent, origin=origin)
        )

    async def at(self, position: int | datetime | str) -> AsyncMemory:
        """The memory as it was at a position of the ledger or at an instant; read-only."""
        return self._like(await self._run(self._memory.at, position))

    @property
    def name(self) -> str:
        """The name of the space."""
        return self._memory.name

    @property
    def where(self) -> str:
        """A place a person can look at."""
        return self._memory.where

    @property
    def scope(self) -> Scope:
        """For whom, in which session and by which agent this handle speaks."""
        return self._memory.scope

    @property
    def trust(self) -> Trust:
        """The trust with which this handle writes: ``person``, ``agent`` or ``unverified``."""
        return self._memory.trust

    @property
    def position(self) -> Awaitable[int]:
        """How many events lie behind what this handle sees."""
        return self._run(lambda: self._memory.position)

    async def run(self, work: Callable[[Memory], T]) -> T:
        """Several calls in one hop: ``work`` gets the memory itself and runs in a thread."""
        return await self._run(work, self._memory)

    # Writing.

    async def submit(self, *made: Act) -> None:
        """Acts that happen together or not at all, for faces that have words of their own."""
        await self._run(self._memory.submit, *made)

    async def remember(
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
        """Hold a belief. Under a ``key`` it takes the place of the record that had the key."""
        return await self._run(
            self._memory.remember,
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
            command=command,
        )

    async def observe(
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
        return await self._run(
            self._memory.observe,
            content,
            role=role,
            session=session,
            at=at,
            metadata=metadata,
            id=id,
            command=command,
        )

    async def revise(
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
        """Correct a belief; the old words stay in its history only."""
        return await self._run(
            self._memory.revise,
            id,
            text,
            reason=reason,
            evidence=evidence,
            data=data,
            expires=expires,
            command=command,
        )

    async def forget(
        self,
        id: str,
        *,
        sources: str = "shadow",
        reason: str | None = None,
        command: str | None = None,
    ) -> Forgotten:
        """Take a record or an episode out of default reads; ``restore`` brings it back."""
        return await self._run(
            self._memory.forget, id, sources=sources, reason=reason, command=command
        )

    async def restore(self, id: str, *, command: str | None = None) -> Record | Episode:
        """Undo a forgetting, or bring an archived record back."""
        return await self._run(self._memory.restore, id, command=command)

    async def erase(
        self,
        id: str,
        *,
        sources: bool = True,
        reason: str | None = None,
        dry_run: bool = False,
    ) -> Erasure:
        """Remove every byte of a record or an episode from this memory, for good."""
        return await self._run(
            self._memory.erase, id, sources=sources, reason=reason, dry_run=dry_run
        )

    async def used(
        self,
        context: Context | str | None,
        ids: Iterable[str] | None = None,
        *,
        command: str | None = None,
    ) -> List[Record]:
        """Say which of the packed records were of use; this, not recall, reinforces them."""
        return await self._run(self._memory.used, context, ids, command=command)

    async def tag(
        self, id: str, *add: str, remove: Iterable[str] = (), command: str | None = None
    ) -> Record:
        """Put tags on a record or take them off."""
        return await self._run(self._memory.tag, id, *add, remove=remove, command=command)

    async def link(
        self,
        source: str,
        target: str,
        kind: str = "relates_to",
        *,
        weight: float = 1.0,
        command: str | None = None,
    ) -> Link:
        """Relate two records; the relation is typed and directed."""
        return await self._run(
            self._memory.link, source, target, kind, weight=weight, command=command
        )

    async def unlink(
        self, source: str, target: str, kind: str = "relates_to", *, command: str | None = None
    ) -> None:
        """End a relation."""
        await self._run(self._memory.unlink, source, target, kind, command=command)

    @asynccontextmanager
    async def batch(self, *, command: str | None = None) -> AsyncIterator[Batch]:
        """Several writes that happen together or not at all, with one fsync."""
        batch = self._memory.batch(command=command)
        yield batch.__enter__()  # gathering is no I/O: only the end of the block takes a hop
        await self._run(batch.__exit__, None, None, None)

    # Reading.

    async def get(self, id: str, *, include: Iterable[str] = ()) -> Record | Episode:
        """One record or episode by id (or a record by its content id)."""
        return await self._run(self._memory.get, id, include=include)

    async def keyed(self, key: str, *, include: Iterable[str] = ()) -> Record:
        """The record that holds a key, for the user this handle speaks for."""
        return await self._run(self._memory.keyed, key, include=include)

    async def list(
        self,
        *,
        where: str | None = None,
        include: Iterable[str] = (),
        limit: int = 100,
        after: str | None = None,
    ) -> List[Record]:
        """Records by their last change, newest first; ``after`` is the last id of a page."""
        return await self._run(
            self._memory.list, where=where, include=include, limit=limit, after=after
        )

    async def episodes(
        self,
        *,
        where: str | None = None,
        include: Iterable[str] = (),
        limit: int = 100,
        after: str | None = None,
    ) -> List[Episode]:
        """Episodes, newest first; ``after`` is the last id of a page."""
        return await self._run(
            self._memory.episodes, where=where, include=include, limit=limit, after=after
        )

    async def recall(
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
        return await self._run(
            self._memory.recall,
            query,
            k=k,
            unit=unit,
            where=where,
            include=include,
            valid_at=valid_at,
            min_relevance=min_relevance,
        )

    async def recall_many(
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
        return await self._run(
            self._memory.recall_many,
            queries,
            k=k,
            unit=unit,
            where=where,
            include=include,
            valid_at=valid_at,
            min_relevance=min_relevance,
        )

    async def context(
        self,
        query: str,
        *,
        tokens: int | None = None,
        frame: str = "task",
        receipt: bool = True,
        counter: Counter = count_tokens,
    ) -> Context:
        """Memory about a question, packed for a prompt under a token budget."""
        return await self._run(
            self._memory.context,
            query,
            tokens=tokens,
            frame=frame,
            receipt=receipt,
            counter=counter,
        )

    async def replay(
        self,
        receipt: str | Context,
        *,
        query: str | None = None,
        counter: Counter = count_tokens,
    ) -> Replay:
        """The very text that a context handed out; what was erased since shows as erased."""
        return await self._run(self._memory.replay, receipt, query=query, counter=counter)

    async def flush(self) -> None:
        """Writes the receipts that wait for the next append."""
        await self._run(self._memory.flush)

    @property
    def frames(self) -> AsyncFrames:
        """The ways of looking: built in, and set by somebody."""
        return AsyncFrames(self._memory.frames, self._workers)

    @property
    def receipts(self) -> AsyncReceipts:
        """What contexts handed out."""
        return AsyncReceipts(self._memory.receipts, self._workers)

    async def why_not(
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
        """Why a recall leaves a record or an episode out; with a frame, why a context does."""
        return await self._run(
            self._memory.why_not,
            id,
            query,
            frame=frame,
            tokens=tokens,
            counter=counter,
            k=k,
            unit=unit,
            where=where,
            include=include,
            valid_at=valid_at,
            min_relevance=min_relevance,
        )

    async def history(self, id: str) -> List[Version]:
        """Every version of a record, oldest first."""
        return await self._run(self._memory.history, id)

    async def why(self, id: str) -> Why:
        """Where a record comes from: who said it, on what evidence, in place of what."""
        return await self._run(self._memory.why, id)

    async def status(self) -> SpaceStatus:
        """Counts and position."""
        return await self._run(self._memory.status)

    # Upkeep. A `progress` callback is called in the worker thread.

    async def digest(self) -> str:
        """The state digest: equal digests mean the same records, episodes, links and history."""
        return await self._run(self._memory.digest)

    async def verify(self, progress: Progress | None = None, *, deep: bool = False) -> Verification:
        """Checks every line of the ledger and its segments: hashes, neighbours, the index."""
        return await self._run(self._memory.verify, progress, deep=deep)

    async def seal(self) -> Sealed:
        """Closes the active ledger file into a segment under ``sealed/``."""
        return await self._run(self._memory.seal)

    async def rebuild(self, progress: Progress | None = None) -> Rebuilt:
        """Throws the index away and folds the whole ledger again."""
        return await self._run(self._memory.rebuild, progress)

    async def embed(self, progress: Progress | None = None) -> tuple[Embedded, ...]:
        """Encodes every text that lacks vectors; says so for each embedder of this store."""
        return await self._run(self._memory.embed, progress)

    async def backup(
        self, target: str | os.PathLike[str] | None = None, progress: Progress | None = None
    ) -> Backup:
        """Copies the ledger to a new folder (by default ``backup/`` of the workspace)."""
        return await self._run(self._memory.backup, target, progress)

    async def copy_to(self, other: AsyncMemory, progress: Progress | None = None) -> Carried:
        """Brings to another place what its memory lacks of this one's events, as they are."""
        return await self._run(self._memory.copy_to, other._memory, progress)

    @classmethod
    async def restore_backup(cls, backup: str | os.PathLike[str], where: Where) -> AsyncMemory:
        """Makes a memory out of a backup, in a place that holds none of that name yet."""
        workers = Workers()
        return cls(await workers.run(Memory.restore_backup, backup, where), workers)

    async def doctor(self, progress: Progress | None = None) -> List[Finding]:
        """Looks at everything without changing it; says what is wrong and what to do."""
        return await self._run(self._memory.doctor, progress)

    async def accept_loss(self, *, reason: str | None = None) -> None:
        """Goes on from what the ledger still holds after a loss; leaves an event that says so."""
        await self._run(self._memory.accept_loss, reason=reason)

    async def close(self) -> None:
        """Lets go of files and connections; closing twice is fine."""
        await self._close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"Async{self._memory!r}"

    def _like(self, memory: Memory) -> AsyncMemory:
        """Another handle of the same space; it shares the threads and is closed with this one."""
        return AsyncMemory(memory, self._workers, close=self._close)
