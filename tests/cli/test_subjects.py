"""Subjects on the command line: a memory that is encrypted for each user, erased with its key."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import Shell

SAID = "Bob is diabetic."


def held(folder: Path) -> list[str]:
    """The files that hold the words in the clear."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return [path.name for path in files if SAID.encode() in path.read_bytes()]


@pytest.mark.parametrize("each", ["users", "named"])
def test_init_says_what_is_encrypted_from_now_on(store: Shell, each: str) -> None:
    told = store.run("init", "--subjects", each)
    assert (told.code, "encrypted" in told.err) == (0, True)
    assert store.run("init", "--subjects", "everybody").code == 2


def test_a_person_is_erased_with_the_key_and_a_certificate(store: Shell) -> None:
    store.run("init", "--subjects", "users")
    assert store.run("remember", SAID, "--user", "bob").code == 0
    assert held(store.folder) != ["events.wal"]
    assert "events.wal" not in held(store.folder)
    store.run("proof", "key", "create")
    assert store.run("erase", "--subject", "nobody", "--yes").code == 3
    done = store.run("erase", "--subject", "bob", "--yes", "--certificate", "bob.note")
    assert (done.code, "the key of " in done.out) == (0, True)
    assert held(store.folder) == held(store.home) == []
    checked = store.run("admin", "verify", "--certificate", "bob.note")
    assert (checked.code, "Erased at" in checked.out) == (0, True)
    assert store.run("admin", "verify", "--certificate", "bob.note", "--json").json["ok"]
    note = store.folder / "bob.note"
    note.write_text(note.read_text().replace("events 1\n", "events 2\n"))
    assert store.run("admin", "verify", "--certificate", "bob.note").code == 7


@pytest.mark.parametrize("target", ["thesis.md", "nowhere/bob.note", "link.md"])
def test_a_certificate_is_refused_before_anything_is_erased(store: Shell, target: str) -> None:
    store.run("init", "--subjects", "users")
    store.run("remember", SAID, "--user", "bob")
    store.run("proof", "key", "create")
    (store.folder / "thesis.md").write_text("my thesis")
    (store.folder / "link.md").symlink_to("thesis.md")
    for _ in range(2):
        told = store.run("erase", "--subject", "bob", "--yes", "--certificate", target)
        assert told.code not in (0, 70)
    assert (store.folder / "thesis.md").read_text() == "my thesis"
    assert SAID in store.run("recall", SAID, "--user", "bob").out
    done = store.run("erase", "--subject", "bob", "--yes", "--certificate", "bob.note")
    assert (done.code, (store.folder / "bob.note").is_file()) == (0, True)


def test_a_certificate_of_something_else_is_refused(store: Shell) -> None:
    store.run("remember", SAID, "--user", "bob")
    refused = store.run("erase", "--user", "bob", "--yes", "--certificate", "bob.note")
    assert refused.code == 2
    assert not (store.folder / "bob.note").exists()
