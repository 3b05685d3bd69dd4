"""`forget --derived`, `review confirm` and `admin archive`: what they show, ask and say."""

from __future__ import annotations

import json

from recollect import Memory
from recollect.lifecycle.commands import Archive
from tests.cli.running import Shell


def fill(store: Shell, many: int = 1) -> str:
    """A source of a value, of what rests on it, and of nothing else."""
    with Memory.open(store.folder / ".recollect") as memory:
        memory.remember("The port is 5432.", key="port")
        (heard,) = memory.observe("The port is 666.", role="assistant")
        new = memory.remember("The port is 666.", key="port", evidence=[heard.id])
        for number in range(many):
            memory.remember(f"Firewall {number} opens it.", evidence=[new.id])
        return heard.id


def test_a_retraction_is_shown_confirmed_and_undone(store: Shell) -> None:
    id = fill(store, many=12)
    shown = store.run("forget", id, "--dry-run", "--derived")
    assert shown.code == 0
    assert "Would take back:\nGoes: 13 records\n" in shown.out
    assert "  and 3 more" in shown.out
    assert "Is back, as it was: 1 record" in shown.out
    assert json.loads(store.run("forget", id, "--dry-run", "--json", "--derived").out)["seq"] == 0
    asked = store.run("forget", id, "--derived")
    assert asked.code != 0
    assert "add --yes" in asked.err
    assert "Goes: 13 records" in asked.err
    assert "The port is 666" in store.run("show", "port").out
    done = store.run("forget", id, "--yes", "--derived")
    assert done.code == 0
    assert done.out.startswith("Taken back:")
    assert "The port is 5432" in store.run("show", "port").out
    again = store.run("forget", id, "--derived")
    assert (again.code, again.out.splitlines()[0]) == (
        1,
        "Nothing changed: it was taken back before.",
    )
    undone = store.run("undo", "--yes")
    assert undone.code == 0
    assert "The port is 666" in store.run("show", "port").out


def test_one_record_goes_without_a_question(store: Shell) -> None:
    with Memory.open(store.folder / ".recollect") as memory:
        mine = memory.remember("Tea at four.")
    done = store.run("forget", mine.id, "--json", "--derived")
    assert json.loads(done.out)["taken"] == [mine.id]


def test_an_earlier_version_is_reverted_to(store: Shell) -> None:
    with Memory.open(store.folder / ".recollect") as memory:
        first = memory.remember("one", key="n")
        memory.remember("two", key="n")
        memory.remember("three", key="n")
    ran = store.run("undo", "n", "--to", str(first.seq))
    assert ran.code == 0
    assert "Brought back" in ran.out


def test_a_hypothesis_is_settled(store: Shell) -> None:
    with Memory.open(store.folder / ".recollect") as memory:
        one = memory.remember("The job is slow.", is_hypothesis=True)
        other = memory.remember("The disk is full.", is_hypothesis=True)
        third = memory.remember("The moon is full.", is_hypothesis=True)
    assert "Confirmed" in store.run("review", "confirm", one.id, "--evidence", "run-1").out
    assert "Refuted" in store.run("review", "refute", other.id, "--reason", "df").out
    assert store.run("review", "confirm", "r-none").code == 3
    assert "usage" in store.run("review", "confirm", third.id, "--holds").err


def test_what_has_faded_is_archived(store: Shell) -> None:
    with Memory.open(store.folder / ".recollect") as memory:
        for number in range(12):
            memory.remember(f"number {number}")
        memory.observe("Time passes.")
    assert "Nothing has faded." in store.run("admin", "archive").out
    shown = store.run("admin", "archive", "--below", "1", "--dry-run")
    assert "Would archive 12 records:" in shown.out
    assert "  and 2 more" in shown.out
    assert store.run("admin", "archive", "--below", "1").code != 0
    first = store.run("admin", "archive", "--below", "1", "--limit", "2", "--yes")
    assert "Archived 2 records:" in first.out
    assert "There are more: run it again." in first.out
    done = json.loads(store.run("admin", "archive", "--below", "1", "--yes", "--json").out)
    assert (len(done["records"]), done["kept"], done["more"]) == (10, 0, False)
    with Memory.open(store.folder / ".recollect") as memory:
        assert memory.list() == []
        gone = memory.list(include=["archived"])
        assert {record.reason for record in gone} == {"decayed"}
        memory.undo(gone[0].id)
        memory.events.submit(Archive(id=gone[0].id, why="merged"))
    assert "part of another" not in store.run("list").out
