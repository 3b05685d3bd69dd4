"""`kill -9` at random moments of a writing process.

What it can see: a write acknowledged before the system had it, an append that is there in part,
a start that fails, two writers that fork the chain. What it cannot see: a missing fsync (the system
outlives the process), so most workspaces of the long run lie in memory.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.suites.conftest import Tell
from tests.suites.killing import Act, Found, Order, Server, judge, judge_all, serving

KILLS_PER_WORKSPACE = 50
LANES = 2
IN_MEMORY = Path("/dev/shm")


class Lane:
    """One workspace in which writers are killed, again and again."""

    def __init__(
        self,
        server: Server,
        where: Path,
        rng: random.Random,
        *,
        early: bool = False,
        apart: bool = False,
    ) -> None:
        self._server = server
        self._where = where
        self._rng = rng
        self._early = early
        self._apart = apart
        self._count = 0
        self._acks: list[Act] = []

    def run(self, kills: int, *, pairs: bool = True) -> Found:
        """Kill so many writers, some of them two at once; then look at everything."""
        total = Found()
        while total.kills < kills:
            if self._rng.random() < 0.02:
                (self._where / "index.db").unlink(missing_ok=True)
            two = pairs and kills - total.kills > 1 and self._rng.random() < 1 / 7
            total.add(self._two() if two else self._one(self._start()))
        everything = judge_all(self._where, self._acks)
        total.add(everything)
        return total

    def _two(self) -> Found:
        """Two writers at once, killed one after the other; the judge is a third process."""
        pids = [self._start(), self._start()]
        self._rng.shuffle(pids)
        found = self._one(pids[0])
        found.add(self._one(pids[1]))
        found.paired = found.kills
        return found

    def _one(self, pid: int) -> Found:
        """Kill a writer some time after its first ack or, now and then, while it opens."""
        if self._rng.random() < 0.9:
            self._server.wait_for_ack(pid)
        time.sleep(self._rng.uniform(0, 0.008))
        heard = self._server.kill(pid)
        self._acks += heard.acks
        found = judge(self._where, heard)
        found.kills = 1
        return found

    def _start(self) -> int:
        self._count += 1
        order = Order(
            where=str(self._where),
            name=f"writer-{self._count}",
            seed=self._rng.getrandbits(32),
            early=self._early,
            apart=self._apart,
        )
        return self._server.start(order)


@contextmanager
def a_place(disk: Path, name: str, *, in_memory: bool) -> Iterator[Path]:
    """A workspace to be; one in memory is gone afterwards."""
    if in_memory and IN_MEMORY.is_dir():
        with tempfile.TemporaryDirectory(prefix="recollect-", dir=IN_MEMORY) as folder:
            yield Path(folder) / name
    else:
        yield disk / name


def one_lane(disk: Path, kills: int, seed: int, *, in_memory: float) -> Found:
    """A server of its own, and one workspace after the other."""
    rng = random.Random(seed)
    total = Found()
    with serving() as server:
        for first in range(0, kills, KILLS_PER_WORKSPACE):
            with a_place(disk, str(first), in_memory=rng.random() < in_memory) as where:
                count = min(KILLS_PER_WORKSPACE, kills - first)
                total.add(Lane(server, where, rng).run(count))
    return total


def run_suite(where: Path, kills: int, tell: Tell, *, in_memory: float = 0) -> None:
    """Two lanes side by side; ``in_memory`` is the share of workspaces that are not on a disk."""
    seed = random.randrange(2**32)
    started = time.perf_counter()
    total = Found()
    with ThreadPoolExecutor(LANES) as pool:
        lane = partial(one_lane, kills=kills // LANES, in_memory=in_memory)
        places = [where / f"lane-{number}" for number in range(LANES)]
        for found in pool.map(lambda n: lane(places[n], seed=seed + n), range(LANES)):
            total.add(found)
    took_s = time.perf_counter() - started
    tell(
        f"kills: {total.kills:,} kills ({total.paired:,} of two writers at once), "
        f"{total.acknowledged:,} acknowledged, {len(total.lost)} lost, {len(total.half)} half, "
        f"{total.kills - len(total.unclean):,} clean reopens, {took_s:.0f} s"
    )
    assert total.unclean == [], f"seed {seed}"
    assert total.lost == [], f"seed {seed}"
    assert total.half == [], f"seed {seed}"
    assert total.kills == kills
    assert total.acknowledged > kills // 2  # a writer killed while it opens has said nothing yet


def test_forty_kills_lose_nothing(tmp_path: Path, tell: Tell) -> None:
    run_suite(tmp_path, 40, tell)


@pytest.mark.nightly
def test_ten_thousand_kills_lose_nothing(tmp_path: Path, tell: Tell) -> None:
    run_suite(tmp_path, 10_000, tell, in_memory=0.8)


def test_control_a_writer_that_acknowledges_early_is_seen_to_lose(
    tmp_path: Path, tell: Tell
) -> None:
    rng = random.Random()
    lost: list[str] = []
    kills = 0
    with serving() as server:
        while not lost and kills < 60:
            kills += 3
            lane = Lane(server, tmp_path / str(kills), rng, early=True)
            lost = lane.run(3, pairs=False).lost
    assert lost
    tell(f"kills: control: acknowledged early, {len(lost)} seen lost after {kills} kills")


def test_control_a_batch_written_one_by_one_is_seen_half(tmp_path: Path, tell: Tell) -> None:
    rng = random.Random()
    half: list[str] = []
    kills = 0
    with serving() as server:
        while not half and kills < 200:
            kills += 5
            half = Lane(server, tmp_path / str(kills), rng, apart=True).run(5).half
    assert half
    tell(f"kills: control: batch one by one, {len(half)} seen half after {kills} kills")
