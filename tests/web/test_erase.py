"""Erasing through the page: shown first, typed, certified, and nothing of it left anywhere."""

from __future__ import annotations

import base64
import json
import logging
import random
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from recollect import Memory, Store
from recollect.interfaces.web.checked import CHECKED
from recollect.memory.keys import Keys
from tests.suites.canaries import canary, forms, found
from tests.web.addresses import addresses
from tests.web.visiting import Page, Visitor, hidden_fields, served

Opened = tuple[Visitor, Memory]


def written(folder: Path, word: str) -> tuple[Store, str]:
    """A memory on disk with a word in the clear and encoded; and the record that has it."""
    store = Store.open(folder)
    memory = store.space("main")
    said = memory.scoped(trust="agent").observe(f"I live in {word}, and I like tea.")
    record = memory.remember(f"Lives in {word}", key="home", evidence=[said[0].id], tags=["place"])
    raw = word.encode()
    coded = f"{base64.b64encode(raw).decode()} {raw.hex()} {json.dumps(word)}"
    memory.revise(record.id, f"Moved to {word}, that is {coded}")
    memory.remember("Bob waters the plants.", key="bob.task")
    memory.context("where does she live")
    memory.admin.backup()
    return store, record.id


def hits(where: str, data: bytes, words: list[str]) -> list[str]:
    """Every form of a word in some bytes."""
    return [f"{where}: {name}" for word in words for name, form in forms(word) if form in data]


def everything(visitor: Visitor, memory: Memory, extra: list[str]) -> list[tuple[str, bytes]]:
    """Every page, its JSON and its headers, as bytes."""
    pages = []
    for path in [*addresses(memory, "main"), *extra]:
        for address in (path, f"{path}{'&' if '?' in path else '?'}as=json"):
            answer = visitor.get(address)
            pages.append((address, answer.text.encode() + str(answer.headers).encode()))
    return pages


def erased(visitor: Visitor, id: str, **fields: str) -> Page:
    """What the form of the dry run answers."""
    page = visitor.get(f"/main/erase/{id}")
    assert page.status == 200, page.words
    hidden = hidden_fields(page, f"/erase/{id}")
    return visitor.post(f"/main/erase/{id}", {**hidden, "typed": id[-6:], **fields})


def test_no_byte_is_left_in_any_file_page_header_or_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    caplog.set_level(logging.DEBUG)
    word = canary(random.Random(7))
    store, id = written(tmp_path / "w", word)
    with store, served(store) as inspector:
        memory, visitor = store.space("main"), inspector.enter()
        Keys(memory).create()
        memory.proof.checkpoint()
        others = [f"/main/r/{id}", f"/main/erase/{id}", "/main/search?q=where+does+she+live"]
        fields = hidden_fields(visitor.get(f"/main/r/{id}"), "/forget")
        visitor.post(f"/main/r/{id}/forget", fields)  # what it tells must not outlive the erasure
        before = everything(visitor, memory, others)
        shown = [each for where, data in before for each in hits(where, data, [word])]
        in_files = found(tmp_path / "w", [word])
        assert len({form for _, _, form in in_files}) >= 5  # the control: the search finds it
        assert len({each.partition(":")[0] for each in shown}) > 5

        done = erased(visitor, id)
        assert done.status == 303, done.words[:400]
        seq = done.headers["location"].partition("?")[0].rpartition("/")[2]
        assert found(tmp_path / "w", [word]) == []
        after = everything(visitor, memory, [*others, f"/main/erasures/{seq}"])
        assert [each for where, data in after for each in hits(where, data, [word])] == []
        assert word not in caplog.text
        assert hits("log", caplog.text.encode(), [word]) == []
        page = visitor.get(f"/main/erasures/{seq}")
        assert "All" in page.words
        assert "and no words." in page.words
        assert "events.wal: the bodies of" in page.words or "ledger" in page.words
        assert "Anchored." in page.words
        told = msgspec.json.decode(visitor.get(f"/main/erasures/{seq}?as=json").text)
        assert told["gone"] == len(told["events"]) > 3
        assert memory.events.get(int(seq)).hash == told["head_after"]
        assert memory.admin.verify(deep=True).ok


@pytest.fixture
def visitor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with Store.open(":memory:") as store:
        memory = store.space("main")
        said = memory.observe("She moved to the window: 14C from now on.")
        memory.remember("Alice sits in 12A.", key="alice.seat")
        memory.remember("Alice sits in 14C.", key="alice.seat", evidence=[said[0].id])
        memory.context("where does alice sit")
        memory.admin.flush()  # its receipt
        with served(store) as inspector:
            yield inspector.enter(), memory


