"""One operation on a memory: what it is given, and what it answers.

Responsible for the values between ``app`` and ``calls``, and for pages. Leaves the protocol to
``app``. Invariant: a page never shifts under new writes, because its cursor names the position at
which the list was first read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import IO, Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec import structs

from recollect.errors import Changed, InvalidInput, NotFound
from recollect.interfaces.http.problems import Refused
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from recollect.memory.handle.on_branch import BranchSpace
from recollect.memory.store import Store
from recollect.model import wire
from recollect.model.instants import instant
from recollect.model.limits import INTEGER_MAX

T = TypeVar("T")

_TRIES_MAX_COUNT: Final = 16
_PAGE_MAX_CHARS: Final = 4_194_304
_ITEM_CHARS: Final = 1_000
_WRONG: Final = "this cursor is not one that this list gave"


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """What a write was told beside its body."""

    key: str | None = None  # Idempotency-Key, as the ledger has it
    match: str | None = None  # If-Match
    is_new: bool = False  # If-None-Match: *

    def options(self, id: str | None = None) -> dict[str, Any]:
        """The arguments of a call of ``Memory`` that changes this record, or nothing named."""
        if self.is_new:
            raise Refused(
                422, "invalid_input", "this operation does not take If-None-Match",
                hint="it is for what creates a record, a preset, a document or a rule",
            )  # fmt: skip
        found: dict[str, Any] = {} if self.key is None else {"idempotency_key": self.key}
        if self.match is not None:
            is_head, seq, of = wire.parse_tag(self.match)
            if not is_head and of is None and id is None:
                raise InvalidInput("If-Match must be the ETag of the space for this operation")
            found["expect"] = seq if is_head else (of or id, seq)
        return found


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A request, checked."""

    store: Store
    memory: Memory | None  # of the space in the path, narrowed and at the position asked for
    path: Mapping[str, str]
    body: Any
    query: Any
    write: Write

    @property
    def space(self) -> Memory:
        """The memory that the path names."""
        if self.memory is None:
            raise TypeError("this operation has no space")
        return self.memory


class File(NamedTuple):
    """An answer that is not kept in memory; who sends it closes it."""

    data: IO[bytes]
    size: int


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer with headers."""

    value: Any
    headers: Mapping[str, str] = {}
    status: int | None = None


def paged(
    call: Call, list_: Callable[[Memory, str | int | None], Sequence[Any]], asked: Mapping[str, Any]
) -> Answer:
    """One page of a list whose calls take ``after``: the last item before it, by id or ``seq``.

    A cursor has the ``seq``, which leads on even if the item was erased since.
    """
    cursor = asked.get("cursor")
    same = {name: value for name, value in asked.items() if name != "cursor"}
    digest = wire.encoded(sha256(msgspec.json.encode([call.path, same])).digest()[:9])
    after: str | int | None = asked.get("after", asked.get("after_seq"))
    memory = call.space
    if cursor is not None:
        position, after = _opened(cursor, digest)
        memory = _then(memory, position)
    else:
        position = memory.events.position
        memory = memory if "at" in asked else _then(memory, position)
    listed = list(list_(memory, after))
    found = _within(listed)
    more = len(found) < len(listed) or len(listed) == asked["limit"]
    next_ = _cursor(position, found[-1].seq, digest) if more else None
    return Answer(
        value=wire.Page(items=found, next=next_, position=position),
        headers={"Recollect-Position": str(position)},
    )


def _then(memory: Memory, position: int) -> Memory:
    """The memory at a position; a branch has no past, so its pages show the present."""
    is_branch = isinstance(handle_of(memory).space, BranchSpace)
    return memory if is_branch else memory.at(position)


def _within(found: list[Any]) -> list[Any]:
    """As many as fit into one answer, at least one; the cursor leads to the rest."""
    size = 0
    for place, each in enumerate(found):
        size += len(getattr(each, "text", "")) + _ITEM_CHARS
        if size > _PAGE_MAX_CHARS and place:
            return found[:place]
    return found


def _cursor(position: int, after: int, digest: str) -> str:
    return wire.encoded(msgspec.json.encode([position, after, digest]))


def _opened(cursor: str, digest: str) -> tuple[int, int]:
    try:
        position, after, of = msgspec.json.decode(wire.decoded(cursor), type=tuple[int, int, str])
    except (ValueError, msgspec.MsgspecError) as error:
        raise InvalidInput(_WRONG) from error
    if of != digest or not (0 <= position <= INTEGER_MAX and 0 <= after <= INTEGER_MAX):
        raise InvalidInput(_WRONG, hint="change nothing but the cursor between pages")
    return position, after


def created(
    call: Call,
    make: Callable[..., T],
    is_there: Callable[[Memory], bool],
    id: str | None = None,
) -> T:
    """Makes a write, which must create something if ``If-None-Match: *`` was sent.

    It then expects the position at which nothing was there, and is tried again if another write
    came first. If something is there, it expects what no memory is at, so that only a call that was
    made before gets an answer.
    """
    write = call.write
    if not write.is_new:
        return make(**write.options(id))
    given = structs.replace(write, is_new=False).options()
    for _ in range(_TRIES_MAX_COUNT):
        position = call.space.events.position
        is_taken = is_there(_then(call.space, position))
        try:
            return make(**given, expect=0 if is_taken else position)
        except Changed as error:
            if is_taken:
                raise Changed("it is there already", hint="read it, then decide") from error
    raise Refused(
        503, "busy", "others write too often to see whether this is new", hint="send it again",
        headers={"Retry-After": "1"},
    )  # fmt: skip


def is_found(look: Callable[[], object]) -> bool:
    """True if a look finds something."""
    try:
        look()
    except (NotFound, InvalidInput):  # not there, or the beginning of several names
        return False
    return True


def past(memory: Memory, at: str) -> Memory:
    """The memory at a position or an instant."""
    if at.isdecimal() and len(at) <= 16:
        return memory.at(int(at))
    return memory.at(instant(at))


def needs_match(call: Call) -> None:
    """Refuses an act that cannot be undone, unless it names what it changes."""
    if call.write.match is None:
        raise Refused(
            428, "precondition_required", "this operation needs If-Match",
            hint="send the ETag of what you have read",
        )  # fmt: skip
