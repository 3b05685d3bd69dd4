"""Tokens over HTTP: created, listed, rotated and ended by those who may; shown once."""

from __future__ import annotations

import logging

import pytest

from recollect import Store
from recollect.model.instants import from_microseconds, to_microseconds
from recollect.store.seam import REAL, Seam
from tests.http.serving import Client
from tests.http.test_service import S

T = "/v1/tokens"


def test_a_token_is_shown_once(owner: Client, port: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    made = owner.post(T, {"label": "phone", "space": "main", "user": "ann", "expires": "P30D"})
    assert (made.status, made.headers["cache-control"]) == (201, "no-store")
    assert made.headers["location"] == f"{T}/{made.json['id']}"
    token = made.json["token"]
    phone = Client(port, token)
    mine = phone.get("/v1/me").json
    assert (mine["label"], mine["space"], mine["user"]) == ("phone", "main", "ann")
    answers = [
        owner.get(T), owner.get(made.headers["location"]), phone.get("/v1/me"),
        owner.post(T, {"label": token, "space": "main"}), owner.get(f"{T}/{token}"),
        phone.get(T), phone.get(f"/v1/spaces/{token}/status"),
        owner.ask("DELETE", made.headers["location"]), phone.get("/v1/me"),
    ]  # fmt: skip
    assert [each.status for each in answers] == [200, 200, 200, 422, 404, 403, 404, 200, 401]
    assert not any(token.encode() in each.raw for each in answers)
    logged = [each for each in caplog.records if each.name != "uvicorn.access"]  # serve has none
    assert not any(token in each.getMessage() for each in logged)
    assert owner.get(T).json["items"][-1]["live"] is False


def test_a_rotated_token_and_its_successor_both_work_for_a_while(
    owner: Client, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = owner.post(T, {"label": "app", "space": "main"}).json
    new = owner.post(f"{T}/{old['id']}/rotate", {"overlap_s": 600}).json
    assert new["label"] == "app"
    assert Client(port, old["token"]).get(S).status == 200
    assert Client(port, new["token"]).get(S).status == 200
    last = owner.post(f"{T}/{new['id']}/rotate", {"overlap_s": 0}).json
    assert Client(port, new["token"]).get(S).status == 401
    assert Client(port, last["token"]).get(S).status == 200
    later = from_microseconds(to_microseconds(REAL.now()) + 601_000_000)
    monkeypatch.setattr(Seam, "now", lambda self: later)
    assert Client(port, old["token"]).get(S).status == 401
    assert owner.post(f"{T}/{old['id']}/rotate", {}).status == 404
    assert owner.post(f"{T}/{last['id']}/rotate", {"overlap_s": -1}).status == 422
    assert owner.post(f"{T}/{last['id']}/rotate", {"overlap_s": 99_999_999}).status == 422


def test_only_an_admin_looks_after_tokens(
    store: Store, owner: Client, agent: Client, person: Client, port: int
) -> None:
    for asked in (agent, person):  # a person without the verb
        for method, path, body in (
            ("GET", T, None), ("POST", T, {"label": "x", "space": "main"}),
            ("DELETE", f"{T}/1", None), ("POST", f"{T}/1/rotate", {}), ("GET", f"{T}/1", None),
        ):  # fmt: skip
            assert asked.ask(method, path, body).status == 403, path
    admin = store.tokens.create(
        "admin of main", space="main", verbs=("read", "write", "admin"), trust="person"
    ).token
    local = Client(port, admin)
    assert local.post(T, {"label": "all"}).status == 403  # more than it has
    erasing = {"label": "e", "space": "main", "verbs": ["read", "write", "erase"]}
    assert local.post(T, erasing).status == 403
    assert local.post(T, {"label": "o", "space": "other"}).status == 404
    assert local.post(T, {"label": "r", "space": "main", "verbs": ["read"]}).status == 201
    assert {one["space"] for one in local.get(T).json["items"]} == {"main"}
    others = [one["id"] for one in owner.get(T).json["items"] if one["space"] is None]
    gone = {local.ask("DELETE", f"{T}/{id}").same for id in (*others, 9_999)}
    assert len(gone) == 1


def test_a_narrowed_request_has_no_rights_over_the_store(owner: Client) -> None:
    """A program that asks for one user must not get the rights of its own token instead."""
    for headers in ({"Recollect-User": "bob"}, {"Recollect-Trust": "agent"}):
        assert owner.ask("GET", T, headers=headers).status == 403
        assert owner.ask("DELETE", f"{S}?dry_run=true", headers=headers).status == 403
        assert owner.ask("POST", "/v1/spaces", {"name": "n"}, headers).status == 403
    assert owner.get(T).status == 200  # the control


def test_a_header_of_ours_that_is_unknown_is_refused(owner: Client) -> None:
    """It may ask for less than the token allows, as ``Recollect-Origin`` did."""
    for name in ("Recollect-Origin", "Recollect-Trsut"):
        answer = owner.ask("POST", f"{S}/records", {"text": "Tea."}, {name: "agent"})
        assert (answer.status, answer.json["code"]) == (400, "malformed")
    control = owner.ask("POST", f"{S}/records", {"text": "Tea."}, {"Recollect-Trust": "agent"})
    assert (control.status, control.json["trust"]) == (201, "agent")
