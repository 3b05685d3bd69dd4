"""Branches on the command line."""

from __future__ import annotations

import pytest

from recollect import Memory
from tests.cli.running import Shell


@pytest.fixture(name="plans")
def a_branch_with_a_conflict(store: Shell) -> tuple[Shell, list[str]]:
    """A shell whose memory has a branch with four changes; the last three are conflicts."""
    store.run("branches", "open", "plans", "--reason", "to compare")
    with Memory.open(store.folder / ".recollect", embedder="none") as memory:
        ids = [memory.remember(f"Port {number} is open.").id for number in range(3)]
        branch = memory.on("plans")
        branch.remember("Alice sits in Paris.", key="alice.seat", tags=["desk"])
        branch.revise(ids[0], "Port 0 is closed.", reason="a new rule")
        branch.revise(ids[1], "Port 1 is closed.")
        branch.forget(ids[2])
        for id in ids:
            memory.revise(id, memory.get(id).text.replace("open", "blocked"))
        return store, [change.id for change in memory.branches.diff("plans").changes]


def test_a_branch_is_opened_listed_and_shown(store: Shell) -> None:
    none = store.run("branches", "list")
    assert (none.code, none.out) == (1, "No branch is open here.\n")
    opened = store.run("branches", "open", "plans", "--reason", "to compare")
    assert opened.out.startswith("Opened plans  to compare  0 changes, open from 20")
    assert store.run("branches", "open", "plans").code == 5
    more = store.run("branches", "open", "more", "--parent", "plans", "--user", "ann", "--json")
    assert more.code == 3  # ann sees only her own
    store.run("branches", "open", "more", "--parent", "plans")
    assert [line.split()[0] for line in store.run("branches", "list").out.splitlines()] == [
        "more",
        "plans",
    ]
    shown = store.run("branches", "show", "more").out
    assert shown.splitlines()[1].startswith("  id: b-")
    assert shown.splitlines()[2].startswith("  parent: b-")
    assert store.run("branches", "show", "nothing").code == 3


def test_a_record_is_remembered_on_a_branch(store: Shell) -> None:
    store.run("remember", "Alice sits in Berlin.", "--key", "alice.seat")
    store.run("branches", "open", "plans")
    made = store.run("remember", "Alice sits in Paris.", "--key", "alice.seat", "--branch", "plans")
    assert made.code == 0
    assert "It waits on the branch 'plans'" in made.err
    assert "Berlin" in store.run("list").out
    assert "+ Alice sits in Paris." in store.run("branches", "diff", "plans").out
    assert store.run("remember", "x", "--branch", "plan").code == 3
    store.run("branches", "merge", "plans", "--yes")
    assert "Paris" in store.run("list").out


def test_a_diff_shows_both_sides_of_a_conflict(plans: tuple[Shell, list[str]]) -> None:
    shell, (new, first, second, gone) = plans
    out = shell.run("branches", "diff", "plans").out
    assert out.startswith("plans: 4 changes, 3 conflicts\n")
    assert f"{new}  adds " in out
    assert "  key alice.seat\n+ Alice sits in Paris.\n" in out
    assert "  tags: ['desk']\n" in out
    assert f"{first}  conflict: changes " in out
    assert (
        "  base    Port 0 is open.\n"
        "  ours    Port 0 is blocked.\n"
        "  theirs  Port 0 is closed.\n"
        "  because: a new rule\n"
    ) in out
    assert f"{gone}  conflict: forgets " in out
    assert "  theirs  (nothing)\n" in out
    assert "Decide each conflict: --ours ID" in out
    found = shell.run("branches", "diff", "plans", "--json").json
    assert [change["conflict"] for change in found["changes"]] == [False, True, True, True]
    assert found["changes"][2]["id"] == second


def test_a_change_that_is_settled_twice_is_refused(plans: tuple[Shell, list[str]]) -> None:
    shell, (_, first, second, gone) = plans
    rest = ("--ours", second, "--ours", gone, "--yes")
    for twice in (
        ("--ours", first, "--theirs", first),
        ("--edit", f"{first}=one", "--edit", f"{first}=two"),
    ):
        refused = shell.run("branches", "merge", "plans", *twice, *rest)
        assert (refused.code, f"{first} is decided twice" in refused.err) == (2, True)
    assert shell.run("branches", "show", "plans").out.startswith("plans  to compare  4 changes")


def test_a_merge_shows_the_diff_and_settles_conflicts(plans: tuple[Shell, list[str]]) -> None:
    shell, (_, first, second, gone) = plans
    assert shell.run("branches", "merge", "plans", "--json").code == 4  # it cannot ask
    refused = shell.run("branches", "merge", "plans", "--yes")
    assert refused.code == 5
    assert first in refused.err
    settled = ("--ours", gone, "--theirs", second, "--edit", f"{first}=Port 0 is half open.")
    assert shell.run("branches", "merge", "plans", "--edit", "nothing", "--yes").code == 2
    stale = shell.run("branches", "merge", "plans", *settled, "--digest", "0" * 64)
    assert stale.code == 5
    done = shell.run("branches", "merge", "plans", *settled, "--yes")
    assert done.code == 0
    assert done.out.endswith("Merged plans: 3 records, 1 change left out\n")
    texts = {one["text"] for one in shell.run("list", "--json").json["records"]}
    assert texts == {
        "Alice sits in Paris.",
        "Port 0 is half open.",
        "Port 1 is closed.",
        "Port 2 is blocked.",
    }
    assert shell.run("branches", "list").code == 1
    assert "merged, 20" in shell.run("branches", "list", "--closed").out


def test_a_branch_is_abandoned_or_condensed(store: Shell) -> None:
    store.run("branches", "open", "one")
    assert "abandoned, 20" in store.run("branches", "abandon", "one", "--reason", "no use").out
    assert "  reason given: no use\n" in store.run("branches", "show", "one").out
    store.run("branches", "open", "two")
    out = store.run("branches", "condense", "two", "We tried.", "--key", "tried").out
    assert out.startswith("Condensed two into 20")
    assert store.run("list", "--json").json["records"][0]["key"] == "tried"
