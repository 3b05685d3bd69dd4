"""The policy on the command line."""

from __future__ import annotations

import pytest

from recollect import Memory
from tests.cli.running import Shell


def test_the_policy_is_shown_set_and_reset(store: Shell) -> None:
    assert "update          at_once" in store.run("settings", "policy").out
    set_one = store.run("settings", "policy", "update=review", "forget_at_once=5")
    assert "update          review" in set_one.out
    assert store.run("settings", "policy", "delete=review", "--json").json == {
        "add": "at_once",
        "update": "review",
        "delete": "review",
        "correct": "quoted",
        "forget_at_once": 5,
        "checkpoint_events": None,
        "checkpoint_seconds": None,
    }
    assert store.run("settings", "policy", "--reset", "--json").json["update"] == "at_once"
    assert store.run("settings", "policy", "--reset").code == 0
    assert "update          at_once" in store.run("settings", "policy").out


def test_when_a_checkpoint_is_signed_is_a_policy_too(store: Shell) -> None:
    assert "A write signs a checkpoint: never" in store.run("settings", "policy").out
    done = store.run("settings", "policy", "checkpoint_events=3", "update=review")
    assert "A write signs a checkpoint: checkpoint_events=3" in done.out
    store.run("settings", "policy", "checkpoint_seconds=3600")
    now = store.run("settings", "policy", "--json").json
    assert (now["checkpoint_events"], now["checkpoint_seconds"]) == (3, 3600)
    assert now["update"] == "review"
    with Memory.open(store.folder / ".recollect") as memory:
        found = memory.settings.documents.get("policy", "checkpoints")
        assert (found.data, found.trust) == ({"every_events": 3, "every_seconds": 3600}, "person")
    store.run("proof", "key", "create")
    for number in range(4):
        store.run("remember", f"Text {number}")
    assert "anchored" in store.run("admin", "verify", "--json").json["status"]
    for name in ("checkpoint_events=none", "checkpoint_seconds=none"):
        assert store.run("settings", "policy", name).code == 0
    assert store.run("settings", "policy", "--json").json["checkpoint_events"] is None
    store.run("settings", "policy", "checkpoint_events=5")
    assert store.run("settings", "policy", "--reset", "--json").json["checkpoint_events"] is None


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["update=never"], "at_once or review"),
        (["correct=at_once"], "quoted or review"),
        (["forget_at_once=21"], "1 to 20"),
        (["forget_at_once=" + "9" * 5000], "1 to 20"),
        (["update"], "as update=review"),
        (["checkpoint_events=0"], "1 or more"),
        (["checkpoint_seconds=soon"], "1 or more"),
        (["trust=person"], "settings: add"),
        (["update=review", "--reset"], "--reset takes no settings"),
    ],
)
def test_what_is_not_a_policy_is_refused(store: Shell, arguments: list[str], told: str) -> None:
    store.run("settings", "policy", "add=review")
    found = store.run("settings", "policy", *arguments)
    assert found.code == 2
    assert told in found.err
    assert store.run("settings", "policy", "--json").json["add"] == "review"  # it stays as it was


def test_a_policy_of_a_later_release_can_be_reset(store: Shell) -> None:
    with Memory.open(store.folder / ".recollect") as memory, pytest.MonkeyPatch.context() as later:
        later.setattr("recollect.lifecycle.settings.policy.policy_from", lambda data: None)
        memory.settings.documents.set("policy", "agents", {"later": 1})
    found = store.run("settings", "policy")
    assert found.code == 2
    assert "--reset" in found.err
    assert store.run("settings", "policy", "--reset").code == 0
    assert store.run("settings", "policy").code == 0
