"""The page about recall's quality says what the reports say."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from benchmarks.recall.contexts import Held, WidthReport
from benchmarks.recall.page import PAGE, PICTURE, main
from benchmarks.recall.run import Report

FIGURES = ("any@5", "all@5", "any@10", "all@10", "recall@10", "ndcg@10")


def report(legs: str, value: float) -> Report:
    marks = dict.fromkeys(FIGURES, value)
    kinds = {"*": marks, "5": dict.fromkeys(FIGURES, 0.925), "event_ordering": marks}
    sets = {name: {"test": kinds, "all": kinds} for name in ("A", "B", "C", "D", "B'")}
    return Report(
        commit="abc1234",
        legs=legs,
        grain="turn",
        session_score="best",
        limit=None,
        macro=value,
        macro_of={},
        sets=sets,
        asked={},
        seconds={},
    )


@pytest.mark.parametrize(("full", "verdict"), [(0.761, "is reached"), (0.755, "is **missed**")])
def test_the_page_holds_every_configuration_and_says_whether_it_suffices(
    tmp_path: Path, full: float, verdict: str
) -> None:
    words = ["--docs", str(tmp_path)]
    for legs, value in (("text", 0.512), ("static", 0.634), ("full", full)):
        path = tmp_path / f"{legs}.json"
        path.write_bytes(msgspec.json.encode(report(legs, value)))
        words += [f"--{legs}", str(path)]
    held = Held(whole=0.654, used=987.6, per_1000=1.0, by_places={"1": 0.75, "4": 0.25})
    width = WidthReport(
        commit="abc1234", legs="static", asked={"B": 500}, sets={"B": {"1000": held}}
    )
    (tmp_path / "width.json").write_bytes(msgspec.json.encode(width))
    left = {"static": dict.fromkeys("ABCD", (0.75, 0.5, 9))}
    (tmp_path / "left.json").write_bytes(msgspec.json.encode(left))
    words += ["--contexts", str(tmp_path / "width.json"), "--without", str(tmp_path / "left.json")]
    assert main(words) == 0
    page = (tmp_path / PAGE).read_text("utf-8")
    assert "| `text` | 0.512 | 0.512 |" in page
    assert "| `static` | 0.634 |" in page
    assert f"| `full` | {full:.3f} |" in page
    assert verdict in page
    assert "| `static` | 0.750 → 0.500 (9) | 0.750 → 0.500 (9) |" in page
    assert "| B | `static` | 500 | 1,000 | 988 | 0.654 | 0.75 |  |  | 0.25 |" in page
    assert "any@10 0.925" in page
    assert "| C | event ordering |" in page
    drawn = (tmp_path / PICTURE).read_text("utf-8")
    assert drawn.count("<rect") == 5
    assert f"{full:.3f}" in drawn
