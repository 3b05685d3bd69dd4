"""The rules of the protocol: repeated calls, names of requests, pages, conditions, compression."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from recollect import Store
from recollect.interfaces.http import replies
from recollect.interfaces.http.limits.rates import Rates
from recollect.interfaces.http.readiness import Readiness
from recollect.interfaces.http.work import Rules
from tests.http.serving import Client, Said, served

S = "/v1/spaces/main"


# --- keys -----------------------------------------------------------------------------------------


def test_a_repeated_call_says_that_it_is_one(agent: Client) -> None:
    first = agent.post(f"{S}/records", {"text": "Once."}, Idempotency_Key="k-1")
    again = agent.post(f"{S}/records", {"text": "Once."}, Idempotency_Key="k-1")
    assert ("recollect-repeated" in first.headers, again.headers["recollect-repeated"]) == (
        False, "true",
    )  # fmt: skip
    assert again.json == first.json
    same = agent.post(f"{S}/records", {"text": "Once."}, Idempotency_Key="k-2")
    assert "recollect-repeated" not in same.headers
    done = [agent.post(f"{S}/undo", {}, Idempotency_Key="k-3") for _ in range(2)]
    assert ["recollect-repeated" in each.headers for each in done] == [False, True]


def test_a_key_is_one_command_of_its_user(store: Store, port: int) -> None:
    ann, ben = (
        Client(port, store.tokens.create(name, space="main", user=name).token)
        for name in ("ann", "ben")
    )
    everybody = Client(port, store.tokens.create("all", space="main").token)
    mine = ann.post(f"{S}/records", {"text": "Mine."}, Idempotency_Key="k")
    assert mine.status == 201
    theirs = ben.post(f"{S}/records", {"text": "Mine."}, Idempotency_Key="k")
    assert theirs.status == 409  # as in process
    assert mine.json["id"] not in theirs.raw.decode()
    again = ann.post(f"{S}/records", {"text": "Mine."}, Idempotency_Key="k")
    assert (again.json["id"], again.headers["recollect-repeated"]) == (mine.json["id"], "true")
    assert ann.post(f"{S}/records", {"text": "Other."}, Idempotency_Key="k").status == 409
    narrowed = everybody.post(
        f"{S}/records", {"text": "Mine."}, Idempotency_Key="k", Recollect_User="ann"
    )
    assert narrowed.headers["recollect-repeated"] == "true"  # the same user, by another token


def test_a_key_is_recognized_after_a_token_was_rotated(store: Store, port: int) -> None:
    made = store.tokens.create("ann", space="main", user="ann")
    ask = {"text": "Once."}
    first = Client(port, made.token).post(f"{S}/records", ask, Idempotency_Key="k")
    new = Client(port, store.tokens.rotate(made.id).token)
    assert new.post(f"{S}/records", ask, Idempotency_Key="k").json["id"] == first.json["id"]


# --- problems -------------------------------------------------------------------------------------


def test_a_problem_names_its_request(agent: Client) -> None:
    refusals = [agent.get(f"{S}/records/none"), agent.get("/nowhere"), agent.post(f"{S}/recall")]
    names = {each.json["instance"] for each in refusals}
    assert len(names) == 3
    assert all(name.startswith("req_") for name in names)
    page = agent.get(refusals[0].json["type"])
    assert (page.status, page.raw) == (200, b"Nothing here has that name\n")


def test_the_page_of_a_problem_is_reached_through_a_proxy(store: Store) -> None:
    with served(store, rules=Rules(Rates(), root_path="/memory")) as port:
        mine = Client(port, store.tokens.create("a", space="main").token)
        for path in (f"/memory{S}/records/none", "/memory/nowhere"):
            kind = mine.get(path).json["type"]
            assert kind.startswith("/memory/problems/")
            assert mine.get(kind).status == 200
        for n in range(3):
            mine.post(f"{S}/records", {"text": f"Number {n}."})
        link = mine.get(f"/memory{S}/records?limit=2").headers["link"]
        assert link.startswith(f"</memory{S}/records?")


# --- pages ----------------------------------------------------------------------------------------


def _next(said: Said) -> str | None:
    link = said.headers.get("link")
    if link is None:
        return None
    address, _, relation = link.partition("; ")
    assert relation == 'rel="next"'
    return address.removeprefix("<").removesuffix(">")


@pytest.mark.parametrize(
    "path", ["records?limit=2", "records?include=waiting&limit=2", "events?limit=3"]
)
def test_a_link_leads_through_all_pages(agent: Client, path: str) -> None:
    for n in range(5):
        agent.post(f"{S}/records", {"text": f"Number {n}."})
    page: Said = agent.get(f"{S}/{path}")
    found, place = list(page.json["items"]), _next(page)
    while place is not None:
        page = agent.get(place)
        found, place = [*found, *page.json["items"]], _next(page)
    whole = agent.get(f"{S}/{path.partition('?')[0]}").json["items"]
    assert found == whole


def test_going_back_has_no_next_page(agent: Client) -> None:
    for n in range(5):
        agent.post(f"{S}/records", {"text": f"Number {n}."})
    back = agent.get(f"{S}/events?before=5&limit=2")
    assert ([each["seq"] for each in back.json["items"]], back.json["next"], _next(back)) == (
        [3, 4], None, None,
    )  # fmt: skip


# --- conditions -----------------------------------------------------------------------------------


def test_a_late_write_is_told_the_current_version(agent: Client) -> None:
    place = agent.post(f"{S}/records", {"text": "One.", "id": "r-1"}).headers["location"]
    old = agent.get(place).headers["etag"]
    new = agent.ask("PATCH", place, {"text": "Two."}).headers["etag"]
    late = agent.ask("PATCH", place, {"text": "Three."}, {"If-Match": old})
    assert (late.status, late.headers["etag"]) == (412, new)
    assert agent.ask("PATCH", place, {"text": "Three."}, {"If-Match": new}).status == 200
    status = agent.get(f"{S}/status").headers["etag"]
    ask = {"acts": [{"act": "remember", "text": "A."}]}
    assert agent.ask("POST", f"{S}/batch", ask, {"If-Match": status}).status == 200
    late = agent.ask("POST", f"{S}/batch", ask, {"If-Match": status})
    assert (late.status, late.headers["etag"]) == (412, agent.get(f"{S}/status").headers["etag"])
    assert agent.ask("POST", f"{S}/batch", ask, {"If-Match": late.headers["etag"]}).status == 200


NEW = {"If-None-Match": "*"}


def test_what_must_be_new_is_refused_if_it_is_there(person: Client) -> None:
    for record in ({"text": "A.", "id": "r-a"}, {"text": "B.", "key": "b"}):
        assert person.ask("POST", f"{S}/records", record, NEW).status == 201
        there = person.ask("POST", f"{S}/records", {**record, "text": "Other."}, NEW)
        assert (there.status, there.json["code"]) == (412, "changed")
    assert person.get(f"{S}/keys/b").json["text"] == "B."
    assert person.ask("POST", f"{S}/records", {"text": "C.", "id": "r"}, NEW).status == 201
    names = ("similarity", "confidence", "recency", "centrality", "reinforcement")
    preset = {"weights": {name: float(name == "recency") for name in names}}
    for place, body in ((f"{S}/documents/note/one", {}), (f"{S}/presets/mine", preset)):
        first = person.ask("PUT", place, body, NEW)
        assert (first.status, person.ask("PUT", place, body, NEW).status) == (200, 412), first.raw
        assert person.ask("PUT", place, body).status == 200


def test_a_repeated_create_gets_its_first_answer(agent: Client) -> None:
    named = {**NEW, "Idempotency-Key": "k"}
    first = agent.ask("POST", f"{S}/records", {"text": "A.", "key": "a"}, named)
    again = agent.ask("POST", f"{S}/records", {"text": "A.", "key": "a"}, named)
    assert (again.status, again.json["id"]) == (201, first.json["id"])
    assert again.headers["recollect-repeated"] == "true"


def test_conditions_that_an_operation_does_not_take_are_refused(agent: Client) -> None:
    place = agent.post(f"{S}/records", {"text": "One."}).headers["location"]
    assert agent.ask("PATCH", place, {"text": "Two."}, NEW).status == 422
    assert agent.ask("POST", f"{S}/records", {"text": "x"}, {"If-None-Match": '"v1"'}).status == 422
    replacing = {"text": "Two.", "replaces": place.rpartition("/")[2]}
    assert agent.ask("POST", f"{S}/records", replacing, NEW).status == 422
    assert agent.ask("POST", f"{S}/records", replacing).status == 201
    both = {**NEW, "If-Match": '"h1"'}
    assert agent.ask("POST", f"{S}/records", {"text": "x"}, both).status == 422


def test_a_replacement_that_only_waits_creates_nothing(person: Client, agent: Client) -> None:
    made = person.post(f"{S}/records", {"text": "Mine."}).json
    asked = {"text": "Its own.", "replaces": made["id"]}
    waits = agent.post(
        f"{S}/records",
        asked,
    )
    assert (waits.status, waits.json["id"], waits.json["text"]) == (200, made["id"], "Mine.")
    assert waits.json["pending"]
    assert "location" not in waits.headers
    done = person.post(f"{S}/records", asked)
    assert (done.status, done.json["text"]) == (201, "Its own.")
    assert done.headers["location"].endswith(done.json["id"])


def test_of_many_who_create_one_does(agent: Client) -> None:
    def create(n: int) -> int:
        return agent.ask("POST", f"{S}/records", {"text": f"By {n}.", "key": "one"}, NEW).status

    def disturb(n: int) -> int:
        return agent.post(f"{S}/records", {"text": f"Unrelated {n}."}).status

    with ThreadPoolExecutor(8) as threads:
        others = [threads.submit(disturb, n) for n in range(8)]
        found = sorted(threads.map(create, range(8)))
        assert {each.result() for each in others} == {201}
    assert found.count(201) == 1
    assert set(found) <= {201, 412, 503}
    everything = agent.get(f"{S}/records?include=replaced").json["items"]
    assert len([one for one in everything if one["key"] == "one"]) == 1


# --- compression ----------------------------------------------------------------------------------


def test_long_answers_are_compressed_for_who_asks(person: Client) -> None:
    for n in range(20):
        person.post(f"{S}/records", {"text": f"A text about a green kettle, number {n}."})
    for path in (f"{S}/records", "/openapi.json", f"{S}/ledger", f"{S}/export?format=json"):
        plain, packed = person.get(path), person.get(path, Accept_Encoding="br, gzip;q=0.5")
        assert "content-encoding" not in plain.headers
        assert (packed.headers["content-encoding"], packed.headers["vary"]) == (
            "gzip", "Accept-Encoding",
        )  # fmt: skip
        assert int(packed.headers["content-length"]) == len(packed.raw) < len(plain.raw) / 2
        assert gzip.decompress(packed.raw) == plain.raw


def test_what_is_short_refused_or_has_an_etag_is_not_compressed(owner: Client) -> None:
    long = owner.post(f"{S}/records", {"text": "kettle " * 1_000}).headers["location"]
    ask = {"Accept_Encoding": "gzip"}
    answers = [
        owner.get(long, **ask), owner.get(f"{S}/keys/none", **ask), owner.get("/livez", **ask),
        owner.post("/v1/tokens", {"label": "l" * 150, "space": "main"}, **ask),
        owner.get("/openapi.json", Accept_Encoding="gzip;q=0, identity"),
    ]  # fmt: skip
    assert [each.headers.get("content-encoding") for each in answers] == [None] * 5


def test_a_token_is_never_compressed(owner: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "_PACKED_MIN_BYTES", 1)
    made = owner.post("/v1/tokens", {"label": "l", "space": "main"}, Accept_Encoding="gzip")
    assert (made.status, "content-encoding" in made.headers) == (201, False)
    other = owner.get(f"{S}/records", Accept_Encoding="gzip")
    assert other.headers["content-encoding"] == "gzip"  # the control


def test_the_length_of_a_compressed_answer_varies(agent: Client) -> None:
    for n in range(20):
        agent.post(f"{S}/records", {"text": f"A text about a green kettle, number {n}."})
    sizes = {len(agent.get(f"{S}/records", Accept_Encoding="gzip").raw) for _ in range(20)}
    assert len(sizes) > 5


# --- readiness ------------------------------------------------------------------------------------


class _Stuck:
    """A store that does not answer."""

    def __init__(self, store: Store) -> None:
        self.settings, self.asked, self.go_on = store.settings, 0, threading.Event()

    def entered(self, token: str) -> Store:
        self.asked += 1
        self.go_on.wait(60)
        raise OSError("gone")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "w", embedder="none") as store:
        store.space("main").remember("The first one.")
        yield store


def test_ready_means_that_the_store_answers(folder: Store, tmp_path: Path) -> None:
    with served(folder) as port:
        anybody = Client(port, None)
        assert anybody.get("/readyz").json == {"status": "ready"}
        (tmp_path / "w").rename(tmp_path / "away")
        until = 40
        while (said := anybody.get("/readyz")).status == 200 and until:
            threading.Event().wait(0.1)
            until -= 1
        (tmp_path / "away").rename(tmp_path / "w")
        assert (said.status, said.json) == (503, {"status": "waiting for the store"})
        assert anybody.get("/livez").status == 200


def test_a_probe_waits_a_bounded_time_and_asks_once(folder: Store) -> None:
    import asyncio
    from typing import cast

    stuck = _Stuck(folder)
    readiness = Readiness(cast(Store, stuck), wait_s=0.2)

    async def probes() -> list[bool]:
        first = await asyncio.gather(*(readiness.ask() for _ in range(20)))
        return [*first, await readiness.ask()]

    try:
        assert asyncio.run(probes()) == [False] * 21
        assert stuck.asked == 1
    finally:
        stuck.go_on.set()
        readiness.close()
