"""The everyday sets, and the figures about them."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from benchmarks import everyday
from benchmarks.everyday import Asked, EverydaySet, Told, load, measure, table
from benchmarks.recall import reliability
from benchmarks.recall.reliability import calibration_error, curve, first_hits, picture

SMALL = EverydaySet(
    memories=(
        Told("record", "Standup is at 9:30.", key="standup.time"),
        Told("episode", "The cello is in the attic.", session="s", said_at="2026-01-01T00:00:00Z"),
        Told("record", "Standup is at 10:15.", key="standup.time"),
    ),
    questions=(Asked("when is standup?", ("10:15",)), Asked("what do cats eat?", ("fish",))),
    unanswerable=("who is our CEO?",),
    coding_prompts=("rename the variable", "when is standup?"),
)


def test_figures_of_a_small_set(tmp_path: Path) -> None:
    found = measure(SMALL, "none", tmp_path)
    assert (found.hit_at_1, found.hit_at_3, found.hook_handed_over) == (1, 1, 1)
    assert (found.missed, found.silent) == (["what do cats eat?"], ["what do cats eat?"])
    assert (found.unanswerable_answered, found.coding_prompts_answered) == (0, 1)
    assert found.spoke == ["when is standup?"]
    assert (found.strong_right, found.strong, found.recall_unanswerable_likely) == (1, 1, 0)
    assert found.hook_by_how == {"plain": "1/2"}


def test_the_second_set_has_sixty_of_each_and_every_answer_is_in_a_memory() -> None:
    second = load(everyday._SECOND)
    assert len(second.questions) == len(second.coding_prompts) == 60
    for asked in second.questions:
        assert any(asked.is_in(told.text) for told in second.memories), asked.q


def test_a_third_of_the_questions_of_the_third_set_is_asked_loosely() -> None:
    third = load(everyday._THIRD)
    assert len(third.memories) == len(third.questions) + len(third.unanswerable) == 60
    assert sum(asked.how != "plain" for asked in third.questions) == 20
    for asked in third.questions:
        assert any(asked.is_in(told.text) for told in third.memories), asked.q
        assert not asked.is_in(asked.q)


def test_one_set_can_be_asked_for_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(everyday, "INSTALLS", {"base": "none"})
    path = tmp_path / "set.json"
    path.write_bytes(msgspec.json.encode(SMALL))
    assert everyday.main(["--only", "second", "--second", str(path), "--json"]) == 0
    report = msgspec.json.decode(capsys.readouterr().out, type=everyday.Report)
    assert list(report.sets) == ["second"]
    assert "1/2" in table(report)


def test_the_calibration_error_is_the_mean_distance() -> None:
    hits = [(0.9, 1.0), (0.8, 1.0), (0.3, 0.0), (0.2, 1.0)]
    points = curve(hits, bins=2)
    assert [point.right for point in points] == [0.5, 1.0]
    assert [point.relevance for point in points] == pytest.approx([0.25, 0.85])
    assert calibration_error(points) == pytest.approx((0.25 + 0.15) / 2)
    assert calibration_error(curve([])) == 0.0
    assert picture({"text": points}).count("<circle") == 2


def test_only_first_hits_of_test_questions_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"part": part, "ranked": ranked, "top": 0.8, "marks": {"any@1": 1.0}}
        for part, ranked in (("test", ["x"]), ("dev", ["x"]), ("test", []))
    ]
    (tmp_path / "A.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert first_hits(tmp_path) == [(0.8, 1.0)]
    drawn = tmp_path / "curve.svg"
    assert reliability.main([f"text={tmp_path}", "--svg", str(drawn), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["text"]["error"] == pytest.approx(0.2)
    assert drawn.read_text().startswith("<svg")
    assert reliability.main([f"text={tmp_path}"]) == 0
    assert "right 1.00" in capsys.readouterr().out
