"""``Memory``: the public API of one memory.

Responsible for opening a memory, for narrowing a handle and for moving it to the past. Leaves the
calls to the groups that it is made of: ``writing``, ``reading``, ``contexts``, ``leaving`` and
``doors``. Invariant: a handle's scope and trust only ever shrink.
"""

from __future__ import annotations

from datetime import datetime
from functools import cache
from threading import Lock
from types import TracebackType
from typing import Final, Self

from msgspec import structs

from recollect.compose import Embedders, open_backend
from recollect.config import AUTO, Settings, Where, load
from recollect.errors import Conflict, Forbidden, InvalidInput
from recollect.index.statements import NOW
from recollect.memory.contexts.contexts import Contexts
from recollect.memory.correction.leaving import Leaving
from recollect.memory.doors import Doors
from recollect.memory.handle.handle import Handle, named
from recollect.memory.handle.healed import heals
from recollect.memory.reading import Reading
from recollect.memory.settings import subjects_of
from recollect.memory.writing import Writing
from recollect.model import validate
from recollect.model.events import GENESIS, TRUST_RANK, Trust
from recollect.model.instants import instant
from recollect.model.rules import at_least
from recollect.model.values import MemoryScope
from recollect.places.move import move_if_needed

MAKING: Final = Lock()  # a class of a service is made once, also if several threads open one


