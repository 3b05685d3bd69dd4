"""The async API and a model's files on PostgreSQL."""

from __future__ import annotations

import asyncio
from typing import Any

from anthropic.lib.tools import ToolError

from recollect import AsyncMemory, AsyncStore, Memory
from recollect.integrations.anthropic import MemoryTool
from recollect.model.limits import WORKERS_MAX_COUNT

SCRIPT: list[dict[str, Any]] = [
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": "/memories/d/it's", "file_text": "one\ntwo\n"},
    {"command": "create", "path": "/memories/d/e/é", "file_text": ""},
    {"command": "create", "path": "/memories/d", "file_text": "no"},
    {"command": "str_replace", "path": "/memories/d/it's", "old_str": "two", "new_str": "three"},
    {"command": "insert", "path": "/memories/d/e/é", "insert_line": 0, "insert_text": "words"},
    {"command": "rename", "old_path": "/memories/d", "new_path": "/memories/f"},
    {"command": "view", "path": "/memories"},
    {"command": "view", "path": "/memories/f/it's"},
    {"command": "delete", "path": "/memories/f/e"},
    {"command": "view", "path": "/memories/f"},
    {"command": "view", "path": "/memories/d/it's"},
]


def told(tool: MemoryTool) -> list[str]:
    out = []
    for command in SCRIPT:
        try:
            out.append(str(tool.call(command)))
        except ToolError as error:
            out.append(f"refused: {error.content}")
    return out


def test_a_models_files_are_the_same_as_in_memory(url: str) -> None:
    with Memory.open(url) as there, Memory.open(":memory:") as here:
        answers = told(MemoryTool(there))
        assert answers == told(MemoryTool(here))
        assert sum(answer.startswith("refused") for answer in answers) == 2
        history = MemoryTool(there).history("/memories/f/it's")
        assert [v.what for v in history] == ["added", "revised", "forgotten", "added"]


def test_many_awaited_writers_lose_nothing(url: str) -> None:
    async def story() -> None:
        async with await AsyncMemory.open(url) as memory:
            await asyncio.gather(
                *(memory.remember(f"number {n}") for n in range(5 * WORKERS_MAX_COUNT))
            )
            assert len(await memory.list()) == 5 * WORKERS_MAX_COUNT
            assert (await memory.admin.verify()).ok

    asyncio.run(story())


def test_a_space_is_dropped(url: str) -> None:
    async def story() -> None:
        async with await AsyncStore.open(url) as store:
            await (await store.space("bob")).remember("Lives in Oslo.")
            assert (await store.drop("bob", dry_run=True)).records == 1
            done = await store.drop("bob", reason="left")
            assert await store.dropped() == [done.dropped]
            assert await store.spaces() == []
            assert await (await store.space("bob")).list() == []

    asyncio.run(story())
