"""Hooks whose project's memory is on a server: they see what their token shows, and no more."""

from __future__ import annotations

from pathlib import Path

from recollect.assistants import prompts
from recollect.assistants.capture import captured
from recollect.config import Places, places
from recollect.memory import Memory
from tests.assistants.session import SAID, recorded
from tests.postgres.conftest import make_token


def at(url: str, home: Path, token: str) -> Places:
    environment = {"RECOLLECT_STORE": url, "RECOLLECT_TOKEN": token}
    return places(start=home, home=home, environment=environment)


def test_a_session_is_captured_and_asked_about(url: str, tmp_path: Path) -> None:
    with Memory.open(url, space="team") as owner:
        owner.remember("The team drinks tea at four.")
    token = make_token(url, "hooks", space="team")
    where = at(url, tmp_path, token)
    path = recorded().write(tmp_path / "t.jsonl")
    assert captured(where, path, space="team").kept == len(SAID)
    assert captured(where, path, space="team").kept == 0
    told = prompts.for_prompt(where, "which staging database port", tokens=500, space="team")
    assert "5433" in told
    assert "drinks tea" in prompts.for_session(where, tokens=500, space="team")


def test_a_token_for_one_user_shows_nothing_of_another(url: str, tmp_path: Path) -> None:
    with Memory.open(url, space="team") as owner:
        owner.scoped(user="alice").remember("Alice keeps the spare key under the stone.")
        owner.scoped(user="bob").remember("Bob keeps the spare key in the drawer.")
        for number in range(5):  # of two texts, each word would be in most
            owner.remember(f"The train number {number} leaves at nine.")
    where = at(url, tmp_path, make_token(url, "bob", space="team", user="bob"))
    for told in (
        prompts.for_prompt(where, "where is the spare key kept", tokens=500, space="team"),
        prompts.for_session(where, tokens=500, space="team"),
    ):
        assert "drawer" in told
        assert "stone" not in told
