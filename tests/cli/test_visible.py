"""Every verb that shows memory shows every character: none acts on a terminal, none hides."""

from __future__ import annotations

import json
import re

import pytest

from recollect.memory import Memory
from recollect.model import visible
from tests.cli.running import Shell
from tests.model.test_visible import DANGEROUS, SELECTORS

STYLES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")  # our own colours
# Every one of them but U+0000, which no memory takes, between letters, so that none belongs to a
# spelling.
EVIL = "deploy " + "".join(f"x{char}" for char in (*DANGEROUS[1:], *SELECTORS)) + "x end"


@pytest.fixture
def evil(shell: Shell) -> tuple[Shell, str, str, str]:
    """A memory with all of it in every place that takes words."""
    with Memory.open(shell.folder / ".recollect") as memory:
        heard = memory.observe(EVIL, role="user", metadata={"k\x9b": "\u202ev"})[0]
        record = memory.remember(
            EVIL, key="deploy.k\u202e", about="a\u200bb", tags=["t\u202e"], evidence=[heard.id]
        )
        memory.revise(record.id, EVIL + " more", reason="because \x9b31m \u202e")
        context = memory.context("deploy end", tokens=20_000)
        memory.admin.flush()
        assert context.receipt
        return shell, record.id, heard.id, context.receipt


def verbs(record: str, episode: str, receipt: str) -> list[tuple[str, ...]]:
    return [
        ("list",),
        ("list", "--unit", "episode"),
        ("recall", "deploy end"),
        ("recall", "deploy end", "--explain"),
        ("context", "deploy end", "--tokens", "20000"),
        ("show", record),
        ("show", episode),
        ("admin", "why-not", record, "zebra"),
        ("context", "--replay", receipt),
        ("status",),
        ("remember", EVIL[:3000]),
        ("revise", record, "deploy \u202e\x9b\u200b later", "--reason", "x\u202e"),
        ("forget", record, "--reason", "\u202e\x9b"),
    ]


def left(text: str) -> set[str]:
    return set(STYLES.sub("", text)) & {*DANGEROUS, *SELECTORS} - {"\r"}


def test_nothing_of_it_reaches_a_terminal(evil: tuple[Shell, str, str, str]) -> None:
    shell, *ids = evil
    for words in verbs(ids[0], ids[1], ids[2]):
        ran = shell.run(*words)
        assert left(ran.out + ran.err) == set(), words
    listed = shell.run("list").out + shell.run("list", "--unit", "episode").out
    assert "[U+202E]" in listed
    assert "[U+200B]" in listed


def test_a_program_gets_the_same_text_and_no_sign_of_it(evil: tuple[Shell, str, str, str]) -> None:
    shell, *ids = evil
    for words in verbs(ids[0], ids[1], ids[2]):
        ran = shell.run(*words, "--json")
        assert left(ran.out + ran.err) == set(), words
        json.loads(ran.out or "{}")
    assert shell.run("show", ids[1], "--json").json["episode"]["text"] == EVIL
    refused = shell.run("show", "no\u202e\x9bsuch", "--json")
    assert left(refused.err) == set()


def test_a_context_says_what_it_shows_as_marks(evil: tuple[Shell, str, str, str]) -> None:
    ran = evil[0].run("context", "deploy end", "--tokens", "20000")
    assert "shown as marks" in ran.err
    assert left(ran.out) == set()


def test_without_the_guard_they_would(
    evil: tuple[Shell, str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: the tests above see what they should see."""
    from recollect.interfaces.cli import answer, plain

    monkeypatch.setattr(plain, "shown", lambda text: text)
    monkeypatch.setattr(answer, "escaped", lambda text: text)
    assert "\u202e" in left(evil[0].run("list").out)
    assert "\x9b" in left(evil[0].run("show", evil[1], "--json").out)
    assert visible.shown("\u202e") != "\u202e"
