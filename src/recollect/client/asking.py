"""One call as one request.

Responsible for turning the arguments of a call into a path, parameters, a body and headers, and the
answer into a value. Leaves connections and retries to ``client.transport``. Invariants: every write
has an idempotency key, so it happens once however often it is sent; a handle on a past position
writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final, get_args

import msgspec
from msgspec import UNSET, UnsetType

from recollect.client.decoding import decoded
from recollect.client.kinds import Expect
from recollect.client.operations import OPERATIONS, Operation
from recollect.client.plain import encoded, plain
from recollect.client.transport import Answer, Transport
from recollect.errors import Forbidden, InvalidInput, NotFound, Unsupported
from recollect.model import validate, wire
from recollect.model.values import Episode, Record

_CREATED: Final = 201
_EITHER: Final = (Record, Episode)
# Calls without an operation, and what does the same. `{store}` is the place behind the service.
_INSTEAD: Final[Mapping[str, str]] = {
    "run": "run `recollect settings rule run RULE` where the store is",
    "submit": "use `batch`, `remember` and the other calls",
    "seal": "run `recollect admin close-segment` where the store is",
    "rebuild": "run `recollect admin rebuild` where the store is",
    "embed": "run `recollect admin embed` where the store is",
    "backup": "run `recollect admin backup` where the store is",
    "doctor": "run `recollect admin doctor` where the store is",
    "accept_loss": "run `recollect admin doctor` where the store is",
    "copy_to": "run `recollect admin push` where the store is",
    "merge_from": "run `recollect admin push --merge` where the store is",
    "import_": "run `recollect import` where the store is",
}
_NAMING: Final = (
    "id", "key", "about", "user", "filter", "subject", "receipt", "name", "source", "target",
    "kind", "a", "b", "after", "replaces", "preset",
)  # fmt: skip
_ELSEWHERE: Final = "open the store itself: its folder, or its postgresql:// address"


class _Role(msgspec.Struct, frozen=True):
    """Whether an answer is a record or an episode: only an episode has a role."""

    role: str | UnsetType = UNSET


class Opening:
    """A memory that is created when it is first used and not there, if the token may do that."""

    def __init__(self, transport: Transport, name: str) -> None:
        self._transport = transport
        self._name = name
        self._is_done = False

    def created(self) -> bool:
        """Creates it, once; True if it was not there."""
        if self._is_done:
            return False
        self._is_done = True
        body = encoded({"name": self._name})
        try:
            made = self._transport.ask("POST", "/v1/spaces", body, is_write=True)
        except (Forbidden, NotFound):  # a token that may not create opens what is there
            return False
        return made.status == _CREATED


class Handle:
    """A memory of a service as one caller sees it, now or at a past position."""

    def __init__(
        self,
        transport: Transport,
        name: str,
        *,
        headers: Mapping[str, str] | None = None,
        position: int | None = None,
        opening: Opening | None = None,
    ) -> None:
        self.opening = opening
        self.transport = transport
        self.name = name
        self.headers = dict(headers or {})
        self.position = position
        self.root = f"/v1/spaces/{wire.to_segment(name)}"

    def narrowed(self, **headers: str) -> Handle:
        """The same memory with more headers."""
        named = {f"Recollect-{name.capitalize()}": value for name, value in headers.items()}
        return self._with({**self.headers, **named}, self.position)

    def moved(self, position: int) -> Handle:
        """The same memory as it was at a position."""
        return self._with(self.headers, position)

    def _with(self, headers: Mapping[str, str], position: int | None) -> Handle:
        return Handle(
            self.transport, self.name, headers=headers, position=position, opening=self.opening
        )

    def ask(
        self,
        name: str,
        fields: Mapping[str, Any],
        *,
        key: str | None = None,
        expect: Expect | None = None,
        body: Any = UNSET,
        nulls: tuple[str, ...] = (),
    ) -> Answer:
        """Sends one operation."""
        operation = OPERATIONS[name]
        if operation.is_write and self.position is not None:
            raise Unsupported("this handle shows the past, which cannot be written")
        left = {
            field: plain(value)
            for field, value in fields.items()
            if value is not UNSET and (value is not None or field in nulls)
        }
        path = self.root + _path(operation, left)
        query = dict(_parameters(operation, left))
        if operation.has_past and self.position is not None:
            query["at"] = str(self.position)
        sent = encoded(left if body is UNSET else plain(body)) if operation.has_body else None
        try:
            return self.send(
                operation.method,
                path,
                sent,
                query=query,
                headers=_conditions(key, expect),
                is_write=operation.is_write,
            )
        except NotFound as error:
            raise _told(error, fields) from error

    def send(
        self,
        method: str,
        path: str,
        raw: bytes | None = None,
        *,
        query: Mapping[str, Any],
        headers: Mapping[str, str] | None = None,
        is_write: bool = False,
    ) -> Answer:
        """Sends a request about this memory, which is created if it is not there yet."""
        ask = partial(
            self.transport.ask,
            method,
            path,
            raw,
            query=query,
            headers={**self.headers, **(headers or {})},
            is_write=is_write,
        )
        try:
            return ask()
        except NotFound:
            if self.opening is None or not self.opening.created():
                raise
        return ask()


def _told(error: NotFound, fields: Mapping[str, Any]) -> NotFound:
    """What was not found, in the caller's words; the service does not repeat them."""
    if error.message != wire.NOT_FOUND:
        return error
    named = [f"{name} {fields[name]!r}" for name in _NAMING if isinstance(fields.get(name), str)]
    what = ", ".join(named) or "that"
    return NotFound(f"{what} was not found", hint="`list` shows what there is")


