"""The service against its own description: no 5xx, and no answer that it does not describe."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from recollect import Store
from recollect.interfaces.http.openapi import document
from tests.http.serving import served
from tests.suites.schema_cases import Found, Service, run
from tests.suites.service_runs import serving

DESCRIPTION = Path(__file__).parents[2] / "docs/reference/openapi.json"
EVERY = ("read", "write", "erase", "create", "drop", "review", "admin")
BOUNDED = 3  # of each operation
WHOLE = 50_000


def filled(where: str) -> tuple[str, dict[str, tuple[str, ...]], frozenset[str]]:
    """Makes a store with something of each kind; a token, the names, and that token's id."""
    with Store.open(where, embedder="none") as store:
        memory = store.space("main")
        seat = memory.remember("Alice sits in 12A.", key="alice.seat", id="r-1", tags=["seat"])
        memory.remember("Bob sits in 14C.", id="r-2", evidence=[seat.id])
        memory.observe("I sit in 12A.", id="e-1")
        memory.graph.link("r-1", "r-2", "knows")
        context = memory.context("Alice", receipt=True)
        memory.admin.flush()
        agent = memory.scoped(trust="agent")
        proposal = agent.review.propose("Alice sits in 1A.", reason="said so")
        agent.branches.open("plan")
        memory.settings.documents.set("note", "one", {"x": 1})
        memory.sessions.open("s-1")
        job = store.jobs.ask("verify")
        store.jobs.set_schedule("seal", every_s=86_400)
        made = store.tokens.create("all", space=None, verbs=EVERY, trust="person")
        other = store.tokens.create("other", space="main")
        names = {
            "space": ("main",), "id": ("r-1", "r-2", "e-1", proposal.id, "s-1"),
            "key": ("alice.seat",), "type": ("note", "rule"), "seq": ("1", "2", "3"),
            "source": ("r-1",), "target": ("r-2",), "receipt": (str(context.receipt),),
            "name": ("task", "plan", "one", "knows"),
            "job": (str(job.id),), "kind": ("seal", "verify", "knows"), "token": (str(other.id),),
        }  # fmt: skip
        return made.token, names, frozenset({str(made.id)})


def shown(found: Found) -> str:
    statuses = dict(sorted(found.statuses.items()))
    return (
        f"{found.cases} cases, {len(found.reached)} operations answered 2xx, statuses {statuses}: "
        f"{len(found.wrong)} wrong, {found.refused_on_branches} that no branch can do, "
        f"{found.not_http} that are not HTTP"
    )


@pytest.mark.parametrize(
    "cases",
    [pytest.param(BOUNDED, id="bounded"), pytest.param(0, id="all", marks=pytest.mark.nightly)],
)
def test_every_answer_is_one_that_the_description_has(tmp_path: Path, cases: int) -> None:
    where = str(tmp_path / "w")
    token, names, spared = filled(where)
    count = document().count(b'"operationId"')
    with serving(where, tmp_path) as service:
        url = f"http://127.0.0.1:{service.port}"
        asked = Service(url, token, names, spared)
        found = run(DESCRIPTION.read_bytes(), asked, cases or -(-WHOLE // count))
    print(shown(found))  # noqa: T201
    assert found.wrong == []
    failed = sum(count for status, count in found.statuses.items() if status >= 500)
    assert failed == found.refused_on_branches
    assert found.cases >= (300 if cases else WHOLE * 0.9)
    assert len(found.reached) >= (40 if cases else 70)


Answering = Callable[[dict[str, Any]], dict[str, Any]]


def _spoilt(spoil: Answering) -> Callable[[Any], Any]:
    """An application that answers one operation otherwise."""

    def around(app: Any) -> Any:
        async def spoiling(
            scope: Any, receive: Any, send: Callable[[Any], Awaitable[None]]
        ) -> None:
            is_one = scope["type"] == "http" and scope["path"].endswith("/status")

            async def sending(message: dict[str, Any]) -> None:
                await send(spoil(message) if is_one else message)

            await app(scope, receive, sending)

        return spoiling

    return around


def _failing(message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "status": 500} if message["type"] == "http.response.start" else message


def _without_count(message: dict[str, Any]) -> dict[str, Any]:
    body: bytes = message.get("body", b"")
    return {**message, "body": body.replace(b'"records":', b'"recordz":')} if body else message


@pytest.mark.parametrize(
    ("spoil", "told"), [(_failing, "Server error"), (_without_count, "schema")]
)
def test_a_wrong_answer_is_found(tmp_path: Path, spoil: Answering, told: str) -> None:  # a control
    where = str(tmp_path / "w")
    token, names, spared = filled(where)
    with Store.open(where, embedder="none") as store, served(store, around=_spoilt(spoil)) as port:
        asked = Service(f"http://127.0.0.1:{port}", token, names, spared)
        found = run(_only(document(), "status"), asked, 5)
    assert any(told in each and "/status" in each for each in found.wrong), found.wrong


def _only(description: bytes, name: str) -> bytes:
    """The description of one operation."""
    import msgspec

    whole = msgspec.json.decode(description)
    whole["paths"] = {
        path: {method: about for method, about in rows.items() if about["operationId"] == name}
        for path, rows in whole["paths"].items()
        if any(about["operationId"] == name for about in rows.values())
    }
    return msgspec.json.encode(whole)
