"""Witnesses on the command line, and one that is served by a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from recollect.proof.keys import WITNESS, PrivateKey
from tests.cli.running import Shell
from tests.cli.test_verbs import remembered

pytestmark = pytest.mark.ci


def signed(store: Shell) -> str:
    """A memory with a key; the key's public half."""
    remembered(store, "One.")
    return str(store.run("proof", "key", "create", "--json").json["key"])


def test_witnesses_are_added_listed_and_removed(store: Shell) -> None:
    remembered(store, "One.")
    folder = str(store.folder.parent / "kept elsewhere")
    assert "No witness" in store.run("proof", "witness", "list").out
    assert store.run("proof", "witness", "add", folder).code == 3  # no key yet
    signed_by = store.run("proof", "key", "create", "--json").json["key"]
    added = store.run("proof", "witness", "add", folder, "--json").json
    assert (added["place"], added["signs"]) == (folder, True)
    assert added["key"] in store.run("proof", "witness", "add", folder).out
    assert store.run("proof", "witness", "list", "--json").json == [added]
    assert folder in store.run("proof", "witness", "list").out
    made = store.run("proof", "checkpoint", "--json").json
    assert [each["problem"] for each in made["witnesses"]] == [None]
    assert "Cosigned by recollect-witness/" in store.run("proof", "checkpoint").out
    assert store.run("proof", "witness", "remove", "nobody").code == 3
    assert store.run("proof", "witness", "add", "https://w.example").code == 2
    assert store.run("proof", "witness", "add", "https://w.example", "--key", signed_by).code == 2
    assert "not asked any more" in store.run("proof", "witness", "remove", folder).out
    assert store.run("proof", "witness", "list", "--json").json == []


def test_a_witness_that_does_not_answer_is_named_and_the_checkpoint_kept(store: Shell) -> None:
    signed(store)
    key = str(PrivateKey("w.example", WITNESS, bytes(32)).public)
    store.run("proof", "witness", "add", "http://127.0.0.1:9", "--key", key)
    done = store.run("proof", "checkpoint")
    assert done.code == 0
    assert "Not cosigned by w.example in http://127.0.0.1:9" in done.out
    assert "To ask again: recollect proof checkpoint" in done.out
    assert store.run("admin", "verify", "--anchored").code == 0


class Served:
    """``recollect proof witness serve`` in a process of its own."""

    def __init__(self, store: Shell, *words: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-Pm", "recollect", "proof", "witness", "serve", *words, "--json"],
            cwd=store.folder, env=store.environment, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        lines = ""
        while not lines.rstrip().endswith("}"):
            line = self._process.stdout.readline()
            assert line, "it ended without an address"
            lines += line
        told = json.loads(lines)
        self.address, self.key = told["address"], told["key"]

    def end(self, how: signal.Signals) -> int:
        self._process.send_signal(how)
        code = self._process.wait(60)
        assert self._process.stdout is not None
        self._process.stdout.close()
        return code


def test_a_served_witness_cosigns_and_survives_being_killed(store: Shell) -> None:
    line = signed(store)
    folder = str(store.folder.parent / "served")
    server = Served(store, folder, "--log", line, "--create", "--port", "0")
    store.run("proof", "witness", "add", server.address, "--key", server.key)
    assert store.run("proof", "checkpoint", "--json").json["witnesses"][0]["problem"] is None
    server.end(signal.SIGKILL)
    remembered(store, "Two.")
    assert (
        "did not answer"
        in store.run("proof", "checkpoint", "--json").json["witnesses"][0]["problem"]
    )
    again = Served(store, folder, "--port", server.address.rpartition(":")[2])
    assert again.key == server.key
    made = store.run("proof", "checkpoint", "--json").json
    assert made["witnesses"][0]["problem"] is None
    assert again.end(signal.SIGINT) in (0, 130, -2)


def test_a_served_witness_needs_what_it_serves_with(store: Shell) -> None:
    without = (
        "import sys; sys.modules['uvicorn'] = None; "
        "from recollect.__main__ import main; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", without, "proof", "witness", "serve", "w"],
        cwd=store.folder, env=store.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "pip install 'recollect[mcp]'" in done.stderr
    assert not (store.folder / "w").exists()


def test_a_served_witness_says_what_it_cosigns_and_how_it_is_added(store: Shell) -> None:
    line = signed(store)
    folder = str(store.folder.parent / "served")
    assert store.run("proof", "witness", "serve", folder).code == 3
    for words, told in (
        (["--create"], "No ledger is pinned, so nothing is cosigned"),
        (["--log", line], f"Cosigns checkpoints of {line.partition('+')[0]}."),
    ):
        out = first_lines(store, folder, *words, "--port", "0")
        assert told in out
        key = (store.folder.parent / "served" / "witness.pub").read_text().strip()
        assert f"--key {key}" in out


def first_lines(store: Shell, *words: str) -> str:
    """What ``serve`` prints before it waits."""
    with subprocess.Popen(
        [sys.executable, "-Pm", "recollect", "proof", "witness", "serve", *words],
        cwd=store.folder, env=store.environment, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        lines = ""
        while "witness add" not in lines and process.poll() is None:
            lines += process.stdout.readline()
        process.send_signal(signal.SIGINT)
        try:
            process.wait(60)
        finally:
            process.kill()  # if it ignores the signal, the test fails and does not hang
    return lines
