"""Several writes of a service that happen together or not at all.

Responsible for collecting acts until the block ends. Leaves checking and deciding to the service.
Invariant: nothing is sent if the block raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Self, Unpack, cast

from msgspec import UNSET

from recollect.client.plain import plain
from recollect.errors import Conflict
from recollect.model import validate
from recollect.model.events import Role
from recollect.model.instants import Moment
from recollect.model.messages import Content, with_text
from recollect.model.record_fields import RecordFields, RevisedFields
from recollect.model.validate import Json
from recollect.model.values import Episode, Record
from recollect.model.words import Sources

Send = Callable[[list[dict[str, Any]]], list[Record | Episode]]


class Batch:
    """Use as ``with memory.batch() as batch:``; ``batch.results`` has what came of each write."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._sent: list[dict[str, Any]] = []
        self._results: list[Record | Episode] = []

    @property
    def results(self) -> list[Record | Episode]:
        """What came of each write, in order."""
        return self._results

    def remember(self, text: str, **fields: Unpack[RecordFields]) -> None:
        """Store a statement as a record, with the fields of ``Memory.remember``."""
        given = validate.arguments("remember", fields, RecordFields)
        self._add("remember", text=text, **given)

    def observe(
        self,
        content: Content,
        *,
        role: Role = "user",
        session: str | None = None,
        said_at: Moment | None = None,
        metadata: Mapping[str, Json] | None = None,
        id: str | None = None,
    ) -> None:
        """Store what was seen or said, verbatim."""
        shared = {"session": session, "said_at": said_at, "metadata": metadata, "id": id}
        for message in messages(content, role, shared):
            self._add("observe", **message)

    def revise(self, id: str, text: str | None = None, **fields: Unpack[RevisedFields]) -> None:
        """Correct a record, or change its tags, with the fields of ``Memory.revise``."""
        given = validate.arguments("revise", fields, RevisedFields)
        self._add("revise", id=id, text=text, **given)
        if given.get("expires", UNSET) is None:
            self._sent[-1]["expires"] = None  # no end; anything else that is None stays as it is

    def forget(self, id: str, *, sources: Sources = "hide", reason: str | None = None) -> None:
        """Take something out of default reads."""
        self._add("forget", id=id, sources=sources, reason=reason)

    def undo(self, id: str) -> None:
        """Bring back what was forgotten or archived; what holds stays as it is.

        What was replaced is refused: ``Memory.undo`` brings it back in the place of the other.
        """
        self._add("undo", id=id)

    def link(
        self,
        source: str,
        target: str,
        kind: str = "relates_to",
        weight: float = 1.0,
        name: str | None = None,
    ) -> None:
        """Relate two records."""
        self._add("link", source=source, target=target, kind=kind, weight=weight, name=name)

    def used(self, ids: Iterable[str]) -> None:
        """Report that these records were useful."""
        self._add("used", ids=ids)

    def _add(self, act: str, /, **fields: object) -> None:
        said = ((name, each) for name, each in fields.items() if each is not UNSET)
        given = {name: plain(each) for name, each in said if each is not None}
        self._sent.append({"act": act, **given})

    def __enter__(self) -> Self:
        if self._sent:
            raise Conflict("this batch was used before", hint="begin a new one")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None and self._sent:
            self._results = self._send(self._sent)


def messages(content: Content, role: str, shared: Mapping[str, object]) -> list[dict[str, Any]]:
    """What was observed, as requests have it: each message that says something."""
    id = cast("str | None", shared.get("id"))
    return [dict(_message(each, text, shared)) for each, text in with_text(content, role, id)]


def _message(
    message: Mapping[str, object], text: str, shared: Mapping[str, object]
) -> Iterator[tuple[str, object]]:
    yield "content", text
    yield "role", message.get("role")
    names = ("id", "said_at", "session", "metadata")
    own = {name: message[name] for name in names if message.get(name) is not None}
    yield from ((name, value) for name, value in {**shared, **own}.items() if value is not None)
