"""``Memory``: one memory of a service, with the daily calls of ``recollect.Memory``.

Responsible for turning calls into requests. Leaves building and sending them to ``client.handle``
and what they do to the service. Invariant: an argument means what it means in
``recollect.Memory``, and answers and errors are the same.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from http.client import HTTPException
from typing import Final, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from recollect.client.handle import Expect, Handle, given, plain
from recollect.client.transport import Answer, Sent, pause_s
from recollect.errors import Forbidden, NotFound, Unavailable
from recollect.model import wire
from recollect.model.events import Role, Sources, SourceType
from recollect.model.frames import Units
from recollect.model.instants import Moment
from recollect.model.validate import Json
from recollect.model.values import (
    Change,
    Context,
    Episode,
    Erasure,
    Forgotten,
    Graph,
    Include,
    Link,
    Quote,
    Recall,
    Receipt,
    Record,
    Replay,
    SpaceStatus,
    Version,
    Why,
    WhyNot,
)

T = TypeVar("T")
_FAULTS_MAX_COUNT: Final = 12  # about half a minute
_LOOK_S: Final = 0.05
List = list  # ``list`` is a call of a memory
Content = str | Mapping[str, object] | Sequence[Mapping[str, object]]


class _Bye(msgspec.Struct, frozen=True):
    why: str


class _Digest(msgspec.Struct, frozen=True):
    digest: str


class _Found(msgspec.Struct, frozen=True):
    """Whether an answer is a record or an episode."""

    role: str | UnsetType = UNSET


class Memory(Handle):
    """A memory that a service keeps."""

    # --- write --------------------------------------------------------------------------------

    def remember(
        self,
        text: str,
        *,
        key: str | None = None,
        about: str | None = None,
        kind: str | None = None,
        tags: Iterable[str] = (),
        data: Mapping[str, Json] | None = None,
        confidence: float | None = None,
        evidence: Iterable[str | Quote] = (),
        expires: Moment | timedelta | None = None,
        said_at: Moment | None = None,
        valid_from: Moment | None = None,
        valid_to: Moment | None = None,
        source_type: SourceType | None = None,
        is_hypothesis: bool | None = None,
        supersedes: str | None = None,
        id: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Record:
        """Store a statement as a record."""
        body = given(
            text=text, key=key, about=about, kind=kind, tags=[*tags] or None, data=data,
            confidence=confidence, evidence=[*evidence] or None, expires=expires, said_at=said_at,
            valid_from=valid_from, valid_to=valid_to, source_type=source_type,
            is_hypothesis=is_hypothesis, supersedes=supersedes, id=id,
        )  # fmt: skip
        return self._write("POST", "/records", body, idempotency_key, expect).read(Record)

    def observe(
        self,
        content: Content,
        *,
        role: Role = "user",
        session: str | None = None,
        said_at: Moment | None = None,
        metadata: Mapping[str, Json] | None = None,
        id: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> List[Episode]:
        """Store what was seen or said, verbatim, as episodes."""
        shared = given(role=role, session=session, said_at=said_at, metadata=metadata, id=id)
        if isinstance(content, str):
            messages = [{**shared, "content": content}]
        else:
            several = [content] if isinstance(content, Mapping) else content
            messages = [{**shared, **given(**each)} for each in several]
        body = {"messages": messages}
        answer = self._write("POST", "/episodes", body, idempotency_key, expect)
        return answer.read(List[Episode])

    def revise(
        self,
        id: str,
        text: str,
        *,
        reason: str | None = None,
        evidence: Iterable[str | Quote] = (),
        data: Mapping[str, Json] | None = None,
        expires: Moment | timedelta | None | UnsetType = UNSET,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Record:
        """Correct a record; the old text stays in its history only."""
        body = given(text=text, reason=reason, evidence=[*evidence] or None, data=data)
        if expires is not UNSET:
            body["expires"] = None if expires is None else plain(expires)
        return self._write("PATCH", _record(id), body, idempotency_key, expect).read(Record)

    def forget(
        self,
        id: str,
        *,
        sources: Sources = "shadow",
        reason: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Forgotten:
        """Take a record or an episode out of default reads; ``restore`` brings it back."""
        query = given(sources=sources, reason=reason)
        answer = self._write("DELETE", _record(id), None, idempotency_key, expect, query=query)
        return answer.read(Forgotten)

    def restore(
        self, id: str, *, idempotency_key: str | None = None, expect: Expect | None = None
    ) -> Record | Episode:
        """Undo a forgetting, or bring an archived record back."""
        path = f"{_record(id)}/restore"
        return _found(self._write("POST", path, None, idempotency_key, expect))

    def tag(
        self,
        id: str,
        *add: str,
        remove: Iterable[str] = (),
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Record:
        """Add tags to a record, or remove them."""
        body = {"add": add, "remove": [*remove]}
        path = f"{_record(id)}/tags"
        return self._write("POST", path, body, idempotency_key, expect).read(Record)

    def link(
        self,
        source: str,
        target: str,
        kind: str = "relates_to",
        *,
        weight: float = 1.0,
        name: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Link:
        """Relate two records by a typed, directed link."""
        body = given(weight=weight, name=name)
        path = _link(source, kind, target)
        return self._write("PUT", path, body, idempotency_key, expect).read(Link)

    def unlink(
        self,
        source: str,
        target: str,
        kind: str = "relates_to",
        *,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> None:
        """End a relation."""
        self._write("DELETE", _link(source, kind, target), None, idempotency_key, expect)

    def erase(
        self,
        id: str,
        *,
        sources: bool = True,
        reason: str | None = None,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Erasure:
        """Remove every byte of a record or an episode, for good."""
        if expect is None and not dry_run:
            expect = (id, self._seq_of(id, idempotency_key))
        body = given(sources=sources, reason=reason, dry_run=dry_run)
        path = f"{_record(id)}/erase"
        return self._write("POST", path, body, idempotency_key, expect).read(Erasure)

    def _seq_of(self, id: str, key: str | None) -> int:
        """Where something stands; with a key, 0 if it is gone: then the first answer is given."""
        try:
            return self.get(id, include=_EVERYTHING).seq
        except NotFound:
            if key is None:
                raise
            return 0

    # --- read ---------------------------------------------------------------------------------

    def get(self, id: str, *, include: Iterable[Include] = ()) -> Record | Episode:
        """One record or episode."""
        return _found(self._read(_record(id), include=[*include]))

    def keyed(self, key: str, *, include: Iterable[Include] = ()) -> Record:
        """The record that holds a key, for this handle's user."""
        path = f"/keys/{wire.to_segment(key)}"
        return self._read(path, include=[*include]).read(Record)

    def list(
        self, *, filter: str | None = None, include: Iterable[Include] = (), limit: int = 100
    ) -> List[Record]:
        """Records by their last change, newest first."""
        return self._listed("/records", Record, filter, include, limit)

    def episodes(
        self, *, filter: str | None = None, include: Iterable[Include] = (), limit: int = 100
    ) -> List[Episode]:
        """Episodes, newest first."""
        return self._listed("/episodes", Episode, filter, include, limit)

    def recall(
        self,
        query: str,
        *,
        k: int = 10,
        unit: Units = "any",
        filter: str | None = None,
        include: Iterable[Include] = (),
        valid_at: Moment | None = None,
        min_relevance: float | None = None,
    ) -> Recall:
        """What the memory holds about a question, best first."""
        body = given(
            query=query, k=k, unit=unit, filter=filter, include=[*include] or None,
            valid_at=valid_at, min_relevance=min_relevance,
        )  # fmt: skip
        return self._asked("/recall", body).read(Recall)

    def recall_many(
        self,
        queries: Iterable[str],
        *,
        k: int = 10,
        unit: Units = "any",
        filter: str | None = None,
        include: Iterable[Include] = (),
        valid_at: Moment | None = None,
        min_relevance: float | None = None,
    ) -> List[Recall]:
        """What ``recall`` returns for each question, all from one state of the memory."""
        body = given(
            queries=[*queries], k=k, unit=unit, filter=filter, include=[*include] or None,
            valid_at=valid_at, min_relevance=min_relevance,
        )  # fmt: skip
        return self._asked("/recall/many", body).read(List[Recall])

    def why_not(self, id: str, query: str, *, frame: str | None = None, k: int = 10) -> WhyNot:
        """Why a recall leaves a record or an episode out; with a frame, why a context does."""
        return self._asked("/why-not", given(id=id, query=query, frame=frame, k=k)).read(WhyNot)

    def events(
        self,
        *,
        kinds: Iterable[str] = (),
        id: str | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> List[Change]:
        """Events, oldest first."""
        query = given(kinds=[*kinds], id=id, after=after, limit=limit)
        return self._read("/events", **query).read(wire.Page[Change]).items

    def tail(self, *, after: int | None = None, kinds: Iterable[str] = ()) -> Iterator[Change]:
        """Each event as it is written, oldest first; it waits for the next one and never ends.

        A stream that broke is continued after the last event, so none is missed or given twice.

        Args:
            after: The position to begin after; by default what is written from now on.
            kinds: Only events of these kinds.

        Raises:
            Unavailable: The service did not answer for a while.
        """
        position = self.position if after is None else after
        wanted, faults = [*kinds], 0
        while True:
            try:
                for sent in self._streamed(position, wanted):
                    change = msgspec.json.decode(sent.data, type=Change)
                    position, faults = change.seq, 0
                    yield change
            except (OSError, HTTPException, Unavailable) as error:
                if faults >= _FAULTS_MAX_COUNT:
                    raise Unavailable("the service ended the stream again and again") from error
            faults += 1
            time.sleep(_LOOK_S + pause_s(faults))

    def _streamed(self, position: int, kinds: List[str]) -> Iterator[Sent]:
        """The events of one stream, until it says bye or breaks."""
        query = {"after": position, "kinds": kinds}
        path = f"{self._root}/events"
        for sent in self._transport.stream(path, query=query, headers=self._headers):
            if sent.name == "bye":
                why = msgspec.json.decode(sent.data, type=_Bye).why
                if why not in ("draining", "renew", "unavailable"):
                    raise Forbidden(f"the service ended the stream: {why}")
                return
            yield sent

    def wait(self, seq: int, timeout_s: float = 30.0) -> bool:
        """Wait until the memory has this many events; False if it takes longer."""
        deadline = time.monotonic() + timeout_s
        while self.position < seq:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_LOOK_S)
        return True

    def history(self, id: str) -> List[Version]:
        """Every version of a record, oldest first."""
        return self._read(f"{_record(id)}/history").read(List[Version])

    def why(self, id: str) -> Why:
        """Where a record comes from: who said it, its evidence, and what it superseded."""
        return self._read(f"{_record(id)}/why").read(Why)

    def neighbours(self, id: str, *, hops: int = 1, limit: int = 120) -> Graph:
        """The records around one, nearest first, and the links that lead to them."""
        return self._read(f"{_record(id)}/graph", hops=hops, limit=limit).read(Graph)

    # --- contexts -----------------------------------------------------------------------------

    def context(
        self, query: str, *, tokens: int | None = None, frame: str = "task", receipt: bool = True
    ) -> Context:
        """What the memory holds about a question, packed for a prompt under a token budget."""
        body = given(query=query, tokens=tokens, frame=frame, receipt=receipt)
        return self._asked("/context", body).read(Context)

    def receipt(self, id: str) -> Receipt:
        """What a context contained."""
        return self._read(f"/receipts/{wire.to_segment(id)}").read(Receipt)

    def replay(self, receipt: str | Context, *, query: str | None = None) -> Replay:
        """The text that a context handed out, again; text erased since shows as erased."""
        id = _receipt_of(receipt)
        body = given(query=query)
        return self._asked(f"/receipts/{wire.to_segment(id)}/replay", body).read(Replay)

    def used(
        self,
        context: Context | str,
        ids: Iterable[str] | None = None,
        *,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> List[Record]:
        """Report which of the packed records were useful; this, not recall, reinforces them."""
        body = given(ids=None if ids is None else [*ids])
        path = f"/receipts/{wire.to_segment(_receipt_of(context))}/used"
        return self._write("POST", path, body, idempotency_key, expect).read(List[Record])

    # --- the space ----------------------------------------------------------------------------

    def status(self) -> SpaceStatus:
        """How many records, episodes and links there are, and where the ledger stands."""
        return self._read("/status").read(SpaceStatus)

    def digest(self) -> str:
        """The state digest: equal digests mean the same memory."""
        return self._read("/digest").read(_Digest).digest


_EVERYTHING: tuple[Include, ...] = (
    "superseded", "forgotten", "shadowed", "held", "expired", "archived",
)  # fmt: skip


def _record(id: str) -> str:
    return f"/records/{wire.to_segment(id)}"


def _link(source: str, kind: str, target: str) -> str:
    return "/links/" + "/".join(wire.to_segment(each) for each in (source, kind, target))


def _receipt_of(context: Context | str) -> str:
    return context if isinstance(context, str) else context.receipt or ""


def _found(answer: Answer) -> Record | Episode:
    """A record or an episode; only an episode has a role."""
    if answer.read(_Found).role is UNSET:
        return answer.read(Record)
    return answer.read(Episode)
