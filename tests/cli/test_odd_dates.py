"""Dates at the ends of the calendar: refused at every door, shown safely if a ledger has them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from html import unescape
from pathlib import Path
from typing import Any

import msgspec
import pytest

from recollect import Memory, Store
from recollect.errors import InvalidInput
from recollect.model.events import EpisodeObserved, RecordAdded
from recollect.store.seam import Seam
from tests.memory.arriving import forged
from tests.web.visiting import served

ENDS = ["9999-12-31T23:59:59Z", "0001-01-01T05:00:00Z", "1899-12-31", "2200-01-01", "1600-01-01"]
FIELDS = ["said_at", "valid_from", "valid_to", "expires"]
Door = Callable[[Memory, str], object]
DOORS: dict[str, Door] = {
    **{
        name: lambda memory, at, name=name: memory.remember("Tea.", **{name: at})  # type: ignore[misc]
        for name in FIELDS
    },
    "an unverified source": lambda memory, at: memory.scoped(trust="unverified").remember(
        "Tea.", said_at=at
    ),
    "observe": lambda memory, at: memory.observe("Tea.", said_at=at),
    "a message": lambda memory, at: memory.observe(
        [{"role": "user", "content": "Tea.", "said_at": at}]
    ),
    "revise": lambda memory, at: memory.revise(
        memory.remember("Tea at four.").id, "Tea at five.", expires=at
    ),
    "supersede": lambda memory, at: memory.remember(
        "Tea at six.", replaces=memory.remember("Tea at four.").id, valid_to=at
    ),
}


def _on_branch(memory: Memory, at: str) -> None:
    memory.branches.open("b")
    memory.on("b").remember("Tea.", valid_from=at)


def _batched(memory: Memory, at: str) -> None:
    with memory.batch() as batch:
        batch.remember("Tea.", said_at=at)


DOORS |= {"a batch": _batched, "a branch": _on_branch}


@pytest.mark.parametrize("at", ENDS)
@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_them(door: str, at: str) -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        with pytest.raises(InvalidInput):
            DOORS[door](memory, at)
        assert not memory.recall("tea").unverified


@pytest.mark.parametrize("door", [each for each in DOORS if each not in ("expires", "revise")])
@pytest.mark.parametrize("at", ["1900-01-01", "2199-12-31T23:59:59.999999Z"])
def test_control_the_years_between_are_taken(door: str, at: str) -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        DOORS[door](memory, at)


def test_a_span_that_leads_beyond_is_refused_and_so_is_the_end_of_a_token() -> None:
    with Store.open(":memory:") as store:
        memory = store.space("main", create=True)
        with pytest.raises(InvalidInput):
            memory.remember("Tea.", expires=timedelta(days=100_000))
        with pytest.raises(InvalidInput):
            store.tokens.create("x", space="main", expires=datetime(2200, 1, 1, tzinfo=UTC))


def test_a_transcript_and_an_export_come_in_without_such_a_date(tmp_path: Path) -> None:
    lines = [
        {"type": "user", "uuid": f"u{place}", "sessionId": "s", "timestamp": at,
         "message": {"role": "user", "content": f"Tea at {place}."}}
        for place, at in enumerate(ENDS)
    ]  # fmt: skip
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    with Memory.open(tmp_path / "store", embedder="none") as memory:
        memory.admin.import_(path, format="claude-code")
        told = memory.sessions.episodes(limit=10)
        assert len(told) == len(ENDS)
        assert {each.said_at[:4] for each in told} == {told[0].at[:4]}


def old_memory(folder: Path) -> list[str]:
    """A memory of an earlier release, which took any date; the ids in it."""
    with Memory.open(folder, embedder="none") as memory:
        memory.remember("Tea is at four in the kitchen.", key="tea")
    path = next(folder.rglob("events.wal"))
    raw = path.read_bytes()
    odd = ["9999-12-31T23:59:59.000000Z", "0001-01-01T05:00:00.000000Z",
           "9999-12-31T23:59:59.999999-14:00", "0001-01-01T00:00:00+14:00"]  # fmt: skip
    ids: list[str] = []
    for at in odd:
        for name in FIELDS:
            ids.append(f"r{len(ids)}")
            given: dict[str, Any] = {name: at}
            body = RecordAdded(
                id=ids[-1], text=f"Tea in the kitchen is free {len(ids)}.", kind="fact",
                confidence=1.0, status="held", trust="unverified", **given,
            )  # fmt: skip
            raw = forged(raw, "unverified", body)
        body = RecordAdded(
            id=f"p{len(ids)}", text=f"Tea in the kitchen {len(ids)}.", kind="fact",
            confidence=1.0, status="active", trust="agent", said_at=at, about="tea",
        )  # fmt: skip
        raw = forged(raw, "agent", body)
        ids.append(f"p{len(ids)}")
        said = EpisodeObserved(
            id=f"e{len(ids)}", text="tea kitchen talk", role="user", said_at=at, session="s1"
        )
        raw = forged(raw, "agent", said)
    path.write_bytes(raw)
    return ids


COMMANDS = [
    ["recall", "tea kitchen"], ["list", "--recent"], ["context", "tea kitchen"],
    ["list"], ["review"],
    ["log"], ["show", "ID"], ["recall", "tea", "--json"],
]  # fmt: skip


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/Los_Angeles"])
def test_the_command_line_shows_what_a_ledger_has(tmp_path: Path, zone: str) -> None:
    ids = old_memory(tmp_path / "store")
    odd = [ids[0], ids[4], ids[5]]
    for words in COMMANDS:
        for id in odd if "ID" in words else [""]:
            asked = [id if word == "ID" else word for word in words]
            ran = subprocess.run(
                [sys.executable, "-Pm", "recollect", "--store", str(tmp_path / "store"), *asked],
                capture_output=True, text=True, env={**os.environ, "TZ": zone}, check=False,
            )  # fmt: skip
            assert ran.returncode in (0, 3), (asked, ran.stderr)
            assert "internal error" not in ran.stderr, asked


@pytest.mark.parametrize("minutes", [540, -480])
def test_the_inspector_shows_what_a_ledger_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minutes: int
) -> None:
    ids = old_memory(tmp_path / "store")
    monkeypatch.setattr(Seam, "tz_minutes", lambda self: minutes)
    with Store.open(tmp_path / "store") as store, served(store) as inspector:
        visitor = inspector.enter()
        todo = ["/main/", "/main/search?q=tea+kitchen", *(f"/main/r/{id}" for id in ids)]
        seen: set[str] = set()
        while todo and len(seen) < 60:
            path = todo.pop(0)
            if path in seen:
                continue
            seen.add(path)
            page = visitor.get(path)
            assert page.status < 500, path
            links = map(unescape, re.findall(r'<a[^>]*href="([^"#]+)', page.text))
            todo += [
                each.removeprefix(inspector.root)
                for each in links
                if each.startswith(f"{inspector.root}/main/")
            ]
        assert len(seen) >= 25


def test_control_no_zone_shows_them() -> None:
    for at, minutes in (("9999-12-31T23:59:59+00:00", 540), ("0001-01-01T05:00:00+00:00", -480)):
        with pytest.raises(OverflowError):
            datetime.fromisoformat(at).astimezone(timezone(timedelta(minutes=minutes)))
