"""Requests a second: an echo, writes and recalls, each against what the service is built on.

Responsible for what is done on both sides. Leaves servers to ``servers`` and sending to ``load``.
Invariant: both sides answer the same requests, and the service answers each of them with success.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import msgspec

from benchmarks.measures import questions
from benchmarks.sentences import sentences
from benchmarks.server import started
from benchmarks.service.apps import BARE, GATE, PATH
from benchmarks.service.load import Load, Outcome, request
from benchmarks.service.servers import Service, compared, recollect
from benchmarks.service.sizes import SIDE_BY_SIDE, Sizes
from benchmarks.timing import Clock, Paired, in_turns, slices
from recollect.aio import AsyncMemory
from recollect.memory import Memory

RECORDS: Final = "/v1/spaces/main/records"
RECALL: Final = "/v1/spaces/main/recall"
_BATCH: Final = 1_000


def echo(folder: Path, sizes: Sizes) -> Paired:
    """Decoding and encoding through the whole gate, against a server that only echoes."""
    return _echo(str(folder / "echo"), folder, sizes)


def echo_on_server(folder: Path, sizes: Sizes) -> Paired:
    """The same with the memory on PostgreSQL, where the token of each request is looked up."""
    with started() as server:
        return _echo(str(server.get_uri()), folder, sizes)


def _echo(store: str, folder: Path, sizes: Sizes) -> Paired:
    with Memory.open(store, embedder="none") as memory:
        memory.remember("Tea is at four.", key="tea")
    body = msgspec.json.encode({"text": "Tea is at four.", "key": "tea", "tags": ["a", "b"]})
    with (
        compared(BARE, store, folder) as bare,
        compared(GATE, store, folder) as gate,
        Load(bare.port, SIDE_BY_SIDE) as at_bare,
        Load(gate.port, SIDE_BY_SIDE) as at_gate,
    ):
        one, other = (request("POST", PATH, each.headers, body) for each in (bare, gate))
        return in_turns(
            bare=lambda number: fine(at_bare.run([one] * sizes.echoes)),
            ours=lambda number: fine(at_gate.run([other] * sizes.echoes)),
            rounds=sizes.rounds,
            operations=sizes.echoes,
        )


def write(folder: Path, sizes: Sizes) -> Paired:
    """``remember`` over HTTP on 16 connections, against 16 tasks in process."""
    texts = slices(sentences((sizes.rounds + 1) * sizes.writes, seed=3), sizes.writes)
    store, own = folder / "written", folder / "in-process"
    for each in (store, own):
        fill(each, 10)
    with (
        recollect(str(store), folder) as service,
        Load(service.port, SIDE_BY_SIDE) as load,
        tasks(lambda: AsyncMemory.open(own, embedder="none")) as run,
    ):
        return in_turns(
            bare=lambda number: run(AsyncMemory.remember, texts[number]),
            ours=lambda number: fine(load.run(remembers(service, texts[number]))),
            rounds=sizes.rounds,
            operations=sizes.writes,
        )


def recall(folder: Path, sizes: Sizes) -> Paired:
    """``recall`` over HTTP on 16 connections, against 16 tasks in process; both on one memory."""
    store = folder / "recalled"
    fill(store, sizes.records)
    asked = slices(questions((sizes.rounds + 1) * sizes.recalls), sizes.recalls)
    with (
        recollect(str(store), folder) as service,
        Load(service.port, SIDE_BY_SIDE) as load,
        tasks(lambda: AsyncMemory.open(store, embedder="none")) as run,
    ):
        return in_turns(
            bare=lambda number: run(AsyncMemory.recall, asked[number]),
            ours=lambda number: fine(load.run(recalls(service, asked[number]))),
            rounds=sizes.rounds,
            operations=sizes.recalls,
        )


def recall_on_server(folder: Path, sizes: Sizes) -> Paired:
    """The processor time of ``recall`` over HTTP, on PostgreSQL against the same in files."""
    store = folder / "files"
    fill(store, sizes.records)
    asked = slices(questions((sizes.rounds + 1) * sizes.recalls), sizes.recalls)
    with started() as server:
        url = str(server.get_uri())
        fill(url, sizes.records)
        with (
            recollect(str(store), folder) as files,
            recollect(url, folder) as served,
            Load(files.port, SIDE_BY_SIDE) as at_files,
            Load(served.port, SIDE_BY_SIDE) as at_served,
        ):
            return in_turns(
                bare=lambda number: fine(at_files.run(recalls(files, asked[number]))),
                ours=lambda number: fine(at_served.run(recalls(served, asked[number]))),
                rounds=sizes.rounds,
                operations=sizes.recalls,
                clock=_both(files, served),
            )


def _both(*services: Service) -> Clock:
    """The processor time of some services; one of them works at a time."""
    clocks = [(~each.process.pid << 3) | 2 for each in services]  # as clock_getcpuclockid does
    return Clock("process", lambda: sum(map(time.clock_gettime, clocks)))


def remembers(service: Service, texts: Sequence[str]) -> Iterator[bytes]:
    """Requests that remember these texts, each with a key."""
    for text in texts:
        headers = {**service.headers, "Idempotency-Key": text.split()[-1]}
        yield request("POST", RECORDS, headers, msgspec.json.encode({"text": text}))


def recalls(service: Service, queries: Sequence[str]) -> Iterator[bytes]:
    """Requests that ask these questions."""
    for query in queries:
        yield request("POST", RECALL, service.headers, msgspec.json.encode({"query": query}))


def fill(store: Path | str, count: int) -> None:
    """Puts so many records into the memory of a folder."""
    with Memory.open(store, embedder="none") as memory:
        for part in slices(sentences(count, seed=2), min(_BATCH, count)):
            with memory.batch() as batch:
                for text in part:
                    batch.remember(text)


def fine(outcome: Outcome) -> Outcome:
    """The same, unless something was refused."""
    if any(status >= 300 for status in outcome.statuses):
        raise AssertionError(f"the service refused requests: {outcome.statuses}")
    return outcome


class _Awaited(Protocol):
    async def close(self) -> None: ...


M = TypeVar("M", bound=_Awaited)
Run = Callable[[Callable[[M, str], Awaitable[object]], Sequence[str]], None]


@contextmanager
def tasks(opening: Callable[[], Coroutine[Any, Any, M]]) -> Iterator[Run[M]]:
    """Runs a call for each of some texts, by 16 tasks on one memory, which it opens and closes."""
    with asyncio.Runner() as runner:
        memory = runner.run(opening())

        async def work(call: Callable[[M, str], Awaitable[object]], left: Iterator[str]) -> None:
            for text in left:
                await call(memory, text)

        async def all_of(call: Callable[[M, str], Awaitable[object]], texts: Sequence[str]) -> None:
            left = iter(texts)
            await asyncio.gather(*(work(call, left) for _ in range(SIDE_BY_SIDE)))

        try:
            yield lambda call, texts: runner.run(all_of(call, texts))
        finally:
            runner.run(memory.close())
