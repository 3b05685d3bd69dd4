"""The question sets A, B, B', C and D, read from a folder of public data.

Responsible for turning each file into haystacks of turns and questions about them. Leaves who may
read which question to ``splits``. Invariant: nothing that distinguishes a gold turn (its id, its
session's name, a flag) is indexed: sessions get new numbers, and only the judge sees ``ref``.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from benchmarks.recall.splits import Question, of_beam, of_locomo, of_longmemeval
from recollect.model.events import Role

Grain = Literal["turn", "session"]

# LoCoMo writes a turn's id in a few ways, several of them in one string at times.
_TURN_ID: Final = re.compile(r"D:?(\d+):0*(\d+)")
# BEAM ends a user's turn with the number of its plan's step, which is not part of the text.
_PLAN_STEP: Final = re.compile(r"\s*->->\s*[\d,\s]+$")


class Turn(NamedTuple):
    """One message. ``ref`` names it (or its session) to the judge and is never indexed."""

    text: str
    role: Role
    session: str
    at: str | None
    ref: str
    speaker: str | None = None


class QuestionSet(NamedTuple):
    """Haystacks, questions about them, and what is ranked: turns or sessions."""

    name: str
    ranks: Grain
    haystacks: dict[str, list[Turn]]
    questions: list[Question]


def load(data: Path, names: Iterable[str]) -> Iterator[QuestionSet]:
    """The sets of these names, one after the other."""
    for name in names:
        yield LOADERS[name](data)


def pooled(data: Path) -> QuestionSet:
    """A: LongMemEval, the gold sessions of all questions in one haystack, without dates."""
    rows = json.loads((data / "longmemeval_oracle.json").read_text("utf-8"))
    sessions: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        sessions.update(zip(row["haystack_session_ids"], row["haystack_sessions"], strict=True))
    turns = [
        Turn(turn["content"], turn["role"], f"s{number}", None, name)
        for number, name in enumerate(sorted(sessions, key=_shuffled))
        for turn in sessions[name]
    ]
    questions = [_longmemeval(row, "pool", dated=False) for row in rows]
    return QuestionSet("A", "session", {"pool": turns}, questions)


def heads(data: Path) -> QuestionSet:
    """D: LongMemEval-S, each question with its own sessions, cut to 500 characters each."""
    with (data / "longmemeval_s_head500.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    haystacks = {
        f"d{number}": [
            Turn(text, "user", f"s{place}", _lme_date(date), name)
            # The file is in the order of another ranking, so we order by the dates.
            for place, (name, date, text) in enumerate(sorted(row["items"], key=_by_date))
        ]
        for number, row in enumerate(rows)
    }
    questions = [_longmemeval(row, f"d{number}", dated=True) for number, row in enumerate(rows)]
    return QuestionSet("D", "session", haystacks, questions)


def chats(data: Path) -> QuestionSet:
    """B: LoCoMo, turns of a conversation between two people."""
    haystacks: dict[str, list[Turn]] = {}
    questions: list[Question] = []
    for number, talk in enumerate(_locomo(data), start=1):
        haystack = haystacks[f"l{number}"] = list(locomo_turns(talk["conversation"]))
        known = {turn.ref for turn in haystack}
        for place, row in enumerate(talk["qa"]):
            gold = known.intersection(turn_ids(row["evidence"]))
            if gold:
                questions.append(_locomo_question(number, place, row, gold))
    return QuestionSet("B", "turn", haystacks, questions)


def chat_sessions(data: Path) -> QuestionSet:
    """B': the same questions, asked of whole sessions."""
    turns = chats(data)
    haystacks = {
        name: [turn._replace(ref=_session_of(turn.ref)) for turn in haystack]
        for name, haystack in turns.haystacks.items()
    }
    questions: list[Question] = []
    for number, talk in enumerate(_locomo(data), start=1):
        known = {turn.ref for turn in haystacks[f"l{number}"]}
        for place, row in enumerate(talk["qa"]):
            named = known.intersection(map(_session_of, turn_ids(row["evidence"])))
            if named:
                questions.append(_locomo_question(number, place, row, named))
    return QuestionSet("B'", "session", haystacks, questions)