class Calls:
    """A group of calls over one handle."""

    def __init__(self, handle: Handle) -> None:
        self._remote = handle

    def _do(
        self,
        name: str,
        kind: Any,
        fields: Mapping[str, Any],
        *,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
        body: Any = UNSET,
        nulls: tuple[str, ...] = (),
        flags: tuple[str, ...] = (),
        inside: str | None = None,
    ) -> Any:
        """One call: its answer as a value of this kind, or one inside the answer."""
        for name_ in flags:
            if fields[name_] is not None:
                validate.flag(fields[name_], name_)
        answer = self._remote.ask(
            name, fields, key=idempotency_key, expect=expect, body=body, nulls=nulls
        )
        if kind is None:
            return None
        if inside is not None:
            parts = answer.read(dict[str, msgspec.Raw])
            return decoded(parts.get(inside, b""), kind)
        return value_of(answer, kind)

    def _unsupported(self, name: str) -> Unsupported:
        hint = _INSTEAD.get(name.rpartition(".")[2], _ELSEWHERE)
        return Unsupported(f"a service has no operation for `{name}`", hint=hint)

    def _refuse_own(self, name: str, given: object) -> None:
        """Refuses a function of the caller's: it cannot be sent."""
        if given is not None:
            raise Unsupported(f"{name} cannot be sent to a service", hint=f"leave {name} out")


def asked(handle: Handle, name: str, kind: Any, fields: Mapping[str, Any]) -> Any:
    """The answer to one operation that reads, as a value."""
    return value_of(handle.ask(name, fields), kind)


def value_of(answer: Answer, kind: Any) -> Any:
    """An answer as a value; what is a record or an episode is told apart by its role."""
    if set(get_args(kind)) == set(_EITHER):
        return answer.read(Record if answer.read(_Role).role is UNSET else Episode)
    inner = get_args(kind)
    if inner and set(get_args(inner[0])) == set(_EITHER):
        return [_either(each) for each in answer.read(list[msgspec.Raw])]
    return answer.read(kind)


def _either(raw: msgspec.Raw) -> Record | Episode:
    if decoded(raw, _Role).role is UNSET:
        return decoded(raw, Record)
    return decoded(raw, Episode)


def _path(operation: Operation, left: dict[str, Any]) -> str:
    """The path with its names, which are taken out of the fields."""
    steps = []
    for step in operation.path.split("/"):
        if not step.startswith("{"):
            steps.append(step)
            continue
        name = left.pop(step[1:-1], None)
        if step == "{seq}":
            name = str(validate.position(name, "seq"))
        if not isinstance(name, str):
            raise InvalidInput(f"{step[1:-1]} must be a text, not {validate.shown(name)}")
        steps.append(wire.to_segment(_sendable(name)))
    return "/".join(steps)


def _sendable(name: str) -> str:
    """A name that has bytes."""
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput("a name has a lone surrogate") from error
    return name


def _parameters(operation: Operation, left: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in operation.query:
        value = left.pop(name, None)
        if value is not None and name in operation.lists and not isinstance(value, list):
            raise InvalidInput(f"{name} is a list of words, not {validate.shown(value)}")
        if isinstance(value, bool):
            yield name, "true" if value else "false"
        elif value is not None and value != []:
            yield name, value


def _conditions(key: str | None, expect: Expect | None) -> dict[str, str]:
    """The headers of a write."""
    found: dict[str, str] = {}
    if key is not None:
        found["Idempotency-Key"] = validate.identifier(key, "idempotency_key")
    checked = validate.expected(expect)
    if isinstance(checked, tuple):
        found["If-Match"] = wire.version_tag(checked[1], checked[0])
    elif checked is not None:
        found["If-Match"] = wire.head_tag(checked)
    return found
