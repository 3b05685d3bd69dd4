"""What a person types in the chat corrects at once what that person stored before.

With the real commands: the command line, the prompt hook, and the server over real pipes.
"""

from __future__ import annotations

import json
import subprocess
import sys

import anyio
import pytest

from recollect import Memory
from tests.mcp.talking import Folder, Said, Talk, in_talk, talking

pytestmark = pytest.mark.ci

STAGING, MOVED = "Staging is on port 5432.", "Staging is on port 5433."
TYPED = "By the way, staging is on\n5433 now."
QUOTE = "staging is on 5433 now"


def command(folder: Folder, *words: str, given: object = None) -> str:
    """Runs the command line in the project, as a person or an assistant does."""
    done = subprocess.run(
        [sys.executable, "-m", "recollect", *words],
        cwd=folder.project,
        env=folder.environment,
        input=json.dumps(given).encode(),
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def prompt(folder: Folder, words: str) -> None:
    """A person types to the assistant, which runs the hook."""
    said = {"hook_event_name": "UserPromptSubmit", "prompt": words, "session_id": "s1"}
    said |= {"cwd": str(folder.project), "transcript_path": "/nowhere.jsonl"}
    command(folder, "context", "--hook", "--time-limit", "120", given=said)


def text_of(folder: Folder) -> str:
    """What the record under the key says."""
    with Memory.open(folder.project / ".recollect") as memory:
        return memory.get("staging.port").text


@pytest.fixture
def staged(folder: Folder) -> Folder:
    """A project whose owner said yes to storing sessions, and typed a fact on the command line."""
    command(folder, "init", "--yes")
    command(folder, "remember", STAGING, "--key", "staging.port")
    return folder


async def revise(talk: Talk, quote: str, text: str = MOVED) -> Said:
    return await talk.call("revise", id="staging.port", text=text, quote=quote)


def revised(folder: Folder, quote: str, text: str = MOVED) -> Said:
    """The same call to a server in this process."""
    said: list[Said] = []

    async def work(talk: Talk) -> None:
        said.append(await revise(talk, quote, text))

    in_talk(folder, work)
    return said[0]


def test_the_words_of_the_chat_correct_the_record_at_once(staged: Folder) -> None:
    async def run() -> None:
        async with talking(staged) as talk:
            assert (await revise(talk, QUOTE)).data["pending"]
            await anyio.to_thread.run_sync(prompt, staged, TYPED)
            done = await revise(talk, QUOTE)
            assert not done.is_error, done.text
            assert (done.data["trust"], done.data["status"]) == ("agent", "active")
            assert "note" not in done.data
            again = await revise(talk, QUOTE, "Staging is on the moon on 5433.")
            assert again.data["pending"]  # a quote opens one change
            assert (await talk.call("forget", id="staging.port")).data["pending"]
            found = await talk.ask("recall", query="which port is staging on?")
            assert found.data["hits"][0]["text"] == MOVED
            assert found.data["hits"][0]["sources"][0]["quote"] == TYPED

    anyio.run(run)


def test_remember_with_a_key_replaces_it_at_once(staged: Folder) -> None:
    prompt(staged, TYPED)

    async def work(talk: Talk) -> None:
        given = {"text": MOVED, "key": "staging.port"}
        held = await talk.ask("remember", **given, quote="staging moved to 5433")
        assert held.data["status"] == "waiting"
        assert "were not found in what the user typed" in held.text
        assert "a quote of what they said" in held.text
        done = await talk.ask("remember", **given, quote=QUOTE)
        assert done.data["status"] == "active"
        assert done.data["replaced"]
        fresh = await talk.ask("remember", text="Staging is big.", quote="it is big")
        assert fresh.data["status"] == "active"  # a new fact is not lost
        assert "were not found in what the user typed" in fresh.text

    in_talk(staged, work)
    assert text_of(staged) == MOVED


@pytest.mark.parametrize(
    ("typed", "quote", "text", "hint"),
    [
        (TYPED, "staging is on 5434 now", MOVED, "were not found"),
        (TYPED, "Staging is on 5433 now", MOVED, "were not found"),
        (TYPED, "By the way, staging", MOVED, "with a word that the change adds"),
        (TYPED, QUOTE, "Staging is on port 6000.", "with a word that the change adds"),
    ],
    ids=["words that were not typed", "another case", "no new word", "another new word"],
)
def test_other_words_change_nothing(
    staged: Folder, typed: str, quote: str, text: str, hint: str
) -> None:
    prompt(staged, typed)
    waits = revised(staged, quote, text)
    assert waits.data["pending"]
    assert hint in waits.text
    assert text_of(staged) == STAGING


def test_words_of_before_the_record_change_nothing(folder: Folder) -> None:
    command(folder, "init", "--yes")
    prompt(folder, TYPED)
    command(folder, "remember", STAGING, "--key", "staging.port")
    assert revised(folder, QUOTE).data["pending"]
    prompt(folder, "Really, 5433 it is.")  # the control
    assert "pending" not in revised(folder, "5433 it is").data


def test_words_of_an_assistant_change_nothing(staged: Folder) -> None:
    async def work(talk: Talk) -> None:
        await talk.ask("observe", text=TYPED, role="user")
        await talk.ask("observe", text=TYPED, role="assistant")

    in_talk(staged, work, "all")
    waits = revised(staged, QUOTE)
    assert waits.data["pending"]
    assert "were not found" in waits.text
    assert text_of(staged) == STAGING
