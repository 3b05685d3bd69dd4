"""What requests contain.

Responsible for names, types and limits, which come from ``model.limits``. Leaves what they mean to
``calls`` and everything that depends on the memory to it. Invariants: an unknown field is refused;
a field that is left out is not passed on, so the defaults are those of ``Memory``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from recollect.model import limits
from recollect.model.events import ROLES, SourceType, Trust
from recollect.model.presets import Units
from recollect.model.values import Include, Quote
from recollect.model.words import Sources

Text = Annotated[str, Meta(min_length=1, max_length=limits.TEXT_MAX_BYTES)]
Name = Annotated[str, Meta(min_length=1, max_length=limits.NAME_MAX_CHARS)]
Id = Annotated[str, Meta(min_length=1, max_length=limits.ID_MAX_CHARS)]
Reason = Annotated[str, Meta(max_length=limits.REASON_MAX_CHARS)]
Query = Annotated[str, Meta(max_length=limits.TEXT_MAX_BYTES)]
FilterText = Annotated[str, Meta(max_length=limits.FILTER_MAX_CHARS)]
Moment = Annotated[str, Meta(max_length=64, description="An instant or a date, ISO 8601.")]
Tags = Annotated[list[Name], Meta(max_length=limits.TAGS_MAX_COUNT)]
# Names and quotes have a limit each, which the memory checks.
Evidence = Annotated[list[Id | Quote], Meta(max_length=2 * limits.EVIDENCE_MAX_COUNT)]
Data = dict[str, Any]
Share = Annotated[float, Meta(ge=0, le=1)]
Hits = Annotated[int, Meta(ge=1, le=limits.RECALL_MAX_HITS)]
PageSize = Annotated[int, Meta(ge=1, le=1_000)]
Cursor = Annotated[str, Meta(max_length=1_000)]
Position = Annotated[int, Meta(ge=0, le=limits.INTEGER_MAX)]

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


class Remember(Request, frozen=True, kw_only=True):
    """A statement to store."""

    text: Text
    key: Name | UnsetType = UNSET
    about: Name | UnsetType = UNSET
    kind: Name | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    data: Data | UnsetType = UNSET
    confidence: Share | UnsetType = UNSET
    evidence: Evidence | UnsetType = UNSET
    expires: Moment | UnsetType = UNSET
    said_at: Moment | UnsetType = UNSET
    valid_from: Moment | UnsetType = UNSET
    valid_to: Moment | UnsetType = UNSET
    how_known: SourceType | UnsetType = UNSET
    is_hypothesis: bool | UnsetType = UNSET
    replaces: Id | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET
    id: Id | UnsetType = UNSET


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


class Revise(Request, frozen=True, kw_only=True):
    """A correction; what is left out stays as it is, and null takes it away.

    ``tags`` are added, and ``untag`` are removed.
    """

    text: Text | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET
    evidence: Evidence | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    untag: Tags | UnsetType = UNSET
    data: Data | UnsetType = UNSET
    expires: Moment | None | UnsetType = UNSET


class Relate(Request, frozen=True, kw_only=True):
    """A link's weight and name; its ends and its kind are in the path."""

    weight: Annotated[float, Meta(ge=0)] | UnsetType = UNSET
    name: Name | UnsetType = UNSET


class Erase(Request, frozen=True, kw_only=True):
    """Erase for good, or with ``dry_run`` say what would be erased."""

    dry_run: bool = False
    sources: bool = True
    reason: Reason | UnsetType = UNSET


class RecallRequest(Request, frozen=True, kw_only=True):
    """A question."""

    query: Query
    k: Hits | UnsetType = UNSET
    unit: Units | UnsetType = UNSET
    filter: FilterText | UnsetType = UNSET
    include: list[Include] | UnsetType = UNSET
    valid_at: Moment | UnsetType = UNSET
    min_relevance: Share | UnsetType = UNSET