@heals
class Memory(Writing, Reading, Contexts, Leaving, Doors):
    """One memory: remember, observe, recall, correct, forget, and ask why."""

    def __init__(self, handle: Handle | None = None) -> None:
        """A memory over a handle; ``Memory.open`` makes both."""
        if not isinstance(handle, Handle):
            given = "" if handle is None else validate.shown(handle)
            raise InvalidInput(
                "a memory is opened, not constructed", hint=f"use Memory.open({given})"
            )
        super().__init__(handle)

    @classmethod
    def open(
        cls,
        where: Where = None,
        *,
        space: str = "main",
        embedder: str = AUTO,
        settings: Settings | None = None,
        token: str | None = None,
    ) -> Memory:
        """Open the memory at a place, or the nearest one. Closing it closes its store too.

        Args:
            where: A folder, ``:memory:``, a ``postgresql://`` address, one of an installed engine,
                or that of a service, ``https://…``. By default ``RECOLLECT_STORE``, else the
                memory of the repository, else the nearest ``.recollect`` folder, else
                ``~/.recollect``.
            space: The name of the memory in its store.
            embedder: ``none``, ``static``, ``model:NAME``, ``onnx:FOLDER`` or an endpoint;
                ``auto`` by default.
            settings: Settings that were loaded before, instead of the other arguments.
            token: A token of that service or server; by default ``RECOLLECT_TOKEN``.

        Raises:
            ConfigError: The place cannot hold a store.
            Unavailable: The server or the folder cannot be used.
        """
        settings = settings or load(where, embedder=embedder, token=token)
        if settings.is_service:
            return service_memory().open(settings=settings, space=space)
        settings = move_if_needed(settings)
        name = validate.space_name(space)
        backend = open_backend(settings)
        opened = backend.space(name, create=True)

        def close() -> None:
            opened.close()
            backend.close()

        embedders = Embedders(settings)
        return cls(Handle(opened, close=close, embedders=embedders, name=named(settings)))

    def scoped(
        self,
        *,
        user: str | None = None,
        session: str | None = None,
        agent: str | None = None,
        trust: Trust | None = None,
        subject: str | None = None,
    ) -> Memory:
        """A handle on the same memory for one user, session or agent, or with less trust.

        Args:
            user: Reads and writes concern this user alone.
            session: Writes belong to this conversation.
            agent: Writes name this agent.
            trust: Writes have this trust: ``person``, ``agent`` or ``unverified``.
            subject: This user, whose memory is encrypted under a key of its own from now on.

        Raises:
            Forbidden: This handle is for another user, session or agent, or has less trust.
            Conflict: A subject is named, and this memory has none (``settings.set_subjects``).
        """
        mine = self._handle.actor
        if subject is not None and user not in (None, subject):
            raise InvalidInput("a handle is for one user: name user or subject, not both")
        if trust is not None and trust not in TRUST_RANK:
            raise InvalidInput(f"trust must be person, agent or unverified, not {trust!r}")
        if trust is not None and not at_least(mine.trust, trust):
            raise Forbidden(f"a handle with trust {mine.trust!r} cannot be raised to {trust!r}")
        actor = structs.replace(
            mine,
            trust=trust or mine.trust,
            user=_narrow("user", mine.user, user if subject is None else subject),
            session=_narrow("session", mine.session, session),
            agent=_narrow("agent", mine.agent, agent),
        )
        if subject is not None:
            self._declare(subject)
        return Memory(self._handle.narrowed(actor))

    def _declare(self, subject: str) -> None:
        self._handle.require_now()
        if subjects_of(self._handle) is None:
            raise Conflict(
                "this memory has no subjects yet",
                hint='let a person call settings.set_subjects("named"), or run '
                "`recollect init --subjects named`",
            )
        self._handle.space.subjects.declare(subject)

    def on(self, branch: str) -> Memory:
        """The memory with the changes of an open branch; what is written here waits there.

        ``remember``, ``revise`` and ``forget`` become proposals on the branch, and every read shows
        the memory as merging it would leave it, with the branch's side of each conflict and the
        trust of who wrote it. Other writes are refused, and a context leaves no receipt.

        Args:
            branch: Its name or its id; ``memory.branches.open`` opens one.

        Raises:
            NotFound: This handle sees no branch of that name.
            Conflict: The branch is closed.
        """
        from recollect.memory.handle.on_branch import branch_handle

        return Memory(branch_handle(self._handle, branch))

    def at(self, position: int | datetime | str) -> Memory:
        """The memory as it was; a handle that only reads.

        Args:
            position: A position of the ledger, or an instant.
        """
        handle = self._handle
        with handle.space.reading() as reads:
            last = reads.position()
            newest = min(handle.position, last.seq if last else 0)
            if isinstance(position, int):
                if position < 0:
                    raise InvalidInput(f"there is no position {position}")
                seq = min(position, newest)
            else:
                seq = min(reads.seq_at(instant(position)), newest)
            command = reads.command_at(seq)
        then = handle.moved(command.seq, command.at) if command else handle.moved(0, GENESIS.at)
        return Memory(then)

    @property
    def where(self) -> str:
        """The folder or address, without secrets."""
        return self._handle.space.where

    @property
    def scope(self) -> MemoryScope:
        """The space, the user, session and agent of this handle, and its trust."""
        mine = self._handle.actor
        return MemoryScope(
            user=mine.user,
            session=mine.session,
            agent=mine.agent,
            space=self._handle.space.name,
            trust=mine.trust,
        )

    def close(self) -> None:
        """Release files and connections; closing twice is fine."""
        self._handle.close()

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
        past = "" if self._handle.position == NOW else f", at={self._handle.position}"
        return f"Memory({self.where!r}, space={self._handle.space.name!r}{past})"


def service_memory() -> type[Memory]:
    """What a memory of a service is: all calls are those of its client, and the type is ours.

    It is made when one is opened, because other programs need not load the client.
    """
    with MAKING:
        return _service_memory()


@cache
def _service_memory() -> type[Memory]:
    from recollect.memory.remote.memory import MemoryCalls

    class ServiceMemory(MemoryCalls, Memory):
        """A memory that a service keeps."""

    return ServiceMemory


def _narrow(what: str, mine: str | None, wanted: str | None) -> str | None:
    """A part of the scope, set once."""
    if wanted is None:
        return mine
    wanted = validate.name(wanted, what)
    if mine is not None and mine != wanted:
        raise Forbidden(f"this handle is for {what} {mine!r} only")
    return wanted
