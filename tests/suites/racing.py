"""Processes that count together in one record, each with what it has read.

Run as `python -m tests.suites.racing WHERE GOAL expect` or `... look`. A process reads the number
in the record and writes the next one until the goal is reached, and tells which versions it has
taken further. With `expect` the engine refuses a version that has changed; with `look` the process
looks once more before it writes, which is what a program without `expect` would do.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import msgspec

from recollect import Memory
from recollect.errors import Changed

ROOT = Path(__file__).resolve().parents[2]
ID = "count"


def race(where: str, goal: int, count: int, how: str = "expect") -> Counter[int]:
    """How many writers took each version further; the record holds a number from 0 to the goal."""
    with Memory.open(where, embedder="none") as memory:
        memory.remember("0", id=ID)
    order = [sys.executable, "-m", "tests.suites.racing", where, str(goal), how]
    children = [
        subprocess.Popen(order, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(count)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write(b"go\n")
        child.stdin.flush()
    found: Counter[int] = Counter()
    for child in children:
        told, _ = child.communicate(timeout=120)
        assert child.returncode == 0
        found.update(msgspec.json.decode(told, type=list[int]))
    return found


def problem(where: str, goal: int, won: Counter[int]) -> str | None:
    """What is wrong: a version that two took further, or a number that was lost."""
    with Memory.open(where, embedder="none") as memory:
        said = [int(version.record.text) for version in memory.history(ID)]
    twice = [seq for seq, times in won.items() if times > 1]
    if twice:
        return f"{len(twice)} of {len(won)} versions were taken further by more than one"
    if said != list(range(goal + 1)) or len(won) != goal:
        return f"the record counts {said}, and {len(won)} writers say that they counted"
    return None


def _count(memory: Memory, goal: int, how: str) -> list[int]:
    won: list[int] = []
    while (number := int((seen := memory.get(ID)).text)) < goal:
        text = str(number + 1)
        if how == "look":
            if memory.get(ID).seq != seen.seq:
                continue
            memory.revise(ID, text)
        else:
            try:
                memory.revise(ID, text, expect=(ID, seen.seq))
            except Changed:
                continue
        won.append(seen.seq)
    return won


if __name__ == "__main__":
    where, goal, how = sys.argv[1:]
    with Memory.open(where, embedder="none") as memory:
        memory.get(ID)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        sys.stdout.write(msgspec.json.encode(_count(memory, int(goal), how)).decode())
