"""The measurement of the check of learned sentences, on two small conversations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.recall.grounds import (
    Fact,
    exchanges,
    facts,
    main,
    observations,
    run,
    table,
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    talks = [
        _talk("Ann", "I went to Rome yesterday with 3 cats", "Ann went to Rome with 3 cats."),
        _talk("Bob", "Max and I left Oslo 5 days ago", "Bob left Oslo with Max 5 days ago."),
    ]
    (tmp_path / "locomo10.json").write_text(json.dumps(talks), "utf-8")
    return tmp_path


def _talk(speaker: str, text: str, observed: str) -> dict[str, object]:
    return {
        "conversation": {
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": speaker, "dia_id": "D1:1", "text": text},
                {"speaker": "Zoe", "dia_id": "D1:2", "text": "Nice!"},
            ],
        },
        "observation": {
            "session_1_observation": {speaker: [[observed, "D1:1"], [observed, ["D1:1", "D1:2"]]]}
        },
    }


def test_an_observation_has_the_turns_that_it_names_as_quotes(data: Path) -> None:
    one, both, *_ = observations(data)
    assert [said.text for said in one.grounds.quotes] == ["I went to Rome yesterday with 3 cats"]
    assert [said.speaker for said in one.grounds.around] == ["Zoe"]
    assert len(both.grounds.quotes) == 2
    assert one.facts == (Fact("number", "3", 22), Fact("name", "Rome", 12), Fact("name", "Ann", 0))


def test_facts_do_not_overlap() -> None:
    found = facts("Ann met Bob Hope on 7 May 2023 and two weeks ago.", {"Ann"})
    assert sorted(fact.text for fact in found) == ["7 May 2023", "Ann", "Bob Hope", "two weeks ago"]


def test_true_ones_pass_and_exchanged_ones_are_stopped(data: Path) -> None:
    observed = list(observations(data))
    report = run(observed, altered=40)
    assert report.true["all"].count == 4
    assert report.true["all"].stopped == 0
    assert report.exchanged["all"].count == 40
    assert report.exchanged["all"].stopped == 1
    assert "exchanged within" in table(report)


def test_an_exchange_changes_one_fact_and_repeats_itself(data: Path) -> None:
    observed = list(observations(data))
    made = list(exchanges(observed, 30, within=False))
    assert all(text != one.text for one, _, text in made)
    assert made == list(exchanges(observed, 30, within=False))


def test_the_program_prints_its_report(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(data), "--altered", "10", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["true"]["all"] == {"count": 4, "stopped": 0.0}
    assert main(["--data", str(data), "--altered", "10", "--show", "3"]) == 0
    assert "µs per check" in capsys.readouterr().out
