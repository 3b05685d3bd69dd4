"""Keys of subjects that are lost: every message says the next step, and the memory can go on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from recollect import Memory
from recollect.errors import ConfigError
from tests.cli.running import Shell

SAID, OTHER = "Bob is diabetic.", "The office is closed."


@pytest.fixture
def memory(store: Shell) -> Shell:
    """Bob's memory is encrypted; something else is everybody's."""
    store.run("init", "--subjects", "users")
    assert store.run("remember", SAID, "--user", "bob").code == 0
    assert store.run("remember", OTHER).code == 0
    return store


def keys_of(store: Shell) -> Path:
    (found,) = (store.home / ".recollect" / "subjects").glob("*.json")
    return found


def lose(store: Shell, what: str) -> dict[str, str]:
    """Loses something; returns the environment from then on."""
    master = store.home / ".recollect" / "master.key"
    if what == "keys":
        keys_of(store).unlink()
    elif what == "master":
        master.unlink()
    elif what == "variable":
        return {"RECOLLECT_MASTER_KEY": "A" * 43 + "="}
    elif what == "nonsense":
        return {"RECOLLECT_MASTER_KEY": "my secret"}
    elif what == "command":
        return {"RECOLLECT_MASTER_KEY_COMMAND": "false"}
    return {}


# What is said, and the next step.
LOST = {
    "keys": ("is not in", ".recollect/subjects"),
    "master": ("the master key is missing", "put it back, or set RECOLLECT_MASTER_KEY"),
}
WRONG = {
    "variable": ("the master key does not open", "from RECOLLECT_MASTER_KEY if that is set"),
    "nonsense": ("RECOLLECT_MASTER_KEY is not 32 bytes in base64", "/dev/urandom"),
    "command": ("RECOLLECT_MASTER_KEY_COMMAND did not print a key", "run it yourself"),
}


def without_index(memory: Shell) -> None:
    for index in memory.folder.rglob("index.db*"):
        index.unlink()


@pytest.mark.parametrize("what", [*LOST, *WRONG])
def test_a_call_that_needs_the_key_says_what_to_do(
    memory: Shell, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    for name, value in lose(memory, what).items():
        monkeypatch.setenv(name, value)
    without_index(memory)
    said, step = (LOST | WRONG)[what]
    told = memory.run("list")
    assert told.code not in (0, 1)
    assert said in told.err
    assert step in told.err
    findings = memory.run("admin", "doctor", "--json").json["findings"]
    (found,) = [one for one in findings if one["what"] in ("keys", "master key")]
    assert found["level"] == "problem"
    assert found["detail"].startswith("1 event of 1 subject cannot be read: ")
    assert said in found["detail"]
    assert step[1:] in found["fix"]
    assert ("--accept-loss" in found["fix"]) is (what in LOST)
    assert memory.run("admin", "doctor").code == 1


@pytest.mark.parametrize("index", ["there", "missing"])
@pytest.mark.parametrize("what", LOST)
def test_a_memory_goes_on_when_the_loss_is_accepted(memory: Shell, what: str, index: str) -> None:
    lose(memory, what)
    if index == "missing":
        without_index(memory)
    done = memory.run("admin", "doctor", "--accept-loss", "--yes", "--reason", "the disk burnt")
    assert done.code == 0, done.out + done.err
    assert [one["text"] for one in memory.run("list", "--json").json["records"]] == [OTHER]
    assert memory.run("admin", "verify", "--deep").code == 0
    kinds = [one["kind"] for one in memory.run("log", "--json").json["events"]]
    assert kinds[-2:] == ["ledger.loss_accepted", "events.erased"]
    (ledger,) = memory.folder.rglob("events.wal")
    assert b"the disk burnt" in ledger.read_bytes()
    again = memory.run("admin", "doctor", "--accept-loss", "--yes")
    assert again.code != 0
    assert "no loss to accept" in again.err
    assert memory.run("remember", "He is back.", "--user", "bob").code == 0
    without_index(memory)
    assert len(memory.run("list", "--json").json["records"]) == 2
    lost = [*(memory.home / ".recollect" / "subjects").glob("*.lost")]
    assert len(lost) == (what == "master")  # it is kept: the master key may be found


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_setting_is_no_loss(
    memory: Shell, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    with monkeypatch.context() as patch:
        for name, value in lose(memory, what).items():
            patch.setenv(name, value)
        refused = memory.run("admin", "doctor", "--accept-loss", "--yes")
        assert "no loss to accept" in refused.err
        with Memory.open(memory.folder / ".recollect") as opened, pytest.raises(ConfigError):
            opened.admin.accept_loss()
    without_index(memory)
    assert memory.run("admin", "doctor").code == 0
    assert SAID in memory.run("list").out


def test_another_memory_does_not_get_a_new_master_key(memory: Shell) -> None:
    """It would hide that the old one is missing."""
    lose(memory, "master")
    other = str(memory.home / "other")
    memory.run("init", "--store", other, "--subjects", "users")
    told = memory.run("remember", SAID, "--user", "ann", "--store", other)
    assert told.code != 0
    assert "needs it" in told.err
    assert not (memory.home / ".recollect" / "master.key").exists()


def test_nothing_is_lost_when_the_key_comes_back(memory: Shell) -> None:
    kept = memory.home / "kept"
    shutil.copytree(memory.home / ".recollect", kept)
    shutil.rmtree(memory.home / ".recollect")
    for path in memory.folder.rglob("index.db*"):
        path.unlink()
    assert memory.run("admin", "doctor").code == 1
    shutil.copytree(kept, memory.home / ".recollect")
    assert memory.run("admin", "doctor").code == 0
    assert SAID in memory.run("list").out
