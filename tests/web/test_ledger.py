"""The ledger, an event, a proof and the audit."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from recollect import Memory, Store
from recollect.errors import Forbidden
from recollect.interfaces.web.checked import CHECKED, Checked
from recollect.interfaces.web.draw.verdicts import verdict
from recollect.interfaces.web.pages.event import parts
from recollect.interfaces.web.pages.ledger import segments
from recollect.ledger.line import encode
from recollect.memory.admin import Admin
from recollect.memory.keys import Keys
from recollect.model.values import Verification
from recollect.store.port import Progress
from tests.web.visiting import Page, Visitor, hidden_fields, served

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Visitor, Memory]]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with Store.open(tmp_path / "w") as store:
        memory = store.space("main")
        memory.remember("Alice sits in 12A.", key="alice.seat")
        memory.scoped(trust="agent", agent="planner").observe("She moved.", session="s")
        memory.admin.seal()
        memory.remember("Alice sits in 14C.", key="alice.seat")
        with served(store) as inspector:
            yield inspector.enter(), memory


def verified(visitor: Visitor, how: str = "now") -> Page:
    """The page after a check."""
    fields = hidden_fields(visitor.get("/main/ledger"), "/ledger/verify")
    return visitor.follow(visitor.post("/main/ledger/verify", {**fields, "how": how}))


@pytest.mark.parametrize(
    ("status", "tone", "words"),
    [
        ("anchored", "good", "the first 3 are what was signed"),
        ("self-consistent", "fair", "none was changed, added or taken out alone"),
        ("not anchored", "bad", "not the one that was signed"),
        ("broken", "bad", "The chain is broken at event 2: the hash differs."),
    ],
)
def test_a_verification_is_said_in_words(status: str, tone: str, words: str) -> None:
    found = Verification(
        status=status, events=5, erased=0, head="f", anchored_through=3,  # type: ignore[arg-type]
        broken_at=2 if status == "broken" else None, problem="the hash differs",
    )  # fmt: skip
    said = verdict(found)
    assert said.tone == tone
    assert words in said.said


def test_the_ledger_is_verified_on_the_page(opened: tuple[Visitor, Memory]) -> None:
    visitor, memory = opened
    page = visitor.get("/main/ledger")
    assert memory.status().head in page.text
    assert "Not checked since the inspector was started." in page.words
    checked = verified(visitor)
    assert "Self-consistent" in checked.words
    assert memory.admin.verify().anchor in checked.text
    memory.remember("one more")
    assert "1 event was written since." in visitor.get("/main/ledger").words
    assert "with every row of the index" in verified(visitor, "deep").words


def test_a_broken_ledger_is_said_with_its_event(
    opened: tuple[Visitor, Memory], tmp_path: Path
) -> None:
    visitor, memory = opened
    file = next(each for each in (tmp_path / "w").rglob("*.wal") if b"14C" in each.read_bytes())
    file.write_bytes(file.read_bytes().replace(b"14C", b"99Z"))
    noticed = visitor.get("/main/ledger")  # the store notices that its file was changed
    assert "damaged at event" in noticed.words
    page = verified(visitor)
    assert page.status == 200
    assert "The chain is broken at event" in page.words
    assert f"at event {memory.admin.verify().broken_at}" in page.words


def test_a_long_check_runs_beside_the_pages_and_says_how_far_it_is(
    opened: tuple[Visitor, Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor, real, goes_on = opened[0], Admin.verify, threading.Event()

    def slow(self: Admin, progress: Progress, *, deep: bool = False) -> Verification:
        progress(3, 10)
        assert goes_on.wait(60)
        return real(self, progress, deep=deep)

    monkeypatch.setattr(Admin, "verify", slow)
    monkeypatch.setattr(Checked.begin, "__kwdefaults__", {"deep": False, "wait_s": 0.05})
    page = verified(visitor)
    assert "The check has begun." in page.words
    assert "30 % checked." in page.words
    again = re.findall('http-equiv="refresh" content="2;url=([^"]*)"', page.text)
    assert again == [f"{visitor.served.root}/main/ledger"]  # without what was told once
    assert visitor.get("/main/timeline").status == 200
    goes_on.set()
    for _ in range(1_200):
        page = visitor.get("/main/ledger")
        if "checked." not in page.words:
            break
        time.sleep(0.05)
    assert "Self-consistent" in page.words
    assert "refresh" not in page.text


def test_a_check_that_cannot_be_made_says_why(
    opened: tuple[Visitor, Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: Memory, progress: Progress, *, deep: bool = False) -> Verification:
        raise Forbidden("this token may not verify")

    monkeypatch.setattr(Admin, "verify", refused)
    assert "This token may not verify." in verified(opened[0]).words


def test_a_check_ends_with_the_process(
    opened: tuple[Visitor, Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(self: Memory, progress: Progress, *, deep: bool = False) -> Verification:
        while True:
            progress(1, 2)
            time.sleep(0.01)

    monkeypatch.setattr(Admin, "verify", endless)
    CHECKED.begin(opened[1], "now", wait_s=0.05)
    assert CHECKED.running(opened[1]) is not None
    CHECKED.stop()
    assert CHECKED.running(opened[1]) is None


def test_segments_end_where_the_next_begins(opened: tuple[Visitor, Memory]) -> None:
    visitor, memory = opened
    found = segments(memory.events.list(kinds=["ledger.sealed"]), memory.events.position)
    assert [(each.first, each.last, each.sealed_at is None) for each in found] == [
        (1, found[1].first - 1, False),
        (found[1].first, memory.events.position, True),
    ]
    assert "open: written to" in visitor.get("/main/ledger").words
    assert segments([], 0) == ()


def test_the_marked_bytes_are_those_that_the_hash_covers(opened: tuple[Visitor, Memory]) -> None:
    visitor, memory = opened
    for seq in range(1, memory.events.position + 1):
        page, event = visitor.get(f"/main/ledger/{seq}"), memory.events.get(seq)
        assert page.status == 200
        assert event.hash in page.text
        assert "as it says." in page.words
    erased = memory.erase(memory.get(key="alice.seat").id)
    page = visitor.get(f"/main/ledger/{erased.events[0]}")
    assert "They were erased" in page.words
    assert "14C" not in page.text
    assert visitor.get("/main/ledger/99999").status == 404


def test_parts_join_to_the_line_and_find_what_is_wrong() -> None:
    raw, digest = encode(
        v=1, seq=1, first=1, last=1, id="a.1", kind="record.added", origin="person",
        at="2026-01-01T00:00:00.000000Z", prev="0" * 64, salt=b"s" * 16, data=b'{"text":"x"}',
    )  # fmt: skip
    line = raw.removesuffix(b"\n")
    found = parts(line)
    assert "".join(each.text for each in found.parts).encode() == line
    assert found.hash == digest == sha256(found.parts[0].text.encode()).hexdigest()
    assert found.is_hash_right
    assert found.is_body_right
    assert parts(line.replace(b'"x"', b'"y"')).is_body_right is False
    assert parts(line.replace(b"person", b"agent")).is_hash_right is False
    assert parts(line.replace(b'"salt":"73', b'"salt":"zz')).is_body_right is False


def test_a_proof_is_handed_out_only_under_a_checkpoint(
    opened: tuple[Visitor, Memory], tmp_path: Path
) -> None:
    visitor, memory = opened
    assert "recollect proof key create" in visitor.get("/main/ledger/2").words
    assert visitor.get("/main/ledger/2/proof").status == 404
    key = Keys(memory).create()
    page = visitor.get("/main/ledger/2")
    assert "No signed checkpoint covers it yet." in page.words
    assert visitor.get("/main/ledger/2/proof").status == 404  # looking signs nothing
    done = visitor.post("/main/ledger/checkpoint", hidden_fields(page, "/ledger/checkpoint"))
    assert done.status == 303
    proof = visitor.get("/main/ledger/2/proof")
    assert proof.headers["content-disposition"] == 'attachment; filename="event-2.proof"'
    assert proof.text == memory.proof.prove(event=2).document
    assert "Anchored" in verified(visitor).words
    assert "signed by" in visitor.get("/main/audit").words
    file, keys = tmp_path / "event.proof", tmp_path / "key"
    file.write_text(proof.text)
    keys.write_text(f"{key.key}\n")
    checker = ROOT / "docs" / "verify_proof.py"
    run = [sys.executable, str(checker), str(file), key.key]
    checked = subprocess.run(run, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_audit_lists_who_did_what(opened: tuple[Visitor, Memory]) -> None:
    visitor, memory = opened
    page = visitor.get("/main/audit")
    for entry in memory.proof.audit():
        assert entry.what in page.words
        assert not entry.text or entry.text in page.words
    head = memory.events.get(memory.events.position).hash
    foot = page.text.partition("<tfoot>")[2].partition("</tfoot>")[0]
    assert head in foot  # on every printed sheet
    planner = visitor.get("/main/audit?who=planner").words
    assert "She moved." in planner
    assert "14C" not in planner
    assert "Nothing is recorded" in visitor.get("/main/audit?to=2001-01-01").words
    assert visitor.get("/main/audit?from=soon").status == 422
    past = visitor.get("/main/audit?at=2")
    assert memory.events.get(2).hash in past.text
    assert head not in past.text.partition("<tfoot>")[2]
