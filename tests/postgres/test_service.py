"""The service over a PostgreSQL server: the same operations, and streams of other processes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from recollect import Store
from recollect.client import Memory
from recollect.errors import NotFound
from tests.http.conftest import agent, key, owner, person, port  # noqa: F401 - fixtures
from tests.http.serving import Client, served
from tests.http.test_feed import Reader
from tests.http.test_if_match import (  # noqa: F401 - the same tests
    test_exactly_one_writer_wins_each_round,
    test_without_if_match_several_win,
)
from tests.http.test_probes import (  # noqa: F401 - the same tests
    test_a_token_with_too_many_rights_is_caught,
    test_strangers_get_nothing_and_one_404,
)
from tests.http.test_probes_mcp import (  # noqa: F401 - the same tests
    test_a_port_that_forgets_the_user_is_caught,
    test_strangers_get_nothing_over_mcp,
)
from tests.http.test_protocol import (  # noqa: F401 - the same tests
    test_a_key_is_one_command_of_its_user,
    test_of_many_who_create_one_does,
)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store.open(url, embedder="none") as store:
        store.space("main").remember("The first one.")
        yield store


def test_a_stream_finds_what_another_process_wrote(url: str, store: Store) -> None:
    token = store.tokens.create("t", space="main", trust="person").token
    with served(store) as number, Memory.open(f"http://127.0.0.1:{number}", token=token) as memory:
        reader = Reader(memory, "elsewhere", after=2)
        with Store.open(url, embedder="none") as other:
            other.space("main").observe("elsewhere")
        assert reader.texts() == ["elsewhere"]


def test_a_token_for_one_user_sees_nothing_of_another(url: str, store: Store) -> None:
    main = store.space("main")
    for user in ("ann", "ben"):
        main.scoped(user=user).remember(f"The key of {user} is under the stone.", id=f"r-{user}")
        main.scoped(user=user).observe(f"{user} took the key.", role="user", id=f"e-{user}")
    tokens: dict[str | None, str] = {
        user: store.tokens.create(user or "all", space="main", user=user, trust="person").token
        for user in (None, "ann")
    }

    def answers(memory: Memory) -> str:
        found: list[object] = [memory.list(limit=100), memory.sessions.episodes(limit=100)]
        found += [memory.recall("key under the stone").hits, memory.context("key stone").text]
        found += [memory.events.list(limit=100)]
        for id in ("r-ben", "e-ben"):
            with suppress(NotFound):
                found += [memory.get(id)]
        with suppress(NotFound):
            found += [memory.history("r-ben")]
        return repr(found)

    with served(store) as number:
        for whose, token in tokens.items():  # the first is the control
            with Memory.open(f"http://127.0.0.1:{number}", token=token) as memory:
                assert ("ben" in answers(memory)) is (whose is None)
                assert "ann" in answers(memory)


def test_ready_means_that_the_server_answers(url: str, store: Store) -> None:
    with served(store) as number:
        anybody = Client(number, None)
        assert anybody.get("/readyz").json == {"status": "ready"}
        with psycopg.connect(url, autocommit=True) as owner:
            (name,) = owner.execute("SELECT current_database()").fetchone() or ("",)
        with psycopg.connect(make_conninfo(url, dbname="postgres"), autocommit=True) as owner:
            owner.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
            owner.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
            )
            time.sleep(1.1)  # an answer counts for a second
            gone = [anybody.get("/readyz").status, anybody.get("/livez").status]
            owner.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
        time.sleep(1.1)
        assert (gone, anybody.get("/readyz").status) == ([503, 200], 200)
