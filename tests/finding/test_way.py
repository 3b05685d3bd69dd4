"""The way of a question: down through the packages once, and back."""

from __future__ import annotations

import sys
from pathlib import Path
from types import CodeType, FrameType

import pytest

import recollect
from recollect.memory import Memory

ROOT = str(Path(recollect.__file__).parent)


def package(code: CodeType) -> str | None:
    """The package below ``recollect`` that a function belongs to."""
    if not code.co_filename.startswith(ROOT):
        return None
    return Path(code.co_filename).relative_to(ROOT).parts[0].removesuffix(".py")


def crossings(memory: Memory, query: str) -> list[tuple[str, str]]:
    """The calls of one recall from a package to another."""
    found: list[tuple[str, str]] = []
    stack: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        here = package(frame.f_code)
        if here is None:
            return
        if event == "call":
            if stack and stack[-1] != here:
                found.append((stack[-1], here))
            stack.append(here)
        elif event == "return" and stack:
            stack.pop()

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        memory.recall(query)
    finally:
        sys.setprofile(before)
    return found


# Two of them time a stage, if somebody observes; two ask whether any value was ever replaced.
@pytest.mark.parametrize(("records", "most"), [(1, 33), (50, 62)])
def test_a_recall_crosses_few_borders_between_packages(records: int, most: int) -> None:
    """A call for each candidate, from one package to another, would show with 50 records."""
    with Memory.open(":memory:", embedder="none") as memory:
        for number in range(records):
            memory.remember(f"Fact {number}: the server {number} listens on port {5000 + number}.")
        memory.recall("which port does server 0 use")  # loads what is loaded late
        # The fewest of three: when a new second begins, its text is made once more.
        found = min((crossings(memory, "which port does server 0 use") for _ in range(3)), key=len)
    assert 10 < len(found) <= most, found
    assert {pair for pair in found if pair[1] in ("memory", "finding")} == {("memory", "finding")}
