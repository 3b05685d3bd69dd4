"""The command line behind a service that puts controls of a terminal into all that it says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from recollect import Store
from tests.http.serving import served
from tests.http.spoiling import CONTROLS, spoiling

_COMMANDS = (
    "recall Alice", "list", "show {id}", "log", "status", "context Alice", "list --recent",
    "proof receipts", "sessions list", "pages list", "graph", "remember News.",
    "forget {id}", "undo", "show nothing",
    "admin verify", "recall Alice --json",
)  # fmt: skip


@pytest.mark.ci
def test_no_control_reaches_the_terminal_and_no_answer_ends_a_command(tmp_path: Path) -> None:
    with Store.open(tmp_path / "w", embedder="none") as store:
        memory = store.space("main")
        id = memory.remember("Alice sits in 12A.", key="alice.seat", tags=["seat"]).id
        memory.observe("Hello Alice.", id="e1")
        memory.graph.link(id, memory.remember("Bob sits near.").id, "near")
        memory.sessions.open("s1")
        verbs = ("read", "write", "erase", "review", "admin")
        token = store.tokens.create("p", space=None, verbs=verbs, trust="person").token
        names = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "RECOLLECT_TOKEN": token}
        names |= {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
        marked = 0
        with served(store) as port, spoiling(port) as proxy:
            url = f"http://127.0.0.1:{proxy}"
            for command in _COMMANDS:
                words = command.format(id=id).split()
                done = subprocess.run(
                    [sys.executable, "-m", "recollect", "--store", url, *words],
                    env=names, cwd=tmp_path, capture_output=True, timeout=60, check=False,
                )  # fmt: skip
                said = (done.stdout + done.stderr).decode()
                assert not set(said) & CONTROLS, command
                assert done.returncode != 70, (command, said)  # an error that is not ours
                assert "Traceback" not in said, (command, said)
                marked += "[U+202E" in said or "\\u202e" in said
    assert marked > len(_COMMANDS) / 2  # the control: the words did arrive
