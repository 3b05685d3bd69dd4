"""The ledger over HTTP: events, differences, proofs, bytes, and the end of a space."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec
import pytest

from recollect import Memory, Store
from recollect.index.reads import Reads
from recollect.memory.handle.handle import Handle
from tests.http.serving import Client
from tests.http.test_service import S


def test_one_event_and_one_proposal(store: Store, owner: Client, agent: Client) -> None:
    made = agent.post(f"{S}/records", {"text": "Tea."}).json
    found = agent.get(f"{S}/events/{made['seq']}")
    assert (found.status, found.json["kind"]) == (200, "record.added")
    for wrong in ("0", "999", "x", "99999999999999999999", "~"):
        assert agent.get(f"{S}/events/{wrong}").status == 404
    held = store.space("main").scoped(trust="unverified").remember("Pay here.", key="k")
    shown = owner.get(f"{S}/review/{held.id}").json
    assert shown["digest"] == owner.get(f"{S}/review").json[0]["digest"]
    assert owner.get(f"{S}/review/none").status == 404


def test_what_differs_between_two_positions(agent: Client) -> None:
    first = agent.post(f"{S}/records", {"text": "Tea.", "id": "r-tea"}).json
    agent.post(f"{S}/records", {"text": "Cake.", "id": "r-cake"})
    agent.ask("PATCH", f"{S}/records/r-tea", {"text": "Coffee."})
    agent.ask("DELETE", f"{S}/records/r-cake")
    found = agent.get(f"{S}/diff?from={first['seq']}").json
    (item,) = found["items"]  # the cake came and went in between
    assert (item["id"], item["before"]["text"], item["after"]["text"]) == (
        "r-tea", "Tea.", "Coffee.",
    )  # fmt: skip
    whole = agent.get(f"{S}/diff?from={first['seq']}&to={first['seq'] + 1}").json
    assert [(one["id"], one["before"]) for one in whole["items"]] == [("r-cake", None)]
    assert agent.get(f"{S}/diff").status == 422
    assert agent.get(f"{S}/diff?from=-1").status == 422
    assert agent.get(f"{S}/diff?from=999999").status in (200, 422)


def test_a_difference_opens_one_reader_for_each_position(
    agent: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one for each record, eight such requests stopped the service for three minutes."""
    first = agent.post(f"{S}/records", {"text": "Tea."}).json
    for number in range(20):
        agent.post(f"{S}/records", {"text": f"Tea {number}."})
    opened: list[int] = []
    reading = Handle.reading

    def counted(handle: Handle) -> AbstractContextManager[Reads]:
        opened.append(handle.position)
        return reading(handle)

    monkeypatch.setattr(Handle, "reading", counted)
    assert len(agent.get(f"{S}/diff?from={first['seq']}").json["items"]) == 20
    assert len(opened) < 10


def test_several_etags_that_a_reader_has(agent: Client) -> None:
    place = agent.post(f"{S}/records", {"text": "Tea."}).headers["location"]
    tag = agent.get(place).headers["etag"]
    for known in (f'"v1", {tag}', f'"v1",W/{tag} ,"v2"', "*"):
        assert agent.get(place, If_None_Match=known).status == 304, known
    assert agent.get(place, If_None_Match='"v1", "v2"').status == 200
    assert agent.get(S, If_None_Match=agent.get(S).headers["etag"]).status == 304


def test_the_ledger_is_handed_out_as_it_lies(
    store: Store,
    owner: Client,
    agent: Client,
    tmp_path: Path,
) -> None:
    agent.post(f"{S}/episodes", {"messages": [{"content": "x" * 400_000}] * 9})
    lines = owner.get(f"{S}/ledger")
    assert (lines.status, lines.headers["content-type"]) == (200, "application/x-ndjson")
    assert int(lines.headers["content-length"]) == len(lines.raw) > 3_000_000
    if store.where != ":memory:":
        raw = b"".join(path.read_bytes() for path in sorted(tmp_path.rglob("ledger.ndjson")))
        assert not raw or raw == lines.raw
    seqs = [msgspec.json.decode(each)["seq"] for each in lines.raw.splitlines()]
    assert seqs == [*range(1, len(seqs) + 1)]
    rest = owner.get(f"{S}/ledger?after=3").raw
    assert lines.raw.endswith(rest)
    assert msgspec.json.decode(rest.splitlines()[0])["seq"] == 4
    assert agent.get(f"{S}/ledger").status == 403
    assert owner.get(f"{S}/ledger", Recollect_User="bob").status == 403
    assert owner.ask("HEAD", f"{S}/ledger").raw == b""


