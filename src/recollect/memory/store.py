"""``Store``: a workspace or a server with many memories.

Responsible for opening a place and for the spaces that were opened there. Leaves each memory to
``memory.memory``. Invariant: handles of one space share it, so closing one closes all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, Self

from msgspec import structs

from recollect.compose import Embedders, open_backend, restore_backup
from recollect.config import AUTO, Settings, Where, keys_folder, load
from recollect.errors import InvalidInput, Unsupported
from recollect.index.caches import forget_texts
from recollect.memory.handle.handle import Handle, named
from recollect.memory.memory import MAKING, Memory, service_memory
from recollect.memory.tokens import Tokens
from recollect.model import validate
from recollect.model.values import Drop, Dropped, Token
from recollect.places import known
from recollect.places.move import move_if_needed
from recollect.store.checkpoints.seen_heads import forget_dropped
from recollect.store.port import Backend, Space
from recollect.store.seam import REAL, Seam
from recollect.store.tokens.tokens import given_token

if TYPE_CHECKING:  # loaded only if there is work, or a service
    from recollect.client.asking import Handle as Remote
    from recollect.memory.jobs.jobs import Jobs


class Store:
    """A workspace or server with many memories; open one for each process."""

    def __init__(
        self,
        backend: Backend,
        settings: Settings,
        seam: Seam = REAL,
        *,
        embedders: Embedders | None = None,
    ) -> None:
        self._backend = backend
        self._seam = seam
        self._spaces: dict[tuple[str, bool], Space] = {}
        self._embedders = embedders or Embedders(settings, seam)
        self.settings = settings

    @classmethod
    def open(
        cls,
        where: Where = None,
        *,
        embedder: str = AUTO,
        settings: Settings | None = None,
        token: str | None = None,
    ) -> Store:
        """Open the store at a place, or the nearest one.

        Args:
            where: A folder, ``:memory:``, a ``postgresql://`` address, one of an installed engine,
                or that of a service, ``https://…``. By default ``RECOLLECT_STORE``, else the
                memory of the repository, else the nearest ``.recollect`` folder, else
                ``~/.recollect``.
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
            return _service_store().open(settings=settings)
        settings = move_if_needed(settings)
        return cls(open_backend(settings), settings)

    @classmethod
    def restore_backup(cls, backup: str | os.PathLike[str], where: Where) -> Memory:
        """Create a memory from a backup, and open it.

        Args:
            backup: The folder of the backup.
            where: A folder that holds no memory of that name yet.

        Raises:
            Unavailable: One of the folders could not be read or written.
            IntegrityError: The backup is damaged.
        """
        settings = load(where)
        name = restore_backup(Path(backup), settings)
        return Memory.open(space=name, settings=settings)

    @property
    def where(self) -> str:
        """The folder or address, without secrets."""
        return self._backend.where

    def space(self, name: str = "main", *, create: bool = True) -> Memory:
        """The memory of one user, project or team; nothing is created before its first use.

        Args:
            name: The name of the space.
            create: False to refuse a space that does not exist.
        """
        name = validate.space_name(name)
        space = self._opened(name, create=create)
        close = partial(self._close, (name, create), space)
        embedders, person = self._embedders, named(self.settings)
        return Memory(Handle(space, self._seam, close=close, embedders=embedders, name=person))

    def _opened(self, name: str, *, create: bool) -> Space:
        asked = name, create
        space = self._spaces.get(asked)
        if space is None or space.is_dropped or space.is_closed:
            space = self._spaces[asked] = self._backend.space(name, create=create)
        return space

    def entered(self, token: str) -> Store:
        """The same store for the holder of a token: it opens and allows what the token does.

        Connections, open files and embedders are shared with this store, which stays open when the
        other one is closed. Every call asks whether the token is still valid. A memory that belongs
        to others and one that does not exist are refused in the same words.

        Args:
            token: The token, as it was shown when it was created.

        Raises:
            InvalidInput: This is not a token.
            Forbidden: At the first call: the token is not one of this store, or has ended.
        """
        backend = self._backend.entered(given_token(token), self._opened)
        settings = structs.replace(self.settings, token=None)
        return Store(backend, settings, self._seam, embedders=self._embedders)

    def token(self) -> Token | None:
        """What the token that this store was entered with allows; None without one."""
        return self._backend.token()

    @property
    def tokens(self) -> Tokens:
        """The tokens that open memories of this store."""
        return Tokens(self._backend.tokens, self._seam)

    @property
    def jobs(self) -> Jobs:
        """The background work in memories of this store."""
        from recollect.memory.jobs.jobs import Jobs

        return Jobs(self._backend.jobs, self.space, self._seam)

    def spaces(self) -> list[str]:
        """The names of the memories that exist here."""
        return self._backend.spaces()

    def heads(self, names: Iterable[str]) -> dict[str, int]:
        """The position of each of these memories: cheap, to see which of many have changed.

        Args:
            names: The names of spaces; those that do not exist here are left out of the answer.

        Raises:
            InvalidInput: It is one name, or a name cannot be one of a space.
        """
        if isinstance(names, str):
            raise InvalidInput("names is a list of names, not one name", hint=f"use [{names!r}]")
        return self._backend.heads([validate.space_name(name) for name in names])

    def drop(self, name: str, *, reason: str | None = None, dry_run: bool = False) -> Drop:
        """Remove a memory whole: its ledger, its index and its copies here. It cannot be undone.

        A note stays (``dropped``): its name, its last event, when, by whom and why. Handles of it
        are refused from then on, in every process. The name can be used for a new memory.

        Args:
            name: The name of the space; there is no default.
            reason: Why; it stays in the note, so it should not repeat what is removed.
            dry_run: True to remove nothing and only report what would be removed.

        Raises:
            NotFound: The space does not exist.
            Forbidden: The token lacks the verb ``drop``, or is for one user.
            Unavailable: Another process is writing to it.
        """
        name, reason = validate.space_name(name), validate.reason(reason)
        if validate.flag(dry_run, "dry_run"):
            return self._backend.would_drop(name)
        done = self._backend.drop(name, reason)
        for asked, space in list(self._spaces.items()):
            if asked[0] == name:
                self._close(asked, space)
        known.forget(self.settings, name, self._seam)
        if done.dropped is not None:
            forget_dropped(keys_folder(), done.dropped.first, self._seam)
        forget_texts()
        return done

    def dropped(self) -> list[Dropped]:
        """The notes about the memories that were dropped here, oldest first."""
        return self._backend.dropped()

    def close(self) -> None:
        """Close every memory that came from here."""
        for asked, space in list(self._spaces.items()):
            self._close(asked, space)
        self._backend.close()

    def _close(self, asked: tuple[str, bool], space: Space) -> None:
        if self._spaces.get(asked) is space:
            del self._spaces[asked]
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


def _service_store() -> type[Store]:
    """What a store of a service is; it is made as ``service_memory`` is."""
    with MAKING:
        return _made_store()


@cache
def _made_store() -> type[Store]:
    from recollect.client.jobs import Jobs as Sent
    from recollect.memory.jobs.jobs import Jobs
    from recollect.memory.remote.store import StoreCalls

    class ServiceJobs(Sent, Jobs):
        """The background work of a service."""

        def _worker(self, kinds: Iterable[str] = (), *, closes: bool = False) -> NoReturn:
            raise Unsupported(
                "a client does no jobs",
                hint="start `recollect serve --work`, or `recollect admin work` where the store is",
            )

    class ServiceStore(StoreCalls, Store):
        """The memories of a service."""

        def space(self, name: str = "main", *, create: bool = True) -> Memory:
            """The memory of one user, project or team; nothing is created before its first use."""
            made: Callable[[Remote], Memory] = service_memory()
            return made(self._space(name, create=create))

        @property
        def jobs(self) -> ServiceJobs:
            """The background work in memories of this service."""
            return ServiceJobs(self._transport, self.spaces)

    return ServiceStore


def give_up(store: Store) -> None:
    """Ends every wait for a server at once, because the process ends; closing it follows."""
    store._backend.give_up()
