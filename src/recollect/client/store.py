"""``Store``: the memories that a token opens on a service."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import msgspec

from recollect.client.memory import Memory
from recollect.client.transport import Transport


class _Name(msgspec.Struct, frozen=True):
    name: str


class _Names(msgspec.Struct, frozen=True):
    items: list[_Name]


class Store:
    """The memories of a service; open one for each process."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @classmethod
    def open(cls, url: str, *, token: str, timeout_s: float = 60.0) -> Store:
        """Open a service.

        Args:
            url: Its address, such as ``https://memory.example``.
            token: A token of the service.
            timeout_s: How long one call may take, retries included.

        Raises:
            ConfigError: The address is not one of a service.
        """
        return cls(Transport(url, token, timeout_s=timeout_s))

    @property
    def where(self) -> str:
        """The address of the service."""
        return self._transport.url

    def space(self, name: str = "main", *, create: bool = False) -> Memory:
        """The memory of one user, project or team.

        Args:
            name: The name of the space.
            create: True to create it, if the token may.
        """
        if create and name not in self.spaces():
            self._transport.ask("POST", "/v1/spaces", {"name": name}, is_write=True)
        return Memory(self._transport, name)

    def spaces(self) -> list[str]:
        """The names of the memories that the token opens."""
        found = self._transport.ask("GET", "/v1/spaces").read(_Names)
        return [each.name for each in found.items]

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
