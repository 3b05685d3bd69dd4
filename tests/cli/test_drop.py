"""`recollect admin drop-space`: what is shown, what is asked, and what is refused."""

from __future__ import annotations

import json

import pytest

from tests.cli.running import Shell


@pytest.fixture
def app(shell: Shell) -> Shell:
    """A store with two users."""
    for space, text in (("alice", "Sits in 2F."), ("bob", "Lives in Oslo.")):
        assert shell.run("--store", "app", "--space", space, "remember", text).code == 0
    return shell


def spaces(shell: Shell) -> set[str]:
    return {path.name for path in (shell.folder / "app" / "spaces").glob("*")}


def test_a_dry_run_shows_what_would_go(app: Shell) -> None:
    app.run("--store", "app", "--space", "bob", "admin", "backup")
    ran = app.run("--store", "app", "admin", "drop-space", "bob", "--dry-run")
    assert ran.code == 0
    assert ran.out.startswith("Would drop the space bob in ")
    assert "  1 record, 0 episodes, 2 events, " in ran.out
    assert "backups and other copies in this workspace: 1 removed with it" in ran.out
    assert "Oslo" not in ran.out
    assert spaces(app) == {"alice", "bob"}


def test_a_space_is_dropped_and_listed(app: Shell) -> None:
    words = ("--store", "app", "admin", "drop-space", "bob", "--yes", "--reason", "left")
    ran = app.run(*words, "--json")
    assert ran.code == 0
    assert (ran.json["space"], ran.json["records"]) == ("bob", 1)
    assert ran.json["dropped"]["reason"] == "left"
    assert spaces(app) == {"alice"}
    listed = app.run("--store", "app", "admin", "dropped")
    assert listed.out.startswith("bob  ")
    assert "left" in listed.out
    assert app.run("--store", "app", "admin", "dropped", "--json").json["dropped"] == [
        ran.json["dropped"]
    ]
    assert app.run("--store", "app", "--space", "alice", "list").code == 0
    assert app.run("--store", "app", "--space", "bob", "list").code == 3
    again = app.run(*words)
    assert (again.code, again.out) == (3, "")
    assert "the space 'bob' does not exist" in again.err
    assert "name one of: alice" in again.err


def test_the_name_is_typed_again(app: Shell) -> None:
    words = ("--store", "app", "admin", "drop-space", "bob")
    for typed in ("y\n", "yes\n", "\n", "Bob\n", "alice\n"):
        assert app.terminal(*words, typed=typed).code != 0
        assert spaces(app) == {"alice", "bob"}
    ran = app.terminal(*words, typed="bob\n")
    assert (ran.code, spaces(app)) == (0, {"alice"})
    assert "Type the name of the space" in ran.out
    assert "Dropped the space" in ran.out


@pytest.mark.parametrize("words", [("--json",), ()])
def test_without_a_person_or_yes_nothing_is_dropped(app: Shell, words: tuple[str, ...]) -> None:
    ran = app.process("--store", "app", "admin", "drop-space", "bob", *words, stdin="bob\n")
    assert ran.code != 0
    assert "add --yes" in ran.err
    assert spaces(app) == {"alice", "bob"}


def test_a_name_is_needed_wherever_it_is_run(store: Shell) -> None:
    """In a project the tired person means something else than its only memory."""
    store.run("remember", "The port is 5433.")
    for words in ((), ("--yes",), ("--space", "main", "--yes")):
        assert "NAME" in store.run("admin", "drop-space", *words).err
    ran = store.run("admin", "drop-space", "main", "--yes")
    assert (ran.code, "--store" in ran.err) == (2, True)
    assert len(store.run("list", "--json").json["records"]) == 1


def test_the_main_space_of_a_named_store_is_dropped_and_forgotten(store: Shell) -> None:
    store.run("remember", "The port is 5433.")
    known = store.home / ".recollect" / "known.json"
    where = store.folder / ".recollect"
    assert str(where) in json.loads(known.read_text())
    assert str(where) in json.loads((known.parent / "sessions.json").read_text())
    assert store.run("admin", "drop-space", "main", "--store", str(where), "--yes").code == 0
    assert str(where) not in json.loads(known.read_text())
    assert str(where) not in json.loads((known.parent / "sessions.json").read_text())
    assert store.run("remember", "A new one.").code == 0
    assert [one["text"] for one in store.run("list", "--json").json["records"]] == ["A new one."]


def test_two_names_are_refused(app: Shell) -> None:
    ran = app.run("--store", "app", "--space", "alice", "admin", "drop-space", "bob", "--yes")
    assert (ran.code, "two spaces" in ran.err) == (2, True)
    assert spaces(app) == {"alice", "bob"}


def test_nothing_was_dropped_yet(app: Shell) -> None:
    assert app.run("--store", "app", "admin", "dropped").out == "No space was dropped.\n"
    ran = app.run("--store", "nowhere", "admin", "drop-space", "bob", "--yes")
    assert (ran.code, "--store" in ran.err) == (3, True)
    assert not (app.folder / "nowhere").exists()
