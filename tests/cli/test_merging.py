"""Two folders whose memories both grew, brought together on the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from recollect import Memory
from tests.cli.running import Shell


@pytest.fixture(name="laptops")
def two_folders_that_both_grew(store: Shell) -> tuple[Shell, Path]:
    """A shell whose memory and a copy of it have both gone on, and the folder of the copy."""
    here, there = store.folder / ".recollect", store.folder / "other"
    store.run("remember", "The seat is 12A.", "--key", "seat")
    shutil.copytree(here, there)
    store.run("remember", "Only here.")
    with Memory.open(there, embedder="none") as other:
        other.remember("Only there.")
    return store, there


def disagree(store: Shell, there: Path) -> str:
    """Both change the same record; returns its id."""
    seat = json.loads(store.run("list", "--json").out)["records"][-1]["id"]
    store.run("revise", seat, "The seat is 14C.")
    with Memory.open(there, embedder="none") as other:
        other.revise(seat, "The seat is 33B.")
    return str(seat)


def test_a_refusal_says_the_next_step(laptops: tuple[Shell, Path]) -> None:
    store, there = laptops
    for verb in ("push", "pull"):
        refused = store.run("admin", verb, str(there))
        assert refused.code == 5
        assert "the two ledgers diverge at event" in refused.err
        assert "--merge --dry-run" in refused.err


def test_a_dry_run_shows_and_writes_nothing(laptops: tuple[Shell, Path]) -> None:
    store, there = laptops
    shown = store.run("admin", "pull", str(there), "--merge", "--dry-run")
    assert shown.code == 0
    assert "to come: 1 command with 1 event" in shown.out
    assert "at most an agent's trust" in shown.out
    assert "Only there." not in store.run("list").out
    answer = json.loads(
        store.run("admin", "pull", str(there), "--merge", "--dry-run", "--json").out
    )
    assert (answer["commands"], answer["conflicts"], answer["dry_run"]) == (1, [], True)


def test_pull_and_push_bring_both_together(laptops: tuple[Shell, Path]) -> None:
    store, there = laptops
    pulled = store.run("admin", "pull", str(there), "--merge", "--mine", "--yes")
    assert "Merged into main: 1 command, 1 event" in pulled.out
    pushed = store.run("admin", "push", str(there), "--merge", "--yes")
    assert "Merged into main: 1 command, 1 event" in pushed.out
    with Memory.open(there, embedder="none") as other:
        texts = {(one.text, one.trust) for one in other.list()}
    assert texts == {
        ("The seat is 12A.", "person"),
        ("Only here.", "person"),
        ("Only there.", "person"),
    }
    again = store.run("admin", "pull", str(there), "--merge", "--mine", "--yes")
    assert again.out.endswith("Nothing to merge: everything that is there is here.\n")


@pytest.mark.parametrize(("word", "text"), [("--ours", "14C"), ("--theirs", "33B")])
def test_a_conflict_is_shown_and_decided(laptops: tuple[Shell, Path], word: str, text: str) -> None:
    store, there = laptops
    seat = disagree(store, there)
    refused = store.run("admin", "pull", str(there), "--merge", "--yes")
    assert refused.code == 5
    assert f"{seat}  conflict: both changed this record  key seat" in refused.out
    assert "ours    The seat is 14C." in refused.out
    assert "theirs  The seat is 33B." in refused.out
    assert "said by person" in refused.out
    assert store.run("show", "seat").out.count("14C")
    done = store.run("admin", "pull", str(there), "--merge", "--mine", word, seat, "--yes")
    assert done.code == 0
    assert text in store.run("show", "seat").out
    store.run("admin", "push", str(there), "--merge", "--yes")
    with Memory.open(there, embedder="none") as other:
        assert text in other.get(key="seat").text


def test_wrong_words_are_refused(laptops: tuple[Shell, Path]) -> None:
    store, there = laptops
    for words in (["--ours", "x"], ["--theirs", "x"], ["--dry-run"]):
        assert "add --merge" in store.run("admin", "push", str(there), *words).err
    assert "add --merge" in store.run("admin", "pull", str(there), "--mine").err
    twice = store.run("admin", "pull", str(there), "--merge", "--ours", "x", "--theirs", "x")
    assert "x is decided twice" in twice.err
    unknown = store.run("admin", "pull", str(there), "--merge", "--ours", "x", "--yes")
    assert "not a conflict" in unknown.err
    asked = store.run("admin", "pull", str(there), "--merge")
    assert "merging needs a confirmation" in asked.err


def test_ours_is_the_memory_at_which_one_sits(laptops: tuple[Shell, Path]) -> None:
    store, there = laptops
    disagree(store, there)
    shown = store.run("admin", "push", str(there), "--merge", "--dry-run")
    assert "ours    The seat is 14C." in shown.out
    assert f"--theirs ID for what {there} has" in shown.out
    answer = json.loads(
        store.run("admin", "push", str(there), "--merge", "--dry-run", "--json").out
    )
    assert answer["conflicts"][0]["ours"]["values"] == ["The seat is 14C."]
    store.run("admin", "push", str(there), "--merge", "--ours", "seat", "--yes")
    with Memory.open(there, embedder="none") as other:
        assert other.get(key="seat").text == "The seat is 14C."


def test_a_conflict_is_named_by_the_key_that_is_shown(laptops: tuple[Shell, Path]) -> None:
    store, there = laptops
    disagree(store, there)
    done = store.run("admin", "pull", str(there), "--merge", "--mine", "--theirs", "seat", "--yes")
    assert done.code == 0
    assert "33B" in store.run("show", "seat").out
    again = store.run("admin", "pull", str(there), "--merge", "--mine", "--theirs", "seat", "--yes")
    assert "decided already" in again.err


def test_a_wrong_path_is_said_to_be_wrong(laptops: tuple[Shell, Path]) -> None:
    store, there = laptops
    for verb in ("push", "pull"):
        for wrong in (f"{there}-typo", str(there / "main")):
            refused = store.run("admin", verb, wrong, "--merge", "--yes")
            assert refused.code == 3
            assert "check the path" in refused.err
            assert "recollect init" not in refused.err
            assert not (Path(wrong) / "events.wal").exists()
    assert not Path(f"{there}-typo").exists()


def test_an_option_is_not_taken_for_an_id(laptops: tuple[Shell, Path]) -> None:
    store, there = laptops
    disagree(store, there)
    refused = store.run("admin", "pull", str(there), "--merge", "--ours", "--mine")
    assert refused.code == 2
    assert "--ours needs a value" in refused.err


def test_what_stays_out_is_said_before_and_after(laptops: tuple[Shell, Path]) -> None:
    store, there = laptops
    store.run("admin", "pull", str(there), "--merge", "--mine", "--yes")
    seat = json.loads(store.run("list", "--json").out)["records"][-1]["id"]
    with Memory.open(there, embedder="none") as other:
        other.forget(seat)
    shown = store.run("admin", "pull", str(there), "--merge", "--dry-run")
    assert "stays out: " in shown.out
    done = store.run("admin", "pull", str(there), "--merge", "--yes")
    assert "Nothing was merged: 1 command stayed out." in done.out
    assert "everything that is there is here" not in done.out
