"""Who acted, on a server: the login, the holder of a token, and what each may see and erase."""

from __future__ import annotations

import json
from collections.abc import Iterator

import psycopg
import pytest

from recollect.errors import NotFound
from recollect.memory import Memory, Store
from recollect.memory.authors import Authors
from recollect.memory.handle import Handle, handle_of
from recollect.model.values import Author
from recollect.store.postgres.backend import PostgresBackend
from recollect.testing.authors_suite import AuthorSuite, mara, named
from tests.postgres.conftest import as_address, make_token
from tests.postgres.test_isolation import raw
from tests.postgres.test_shadow import line

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


ANN = "ann"
MARA = "000000000000000a"
OWN = "000000000000000b"


@pytest.fixture
def shared(database: str) -> Iterator[None]:
    """bob's space, where Mara wrote and Ann has a token for her own memory."""
    backend = PostgresBackend(database)
    Memory(Handle(backend.space("bob", create=True))).remember("The first one.")
    make_token(
        database, ANN, label="app", space="bob", verbs=("read", "write"), origin="person", user=ANN
    )
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(
            "INSERT INTO recollect.authors SELECT id, 7000, %s, 'Mara', 'token', NULL"
            " FROM recollect.spaces WHERE name = 'bob'",
            [MARA],
        )
    yield
    backend.close()


def bring(database: str, kind: str, body: dict[str, object]) -> None:
    """Appends an event with SQL of the caller's own, for the holder of Ann's token."""
    data = json.dumps({"user": ANN, **body}, separators=(",", ":"))
    with raw(database) as connection:
        connection.execute("BEGIN")
        made = [line(connection, ANN, kind=kind, origin="person", data=data)]
        connection.execute("SELECT recollect.append(%b)", (made,))
        connection.execute("ROLLBACK")


RECORD = {"id": "r-1", "kind": "fact", "text": "Approved.", "trust": "person"}
NAMED = {"id": OWN, "name": ANN, "checked": "token"}


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("record.added", {**RECORD, "author": MARA}),
        ("author.named", {**NAMED, "author": MARA}),
        ("author.named", {**NAMED, "id": MARA}),
        ("author.named", {**NAMED, "name": "Mara"}),
        ("author.named", {**NAMED, "checked": "login"}),
        ("author.named", {**NAMED, "checked": None}),
    ],
)
def test_a_token_for_one_user_writes_as_nobody_else(
    database: str, kind: str, body: dict[str, object]
) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        bring(database, kind, body)


@pytest.mark.usefixtures("shared")
def test_control_a_token_for_one_user_writes_as_that_user(database: str) -> None:
    bring(database, "author.named", {**NAMED, "author": OWN})
    bring(database, "record.added", {**RECORD, "author": OWN})


def test_nobody_takes_an_author_over_even_once_the_name_is_erased(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_NAME", "Mara")
    with Store.open(as_address(database), embedder="none") as store:
        memory = store.space("bob")
        tea = memory.remember("Tea is at four.")
        (first,) = named(memory)
        make_token(
            database, "agent", label="a", space="bob", verbs=("read", "write"), origin="agent"
        )
        body = json.dumps({"author": first.id, "id": first.id, "name": "Mallory"})
        with raw(database) as connection:
            connection.execute("BEGIN")
            made = [line(connection, kind="author.named", data=body.replace(" ", ""))]
            connection.execute("SELECT recollect.append(%b)", (made,))
            connection.execute("COMMIT")
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
            assert memory.verify(deep=True).ok
            memory.rebuild()


def test_a_forged_name_in_the_index_is_found_and_does_not_outlive_building_it(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_NAME", "Mara")
    with Memory.open(as_address(database), embedder="none") as memory:
        memory.remember("Tea is at four.")
        before = [event.author for event in memory.events()]
        with psycopg.connect(database, autocommit=True) as owner:
            owner.execute("UPDATE recollect.authors SET name = 'Mallory'")
            owner.execute(
                "INSERT INTO recollect.authors SELECT space, 7000, 'x', 'Mallory', NULL, NULL"
                " FROM recollect.authors"
            )
        assert "list of events" in str(memory.verify(deep=True).problem)
        memory.rebuild()
        assert memory.verify(deep=True).ok
        assert [event.author for event in memory.events()] == before


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
