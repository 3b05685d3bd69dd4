"""A backup that is older than what was signed here: restoring it says so, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import Shell


@pytest.fixture
def backup(store: Shell) -> str:
    """A backup of two events of a memory that went on and was signed."""
    store.run("remember", "One")
    store.run("proof", "key", "create")
    store.run("proof", "checkpoint")
    made = store.run("admin", "backup", "--json").json["path"]
    store.run("remember", "Two")
    return str(made)


def test_an_older_backup_is_told(store: Shell, backup: str) -> None:
    store.run("proof", "checkpoint")
    told = store.run("admin", "restore-backup", backup, "--store", "old")
    assert told.code == 0
    assert "It is older than what was signed here" in told.out
    assert "a signed checkpoint has 3 events" in told.out
    asked = store.run("admin", "doctor", "--store", "old", "--json")
    (found,) = [one for one in asked.json["findings"] if one["level"] == "problem"]
    assert (asked.code, found["what"]) == (1, "checkpoints")
    assert store.run("admin", "backup", "--store", "old").code != 0
    last = Path(found["fix"].partition("move ")[2].partition(" away")[0])
    last.rename(last.with_suffix(".aside"))  # as it says
    assert store.run("admin", "doctor", "--store", "old").code == 0
    assert store.run("remember", "Three", "--store", "old").code == 0
    assert store.run("admin", "backup", "--store", "old").code == 0
    assert store.run("proof", "checkpoint", "--store", "old").code == 0


def test_the_newest_backup_is_restored_without_a_word(store: Shell, backup: str) -> None:
    told = store.run("admin", "restore-backup", backup, "--store", "same", "--json")
    assert (told.code, told.json["problem"]) == (0, None)
    assert "older" not in store.run("admin", "restore-backup", backup, "--store", "again").out
