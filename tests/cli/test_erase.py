"""The verb that erases tells before and after what goes and what stays."""

from __future__ import annotations

import pytest

from tests.cli.running import Shell
from tests.cli.test_verbs import remembered


def test_what_remains_of_a_key_is_said(store: Shell) -> None:
    said = store.run("observe", "I am diabetic.", "--json").json["episodes"][0]["id"]
    old = remembered(store, "is diabetic", "--key", "bob.health", "--evidence", said)
    remembered(store, "has type 2 diabetes", "--key", "bob.health")
    told = store.run("erase", "bob.health", "--yes")
    assert (told.code, "1 earlier value of bob.health and 1 episode remain" in told.out) == (
        0,
        True,
    )
    assert old in told.out
    assert "recollect erase --key bob.health" in told.out
    shown = store.run("erase", "--key", "bob.health", "--dry-run")
    assert (shown.code, "Would erase 1 record and 1 episode" in shown.out) == (0, True)
    assert store.run("erase", "--key", "bob.health", "--json").code == 4
    no = store.terminal("erase", "--key", "bob.health", typed="n\n")
    assert (no.code, "1 record and 1 episode" in no.out) == (1, True)
    gone = store.run("erase", "--key", "bob.health", "--yes")
    assert (gone.code, "episode remain" in gone.out) == (0, False)
    assert store.run("erase", "--key", "bob.health", "--yes").code == 3


def test_where_the_reason_of_a_successor_remains_is_said(store: Shell) -> None:
    old = remembered(store, "sits in row 3")
    new = store.run(
        "remember", "sits in row 5", "--replaces", old, "--reason", "Ann moved", "--json"
    ).json["id"]
    for told in (store.run("erase", new, "--dry-run"), store.run("erase", new, "--yes")):
        assert f"replacing {old} remains with it" in told.out
        assert f"recollect erase {old}" in told.out


def test_a_user_leaves(store: Shell) -> None:
    for user in ("bob", "ann"):
        remembered(store, f"{user} sits in front.", "--user", user, "--key", "seat")
        store.run("context", "who sits?", "--user", user)
    both = store.run("erase", "--key", "seat", "--yes", "--json")
    assert (both.code, both.error["code"]) == (2, "ambiguous")
    shown = store.run("erase", "--key", "seat", "--user", "ann", "--dry-run", "--json").json
    assert len(shown["records"]) == 1
    gone = store.run("erase", "--user", "bob", "--yes", "--json").json
    assert (len(gone["records"]), len(gone["receipts"])) == (1, 1)
    (left,) = store.run("list", "--json").json["records"]
    assert left["scope"]["user"] == "ann"


def test_names_that_were_not_found_and_one_id_too_many_say_what_to_type(store: Shell) -> None:
    store.run("remember", "Carol is paid on Fridays.", "--about", "carol")
    wrong = store.run("erase", "--about", "Carol", "--yes")
    assert wrong.code == 3
    assert "next: `list` shows what there is; upper and lower case matter" in wrong.err
    assert "next: give one id; to erase several" in store.run("erase", "one", "two", "--yes").err
    assert (
        "next: `proof receipts` lists all of them" in store.run("context", "--replay", "c-none").err
    )


def test_erase_takes_one_choice_in_one_memory(store: Shell) -> None:
    remembered(store, "Here.", "--key", "k", "--about", "x")
    remembered(store, "Mine.", "--key", "k", "--memory", "personal")
    for words in ((), ("k", "--key", "k"), ("--key", "k", "--about", "x")):
        assert store.run("erase", *words, "--yes").code == 2
    assert store.run("erase", "--key", "k", "--yes", "--json").error["code"] == "ambiguous"
    assert store.run("erase", "--about", "x", "--yes", "--json").json["memory"] == "project"
    mine = store.run("erase", "--filter", "key = 'k'", "--yes", "--json").json
    assert mine["memory"] == "personal"


@pytest.mark.parametrize("words", [("db.port",), ("--about", "db")])
def test_what_was_not_shown_is_not_erased(store: Shell, words: tuple[str, ...]) -> None:
    choice = ("--key", "db.port", "--about", "db")
    remembered(store, "5432", *choice)
    refused = store.terminal(
        "erase", *words, typed="y\n", meanwhile=lambda: remembered(store, "5433", *choice)
    )
    assert (refused.code, "5432" in refused.out, "5433" in refused.out) == (5, True, False)
    assert "changed since this was shown, so nothing was erased" in refused.out
    assert "run the command again" in refused.out
    kept = store.run("list", "--include", "replaced", "--include", "archived", "--json").json
    assert {record["text"] for record in kept["records"]} == {"5432", "5433"}
    asked = store.terminal("erase", *words, typed="y\n", meanwhile=lambda: None)  # the control
    assert (asked.code, "5433" in asked.out) == (0, True)
    assert store.run("list", "--json").json["records"] == []


def test_a_question_meanwhile_does_not_stop_an_erasure(store: Shell) -> None:
    """Handing out a context leaves a receipt, which changes nothing that was shown."""
    id = remembered(store, "The port is 5432.")
    asked = store.terminal(
        "erase", id, typed="y\n", meanwhile=lambda: store.run("context", "which port?")
    )
    assert (asked.code, store.run("list", "--json").json["records"]) == (0, [])
