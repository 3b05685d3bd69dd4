"""Receipts, erasures, retention and anchors on the command line."""

from __future__ import annotations

from recollect.lifecycle.commands import Revise
from recollect.memory import Memory
from tests.cli.running import Shell
from tests.cli.test_verbs import remembered


def test_receipts_and_erasures_are_listed(store: Shell) -> None:
    assert store.run("proof", "receipts").code == 1
    assert "Nothing was erased." in store.run("proof", "erasures").out
    id = remembered(store, "Alice sits in 14C.")
    store.run("context", "where does Alice sit?")
    (receipt,) = store.run("proof", "receipts", "--json").json["receipts"]
    assert receipt["id"] in store.run("proof", "receipts").out
    assert "Alice sits" in store.run("context", "--replay", receipt["id"]).out
    store.run("erase", id, "--yes", "--reason", "asked to")
    told = store.run("proof", "erasures").out
    assert "asked to" in told
    assert store.run("proof", "erasures", "--json").json["erasures"][0]["events"] == [2]


def test_retain_erases_only_what_a_setting_says(store: Shell) -> None:
    id = remembered(store, "Sale ends.")
    with Memory.open(store.folder / ".recollect") as memory:
        memory.events.submit(Revise(id=id, expires="2020-01-01T00:00:00.000000Z"))
    kept = store.run("erase", "--expired", "--yes")
    assert (kept.code, "no retention is set" in kept.out) == (0, True)
    assert store.run("settings", "retention", "soon").code == 2
    assert store.run("settings", "retention", "30", "--json").json["days"] == 30
    assert store.run("erase", "--expired", "--json").code == 4
    planned = store.run("erase", "--expired", "--dry-run").out
    assert planned.startswith("Would erase 1 record:\n  ")
    assert "with its 2 versions" in planned
    assert "with its 2 versions" in store.run("erase", "--expired").err  # before it asks
    assert len(store.run("erase", "--expired", "--yes", "--json").json["records"]) == 1
    assert "Nothing expired more than 30 days ago." in store.run("erase", "--expired").out
    assert store.run("settings", "retention", "none").code == 0


def test_a_ledger_is_verified_against_an_anchor(store: Shell) -> None:
    remembered(store, "One.")
    anchor = store.run("admin", "verify", "--json").json["anchor"]
    assert f"anchor {anchor}" in store.run("admin", "verify").out
    remembered(store, "Two.")
    kept = store.run("admin", "verify", "--anchor", anchor)
    assert (kept.code, "Anchored" in kept.out) == (0, True)
    ledger = store.folder / ".recollect" / "events.wal"
    ledger.unlink()  # replaced by another ledger, which is sound in itself
    (store.folder / ".recollect" / "index.db").unlink()
    remembered(store, "Other.")
    assert store.run("admin", "verify").code == 0  # the control
    wrong = store.run("admin", "verify", "--anchor", anchor)
    assert (wrong.code, "Not anchored" in wrong.out) == (1, True)
    assert store.run("admin", "verify", "--anchor", "12").code == 2
