"""What is wrong with a server, an address, a login or a token is said in one line, soon."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from benchmarks.server import started
from recollect.assistants.mounts import Mounts
from recollect.assistants.place import Scoping
from recollect.config import places
from recollect.errors import ConfigError, Forbidden, InvalidInput, RecollectError, Unavailable
from recollect.memory import Memory, Store
from recollect.store.postgres import pool as pools
from recollect.store.postgres.connect import connect, refusal
from recollect.store.postgres.db import as_ours
from recollect.store.postgres.pool import Pool
from recollect.store.postgres.wait import Lost
from tests.postgres.conftest import at, make_token
from tests.postgres.test_command import recollect

MAIN = "import sys; from recollect.__main__ import main; sys.exit(main())"
SOON_S = 25.0  # a pool that goes on trying gives up after 30


@pytest.fixture(scope="module")
def rented() -> Iterator[str]:
    """The folder of a server's socket, where every login but the superuser needs a password."""
    with started(in_memory=True) as server:
        url = server.get_uri()
        with psycopg.connect(url, autocommit=True) as superuser:
            superuser.execute("CREATE ROLE owner LOGIN PASSWORD 'o/w@n:er'")
            superuser.execute("CREATE ROLE guest LOGIN PASSWORD 'secret'")
            superuser.execute("CREATE DATABASE memories OWNER owner")
            hba = Path(superuser.execute("SHOW hba_file").fetchall()[0][0])
            logins = "owner,guest,nobody"
            hba.write_text(f"local all {logins} scram-sha-256\n{hba.read_text()}")
            superuser.execute("SELECT pg_reload_conf()")
        yield str(psycopg.conninfo.conninfo_to_dict(url)["host"])


def address(rented: str, login: str, database: str = "memories") -> str:
    return f"postgresql://{login}@/{database}?host={rented}"


OWNER, GUEST = "owner:o%2Fw%40n%3Aer", "guest:secret"


def run(store: str, *arguments: str, token: str | None = None) -> tuple[int, str, float]:
    """The command in this process: its exit code, what it printed, how long it took."""
    start = time.monotonic()
    code, said = recollect(store, *arguments, token=token)
    return code, said, time.monotonic() - start


def test_a_token_opens_for_a_team_what_it_says(rented: str) -> None:
    owner = address(rented, OWNER)
    for space in ("team", "others"):
        code, said, _ = run(owner, "remember", f"We of {space} are four.", "--space", space)
        assert code == 0, said
    made = ("admin", "token", "create", "--space", "team", "--label", "ci", "--json")
    token = json.loads(run(owner, *made)[1])["token"]
    code, said, _ = run(owner, "recall", "four", "--space", "team", token=token)
    assert (code, "We of team" in said) == (0, True), said
    code, said, _ = run(owner, "recall", "four", "--space", "others", token=token)
    assert (code, "We of others" in said) == (3, False), said


def test_a_login_without_rights_is_told_who_can_grant_them(rented: str) -> None:
    assert run(address(rented, OWNER), "remember", "Tea.", "--space", "team")[0] == 0
    for call in (("recall", "tea"), ("remember", "Coffee."), ("admin", "vacuum")):
        code, said, _ = run(address(rented, GUEST), *call)
        assert code == 4, said
        assert "owner" in said or "owns" in said
        assert "Traceback" not in said


@pytest.mark.parametrize(
    ("login", "database", "code", "cause", "next_step"),
    [
        ("owner:wrong", "memories", 4, "password authentication failed", "password"),
        ("owner", "memories", 4, "no password supplied", "password"),
        (OWNER, "memory", 2, 'database "memory" does not exist', "createdb"),
        ("nobodi", "memories", 4, 'role "nobodi" does not exist', "administrator"),
    ],
)
def test_a_wrong_address_names_its_cause(
    rented: str, login: str, database: str, code: int, cause: str, next_step: str
) -> None:
    found, said, took = run(address(rented, login, database), "list", "--space", "team")
    assert found == code, said
    lines = said.strip().split("\n")
    assert cause in lines[0]
    assert next_step in lines[1]
    assert len(lines) == 2  # nothing of the driver
    assert "wrong" not in said
    assert took < SOON_S


