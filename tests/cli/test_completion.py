"""Completion: what the Tab key offers, and what is written for it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from recollect.interfaces.cli.completion import candidates
from tests.cli.running import COMMAND, Shell


def offered(*words: str) -> list[str]:
    return [one.word for one in candidates(words, about=False)]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("rec",), ["recall"]),
        (("review", "a"), ["approve"]),
        (("settings", "preset", ""), ["set", "list", "show", "drop"]),
        (("--store", "x", "--json", "stat"), ["status"]),
        (("recall", "--unit", ""), ["any", "record", "episode"]),
        (("recall", "--exp"), ["--explain"]),
        (("hooks", "install", "g"), ["gemini-cli"]),
        (("recall", "--include", "forg"), ["forgotten"]),
        (("log", "--kind", "record.for"), ["record.forgotten"]),
        (("mcp", "--tools", ""), ["daily", "all"]),
        (("remember", ""), []),
        (("recall", "--", "--exp"), ["--explain"]),
        (("nothing", ""), []),
        (("--vers",), ["--version"]),
    ],
)
def test_what_may_stand_next_is_offered(words: tuple[str, ...], wanted: list[str]) -> None:
    assert offered(*words) == wanted


def test_every_command_is_offered_with_its_sentence() -> None:
    found = list(candidates([""], about=True))
    assert len(found) > 25
    assert all(one.about for one in found)


def test_bash_completes_what_was_installed(shell: Shell) -> None:
    start = shell.home / ".bashrc"
    start.write_text("alias ll='ls -l'")
    for _ in range(2):  # asked twice, it is there once
        done = shell.process("--install-completion", "bash")
        assert (done.code, "complete recollect" in done.out) == (0, True), done.err
    first, line = start.read_text().splitlines()
    assert first == "alias ll='ls -l'"
    program = f"""
        . {start}
        COMP_WORDS=({COMMAND} settings preset s) COMP_CWORD=3
        _recollect {COMMAND}
        echo "${{COMPREPLY[@]}}"
    """
    told = subprocess.run(
        ["bash", "-c", program], env=shell.environment, capture_output=True, text=True, check=True
    )
    assert told.stdout == "set show\n"
    assert line.startswith(". ")


def test_a_shell_that_is_not_known_is_refused(shell: Shell) -> None:
    done = shell.process("--show-completion", "tcsh")
    assert (done.code, done.out) == (2, "")
    assert "bash, zsh, fish" in done.err
    for name in ("bash", "zsh", "fish"):
        assert "recollect --complete" in shell.run("--show-completion", name).out.replace(
            '"$1" --complete', "recollect --complete"
        )


def test_a_link_out_of_the_home_folder_is_not_written(shell: Shell, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles"
    real.write_text("")
    os.symlink(real, shell.home / ".bashrc")
    done = shell.process("--install-completion", "bash")
    assert (done.code, real.read_text()) == (2, "")
    assert "add this line to it yourself: . " in done.err
