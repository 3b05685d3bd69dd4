"""``Store``: the memories that a token opens on a service."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from recollect.client.asking import Handle, Opening
from recollect.client.memory import Memory
from recollect.client.transport import Transport
from recollect.errors import Unsupported
from recollect.model import validate

# What a store has and this one lacks, with the operations that do it.
_OPERATIONS: Final = {
    "jobs": "/v1/spaces/NAME/jobs and /v1/spaces/NAME/schedules/KIND",
    "tokens": "/v1/tokens",
    "token": "/v1/me",
    "drop": "DELETE /v1/spaces/NAME",
    "dropped": None,
    "heads": "/v1/spaces/NAME/status",
    "entered": None,
}


class _Name(msgspec.Struct, frozen=True):
    name: str


class _Names(msgspec.Struct, frozen=True):
    items: list[_Name]


class Store:
    """The memories of a service; open one for each process."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.settings: object = None  # set if it was opened by its settings

    @classmethod
    def open(
        cls,
        where: str | os.PathLike[str] | None = None,
        *,
        token: str | None = None,
        timeout_s: float = 60.0,
    ) -> Store:
        """Open a service.

        Args:
            where: Its address, such as ``https://memory.example``; by default ``RECOLLECT_STORE``.
            token: A token of the service; by default ``RECOLLECT_TOKEN``.
            timeout_s: How long one call may take, retries included.

        Raises:
            ConfigError: The address is not one of a service, or there is no token.
        """
        return cls(Transport.of(where, token, timeout_s=timeout_s))

    @property
    def where(self) -> str:
        """The address of the service."""
        return self._transport.url

    def space(self, name: str = "main", *, create: bool = True) -> Memory:
        """The memory of one user, project or team; nothing is created before its first use.

        Args:
            name: The name of the space.
            create: False to refuse a space that does not exist.
        """
        name = validate.space_name(name)
        opening = Opening(self._transport, name) if create else None
        return Memory(Handle(self._transport, name, opening=opening))

    def spaces(self) -> list[str]:
        """The names of the memories that the token opens."""
        found = self._transport.ask("GET", "/v1/spaces").read(_Names)
        return [each.name for each in found.items]

    def __getattr__(self, name: str) -> Any:
        """Says what to do instead of a call of a store that this one lacks."""
        if name not in _OPERATIONS:
            raise AttributeError(f"a store has no attribute {name!r}", name=name, obj=self)
        where = f"use {_OPERATIONS[name]}" if _OPERATIONS[name] else "open the store itself"
        raise Unsupported(f"the client of a service has no `{name}`", hint=where)

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