def test_the_dry_run_says_what_goes_and_what_stays(visitor: Opened) -> None:
    browser, memory = visitor
    record = memory.get(key="alice.seat")
    plan = memory.erase(record.id, dry_run=True)
    position = memory.events.position
    page = browser.get(f"/main/erase/{record.id}")
    assert f"{len(plan.events)} events and 1 episode lose their words" in page.words
    assert "She moved to the window" in page.words
    assert "Alice sits in 12A. it has the same key" in page.words.replace("  ", " ")
    assert "It was in 1 of the last 1 contexts." in page.words
    kept = browser.get(f"/main/erase/{record.id}?sources=keep")
    assert "What was said for it stays." in kept.words
    assert memory.events.position == position


@pytest.mark.parametrize("typed", ["", "000000", "12A", "x" * 40])
def test_nothing_is_erased_before_the_id_is_typed(visitor: Opened, typed: str) -> None:
    browser, memory = visitor
    id, position = memory.get(key="alice.seat").id, memory.events.position
    refused = erased(browser, id, typed=typed, reason="asked for")
    assert refused.status == 422
    assert "Nothing was erased." in refused.words
    assert 'value="asked for"' in refused.text  # what was written is not lost
    assert memory.events.position == position


def test_a_reason_does_not_repeat_what_is_erased(visitor: Opened) -> None:
    browser, memory = visitor
    id = memory.get(key="alice.seat").id
    for reason in ("because Alice sits in 14C. is wrong", "moved to the window"):
        assert erased(browser, id, reason=reason).status == 422
    assert memory.get(id).text == "Alice sits in 14C."
    assert erased(browser, id, reason="asked for by her").status == 303  # the control


def test_what_was_written_since_is_shown_first(visitor: Opened) -> None:
    browser, memory = visitor
    id = memory.get(key="alice.seat").id
    fields = hidden_fields(browser.get(f"/main/erase/{id}"), f"/erase/{id}")
    memory.revise(id, "Alice sits in 3F.")
    refused = browser.post(f"/main/erase/{id}", {**fields, "typed": id[-6:]})
    assert refused.status == 409
    assert "Alice sits in 3F." in refused.words
    assert memory.get(id).text == "Alice sits in 3F."


def test_a_context_that_was_handed_out_since_does_not_stop_it(visitor: Opened) -> None:
    browser, memory = visitor
    id = memory.get(key="alice.seat").id
    fields = hidden_fields(browser.get(f"/main/erase/{id}"), f"/erase/{id}")
    position = memory.events.position
    memory.context("Where does Alice sit?")
    memory.admin.flush()
    assert memory.events.position > position
    assert browser.post(f"/main/erase/{id}", {**fields, "typed": id[-6:]}).status == 303


def test_a_form_that_is_sent_twice_erases_once(visitor: Opened) -> None:
    browser, memory = visitor
    id = memory.get(key="alice.seat").id
    fields = hidden_fields(browser.get(f"/main/erase/{id}"), f"/erase/{id}")
    fields |= {"typed": id[-6:], "reason": "asked for by her"}
    first = browser.post(f"/main/erase/{id}", fields)
    position = memory.events.position
    places = CHECKED.places(memory.events.get(position).hash)
    assert places
    again = browser.post(f"/main/erase/{id}", fields)
    assert first.status == again.status == 303
    ends = [each.headers["location"].partition("?")[0] for each in (first, again)]
    assert [each.rpartition("/")[2] for each in ends] == [str(position)] * 2
    assert memory.events.position == position
    assert CHECKED.places(memory.events.get(position).hash) == places
    assert browser.get(f"/main/erase/{id}").status == 404


def test_sources_can_be_kept(visitor: Opened) -> None:
    browser, memory = visitor
    id, said = memory.get(key="alice.seat").id, memory.sessions.episodes()[0].id
    page = browser.get(f"/main/erase/{id}?sources=keep")
    fields = hidden_fields(page, f"/erase/{id}")
    assert browser.post(f"/main/erase/{id}", {**fields, "typed": id[-6:]}).status == 303
    assert memory.get(said, include=["hidden"]).text.startswith("She moved")


def test_an_episode_is_erased_too(visitor: Opened) -> None:
    browser, memory = visitor
    said = memory.sessions.episodes()[0].id
    assert erased(browser, said).status == 303
    assert memory.sessions.episodes() == []


def test_a_certificate_of_another_process_is_verified_when_asked(visitor: Opened) -> None:
    browser, memory = visitor
    done = memory.erase(memory.get(key="alice.seat").id)
    page = browser.get(f"/main/erasures/{done.seq}")
    assert "Another process erased this" in page.words
    assert "Not by this process." in page.words
    fields = hidden_fields(page, "/ledger/verify")
    assert browser.post("/main/ledger/verify", fields).headers["location"].partition("?")[0] == (
        f"{browser.served.root}/main/erasures/{done.seq}"
    )
    assert "Self-consistent." in browser.get(f"/main/erasures/{done.seq}").words
    assert browser.get("/main/erasures/1").status == 404
    assert browser.get("/main/erasures/x").status == 422