@pytest.mark.parametrize("address", ["postgresql://o:a@b@db/x", "postgresql://o:se/cret@db/x"])
def test_a_password_with_signs_in_it_is_not_quoted(address: str) -> None:
    with pytest.raises(ConfigError, match="cannot be read") as refused:
        connect(address)
    assert "%40" in str(refused.value.hint)
    assert not any(part in str(refused.value) for part in ("a@b", "se/"))


@pytest.mark.parametrize("token", ["", "rct_t"])
def test_a_server_that_is_down_is_known_at_once(token: str) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        store = f"postgresql://owner@127.0.0.1:{closed.getsockname()[1]}/memories"
        code, said, took = run(store, "remember", "x", token=token)
        assert (code, said.count("\n")) == (6, 2), said
        assert "Connection refused" in said
        assert took < SOON_S
        environment = {**os.environ, "RECOLLECT_STORE": store, "RECOLLECT_TOKEN": token}
        command = [sys.executable, "-c", MAIN, "remember", "x"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.stdout + done.stderr == said  # no line of the driver's log in between


def test_a_server_that_never_answers_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        store = f"postgresql://owner@127.0.0.1:{silent.getsockname()[1]}/memories"
        start = time.monotonic()
        with pytest.raises(Unavailable, match="did not answer in time"):
            Memory.open(store).recall("x")
        assert time.monotonic() - start < SOON_S


TOKENS = {
    "unknown": "is not one of this store",
    "revoked": "was revoked on 20",
    "expired": "expired on 20",
}


@pytest.fixture
def spoiled(url: str) -> dict[str, str]:
    """A token of each kind that opens nothing any more, for a space with something in it."""
    with Memory.open(url, space="team") as owner:
        owner.remember("The team drinks tea.")
    made = {state: make_token(url, state, space="team") for state in ("revoked", "expired")}
    with Store.open(url) as owner_store:
        owner_store.tokens.revoke("revoked")
    with psycopg.connect(url) as owned:
        owned.execute("UPDATE recollect.tokens SET expires = now() WHERE label = 'expired'")
    return {**made, "unknown": "rct_of_another_server"}


@pytest.mark.parametrize("state", TOKENS)
def test_a_token_that_opens_nothing_is_named(
    url: str, spoiled: dict[str, str], state: str, tmp_path: Path
) -> None:
    token = spoiled[state]
    code, said, took = run(url, "recall", "tea", "--space", "team", token=token)
    assert (code, said.count("\n")) == (4, 2), said
    assert f"this token {TOKENS[state]}" in said
    assert token not in said
    assert took < SOON_S
    environment = {"RECOLLECT_STORE": url, "RECOLLECT_TOKEN": token}
    where = places(start=tmp_path, home=tmp_path, environment=environment)
    with Store.open(settings=where.project) as store:
        with pytest.raises(Forbidden, match=TOKENS[state]):
            store.spaces()
        with pytest.raises(Forbidden, match=TOKENS[state]):
            store.space("team").list()
        with pytest.raises(Forbidden, match=TOKENS[state]):
            store.space("team").remember("x")


def test_a_good_token_for_another_space_says_no_more_than_before(url: str) -> None:
    """What a token does not open and what is not there look the same."""
    token = make_token(url, "a", space="alice")
    make_token(url, "b", space="bob")
    said = [run(url, "list", "--space", name, token=token)[1] for name in ("bob", "nobody")]
    assert said[0].replace("bob", "") == said[1].replace("nobody", "")


def test_an_assistant_is_told_and_never_that_nothing_is_known(
    url: str, spoiled: dict[str, str], tmp_path: Path
) -> None:
    def mounts(token: str) -> Mounts:
        environment = {
            "RECOLLECT_STORE": url,
            "RECOLLECT_TOKEN": token,
            "RECOLLECT_EMBEDDER": "none",
        }
        found = places(start=tmp_path, home=tmp_path, environment=environment)
        return Mounts(found, space="team", scope=Scoping(trust="agent"))

    with mounts(spoiled["expired"]) as bad:
        with pytest.raises(Forbidden, match="expired"):
            bad.recall("tea")
        bad.remember("I like coffee.", mount="personal")
        with pytest.raises(Forbidden, match="expired"):
            bad.recall("tea")  # the other memory is there and has nothing about it
        found = bad.recall("coffee")
        assert [hit.mount for hit in found.hits] == ["personal"]
        assert "expired" in found.notes[0]
    with mounts(make_token(url, "good", space="team")) as good:
        assert good.recall("tea").hits  # the control
        assert good.recall("zebra").notes == ()


def test_a_restarted_server_costs_one_call(rented: str) -> None:
    owner = address(rented, OWNER)
    with Memory.open(owner, space="restarted") as memory:
        memory.remember("before")
        pool = memory._handle.space.ledger._pool  # type: ignore[attr-defined]
        with pool.connection(), pool.connection():
            pass  # two are idle from here on
        with psycopg.connect(f"host={rented} user=postgres", autocommit=True) as superuser:
            superuser.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'memories'"
            )
        with pytest.raises(Unavailable, match="connection to the server was lost"):
            memory.list()
        assert [record.text for record in memory.list()] == ["before"]


