"""Subjects through the async API."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from recollect import AsyncMemory
from recollect.errors import KeyMissing, NotFound


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.parametrize("kind", ["files", "memory"])
def test_a_subject_is_erased(tmp_path: Path, kind: str) -> None:
    async def run() -> None:
        where = tmp_path / "w" if kind == "files" else ":memory:"
        async with await AsyncMemory.open(where) as memory:
            await memory.settings.set_subjects("named")
            assert await memory.settings.subjects() == "named"
            ann = memory.scoped(subject="ann")
            await ann.remember("Ann went to Zanzibar")
            await memory.remember("The office is closed")
            planned = await memory.erase(subject="ann", dry_run=True)
            done = await memory.erase(subject="ann")
            assert planned.subjects == done.subjects != ()
            assert [record.text for record in await memory.list()] == ["The office is closed"]
            assert (await memory.admin.verify(deep=True)).ok
            with pytest.raises(NotFound):
                await memory.erase(subject="ann")

    asyncio.run(run())
    files = (path for path in tmp_path.rglob("*") if path.is_file())
    assert [path.name for path in files if b"Zanzibar" in path.read_bytes()] == []


def test_many_write_for_their_subjects_at_once(tmp_path: Path) -> None:
    async def run() -> None:
        async with await AsyncMemory.open(tmp_path / "w") as memory:
            await memory.settings.set_subjects("users")
            handles = [memory.scoped(user=f"user{number}") for number in range(8)]
            await asyncio.gather(
                *(one.remember(f"Text {text}") for one in handles for text in range(3))
            )
            gone = [memory.erase(subject=f"user{number}") for number in range(4)]
            subjects = [one.subjects for one in await asyncio.gather(*gone)]
            assert len({one for (one,) in subjects}) == 4  # each had one key
            counts = [len(await one.list()) for one in handles]
            assert counts == [0] * 4 + [3] * 4
            assert (await memory.admin.verify(deep=True)).ok

    asyncio.run(run())


def test_a_lost_key_is_told_and_accepted(tmp_path: Path, home: Path) -> None:
    async def run() -> None:
        async with await AsyncMemory.open(tmp_path / "w") as memory:
            await memory.settings.set_subjects("users")
            await memory.scoped(user="ann").remember("Ann went to Zanzibar")
            await memory.remember("The office is closed")
        (keys,) = (home / ".recollect" / "subjects").glob("*.json")
        keys.unlink()
        for index in (tmp_path / "w").glob("index.db*"):
            index.unlink()
        async with await AsyncMemory.open(tmp_path / "w") as memory:
            with pytest.raises(KeyMissing):
                await memory.list()
            assert "keys" in [one.what for one in await memory.admin.doctor()]
            await memory.admin.accept_loss(reason="the disk burnt")
            assert [record.text for record in await memory.list()] == ["The office is closed"]

    asyncio.run(run())
