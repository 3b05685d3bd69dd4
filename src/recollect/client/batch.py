"""Several writes of a service that happen together or not at all.

Responsible for collecting acts until the block ends. Leaves checking and deciding to the service.
Invariant: nothing is sent if the block raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from types import TracebackType
from typing import Any, Self, cast

from msgspec import UNSET, UnsetType

from recollect.client.plain import plain
from recollect.errors import Conflict
from recollect.model.events import Role, SourceType
from recollect.model.instants import Moment
from recollect.model.messages import Content, with_text
from recollect.model.validate import Json
from recollect.model.values import Episode, Quote, Record
from recollect.model.words import Sources

Submit = Callable[[list[dict[str, Any]]], list[Record | Episode]]


class Batch:
    """Use as ``with memory.batch() as batch:``; ``batch.results`` has what came of each write."""

    def __init__(self, submit: Submit) -> None:
        self._submit = submit
        self._acts: list[dict[str, Any]] = []
        self.results: list[Record | Episode] = []

    def remember(
        self,
        text: str,
        *,
        key: str | None = None,
        about: str | None = None,
        kind: str | None = None,
        tags: Iterable[str] | None = None,
        data: Mapping[str, Json] | None = None,
        confidence: float | None = None,
        evidence: Iterable[str | Quote] = (),
        expires: Moment | timedelta | None = None,
        said_at: Moment | None = None,
        valid_from: Moment | None = None,
        valid_to: Moment | None = None,
        how_known: SourceType | None = None,
        is_hypothesis: bool | None = None,
        replaces: str | None = None,
        reason: str | None = None,
        id: str | None = None,
    ) -> None:
        """Store a statement as a record, with the fields of ``Memory.remember``."""
        self._add(
            "remember", text=text, key=key, about=about, kind=kind, tags=tags, data=data,
            confidence=confidence, evidence=evidence, expires=expires, said_at=said_at,
            valid_from=valid_from, valid_to=valid_to, how_known=how_known,
            is_hypothesis=is_hypothesis, replaces=replaces, reason=reason, id=id,
        )  # fmt: skip

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

    def revise(
        self,
        id: str,
        text: str | None = None,
        *,
        reason: str | None = None,
        evidence: Iterable[str | Quote] = (),
        tags: Iterable[str] = (),
        untag: Iterable[str] = (),
        data: Mapping[str, Json] | None = None,
        expires: Moment | timedelta | None | UnsetType = UNSET,
    ) -> None:
        """Correct a record, or change its tags."""
        self._add(
            "revise", id=id, text=text, reason=reason, evidence=evidence, tags=tags, untag=untag,
            data=data,
        )  # fmt: skip
        if expires is not UNSET:
            self._acts[-1]["expires"] = plain(expires)

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
        given = {name: plain(value) for name, value in fields.items() if value is not None}
        self._acts.append({"act": act, **given})

    def __enter__(self) -> Self:
        if self._acts:
            raise Conflict("this batch was used before", hint="begin a new one")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None and self._acts:
            self.results = self._submit(self._acts)


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
