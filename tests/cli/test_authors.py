"""A name on the command line: given once at `init`, shown in every list, erased alone."""

from __future__ import annotations

import pytest

from tests.cli.running import Shell


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable names the person."""
    monkeypatch.delenv("RECOLLECT_NAME")


def test_the_name_given_at_init_is_shown_with_what_a_person_does(shell: Shell) -> None:
    assert shell.run("init", "--name", "Mara Lindt").code == 0
    assert shell.run("remember", "Tea is at four.", "--key", "tea").code == 0
    assert "Mara Lindt: " in shell.run("log").out
    assert "by Mara Lindt (claimed)" in shell.run("log", "--event", "3").out
    assert "Mara Lindt (claimed): remembered" in shell.run("proof", "audit").out
    assert "Mara Lindt" in shell.run("show", "tea").out


def test_a_person_who_approves_is_named(shell: Shell) -> None:
    shell.run("init", "--name", "Mara")
    shell.run("remember", "Tea is at four.", "--key", "tea")
    shell.run("remember", "Tea is at five.", "--key", "tea", "--trust", "agent")
    (waiting,) = shell.run("review", "--json").json["waiting"]
    shell.run("review", "approve", f"{waiting['id']}@{waiting['digest']}")
    assert "Mara (claimed): approved" in shell.run("proof", "audit").out
    assert '"approved_by":"Mara"' in shell.run("proof", "audit", "--format", "jsonl").out.replace(
        " ", ""
    )
    assert "<b>Mara</b>" in shell.run("proof", "audit", "--format", "html").out


def test_the_name_can_be_changed_and_left_out(shell: Shell) -> None:
    shell.run("init", "--name", "Mara")
    shell.run("remember", "One.")
    shell.run("init", "--name", "Mara Lindt")
    shell.run("remember", "Two.")
    shell.run("init", "--name", "")
    shell.run("remember", "Three.")
    events = shell.run("log", "--json").json["events"]
    names = [event["author"] and event["author"]["name"] for event in events]
    assert names == [None, "Mara", "Mara", "Mara Lindt", "Mara Lindt", None]


def test_without_a_terminal_nobody_is_asked_and_nobody_named(shell: Shell) -> None:
    assert shell.run("init").code == 0
    shell.run("remember", "One.")
    events = shell.run("log", "--json").json["events"]
    assert [event["author"] for event in events] == [None, None]


def test_erasing_a_name_says_what_still_names_the_person(shell: Shell) -> None:
    shell.run("init", "--name", "Mara")
    shell.run("remember", "Mara likes tea.", "--key", "tea")
    planned = shell.run("erase", "--author", "Mara", "--dry-run")
    assert "1 name" in planned.out
    done = shell.run("erase", "--author", "Mara", "--yes")
    assert done.code == 0
    assert "still name the person" in done.out
    assert "(name erased)" in shell.run("log").out
    assert shell.run("erase", "--author", "Mara", "--yes").code == 3


@pytest.mark.parametrize("name", ["a\nb", "\x1b[31m", "x" * 300])
def test_a_name_that_no_person_has_is_refused(shell: Shell, name: str) -> None:
    ran = shell.run("init", "--name", name)
    assert ran.code == 2
    assert "name" in ran.err


def offered(shell: Shell, global_name: str) -> str:
    """What `init` says on a terminal in a repository of somebody else, who named themselves."""
    (shell.home / ".gitconfig").write_text(f'[user]\n name = "{global_name}"\n')
    (shell.folder / ".git" / "objects").mkdir(parents=True)
    (shell.folder / ".git" / "refs").mkdir()
    (shell.folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (shell.folder / ".git" / "config").write_text("[user]\n name = Mallory\n")
    return shell.terminal("init", typed="\n").out


def test_the_name_that_git_has_for_the_person_is_offered(shell: Shell) -> None:
    assert "[Mara Lindt]" in offered(shell, "Mara Lindt")
    assert (shell.home / ".recollect" / "name").read_text() == "Mara Lindt\n"
    assert "Your name" not in shell.terminal("init").out  # it is asked once


@pytest.mark.parametrize("name", ["", "x" * 201, r"\b"])
def test_no_name_of_the_repository_and_none_that_is_no_name_is_offered(
    shell: Shell, name: str
) -> None:
    assert "for none) [-]" in offered(shell, name)
    assert (shell.home / ".recollect" / "name").read_text() == "\n"


def test_a_dash_is_no_name_in_the_option_too(shell: Shell) -> None:
    assert shell.run("init", "--name", "-").code == 0
    assert (shell.home / ".recollect" / "name").read_text() == "\n"


def test_a_line_of_the_log_ends_with_what_was_said(shell: Shell) -> None:
    shell.run("init", "--name", "Mara")
    shell.run("remember", "What to bring:")
    opened, _, added = shell.run("log").out.splitlines()
    assert opened.endswith(" system")
    assert added.endswith("  What to bring:")
    shell.run("erase", "--author", "Mara", "--yes")
    assert shell.run("log").out.splitlines()[-1].endswith(" (name erased)")
