"""A store behind the service, and who asks it: a person, an agent, and an owner of everything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Store
from recollect.memory.proof.checkpoints import ring_of
from tests.http.serving import Client, served


@pytest.fixture(params=["files", pytest.param("memory", marks=pytest.mark.nightly)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    where = ":memory:" if request.param == "memory" else tmp_path / "w"
    with Store.open(where, embedder="none") as store:
        store.space("main").remember("The first one.")
        yield store


@pytest.fixture
def port(store: Store) -> Iterator[int]:
    with served(store) as port:
        yield port


@pytest.fixture
def person(store: Store, port: int) -> Client:
    every = ("read", "write", "erase", "create", "review")
    return Client(port, store.tokens.create("p", space=None, verbs=every, trust="person").token)


@pytest.fixture
def agent(store: Store, port: int) -> Client:
    return Client(port, store.tokens.create("a", space="main").token)


@pytest.fixture
def owner(store: Store, port: int) -> Client:
    every = ("read", "write", "erase", "create", "drop", "review", "admin")
    return Client(port, store.tokens.create("o", space=None, verbs=every, trust="person").token)


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, store: Store) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    ring_of(store.space("main")._handle).add()
