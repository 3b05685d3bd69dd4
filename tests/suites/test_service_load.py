"""The service over time: what a hundred thousand requests leave in memory, and steady load.

Requests of all kinds are sent, refused ones included. What they leave is what the process has in
memory at the end, beyond what it had after the first tenth. Their texts are a thousand, so that
the caches of words and texts, which are bounded, are full after the first tenth.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from benchmarks.service.apps import LEAKING
from benchmarks.service.load import Load, Outcome, request
from benchmarks.service.servers import compared
from tests.suites.conftest import Tell
from tests.suites.service_runs import new_store, rss_bytes, serving

LEFT_MAX_BYTES = 5_000_000
TEXTS = 1_000
S = "/v1/spaces/main"


class Kinds:
    """Requests of every kind, on records that are there."""

    def __init__(self, port: int, token: str, ids: list[str], seed: int = 1) -> None:
        self._headers = {"Host": f"127.0.0.1:{port}", "Authorization": f"Bearer {token}"}
        self._ids, self._rng, self._number = ids, random.Random(seed), 0

    def some(self, count: int) -> Iterator[bytes]:
        """So many of them, drawn by chance."""
        kinds = [
            self._remember, self._observe, self._revise, self._tag, self._recall, self._context,
            self._one, self._list, self._events, self._history, self._refused,
        ]  # fmt: skip
        for _ in range(count):
            self._number += 1
            yield self._rng.choice(kinds)()

    def _sent(self, method: str, path: str, body: object = None, **headers: str) -> bytes:
        raw = b"" if body is None else msgspec.json.encode(body)
        return request(method, path, {**self._headers, **headers}, raw)

    def _words(self) -> str:
        number = self._number % TEXTS
        return f"Gate {number % 97} opens at {number % 24}, says {number}."

    def _id(self) -> str:
        return self._rng.choice(self._ids)

    def _remember(self) -> bytes:
        return self._sent("POST", f"{S}/records", {"text": self._words()})

    def _observe(self) -> bytes:
        return self._sent("POST", f"{S}/episodes", {"messages": [{"content": self._words()}]})

    def _revise(self) -> bytes:
        return self._sent("PATCH", f"{S}/records/{self._id()}", {"text": self._words()})

    def _tag(self) -> bytes:
        return self._sent("PATCH", f"{S}/records/{self._id()}", {"tags": ["a"], "untag": ["b"]})

    def _recall(self) -> bytes:
        return self._sent("POST", f"{S}/recall", {"query": f"gate {self._number % 97}", "k": 5})

    def _context(self) -> bytes:
        return self._sent("POST", f"{S}/context", {"query": "which gate?", "tokens": 300})

    def _one(self) -> bytes:
        return self._sent("GET", f"{S}/records/{self._id()}")

    def _list(self) -> bytes:
        return self._sent("GET", f"{S}/records?limit=10")

    def _events(self) -> bytes:
        return self._sent("GET", f"{S}/events?after={self._rng.randrange(100)}&limit=20")

    def _history(self) -> bytes:
        return self._sent("GET", f"{S}/records/{self._id()}/why")

    def _refused(self) -> bytes:
        kinds: tuple[tuple[str, str, object], ...] = (
            ("GET", f"{S}/records/nobody-{self._number}", None),
            ("POST", f"{S}/records", {"no": 1}),
            ("GET", f"/v1/spaces/other-{self._number}/status", None), ("PUT", "/v1/spaces", {}),
            ("GET", f"/v1/nowhere/{self._number}", None),
        )  # fmt: skip
        return self._sent(*self._rng.choice(kinds))


def left_bytes(pid: int, load: Load, kinds: Kinds, count: int) -> tuple[int, dict[int, int]]:
    """What a process has in memory after so many requests, beyond what it had after a tenth."""
    first = load.run(kinds.some(count // 10))
    before = rss_bytes(pid)
    rest = load.run(kinds.some(count - count // 10))
    return rss_bytes(pid) - before, _statuses(first, rest)


def _statuses(*outcomes: Outcome) -> dict[int, int]:
    found: dict[int, int] = {}
    for outcome in outcomes:
        for status, count in outcome.statuses.items():
            found[status] = found.get(status, 0) + count
    return dict(sorted(found.items()))


def ids_of(where: str) -> list[str]:
    from recollect.memory import Memory

    with Memory.open(where, embedder="none") as memory:
        return [memory.remember(f"Gate {number} is open.").id for number in range(50)]


def run(folder: Path, tell: Tell, count: int) -> int:
    where, began = str(folder / "m"), time.perf_counter()
    token = new_store(where)
    ids = ids_of(where)
    with serving(where, folder) as service, Load(service.port, 16) as load:
        left, statuses = left_bytes(service.pid, load, Kinds(service.port, token, ids), count)
        tell(
            f"memory: {count:,} requests of all kinds {statuses}, {left / 1e6:+.1f} MB after the "
            f"first {count // 10:,}; {rss_bytes(service.pid) / 1e6:.0f} MB in all, "
            f"{time.perf_counter() - began:.0f} s"
        )
    assert not [status for status in statuses if status >= 500]
    assert {200, 201, 400, 404, 405} <= statuses.keys()
    return left


def test_a_thousand_requests_leave_little(tmp_path: Path, tell: Tell) -> None:
    assert run(tmp_path, tell, 1_000) <= 3 * LEFT_MAX_BYTES  # a tenth of it warms up less


@pytest.mark.nightly
def test_a_hundred_thousand_requests_leave_little(tmp_path: Path, tell: Tell) -> None:
    assert run(tmp_path, tell, 100_000) <= LEFT_MAX_BYTES


def test_control_a_service_that_keeps_its_requests_is_seen(tmp_path: Path, tell: Tell) -> None:
    """An echo that keeps 8 KB of each request."""
    with compared(LEAKING, str(tmp_path), tmp_path) as service, Load(service.port, 16) as load:
        left, _ = left_bytes(service.process.pid, load, Kinds(service.port, "x", ["x"]), 3_000)
    tell(f"memory: control: {left / 1e6:+.1f} MB")
    assert left > 3 * LEFT_MAX_BYTES


def steady(folder: Path, tell: Tell, seconds: float) -> None:
    """Load at 70 % of the highest rate that was held, and what answers took."""
    where = str(folder / "m")
    token = new_store(where)
    ids = ids_of(where)
    with serving(where, folder) as service, Load(service.port, 16) as load:
        kinds = Kinds(service.port, token, ids)
        load.run(kinds.some(500))
        highest = load.run(kinds.some(max(500, int(30 * seconds)))).per_s
        rate, before = 0.7 * highest, rss_bytes(service.pid)
        found = load.run(kinds.some(int(rate * seconds)), rate=rate)
        after = rss_bytes(service.pid)
    p50, p99 = found.percentile_ms(50), found.percentile_ms(99)
    tell(
        f"load: {found.count:,} requests in {found.took_s:.0f} s, {rate:.0f}/s of {highest:.0f}/s: "
        f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, ratio {p99 / p50:.1f}; "
        f"memory {before / 1e6:.0f} MB at the start, {after / 1e6:.0f} MB at the end"
    )
    assert not [status for status in found.statuses if status >= 500]


@pytest.mark.timing
def test_steady_load_for_seconds(tmp_path: Path, tell: Tell) -> None:
    steady(tmp_path, tell, 2)


@pytest.mark.nightly
def test_steady_load_for_ten_minutes(tmp_path: Path, tell: Tell) -> None:
    steady(tmp_path, tell, 600)
