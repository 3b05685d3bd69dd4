"""The installed command, as a process: what only a real one shows."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.interfaces.cli.commands import TOP
from tests.cli.running import COMMAND, Shell

pytestmark = pytest.mark.ci


def test_the_first_minute(shell: Shell) -> None:
    assert shell.process("init").code == 0
    assert shell.process("remember", "The staging database moved to port 5433.").code == 0
    below = shell.folder / "src" / "deep"
    below.mkdir(parents=True)
    found = Shell(below, shell.home, shell.run).process("recall", "which port is staging on?")
    assert found.code == 0
    assert "The staging database moved to port 5433." in found.out
    assert found.err == ""
    assert "\x1b" not in found.out


def test_words_and_messages_come_from_stdin(shell: Shell) -> None:
    shell.run("init")
    said = shell.process("remember", "-", "--json", stdin="Line one.\nLine\u2028two.\n")
    assert said.json["text"] == "Line one.\nLine\u2028two."
    messages = [
        {"role": "user", "content": "Which port?"},
        {"role": "tool", "content": [{"type": "text", "text": "5433"}]},
    ]
    seen = shell.process("observe", "--messages", "-", "--json", stdin=json.dumps(messages))
    assert [(e["role"], e["trust"]) for e in seen.json["episodes"]] == [
        ("user", "person"),
        ("tool", "unverified"),
    ]


def test_the_demo_tells_its_story(shell: Shell) -> None:
    told = shell.process("demo", "--store", "d", "--json").json
    assert told["canary"]["before"] > 0
    assert told["canary"]["after"] == 0
    assert len(told["steps"]) == 9
    assert len(told["next"]) == 3
    shown = shell.terminal("demo", "--store", "e")
    assert shown.code == 0
    assert "A correction wins" in shown.out
    assert "in the files after:  0" in shown.out
    assert shell.run("demo", "--store", "d").code == 5
    assert not any("rm -r" in line for line in told["next"])
    left = shell.process("demo", "--json").json
    assert left["next"][-1] == f"rm -r {left['where']}"
    shutil.rmtree(left["where"])


def test_help_names_every_command_and_exit_code(shell: Shell) -> None:
    ran = shell.process("--help")
    assert ran.code == 0
    for name in TOP.commands:
        assert f"\n  {name} " in ran.out
    every = shell.process("help", "all").out
    assert "--install-completion" in every
    assert "Exit codes" in every
    assert shell.run().code == 2
    assert "rebuild" in shell.run("admin").out
    assert shell.run("--version").out.startswith("recollect ")


def test_a_bar_is_drawn_on_a_terminal_alone(shell: Shell) -> None:
    shell.run("init")
    assert "Verifying" in shell.terminal("admin", "verify").out
    assert "Verifying" not in shell.run("admin", "verify").out
    json.loads(shell.terminal("admin", "verify", "--json").out)


def test_a_closed_pipe_is_not_an_error(shell: Shell) -> None:
    shell.run("init")
    shell.run("remember", "Tea is at four.")
    for words in (
        "status",
        "list --json",
        "admin doctor",
        "recall tea",
        "recall tea --json",
        "--help",
    ):
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(
            [COMMAND, *words.split()],
            cwd=shell.folder,
            env=shell.environment,
            stdout=writing,
            stderr=subprocess.PIPE,
            check=False,
        )
        os.close(writing)
        assert (words, done.returncode, done.stderr) == (words, 141, b"")


def run_by_shell(shell: Shell, line: str) -> subprocess.CompletedProcess[bytes]:
    """A command line with ``recollect`` in it, as a shell runs it."""
    return subprocess.run(
        ["/bin/sh", "-c", line.replace("recollect", shlex.quote(str(COMMAND)), 1)],
        cwd=shell.folder,
        env=shell.environment,
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize("words", ["recall tea", "list", "list --json", "admin doctor", "status"])
def test_a_closed_output_is_not_an_internal_error(shell: Shell, words: str) -> None:
    shell.run("init")
    shell.run("remember", "Tea is at four.")
    for closed in (">&-", "2>&-", "<&-", ">&- 2>&- <&-"):
        done = run_by_shell(shell, f"recollect {words} {closed}")
        assert (done.returncode, done.stderr) == (0, b"")
    assert shell.run("admin", "doctor").code == 0  # nothing was written into its files


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
@pytest.mark.parametrize("words", ["recall tea", "recall tea --json", "list", "status"])
def test_a_full_output_is_said_to_be_full(shell: Shell, words: str) -> None:
    shell.run("init")
    shell.run("remember", "Tea is at four.")
    done = run_by_shell(shell, f"recollect {words} >/dev/full")
    assert (done.returncode, b"internal error" in done.stderr) == (6, False)
    assert b"the answer could not be written: No space left on device" in done.stderr


def test_json_loads_no_rich(shell: Shell) -> None:
    shell.run("init")
    shell.run("remember", "Here.")
    code = (
        "import sys; from recollect.interfaces.cli import main; main(sys.argv[1:]); "
        "sys.exit(any(name.partition('.')[0] == 'rich' for name in sys.modules))"
    )
    for words in (["recall", "here"], ["recall", "here", "--json"], ["admin", "doctor", "--json"]):
        ran = subprocess.run(
            [sys.executable, "-c", code, *words],
            cwd=shell.folder,
            env=shell.environment,
            capture_output=True,
            check=False,
        )
        assert ran.returncode == 0, (words, ran.stderr)
