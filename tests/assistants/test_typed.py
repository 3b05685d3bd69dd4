"""What a person types is kept at once as a person's word, once, without secrets, where allowed."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from recollect import Episode, Memory, Quote
from recollect.assistants import typed
from recollect.assistants.capture import captured
from recollect.config import Places, Settings
from recollect.memory.handle.handle import Handle, handle_of
from recollect.store.indexed.backend import MemorySpace
from recollect.testing.seams import FixedSeam
from tests.assistants.session import SESSION, Session, handed_out, text
from tests.assistants.test_hooks import Project, Ran, project

__all__ = ["project"]  # a fixture

MOVED = "The staging database is on port 5434 now."
LONG_S = ("--time-limit", "120")  # a machine that is busy keeps a prompt late, not never


def said_in(store: Path) -> list[Episode]:
    """All episodes, oldest first."""
    with Memory.open(store) as memory:
        return memory.sessions.episodes(include=["waiting", "hidden", "forgotten"])[::-1]


def test_a_prompt_is_kept_as_the_word_of_a_person(project: Project) -> None:
    answered = project.prompt("Which port has the staging database?", *LONG_S)
    assert "5433" in answered.context
    assert project.prompt(MOVED, *LONG_S).code == 0
    first, second = said_in(project.store)
    assert (second.text, second.role, second.trust) == (MOVED, "user", "person")
    assert (second.scope.session, second.scope.agent) == (SESSION, None)
    assert [first.id, second.id] == [f"prompt-{SESSION}-1", f"prompt-{SESSION}-2"]
    assert project.log == []
    ran = project.hook("context", *LONG_S, said={**project.common(), **GEMINI})
    assert (ran.code, said_in(project.store)[-1].text) == (0, "Gemini is told that, too.")


GEMINI = {"hook_event_name": "BeforeAgent", "prompt": "Gemini is told that, too."}


@pytest.mark.parametrize("words", ["yes, go ahead", "/remember staging", "", "x" * 16_001])
def test_what_says_nothing_or_was_pasted_is_not_kept(project: Project, words: str) -> None:
    assert project.prompt(words, *LONG_S).code == 0
    assert project.start().code == 0
    assert said_in(project.store) == []


def recalled(store: Path, query: str) -> list[str]:
    with Memory.open(store) as memory:
        return [hit.text for hit in memory.recall(query)]


QUESTION = "Which port has the staging database?"


def test_a_prompt_that_asks_is_kept_for_quoting_and_not_handed_over(project: Project) -> None:
    for session in ("one", "two"):
        said = {**project.common(), "session_id": session}
        said |= {"hook_event_name": "UserPromptSubmit", "prompt": QUESTION}
        answered = project.hook("context", *LONG_S, said=said)
        assert "5433" in answered.context
        assert QUESTION not in answered.context
    assert [each.text for each in said_in(project.store)] == [QUESTION, QUESTION]
    assert QUESTION not in recalled(project.store, QUESTION)
    with Memory.open(project.store) as memory:
        assert typed.quoted(memory, "port has the staging") is not None


def test_a_prompt_may_be_kept_as_memory_or_not_at_all(project: Project, tmp_path: Path) -> None:
    assert project.prompt(QUESTION, *LONG_S, "--prompts=none").code == 0
    assert said_in(project.store) == []
    assert project.prompt(QUESTION, *LONG_S, "--prompts", "memory").code == 0
    assert QUESTION in recalled(project.store, QUESTION)
    session = Session()
    session.user("Where is the cello?")
    session.assistant(text("In the attic."))
    path = session.write(tmp_path / "t.jsonl")
    project.end(path, *LONG_S, "--prompts=none")
    assert [each.text for each in said_in(project.store)] == [QUESTION, "In the attic."]
    project.end(path, *LONG_S, "--prompts=memory")
    assert "Where is the cello?" in recalled(project.store, "Where is the cello?")


def test_a_prompt_is_kept_only_where_sessions_may_be_stored(project: Project) -> None:
    shutil.copy(project.home / ".recollect" / "sessions.json", project.home / "yes.json")
    (project.home / ".recollect" / "sessions.json").unlink()
    assert "5433" in project.prompt("Which port has the staging database?", *LONG_S).context
    assert said_in(project.store) == []
    (project.home / "yes.json").rename(project.home / ".recollect" / "sessions.json")
    (project.home / ".recollect" / "known.json").unlink()
    assert project.prompt(MOVED, *LONG_S) == Ran(0, "", "")
    assert said_in(project.store) == []


def test_secrets_and_what_memory_handed_out_are_not_kept(project: Project) -> None:
    token = "ghp_aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zAaB3d"
    project.prompt(f"The token is {token}. {handed_out()}", *LONG_S)
    (kept,) = said_in(project.store)
    assert kept.text == "The token is [redacted:github-token]."
    files = [each for each in project.store.rglob("*") if each.is_file()]
    assert not [each for each in files if token.encode() in each.read_bytes()]


def test_a_session_that_is_captured_later_has_each_prompt_once(
    project: Project, tmp_path: Path
) -> None:
    session = Session()
    for words in ("Run the tests.", MOVED, "yes", "Run the tests."):
        project.prompt(words, *LONG_S)
        session.user(f"{words} {handed_out()}")
        session.assistant(text(f"Done: {len(session.lines)}."))
    session.user("No hook saw this.")
    path = session.write(tmp_path / "t.jsonl")
    for _ in range(2):
        project.end(path, *LONG_S)
        found = said_in(project.store)
        assert sorted(each.text for each in found if each.role == "user") == sorted(
            ["Run the tests.", MOVED, "Run the tests.", "yes", "No hook saw this."]
        )
        assert {each.text for each in found if each.trust == "person"} == {MOVED, "Run the tests."}
        assert len(found) == 9
    assert project.log[0].endswith("kept 6 of 9 messages")


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(Handle(MemorySpace("main", FixedSeam()), FixedSeam())) as memory:
        yield memory


def kept(memory: Memory) -> list[str]:
    return [each.text for each in memory.sessions.episodes()][::-1]


def test_two_hooks_for_one_prompt_keep_it_once(memory: Memory) -> None:
    assert typed.keep(memory, MOVED, "s")
    assert not typed.keep(memory, MOVED, "s")
    assert typed.keep(memory, MOVED, "another session")
    assert typed.keep(memory, "Something else.", "s")
    assert typed.keep(memory, MOVED, "s")  # typed again
    assert kept(memory) == [MOVED, MOVED, "Something else.", MOVED]


def test_the_same_words_later_are_said_again(memory: Memory) -> None:
    seam = handle_of(memory).seam
    assert isinstance(seam, FixedSeam)
    assert typed.keep(memory, MOVED, "s")
    seam.now_us += 10_000_000
    assert typed.keep(memory, MOVED, "s")
    assert kept(memory) == [MOVED, MOVED]


def test_many_prompts_are_numbered_without_a_gap(memory: Memory) -> None:
    for number in range(1, 40):
        assert typed.keep(memory, f"Prompt {number}", SESSION)
    assert [each.id for each in memory.sessions.episodes()][::-1] == [
        f"prompt-{SESSION}-{number}" for number in range(1, 40)
    ]
    assert typed.keep(memory, "An odd name", "a session/with blanks and ü")


def test_two_processes_that_take_the_same_number_both_keep_theirs(memory: Memory) -> None:
    def keep_many(name: str) -> None:
        for number in range(20):
            typed.keep(memory, f"Prompt {name} {number}", "s")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(keep_many, "ab"))
    assert len(kept(memory)) == len(set(kept(memory))) == 40


def test_an_erased_prompt_does_not_come_back(tmp_path: Path) -> None:
    store = tmp_path / "memory"
    places = Places(
        project=Settings(where=str(store), why="named"),
        personal=Settings(where=str(tmp_path / "home"), why="home"),
        named=True,
    )
    session = Session()
    with Memory.open(store) as memory:
        for words in ("Run the tests.", MOVED):
            typed.keep(memory.scoped(session=SESSION), words, SESSION)
            session.user(words)
        memory.forget(f"prompt-{SESSION}-1")
        memory.erase(f"prompt-{SESSION}-2")
    other = Session("other")
    other.user(MOVED)  # the control: what was said in another session is stored
    session.assistant(text("Noted."))
    session.lines += other.lines
    done = captured(places, session.write(tmp_path / "t.jsonl"))
    assert (done.kept, done.known) == (2, 2)
    with Memory.open(store) as memory:
        assert sorted(kept(memory)) == sorted(["Noted.", MOVED])
        assert {
            each.scope.session for each in memory.sessions.episodes() if each.text == MOVED
        } == {"other"}


def test_a_prompt_that_cannot_be_kept_is_answered_all_the_same(project: Project) -> None:
    with open(project.store / "ledger.lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ran = project.prompt("Which port has the staging database?", "--time-limit", "6")
    assert "5433" in ran.context
    assert (ran.code, ran.err) == (0, "")
    assert project.log[-1].endswith("context UserPromptSubmit failed TimeUp")


def test_the_prompts_of_this_session_are_not_handed_back(project: Project) -> None:
    project.prompt("The harbour crane opens at nine.", *LONG_S)
    asked = {"hook_event_name": "UserPromptSubmit", "prompt": "When does the harbour crane open?"}
    assert project.hook("context", *LONG_S, said={**project.common(), **asked}).out == ""
    later = {**project.common(), **asked, "session_id": "another"}
    assert "opens at nine" in project.hook("context", *LONG_S, said=later).context


def test_words_are_quoted_from_what_was_said_last(memory: Memory) -> None:
    seam = handle_of(memory).seam
    assert isinstance(seam, FixedSeam)
    memory.observe("It is port 5433.", id="a")
    memory.observe("Again: it is\n port 5433.", id="b")
    memory.observe("So it is port 5433!", role="assistant")
    memory.scoped(trust="agent").observe("The user says it is port 5433")
    assert typed.quoted(memory, "it  is port 5433") == Quote("b", "it  is port 5433")
    for words in ("port 5434", "It Is", " ", f"port 5433{' ' * 4_000}"):
        assert typed.quoted(memory, words) is None
    seam.now_us += 12 * 3_600 * 1_000_000
    assert typed.quoted(memory, "port 5433") is None
