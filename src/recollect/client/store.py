"""``Store``: the memories that a token opens on a service."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType
from typing import Any, NoReturn, Self

import msgspec

from recollect.client.asking import Handle, Opening
from recollect.client.looking import position_of
from recollect.client.memory import Memory
from recollect.client.transport import Transport
from recollect.errors import InvalidInput, NotFound, Unsupported
from recollect.model import validate, wire
from recollect.model.values import Drop, Dropped, Token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from recollect.client.jobs import Jobs
    from recollect.client.tokens import Tokens


class _Name(msgspec.Struct, frozen=True):
    name: str


class _Names(msgspec.Struct, frozen=True):
    items: list[_Name]


class _Dropping(msgspec.Struct, frozen=True):
    space: str
    records: int | None
    episodes: int | None
    events: int | None
    size_bytes: int
    digest: str
    dropped: Dropped | None


class StoreCalls:
    """What a store of a service can do, but for opening a memory."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.settings: Any = None  # set if it was opened by its settings

    @classmethod
    def open(
        cls,
        where: str | os.PathLike[str] | None = None,
        *,
        token: str | None = None,
        timeout_s: float = 60.0,
    ) -> Self:
        """Open a service.

        Args:
            where: Its address, such as ``https://memory.example``; by default ``RECOLLECT_STORE``.
            token: A token of the service; by default ``RECOLLECT_TOKEN``.
            timeout_s: How long one call may take, retries included.

        Raises:
            ConfigError: The address is not one of a service, or there is no token.
        """
        return cls(Transport.of(where, token, timeout_s=timeout_s))

    @classmethod
    def restore_backup(
        cls, backup: str | os.PathLike[str], where: str | os.PathLike[str] | None
    ) -> NoReturn:
        """Create a memory from a backup."""
        raise Unsupported(
            "a service has no operation for `restore_backup`",
            hint="run `recollect admin` where the store is",
        )

    @property
    def where(self) -> str:
        """The address of the service."""
        return self._transport.url

    def _space(self, name: str, *, create: bool) -> Handle:
        name = validate.space_name(name)
        opening = Opening(self._transport, name) if create else None
        return Handle(self._transport, name, opening=opening)

    def spaces(self) -> list[str]:
        """The names of the memories that the token opens."""
        found = self._transport.ask("GET", "/v1/spaces").read(_Names)
        return [each.name for each in found.items]

    def token(self) -> Token:
        """What the token of this client allows."""
        return self._transport.ask("GET", "/v1/me").read(Token)

    @property
    def tokens(self) -> Tokens:
        """The tokens that open memories of this service, for a token with the verb ``admin``."""
        from recollect.client.tokens import Tokens  # few programs need it

        return Tokens(self._transport)

    @property
    def jobs(self) -> Jobs:
        """The background work in memories of this service."""
        from recollect.client.jobs import Jobs  # few programs need it

        return Jobs(self._transport, self.spaces)

    def heads(self, names: Iterable[str]) -> dict[str, int]:
        """The position of each of these memories, to see which of many have changed.

        The arguments are those of ``recollect.Store.heads``; each takes a request.
        """
        if isinstance(names, str):
            raise InvalidInput("names is a list of names, not one name", hint=f"use [{names!r}]")
        found = {}
        for name in dict.fromkeys(names):
            with suppress(NotFound):
                found[name] = position_of(self._space(name, create=False))
        return found

    def drop(self, name: str, *, reason: str | None = None, dry_run: bool = False) -> Drop:
        """Remove a memory whole: its ledger, its index and its copies. It cannot be undone.

        The arguments are those of ``recollect.Store.drop``. What is dropped is what a dry run has
        shown a moment before; the places on the service's machine are not told.
        """
        path = f"/v1/spaces/{wire.to_segment(validate.space_name(name))}"
        reason = validate.reason(reason)
        told = {} if reason is None else {"reason": reason}
        seen = self._transport.ask("DELETE", path, query={"dry_run": "true"}).read(_Dropping)
        if not validate.flag(dry_run, "dry_run"):
            asked = {"digest": seen.digest, **told}
            answer = self._transport.ask("DELETE", path, query=asked, is_once=True)
            seen = answer.read(_Dropping)
        return Drop(
            space=seen.space, records=seen.records, episodes=seen.episodes, events=seen.events,
            size_bytes=seen.size_bytes, places=(), dropped=seen.dropped,
        )  # fmt: skip

    def entered(self, token: str) -> NoReturn:
        """A service is opened with a token; it cannot be entered with another one."""
        raise _lacking("entered")

    def dropped(self) -> NoReturn:
        """A service does not tell which memories were dropped."""
        raise _lacking("dropped")

    def close(self) -> None:
        """Close the connections of every memory that came from here."""
        self._transport.close()

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


class Store(StoreCalls):
    """The memories of a service; open one for each process."""

    def space(self, name: str = "main", *, create: bool = True) -> Memory:
        """The memory of one user, project or team; nothing is created before its first use.

        Args:
            name: The name of the space.
            create: False to refuse a space that does not exist.
        """
        return Memory(self._space(name, create=create))


def _lacking(name: str) -> Unsupported:
    return Unsupported(f"the client of a service has no `{name}`", hint="open the store itself")
