"""What requests contain.

Responsible for which requests are made from a call, and for those that differ from every call.
Leaves limits to ``signatures``, what requests mean to ``calls`` and everything that depends on the
memory to it. Invariants: an unknown field is refused; a field that is left out is not passed on, so
the defaults are those of ``Memory``.
"""

from __future__ import annotations

from functools import partial, reduce
from operator import or_
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from recollect.interfaces.http.signatures import (
    Data,
    FilterText,
    Hits,
    Id,
    Ids,
    Moment,
    Name,
    Position,
    Query,
    Reason,
    Share,
    Text,
    request,
    several,
)
from recollect.memory import Batch as Writes
from recollect.memory import Memory
from recollect.memory.admin import Admin
from recollect.memory.graph.links import Links
from recollect.model import limits
from recollect.model.events import ROLES, Trust
from recollect.model.presets import Units
from recollect.model.values import Include

PageSize = Annotated[int, Meta(ge=1, le=1_000)]
Cursor = Annotated[str, Meta(max_length=1_000)]

Anchor = Annotated[str, Meta(pattern="^[0-9]{1,15}:[0-9a-f]{64}$")]
Verb = Literal["read", "write", "erase", "create", "drop", "review", "admin"]
ExportFormat = Literal["ndjson", "json", "graph", "mem0", "mcp-memory", "markitect"]


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Common to all requests."""

    def given(self, *without: str) -> dict[str, Any]:
        """The fields that the caller gave."""
        return {
            name: value
            for name in self.__struct_fields__
            if name not in without and (value := getattr(self, name)) is not UNSET
        }


_request = partial(request, base=Request)
Remember = _request("Remember", Memory.remember, "A statement to store.")


class Message(Request, frozen=True, kw_only=True):
    """One thing that was said or seen."""

    content: Text
    role: Annotated[Name, Meta(description=f"One of {', '.join(ROLES)}, or another vendor's.")] = (
        "user"
    )
    session: Name | UnsetType = UNSET
    said_at: Moment | UnsetType = UNSET
    metadata: Data | UnsetType = UNSET
    id: Id | UnsetType = UNSET


class Observe(Request, frozen=True, kw_only=True):
    """What was said or seen, in order; stored together or not at all."""

    messages: Annotated[list[Message], Meta(min_length=1, max_length=1_000)]


Revise = _request(
    "Revise",
    Memory.revise,
    """A correction; what is left out stays as it is, and null takes it away.

    ``tags`` are added, and ``untag`` are removed.
    """,
    leave_out=("id",),
)


Relate = _request(
    "Relate",
    Links.link,
    "A link's weight and name; its ends and its kind are in the path.",
    leave_out=("source", "target", "kind"),
)


class Erase(Request, frozen=True, kw_only=True):
    """Erase for good, or with ``dry_run`` say what would be erased."""

    dry_run: bool = False
    sources: bool = True
    reason: Reason | UnsetType = UNSET


RecallRequest = _request("RecallRequest", Memory.recall, "A question.")


class RecallMany(Request, frozen=True, kw_only=True):
    """Several questions to one state of the memory."""

    queries: Annotated[list[Query], Meta(min_length=1, max_length=100)]
    k: Hits = 10
    unit: Units | UnsetType = UNSET
    filter: FilterText | UnsetType = UNSET
    include: list[Include] | UnsetType = UNSET
    valid_at: Moment | UnsetType = UNSET
    min_relevance: Share | UnsetType = UNSET


WhyNotRequest = _request(
    "WhyNotRequest",
    Admin.why_not,
    "Why a question does not find something; with a preset, why a context leaves it out.",
)
ContextRequest = _request(
    "ContextRequest", Memory.context, "A question whose answer is packed for a prompt."
)


class Used(Request, frozen=True, kw_only=True):
    """The records of a context that were useful; all of them if none is named."""

    ids: Ids | UnsetType = UNSET


class Useful(Request, frozen=True, kw_only=True):
    """Records that were useful, whatever named them."""

    ids: Ids


ReplayRequest = _request(
    "ReplayRequest",
    Memory.replay,
    "The question, which a receipt does not keep.",
    leave_out=("receipt",),
)


class Decide(Request, frozen=True, kw_only=True):
    """A person's decision; ``digest`` binds it to what the person saw."""

    digest: Annotated[str, Meta(min_length=1, max_length=128)]
    reason: Reason | UnsetType = UNSET


class NewSpace(Request, frozen=True, kw_only=True):
    """A space to create."""

    name: Annotated[str, Meta(min_length=1, max_length=limits.SPACE_NAME_MAX_BYTES)]


class NewToken(Request, frozen=True, kw_only=True):
    """A token to create; without a space it opens every one."""

    label: Name
    space: Annotated[str, Meta(min_length=1, max_length=limits.SPACE_NAME_MAX_BYTES)] | None = None
    verbs: list[Verb] | UnsetType = UNSET
    trust: Trust | UnsetType = UNSET
    user: Name | UnsetType = UNSET
    agent: Name | UnsetType = UNSET
    expires: Moment | UnsetType = UNSET


