"""What five users and a designer saw go wrong in their first hour, tried again as they did it.

Each test is named after the finding. H3, H6, M3, M6 to M10, M13 and M14 have tests beside the code
that they are about, and A4 has ``tests/finding/test_partly.py``.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect import Memory, Quote, Record
from tests.cli.running import Ran, Shell

pytestmark = pytest.mark.ci

PORT = "Staging is on port 6000."
OTHERS = (
    "We deploy from the release branch.",
    "The smoke tests take four minutes.",
    "Priya leads billing.",
    "I live in Porto.",
    "Ana owns the parser.",
)
TOLD = "Please remember that staging is on port 5433 and that we deploy from the release branch."


def prompt(shell: Shell, words: str, session: str = "s9") -> str:
    """A person types to an assistant, and the hook adds this to the prompt."""
    given = {"hook_event_name": "UserPromptSubmit", "prompt": words, "session_id": session}
    given |= {"cwd": str(shell.folder), "transcript_path": "/nowhere.jsonl"}
    words_ = ("context", "--hook", "--time-limit", "120")
    ran = shell.process(*words_, stdin=json.dumps(given))
    assert ran.code == 0, ran.err
    return str(ran.json["hookSpecificOutput"]["additionalContext"]) if ran.out.strip() else ""


def hits(ran: Ran) -> list[str]:
    found = [*ran.json["hits"]]
    return [(hit.get("record") or hit.get("episode") or hit)["text"] for hit in found]


@pytest.fixture
def memory(store: Shell) -> Memory:
    """The memory of the folder, as a person has it."""
    return Memory.open(store.folder / ".recollect")


def test_b1_a_question_is_not_its_own_answer(store: Shell) -> None:
    for text in OTHERS:
        store.run("remember", text)
    store.run("remember", PORT, "--key", "staging.port")
    for session, asked in enumerate(("what is the staging port", "whats the staging port")):
        prompt(store, asked, f"s{session}")
    prompt(store, "hey, what port was staging again? I need to fix the smoke test", "s2")
    for question in ("which port is staging on", "whats the staging port"):
        assert hits(store.run("recall", question, "-k", "1", "--json")) == [PORT]
    again = prompt(store, "hey, what port was staging again? I need to fix the smoke test", "s3")
    assert "6000" in again  # H5: the hook was silent
    assert "again?" not in again
    told = prompt(store, "fix the smoke test so it uses the staging port", "s4")
    assert not told or "6000" in told  # a question and an unrelated test were handed over
    for order in ("run the tests", "write a function that parses csv", "bump version to 2.1"):
        prompt(store, order, "s5")
    known = hits(store.run("recall", "what do you know about this project?", "--json"))
    assert not {"run the tests", "bump version to 2.1"} & set(known)


def test_b2_and_a1_a_persons_correction_stays(store: Shell, memory: Memory) -> None:
    agent = memory.scoped(trust="agent")
    seat = agent.remember("Alice sits in 12A.", key="alice.seat")
    assert store.run("revise", "alice.seat", "Alice sits in 2F.", "--json").code == 0
    assert memory.get(seat.id).trust == "person"
    assert agent.remember("Alice sits in 9Z.", key="alice.seat").status == "waiting"
    assert agent.revise(seat.id, "Alice sits in 12A.").pending
    assert memory.get(key="alice.seat").text == "Alice sits in 2F."


def test_b2_a_sentence_that_i_bring_back_is_mine(store: Shell, memory: Memory) -> None:
    region = memory.remember("Prod runs in Frankfurt.", key="prod.region")
    (said,) = memory.observe("prod is going to ireland")
    agent = memory.scoped(trust="agent")
    agent.revise(region.id, "Prod runs in Ireland.", evidence=[Quote(said.id, "ireland")])
    assert store.run("undo", "prod.region", "--to", str(region.seq)).code == 0
    now = memory.get(key="prod.region")
    assert (now.text, now.trust) == ("Prod runs in Frankfurt.", "person")


def _corrected(memory: Memory) -> None:
    """Two facts in one message, an echo of the assistant, and a correction of one of them."""
    session = memory.scoped(session="monday")
    (said,) = session.observe(TOLD)
    session.observe("Noted: staging is on port 5433; deploys come from release.", role="assistant")
    agent = memory.scoped(trust="agent")
    for key, text, words in (
        ("staging.port", "Staging is on port 5433.", "staging is on port 5433"),
        ("deploy.branch", "Deploys come from release.", "deploy from the release branch"),
    ):
        agent.remember(text, key=key, evidence=[Quote(said.id, words)])
    memory.remember(PORT, key="staging.port")


def test_h1_a_corrected_value_does_not_come_back_from_the_transcript(
    store: Shell, memory: Memory
) -> None:
    _corrected(memory)
    question = "what port is staging on?"
    for told in (store.run("context", question).out, prompt(store, question)):
        assert "6000" in told
        unmarked = [line for line in told.splitlines() if "5433" in line and "6000" not in line]
        assert unmarked == []


def test_h2_a_quote_opens_one_change(memory: Memory) -> None:
    region = memory.remember("Production runs in Frankfurt.", key="prod.region")
    (said,) = memory.observe("prod is going to ireland next month")
    agent, quote = memory.scoped(trust="agent"), Quote(said.id, "going to ireland")
    agent.revise(region.id, "Production runs in Ireland.", evidence=[quote])
    assert agent.revise(region.id, "Production runs in Dublin.").pending
    assert agent.remember("Production runs on the moon.", key="prod.region").status == "waiting"
    assert agent.forget(region.id).pending
    assert memory.get(key="prod.region").text == "Production runs in Ireland."


def _approved(memory: Memory) -> Record:
    """A value that came through a review, in the place of another."""
    memory.remember("The refund limit is 500 euros.", key="refund.limit")
    held = memory.scoped(trust="agent").remember(
        "The refund limit is 300 euros.", key="refund.limit"
    )
    memory.review.approve(held.id, memory.review.show(held.id).digest)
    return memory.get(key="refund.limit")


def test_m1_what_a_review_replaced_is_an_earlier_value(store: Shell, memory: Memory) -> None:
    new = _approved(memory)
    assert new.text == "The refund limit is 300 euros."
    found = memory.recall("what was the refund limit before?").hits
    assert "The refund limit is 500 euros." in [hit.text for hit in found]
    assert "500 euros" in store.run("show", new.id).out
    assert "500 euros" in store.run("proof", "audit", "--id", "refund.limit").out
    back = store.run("undo", "refund.limit", "--yes").out
    assert "500 euros" in back
    assert "waiting" not in back


def test_m4_an_answer_in_other_words_replaces_the_first(memory: Memory) -> None:
    chat = memory.scoped(session="bread")
    chat.observe("what hydration should I use for my bread?")
    chat.observe("70% is a good start for bread.", role="assistant")
    chat.observe("OK that worked, 75% it is from now on!")
    texts = [hit.text for hit in memory.recall("what hydration for my bread?").hits]
    assert "OK that worked, 75% it is from now on!" in texts
    assert "what hydration should I use for my bread?" not in texts


def test_m5_undo_takes_back_the_change_and_not_the_prompt(store: Shell, memory: Memory) -> None:
    memory.scoped(trust="agent").remember("The agent thinks so.")
    prompt(store, "By the way, the build is slow.")
    undone = store.run("undo", "--yes")
    assert (undone.code, "The agent thinks so." in undone.out) == (0, True)
    assert [one.text for one in memory.sessions.episodes()] == ["By the way, the build is slow."]


def test_m11_a_small_budget_hands_out_a_line(store: Shell, memory: Memory) -> None:
    memory.remember(PORT, key="staging.port")
    assert "6000" in store.run("context", "what port is staging on?", "--tokens", "50").out


def test_m12_an_earlier_value_ended_when_the_next_one_was_said(memory: Memory) -> None:
    for day, text in ((1, "Tea is at four."), (14, "Tea is at five.")):
        memory.remember(text, key="tea", said_at=datetime(2026, 10, day, tzinfo=UTC))
    found = memory.recall("when was tea before?").hits
    (until,) = [hit.until for hit in found if hit.until is not None]
    assert until.startswith("2026-10-14")


def test_b3_the_client_is_built_before_it_is_packed() -> None:
    package = Path(__file__).parents[2] / "clients" / "typescript" / "package.json"
    scripts = json.loads(package.read_text())["scripts"]
    assert "build" in scripts["prepack"]
