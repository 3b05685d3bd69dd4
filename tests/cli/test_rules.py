"""Rules on the command line."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import Any

import pytest

from tests.cli.running import COMMAND, Shell
from tests.propose.servers import JsonServer, data_of, suggesting

pytestmark = pytest.mark.ci


def _say(store: Shell, text: str, **metadata: object) -> None:
    assert store.run("observe", text, "--metadata", json.dumps(metadata)).code == 0


def test_a_rule_is_set_listed_shown_and_dropped(store: Shell) -> None:
    none = store.run("settings", "rule", "list")
    assert (none.code, none.out.splitlines()[0]) == (1, "No rules are set here.")
    made = store.run(
        "settings", "rule", "set", "facts", "--filter", "content contains 'tea'", "--every", "5"
    )
    assert made.out == "Set facts  every 5 episodes  text contains 'tea'\n"
    store.run(
        "settings",
        "rule",
        "set",
        "nightly",
        "--cron",
        "0 3 * * mon",
        "--channel",
        "a",
        "--channel",
        "b",
    )
    assert [
        one["name"] for one in store.run("settings", "rule", "list", "--json").json["rules"]
    ] == [
        "facts",
        "nightly",
    ]
    shown = store.run("settings", "rule", "show", "nightly").out
    assert "runs        at 0 3 * * mon" in shown
    assert "tags        #a #b" in shown
    assert "has looked  never" in shown
    assert store.run("settings", "rule", "drop", "facts", "--erase", "--json").code == 4
    assert store.run("settings", "rule", "drop", "facts").out == "Dropped facts\n"
    assert store.run("settings", "rule", "show", "facts").code == 3
    assert store.run("settings", "rule", "set", "bad", "--cron", "often").code == 2


def test_a_pass_says_what_it_did(store: Shell) -> None:
    store.run("settings", "rule", "set", "facts")
    _say(store, "moved", subject="alice", predicate="lives_in", object="Oslo")
    _say(store, "odd", intent="erase")
    tried = store.run("settings", "rule", "run", "facts", "--dry-run").out.splitlines()
    assert tried[0] == "+ alice lives in Oslo"
    assert tried[1].startswith("skipped e-")
    assert tried[2] == "facts: looked at 2 episodes, would apply 1, 1 skipped"
    assert store.run("list", "--json").json["records"] == []
    done = store.run("settings", "rule", "run", "facts", "--json").json
    assert (done["applied"], done["waiting"], len(done["skipped"])) == (1, 0, 1)
    again = store.run("settings", "rule", "run", "facts")
    assert again.out == "facts: looked at 0 episodes, applied 0\n"
    store.run("observe", "alice moved", "--role", "tool", "--metadata", '{"key": "alice.lives_in"}')
    waits = store.run("settings", "rule", "run", "facts").out
    assert "+ alice moved  (waits for a review)" in waits
    assert "Next: recollect review" in waits
    assert "up to event" in store.run("settings", "rule", "show", "facts").out
    assert store.run("settings", "rule", "run", "none").code == 3


def test_what_is_due_is_run_in_the_foreground(store: Shell) -> None:
    store.run("settings", "rule", "set", "facts", "--every", "2")
    store.run("observe", "one")
    idle = store.run("admin", "work", "--once")
    assert (idle.code, idle.out, idle.err) == (0, "", "No rule is due, and no job waits.\n")
    store.run("observe", "two")
    ran = store.run("admin", "work", "--once")
    assert ran.out == "facts: looked at 2 episodes, applied 2\n"
    assert store.run("admin", "work", "--once").out == ""


def test_ctrl_c_ends_the_work(store: Shell) -> None:
    store.run("settings", "rule", "set", "facts", "--every", "1")
    store.run("observe", "one")
    with subprocess.Popen(
        [COMMAND, "admin", "work"],
        cwd=store.folder,
        env=store.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "facts: looked at 1 episode, applied 1\n"
        process.send_signal(signal.SIGINT)
        try:
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()  # if it ignores the signal, the test fails and does not hang
    assert (process.returncode, "Traceback" in said) == (0, False)


SWALLOWED = """
import os, signal, sys
from recollect.interfaces.cli.admin import jobs
from recollect.__main__ import main

def swallows(*given, **more):
    try:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1_000):
            pass
    except KeyboardInterrupt:
        print("swallowed", flush=True)

jobs._round = swallows
sys.exit(main(["admin", "work"]))
"""


def test_ctrl_c_ends_the_work_also_where_python_ignores_it(store: Shell) -> None:
    store.run("remember", "one")
    done = subprocess.run(
        [sys.executable, "-c", SWALLOWED], cwd=store.folder, env=store.environment,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout.count("swallowed")) == (0, 1), done.stderr


def _likes_tea(asked: dict[str, Any]) -> tuple[int, bytes]:
    episode = data_of(asked)["episodes"][0]
    quotes = [{"episode": episode["id"], "words": "likes tea"}]
    return suggesting({"intent": "add", "text": "Ann likes tea", "quotes": quotes})(asked)


def test_a_rule_asks_the_proposer_of_the_environment(
    store: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = store.run("settings", "rule", "set", "noticed", "--propose", "--every", "1")
    assert made.code == 0
    assert (
        "reads       what a proposer suggests"
        in store.run("settings", "rule", "show", "noticed").out
    )
    store.run("observe", "Ann likes tea")
    lacking = store.run("settings", "rule", "run", "noticed")
    assert lacking.code == 2
    assert "RECOLLECT_PROPOSER" in lacking.err
    with JsonServer(_likes_tea) as server:
        monkeypatch.setenv("RECOLLECT_PROPOSER", f"{server.url}#small")
        monkeypatch.setenv("RECOLLECT_PROPOSER_KEY", "sk-secret")
        tried = store.run("settings", "rule", "run", "noticed", "--dry-run")
        assert "noticed: looked at 1 episode, would apply 0, 1 to review" in tried.out
        monkeypatch.setenv("RECOLLECT_PROPOSER_MAX_TOKENS", "10")
        poor = store.run("settings", "rule", "run", "noticed")
        assert "stopped early: the proposer may use 10 tokens in one pass" in poor.out
        monkeypatch.delenv("RECOLLECT_PROPOSER_MAX_TOKENS")
        done = store.run("admin", "work", "--once")
        assert "noticed: looked at 1 episode, applied 0, 1 to review" in done.out
        assert server.keys == ["Bearer sk-secret"] * 2
    assert "Ann likes tea" in store.run("review").out
    store.run("observe", "Bob likes tea")
    gone = store.run("admin", "work", "--once")
    assert (gone.code, "did not answer" in gone.err) == (0, True)
    assert "sk-secret" not in gone.out + gone.err
    assert store.run("settings", "rule", "run", "noticed").code != 0
