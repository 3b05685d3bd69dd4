"""How soon a client has the list of tools, beside a Python that does nothing."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from recollect.memory import Memory
from tests.mcp.talking import SERVER, Folder
from tests.mcp.test_same_answers import START, request
from tests.mcp.test_stdio import LIST, Conversing, conversing, lines

pytestmark = pytest.mark.timing

RUNS = 9
LIST_MOST = 8  # times a Python that imports json; over 40 with the SDK
LOADED_S = 0.2  # less than the engine takes on any machine
FIRST_MOST = 2  # times a later question


def bare() -> tuple[float, float]:
    """The seconds and the CPU seconds of a Python that imports json."""
    return ended([sys.executable, "-c", "import json"], b"", None)


def ended(words: list[str], given: bytes, folder: Folder | None) -> tuple[float, float]:
    began = time.perf_counter()
    with subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=folder.project if folder else None,
        env=folder.environment if folder else None,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(given)
        process.stdin.flush()
        for _ in given.splitlines():
            assert b"result" in process.stdout.readline()
        took = time.perf_counter() - began
        process.stdin.close()
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
    return (took if given else time.perf_counter() - began, used.ru_utime + used.ru_stime)


def test_the_list_is_there_soon(folder: Folder, tell: Callable[[str], None]) -> None:
    given = lines(request(0, "initialize", START), LIST)
    server = [sys.executable, *SERVER]
    pairs = [(bare(), ended(server, given, folder)) for _ in range(RUNS)]
    wall = statistics.median(ours[0] / theirs[0] for theirs, ours in pairs)
    before = statistics.median(ours[0] for _, ours in pairs)
    tell(f"tools/list after {before * 1000:.0f} ms, {wall:.1f} times a bare Python")
    assert wall <= LIST_MOST


def used_s(process: int) -> float:
    """The time that a process and all its threads were on a CPU; the clock is Linux's own."""
    return time.clock_gettime((~process << 3) | 2)


def wait_until_idle(process: int) -> None:
    before, now = -1.0, used_s(process)
    while now > before or now < LOADED_S:
        time.sleep(1)
        before, now = now, used_s(process)


def test_the_first_question_is_not_slow(folder: Folder, tell: Callable[[str], None]) -> None:
    with Memory.open(folder.home / ".recollect") as memory:
        for number in range(200):
            memory.remember(f"Server {number} listens on port {5_000 + number}.")

    def asked(talk: Conversing, number: int) -> float:
        question = {"query": f"which port has server {number}?"}
        before = used_s(talk.process.pid)
        answer = talk.say(request(number, "tools/call", {"name": "recall", "arguments": question}))
        assert json.dumps(answer).count(str(5_000 + number))
        return used_s(talk.process.pid) - before

    ratios = []
    for _ in range(RUNS):
        with conversing(folder) as talk:
            talk.say(request(0, "initialize", START))
            talk.say(LIST)
            time.sleep(3)  # a model thinks longer
            first, *later = (asked(talk, number) for number in range(10, 21))
        ratios.append(first / statistics.median(later))
    tell(f"the first question uses {statistics.median(ratios):.1f} times the CPU of a later one")
    assert statistics.median(ratios) <= FIRST_MOST


def test_the_version_is_told_no_slower_than_a_record_is_kept(
    folder: Folder, tell: Callable[[str], None]
) -> None:
    program = [sys.executable, "-m", "recollect"]
    kept, told = [], []
    for number in range(RUNS):
        kept.append(ended([*program, "remember", f"Number {number}."], b"", folder)[1])
        told.append(ended([*program, "--version"], b"", folder)[1])
    quick, usual = statistics.median(told), statistics.median(kept)
    tell(f"CPU of --version {quick:.2f} s, of remember {usual:.2f} s")
    assert quick <= usual
