"""The command line asks the project's memory and the person's own, and says which answered."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from recollect import Memory
from recollect.interfaces.cli.daily.both import _shares
from tests.cli.running import Ran, Shell
from tests.config.test_config import repository


@pytest.fixture
def both(shell: Shell) -> Shell:
    """A repository with one record in each memory."""
    repository(shell.folder)
    ours = shell.run("remember", "The database is on port 5433.", "--key", "db.port")
    mine = shell.run("remember", "I open the database with pgcli.", "--memory", "personal")
    assert f"in project: {shell.folder / '.git' / 'recollect'}" in ours.out
    assert f"in personal: {shell.home / '.recollect'}" in mine.out
    return shell


def mounts(ran: Ran, name: str = "hits") -> list[Any]:
    return [each["memory"] for each in ran.json[name]]


def test_a_first_remember_in_a_repository_makes_the_projects_memory(shell: Shell) -> None:
    repository(shell.folder)
    ran = shell.run("remember", "We build with make.", "--json")
    assert ran.json["memory"] == "project"
    assert (shell.folder / ".git" / "recollect" / "events.wal").exists()
    assert not (shell.home / ".recollect" / "events.wal").exists()


def test_recall_asks_both_and_names_the_mount_of_each_hit(both: Shell) -> None:
    ran = both.run("recall", "database", "--json")
    assert sorted(mounts(ran)) == ["personal", "project"]
    shown = both.run("recall", "database").out
    assert " · project · db.port · " in shown
    assert " · personal · " in shown
    explained = both.run("recall", "database", "--explain").out
    assert " · project · " in explained
    assert " · personal · " in explained
    assert mounts(both.run("recall", "database", "--memory", "personal", "--json")) == ["personal"]
    assert len(both.run("recall", "database", "-k", "1", "--json").json["hits"]) == 1


def test_list_shows_each_under_its_place_and_goes_on_after_an_id(both: Shell) -> None:
    assert mounts(both.run("list", "--json"), "records") == ["project", "personal"]
    lines = both.run("list").out.splitlines()
    assert lines[0] == f"project: {both.folder / '.git' / 'recollect'}"
    assert lines[3] == f"personal: {both.home / '.recollect'}"
    ours, mine = [each["id"] for each in both.run("list", "--json").json["records"]]
    first = both.run("list", "--limit", "1")
    assert f"--after {ours}" in first.out
    rest = both.run("list", "--limit", "1", "--after", ours, "--json")
    assert [each["id"] for each in rest.json["records"]] == [mine]
    assert both.run("list", "--after", mine).code == 1


def test_a_context_packs_both_and_each_part_can_be_replayed(both: Shell) -> None:
    packed = both.run("context", "which database?", "--json").json
    assert "5433" in packed["text"]
    assert "pgcli" in packed["text"]
    assert [hit["memory"] for hit in packed["hits"]] == ["project", "personal"]
    for mount, words in (("project", "5433"), ("personal", "pgcli")):
        again = both.run("context", "--replay", packed["receipts"][mount])
        assert words in again.out
        assert f"from {mount}: " in again.err
    shown = both.run("context", "which database?")
    assert "project: 1 packed" in shown.err
    assert "personal: 1 packed" in shown.err


def test_a_preset_that_only_one_memory_has_packs_that_one(both: Shell) -> None:
    preset = both.folder / "preset.json"
    task = both.run("settings", "preset", "show", "task", "--json").json
    preset.write_text(json.dumps(task | {"name": "short", "tokens": 200}))
    assert both.run("settings", "preset", "set", str(preset)).code == 0
    packed = both.run("context", "which database?", "--preset", "short", "--json")
    assert [hit["memory"] for hit in packed.json["hits"]] == ["project"]
    assert both.run("context", "which database?", "--preset", "missing").code == 3


def test_an_id_or_a_key_is_found_in_either(both: Shell) -> None:
    ours, mine = [each["id"] for each in both.run("list", "--json").json["records"]]
    assert both.run("revise", mine, "I open it with psql.", "--json").json["memory"] == "personal"
    assert both.run("revise", ours, "--tag", "ops", "--json").json["memory"] == "project"
    assert f"in personal: {both.home / '.recollect'}" in both.run("forget", mine).out
    assert both.run("undo", mine, "--json").json["memory"] == "personal"
    assert both.run("show", "db.port", "--json").json["memory"] == "project"
    assert both.run("admin", "why-not", mine, "psql", "--json").json["memory"] == "personal"
    assert both.run("erase", mine, "--yes", "--json").json["memory"] == "personal"
    assert both.run("show", mine).code == 3


def test_a_key_in_both_asks_for_an_id(both: Shell) -> None:
    mine = both.run("remember", "Mine is on 3306.", "--key", "db.port", "--memory", "personal")
    assert mine.code == 0
    ran = both.run("show", "db.port", "--json")
    assert ran.error["code"] == "ambiguous"


def test_a_named_store_or_space_is_asked_alone_and_is_not_a_mount(both: Shell) -> None:
    mine = str(both.home / ".recollect")
    ran = both.run("recall", "database", "--store", mine, "--json")
    assert [hit.get("memory") for hit in ran.json["hits"]] == [None]
    assert "in personal" not in both.run("remember", "Named.", "--store", mine).out
    assert both.run("remember", "In a space.", "--space", "x", "--json").json["memory"] == "project"
    assert mounts(both.run("recall", "space", "--space", "x", "--json")) == ["project"]
    refused = both.run("recall", "x", "--store", mine, "--memory", "personal", "--json")
    assert refused.error["code"] == "invalid_input"
    assert both.run("recall", "x", "--memory", "nobody").code == 2


def test_a_position_counts_the_events_of_one_ledger(both: Shell) -> None:
    assert mounts(both.run("recall", "database", "--at", "2", "--json")) == ["project"]
    then = both.run("show", "db.port", "--json").json["record"]["created_at"]
    assert mounts(both.run("recall", "database", "--at", then, "--json")) == ["project"]
    assert sorted(mounts(both.run("recall", "database", "--at", "2126-01-01", "--json"))) == [
        "personal",
        "project",
    ]


def test_a_damaged_memory_does_not_silence_the_other(both: Shell) -> None:
    store = both.folder / ".git" / "recollect"
    ledger = store / "events.wal"
    data = bytearray(ledger.read_bytes())
    data[data.index(b"\n") - 3] ^= 1  # in the first event, so that it is not a torn tail
    ledger.write_bytes(data)
    for name in ("index.db", "index.db-wal", "index.db-shm"):
        (store / name).unlink(missing_ok=True)
    ran = both.run("recall", "database")
    assert ran.code == 0
    assert "pgcli" in ran.out
    assert "The memory project could not be read and was left out" in ran.err
    assert both.run("recall", "database", "--memory", "project").code == 7


def test_outside_a_repository_nothing_is_made_in_the_folder(shell: Shell) -> None:
    assert shell.run("remember", "I drink tea.", "--json").json["memory"] == "personal"
    assert list(shell.folder.iterdir()) == []
    assert mounts(shell.run("recall", "tea", "--json")) == ["personal"]
    made = shell.run("remember", "Here.", "--memory", "project", "--json")
    assert made.json["memory"] == "project"
    assert (shell.folder / ".recollect" / "events.wal").exists()


def test_a_memory_from_elsewhere_is_read_with_a_note(both: Shell) -> None:
    store = both.folder / ".git" / "recollect"
    shutil.rmtree(store)
    with Memory.open(store) as other:
        other.remember("The database is at evil.example.")
    ran = both.run("recall", "database")
    assert "evil.example" in ran.out
    assert "pgcli" in ran.out
    assert "was not created on this machine" in ran.err


@pytest.mark.parametrize(
    ("needs", "shares"),
    [([10, 20], [10, 20]), ([90, 20], [80, 20]), ([20, 90], [20, 80]), ([90, 90], [50, 50])],
)
def test_a_budget_is_shared_by_need(needs: list[int], shares: list[int]) -> None:
    assert _shares(100, needs) == shares