def projects(data: Path) -> QuestionSet:
    """C: BEAM-100K, turns of long working chats with an assistant."""
    haystacks: dict[str, list[Turn]] = {}
    questions: list[Question] = []
    for path in sorted((data / "beam100k").glob("*.chat.json"), key=_number_of):
        number = _number_of(path)
        haystacks[f"c{number}"] = list(_beam_turns(json.loads(path.read_text("utf-8"))))
        asked = json.loads((path.parent / f"{number}.questions.json").read_text("utf-8"))
        for category, rows in asked.items():
            for place, row in enumerate(rows):
                gold = {str(item) for item in _flat(row.get("source_chat_ids"))}
                if gold:
                    questions.append(
                        Question(
                            f"c{number}-{category}-{place}",
                            row["question"],
                            gold,
                            category=category,
                            haystack=f"c{number}",
                            part=of_beam(number),
                        )
                    )
    return QuestionSet("C", "turn", haystacks, questions)


LOADERS: Final[dict[str, Callable[[Path], QuestionSet]]] = {
    "A": pooled,
    "B": chats,
    "B'": chat_sessions,
    "C": projects,
    "D": heads,
}


def whole_sessions(turns: Iterable[Turn], roles: frozenset[str]) -> list[Turn]:
    """Each session as one text of those roles' words; a session without any is left out."""
    of: dict[str, list[Turn]] = {}
    for turn in turns:
        if turn.role in roles:
            of.setdefault(turn.session, []).append(turn)
    return [
        said[0]._replace(text="\n".join(turn.text for turn in said), role="user")
        for said in of.values()
    ]


def _longmemeval(row: dict[str, Any], haystack: str, *, dated: bool) -> Question:
    name = row["question_id"]
    abstains = name.endswith("_abs")
    return Question(
        name,
        row["question"],
        row["answer_session_ids"],
        category="abstention" if abstains else row["question_type"],
        haystack=haystack,
        part=of_longmemeval(name),
        asked_at=_lme_date(row["question_date"]) if dated else None,
    )


def _locomo_question(number: int, place: int, row: dict[str, Any], gold: set[str]) -> Question:
    return Question(
        f"l{number}-{place}",
        row["question"],
        gold,
        category=str(row["category"]),
        haystack=f"l{number}",
        part=of_locomo(number),
    )


def _locomo(data: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((data / "locomo10.json").read_text("utf-8"))
    return found


def locomo_turns(conversation: dict[str, Any]) -> Iterator[Turn]:
    for key, said in conversation.items():
        if not isinstance(said, list):
            continue
        at = _instant(conversation[f"{key}_date_time"], "%I:%M %p on %d %B, %Y")
        for turn in said:
            picture = f"\n[shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            yield Turn(
                turn["text"] + picture,
                "user",  # both are people
                key,
                at,
                turn_ids([turn["dia_id"]])[0],
                turn["speaker"],
            )


def _beam_turns(batches: list[dict[str, Any]]) -> Iterator[Turn]:
    for batch in batches:
        at: str | None = None
        for turn in (turn for group in batch["turns"] for turn in group):
            if turn.get("time_anchor"):
                at = _instant(turn["time_anchor"], "%B-%d-%Y")
            text = _PLAN_STEP.sub("", turn["content"])
            yield Turn(text, turn["role"], f"s{batch['batch_number']}", at, str(turn["id"]))


def turn_ids(evidence: Iterable[str]) -> list[str]:
    return [f"{session}:{turn}" for text in evidence for session, turn in _parts(text)]


def _parts(text: str) -> list[tuple[int, int]]:
    return [(int(session), int(turn)) for session, turn in _TURN_ID.findall(text)]


def _session_of(turn_id: str) -> str:
    return turn_id.partition(":")[0]


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _flat(item)
    elif value is not None:
        yield value


def _number_of(path: Path) -> int:
    return int(path.name.partition(".")[0])


def _by_date(item: list[str]) -> tuple[str, str]:
    return item[1], _shuffled(item[0])


def _shuffled(name: str) -> str:
    """An order that says nothing about who is gold."""
    return hashlib.sha256(name.encode()).hexdigest()


def _lme_date(text: str) -> str:
    return _instant(text, "%Y/%m/%d (%a) %H:%M")


def _instant(text: str, form: str) -> str:
    return datetime.strptime(text, form).replace(tzinfo=UTC).isoformat()
