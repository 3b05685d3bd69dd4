"""Who acted, on a server: the login, the holder of a token, and what each may see and erase."""

from __future__ import annotations

import pytest

from recollect.memory import Memory
from recollect.memory.authors import Authors
from recollect.memory.handle import handle_of
from recollect.testing.authors_suite import AuthorSuite, mara, named
from tests.postgres.conftest import as_address, make_token

__all__ = ["mara"]


class TestPostgres(AuthorSuite):
    CHECKED = "login"

    @pytest.fixture
    def place(self, url: str) -> str:
        return url


def test_a_token_for_one_user_names_that_user(
    url: str, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RECOLLECT_NAME")
    with Memory.open(url, embedder="none") as memory:
        memory.remember("The first one.")
    for user in ("anna", "ben"):
        verbs = ("read", "write", "erase")
        make_token(
            database, user, label="app", space="main", verbs=verbs, origin="person", user=user
        )
        monkeypatch.setenv("RECOLLECT_TOKEN", user)
        with Memory.open(url, embedder="none") as memory:
            its = memory.scoped(user=user)
            made = its.remember(f"{user} likes tea.")
            (author,) = {version.author for version in its.history(made.id)}
            assert author is not None
            assert (author.name, author.checked) == (user, "token")
            assert [event.text for event in named(its)] == [user]
    monkeypatch.setenv("RECOLLECT_TOKEN", "anna")
    with Memory.open(url, embedder="none") as memory:
        done = memory.scoped(user="anna").erase(user="anna")
        assert len(done.authors) == 1
    monkeypatch.delenv("RECOLLECT_TOKEN")
    with Memory.open(url, embedder="none") as memory:
        names = [event.text for event in named(memory)]
        assert "anna" not in names
        assert "ben" in names
        assert memory.verify().ok


def test_the_authors_of_many_events_are_those_of_each(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_NAME", "Mara")
    with Memory.open(as_address(database), embedder="none") as memory:
        tea = memory.remember("Tea is at 1.")
        for hour in range(2, 30):
            memory.revise(tea.id, f"Tea is at {hour}.")
        with handle_of(memory).reading() as reads:
            seqs = [version.seq for version in reads.versions(tea.id)]
            found = Authors(reads).of_all([1, *seqs])
        assert found[0] is None  # the store opened it
        assert found[1:] == [version.author for version in memory.history(tea.id)]
        assert {author.id for author in found[1:] if author} == {named(memory)[0].id}
