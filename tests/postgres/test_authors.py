"""Who acted, on a server: the person, the holder of a token, and what each may see and erase."""

from __future__ import annotations

import pytest

from recollect.errors import NotFound
from recollect.memory import Memory, Store
from recollect.memory.handle.authors import Authors
from recollect.memory.handle.handle import handle_of
from recollect.model.events import AuthorNamed
from recollect.model.values import Author
from tests.memory_suites.trust.authors import AuthorSuite, mara, named
from tests.postgres.conftest import as_address, make_token
from tests.postgres.test_push import bring

__all__ = ["mara"]


class TestPostgres(AuthorSuite):
    @pytest.fixture
    def place(self, url: str) -> str:
        return url


def test_a_token_for_one_user_names_that_user(
    url: str, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RECOLLECT_NAME")
    with Memory.open(url, embedder="none") as memory:
        memory.remember("The first one.")
    tokens: dict[str, str] = {}
    for user in ("anna", "ben"):
        verbs = ("read", "write", "erase")
        tokens[user] = make_token(
            database, "app", space="main", verbs=verbs, trust="person", user=user
        )
        monkeypatch.setenv("RECOLLECT_TOKEN", tokens[user])
        with Memory.open(url, embedder="none") as memory:
            its = memory.scoped(user=user)
            made = its.remember(f"{user} likes tea.")
            (author,) = {version.author for version in its.history(made.id)}
            assert author is not None
            assert (author.name, author.checked) == (user, "token")
            assert [event.text for event in named(its)] == [user]
    monkeypatch.setenv("RECOLLECT_TOKEN", tokens["anna"])
    with Memory.open(url, embedder="none") as memory:
        done = memory.scoped(user="anna").erase(user="anna")
        assert len(done.authors) == 1
    monkeypatch.delenv("RECOLLECT_TOKEN")
    with Memory.open(url, embedder="none") as memory:
        names = [event.text for event in named(memory)]
        assert "anna" not in names
        assert "ben" in names
        assert memory.admin.verify().ok


def test_nobody_takes_an_author_over_even_once_the_name_is_erased(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_NAME", "Mara")
    with Store.open(as_address(database), embedder="none") as store:
        memory = store.space("bob")
        tea = memory.remember("Tea is at four.")
        (first,) = named(memory)
        taken = AuthorNamed(author=first.id, id=first.id or "", name="Mallory")
        bring(handle_of(memory).space, "agent", taken)
        assert len(named(memory)) == 2
    with Store.open(as_address(database), embedder="none") as store:
        memory = store.space("bob")
        coffee = memory.remember("Coffee is at three.")
        for id in (tea.id, coffee.id):
            author = memory.history(id)[0].author
            assert author is not None
            assert (author.id, author.name) == (first.id, first.text)
        with pytest.raises(NotFound):
            memory.erase(author="Mallory")
        assert len(memory.erase(author=first.id).events) == 2
        for _ in range(2):
            assert memory.history(tea.id)[0].author == Author(id=first.id or "", name=None)
            assert memory.admin.verify(deep=True).ok
            memory.admin.rebuild()


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
