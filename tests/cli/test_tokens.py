"""`recollect admin token` in a folder: what is shown once, and what a tired person is told."""

from __future__ import annotations

import pytest

from tests.cli.running import Ran, Shell

APP = ("--store", "app", "admin", "token")


def created(shell: Shell, *words: str) -> dict[str, object]:
    ran = shell.run(*APP, "create", "--space", "alice", "--label", "laptop", *words, "--json")
    assert ran.code == 0, ran.err
    found: dict[str, object] = ran.json
    return found


def refused(ran: Ran, code: int) -> str:
    """What a person reads: what is wrong, and the next step."""
    assert ran.code == code, ran.out + ran.err
    assert "next: " in ran.err
    assert "Traceback" not in ran.err
    return ran.err


def test_a_token_is_made_listed_rotated_and_revoked(shell: Shell) -> None:
    made = created(shell, "--expires", "30d", "--user", "ann")
    token = str(made.pop("token"))
    assert shell.run(*APP, "list", "--json").json == [made]
    ran = shell.run(*APP, "rotate", "laptop", "--overlap", "2h")
    assert ran.code == 0, ran.err
    assert "the old one ends after 2h" in ran.out
    assert token not in ran.out
    (fresh,) = (line for line in ran.out.split("\n") if line.startswith("rct_"))
    shown = shell.run(*APP, "list").out
    assert shown.count("laptop") == 2
    for secret in (token, fresh):
        assert secret not in shown
    assert shell.run(*APP, "revoke", "1").out == "Revoked 1 token: 1\n"
    live = [each["live"] for each in shell.run(*APP, "list", "--json").json]
    assert live == [False, True]


def test_the_space_is_created_and_used_as_before(shell: Shell) -> None:
    created(shell)
    assert shell.run("--store", "app", "--space", "alice", "list").out == "Nothing to list.\n"
    env = {"RECOLLECT_TOKEN": "rct_of another store"}  # in a folder, its rights apply
    said = shell.process("--store", "app", "--space", "alice", "remember", "One.", env=env)
    assert said.code == 0, said.err


def test_a_person_is_told_what_to_do_with_a_new_token(shell: Shell) -> None:
    ran = shell.run(*APP, "create", "--every-space", "--label", "service")
    assert ran.code == 0
    assert "will not be shown again" in ran.out
    assert "store.entered" in ran.out
    assert "every space · read, write · agent" in ran.out


def test_mistakes_of_a_tired_person(shell: Shell) -> None:
    token = str(created(shell)["token"])
    assert "no valid token 'labtop'" in refused(shell.run(*APP, "revoke", "labtop"), 3)
    for words in (("revoke", token), ("rotate", f" {token}")):
        said = refused(shell.run(*APP, *words), 2)
        assert "is a token" in said
        assert token not in said
    said = refused(shell.run(*APP, "create", "--space", "alice", "--label", token), 2)
    assert "must not be a token" in said
    assert token not in said
    assert "overlap" in refused(shell.run(*APP, "rotate", "laptop", "--overlap", "long"), 2)
    assert "overlap" in refused(shell.run(*APP, "rotate", "laptop", "--overlap", "90d"), 2)
    assert shell.run(*APP, "rotate", "laptop").code == 0
    assert "name one by its id: 1, 2" in refused(shell.run(*APP, "rotate", "laptop"), 2)
    assert shell.run(*APP, "revoke", "laptop").code == 0
    assert "no valid token" in refused(shell.run(*APP, "rotate", "laptop"), 3)


@pytest.mark.parametrize(
    "words",
    [
        ("--label", "x"),
        ("--label", "x", "--space", "alice", "--every-space"),
        ("--label", "x", "--space", "alice", "--expires", "yesterday"),
        ("--label", "x", "--space", "alice", "--verbs", "read,fly"),
        ("--label", "x", "--space", "alice", "--verbs", "erase"),
        ("--label", "17", "--space", "alice"),
        ("--space", "alice"),
    ],
)
def test_a_call_that_is_not_clear_makes_nothing(shell: Shell, words: tuple[str, ...]) -> None:
    assert shell.run(*APP, "create", *words).code == 2
    assert not (shell.folder / "app").exists()


def test_a_store_in_memory_has_no_tokens_to_speak_of(shell: Shell) -> None:
    words = ("admin", "token", "list", "--store", ":memory:")
    assert "ends with this command" in refused(shell.run(*words), 2)


def test_a_file_that_others_can_read_is_refused_with_the_next_step(shell: Shell) -> None:
    created(shell)
    (shell.folder / "app" / "tokens.json").chmod(0o644)
    assert "chmod 600" in refused(shell.run(*APP, "list"), 2)
    (shell.folder / "app" / "tokens.json").chmod(0o600)
    assert shell.run(*APP, "list").code == 0
