"""`remember --replaces`: a new record in the place of an old one."""

from __future__ import annotations

from tests.cli.running import Shell


def test_a_new_record_in_the_place_of_an_old_one(store: Shell) -> None:
    store.run("remember", "Row 3.", "--id", "alice-row-3", "--about", "person:Alice")
    done = store.run("remember", "Row 4.", "--replaces", "alice-ro", "--reason", "she moved")
    assert (done.code, done.out.splitlines()[0].split()[0]) == (0, "Remembered")
    assert "about person:Alice · person · replaces alice-row-3" in done.out
    shown = store.run("show", "alice-row-3")
    assert "replaced" in shown.out
    assert "(she moved)" in shown.out
    assert "~~Row 3.~~" in store.run("pages", "show", "person-alice").out
    undone = store.run("undo", "--yes")
    assert "restored alice-row-3: Row 3." in undone.out


def test_as_part_of_remembering(store: Shell) -> None:
    store.run("remember", "Row 3.", "--id", "old", "--tag", "seat")
    new = store.run("remember", "Row 4.", "--replaces", "old", "--json").json
    assert (new["replaces"], new["tags"]) == ("old", ["seat"])
    again = store.run("remember", "Row 5.", "--replaces", new["id"], "--json").json
    assert (again["text"], again["replaces"]) == ("Row 5.", new["id"])


def test_what_cannot_be_superseded_has_a_next_step(store: Shell) -> None:
    store.run("remember", "Row 3.", "--id", "old")
    new = store.run("remember", "Row 4.", "--replaces", "old", "--json").json
    twice = store.run("remember", "Row 5.", "--replaces", "old")
    assert twice.code == 5
    assert f"old was replaced by {new['id']}" in twice.err
    assert f"replace {new['id']} instead" in twice.err
    assert store.run("remember", "Row 5.", "--replaces", "r-none").code == 3
    same = store.run("remember", "Row 4.", "--replaces", new["id"])
    assert (same.code, "says exactly this already" in same.err) == (5, True)
    assert "use `recollect remember TEXT --replaces old`" in store.run("replace", "old").err


def test_what_waits_is_shown_as_a_new_record(store: Shell) -> None:
    store.run("remember", "Row 3.", "--id", "old")
    asked = store.run("remember", "Row 4.", "--replaces", "old", "--trust", "agent")
    assert "Not changed yet: old" in asked.out
    (one,) = store.run("review", "--json").json["waiting"]
    shown = store.run("review", "show", one["id"])
    assert "stays, struck through" in shown.out
