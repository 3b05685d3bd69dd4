"""What the client costs on top of ``http.client``, and its awaited calls on top of threads.

Responsible for callers that use the client. Leaves bare connections to ``traffic``.
Invariant: both sides send the same requests to the same server.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

import msgspec

from benchmarks.sentences import sentences
from benchmarks.service.servers import recollect
from benchmarks.service.sizes import SIDE_BY_SIDE, Sizes
from benchmarks.service.traffic import RECORDS, fill, tasks
from benchmarks.timing import Paired, in_turns, slices
from recollect import AsyncMemory
from recollect.client import Memory


def client(folder: Path, sizes: Sizes) -> Paired:
    """``remember`` of the client, against ``http.client`` with bytes that are ready."""
    texts = slices(sentences(2 * (sizes.rounds + 1) * sizes.calls, seed=5), sizes.calls)
    store = folder / "clients"
    fill(store, 10)
    with (
        recollect(str(store), folder) as service,
        Memory.open(service.url, token=service.token) as memory,
    ):
        connection = HTTPConnection("127.0.0.1", service.port)
        ready = [
            [
                (
                    msgspec.json.encode({"text": text}),
                    {**service.headers, "Idempotency-Key": text.split()[-1]},
                )
                for text in part
            ]
            for part in texts[::2]
        ]

        def by_bare(number: int) -> None:
            connection.close()  # it may have been idle for too long, and opens again by itself
            for body, headers in ready[number]:
                connection.request("POST", RECORDS, body, headers)
                answer = connection.getresponse()
                if answer.status != 201 or not answer.read():
                    raise AssertionError(f"the service answered {answer.status}")

        def by_us(number: int) -> None:
            for text in texts[2 * number + 1]:
                memory.remember(text)

        try:
            return in_turns(bare=by_bare, ours=by_us, rounds=sizes.rounds, operations=sizes.calls)
        finally:
            connection.close()


def awaited(folder: Path, sizes: Sizes) -> Paired:
    """``remember`` awaited by 16 tasks of one process, against 16 threads with the plain client."""
    texts = slices(sentences(2 * (sizes.rounds + 1) * sizes.writes, seed=6), sizes.writes)
    store = folder / "awaited"
    fill(store, 10)
    with (
        recollect(str(store), folder) as service,
        Memory.open(service.url, token=service.token) as memory,
        ThreadPoolExecutor(SIDE_BY_SIDE) as threads,
        tasks(lambda: AsyncMemory.open(service.url, token=service.token)) as run,
    ):
        return in_turns(
            bare=lambda number: list(threads.map(memory.remember, texts[2 * number])),
            ours=lambda number: run(AsyncMemory.remember, texts[2 * number + 1]),
            rounds=sizes.rounds,
            operations=sizes.writes,
        )
