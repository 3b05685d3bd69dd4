"""The recall harness: what it may know, and that its figures are right."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.recall import sets
from benchmarks.recall.__main__ import main
from benchmarks.recall.contexts import main as contexts_main
from benchmarks.recall.contexts import run as contexts_run
from benchmarks.recall.contexts import table as contexts_table
from benchmarks.recall.encoders import Chosen, Kept
from benchmarks.recall.fit import WITHOUT, Asked, loss, observe, weights_of, without_each
from benchmarks.recall.metrics import damped, inside, marks, ndcg, sessions
from benchmarks.recall.run import Engine, run
from benchmarks.recall.sets import QuestionSet, Turn
from benchmarks.recall.splits import Leak, Part, Question, dev, fitting, of_longmemeval
from recollect import Memory
from recollect.recall.relevance import RANKING_SIGNALS
from recollect.recall.weights import WEIGHTS
from recollect.testing.embedders import WordEmbedder


def _question(part: str, id: str = "q") -> Question:
    return Question(
        id,
        "Where is the cello?",
        {"gold"},
        category="plain",
        haystack="h",
        part="dev" if part == "dev" else "test",
    )


def test_marks_of_a_ranking_worked_out_by_hand() -> None:
    found = marks(["x", "a", "y", "z", "w", "b"], {"a", "b"})
    assert (found["any@5"], found["all@5"], found["all@10"]) == (1.0, 0.0, 1.0)
    assert found["recall@5"] == 0.5
    assert found["ndcg@10"] == pytest.approx((0.63093 + 0.35621) / (1 + 0.63093), abs=1e-4)


def test_an_ideal_ranking_has_a_gain_of_one_even_if_more_than_ten_are_gold() -> None:
    gold = [str(number) for number in range(12)]
    assert ndcg(gold, gold) == pytest.approx(1.0)


def test_sessions_stand_by_their_best_hit_or_by_a_damped_sum() -> None:
    hits = [("one", 0.5), ("two", 0.45), ("two", 0.44), ("three", 0.1)]
    assert sessions(hits, None) == ["one", "two", "three"]
    assert sessions(hits, damped) == ["two", "one", "three"]


def test_what_is_inside_a_context_counts_each_place_once() -> None:
    assert inside(["x", "a", "a"], {"a", "b"}) == {"whole": 0.0, "held": 1.0, "needed": 2.0}
    assert inside(["b", "a"], {"a", "b"})["whole"] == 1.0
    with pytest.raises(ValueError, match="without gold"):
        inside(["a"], set())


def test_a_context_with_more_room_holds_more_of_the_evidence() -> None:
    turns = [
        Turn(f"The cello stood in room {n}.", "user", f"s{n}", None, f"r{n}") for n in range(9)
    ]
    asked = Question(
        "q",
        "Which rooms was the cello in?",
        {"r2", "r5"},
        category="plain",
        haystack="h",
        part="test",
    )
    dev_question = _question("dev", "d")
    questions = QuestionSet("X", "turn", {"h": turns}, [asked, dev_question])
    report = contexts_run([questions], Chosen(), legs="text", budgets=(60, 1_000))
    assert report.asked == {"X": 1}  # test questions alone
    few, all_of_it = report.sets["X"]["60"], report.sets["X"]["1000"]
    assert few.whole == 0.0
    assert 0 < few.used <= 60
    assert all_of_it.whole == 1.0
    assert all_of_it.by_places == {"2": 1.0}
    assert all_of_it.per_1000 == pytest.approx(2_000 / all_of_it.used)
    assert "1000" in contexts_table(report)


def test_the_contexts_of_a_set_are_measured_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_data(tmp_path)
    words = ["--data", str(tmp_path), "--sets", "A,D", "--legs", "text", "--json"]
    assert contexts_main(words) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report["sets"]) == {"A", "D"}
    assert report["asked"] == {"A": 1, "D": 1}
    assert report["sets"]["D"]["500"]["whole"] == 1.0


def test_a_test_question_gives_its_gold_to_nobody_but_is_judged() -> None:
    question = _question("test")
    with pytest.raises(Leak):
        _ = question.gold
    assert question.judge(["gold"])["all@5"] == 1.0
    assert _question("dev").gold == {"gold"}


def test_while_fitting_a_test_question_cannot_be_read_at_all() -> None:
    question = _question("test")
    with fitting():
        for read in (lambda: question.id, lambda: question.text, lambda: question.judge([])):
            with pytest.raises(Leak):
                read()
        assert [found.id for found in dev([question, _question("dev", "d")])] == ["d"]
    assert question.id == "q"


def test_one_longmemeval_question_in_five_is_dev() -> None:
    parts = [of_longmemeval(f"question-{number}") for number in range(2_000)]
    assert 340 < parts.count("dev") < 460


def test_nothing_that_is_indexed_tells_gold_from_the_rest(tmp_path: Path) -> None:
    write_data(tmp_path)
    for questions in sets.load(tmp_path, sets.LOADERS):
        for turns in questions.haystacks.values():
            for turn in turns:
                indexed = turn._replace(ref="")
                assert "answer_" not in repr(indexed)
                assert "has_answer" not in repr(indexed)
                if questions.name == "A":
                    assert turn.at is None


def test_ids_of_turns_are_read_in_every_way_they_are_written(tmp_path: Path) -> None:
    write_data(tmp_path)
    chats = next(iter(sets.load(tmp_path, ["B"])))
    assert [turn.ref for turn in chats.haystacks["l1"]] == ["1:1", "1:2", "2:1"]
    assert [question.gold for question in chats.questions] == [{"1:1", "2:1"}]
    by_session = next(iter(sets.load(tmp_path, ["B'"])))
    assert by_session.questions[0].gold == {"1", "2"}


def test_the_harness_asks_through_the_public_api_and_writes_every_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_data(tmp_path)
    main(["--data", str(tmp_path), "--json", "--out", str(tmp_path / "out")])
    report = json.loads(capsys.readouterr().out)
    assert report["asked"] == {"A": 1, "B": 1, "B'": 1, "C": 1, "D": 1}
    assert report["sets"]["C"]["dev"]["*"]["any@10"] == 1.0
    row = json.loads((tmp_path / "out" / "B.jsonl").read_text("utf-8"))
    assert row["ranked"][0] in {"1:1", "2:1"}


def test_a_ranking_that_ignores_the_question_is_marked_down() -> None:
    turns = [Turn(f"filler number {n}", "user", f"s{n}", None, f"r{n}") for n in range(40)]
    turns.append(Turn("the cello is in the attic", "user", "s40", None, "gold"))
    questions = QuestionSet("X", "turn", {"h": turns}, [_question("test")])

    class Blind(Engine):
        def rank(self, text: str, asked_at: str | None, k: int) -> list[tuple[int, float]]:
            return [(place, 0.0) for place in range(k)]

    def figure(fill: type[Engine]) -> float:
        report = run(
            [questions],
            lambda turns: fill(turns, Memory.open(":memory:")),
            about={"commit": "", "legs": "text", "session_score": "best"},
        )
        return report.sets["X"]["test"]["*"]["any@10"]

    assert figure(Engine) == 1.0
    assert figure(Blind) == 0.0


def write_data(folder: Path) -> None:
    said = [
        {"role": "user", "content": "My cello stands in the attic.", "has_answer": True},
        {"role": "assistant", "content": "Noted."},
    ]
    asked = {"question": "Where is my cello?", "question_date": "2023/05/23 (Tue) 19:11"}
    lme = {"question_id": "q1", "question_type": "single", "answer_session_ids": ["answer_1"]}
    oracle = {"haystack_session_ids": ["answer_1"], "haystack_sessions": [said]}
    items = [["answer_1", "2023/05/20 (Sat) 01:39", "My cello stands in the attic."]]
    talk = {
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "I bought a cello."},
            {"speaker": "Bo", "dia_id": "D1:2", "text": "Lovely!"},
        ],
        "session_2_date_time": "1:56 pm on 9 May, 2023",
        "session_2": [{"speaker": "Ann", "dia_id": "D2:01", "text": "The cello is red."}],
    }
    question = {"question": "What is Ann's cello like?", "category": 1, "evidence": ["D1:1; D:2:1"]}
    batch = {
        "batch_number": 1,
        "turns": [[{"role": "user", "id": 0, "content": "Tuning the cello today. ->-> 1,1"}]],
    }
    beam = {"ordering": [{"question": "When did I tune the cello?", "source_chat_ids": [[0]]}]}
    (folder / "beam100k").mkdir(exist_ok=True)
    for name, value in (
        ("longmemeval_oracle.json", [asked | lme | oracle]),
        ("longmemeval_s_head500.jsonl", asked | lme | {"items": items}),
        ("locomo10.json", [{"conversation": talk, "qa": [question]}]),
        ("beam100k/1.chat.json", [batch]),
        ("beam100k/1.questions.json", beam),
    ):
        (folder / name).write_text(json.dumps(value), "utf-8")


def test_fitting_reads_no_test_question() -> None:
    with fitting():
        observed = observe(_two_parts(), Chosen())
        fitted = weights_of("text", [observed["text"]])
    assert len(fitted.weights) == len(RANKING_SIGNALS)
    assert fitted.weights[RANKING_SIGNALS.index("words")] > 0


def test_a_fit_that_looks_at_test_questions_is_stopped() -> None:
    questions = _two_parts()
    with fitting(), pytest.raises(Leak):
        _ = [question.text for question in questions.questions]


def test_the_slope_of_the_loss_is_what_small_steps_say() -> None:
    rng = np.random.default_rng(7)
    asked = Asked(rng.random((6, 3)), np.array([0, 0, 1, 2, 2, 3]), np.array([0.0, 1.0, 1.0, 0.0]))
    point = rng.random(3)
    value, slope = loss(asked, point)
    for axis in range(3):
        step = np.zeros(3)
        step[axis] = 1e-6
        assert (loss(asked, point + step)[0] - value) / 1e-6 == pytest.approx(slope[axis], abs=1e-4)


def test_every_configuration_has_a_weight_for_every_signal() -> None:
    for legs, found in WEIGHTS.items():
        assert len(found.weights) == len(RANKING_SIGNALS)
        for name in WITHOUT[legs]:
            assert found.weights[RANKING_SIGNALS.index(name)] == 0.0


def test_a_set_that_alone_has_a_signal_is_lost_without_its_questions() -> None:
    def one(signal: str) -> Asked:
        rows = np.zeros((20, len(RANKING_SIGNALS)))
        rows[:, RANKING_SIGNALS.index(signal)] = [0.1] * 19 + [0.9]
        return Asked(rows, np.arange(20), np.array([0.0] * 19 + [1.0]))

    found = without_each("text", {"A": [one("words")], "B": [one("words")], "C": [one("coverage")]})
    assert found == {"A": (1.0, 1.0, 1), "B": (1.0, 1.0, 1), "C": (1.0, 0.0, 1)}


def test_what_an_embedder_gave_is_kept_and_given_again(tmp_path: Path) -> None:
    pieces = ["red cello", "blue harp", "red cello"]
    plain = WordEmbedder().embed(pieces)
    assert (Kept(WordEmbedder(), tmp_path).embed(pieces) == plain).all()
    again = Kept(_Spent(), tmp_path)
    assert (again.embed(pieces) == plain).all()
    with pytest.raises(AssertionError):
        again.embed(["never seen"])


class _Spent(WordEmbedder):
    def embed(self, pieces: Sequence[str]) -> NDArray[np.float32]:
        raise AssertionError("this was to be kept")


def rooms(things: Sequence[str], parts: Sequence[Part], turns_each: int = 1) -> QuestionSet:
    """A turn and a question about each thing; so many turns to a session, the parts by turns."""
    turns = [
        Turn(f"My {thing} stands in room {n}.", "user", f"s{n // turns_each}", None, thing)
        for n, thing in enumerate(things)
    ]
    questions = [
        Question(
            f"q{n}",
            f"Which room is my {thing} in?",
            {thing},
            category="plain",
            haystack="h",
            part=parts[n % len(parts)],
        )
        for n, thing in enumerate(things)
    ]
    return QuestionSet("X", "turn", {"h": turns}, questions)


def _two_parts() -> QuestionSet:
    return rooms("cello violin piano flute harp drum horn bell".split(), ("dev", "test"))
