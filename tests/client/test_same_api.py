"""The client has every call of a memory, and can be awaited without an engine."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys

import pytest

import recollect
from recollect import AsyncMemory
from recollect.client import Memory
from recollect.errors import Unsupported
from recollect.memory.contexts.receipts import Receipts
from recollect.memory.handle.handle import handle_of
from recollect.memory.memory import service_memory
from recollect.memory.remote import doors
from recollect.memory.review import Review
from recollect.memory.rules.rules import Rules
from recollect.memory.tokens import Tokens
from tests.aio.test_same_api import function, public
from tests.client.test_cli import service  # noqa: F401 - the same service
from tests.http.test_process import Service
from tools import client_api


def names(call: object) -> list[tuple[str, object]]:
    parameters = inspect.signature(function(call)).parameters.values()  # type: ignore[arg-type]
    return [(one.name, one.kind) for one in parameters]


def test_no_call_and_no_argument_is_missing() -> None:
    plain, ours = public(recollect.Memory), public(Memory)
    assert ours.keys() == plain.keys()
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
            after = await memory.events.position
            async with memory.batch() as batch:
                batch.remember("Two.")
                batch.remember("Three.")
            assert await memory.events.wait(after + 2, 5)
            stream = memory.events.tail(after=after)
            return [(await anext(stream)).text or "" for _ in range(2)]

    assert asyncio.run(run()) == ["Two.", "Three."]


def test_a_memory_of_a_service_can_be_wrapped(service: Service) -> None:  # noqa: F811
    async def run() -> int:
        plain = Memory.open(service.url, space="wrapped", token=service.token)
        async with AsyncMemory(plain) as memory:
            await memory.scoped(agent="ana").remember("One.")
            return len(await memory.list())

    assert asyncio.run(run()) == 1


def test_a_memory_in_files_is_followed_too() -> None:
    async def run() -> list[str | None]:
        async with await AsyncMemory.open(":memory:") as memory:
            await memory.remember("One.")
            stream = memory.events.tail(after=0, kinds=["record.added"])
            found = [(await anext(stream)).text]
            await memory.remember("Two.")
            found.append((await anext(stream)).text)
            assert await memory.events.wait(await memory.events.position)
            assert not await memory.events.wait(1_000, 0.01)
            past = [each.seq async for each in (await memory.at(2)).events.tail(after=0)]
            assert past == [1, 2]
            return found

    assert asyncio.run(run()) == ["One.", "Two."]


def test_what_is_written_after_the_call_is_followed(service: Service) -> None:  # noqa: F811
    remote = Memory.open(service.url, space="eager", token=service.token)
    remote.remember("Before.")
    with remote, recollect.Memory.open(":memory:", embedder="none") as here:
        here.remember("Before.")
        for memory in (remote, here):
            stream = memory.events.tail()
            memory.remember("After.")
            assert next(stream).text == "After."


def test_closing_does_not_wait_for_what_is_followed_in_vain() -> None:
    async def run() -> None:
        async with await AsyncMemory.open(":memory:") as memory:
            stream = memory.events.tail()
            following = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0.3)
            following.cancel()

    asyncio.run(asyncio.wait_for(run(), 30))


@pytest.mark.parametrize("is_cancelled", [True, False])
@pytest.mark.parametrize("is_remote", [True, False])
def test_closing_ends_what_is_followed(
    service: Service,  # noqa: F811
    is_remote: bool,
    is_cancelled: bool,
) -> None:
    """Neither a cancelled look nor one that goes on is waited for, here or over a service."""

    async def run() -> bool:
        where = service.url if is_remote else ":memory:"
        token = service.token if is_remote else None
        space = f"ending-{is_cancelled}"
        async with await AsyncMemory.open(where, space=space, token=token) as memory:
            await memory.remember("One.")
            stream = memory.events.tail(after=0)
            while (await anext(stream)).text != "One.":
                pass
            following = asyncio.ensure_future(anext(stream, None))
            await asyncio.sleep(0)  # it has begun
            if is_cancelled:
                following.cancel()
        found = (await asyncio.gather(following, return_exceptions=True))[0]
        return isinstance(found, asyncio.CancelledError) if is_cancelled else found is None

    assert asyncio.run(run())


def test_a_following_that_was_closed_gives_no_more(service: Service) -> None:  # noqa: F811
    remote = Memory.open(service.url, space="closed", token=service.token)
    with remote, recollect.Memory.open(":memory:", embedder="none") as here:
        for memory in (remote, here):
            stream = memory.events.tail()
            stream.close()
            stream.close()
            memory.remember("After.")
            assert stream.look() is None


LOADED = """
import sys
from recollect import AsyncMemory, AsyncStore
from recollect.client import Memory, Store
address, token = "https://memory.example", "rct_" + "A" * 43
{opened}
engine = ("compose", "index", "ledger", "lifecycle", "memory", "recall", "store")
print([name for name in engine if f"recollect.{{name}}" in sys.modules])
"""


@pytest.mark.parametrize(
    ("opened", "is_engine"),
    [
        ("AsyncMemory(Memory.open(address, token=token))", False),
        ("AsyncStore(Store.open(address, token=token))", False),
        ("from recollect import Memory", True),  # the control
    ],
)
def test_to_await_a_service_loads_no_engine(opened: str, is_engine: bool) -> None:
    code = LOADED.format(opened=opened)
    ran = subprocess.run(
        [sys.executable, "-c", code], check=True, timeout=60, capture_output=True, text=True
    )
    assert (ran.stdout.strip() != "[]") == is_engine, ran.stdout


ADDRESS, TOKEN = "https://memory.example", "rct_" + "A" * 43


def parts() -> list[type]:
    """Every class of a store of a service."""
    with recollect.Store.open(ADDRESS, token=TOKEN) as store:
        memory = store.space("main")
        found = [store, store.tokens, store.jobs, memory, memory.batch()]
    behind = [each for name, each in vars(doors).items() if name.startswith("Service")]
    return [*map(type, found), *behind]


OURS = ("Service", "MemoryCalls", "StoreCalls")  # made of calls of the client


def engine_calls(kind: type) -> list[str]:
    """The public calls of a class that code of the engine would answer."""
    public = [name for name in dir(kind) if not name.startswith("_")]
    homes = {name: next(base for base in kind.__mro__ if name in vars(base)) for name in public}
    return [
        name
        for name, home in homes.items()
        if home.__module__.startswith("recollect.memory.") and not home.__name__.startswith(OURS)
    ]


@pytest.mark.parametrize("kind", parts(), ids=lambda kind: kind.__name__)
def test_no_call_to_a_service_reaches_the_engine(kind: type) -> None:
    assert engine_calls(kind) == []


def test_a_call_that_the_client_lacks_is_named() -> None:
    """The control."""

    class Lacking(recollect.Memory):
        pass

    assert "remember" in engine_calls(Lacking)


def test_what_open_gives_for_an_address_is_of_its_type() -> None:
    with recollect.Memory.open(ADDRESS, token=TOKEN) as memory:
        assert isinstance(memory, recollect.Memory)
        assert type(memory) is service_memory()
        assert isinstance(memory.scoped(user="ana"), recollect.Memory)
        assert isinstance(memory.batch(), recollect.memory.Batch)
        assert isinstance(memory.review, Review)
        assert isinstance(memory.proof.receipts, Receipts)
        assert isinstance(memory.settings.rules, Rules)
        with pytest.raises(Unsupported, match="a service does not offer this"):
            handle_of(memory)
    with recollect.Store.open(ADDRESS, token=TOKEN) as store:
        assert isinstance(store, recollect.Store)
        assert isinstance(store.space("main"), recollect.Memory)
        assert isinstance(store.tokens, Tokens)
        with pytest.raises(Unsupported, match="`dropped`"):
            store.dropped()
