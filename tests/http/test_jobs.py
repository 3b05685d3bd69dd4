"""Background work over HTTP."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Store
from tests.http.serving import Client, served
from tests.http.test_process import running

S = "/v1/spaces/alice"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "w", embedder="none") as store:
        store.space("alice").observe("Hello.")
        store.space("bob").observe("Hello.")
        yield store


@pytest.fixture
def port(store: Store) -> Iterator[int]:
    with served(store) as port:
        yield port


def client(store: Store, port: int, origin: str = "person", **limits: str) -> Client:
    verbs = ["read", "write", "erase"] if origin == "person" else ["read", "write"]
    made = store.tokens.create(
        "app", space="alice", verbs=verbs, trust=origin, **limits  # type: ignore[arg-type]
    )  # fmt: skip
    return Client(port, made.token)


def test_a_pass_is_asked_for_done_and_found(store: Store, port: int) -> None:
    mine = client(store, port)
    asked = mine.post(f"{S}/jobs", {"kind": "seal"})
    assert asked.status == 202
    place = asked.headers["location"]
    assert mine.get(place).json == asked.json
    assert mine.post(f"{S}/jobs", {"kind": "seal"}).json["id"] == asked.json["id"]
    assert [job.state for job in store.jobs.work()] == ["done"]
    assert mine.get(place).json["state"] == "done"
    assert [job["id"] for job in mine.get(f"{S}/jobs?state=done").json] == [asked.json["id"]]
    assert mine.ask("DELETE", place).status == 409
    waits = mine.post(f"{S}/jobs", {"kind": "verify", "params": {"deep": True}}).json
    assert mine.ask("DELETE", f"{S}/jobs/{waits['id']}").json["state"] == "cancelled"


def test_what_is_not_there_and_what_is_not_yours_have_the_same_bytes(
    store: Store, port: int
) -> None:
    theirs = store.jobs.ask("seal", space="bob")
    mine = client(store, port)
    answers = [
        mine.get(f"{S}/jobs/{theirs.id}"), mine.get(f"{S}/jobs/999"), mine.get(f"{S}/jobs/0"),
        mine.get(f"{S}/jobs/x"), mine.get("/v1/spaces/bob/jobs"), mine.get("/v1/spaces/none/jobs"),
        mine.ask("DELETE", f"{S}/jobs/{theirs.id}"), mine.get(f"{S}/schedules/seal"),
    ]  # fmt: skip
    assert {answer.status for answer in answers} == {404}
    bodies = {tuple(sorted((k, v) for k, v in a.json.items() if k != "instance")) for a in answers}
    assert len({str(body) for body in bodies}) == 1


def test_a_header_lowers_what_a_pass_may_write(store: Store, port: int) -> None:
    mine = client(store, port)
    asked = mine.post(f"{S}/jobs", {"kind": "seal"}, Recollect_Trust="agent")
    assert asked.json["trust"] == "agent"
    assert mine.post(f"{S}/jobs", {"kind": "seal"}, Recollect_User="ann").status == 403
    assert [job.error for job in store.jobs.work()] == ["forbidden"]


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "dance"}, {"kind": "seal", "x": 1}, {}, {"kind": "seal", "due": "soon"},
        {"kind": "seal", "params": {"deep": True}},
    ],
)  # fmt: skip
def test_what_cannot_be_asked_for_is_refused(store: Store, port: int, body: object) -> None:
    assert client(store, port).post(f"{S}/jobs", body).status in (400, 422)
    assert store.jobs.list() == []


def test_rights(store: Store, port: int) -> None:
    agent, one = client(store, port, "agent"), client(store, port, "agent", user="ann")
    assert agent.post(f"{S}/jobs", {"kind": "embed"}).status == 202
    assert agent.post(f"{S}/jobs", {"kind": "expire"}).status == 403
    assert agent.ask("PUT", f"{S}/schedules/verify", {"every_s": 60}).status == 403
    assert one.post(f"{S}/jobs", {"kind": "embed"}).status == 403
    assert one.get(f"{S}/jobs").status == 403
    assert Client(port, None).get(f"{S}/jobs").status == 401


def test_a_person_sets_and_removes_a_schedule(store: Store, port: int) -> None:
    mine, agent = client(store, port), client(store, port, "agent")
    put = mine.ask("PUT", f"{S}/schedules/verify", {"cron": "0 3 * * *"})
    assert (put.status, put.json["cron"], put.json["every_s"]) == (200, "0 3 * * *", None)
    assert (
        agent.get(f"{S}/schedules").json == [put.json] == [agent.get(f"{S}/schedules/verify").json]
    )
    assert mine.ask("PUT", f"{S}/schedules/verify", {}).status == 422
    assert mine.ask("PUT", f"{S}/schedules/dance", {"every_s": 60}).status == 422
    narrowed = {"Recollect-Trust": "agent"}
    assert mine.ask("DELETE", f"{S}/schedules/verify", headers=narrowed).status == 403
    assert mine.ask("DELETE", f"{S}/schedules/verify").status == 204
    assert mine.ask("DELETE", f"{S}/schedules/verify").status == 404


def test_a_service_that_works_does_jobs(store: Store, tmp_path: Path) -> None:
    token = store.tokens.create("app", space="alice", trust="person").token
    store.close()
    with running(tmp_path / "w", "--work") as service:
        mine = Client(int(service.url.rpartition(":")[2]), token)
        place = mine.post(f"{S}/jobs", {"kind": "seal"}).headers["location"]
        for _ in range(1_200):
            if mine.get(place).json["state"] == "done":
                break
            time.sleep(0.05)
        assert mine.get(place).json["state"] == "done"
        service.process.terminate()
        assert service.process.wait(timeout=60) == 0