def test_connections_are_used_again_and_old_ones_closed(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = Pool(database)
    try:
        with pool.connection() as first:
            pass
        with pool.connection() as again:
            assert again is first
        monkeypatch.setattr(pools, "_IDLE_MAX_S", -1.0)
        with pool.connection() as other:
            assert other is not first
            assert first.closed
            other.execute("BEGIN")  # left open: it is not handed to the next one
        with pool.connection() as fresh:
            assert fresh is not other
            assert other.closed
    finally:
        pool.close()
    assert fresh.closed
    with pytest.raises(Unavailable, match="closed"), pool.connection():
        pass


def test_a_full_pool_says_so(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "_CONNECTIONS_MAX_COUNT", 1)
    monkeypatch.setattr(pools, "_WAIT_S", 0.05)
    pool = Pool(database)

    def another() -> None:
        with pool.connection():
            pass

    try:
        with ThreadPoolExecutor(1) as threads:
            with pool.connection() as held:
                with pytest.raises(Unavailable, match="in use"):
                    threads.submit(another).result()
                with pool.connection() as mine:
                    assert mine is held  # a thread never waits for itself
            threads.submit(another).result()  # the control
    finally:
        pool.close()


@pytest.mark.parametrize(
    ("said", "kind", "shown"),
    [
        ("connection failed: FATAL:  sorry, too many clients already", Unavailable, "too many"),
        ("connection failed: FATAL:  the database system is starting up", Unavailable, "starting"),
        ('FATAL:  permission denied for database "x"\nDETAIL:  User …', Forbidden, "permission"),
        ("failed to resolve host 'nowhere': [Errno -2] Name or service", ConfigError, "nowhere"),
        (
            'connection failed: connection to server at "10.0.0.1", port 5432 failed: No route to '
            "host\n\tIs the server running on that host?\nMultiple connection attempts failed.",
            Unavailable,
            "the server could not be reached: No route to host",
        ),
        ("server does not support SSL, but SSL was required", ConfigError, "SSL"),
        ("Zeitüberschreitung", Unavailable, "Zeitüberschreitung"),
        ("", Unavailable, "no reason was given"),
    ],
)
def test_other_causes(said: str, kind: type[RecollectError], shown: str) -> None:
    error = refusal(psycopg.OperationalError(said))
    assert type(error) is kind
    assert shown in error.message
    assert "\n" not in error.message
    assert error.hint


def test_only_a_connection_that_ended_is_told_as_lost(pool: Pool) -> None:
    with pytest.raises(psycopg.ProgrammingError, match="query parameter missing"):
        pool.ask("has_space", {})  # ours to mend
    with pytest.raises(InvalidInput, match="NUL"):
        pool.ask("has_space", {"name": "a\0b"})
    with pytest.raises(Lost), pool.transaction() as connection:
        connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    for lost in (psycopg.OperationalError("gone"), psycopg.DatabaseError("gone")):
        assert isinstance(as_ours(lost), Lost)
    with pytest.raises(psycopg.InterfaceError, match="the cursor is closed"):
        as_ours(psycopg.InterfaceError("the cursor is closed"))
    assert pool.ask("has_space", {"name": "main"}) == []


def test_an_old_server_is_refused(
    database: str, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(at(server, "postgres")).close()  # the control
    monkeypatch.setattr("recollect.store.postgres.connect.VERSION_MIN", 99)
    with pytest.raises(ConfigError, match="needs 99 or later"):
        connect(database)
