"""Hops, bounds, deadlines and cancellation of the async API."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from recollect import AsyncMemory, AsyncStore, Memory
from recollect.errors import Unavailable
from recollect.model.limits import WORKERS_MAX_COUNT

PATIENCE_S = 60.0


class Gate:
    """Work that holds a worker until somebody lets it go on."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go_on = threading.Event()

    def __call__(self, memory: Memory) -> None:
        self.begun.set()
        assert self.go_on.wait(PATIENCE_S)

    def then(self, text: str) -> Callable[[Memory], str]:
        def work(memory: Memory) -> str:
            self(memory)
            return memory.remember(text).id

        return work


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.001)


async def busy(memory: AsyncMemory) -> tuple[Gate, list[asyncio.Task[None]]]:
    """Every worker held at one gate."""
    gates = [Gate() for _ in range(WORKERS_MAX_COUNT)]
    shared = threading.Event()
    for gate in gates:
        gate.go_on = shared
    tasks = [asyncio.create_task(memory.run(gate)) for gate in gates]
    await until(lambda: all(gate.begun.is_set() for gate in gates))
    return gates[0], tasks


Story = Callable[[AsyncMemory], Coroutine[Any, Any, None]]


def tell(story: Story, where: Path) -> None:
    async def told() -> None:
        async with asyncio.timeout(PATIENCE_S):
            async with await AsyncMemory.open(where) as memory:
                await story(memory)

    asyncio.run(told())


def test_the_readme_lines_work_awaited(tmp_path: Path) -> None:
    async def story(memory: AsyncMemory) -> None:
        record = await memory.remember("The staging database moved to port 5433.")
        assert (await memory.recall("staging port"))[0].id == record.id
        async with memory.batch() as batch:
            batch.remember("one")
            batch.remember("two")
        assert [result.id for result in batch.results] == [
            r.id for r in (await memory.list())[1::-1]
        ]
        before = await memory.at(record.seq)
        assert (await before.events.position, len(await before.list())) == (record.seq, 1)
        assert (await memory.scoped(trust="agent").remember("three")).trust == "agent"
        assert repr(memory).startswith("AsyncMemory(")

    tell(story, tmp_path)


def test_a_store_has_many_memories_and_closes_them_all(tmp_path: Path) -> None:
    async def story() -> None:
        async with await AsyncStore.open(tmp_path) as store:
            a, b = await store.space("a"), await store.space("b")
            await a.remember("one")
            await b.remember("two")
            assert sorted(await store.spaces()) == ["a", "b"]
            assert str(tmp_path) in repr(store)
            await b.close()
            with pytest.raises(Unavailable):
                await b.list()
            assert len(await a.list()) == 1
            again = await store.space("b")
            assert len(await again.list()) == 1
        with pytest.raises(Unavailable, match="closed"):
            await a.list()
        await store.close()

    asyncio.run(story())


def test_a_space_is_copied_backed_up_and_restored(tmp_path: Path) -> None:
    async def story() -> None:
        async with (
            await AsyncMemory.open(tmp_path / "a") as a,
            await AsyncMemory.open(tmp_path / "b") as b,
        ):
            await a.remember("one")
            await a.admin.copy_to(b)
            assert await a.admin.digest() == await b.admin.digest()
            await a.admin.backup(tmp_path / "kept")
            async with await AsyncStore.restore_backup(tmp_path / "kept", tmp_path / "c") as c:
                assert await c.admin.digest() == await a.admin.digest()

    asyncio.run(story())


def test_one_call_is_one_hop_and_the_loop_stays_free(tmp_path: Path) -> None:
    async def story(memory: AsyncMemory) -> None:
        here = threading.get_ident()
        there = await memory.run(lambda plain: threading.get_ident())
        assert there != here
        gate = Gate()
        task = asyncio.create_task(memory.run(gate))
        await until(gate.begun.is_set)
        await memory.remember("meanwhile")  # the loop and the other workers go on
        assert not task.done()
        gate.go_on.set()
        await task

    tell(story, tmp_path)


def test_no_more_than_the_stated_number_of_threads_work(tmp_path: Path) -> None:
    async def story(memory: AsyncMemory) -> None:
        gate, tasks = await busy(memory)
        waiting = [asyncio.create_task(memory.remember(f"more {n}")) for n in range(50)]
        await asyncio.sleep(0.05)
        counts.append(len(set(threading.enumerate()) - before))
        counts.append(sum(task.done() for task in waiting))
        gate.go_on.set()
        await asyncio.gather(*tasks, *waiting)

    before = set(threading.enumerate())
    counts: list[int] = []
    tell(story, tmp_path)
    assert counts == [WORKERS_MAX_COUNT, 0]


def test_many_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    async def story(memory: AsyncMemory) -> None:
        await asyncio.gather(*(memory.remember(f"number {n}") for n in range(200)))
        assert len(await memory.list(limit=1000)) == 200
        assert (await memory.admin.verify()).ok

    tell(story, tmp_path)


