"""The service over a real socket: every operation, on files and in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import Store
from recollect.interfaces.http import readiness
from tests.http.serving import Client

S = "/v1/spaces/main"


def test_a_record_is_written_read_revised_and_forgotten(agent: Client) -> None:
    made = agent.post(f"{S}/records", {"text": "Alice sits in 12A.", "key": "alice.seat"})
    assert (made.status, made.json["trust"]) == (201, "agent")
    assert made.headers["location"] == f"{S}/records/{made.json['id']}"
    assert made.headers["cache-control"] == "no-store"
    place = made.headers["location"]
    found = agent.get(place)
    assert (found.status, found.json, found.headers["etag"]) == (
        200, made.json, f'"v{made.json["seq"]}"',
    )  # fmt: skip
    assert agent.get(place, If_None_Match=found.headers["etag"]).status == 304
    assert agent.get(f"{S}/keys/alice.seat").json["id"] == made.json["id"]
    revised = agent.ask("PATCH", place, {"text": "Alice sits in 14C.", "reason": "moved"})
    assert (revised.status, revised.json["text"]) == (200, "Alice sits in 14C.")
    assert [one["what"] for one in agent.get(f"{place}/history").json] == ["added", "revised"]
    assert agent.get(f"{place}/why").json["record"]["id"] == made.json["id"]
    assert agent.get(f"{place}?at={made.json['seq']}").json["text"] == "Alice sits in 12A."
    assert agent.ask("PATCH", place, {"tags": ["seat"]}).json["tags"] == ["seat"]
    assert agent.ask("DELETE", f"{place}?reason=wrong").status == 200
    assert agent.get(place).status == 404
    assert agent.get(f"{place}?include=forgotten").json["status"] == "forgotten"
    assert agent.post(f"{place}/undo", {}).json["record"]["text"] == "Alice sits in 14C."


def test_a_part_of_a_record_is_revised(agent: Client) -> None:
    place = agent.post(f"{S}/records", {"text": "Tea.", "data": {"n": 1}}).headers["location"]
    changed = agent.ask("PATCH", place, {"data": {"n": 2}})
    assert (changed.json["text"], changed.json["data"]) == ("Tea.", {"n": 2})
    assert agent.ask("PATCH", place, {"reason": "none"}).status == 422


def test_a_write_is_refused_if_the_record_has_changed(agent: Client) -> None:
    place = agent.post(f"{S}/records", {"text": "One."}).headers["location"]
    tag = agent.get(place).headers["etag"]
    assert agent.ask("PATCH", place, {"text": "Two."}, {"If-Match": tag}).status == 200
    late = agent.ask("PATCH", place, {"text": "Three."}, {"If-Match": tag})
    assert (late.status, late.json["code"], late.headers["content-type"]) == (
        412, "changed", "application/problem+json",
    )  # fmt: skip
    assert agent.get(place).json["text"] == "Two."
    for wrong in ("two", "*", 'W/"v1"'):
        assert agent.ask("PATCH", place, {"text": "x"}, {"If-Match": wrong}).status == 422


def test_a_key_makes_a_retry_safe(agent: Client) -> None:
    first = agent.post(f"{S}/records", {"text": "Once."}, Idempotency_Key="k-1")
    again = agent.post(f"{S}/records", {"text": "Once."}, Idempotency_Key="k-1")
    assert (first.json["id"], first.json["seq"]) == (again.json["id"], again.json["seq"])
    other = agent.post(f"{S}/records", {"text": "Twice."}, Idempotency_Key="k-1")
    assert other.status in (409, 422)


def test_pages_do_not_shift_under_new_writes(agent: Client) -> None:
    for n in range(7):
        agent.post(f"{S}/records", {"text": f"Number {n}."})
    first = agent.get(f"{S}/records?limit=3").json
    agent.post(f"{S}/records", {"text": "A new one."})
    second = agent.get(f"{S}/records?limit=3&cursor={first['next']}").json
    third = agent.get(f"{S}/records?limit=3&cursor={second['next']}").json
    found = [one["text"] for page in (first, second, third) for one in page["items"]]
    assert found == [*(f"Number {n}." for n in reversed(range(7))), "The first one."]
    assert third["next"] is None
    for wrong in ("x", "", first["next"][:-2], "WzEsMl0"):
        assert agent.get(f"{S}/records?limit=3&cursor={wrong}").status == 422
    assert agent.get(f"{S}/records?limit=4&cursor={first['next']}").status == 422


def test_episodes_links_and_a_batch(agent: Client) -> None:
    said = agent.post(f"{S}/episodes", {"messages": [{"content": "Hello.", "role": "user"}]})
    assert (said.status, said.json[0]["text"]) == (201, "Hello.")
    assert agent.get(f"{S}/episodes").json["items"][0]["id"] == said.json[0]["id"]
    acts = [
        {"act": "remember", "text": "A.", "id": "r-a"},
        {"act": "remember", "text": "B.", "id": "r-b"},
        {"act": "revise", "id": "r-a", "tags": ["x"]},
        {"act": "link", "source": "r-a", "target": "r-b", "kind": "knows"},
    ]
    assert agent.post(f"{S}/batch", {"acts": acts}).status == 200
    around = agent.get(f"{S}/records/r-a/graph").json
    assert [link["kind"] for link in around["links"]] == ["knows"]
    assert agent.ask("PUT", f"{S}/links/r-b/knows/r-a", {"weight": 0.5}).json["weight"] == 0.5
    gone = agent.ask("DELETE", f"{S}/links/r-b/knows/r-a")
    assert (gone.status, gone.raw) == (204, b"")
    bad = [*acts[:1], {"act": "forget", "id": "missing"}]
    bad[0] = {"act": "remember", "text": "C.", "id": "r-c"}
    assert agent.post(f"{S}/batch", {"acts": bad}).status == 404
    assert agent.get(f"{S}/records/r-c").status == 404  # nothing of it happened


def test_recall_context_and_receipts(agent: Client) -> None:
    agent.post(f"{S}/records", {"text": "The kettle is green."})
    hits = agent.post(f"{S}/recall", {"query": "kettle"}).json["hits"]
    assert hits[0]["text"] == "The kettle is green."
    many = agent.post(f"{S}/recall/many", {"queries": ["kettle", "first"]}).json
    assert [len(one["hits"]) > 0 for one in many] == [True, True]
    missing = agent.post(f"{S}/why-not", {"id": hits[0]["id"], "query": "kettle"}).json
    assert missing["reason"] == "there"
    context = agent.post(f"{S}/context", {"query": "kettle", "tokens": 200}).json
    assert "kettle" in context["text"]
    receipt = f"{S}/receipts/{context['receipt']}"
    assert agent.get(receipt).json["id"] == context["receipt"]
    assert agent.get(f"{S}/receipts").json["items"][0]["id"] == context["receipt"]
    assert agent.post(f"{receipt}/used").json[0]["reinforcement_count"] == 1
    assert agent.post(f"{receipt}/replay", {"query": "kettle"}).json["text"] == context["text"]


def test_presets_events_status_and_digest(person: Client) -> None:
    names = {preset["name"] for preset in person.get(f"{S}/presets").json}
    preset = {**person.get(f"{S}/presets/task").json, "name": "mine"}
    assert person.ask("PUT", f"{S}/presets/mine", preset).json["name"] == "mine"
    assert {one["name"] for one in person.get(f"{S}/presets").json} == names | {"mine"}
    assert person.ask("DELETE", f"{S}/presets/mine").status == 204
    page = person.get(f"{S}/events?limit=2").json
    assert [one["seq"] for one in page["items"]] == [1, 2]
    rest = person.get(f"{S}/events?after={page['next']}").json
    assert (rest["items"][0]["seq"], rest["next"]) == (3, None)
    status = person.get(f"{S}/status")
    assert status.headers["etag"] == f'"h{status.json["seq"]}"'
    assert person.get(f"{S}/digest").json["position"] == status.json["seq"]


def test_only_a_person_decides(store: Store, person: Client, agent: Client) -> None:
    held = store.space("main").scoped(trust="unverified").remember("Pay here.", key="k")
    (waiting,) = person.get(f"{S}/review").json
    body = {"digest": waiting["digest"], "reason": "no"}
    assert agent.post(f"{S}/review/{held.id}/reject", body).status == 403
    assert person.post(f"{S}/review/{held.id}/reject", {"digest": "0" * 64}).status in (409, 412)
    assert person.post(f"{S}/review/{held.id}/reject", body).status == 200
    assert person.get(f"{S}/review").json == []


def test_erasing_needs_what_was_read_and_the_right_to(person: Client, agent: Client) -> None:
    place = agent.post(f"{S}/records", {"text": "My canary."}).headers["location"]
    tag = agent.get(place).headers["etag"]
    assert person.post(f"{place}/erase", {"dry_run": True}).json["events"]
    assert agent.get(place).status == 200
    assert person.post(f"{place}/erase").status == 428
    assert agent.post(f"{place}/erase", {}, If_Match=tag).status == 403
    assert person.post(f"{place}/erase", {"reason": "asked"}, If_Match=tag).status == 200
    assert agent.get(f"{place}?include=forgotten").status == 404


def test_headers_only_ever_narrow(store: Store, person: Client, agent: Client) -> None:
    mine = agent.post(f"{S}/records", {"text": "Bob likes tea."}, Recollect_User="bob")
    assert mine.json["scope"] == {"user": "bob"}
    place = mine.headers["location"]
    assert agent.get(place, Recollect_User="ann").status == 404
    low = person.post(f"{S}/records", {"text": "From a page."}, Recollect_Trust="unverified")
    assert low.json["trust"] == "unverified"
    high = agent.post(f"{S}/records", {"text": "I am a person."}, Recollect_Trust="person")
    assert high.status == 403


def test_spaces(person: Client, agent: Client) -> None:
    made = person.post("/v1/spaces", {"name": "Zoë/home"})
    assert made.status == 201
    segment = person.get("/v1/name?of=Zo%C3%AB/home").json["segment"]
    assert made.headers["location"] == f"/v1/spaces/{segment}"
    names = {one["name"] for one in person.get("/v1/spaces").json["items"]}
    assert names == {"main", "Zoë/home"}
    assert person.post(f"/v1/spaces/{segment}/records", {"text": "Here."}).status == 201
    assert agent.post("/v1/spaces", {"name": "other"}).status == 404
    assert [one["name"] for one in agent.get("/v1/spaces").json["items"]] == ["main"]


def test_a_missing_space_says_how_to_create_it(person: Client) -> None:
    note = {"text": "Tea is at four."}
    refused = person.post("/v1/spaces/new/records", note)
    assert (refused.status, "POST /v1/spaces creates one" in refused.json["hint"]) == (404, True)
    assert person.post("/v1/spaces", {"name": "new"}).status == 201
    assert person.post("/v1/spaces/new/records", note).status == 201


def test_a_space_has_its_files_open_once(store: Store, person: Client, tmp_path: Path) -> None:
    """Two spaces of one process would keep an erased text in a file that the other holds open."""
    if store.where == ":memory:":
        return
    assert person.post("/v1/spaces", {"name": "zz"}).status == 201
    assert person.post("/v1/spaces", {"name": "zz"}).status == 200
    made = person.post("/v1/spaces/zz/records", {"text": "A xanthic canary."})
    place, tag = made.headers["location"], made.headers["etag"]
    assert person.post(f"{place}/erase", {}, If_Match=tag).status == 200
    files = [path for path in Path("/proc/self/fd").iterdir() if str(tmp_path) in _target(path)]
    assert files
    assert not any(b"xanthic" in path.read_bytes() for path in files if path.is_file())


def _target(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""


def test_a_long_body_needs_a_token_first(port: int) -> None:
    said = Client(port, "rct_nothing").post(f"{S}/episodes", b"x" * 1_000_000)
    assert said.status == 401


def test_a_name_has_one_address(person: Client) -> None:
    assert person.get("/v1/spaces/~IG1haW4/status").status == 400  # " main"


def test_pages_of_long_texts_are_shorter(agent: Client) -> None:
    for number in range(7):
        agent.post(f"{S}/records", {"text": f"{number}" + "x" * 1_000_000})
    page = agent.get(f"{S}/records?limit=20").json
    assert 1 < len(page["items"]) < 7
    found = [*page["items"]]
    while page["next"]:
        page = agent.get(f"{S}/records?limit=20&cursor={page['next']}").json
        found += page["items"]
    assert [one["text"][0] for one in found] == [*"6543210", "T"]


def test_not_there_and_not_yours_are_the_same(store: Store, port: int, agent: Client) -> None:
    store.space("secret").remember("A secret.", id="r-s")
    answers = {
        agent.get(path).same
        for path in (
            "/v1/spaces/secret/records/r-s", "/v1/spaces/secret/status",
            "/v1/spaces/nowhere/records/r-s", f"{S}/records/r-s", f"{S}/receipts/r-s",
        )
    }  # fmt: skip
    assert len(answers) == 1
    assert b"secret" not in answers.pop()


def test_a_token_that_ended_opens_nothing(store: Store, port: int) -> None:
    made = store.tokens.create("short", space="main")
    client = Client(port, made.token)
    assert client.get(f"{S}/status").status == 200
    store.tokens.revoke("short")
    refused = client.get(f"{S}/status")
    assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer")
    assert client.post(f"{S}/records", {"text": "x"}).status == 401
    for token in (None, "rct_" + "x" * 43):
        assert Client(port, token).get(f"{S}/status").status == 401


def test_a_disk_that_is_nearly_full_is_announced(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "_DISK_LOW_BYTES", 1 << 60)
    found = Client(port, None).get("/readyz")
    assert (found.status, found.json) == (200, {"status": "ready", "disk": "nearly full"})


def test_what_says_nothing_about_a_memory_is_open(port: int) -> None:
    client = Client(port, None)
    assert client.get("/livez").json == {"status": "alive"}
    assert client.get("/readyz").json == {"status": "ready"}
    assert client.get("/version").json["api"] == "v1"
    assert client.get("/openapi.json").json["openapi"] == "3.1.0"
    assert b"changed" in client.get("/problems/changed").raw
    assert client.get("/problems/none").status == 401
    assert client.ask("HEAD", "/livez").raw == b""


def test_a_hostile_request_ends_in_a_problem(port: int, agent: Client) -> None:
    tries = [
        ("GET", f"{S}/records/%2e%2e", None), ("GET", f"{S}/records?at=x", None),
        ("GET", f"{S}/records?limit=99999999999999999999", None), ("TRACE", f"{S}/records", None),
        ("GET", f"{S}/records?filter=((((", None), ("POST", f"{S}/recall", {"query": "\0"}),
        ("POST", f"{S}/records", {"text": "a", "data": {"x": {"\0": 1}}}),
        ("POST", f"{S}/records", b'{"text": "\\ud800"}'),
        ("POST", f"{S}/recall", b'{"\\ud800": 1}'), ("POST", f"{S}/recall", b"[" * 9_999),
        ("POST", f"{S}/records", {"text": "a", "id": "../x\n"}),
        ("POST", f"{S}/records", {"text": "a", "expires": "tomorrow-ish"}),
    ]  # fmt: skip
    for method, path, body in tries:
        said = agent.ask(method, path, body)
        assert 400 <= said.status < 500, (method, path, said)
        assert said.json["code"], path
    too_long = agent.post(f"{S}/records", b'{"text": "' + b"x" * 9_000_000 + b'"}')
    assert too_long.status == 413
