"""Two servers on one workspace at once."""

from __future__ import annotations

import time
from collections.abc import Callable

import anyio
import pytest

from recollect.memory import Memory
from recollect.testing.rebuilding import rebuilt_digest
from tests.mcp.talking import Folder, Talk, talking

WRITES = 500
AT_ONCE = 10


async def write(talk: Talk, who: str, ids: list[str]) -> None:
    """All of one server's writes, several at a time."""

    async def some(first: int) -> None:
        for number in range(first, WRITES, AT_ONCE):
            made = await talk.ask("remember", text=f"{who} wrote {number}", memory="project")
            ids.append(made.data["id"])

    async with anyio.create_task_group() as group:
        for first in range(AT_ONCE):
            group.start_soon(some, first)


@pytest.mark.ci
def test_two_servers_write_five_hundred_records_each_without_loss(
    folder: Folder, tell: Callable[[str], None]
) -> None:
    ids: dict[str, list[str]] = {"one": [], "two": []}

    async def run() -> float:
        async with talking(folder) as one, talking(folder) as two:
            began = time.perf_counter()
            async with anyio.create_task_group() as group:
                group.start_soon(write, one, "one", ids["one"])
                group.start_soon(write, two, "two", ids["two"])
            return time.perf_counter() - began

    took = anyio.run(run)
    with Memory.open(folder.project / ".recollect") as memory:
        found = {record.id: record.text for record in memory.list(limit=5_000)}
        assert memory.admin.verify().ok
        assert memory.admin.digest() == rebuilt_digest(memory.admin)
    assert sorted(found) == sorted(ids["one"] + ids["two"])
    assert sorted(found.values()) == sorted(
        f"{who} wrote {number}" for who in ids for number in range(WRITES)
    )
    tell(f"2 servers, {len(found)} records, {took:.1f} s, 0 lost, chain verifies")
