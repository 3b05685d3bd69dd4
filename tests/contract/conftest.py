"""A memory on each engine, and its functions called as the contract calls them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import pytest

from recollect import AsyncMemory, Memory
from recollect.contracts.blocks import Connection, content_hash, insert_block
from tests.contract.s2_stores import stores
from tests.integrations.conftest import connected, opened, server, shared, template

__all__ = ["connected", "server", "shared", "stores", "template"]

P = ParamSpec("P")
T = TypeVar("T")


@pytest.fixture(
    params=["files", *(pytest.param(n, marks=pytest.mark.nightly) for n in ("postgres", "memory"))]
)
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    """A memory, empty; the night has each engine, because an interface sees none of them."""
    with opened(request, tmp_path) as memory:
        yield memory


class Call:
    """Calls one function of the contract with a connection, and waits for it."""

    def __init__(self, memory: Memory, runner: asyncio.Runner) -> None:
        self.memory = memory
        self.conn = Connection(AsyncMemory(memory.scoped(trust="agent")))
        self._runner = runner

    def __call__(
        self,
        function: Callable[Concatenate[Connection, P], Coroutine[Any, Any, T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        return self._runner.run(function(self.conn, *args, **kwargs))

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def block(self, content: str, *, status: str = "active", category: str = "knowledge") -> str:
        """The id of a new block."""
        id = content_hash(content)
        self(insert_block, block_id=id, content=content, category=category, source="api",
             status=status)  # fmt: skip
        return id


@pytest.fixture
def call(memory: Memory) -> Iterator[Call]:
    with asyncio.Runner() as runner:
        call = Call(memory, runner)
        yield call
        runner.run(call.conn.memory.close())
