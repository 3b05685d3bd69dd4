"""A value that cannot be stored fails its own caller, never those who share the append."""

from __future__ import annotations

import threading
from collections import Counter
from enum import Enum
from pathlib import Path

import pytest

from recollect import Memory
from recollect.lifecycle.commands import Actor, Command, SetPreset
from recollect.model.presets import BUILT_IN
from recollect.store import write_path

WRITERS = 6


class Label(str):
    """As bs4, numpy, markupsafe and lxml have them."""

    def __str__(self) -> str:
        return "not what it says"


class Size(int):
    pass


class Share(float):
    pass


class Color(str, Enum):  # noqa: UP042 - as libraries wrote it before 3.11
    RED = "red"


def test_subclasses_come_back_as_what_they_say(tmp_path: Path) -> None:
    with Memory.open(tmp_path) as memory:
        said = memory.observe(
            Label("It was red."),
            role=Label("user"),  # type: ignore[arg-type]  # an enum of another library
            metadata={Label("k"): Label("v")},
        )
        made = memory.remember(
            Label("The gate is red."),
            id=Label("r1"),
            key=Label("gate.color"),
            kind=Color.RED,
            about=Label("gate"),
            tags=[Color.RED, Label("paint")],
            confidence=Share(0.5),
            evidence=[Label(said[0].id)],
            how_known=Label("told"),  # type: ignore[arg-type]
            data={Label("n"): Size(3), "f": Share(0.5), "l": [Label("x"), Color.RED]},
        )
        assert (made.text, made.key, made.kind) == ("The gate is red.", "gate.color", "red")
        assert made.tags == ("red", "paint")
        assert made.data == {"n": 3, "f": 0.5, "l": ["x", "red"]}
        kept = [made.text, made.id, *made.data, *made.tags, *made.evidence, made.data["n"]]
        assert {type(value) for value in kept} == {str, int}
        memory.revise(Label("r1"), Label("The gate is blue."), reason=Label("painted"))
        memory.revise(Label("r1"), tags=[Label("new")])
        memory.forget(
            Label("r1"),
            reason=Label("gone"),
            sources=Label("keep"),  # type: ignore[arg-type]
        )
        memory.recall(Label("gate"))
        assert memory.scoped(user=Label("ann")).remember("Hers.").scope.user == "ann"
        assert memory.admin.verify().ok


def poisoned(memory: Memory) -> None:
    """A command whose event cannot be encoded; the checks do not look inside a preset."""
    preset = BUILT_IN["task"]
    bad = type(preset)(name=Label("bad"), weights=preset.weights, where=Label("kind = 'fact'"))
    command = Command(id="bad", actor=Actor(trust="person"), acts=(SetPreset(preset=bad),))
    memory._handle.space.submit(command, lambda reads, outcome: None)


def write_beside_poison(folder: Path, count: int) -> Counter[str]:
    """Threads write, each so often, while two others bring what cannot be stored.

    They end sooner if a write fails.
    """
    seen: Counter[str] = Counter()
    stop, failed = threading.Event(), threading.Event()
    with Memory.open(folder) as memory:

        def good(name: int) -> None:
            for number in range(count):
                if failed.is_set():
                    return
                try:
                    memory.remember(f"good {name} {number}")
                    seen["good"] += 1
                except Exception as error:  # noqa: BLE001 - the test counts them
                    seen[f"failed: {type(error).__name__}"] += 1
                    failed.set()

        def bad() -> None:
            while not stop.is_set():
                with pytest.raises(TypeError):
                    poisoned(memory)
                seen["poison"] += 1

        writers = [threading.Thread(target=good, args=(name,)) for name in range(WRITERS)]
        poison = [threading.Thread(target=bad) for _ in range(2)]
        for thread in [*poison, *writers]:
            thread.start()
        for thread in writers:
            thread.join()
        stop.set()
        for thread in poison:
            thread.join()
        seen["stored"] = sum(record.text.startswith("good") for record in memory.list(limit=10_000))
        assert memory.admin.verify().ok
    return seen


def test_what_cannot_be_stored_fails_its_own_caller_alone(tmp_path: Path) -> None:
    seen = write_beside_poison(tmp_path, 40)
    assert seen["poison"] > 0
    assert seen["good"] == seen["stored"] == WRITERS * 40


def test_control_without_the_guard_others_fail_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_path, "_OWN", ())
    seen = write_beside_poison(tmp_path, 10_000)
    assert seen["good"] < WRITERS * 10_000
