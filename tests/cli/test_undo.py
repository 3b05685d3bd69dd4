"""Taking back: shown first, asked, done in one command, and told."""

from __future__ import annotations

import pytest

from recollect.interfaces.cli.daily.undo import _DID
from recollect.memory.correction.undoable import KINDS
from tests.cli.running import Shell
from tests.cli.test_verbs import remembered


def test_a_revision_is_undone_after_asking(store: Shell) -> None:
    id = remembered(store, "Tea at four.")
    store.run("revise", id, "Tea at five.")
    for ran in (store.run("undo", "--json"), store.process("undo")):
        assert ran.code == 4
        assert "--yes" in ran.err
    no = store.terminal("undo", typed="n\n")
    assert (no.code, "Tea at five." in no.out, "Undone" in no.out) == (1, True, False)
    shown = store.run("undo", "--dry-run", "--json").json
    assert [event["kind"] for event in shown["events"]] == ["record.revised"]
    yes = store.terminal("undo", typed="y\n")
    assert (yes.code, "Undone" in yes.out, "Tea at four." in yes.out) == (0, True, True)
    assert store.run("undo", "--yes").code == 0  # and back again
    assert store.run("list", "--json").json["records"][0]["text"] == "Tea at five."


def test_a_key_is_undone_by_its_name(store: Shell) -> None:
    old = remembered(store, "5432", "--key", "staging.port")
    new = remembered(store, "5433", "--key", "staging.port")
    remembered(store, "Something else.")
    undone = store.run("undo", "staging.port", "--yes", "--json").json
    assert [event["id"] for event in undone["undone_by"]] == [new, old]
    asks = store.run("undo", old)
    assert (asks.code, "--yes" in asks.err) == (4, True)  # it holds
    back = store.run("undo", new)
    assert (back.code, f"Brought back {new}" in back.out) == (0, True)
    same = store.run("undo", new, "--to", "99")
    assert (same.code, "Nothing was changed" in same.out) == (1, True)
    assert store.run("undo", old, "--to", "soon").code == 2


def test_a_command_of_before_is_taken_back_by_its_event(store: Shell) -> None:
    first = remembered(store, "Tea at four.")
    remembered(store, "Coffee at six.")
    event = store.run("show", first, "--json").json["record"]["seq"]
    assert store.run("undo", first, "--event", str(event)).code == 2
    undone = store.run("undo", "--event", str(event), "--yes", "--json").json
    assert [each["id"] for each in undone["events"]] == [first]
    left = store.run("list", "--json").json["records"]
    assert [each["text"] for each in left] == ["Coffee at six."]


def test_nothing_to_undo_is_said(store: Shell) -> None:
    empty = store.run("undo", "--yes", "--json")
    assert (empty.code, empty.error["code"]) == (5, "conflict")
    id = remembered(store, "A secret canary.")
    store.run("erase", id, "--yes")
    erased = store.run("undo", "--yes", "--json")
    assert (erased.code, "erased" in erased.error["message"]) == (5, True)


def test_what_is_gone_is_brought_back_without_a_question(store: Shell) -> None:
    id = remembered(store, "Tea at four.")
    store.run("revise", id, "Tea at five.")
    asks = store.run("undo", id)
    assert (asks.code, "--yes" in asks.err) == (4, True)  # the control: it is still there
    (episode,) = store.run("observe", "Hello.", "--json").json["episodes"]
    for each, word in ((id, "Brought back"), (episode["id"], "restored")):
        store.run("forget", each)
        back = store.run("undo", each)
        assert (back.code, word in back.out) == (
            0,
            True,
        )
    store.run("forget", id)
    for _ in range(2):
        assert store.run("undo", id, "--idempotency-key", "once").code == 0
    assert store.run("undo", "--to", "3").code == 2
    assert store.run("undo", "--idempotency-key", "once").code == 2


def test_undo_takes_the_newer_of_two_memories(store: Shell) -> None:
    remembered(store, "In the project.")
    mine = remembered(store, "My own.", "--memory", "personal")
    shown = store.run("undo", "--dry-run", "--json").json
    assert (shown["memory"], shown["events"][0]["id"]) == ("personal", mine)
    ours = store.run("undo", "--dry-run", "--json", "--memory", "project").json
    assert ours["events"][0]["text"] == "In the project."
    assert store.run("undo", "--yes", "--json").json["memory"] == "personal"


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_event_has_a_word(kind: str) -> None:
    assert kind in _DID or kind == "events.erased"
