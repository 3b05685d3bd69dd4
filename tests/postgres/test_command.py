"""The command line on a server: the same verbs, the same answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper

import pytest

from recollect.interfaces.cli import main
from recollect.memory import Memory, Store
from tests.postgres.conftest import make_token

MAIN = "import sys; from recollect.interfaces.cli import main; sys.exit(main())"


def recollect(store: str, *arguments: str, token: str | None = None) -> tuple[int, str]:
    """Runs the command in this process: its exit code, and what it said."""
    said = TextIOWrapper(BytesIO(), write_through=True)
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(said):
        patch.setenv("RECOLLECT_STORE", store)
        if token is not None:
            patch.setenv("RECOLLECT_TOKEN", token)
        code = main(arguments)
    said.seek(0)
    return code, said.read()


def test_the_installed_command_is_the_same(url: str) -> None:
    environment = {**os.environ, "RECOLLECT_STORE": url}
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "remember", "The seat is by the window."],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "window" in recollect(url, "recall", "seat")[1]


def test_a_memory_on_a_server_is_opened_by_its_address(url: str) -> None:
    with Memory.open(url, space="alice") as memory:
        memory.remember("The seat is by the window.", key="seat")
        memory.remember("The seat is by the aisle.", key="seat")
        assert [hit.text for hit in memory.recall("seat")] == ["The seat is by the aisle."]
        assert memory.admin.verify().ok
    with Store.open(url) as store:
        assert store.spaces() == ["alice"]
        assert len(store.space("alice").list()) == 1


def test_the_verbs_work_on_a_server(url: str) -> None:
    assert recollect(url, "recall", "seat")[0] != 0  # a read makes no memory
    code, said = recollect(url, "remember", "The seat is by the window.", "--json")
    assert code == 0, said
    id = json.loads(said)["id"]
    for arguments in (
        ("recall", "seat"),
        ("list",),
        ("show", id),
        ("revise", id, "The seat is by the aisle."),
        ("admin", "verify"),
        ("admin", "rebuild"),
        ("admin", "close-segment"),
        ("status",),
        (
            "admin",
            "doctor",
        ),
        ("forget", id),
        ("erase", id, "--yes"),
    ):
        code, said = recollect(url, *arguments)
        assert code == 0, (arguments, said)
    assert "aisle" not in recollect(url, "list", "--include", "forgotten")[1]


def test_a_token_of_the_environment_opens_its_space_alone(url: str) -> None:
    token = make_token(url, "t", space="alice")
    assert recollect(url, "remember", "One.", "--space", "alice", token=token)[0] == 0
    code, said = recollect(url, "remember", "Two.", "--space", "bob", token=token)
    assert code != 0
    assert token not in said
    with Store.open(url) as store:
        assert store.spaces() == ["alice"]
    assert recollect(url, "list", "--space", "alice", token="wrong")[0] != 0
