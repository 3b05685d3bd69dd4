"""A project's memory on a server, beside the person's own in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.assistants.mounts import Mounts
from recollect.assistants.place import Scoping
from recollect.config import places
from recollect.memory import Memory
from recollect.model.events import Trust
from tests.postgres.conftest import make_token


def mounts(url: str, home: Path, token: str, space: str = "team") -> Mounts:
    environment = {"RECOLLECT_STORE": url, "RECOLLECT_TOKEN": token}
    at = places(start=home, home=home, environment=environment)
    return Mounts(at, space=space, scope=Scoping(trust="agent"))


@pytest.fixture
def tokens(url: str) -> dict[str, str]:
    """One token for each trust, for the same space."""
    with Memory.open(url, space="team") as owner:
        owner.remember("The team is four people.")
    origins: tuple[Trust, ...] = ("person", "agent", "unverified")
    return {one: make_token(url, one, space="team", trust=one) for one in origins}


def test_a_project_on_a_server_and_me_in_a_folder(
    url: str, tmp_path: Path, tokens: dict[str, str]
) -> None:
    with mounts(url, tmp_path, tokens["person"]) as both:
        assert both.recall("tea").hits == ()
        made = both.remember("The team drinks tea.")
        assert (made.mount, made.value.trust) == ("project", "agent")
        both.remember("I drink tea, too.", mount="personal")
        assert {hit.mount for hit in both.recall("tea").hits} == {"project", "personal"}
        assert both.revise(made.value.id, "The team drinks coffee.").mount == "project"
        assert len(both.history(made.value.id).value) == 2


def test_a_credential_that_says_less_than_an_agent_is_believed(
    url: str, tmp_path: Path, tokens: dict[str, str]
) -> None:
    with mounts(url, tmp_path, tokens["agent"]) as agent:
        trusted = agent.remember("The team drinks tea.").value
    with mounts(url, tmp_path, tokens["unverified"]) as stranger:
        assert stranger.remember("The team drinks poison.").value.status == "waiting"
        assert [hit.value.id for hit in stranger.recall("drinks").hits] == [trusted.id]
        assert stranger.revise(trusted.id, "The team drinks poison.").value.pending
        assert [hit.value.text for hit in stranger.recall("drinks").hits] == [trusted.text]


def test_a_space_that_the_token_does_not_open_is_told_with_those_that_it_does(
    url: str, tmp_path: Path, tokens: dict[str, str]
) -> None:
    with mounts(url, tmp_path, tokens["agent"], space="taem") as wrong:
        (note,) = wrong.recall("team").notes
        assert "no space named 'taem'" in note
        assert note.endswith("opens: team")
        wrong.remember("I sit in 14C.", mount="personal")
        found = wrong.recall("14C")
        assert [hit.mount for hit in found.hits] == ["personal"]
        assert found.notes == (note,)  # without it the answer would look complete
    with mounts(url, tmp_path, tokens["agent"]) as right:
        assert right.recall("team").notes == ()
