"""The client has every call of a memory, and its async half every call of the client."""

from __future__ import annotations

import asyncio
import inspect

import pytest

import recollect
from recollect.client import AsyncMemory, Memory
from tests.aio.test_same_api import function, public
from tests.client.test_cli import service  # noqa: F401 - the same service
from tests.http.test_process import Service
from tools import client_api

OWN = {"tail", "wait", "run"}  # a service is followed; only the async half has hops


def names(call: object) -> list[tuple[str, object]]:
    parameters = inspect.signature(function(call)).parameters.values()  # type: ignore[arg-type]
    return [(one.name, one.kind) for one in parameters]


@pytest.mark.parametrize("other", [Memory, AsyncMemory])
def test_no_call_and_no_argument_is_missing(other: type) -> None:
    plain, ours = public(recollect.Memory), public(other)
    assert ours.keys() - OWN == plain.keys()
    differing = [
        name for name in plain if name != "open" and names(plain[name]) != names(ours[name])
    ]
    assert differing in ([], ["restore_backup"])


def test_the_generated_modules_are_up_to_date() -> None:
    assert client_api.stale() == []


def test_the_async_client_writes_reads_and_follows(service: Service) -> None:  # noqa: F811
    async def run() -> list[str]:
        async with await AsyncMemory.open(
            service.url, space="async", token=service.token
        ) as memory:
            await memory.remember("One.")
            after = await memory.position
            async with memory.batch() as batch:
                batch.remember("Two.")
                batch.remember("Three.")
            assert await memory.wait(after + 2, 5)
            stream = memory.tail(after=after)
            return [(await anext(stream)).text or "" for _ in range(2)]

    assert asyncio.run(run()) == ["Two.", "Three."]
