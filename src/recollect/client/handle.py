"""A handle on one memory of a service: whose it is, at which position, and how it asks.

Responsible for narrowing a handle and for building requests. Leaves the calls to
``client.memory`` and sending to ``client.transport``. Invariant: every write has an idempotency
key, so it happens once however often it is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

import msgspec

from recollect.client.transport import Answer, Transport
from recollect.model import wire
from recollect.model.events import Trust
from recollect.model.instants import instant
from recollect.model.values import Include, Scope

T = TypeVar("T")
Expect = tuple[str, int] | int


class _Position(msgspec.Struct, frozen=True):
    position: int


class Handle:
    """What all calls need."""

    def __init__(
        self,
        transport: Transport,
        name: str = "main",
        *,
        headers: Mapping[str, str] | None = None,
        at: str | None = None,
    ) -> None:
        self._transport = transport
        self._headers = dict(headers or {})
        self._at = at
        self._root = f"/v1/spaces/{wire.to_segment(name)}"
        self.name = name

    @classmethod
    def open(cls, url: str, *, token: str, space: str = "main", timeout_s: float = 60.0) -> Self:
        """Open a memory of a service.

        Args:
            url: The address of the service, such as ``https://memory.example``.
            token: A token of the service.
            space: The name of the memory.
            timeout_s: How long one call may take, retries included.

        Raises:
            ConfigError: The address is not one of a service.
        """
        return cls(Transport(url, token, timeout_s=timeout_s), space)

    # --- handles ------------------------------------------------------------------------------

    def scoped(
        self,
        *,
        user: str | None = None,
        session: str | None = None,
        agent: str | None = None,
        origin: Trust | None = None,
    ) -> Self:
        """A handle on the same memory for one user, session or agent, or with less trust."""
        asked = {"User": user, "Session": session, "Agent": agent, "Origin": origin}
        headers = {f"Recollect-{name}": value for name, value in asked.items() if value is not None}
        return type(self)(
            self._transport, self.name, headers={**self._headers, **headers}, at=self._at
        )

    def at(self, position: int | datetime | str) -> Self:
        """The memory as it was; a handle that only reads."""
        at = str(position) if isinstance(position, int) else instant(position)
        return type(self)(self._transport, self.name, headers=self._headers, at=at)

    @property
    def where(self) -> str:
        """The address of the service."""
        return self._transport.url

    @property
    def scope(self) -> Scope:
        """The user, session and agent of this handle, as far as it was narrowed here."""
        user, session, agent = (
            self._headers.get(f"Recollect-{part}") for part in ("User", "Session", "Agent")
        )
        return Scope(user=user, session=session, agent=agent)

    @property
    def position(self) -> int:
        """How many events this handle sees."""
        return self._read("/events", limit=1).read(_Position).position

    def close(self) -> None:
        """Close the connections; closing twice is fine."""
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
        past = "" if self._at is None else f", at={self._at}"
        return f"Memory({self.where!r}, space={self.name!r}{past})"

    # --- requests -----------------------------------------------------------------------------

    def _write(
        self,
        method: Literal["POST", "PUT", "PATCH", "DELETE"],
        path: str,
        body: object,
        key: str | None,
        expect: Expect | None,
        *,
        query: Mapping[str, Any] | None = None,
    ) -> Answer:
        headers = dict(self._headers)
        if key is not None:
            headers["Idempotency-Key"] = key
        if expect is not None:
            headers["If-Match"] = (
                wire.head_tag(expect) if isinstance(expect, int) else wire.version_tag(expect[1])
            )
        return self._transport.ask(
            method, self._root + path, body, query=query, headers=headers, is_write=True
        )

    def _asked(self, path: str, body: object) -> Answer:
        """A question that is too long for an address."""
        query = {} if self._at is None else {"at": self._at}
        return self._transport.ask(
            "POST", self._root + path, body, query=query, headers=self._headers
        )

    def _read(self, path: str, **query: Any) -> Answer:
        asked = query if self._at is None else {**query, "at": self._at}
        return self._transport.ask("GET", self._root + path, query=asked, headers=self._headers)

    def _listed(
        self, path: str, kind: type[T], filter: str | None, include: Iterable[Include], limit: int
    ) -> list[T]:
        """As many as were asked for, page by page, from one state of the memory."""
        found: list[T] = []
        cursor: str | None = None
        included = [*include]
        while len(found) < limit:
            size = min(1_000, limit)
            query = given(filter=filter, include=included, limit=size, cursor=cursor)
            page = self._read(path, **query).read(wire.Page[kind])  # type: ignore[valid-type]
            found += page.items
            cursor = page.next
            if cursor is None:
                break
        return found[:limit]


def given(**fields: Any) -> dict[str, Any]:
    """The fields that are not None, as JSON."""
    return {name: plain(value) for name, value in fields.items() if value is not None}


def plain(value: Any) -> Any:
    """A moment or a span as a text; anything else as it is."""
    if isinstance(value, timedelta):
        return f"PT{value.total_seconds():f}S"
    return instant(value) if isinstance(value, datetime | date) else value