def test_a_write_cancelled_before_it_starts_never_happens(tmp_path: Path) -> None:
    async def story(memory: AsyncMemory) -> None:
        gate, tasks = await busy(memory)
        waiting = [asyncio.create_task(memory.remember(f"never {n}")) for n in range(50)]
        kept = asyncio.create_task(memory.remember("kept"))
        await asyncio.sleep(0)
        for task in waiting:
            task.cancel()
        answers = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(answer, asyncio.CancelledError) for answer in answers)
        gate.go_on.set()
        await asyncio.gather(*tasks, kept)
        assert [record.text for record in await memory.list()] == ["kept"]

    tell(story, tmp_path)
    with Memory.open(tmp_path) as memory:
        assert [record.text for record in memory.list()] == ["kept"]


def test_a_write_cancelled_while_it_runs_is_whole_and_the_store_goes_on(tmp_path: Path) -> None:
    async def story(memory: AsyncMemory) -> None:
        gate = Gate()
        task = asyncio.create_task(memory.run(gate.then("whole")))
        await until(gate.begun.is_set)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await memory.list() == []
        gate.go_on.set()
        await memory.remember("after")
        # `after` may overtake it; close waits for both.

    tell(story, tmp_path)
    with Memory.open(tmp_path) as memory:
        assert {record.text for record in memory.list()} == {"whole", "after"}
        assert memory.admin.verify().ok


def test_a_write_that_timed_out_is_safely_made_again(tmp_path: Path) -> None:
    async def story(memory: AsyncMemory) -> None:
        begun = Gate()

        def slow(plain: Memory) -> str:
            begun(plain)
            return plain.remember("once", idempotency_key="req-1").id

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await memory.run(slow)
        assert begun.begun.is_set()
        begun.go_on.set()
        again = await memory.remember("once", idempotency_key="req-1")
        assert (again.reinforcement_count, len(await memory.history(again.id))) == (0, 1)

    tell(story, tmp_path)
    with Memory.open(tmp_path) as memory:
        (record,) = memory.list()
        assert record.reinforcement_count == 0


def test_a_cancelled_batch_block_writes_nothing(tmp_path: Path) -> None:
    async def story(memory: AsyncMemory) -> None:
        async def block() -> None:
            async with memory.batch() as batch:
                batch.remember("never")
                await asyncio.sleep(PATIENCE_S)

        task = asyncio.create_task(block())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await memory.list() == []

    tell(story, tmp_path)


def test_close_waits_for_what_was_begun_even_if_nobody_else_does(tmp_path: Path) -> None:
    async def story() -> None:
        memory = await AsyncMemory.open(tmp_path)
        gate = Gate()
        task = asyncio.create_task(memory.run(gate.then("whole")))
        await until(gate.begun.is_set)
        task.cancel()
        closing = [asyncio.create_task(memory.close()) for _ in range(2)]
        await asyncio.sleep(0.05)
        assert not any(one.done() for one in closing)
        gate.go_on.set()
        await asyncio.gather(*closing)
        with pytest.raises(Unavailable, match="closed"):
            await memory.remember("late")
        with pytest.raises(Unavailable, match="closed"):
            await memory.events.position

    asyncio.run(story())
    with Memory.open(tmp_path) as memory:
        assert [record.text for record in memory.list()] == ["whole"]


def test_a_handle_serves_several_loops(tmp_path: Path) -> None:
    memory = asyncio.run(AsyncMemory.open(tmp_path))
    asyncio.run(_remember(memory, "one"))
    asyncio.run(_remember(memory, "two"))
    assert len(asyncio.run(_list(memory))) == 2
    asyncio.run(_close(memory))


def test_an_open_memory_gets_the_awaited_face(tmp_path: Path) -> None:
    async def story() -> None:
        with Memory.open(tmp_path) as plain:
            async with AsyncMemory(plain) as memory:
                await memory.remember("one")
                assert len(plain.list()) == 1
            with pytest.raises(Unavailable):
                plain.list()

    asyncio.run(story())


_FORKED = """
import asyncio, os, sys, time
from recollect import AsyncMemory
from recollect.errors import Unavailable

async def opened():
    memory = await AsyncMemory.open(sys.argv[1])
    await memory.remember("one")
    return memory

async def refused(memory):
    try:
        await memory.recall("one")
    except Unavailable as error:
        return "fork" in str(error)

memory = asyncio.run(opened())
time.sleep(0.2)  # until the worker is idle: only then the child would count on it
child = os.fork()
if child == 0:
    os._exit(0 if asyncio.run(refused(memory)) else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_after_a_fork_a_call_is_refused_and_does_not_wait_forever(tmp_path: Path) -> None:
    run = [sys.executable, "-W", "ignore", "-c", _FORKED, str(tmp_path)]
    assert subprocess.run(run, timeout=PATIENCE_S, check=False).returncode == 0


async def _remember(memory: AsyncMemory, text: str) -> None:
    await memory.remember(text)


async def _list(memory: AsyncMemory) -> list[str]:
    return [record.id for record in await memory.list()]


async def _close(memory: AsyncMemory) -> None:
    await memory.close()
