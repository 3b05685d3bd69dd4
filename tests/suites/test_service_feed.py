"""Many streams: none misses an event or gets it twice, whoever is cut, and each costs little.

Some readers take a byte a second; afterwards they read on, and must have everything too. What a
stream costs is what the service's memory grows by while it serves all of them, for each of them.
"""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from benchmarks.service.load import Load, request
from recollect.memory import Memory
from tests.suites.conftest import Tell
from tests.suites.service_runs import EPISODES, new_store, rss_bytes, serving
from tests.suites.service_streams import POLL_S, Poller, Readers, percentile_ms

STREAM_MAX_BYTES = 65_536
SETTLE_S = 300.0
QUIET_RATE = 5


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a run counted."""

    missed: int
    twice: int
    bytes_each: float


def run(
    folder: Path,
    tell: Tell,
    *,
    streams: int,
    events: int,
    cuts: int,
    slow: int,
    quiet: int = 10,
    forget: bool = False,
) -> Found:
    """Streams that are open while events are written; some are cut, some hardly read."""
    where = str(folder / "m")
    token = new_store(where)
    options = ("--streams", str(streams + 10), "--streams-per-token", str(streams + 10))
    with serving(where, folder, *options) as service:
        headers = {"Host": f"127.0.0.1:{service.port}", "Authorization": f"Bearer {token}"}
        with Load(service.port, 16) as load:
            load.run(_observes(headers, 200, "warm"))
        start = _position(where)
        before, began = rss_bytes(service.pid), time.perf_counter()
        with Readers([service.port], token, streams, after=start, slow=slow) as readers:
            readers.wait_until_connected(120)
            for part in range(10):
                readers.cut(cuts // 10)
                with Load(service.port, 16) as load:
                    outcome = load.run(_observes(headers, events // 10, str(part)))
                assert outcome.statuses.keys() <= {201, 503}  # a busy service may ask to wait
                if forget:  # the control: readers that do not say where they were
                    _forget(readers)
            end = _position(where)
            readers.wait_until(end, SETTLE_S)
            after, busy_ms = rss_bytes(service.pid), readers.lag_ms(99)
            readers.hurry()
            readers.wait_until(end, SETTLE_S)
            readers.lags_s.clear()
            with Poller(where, after=end) as bare, Load(service.port, 1) as load:
                load.run(_observes(headers, quiet, "quiet"), rate=QUIET_RATE)
                time.sleep(2 * POLL_S)
            end = _position(where)
            readers.wait_until(end, SETTLE_S)
        took = time.perf_counter() - began
    found = Found(
        missed=readers.missed(end - start),
        twice=readers.twice,
        bytes_each=(after - before) / streams,
    )
    connects = sum(reader.connects for reader in readers.all)
    tell(
        f"feed: {streams:,} streams ({slow} at 1 byte/s), {end - start:,} events, "
        f"{readers.cuts} cut, {connects - streams} reconnects: {found.missed} missed, "
        f"{found.twice} twice, {found.bytes_each / 1_024:.0f} KiB a stream, "
        f"lag p99 {busy_ms:.0f} ms under load, "
        f"{readers.lag_ms(99):.0f} ms at {QUIET_RATE} events a second, "
        f"{readers.lag_ms(99) / percentile_ms(bare.lags_s, 99):.2f} of a bare poll, {took:.0f} s"
    )
    return found


def _forget(readers: Readers) -> None:
    for reader in readers.all[::7]:
        reader.last += 3


def _observes(headers: dict[str, str], count: int, word: str) -> list[bytes]:
    return [
        request(
            "POST", EPISODES, {**headers, "Idempotency-Key": f"{word}-{number}"},
            msgspec.json.encode({"messages": [{"content": f"{word}, event {number}."}]}),
        )
        for number in range(count)
    ]  # fmt: skip


def _position(where: str) -> int:
    with Memory.open(where, embedder="none") as memory:
        return memory.events.position


def check(found: Found) -> None:
    assert (found.missed, found.twice) == (0, 0)
    assert found.bytes_each <= STREAM_MAX_BYTES


def test_forty_streams_miss_nothing(tmp_path: Path, tell: Tell) -> None:
    found = run(tmp_path, tell, streams=40, events=200, cuts=20, slow=4)
    assert (found.missed, found.twice) == (0, 0)  # so few streams do not say what one costs


@pytest.mark.nightly
def test_a_thousand_streams_miss_nothing(tmp_path: Path, tell: Tell) -> None:
    check(run(tmp_path, tell, streams=1_000, events=10_000, cuts=200, slow=50, quiet=100))


@pytest.mark.nightly
def test_a_thousand_streams_miss_none_of_fewer_events(tmp_path: Path, tell: Tell) -> None:
    check(run(tmp_path, tell, streams=1_000, events=2_000, cuts=200, slow=50, quiet=50))


def test_control_readers_that_forget_where_they_were_miss_events(
    tmp_path: Path, tell: Tell
) -> None:
    found = run(tmp_path, tell, streams=14, events=100, cuts=0, slow=0, forget=True)
    assert found.missed + found.twice > 0