class Rotate(Request, frozen=True, kw_only=True):
    """For how many seconds the old token still works: an hour by default, 30 days at most."""

    overlap_s: Annotated[int, Meta(ge=0, le=2_592_000)] | UnsetType = UNSET


# --- acts of a batch ---------------------------------------------------------------------------


# Each is the call of that name of a batch.
RememberAct = _request(
    "RememberAct", Memory.remember, "In a batch: store a statement.", act="remember"
)


class ObserveAct(Message, frozen=True, kw_only=True, tag_field="act", tag="observe"):
    """In a batch: store what was said or seen."""


ReviseAct = _request(
    "ReviseAct", Memory.revise, "In a batch: correct a record, or change its tags.", act="revise"
)
ForgetAct = _request(
    "ForgetAct", Writes.forget, "In a batch: take something out of default reads.", act="forget"
)
UndoAct = _request(
    "UndoAct",
    Writes.undo,
    "In a batch: bring back what was forgotten or archived, but not what was replaced.",
    act="undo",
)
LinkAct = _request("LinkAct", Writes.link, "In a batch: relate two records.", act="link")
UsedAct = _request(
    "UsedAct", Writes.used, "In a batch: report records that were useful.", act="used"
)
_ACTS_MAX: Final = limits.COMMAND_MAX_EVENTS
_ACTS: Final = (RememberAct, ObserveAct, ReviseAct, ForgetAct, UndoAct, LinkAct, UsedAct)
Batch = msgspec.defstruct(
    "Batch",
    [("acts", Annotated[several(reduce(or_, _ACTS)), Meta(min_length=1, max_length=_ACTS_MAX)])],
    bases=(Request,),
    namespace={"__doc__": "Writes that happen together or not at all."},
    kw_only=True,
)


# --- parameters in the address -----------------------------------------------------------------


class At(Request, frozen=True, kw_only=True):
    """The past: a position or an instant."""

    at: Annotated[str, Meta(max_length=64)] | UnsetType = UNSET


class One(At, frozen=True, kw_only=True):
    """Which hidden things may be read as well."""

    include: list[Include] = []


class Listing(One, frozen=True, kw_only=True):
    """One page of a list."""

    filter: FilterText | UnsetType = UNSET
    limit: PageSize = 100
    cursor: Cursor | UnsetType = UNSET
    after: Id | UnsetType = UNSET
    after_seq: Position | UnsetType = UNSET


class Events(At, frozen=True, kw_only=True):
    """One page of events."""

    after: Position = 0
    before: Position | UnsetType = UNSET
    limit: PageSize = 100
    kinds: list[Name] = []
    id: Id | UnsetType = UNSET


Forget = _request(
    "Forget",
    Memory.forget,
    """What happens to the episodes that a record came from, and why it is forgotten.

    With ``derived`` everything that was derived from it goes as well; ``dry_run`` only says what.
    """,
    leave_out=("id",),
)


class Around(At, frozen=True, kw_only=True):
    """How far to follow links."""

    hops: Annotated[int, Meta(ge=1, le=limits.GRAPH_MAX_HOPS)] = 1
    kinds: list[Name] = []
    direction: Literal["both", "out", "in"] = "both"
    include: list[Include] = []
    limit: Annotated[int, Meta(ge=1, le=limits.LIST_MAX_RECORDS)] = 120


class Waiting(At, frozen=True, kw_only=True):
    """One page of what waits for a person."""

    after: Position = 0
    limit: PageSize = 100


class Short(At, frozen=True, kw_only=True):
    """One page of a list that has no filter."""

    limit: PageSize = 100
    cursor: Cursor | UnsetType = UNSET
    after: Id | UnsetType = UNSET
    after_seq: Position | UnsetType = UNSET


class Between(Request, frozen=True, kw_only=True, rename={"from_": "from"}):
    """Two positions; the second is the newest by default."""

    from_: Position
    to: Position | UnsetType = UNSET


class After(Request, frozen=True, kw_only=True):
    """The event after which to begin."""

    after: Position = 0


class Checking(Request, frozen=True, kw_only=True):
    """How much is checked, and what was kept elsewhere to compare with."""

    deep: bool | UnsetType = UNSET
    anchor: Anchor | UnsetType = UNSET


class Exporting(At, frozen=True, kw_only=True):
    """A format of export."""

    format: ExportFormat


class DropSpace(Request, frozen=True, kw_only=True):
    """With ``dry_run``, only say what would be dropped; without, ``digest`` is what that said."""

    dry_run: bool = False
    digest: Annotated[str, Meta(max_length=128)] | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET


class Of(Request, frozen=True, kw_only=True):
    """A name."""

    of: Annotated[str, Meta(min_length=1, max_length=200)]
