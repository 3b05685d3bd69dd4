"""Rebuild equals live, and every past position equals a replay to that position."""

from __future__ import annotations

import random
import sqlite3
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Memory
from recollect.index.shadow import Shadows
from recollect.ledger.scan import Append, scan
from recollect.memory.handle.handle import Handle
from recollect.store.files.space import FileSpace
from recollect.store.indexed.backend import MemorySpace
from recollect.testing.rebuilding import rebuilt_digest
from tests.suites.conftest import Tell
from tests.suites.histories import Clockwork, History, Replay, answers


def history_of(rng: random.Random, folder: Path | None, steps: int) -> History:
    seam = Clockwork(rng.getrandbits(32))
    space = (
        MemorySpace("main", seam)
        if folder is None
        else FileSpace(folder, "main", create=True, seam=seam)
    )
    history = History(Memory(Handle(space, seam)), seam, rng)
    history.play(steps)
    return history


def appends_of(memory: Memory) -> list[Append]:
    return list(scan(memory._handle.space.pieces()))


def differences(history: History, positions: list[int], *, fresh_every: int) -> list[str]:
    """Where the past and a replay to it part; every so often the replay begins anew."""
    memory, rng = history.memory, history.rng
    appends = appends_of(memory)
    found: list[str] = []
    folded = 0
    replay = Replay("main")
    for count, position in enumerate(sorted(positions)):
        if count % fresh_every == 0:
            replay.close()
            replay, folded = Replay("main"), 0
        due = sum(append.head.seq <= position for append in appends)
        replay.fold(appends[folded:due])
        folded = due
        past = memory.at(position)
        ids = rng.sample(history.records, min(5, len(history.records)))
        ids += rng.sample(history.episodes, min(3, len(history.episodes)))
        then, anew = answers(past, ids), answers(replay.memory, ids)
        found += [f"at {position}: {what}" for what in then if then[what] != anew[what]]
    replay.close()
    return found


def run_suite(folder: Path | None, steps: int, past: int, tell: Tell) -> None:
    seed = random.randrange(2**32)
    started = time.perf_counter()
    history = history_of(random.Random(seed), folder, steps - len(VERBS))
    history.make_up_for(VERBS)
    history.play(steps)
    with history.memory as memory:
        events = memory.events.position
        live = memory.admin.digest()
        check = memory.admin.verify()
        assert check.ok, f"seed {seed}"
        assert rebuilt_digest(memory.admin) == live, f"seed {seed}"
        assert memory.admin.digest() == live, f"seed {seed}"
        positions = [0, events, *history.rng.sample(range(1, events), past - 2)]
        found = differences(history, positions, fresh_every=20)
    tell(
        f"replay: {history.done.total():,} operations and {history.refused:,} refusals, "
        f"{events:,} events ({check.erased} erased), "
        f"rebuild = live, {past} past positions, {len(found)} differences, "
        f"{time.perf_counter() - started:.0f} s"
    )
    assert found == [], f"seed {seed}"
    assert history.done.total() == steps, history.done
    assert not [what for what in VERBS if not history.done[what]], history.done


VERBS = (
    "remember keyed observe restate revise forget restore tag link unlink used batch erase".split()
)


@pytest.mark.nightly
def test_ten_thousand_operations_in_files(tmp_path: Path, tell: Tell) -> None:
    run_suite(tmp_path, 10_000, 200, tell)


@pytest.mark.nightly
def test_four_hundred_operations_in_memory(tell: Tell) -> None:
    run_suite(None, 400, 50, tell)


def test_two_hundred_operations_in_files(tmp_path: Path, tell: Tell) -> None:
    run_suite(tmp_path, 200, 20, tell)


def test_the_past_is_the_same_after_a_rebuild(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    history = history_of(random.Random(seed), tmp_path, 100)
    with history.memory as memory:
        live = memory.admin.digest()
        positions = history.rng.sample(range(memory.events.position + 1), 5)
        assert rebuilt_digest(memory.admin) == live, f"seed {seed}"
        assert differences(history, positions, fresh_every=5) == [], f"seed {seed}"


@settings(max_examples=settings().max_examples // 4)
@given(rng=st.randoms(use_true_random=False), steps=st.integers(1, 30))
def test_short_histories_replay(rng: random.Random, steps: int) -> None:
    history = history_of(rng, None, steps)
    with history.memory as memory:
        live = memory.admin.digest()
        ends = [append.head.seq for append in appends_of(memory)]
        assert differences(history, ends[-8:], fresh_every=3) == []
        assert rebuilt_digest(memory.admin) == live
        assert memory.admin.digest() == live


def test_the_same_seed_gives_the_same_bytes() -> None:
    first, second = (history_of(random.Random(7), None, 200) for _ in range(2))
    assert list(first.memory._handle.space.pieces()) == list(second.memory._handle.space.pieces())
    first.memory.close()
    second.memory.close()


# --- controls


def test_control_one_changed_cell_is_seen(tmp_path: Path) -> None:
    """A cell of any table, changed behind the fold's back, changes the digest."""
    history = history_of(random.Random(11), tmp_path, 400)
    changes = [
        "UPDATE versions SET confidence = 0.1 WHERE seq = (SELECT MAX(seq) FROM versions)",
        "UPDATE versions SET until = until - 1 WHERE seq = (SELECT MIN(seq) FROM versions)",
        "UPDATE episodes SET said_at = '2020' WHERE seq = (SELECT MIN(seq) FROM episodes)",
        "UPDATE links SET weight = weight / 3",
        "DELETE FROM hidden WHERE seq = (SELECT MIN(seq) FROM hidden)",
        "DELETE FROM tags WHERE seq = (SELECT MIN(seq) FROM tags)",
        "UPDATE commands SET active_us = active_us + 1 WHERE seq = (SELECT MAX(seq) FROM commands)",
        "UPDATE erased SET by = by - 1",
        "DELETE FROM evidence WHERE seq = (SELECT MIN(seq) FROM evidence)",
    ]
    with history.memory as memory:
        for change in changes:
            live = memory.admin.digest()
            with sqlite3.connect(tmp_path / "index.db") as connection:
                assert connection.execute(change).rowcount > 0, change
            connection.close()
            assert memory.admin.digest() != live, change
            assert rebuilt_digest(memory.admin) == live, change


def test_control_a_fold_that_changes_its_mind_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """If replaying did anything else than living did, rebuild and past would both show it."""
    history = history_of(random.Random(12), None, 300)
    with history.memory as memory:
        live, head = memory.admin.digest(), memory.events.position
        assert differences(history, [head], fresh_every=1) == []
        monkeypatch.setattr(Shadows, "follow", lambda *versions: [])
        assert f"at {head}: digest" in differences(history, [head], fresh_every=1)
        assert rebuilt_digest(memory.admin) != live


def test_control_every_position_has_a_digest_of_its_own() -> None:
    history = history_of(random.Random(13), None, 150)
    with history.memory as memory:
        ends = [append.head.seq for append in appends_of(memory)]
        digests = {memory.at(end).admin.digest() for end in ends}
        assert len(digests) == len(ends)