def test_a_ledger_is_taken_in_whole_or_not_at_all(tmp_path: Path, owner: Client) -> None:
    with Memory.open(tmp_path / "mine", space="theirs", embedder="none") as mine:
        mine.remember("One.")
        first = b"".join(mine._handle.space.pieces())
        mine.remember("Two.")
        both = b"".join(mine._handle.space.pieces())
    place = "/v1/spaces/theirs"
    for wrong in (b"", b"{}", both.replace(b"One", b"Not"), both[:-5], b"x" * 99):
        assert owner.ask("PUT", f"{place}/ledger", wrong).status in (409, 422), wrong
    assert owner.get(place).status == 404  # nothing was created
    assert owner.ask("PUT", f"{place}/ledger", first).json["seq"] == len(first.splitlines())
    assert owner.ask("PUT", f"{place}/ledger", both).status == 200
    assert owner.ask("PUT", f"{place}/ledger", both).status == 200  # nothing new
    assert owner.get(f"{place}/ledger").raw == both
    assert {one["text"] for one in owner.get(f"{place}/records").json["items"]} == {"One.", "Two."}
    assert owner.ask("PUT", f"{S}/ledger", both).status == 409  # another history
    assert owner.ask("PUT", f"{place}/ledger", first).status == 409  # shorter
    assert owner.post(f"{place}/records", {"text": "Three."}).status == 201


def test_a_token_takes_in_no_ledger_of_more_trust(
    tmp_path: Path,
    agent: Client,
    owner: Client,
) -> None:
    raw = owner.get(f"{S}/ledger").raw
    assert agent.ask("PUT", f"{S}/ledger", raw).status == 403
    assert agent.ask("PUT", "/v1/spaces/new/ledger", raw).status in (403, 404)


def test_an_export(agent: Client, owner: Client) -> None:
    agent.post(f"{S}/records", {"text": "Mine."}, Recollect_User="ann")
    for format in ("ndjson", "json", "graph", "mem0", "mcp-memory", "markitect"):
        done = owner.get(f"{S}/export?format={format}")
        assert (done.status, b"Mine." in done.raw) == (200, True), format
    assert b"Mine." not in agent.get(f"{S}/export?format=json", Recollect_User="bob").raw
    assert owner.get(f"{S}/export?format=pages").status == 422
    assert owner.get(f"{S}/export").status == 422


def test_checkpoints_and_proofs(key: None, store: Store, owner: Client, agent: Client) -> None:
    id = agent.post(f"{S}/records", {"text": "Tea."}).json["id"]
    assert owner.get(f"{S}/checkpoint").status == 404
    assert agent.post(f"{S}/checkpoint").status == 403
    signed = owner.post(f"{S}/checkpoint")
    assert (signed.status, signed.json["size"]) == (201, 3)
    kept = owner.get(f"{S}/checkpoint").json
    assert (kept["note"], kept["root"]) == (signed.json["note"], signed.json["root"])
    proof = agent.get(f"{S}/records/{id}/proof").json
    assert proof == agent.get(f"{S}/proofs/{proof['seq']}").json
    assert "Tea." in proof["document"]
    assert agent.get(f"{S}/proofs/99").status == 404
    assert agent.get(f"{S}/records/{id}/proof", Recollect_User="bob").status == 404
    checked = owner.get(f"{S}/verify?deep=true").json
    assert (checked["status"], checked["events"]) == ("anchored", 3)


def test_a_ledger_is_verified(agent: Client) -> None:
    checked = agent.get(f"{S}/verify").json
    assert (checked["status"], checked["events"]) == ("self-consistent", 2)
    anchor = f"2:{checked['head']}"
    assert agent.get(f"{S}/verify?anchor={anchor}").json["status"] == "anchored"
    assert agent.get(f"{S}/verify?anchor=2:{'0' * 64}").json["status"] != "anchored"
    assert agent.get(f"{S}/verify?anchor=/etc/passwd").status == 422  # no file of the service


def test_a_space_is_dropped_as_it_was_shown(
    store: Store,
    owner: Client,
    agent: Client,
    tmp_path: Path,
) -> None:
    place = "/v1/spaces/gone"
    owner.post("/v1/spaces", {"name": "gone"})
    owner.post(f"{place}/records", {"text": "A xanthic canary."})
    assert agent.ask("DELETE", f"{S}?dry_run=true").status == 403
    assert owner.ask("DELETE", place).status == 412
    plan = owner.ask("DELETE", f"{place}?dry_run=true").json
    assert (plan["records"], plan["dropped"]) == (1, None)
    assert str(tmp_path).encode() not in msgspec.json.encode(plan)
    owner.post(f"{place}/records", {"text": "Another."})
    assert owner.ask("DELETE", f"{place}?digest={plan['digest']}").status == 412
    plan = owner.ask("DELETE", f"{place}?dry_run=true").json
    done = owner.ask("DELETE", f"{place}?digest={plan['digest']}&reason=moved")
    assert (done.status, done.json["dropped"]["reason"]) == (200, "moved")
    assert owner.get(f"{place}/records").status == 404
    assert owner.get(f"{S}/records").status == 200
    held = [_target(each) for each in Path("/proc/self/fd").iterdir()]
    assert not any(str(tmp_path) in each and "/gone/" in each for each in held)
    owner.post("/v1/spaces", {"name": "gone"})  # a new one of that name
    assert owner.ask("DELETE", f"{place}?digest={plan['digest']}").status == 412


def _target(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
