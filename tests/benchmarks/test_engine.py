"""The engine's benchmark runs, reports what it promises, and cannot drift from what is written."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import msgspec
import pytest

from benchmarks import bare, engine, growth, measures, reads, report
from benchmarks.bare import rows_of
from benchmarks.ledgers import write_ledger
from benchmarks.machine import Mount, journal
from benchmarks.report import Report
from benchmarks.sentences import sentences
from benchmarks.timing import PROCESS, THREAD, WALL, Clock, Paired, in_turns
from recollect import Memory

TINY = measures.Sizes(
    write_rounds=2,
    writes=2,
    bulk_rounds=1,
    batch=300,
    verify_rounds=1,
    verify_events=60,
    long_rounds=1,
    long_events=80,
    rebuild_rounds=1,
    rebuild_events=60,
    cold_rounds=1,
    read_rounds=1,
    reads=2,
    read_records=100,
    chats=60,
    sessions=6,
    vector_rounds=1,
    vectors=60,
    group_rounds=1,
    group_writes=8,
    records=(100, 300),
    growth_rounds=1,
    growth_writes=2,
    growth_recalls=1,
    growth_reads=1,
    server="",
)
AIMED = (
    "write_ratio",
    "write_mean_ratio",
    "write_read_ratio",
    "bulk_ratio",
    "verify_ratio",
    "verify_long_ratio",
    "rebuild_ratio",
    "cold_cli_ratio",
    "cold_cli_local_ratio",
    "hook_after_write_ratio",
    "chat_recall_ratio",
    "vector_recall_cost",
    "unembedded_recall_cost",
    "context_cost",
    "text_recall_cost_1k",
    "text_recall_cost_10k",
    "text_recall_cost_100k",
    "text_recall_cost_1m",
    "write_growth_ratio",
    "recall_growth_ratio",
    "open_growth",
    "group_commit_gain_8_threads",
    "rss_mb_rebuild_1m",
)


class Counting(engine.Steps):
    def __init__(self) -> None:
        self.said: list[str] = []
        self.done = 0

    def begin(self, what: str) -> None:
        self.said.append(what)

    def advance(self) -> None:
        self.done += 1


def test_a_run_reports_every_figure_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = Counting()
    monkeypatch.setattr(engine, "QUICK", TINY)
    monkeypatch.setattr(engine, "_drawn", lambda total: nullcontext(steps))
    assert engine.main(["--json", "--quick", "--dir", str(tmp_path)]) == 0
    assert list(tmp_path.iterdir()) == []
    found = msgspec.json.decode(capsys.readouterr().out, type=Report)
    assert set(found.aims) == set(found.reached) == set(AIMED)
    for aim in report.RATIOS:
        figure = found.figure(aim)
        if aim.name in found.skipped:
            assert figure is None
            continue
        assert figure is not None
        assert 0 < figure < 1_000
        assert (aim.name in found.quartiles) is (aim.mean_of is None)
        low, high = found.quartiles.get(aim.name, (1, 1))
        assert 0 < low <= high
        assert found.medians_us[aim.name]["bare"] > 0
        assert found.medians_us[aim.name]["ours"] > 0
        assert found.rounds[aim.name] >= 1
    assert set(found.skipped) == {"unembedded_recall_cost"}
    assert "recalls make all vectors" in found.skipped["unembedded_recall_cost"]
    assert set(found.machine) == {
        *("python", "sqlite", "system", "cpu_count", "memory_gb", "file_system", "journal", "load")
    }
    assert found.clocks["write_ratio"] == "wall"
    assert found.clocks["recall_ratio"] == found.growth["recall"].clock == "thread"
    assert found.measured_at["chat_recall_ratio"] == TINY.chats
    assert found.sizes == TINY.records
    assert set(found.growth) == {operation.name for operation in growth.OPERATIONS}
    assert all(curve.records == TINY.records for curve in found.growth.values())
    assert found.rss_mb_rebuild_1m is not None
    assert 10 < found.rss_mb_rebuild_1m < 1_000
    assert steps.done == engine.steps_of(TINY)
    assert {aim.what for aim in report.RATIOS if not aim.mean_of} <= set(steps.said)
    sized = set(report.TEXT_RECALLS.values())
    assert {aim.name for aim in report.AIMS if aim.what not in report.table(found)} == sized


def test_a_run_can_be_of_some_figures_alone(tmp_path: Path) -> None:
    sizes = msgspec.structs.replace(TINY, records=(50, 1_000))
    found = engine.run(
        sizes, tmp_path, engine.Steps(), only=["write_mean_ratio", "text_recall_cost_1k"]
    )
    figures = {aim.name for aim in report.AIMS if found.figure(aim) is not None}
    assert figures == {
        *("write_ratio", "write_mean_ratio", "recall_growth_ratio"),
        *("text_recall_cost_1k", "rss_mb_rebuild_1m"),
    }
    assert found.text_recall_cost_1k == found.growth["recall"].costs[1]
    assert list(found.growth) == ["recall"]
    assert (found.group, found.postgres) == (None, None)


def test_a_memory_for_text_has_no_vectors_and_one_for_vectors_has_all(tmp_path: Path) -> None:
    with measures.filled(tmp_path / "text", 20) as memory:
        assert memory.admin.embed() == ()
    paired = reads.vectors(tmp_path, TINY, lambda: None)
    assert paired.clock == "thread"
    with Memory.open(tmp_path / "vectors", embedder="static") as memory:
        assert memory.admin.embed()[0].texts == 0


@pytest.mark.parametrize(("records", "is_enough"), [(50, False), (8_000, True)])
def test_missing_vectors_are_measured_while_they_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, records: int, is_enough: bool
) -> None:
    monkeypatch.setattr(reads, "UNEMBEDDED_MIN_RECORDS", records)
    sizes = msgspec.structs.replace(TINY, records=(records,))
    refused = pytest.raises(AssertionError, match="all vectors were made")
    with (
        growth.grown(tmp_path, sizes, lambda: None) as sides,
        nullcontext() if is_enough else refused,
    ):
        paired = reads.unembedded(sides[0], sizes, lambda: None)
        assert (len(paired.ours_s), paired.clock) == (1, "wall")


def test_chats_are_episodes_in_sessions(tmp_path: Path) -> None:
    reads.chats(tmp_path, TINY, lambda: None)
    with Memory.open(tmp_path / "chats") as memory:
        found = memory.sessions.episodes(limit=100)
    assert len(found) == TINY.chats
    assert len({episode.scope.session for episode in found}) == TINY.sessions
    assert {episode.role for episode in found} == {"user", "assistant"}


@pytest.mark.parametrize(
    ("kind", "options", "expected"),
    [
        ("ext4", "rw\ndelalloc\ndata=ordered\n", "yes"),
        ("ext4", "rw\ndelalloc\nnojournal_checksum\n", "no"),
        ("ext4", None, "unknown"),
        ("btrfs", None, "unknown"),
        ("tmpfs", None, "no"),
    ],
)
def test_the_journal_of_a_file_system_is_named(
    tmp_path: Path, kind: str, options: str | None, expected: str
) -> None:
    if options is not None:
        (tmp_path / "ext4" / "sda1").mkdir(parents=True)
        (tmp_path / "ext4" / "sda1" / "options").write_text(options)
    assert journal(Mount(kind, "sda1"), tmp_path) == expected


def test_another_row_set_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_few(*given: object) -> bare.Rows:
        rows = rows_of(*given)  # type: ignore[arg-type]  # passed on as they came
        return rows._replace(texts=[(doc, "other words", 0) for doc, *_ in rows.texts])

    monkeypatch.setattr(bare, "rows_of", too_few)
    with pytest.raises(AssertionError, match="out of date: recallable"):
        bare.check_row_set(tmp_path, sentences(5, seed=0))


def test_a_made_ledger_is_one_that_a_memory_goes_on_from(tmp_path: Path) -> None:
    write_ledger(tmp_path / "made", 2_500, seed=1)
    with Memory.open(tmp_path / "made") as memory:
        assert memory.events.position == memory.admin.verify().events == 2_500
        newest = memory.list(limit=1)[0]
        added = memory.remember("Something that comes after all of it.")
        assert added.at > newest.at
        assert added.id > newest.id


def test_growth_is_taken_round_by_round() -> None:
    seconds = {
        (0, "bare"): [[1.0, 1.0, 9.0], [10.0, 10.0, 90.0]],
        (1, "bare"): [[2.0, 2.0, 8.0], [20.0, 20.0, 80.0]],
        (0, "ours"): [[1.0, 1.0, 1.0], [10.0, 10.0, 10.0]],
        (1, "ours"): [[3.0, 3.0, 3.0], [30.0, 30.0, 30.0]],
    }
    curve = growth._curve([10, 1_000], seconds, THREAD)
    assert (curve.costs, curve.clock) == ((1.0, 1.5), "thread")
    assert (curve.bare_growth, curve.ours_growth, curve.growth_ratio) == (2.0, 3.0, 1.5)
    assert curve.bare_us == (5.5e6, 11e6)
    assert curve.bare_mean_us[0] == pytest.approx(121 / 6 * 1e6)


def test_an_aim_is_reached_from_its_better_side() -> None:
    speed, cost = report.Aim("s", "", 0.5), report.Aim("c", "", 2.0, is_cost=True)
    assert [speed.reached(figure) for figure in (0.4, 0.5, None)] == [False, True, None]
    assert [cost.reached(figure) for figure in (2.0, 2.1)] == [True, False]
    assert report.Aim("i", "", None).reached(1.0) is None


def test_sentences_are_fresh_and_repeatable() -> None:
    made = sentences(500, seed=7)
    assert len(set(made)) == 500
    assert made == sentences(500, seed=7)
    assert all(len(sentence.split()) == 15 for sentence in made)


def test_ratios_are_taken_round_by_round() -> None:
    paired = Paired(bare_s=(1.0, 10.0, 1.0), ours_s=(2.0, 20.0, 4.0), operations=10)
    assert paired.speed == 0.5
    assert paired.cost == 2.0
    assert paired.quartiles == (0.375, 0.5)
    assert paired.medians_us == {"bare": 1e5, "ours": 4e5}


def test_a_mean_counts_what_a_median_leaves_out() -> None:
    paired = Paired(bare_s=(1.0, 1.0, 1.0, 1.0), ours_s=(1.0, 1.0, 1.0, 5.0), operations=2)
    assert (paired.speed, paired.mean_speed) == (1.0, 0.5)
    assert paired.means_us == {"bare": 5e5, "ours": 1e6}
    mean = report.Aim("m", "", 0.8, mean_of="w")
    assert mean.figure(paired) == 0.5


def test_the_processor_clocks_do_not_count_a_wait() -> None:
    for clock in (THREAD, PROCESS, WALL):
        paired = in_turns(
            bare=lambda n: time.sleep(0.02),
            ours=lambda n: sum(range(200_000)),
            rounds=1,
            operations=1,
            clock=clock,
        )
        assert paired.clock == clock.name
        assert (paired.bare_s[0] > 0.015) is (clock is WALL)
        assert paired.ours_s[0] > 0


def test_the_process_clock_counts_children_that_ended() -> None:
    work = [sys.executable, "-c", "sum(range(3_000_000))"]
    paired = in_turns(
        bare=lambda n: None,
        ours=lambda n: subprocess.run(work, check=True),
        rounds=1,
        operations=1,
        clock=PROCESS,
    )
    assert paired.ours_s[0] > 0.01


def test_what_comes_before_a_turn_is_not_timed() -> None:
    ticks = [0]

    def take(count: int) -> None:
        ticks[0] += count

    paired = in_turns(
        bare=lambda n: take(1),
        ours=lambda n: take(2),
        rounds=2,
        operations=1,
        clock=Clock("ticks", lambda: ticks[0]),
        before=lambda n: take(100),
    )
    assert (paired.bare_s, paired.ours_s) == ((1, 1), (2, 2))
    assert ticks == [3 * (100 + 1 + 100 + 2)]


def test_both_sides_take_turns() -> None:
    order: list[tuple[str, int]] = []
    paired = in_turns(
        bare=lambda n: order.append(("bare", n)),
        ours=lambda n: order.append(("ours", n)),
        rounds=2,
        operations=1,
    )
    assert [side for side, _ in order] == ["ours", "bare", "bare", "ours", "ours", "bare"]
    assert [number for _, number in order] == [0, 0, 1, 1, 2, 2]
    assert len(paired.bare_s) == len(paired.ours_s) == 2
