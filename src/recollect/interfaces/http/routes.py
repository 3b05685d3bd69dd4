"""The table of operations.

Responsible for which method and path mean what, and for finding the operation of a request.
Leaves doing it to ``calls``. Invariants: a path matches at most one row of a method; a segment is
compared as it was sent, so nothing is decoded before it is routed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

from recollect.errors import InvalidInput
from recollect.interfaces.http import further as f
from recollect.interfaces.http import shapes as s
from recollect.interfaces.http.call import Call
from recollect.interfaces.http.calls import (
    correcting,
    jobs,
    ledger,
    looking,
    parts,
    reading,
    records,
    spaces,
    tokens,
)
from recollect.interfaces.http.problems import Refused
from recollect.model import wire
from recollect.model.limits import COMMAND_MAX_BYTES
from recollect.model.presets import Preset
from recollect.model.values import (
    Archived,
    AuditEntry,
    Branch,
    Change,
    Checkpoint,
    Context,
    Diff,
    Document,
    Episode,
    Erasure,
    EventView,
    Finding,
    Forgotten,
    Graph,
    Job,
    Link,
    MadeToken,
    Merged,
    OrderedErasure,
    Overview,
    PageInfo,
    Proof,
    Proposal,
    Recall,
    Receipt,
    Record,
    Replay,
    Rule,
    Schedule,
    Session,
    SpaceStatus,
    Token,
    Undone,
    Verification,
    Version,
    Why,
    WhyNot,
)

_S: Final = "/v1/spaces/{space}"
_WHOLE: Final = ("verify", "checkpoint", "get_ledger", "push_ledger", "export", "digest")
_SEARCHES: Final = (
    "recall", "recall_many", "why_not", "context", "replay", "diff", "branch_diff", "overview",
)  # fmt: skip
CREATING: Final = ("remember", "set_preset", "set_document", "set_rule")  # take If-None-Match
STRICT: Final = ("revise", "forget", "undo_one")  # with --strict they need If-Match
_LEDGER_MAX_BYTES: Final = 67_108_864
_LINES: Final = "application/x-ndjson"
_BODY_MAX_BYTES: Final = 8_388_608  # a text of the greatest length, with every byte escaped


class Route(NamedTuple):
    """One operation."""

    method: str
    path: str
    name: str
    call: Callable[[Call], Any]
    gives: Any
    takes: Any = None
    query: Any = None
    status: int = 200
    verb: str = "read"
    body_max_bytes: int = _BODY_MAX_BYTES
    media: str = "application/json"  # of the answer
    also: int | None = None  # another status of the same answer

    @property
    def is_write(self) -> bool:
        """True if it takes an idempotency key."""
        return self.verb != "read"

    @property
    def continues(self) -> str:
        """The parameter that ``next`` of a page is sent back as."""
        return "after" if self.name == "events" else "cursor"

    @property
    def rate_class(self) -> str:
        """Which rate counts it: what reads or changes a whole space is rare."""
        if self.verb in ("admin", "create", "drop") or self.name in _WHOLE:
            return "admin"
        if self.name in _SEARCHES:
            return "recall"
        return "write" if self.is_write else "read"

    @property
    def summary(self) -> str:
        """What it does, in a sentence."""
        return (self.call.__doc__ or "").partition("\n")[0]


TABLE: Final = (
    Route("POST", f"{_S}/records", "remember", records.remember, Record, s.Remember,
          status=201, verb="write", also=200),  # 200: replacing a record waits for a review
    Route("GET", f"{_S}/records", "list_records", records.list_, wire.Page[Record],
          query=s.Listing),
    Route("GET", f"{_S}/records/{{id}}", "get", records.get, Record | Episode, query=s.One),
    Route("GET", f"{_S}/keys/{{key}}", "get_key", records.get_key, Record, query=s.One),
    Route("PATCH", f"{_S}/records/{{id}}", "revise", records.revise, Record, s.Revise,
          verb="write"),
    Route("DELETE", f"{_S}/records/{{id}}", "forget", records.forget, Forgotten, query=s.Forget,
          verb="write"),
    Route("POST", f"{_S}/records/{{id}}/erase", "erase", records.erase, Erasure, s.Erase,
          verb="erase"),
    Route("GET", f"{_S}/records/{{id}}/history", "history", records.history, list[Version],
          query=s.At),
    Route("GET", f"{_S}/records/{{id}}/why", "why", records.why, Why, query=s.At),
    Route("GET", f"{_S}/records/{{id}}/graph", "neighbours", records.graph, Graph,
          query=s.Around),
    Route("POST", f"{_S}/episodes", "observe", records.observe, list[Episode], s.Observe,
          status=201, verb="write", body_max_bytes=COMMAND_MAX_BYTES),
    Route("GET", f"{_S}/episodes", "list_episodes", records.episodes, wire.Page[Episode],
          query=s.Listing),
    Route("PUT", f"{_S}/links/{{source}}/{{kind}}/{{target}}", "link", records.link, Link,
          s.Relate, verb="write"),
    Route("DELETE", f"{_S}/links/{{source}}/{{kind}}/{{target}}", "unlink", records.unlink, None,
          status=204, verb="write"),
    Route("POST", f"{_S}/batch", "batch", records.batch, list[Record | Episode], s.Batch,
          verb="write", body_max_bytes=COMMAND_MAX_BYTES),
    Route("POST", f"{_S}/recall", "recall", reading.recall, Recall, s.RecallRequest, query=s.At),
    Route("POST", f"{_S}/recall/many", "recall_many", reading.recall_many, list[Recall],
          s.RecallMany, query=s.At),
    Route("POST", f"{_S}/why-not", "why_not", reading.why_not, WhyNot, s.WhyNotRequest, query=s.At),
    Route("POST", f"{_S}/context", "context", reading.context, Context, s.ContextRequest,
          query=s.At),
    Route("GET", f"{_S}/receipts", "list_receipts", reading.receipts, wire.Page[Receipt],
          query=s.Short),
    Route("GET", f"{_S}/receipts/{{receipt}}", "get_receipt", reading.receipt, Receipt,
          query=s.At),
    Route("POST", f"{_S}/receipts/{{receipt}}/used", "used", reading.used, list[Record], s.Used,
          verb="write"),
    Route("POST", f"{_S}/used", "useful", reading.useful, list[Record], s.Useful, verb="write"),
    Route("POST", f"{_S}/receipts/{{receipt}}/replay", "replay", reading.replay, Replay,
          s.ReplayRequest),
    Route("GET", f"{_S}/presets", "list_presets", reading.presets, list[Preset], query=s.At),
    Route("GET", f"{_S}/presets/{{name}}", "get_preset", reading.preset, Preset, query=s.At),
    Route("PUT", f"{_S}/presets/{{name}}", "set_preset", reading.set_preset, Preset, dict[str, Any],
          verb="write"),
    Route("DELETE", f"{_S}/presets/{{name}}", "drop_preset", reading.drop_preset, None,
          query=f.Drop, status=204, verb="write"),
    Route("GET", f"{_S}/events", "events", reading.events, wire.Page[Change], query=s.Events),
    Route("GET", f"{_S}/events/{{seq}}", "event", ledger.event, EventView, query=s.At),
    Route("GET", f"{_S}/diff", "diff", ledger.diff, ledger.Differences, query=s.Between),
    Route("GET", f"{_S}/review", "list_review", reading.waiting, list[Proposal],
          query=s.Waiting),
    Route("GET", f"{_S}/review/{{id}}", "get_review", reading.proposal, Proposal,
          query=s.At),
    Route("POST", f"{_S}/review/{{id}}/approve", "approve", reading.approve, Proposal, s.Decide,
          verb="review"),
    Route("POST", f"{_S}/review/{{id}}/reject", "reject", reading.reject, Proposal, s.Decide,
          verb="review"),
    Route("GET", f"{_S}/status", "status", reading.status, SpaceStatus, query=s.At),
    Route("GET", f"{_S}/digest", "digest", reading.digest, reading.Digest, query=s.At),
    Route("GET", f"{_S}/verify", "verify", ledger.verify, Verification, query=s.Checking),
    Route("GET", f"{_S}/checkpoint", "get_checkpoint", ledger.checkpoint, Checkpoint),
    Route("POST", f"{_S}/checkpoint", "checkpoint", ledger.sign, Checkpoint, status=201,
          verb="write"),
    Route("GET", f"{_S}/records/{{id}}/proof", "prove", ledger.prove, Proof),
    Route("GET", f"{_S}/proofs/{{seq}}", "prove_event", ledger.prove_event, Proof),
    Route("GET", f"{_S}/ledger", "get_ledger", ledger.ledger, bytes, query=s.After, media=_LINES),
    Route("PUT", f"{_S}/ledger", "push_ledger", ledger.receive, ledger.Ending, bytes,
          verb="write", body_max_bytes=_LEDGER_MAX_BYTES),
    Route("GET", f"{_S}/export", "export", ledger.export, bytes, query=s.Exporting,
          media="application/octet-stream"),
    Route("GET", _S, "get_space", reading.status, SpaceStatus, query=s.At),
    Route("DELETE", _S, "drop_space", ledger.drop, ledger.Dropping, query=s.DropSpace,
          verb="drop"),
    # corrections, erasing and keeping
    Route("POST", f"{_S}/records/{{id}}/undo", "undo_one", correcting.undo_one, Undone, f.UndoOne,
          verb="write"),
    Route("POST", f"{_S}/undo", "undo", correcting.undo, Undone, f.Undo, verb="write"),
    Route("POST", f"{_S}/review/{{id}}/confirm", "confirm", correcting.confirm, Record, f.Shown,
          verb="write"),
    Route("POST", f"{_S}/review/{{id}}/refute", "refute", correcting.refute, Record, f.Shown,
          verb="write"),
    Route("POST", f"{_S}/archive", "archive", correcting.archive, Archived, f.Faded,
          verb="write"),
    Route("POST", f"{_S}/erase", "erase_many", correcting.erase_many, Erasure, f.EraseMany,
          verb="erase"),
    Route("GET", f"{_S}/retention", "retention", correcting.retention, f.Days, query=s.At),
    Route("PUT", f"{_S}/retention", "set_retention", correcting.set_retention, None, f.Days,
          status=204, verb="write"),
    Route("GET", f"{_S}/subjects", "subjects", correcting.subjects, f.Encrypted, query=s.At),
    Route("PUT", f"{_S}/subjects", "set_subjects", correcting.set_subjects, None, f.Encrypted,
          status=204, verb="write"),
    # looking
    Route("GET", f"{_S}/recent", "recent", looking.recent, list[Record | Episode], query=f.Recent),
    Route("GET", f"{_S}/overview", "overview", looking.overview, Overview, query=f.General),
    Route("GET", f"{_S}/graph", "graph", looking.graph, Graph, query=f.Whole),
    Route("GET", f"{_S}/path", "path", looking.path, Graph, query=f.Ends),
    Route("GET", f"{_S}/audit", "audit", looking.audit, list[AuditEntry], query=f.Audit),
    Route("GET", f"{_S}/erasures", "erasures", looking.erasures, list[OrderedErasure], query=s.At),
    Route("GET", f"{_S}/check", "check", looking.check, list[Finding], query=s.At),
    Route("GET", f"{_S}/pages", "list_pages", looking.pages, list[PageInfo], query=s.At),
    Route("GET", f"{_S}/pages/{{name}}", "read_page", looking.page, looking.PageText, query=s.At),
    # presets and receipts
    Route("GET", f"{_S}/presets/{{name}}/since", "preset_since", parts.since, parts.Since,
          query=s.At),
    Route("POST", f"{_S}/flush", "flush", parts.flush, None, status=204),
    Route("DELETE", f"{_S}/receipts/{{receipt}}", "erase_receipt", parts.erase_receipt, None,
          query=f.Because, status=204, verb="erase"),
    # documents and rules
    Route("GET", f"{_S}/documents", "list_documents", parts.documents, list[Document],
          query=f.Documents),
    Route("GET", f"{_S}/documents/{{type}}/{{name}}", "get_document", parts.document, Document,
          query=s.At),
    Route("PUT", f"{_S}/documents/{{type}}/{{name}}", "set_document", parts.set_document, Document,
          dict[str, Any], verb="write"),
    Route("DELETE", f"{_S}/documents/{{type}}/{{name}}", "drop_document", parts.drop_document,
          None, query=f.Drop, status=204, verb="write"),
    Route("GET", f"{_S}/rules", "list_rules", parts.rules, list[Rule], query=f.Rules),
    Route("GET", f"{_S}/rules/{{name}}", "get_rule", parts.rule, Rule, query=s.At),
    Route("PUT", f"{_S}/rules/{{name}}", "set_rule", parts.set_rule, Rule, f.RuleRequest,
          verb="write"),
    Route("DELETE", f"{_S}/rules/{{name}}", "drop_rule", parts.drop_rule, None, query=f.Drop,
          status=204, verb="write"),
    # sessions
    Route("POST", f"{_S}/sessions", "open_session", parts.open_session, Session, f.NewSession,
          status=201, verb="write"),
    Route("GET", f"{_S}/sessions", "list_sessions", parts.sessions, list[Session],
          query=f.Sessions),
    Route("DELETE", f"{_S}/sessions/{{id}}", "close_session", parts.close_session, parts.Found,
          query=f.Drop, verb="write"),
    # proposals and branches
    Route("POST", f"{_S}/review", "propose", parts.propose, Proposal, f.Proposed, status=201,
          verb="write"),
    Route("POST", f"{_S}/review/{{id}}/withdraw", "withdraw", parts.withdraw, Proposal, f.Because,
          verb="write"),
    Route("POST", f"{_S}/review/{{id}}/erase", "erase_proposal", parts.erase_proposal, Erasure,
          f.Because, verb="erase"),
    Route("POST", f"{_S}/branches", "open_branch", parts.open_branch, Branch, f.NewBranch,
          status=201, verb="write"),
    Route("GET", f"{_S}/branches", "list_branches", parts.branches, list[Branch],
          query=f.Branches),
    Route("GET", f"{_S}/branches/{{name}}", "get_branch", parts.branch, Branch, query=s.At),
    Route("GET", f"{_S}/branches/{{name}}/diff", "branch_diff", parts.diff, Diff, query=s.At),
    Route("POST", f"{_S}/branches/{{name}}/merge", "merge", parts.merge, Merged, f.Merge,
          verb="review"),
    Route("POST", f"{_S}/branches/{{name}}/abandon", "abandon", parts.abandon, Branch, f.Because,
          verb="write"),
    Route("POST", f"{_S}/branches/{{name}}/condense", "condense", parts.condense, Branch,
          f.Condense, verb="write"),
    Route("POST", f"{_S}/branches/{{name}}/erase", "erase_branch", parts.erase_branch, Erasure,
          f.Because, verb="erase"),
    Route("POST", f"{_S}/jobs", "ask_job", jobs.ask, Job, jobs.Ask, status=202, verb="write"),
    Route("GET", f"{_S}/jobs", "list_jobs", jobs.list_, list[Job], query=jobs.Wanted),
    Route("GET", f"{_S}/jobs/{{job}}", "get_job", jobs.get, Job),
    Route("DELETE", f"{_S}/jobs/{{job}}", "cancel_job", jobs.cancel, Job, verb="write"),
    Route("GET", f"{_S}/schedules", "list_schedules", jobs.schedules, list[Schedule]),
    Route("GET", f"{_S}/schedules/{{kind}}", "get_schedule", jobs.schedule, Schedule),
    Route("PUT", f"{_S}/schedules/{{kind}}", "set_schedule", jobs.set_schedule, Schedule,
          jobs.Planned, verb="write"),
    Route("DELETE", f"{_S}/schedules/{{kind}}", "drop_schedule", jobs.drop_schedule, None,
          status=204, verb="write"),
    Route("GET", "/v1/spaces", "list_spaces", spaces.list_, spaces.Spaces),
    Route("POST", "/v1/spaces", "create_space", spaces.create, SpaceStatus, s.NewSpace,
          status=201, verb="create", also=200),  # 200: it was there
    Route("GET", "/v1/me", "me", tokens.me, Token),
    Route("GET", "/v1/tokens", "list_tokens", tokens.list_, tokens.Tokens, verb="admin"),
    Route("POST", "/v1/tokens", "create_token", tokens.create, MadeToken, s.NewToken,
          status=201, verb="admin"),
    Route("GET", "/v1/tokens/{token}", "get_token", tokens.get, Token, verb="admin"),
    Route("DELETE", "/v1/tokens/{token}", "revoke_token", tokens.revoke, tokens.Revoked,
          verb="admin"),
    Route("POST", "/v1/tokens/{token}/rotate", "rotate_token", tokens.rotate, MadeToken, s.Rotate,
          status=201, verb="admin"),
    Route("GET", "/v1/name", "name", spaces.name, spaces.Segment, query=s.Of),
)  # fmt: skip

_Node = dict[str, Any]  # a literal segment or "*" → node; "METHOD " → route


def find(method: str, path: str) -> tuple[Route, dict[str, str]]:
    """The operation of a request, and the names in its path."""
    node, names = _tree(), []
    for segment in path.removeprefix("/").split("/"):
        if segment in node:
            node = node[segment]
        elif "*" in node and segment:
            node = node["*"]
            names.append(named(segment))
        else:
            raise _no_route()
    route: Route | None = node.get("GET " if method == "HEAD" else f"{method} ")
    if route is None:
        raise _other_method(node)
    return route, dict(zip(_keys(route.path), names, strict=True))


@cache
def _tree() -> _Node:
    root: _Node = {}
    for route in TABLE:
        node = root
        for part in route.path.removeprefix("/").split("/"):
            node = node.setdefault("*" if part.startswith("{") else part, {})
        node[f"{route.method} "] = route
    return root


@cache
def _keys(path: str) -> tuple[str, ...]:
    """The names of what varies in a path."""
    return tuple(part[1:-1] for part in path.split("/") if part.startswith("{"))


def _other_method(node: _Node) -> Refused:
    """Why a method has no operation: there are others, or the path leads nowhere."""
    allowed = ", ".join(sorted(key[:-1] for key in node if key.endswith(" ")))
    if not allowed:
        return _no_route()
    return Refused(405, "method_not_allowed", f"use {allowed}", headers={"Allow": allowed})


def named(segment: str) -> str:
    """The name that a segment of a path stands for."""
    try:
        return wire.from_segment(segment)
    except InvalidInput as error:
        raise Refused(
            400, "malformed", error.message, hint="GET /v1/name?of= gives the form of a name"
        ) from error


def _no_route() -> Refused:
    return Refused(404, "no_route", "no operation has this path", hint="see /openapi.json")