class RecallMany(Request, frozen=True, kw_only=True):
    """Several questions to one state of the memory."""

    queries: Annotated[list[Query], Meta(min_length=1, max_length=100)]
    k: Hits = 10
    unit: Units | UnsetType = UNSET
    filter: FilterText | UnsetType = UNSET
    include: list[Include] | UnsetType = UNSET
    valid_at: Moment | UnsetType = UNSET
    min_relevance: Share | UnsetType = UNSET


class WhyNotRequest(Request, frozen=True, kw_only=True):
    """Why a question does not find something; with a preset, why a context leaves it out."""

    id: Id
    query: Query
    preset: Name | UnsetType = UNSET
    tokens: Annotated[int, Meta(ge=1, le=limits.CONTEXT_MAX_TOKENS)] | UnsetType = UNSET
    k: Hits | UnsetType = UNSET
    unit: Units | UnsetType = UNSET
    filter: FilterText | UnsetType = UNSET
    include: list[Include] | UnsetType = UNSET
    valid_at: Moment | UnsetType = UNSET
    min_relevance: Share | UnsetType = UNSET


class ContextRequest(Request, frozen=True, kw_only=True):
    """A question whose answer is packed for a prompt."""

    query: Query
    tokens: Annotated[int, Meta(ge=1, le=limits.CONTEXT_MAX_TOKENS)] | UnsetType = UNSET
    preset: Name | UnsetType = UNSET
    receipt: bool | UnsetType = UNSET


class Used(Request, frozen=True, kw_only=True):
    """The records of a context that were useful; all of them if none is named."""

    ids: Annotated[list[Id], Meta(max_length=1_000)] | UnsetType = UNSET


class Useful(Request, frozen=True, kw_only=True):
    """Records that were useful, whatever named them."""

    ids: Annotated[list[Id], Meta(max_length=1_000)]


class ReplayRequest(Request, frozen=True, kw_only=True):
    """The question, which a receipt does not keep."""

    query: Query | UnsetType = UNSET


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


class RememberAct(Remember, frozen=True, kw_only=True, tag_field="act", tag="remember"):
    """In a batch: store a statement."""


class ObserveAct(Message, frozen=True, kw_only=True, tag_field="act", tag="observe"):
    """In a batch: store what was said or seen."""


class ReviseAct(Revise, frozen=True, kw_only=True, tag_field="act", tag="revise"):
    """In a batch: correct a record, or change its tags."""

    id: Id


class ForgetAct(Request, frozen=True, kw_only=True, tag_field="act", tag="forget"):
    """In a batch: take something out of default reads."""

    id: Id
    sources: Sources | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET


class UndoAct(Request, frozen=True, kw_only=True, tag_field="act", tag="undo"):
    """In a batch: bring back what was forgotten or archived, but not what was replaced."""

    id: Id


class LinkAct(Relate, frozen=True, kw_only=True, tag_field="act", tag="link"):
    """In a batch: relate two records."""

    source: Id
    target: Id
    kind: Name | UnsetType = UNSET


class UsedAct(Request, frozen=True, kw_only=True, tag_field="act", tag="used"):
    """In a batch: report records that were useful."""

    ids: Annotated[list[Id], Meta(max_length=1_000)]


Act = RememberAct | ObserveAct | ReviseAct | ForgetAct | UndoAct | LinkAct | UsedAct


class Batch(Request, frozen=True, kw_only=True):
    """Writes that happen together or not at all."""

    acts: Annotated[list[Act], Meta(min_length=1, max_length=limits.COMMAND_MAX_EVENTS)]


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


class Forget(Request, frozen=True, kw_only=True):
    """What happens to the episodes that a record came from, and why it is forgotten.

    With ``derived`` everything that was derived from it goes as well; ``dry_run`` only says what.
    """

    derived: bool | UnsetType = UNSET
    dry_run: bool | UnsetType = UNSET
    sources: Sources | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET


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
