"""The page says what the report says, its plots can be drawn, and peers that fail are named."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from benchmarks import engine, page, peers, plots
from benchmarks.growth import OPERATIONS, Curve
from benchmarks.measures import Throughput
from benchmarks.peers import Comparison, Peer, Result, Running
from benchmarks.report import AIMS, RATIOS, Report, Served

CURVE = Curve(
    records=(1_000, 1_000_000),
    bare_us=(111.0, 222.0),
    ours_us=(333.0, 444.0),
    bare_mean_us=(112.0, 555.0),
    ours_mean_us=(334.0, 666.0),
    bare_growth=2.01,
    ours_growth=1.34,
    growth_ratio=0.67,
    costs=(3.0, 2.0),
    clock="thread",
)
SERVED = Served(
    remember_ratio=0.41,
    bulk_ratio=0.52,
    spaces_growth=1.12,
    wake_cost_40=1.61,
    wake_cost_1000=1.62,
    wake_cost_10000=1.63,
    wake_folded_cost=1.15,
    awake_kb=123.4,
    recall_over_files=9.87,
    context_over_files=0.81,
    recall_ms=17.1,
    room_over_ledger=1.03,
    room_alone_over_ledger=1.02,
    aims={},
    reached={"recall_over_files": False, "bulk_ratio": True},
    medians_us={},
    measured_at={},
    server="18.4",
    machine={},
)
FOUND = Report(
    **{aim.name: 0.77 for aim in RATIOS},  # type: ignore[arg-type]  # all of them floats
    text_recall_cost_1k=4.11,
    text_recall_cost_10k=8.92,
    text_recall_cost_100k=3.63,
    text_recall_cost_1m=None,
    write_growth_ratio=1.33,
    recall_growth_ratio=0.91,
    open_growth=1.11,
    group_commit_gain_8_threads=1.71,
    rss_mb_rebuild_1m=188.0,
    aims={aim.name: aim.aim for aim in AIMS if aim.aim is not None},
    reached={"write_growth_ratio": False, "open_growth": True},
    quartiles={aim.name: (0.71, 0.79) for aim in RATIOS if not aim.mean_of},
    clocks={aim.name: "wall" for aim in RATIOS},
    measured_at={"recall_ratio": 10_000},
    medians_us={aim.name: {"bare": 432.1, "ours": 1_234.0} for aim in RATIOS},
    rounds={aim.name: 5 for aim in RATIOS},
    sizes=CURVE.records,
    growth={operation.name: CURVE for operation in OPERATIONS},
    group=Throughput(threads=(1, 8), writes_per_s=(2_100.0, 3_591.0), gain=(1.0, 1.71)),
    machine={
        "python": "3.11.7",
        "sqlite": "3.40.1",
        "system": "Linux x86_64",
        "cpu_count": 2,
        "memory_gb": 24,
        "file_system": "ext4",
        "journal": "no",
        "load": "0.3",
    },
    commit="abc1234",
    postgres=SERVED,
)
BESIDE = Comparison(
    date="2026-11-15",
    machine=FOUND.machine,
    records=(100, 1_000),
    peers=(
        Result(name="Ours", version="1.0", writes_per_s=(910.0, 9.1), recall_us=(82.0, 83.0)),
        Result(name="Broken", version="2.0", reason="write failed: no model"),
    ),
)


def test_the_page_holds_every_figure_and_says_what_was_missed() -> None:
    text = page.text(FOUND, BESIDE)
    for figure in ("0.77", "1.33", "0.91", "1.11", "1.71", "188", "432 µs", "1.23 ms", "444 µs"):
        assert figure in text
    missed = (
        "growth of a write, ours over bare",
        "recall among 50,000 records, over files",
    )
    assert f"2 of 4 aims are missed: {missed[0]}; {missed[1]} (PostgreSQL)." in text
    assert "| recall of 10,000, over bare | 8.92 × | ≤ 2.2 |" in text
    assert "recall of 1,000,000, over bare" not in text
    assert "| recall among 50,000 records, ms | 17.1 |" in text
    assert "| room of 50,000 records, over their ledger | 1.03 × | ≤ 1.6 |" in text
    assert "| file system | ext4, without a journal |" in text
    assert "| load before the run | 0.3 |" in text
    assert "| 910 | 9.1 |" in text
    assert "- Broken: write failed: no model" in text
    assert "| Broken |" not in text
    assert "Beside other memories" not in page.text(FOUND, None)


def test_what_was_skipped_is_named_with_its_reason() -> None:
    reasons = {"vector_recall_cost": "needs recollect[local]", "postgres": "no server"}
    found = msgspec.structs.replace(
        FOUND,
        vector_recall_cost=None,
        postgres=None,
        skipped=reasons,
        machine={**FOUND.machine, "journal": "unknown"},
    )
    text = page.text(found, None)
    assert "Skipped: recall, text and vectors: needs recollect[local]." in text
    assert "| recall, text and vectors |" not in text
    assert "## PostgreSQL\n\nSkipped: no server." in text
    assert "ext4, journal unknown" in text


def test_every_plot_is_shown_and_can_be_read(tmp_path: Path) -> None:
    (tmp_path / page.PEERS).write_bytes(msgspec.json.encode(BESIDE))
    page.write(FOUND, tmp_path)
    shown = set(re.findall(r"\]\((plots/\w+\.svg)\)", (tmp_path / page.PAGE).read_text("utf-8")))
    drawn = {path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("plots/*")}
    assert shown == drawn
    assert len(drawn) == len(OPERATIONS) + 1
    for path in drawn:
        text = (tmp_path / path).read_text("utf-8")
        assert ElementTree.fromstring(text).tag.endswith("svg")
    assert "444 µs" in (tmp_path / "plots/write.svg").read_text("utf-8")


def test_a_kept_report_makes_the_same_page(tmp_path: Path) -> None:
    kept = tmp_path / "report.json"
    kept.write_bytes(msgspec.json.encode(FOUND))
    assert page.main([str(kept), str(tmp_path)]) == 0
    assert (tmp_path / page.PAGE).read_text("utf-8") == page.text(FOUND, None)
    beside = (tmp_path / page.REPORT).read_bytes()
    assert msgspec.json.decode(beside, type=Report) == FOUND


def test_a_quick_run_writes_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(engine, "run", lambda *given: FOUND)
    engine.main(["--quick", "--page", str(tmp_path)])
    assert list(tmp_path.iterdir()) == []
    engine.main(["--page", str(tmp_path)])
    assert (tmp_path / page.PAGE).exists()
    assert "missed" in capsys.readouterr().out


@pytest.mark.parametrize("costs", [(0.4, 0.5), (95.0, 105.0), (188.0, 24_000.0), (3e6, 4e6)])
def test_the_ticks_of_an_axis_hold_every_cost(costs: tuple[float, float]) -> None:
    ticks = plots.ticks_for(costs)
    assert ticks == sorted(ticks)
    assert ticks[0] <= costs[0] <= costs[1] <= ticks[-1]
    assert 3 <= len(ticks) <= 12


def test_labels_do_not_lie_on_each_other() -> None:
    assert plots._apart([50.0, 48.0, 200.0], 18) == [66.0, 48.0, 200.0]


def test_times_are_said_as_people_do() -> None:
    said = [plots.time_text(us) for us in (0.1234, 12.345, 432.1, 1_234, 45_678, 1_500_000)]
    assert said == ["0.123 µs", "12.3 µs", "432 µs", "1.23 ms", "45.7 ms", "1.5 s"]


def test_a_peer_that_gives_up_is_named_and_the_others_are_measured(tmp_path: Path) -> None:
    able = Peer("able", "", "def write(text): pass\ndef recall(question): pass")
    weak = Peer("weak", "", "def write(text): raise SystemExit('no more')\nrecall = write")
    running = [Running(peer, sys.executable, tmp_path / peer.name) for peer in (able, weak)]
    try:
        found = peers.compare(running, (3, 120))
    finally:
        for each in running:
            each.close()
    assert len(found["able"].writes_per_s) == len(found["able"].recall_us) == 2
    assert found["weak"].reason == "write failed: no more"
