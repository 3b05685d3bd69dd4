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
from recollect.interfaces.http import shapes as s
from recollect.interfaces.http.call import Call
from recollect.interfaces.http.calls import ledger, reading, records, spaces, tokens
from recollect.interfaces.http.problems import Refused
from recollect.model import wire
from recollect.model.frames import Frame
from recollect.model.limits import COMMAND_MAX_BYTES
from recollect.model.values import (
    Change,
    Checkpoint,
    Context,
    Episode,
    Erasure,
    EventView,
    Forgotten,
    Graph,
    Link,
    MadeToken,
    Proof,
    Proposal,
    Recall,
    Receipt,
    Record,
    Replay,
    SpaceStatus,
    Token,
    Verification,
    Version,
    Why,
    WhyNot,
)

_S: Final = "/v1/spaces/{space}"
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

    @property
    def is_write(self) -> bool:
        """True if it takes an idempotency key."""
        return self.verb != "read"

    @property
    def summary(self) -> str:
        """What it does, in a sentence."""
        return (self.call.__doc__ or "").partition("\n")[0]


TABLE: Final = (
    Route("POST", f"{_S}/records", "remember", records.remember, Record, s.Remember,
          status=201, verb="write"),
    Route("GET", f"{_S}/records", "list_records", records.list_, wire.Page[Record],
          query=s.Listing),
    Route("GET", f"{_S}/records/{{id}}", "get", records.get, Record | Episode, query=s.One),
    Route("GET", f"{_S}/keys/{{key}}", "keyed", records.keyed, Record, query=s.One),
    Route("PATCH", f"{_S}/records/{{id}}", "revise", records.revise, Record, s.Revise,
          verb="write"),
    Route("DELETE", f"{_S}/records/{{id}}", "forget", records.forget, Forgotten, query=s.Forget,
          verb="write"),
    Route("POST", f"{_S}/records/{{id}}/restore", "restore", records.restore, Record | Episode,
          verb="write"),
    Route("POST", f"{_S}/records/{{id}}/tags", "tag", records.tag, Record, s.Retag, verb="write"),
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
    Route("POST", f"{_S}/receipts/{{receipt}}/replay", "replay", reading.replay, Replay,
          s.ReplayRequest),
    Route("GET", f"{_S}/frames", "list_frames", reading.frames, list[Frame], query=s.At),
    Route("GET", f"{_S}/frames/{{name}}", "get_frame", reading.frame, Frame, query=s.At),
    Route("PUT", f"{_S}/frames/{{name}}", "set_frame", reading.set_frame, Frame, dict[str, Any],
          verb="write"),
    Route("DELETE", f"{_S}/frames/{{name}}", "drop_frame", reading.drop_frame, None, status=204,
          verb="write"),
    Route("GET", f"{_S}/events", "events", reading.events, wire.Page[Change], query=s.Events),
    Route("GET", f"{_S}/events/{{seq}}", "event", ledger.event, EventView),
    Route("GET", f"{_S}/diff", "diff", ledger.diff, ledger.Differences, query=s.Between),
    Route("GET", f"{_S}/review", "list_review", reading.waiting, list[Proposal],
          query=s.Waiting),
    Route("GET", f"{_S}/review/{{id}}", "get_review", reading.proposal, Proposal),
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
    Route("GET", "/v1/spaces", "list_spaces", spaces.list_, spaces.Spaces),
    Route("POST", "/v1/spaces", "create_space", spaces.create, SpaceStatus, s.NewSpace,
          status=201, verb="create"),
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
