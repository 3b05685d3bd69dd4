"""Random stores of other programs: each writes itself, changes, and says what must come in.

Responsible for a model of each format with its own writer, which shares nothing with the importer.
Leaves importing and comparing to the tests.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import msgspec

from recollect import Memory

WORDS = """amber anchor basin beacon cedar cobalt copper delta ember falcon garnet harbor indigo
jasper kelp lantern magnet nectar onyx pepper quartz raven saffron timber umber velvet walnut
yarrow zephyr Brücke Straße café 北京 naïve""".split()
START = datetime(2024, 3, 1, 9, tzinfo=UTC)


class Said(msgspec.Struct, frozen=True):
    """A record or an episode as a memory should hold it."""

    text: str
    about: str | None = None
    kind: str | None = None
    tags: frozenset[str] = frozenset()
    said_at: str | None = None
    user: str | None = None
    session: str | None = None
    data: str = "{}"


class Foreign(Protocol):
    """A store of another program."""

    format: str

    def write(self, folder: Path) -> Path: ...
    def change(self) -> None: ...
    def expected(self) -> Counter[Said]: ...
    def links(self) -> Counter[tuple[str, str, str]]: ...
    def left_out(self) -> dict[str, int]: ...


def held(memory: Memory, folder: Path) -> list[dict[str, dict[str, object]]]:
    """Everything that a memory holds, from its own export."""
    file = folder / f"held-{memory.events.position}-{random.randrange(10**9)}.ndjson"
    memory.admin.export("ndjson", file)
    lines = [json.loads(line) for line in file.read_text("utf-8").split("\n")[1:] if line]
    file.unlink()
    return lines


def records(memory: Memory, folder: Path) -> Counter[Said]:
    """The statements that hold, without names alone, and what was said."""
    found: Counter[Said] = Counter()
    for line in held(memory, folder):
        if "episode" in line:
            found[heard_of(line["episode"])] += 1
        one = line.get("record", {})
        if one.get("status") == "active" and one["text"] != one.get("about"):
            found[said_of(one)] += 1
    return found


def heard_of(one: dict[str, object]) -> Said:
    scope = one.get("scope") or {}
    assert isinstance(scope, dict)
    data = json.dumps(one.get("metadata", {}), sort_keys=True)
    said_at, session = str(one["said_at"]), scope.get("session")
    return Said(
        str(one["text"]), kind=str(one["role"]), said_at=said_at, session=session, data=data
    )


def said_of(one: dict[str, object]) -> Said:
    scope = one.get("scope") or {}
    assert isinstance(scope, dict)
    return Said(
        text=str(one["text"]),
        about=None if one.get("about") is None else str(one["about"]),
        kind=None if one.get("kind") is None else str(one["kind"]),
        tags=frozenset(map(str, one.get("tags", ()))),  # type: ignore[call-overload]
        said_at=None if one.get("said_at") is None else str(one["said_at"]),
        user=scope.get("user"),
        session=scope.get("session"),
        data=json.dumps(one.get("data", {}), sort_keys=True),
    )


def linked(memory: Memory, folder: Path) -> Counter[tuple[str, str, str]]:
    """The links, each by what its ends are about."""
    lines = held(memory, folder)
    about = {
        str(one["record"]["id"]): one["record"].get("about") for one in lines if "record" in one
    }
    found = (line["link"] for line in lines if "link" in line)
    return Counter(
        (str(about[str(one["source"])]), str(one["kind"]), str(about[str(one["target"])]))
        for one in found
    )


def stamp(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def sentence(rng: random.Random, count: int = 6) -> str:
    return " ".join(rng.choices(WORDS, k=count)) + f" {rng.randrange(10**6)}"


def reworded(rng: random.Random, text: str) -> str:
    """A sentence with another last word."""
    return f"{text.rpartition(' ')[0]} {rng.randrange(10**6, 10**9)}"
