"""The list of events on the command line, once and as they come."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.cli.running import COMMAND, Shell

pytestmark = pytest.mark.ci


def test_log_lists_the_last_events_oldest_first(store: Shell) -> None:
    ids = [store.run("remember", f"Number {n}.", "--json").json["id"] for n in range(4)]
    store.run("forget", ids[0])
    found = store.run("log", "--limit", "3", "--json").json["events"]
    assert [event["kind"] for event in found] == [
        "record.added",
        "record.added",
        "record.forgotten",
    ]
    assert found[0]["text"] == "Number 2."
    said = store.run("log")
    assert said.code == 0
    lines = said.out.splitlines()
    assert "record.added" in lines[-2]
    assert ids[0] in lines[-1]
    assert "record.forgotten" in lines[-1]


def test_log_of_some_kinds_of_one_id_and_of_then(store: Shell) -> None:
    first = store.run("remember", "One.", "--json").json["id"]
    store.run("remember", "Two.")
    store.run("revise", first, "Three.")
    kinds = store.run("log", "--kind", "record.revised", "--kind", "space.opened", "--json").json
    assert [event["kind"] for event in kinds["events"]] == ["space.opened", "record.revised"]
    about = store.run("log", "--id", first, "--json").json["events"]
    assert [event["what"] for event in about] == ["added", "revised"]
    then = store.run("log", "--at", "2", "--json").json["events"]
    assert [event["seq"] for event in then] == [1, 2]
    assert store.run("log", "--kind", "record.eaten").code == 2
    assert store.run("log", "--follow", "--at", "2").code == 2
    assert "No events" in store.run("log", "--kind", "link.added").out


def test_log_shows_one_event_whole(store: Shell) -> None:
    made = store.run("remember", "Red \x1b[31m alert.", "--json").json
    shown = store.run("log", "--event", str(made["seq"]), "--json").json
    assert (shown["kind"], shown["body"]["text"]) == ("record.added", "Red \x1b[31m alert.")
    said = store.run("log", "--event", str(made["seq"])).out
    assert "record.added by person" in said
    assert "text: Red" in said
    assert "\x1b" not in said
    store.run("erase", made["id"], "--yes")
    assert "erased by event 3" in store.run("log", "--event", "2").out
    assert store.run("log", "--event", "9").code == 3


def test_log_goes_on_after_an_event(store: Shell) -> None:
    for number in range(4):
        store.run("remember", f"Number {number}.")
    page = store.run("log", "--after", "2", "--limit", "2", "--json").json["events"]
    assert [event["seq"] for event in page] == [3, 4]
    rest = store.run("log", "--after", "4", "--json").json["events"]
    assert [event["seq"] for event in rest] == [5]
    with following(store, "--after", "2", "--limit", "2", "--json") as child:
        assert child.stdout is not None
        seen = [json.loads(child.stdout.readline())["seq"] for _ in range(3)]
        store.run("remember", "Number 4.")
        seen.append(json.loads(child.stdout.readline())["seq"])
    assert seen == [3, 4, 5, 6]


def test_log_cannot_steer_the_terminal(store: Shell) -> None:
    store.run("remember", "red \x1b[31m alert")
    assert "\x1b[31m" not in store.run("log").out
    assert "\x1b" not in store.run("log", "--json").out


@contextmanager
def following(store: Shell, *words: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [COMMAND, "log", "--follow", *words],
        cwd=store.folder,
        env=store.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        guard = threading.Timer(60, process.kill)
        guard.start()
        try:
            yield process
        finally:
            guard.cancel()
            process.kill()


def test_follow_prints_each_event_once_as_it_comes(store: Shell) -> None:
    store.run("remember", "Before.")
    with following(store, "--kind", "record.added", "--json") as process:
        assert process.stdout is not None
        seen = [json.loads(process.stdout.readline())]
        for number in range(3):
            assert store.process("remember", f"Number {number}.").code == 0
            assert store.process("observe", "Not asked for.").code == 0
            seen.append(json.loads(process.stdout.readline()))
        process.send_signal(signal.SIGINT)
        rest, complaint = process.communicate(timeout=60)
    assert [event["text"] for event in seen] == ["Before.", "Number 0.", "Number 1.", "Number 2."]
    assert (rest, complaint, process.returncode) == ("", "", 0)
