"""Dropping a space through the async API."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from recollect import AsyncStore
from recollect.errors import NotFound


@pytest.mark.parametrize("kind", ["files", "memory"])
def test_a_space_is_dropped(tmp_path: Path, kind: str) -> None:
    async def run() -> None:
        where = tmp_path if kind == "files" else ":memory:"
        async with await AsyncStore.open(where) as store:
            bob = await store.space("bob")
            await bob.remember("Lives in Oslo.")
            assert (await store.drop("bob", dry_run=True)).records == 1
            done = await store.drop("bob", reason="left")
            assert await store.dropped() == [done.dropped]
            assert await store.spaces() == []
            with pytest.raises(NotFound):
                await store.drop("bob")
            assert await (await store.space("bob")).list() == []

    asyncio.run(run())
