"""Tokens from the command line: made once, shown once, ended for good."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from hashlib import sha256

import psycopg
import pytest

from recollect.config import load
from recollect.errors import Ambiguous, Forbidden, InvalidInput, NotFound, Unavailable
from recollect.memory import Store
from recollect.store.port import Backend
from recollect.store.postgres.db import _statements, run
from recollect.store.postgres.holders import Process
from recollect.store.postgres.ledger import PostgresLedger
from recollect.store.postgres.ledgers import PostgresBackend
from recollect.store.postgres.pool import Pool
from recollect.store.postgres.tokens import PostgresTokens
from recollect.store.seam import REAL
from recollect.store.tokens.tokens import hash_of
from recollect.testing.admins_suite import AdminsSuite
from recollect.testing.tokens_suite import EnteredSuite, TokensSuite
from tests.postgres.conftest import drop_space, wait_for_lock
from tests.postgres.test_command import recollect


@pytest.fixture
def backend(database: str) -> Iterator[Backend]:
    backend = PostgresBackend(database)
    yield backend
    backend.close()


@pytest.fixture
def store(backend: Backend, url: str) -> Store:
    return Store(backend, load(url, embedder="none"))


@pytest.fixture
def tokens(pool: Pool) -> PostgresTokens:
    return PostgresTokens(pool)


class TestTokens(TokensSuite, EnteredSuite, AdminsSuite):
    @pytest.fixture
    def store(self, backend: Backend, url: str) -> Store:
        return Store(backend, load(url, embedder="none"))


def made(url: str, *arguments: str) -> dict[str, object]:
    """Makes a token with the real command."""
    code, said = recollect(url, "admin", "token", "create", *arguments, "--json")
    assert code == 0, said
    answer = json.loads(said)
    assert isinstance(answer, dict)
    return answer


def listed(url: str) -> list[dict[str, object]]:
    code, said = recollect(url, "admin", "token", "list", "--json")
    assert code == 0, said
    answer = json.loads(said)
    assert isinstance(answer, list)
    return answer


def test_a_token_is_made_used_listed_and_revoked(url: str) -> None:
    answer = made(
        *(url, "--space", "alice", "--label", "laptop", "--verbs", "read,write,erase"),
        *("--user", "ann", "--agent", "planner", "--expires", "30d"),
    )
    token = str(answer.pop("token"))
    assert token.startswith("rct_")
    assert len(token) == len("rct_") + 43  # 256 bits
    assert answer["verbs"] == ["read", "write", "erase"]
    assert (answer["space"], answer["trust"], answer["live"]) == ("alice", "agent", True)
    assert (answer["user"], answer["agent"]) == ("ann", "planner")
    assert str(answer["expires"]) > str(answer["made"])
    assert listed(url) == [answer]

    mine = ("remember", "One.", "--space", "alice", "--user", "ann", "--agent", "planner")
    code, said = recollect(url, *mine, "--trust", "agent", token=token)
    assert code == 0, said
    assert recollect(url, "list", "--space", "bob", token=token)[0] == 3

    assert recollect(url, "admin", "token", "revoke", "laptop") == (
        0,
        "Revoked 1 token: laptop\n",
    )
    assert recollect(url, "list", "--space", "alice", token=token)[0] == 4
    assert [(each["live"], each["revoked"] is None) for each in listed(url)] == [(False, False)]
    code, said = recollect(url, "admin", "token", "revoke", "laptop")
    assert code == 3
    assert "recollect admin token list" in said


def test_a_person_sees_a_token_once_and_its_hash_never(url: str, database: str) -> None:
    code, said = recollect(url, "admin", "token", "create", "--every-space", "--label", "service")
    assert code == 0, said
    (token,) = [line for line in said.split("\n") if line.startswith("rct_")]
    assert said.count(token) == 1
    assert sha256(token.encode()).hexdigest() not in said
    assert "every space · read, write · agent" in said
    assert recollect(url, "remember", "One.", "--space", "new", token=token)[0] != 0
    hash = sha256(token.encode()).digest()
    with psycopg.connect(database) as owner:
        rows = owner.execute("SELECT hash FROM recollect.tokens").fetchall()
        assert (hash,) in rows
        assert token not in str(owner.execute("SELECT t::text FROM recollect.tokens t").fetchall())
    shown = recollect(url, "admin", "token", "list")[1]
    assert "service" in shown
    for secret in (token, token[4:], hash.hex()):
        assert secret not in shown
        assert secret not in str(listed(url))
    assert recollect(url, "admin", "token", "revoke", "1", "--json")[0] == 0
    assert "revoked" in recollect(url, "admin", "token", "list")[1]


def test_the_help_says_what_leaving_the_space_out_means(url: str) -> None:
    code, said = recollect(url, "admin", "token", "create", "--help")
    assert code == 0
    assert "default: main" not in said
    assert "or use --every-space" in " ".join(said.replace("│", " ").split())


@pytest.mark.parametrize(
    "arguments",
    [
        ("--label", "x"),
        ("--label", "x", "--space", "alice", "--every-space"),
        ("--label", "x", "--space", "alice", "--expires", "yesterday"),
        ("--space", "alice"),
    ],
)
def test_a_call_that_is_not_clear_makes_no_token(
    url: str, tokens: PostgresTokens, arguments: tuple[str, ...]
) -> None:
    assert recollect(url, "admin", "token", "create", *arguments)[0] == 2
    assert tokens.list() == []


def test_what_no_token_can_have_is_refused(tokens: PostgresTokens) -> None:
    for verbs in (["read", "fly"], ["write", "create"], ["erase"]):
        with pytest.raises(InvalidInput):
            tokens.create("x", space="alice", verbs=verbs)
    with pytest.raises(InvalidInput):
        tokens.create("17", space="alice")
    with pytest.raises(InvalidInput):
        tokens.create("x", space="alice", expires="2020-01-01T00:00:00.000000Z")
    assert tokens.list() == []


def test_two_tokens_of_a_label_differ_and_end_together_or_by_id(tokens: PostgresTokens) -> None:
    first, second, third = (tokens.create("ci", space="alice") for _ in range(3))
    assert len({first.token, second.token, third.token}) == 3
    assert first.token not in repr(first)
    assert tokens.revoke(str(second.id)) == 1
    assert [token.live for token in tokens.list()] == [True, False, True]
    assert tokens.revoke("ci") == 2
    with pytest.raises(NotFound):
        tokens.revoke("ci")


def test_an_expired_token_opens_nothing_and_is_listed_as_such(
    store: Store, tokens: PostgresTokens, database: str
) -> None:
    token = tokens.create("short", space="alice", expires="2199-01-01T00:00:00.000000Z")
    memory = store.entered(token.token).space("alice")
    assert memory.remember("still open").trust == "agent"
    with psycopg.connect(database) as owner:
        owner.execute("UPDATE recollect.tokens SET expires = now() - interval '1 second'")
    assert [each.live for each in tokens.list()] == [False]
    with pytest.raises(Forbidden, match="expired"):
        memory.list()


def test_the_tail_of_a_ledger_tells_the_token_that_asks(pool: Pool, tokens: PostgresTokens) -> None:
    made = tokens.create("laptop", space="alice", user="ann", expires="2199-01-01T00:00:00.000000Z")
    ledger = PostgresLedger(Process(pool), "alice", REAL, None)
    assert ledger.tail(0, hash_of(made.token)).token == tokens.get("laptop")
    assert ledger.tail(0, hash_of("another")).token is None


@pytest.mark.parametrize("statement", ["named_tokens", "lock_tokens", "revoke_token"])
def test_a_name_is_looked_up_and_no_list_is_read(
    database: str, tokens: PostgresTokens, statement: str
) -> None:
    tokens.create("laptop", space="alice")
    text, named = f"EXPLAIN {_statements()[statement]}", {"which": "laptop", "id": 1}
    with psycopg.connect(database) as connection:
        connection.execute("SET enable_seqscan = off")
        plan = "".join(str(line) for (line,) in connection.execute(text.encode(), named))
        assert "tokens_by_label" in plan
        assert "tokens_pkey" in plan
        assert "Seq Scan" not in plan
        list_all = connection.execute(f"EXPLAIN {_statements()['list_tokens']}".encode())
        assert "tokens_by_label" not in str(list_all.fetchall())  # the control


def test_looking_after_tokens_asks_for_the_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = store.tokens.create(
        "admin", space="alice", verbs=["read", "write", "admin"], trust="person"
    )
    others = [store.tokens.create("laptop", space=name) for name in ("alice", "bob")]
    monkeypatch.delattr(PostgresTokens, "list")
    admin = store.entered(made.token)
    assert admin.tokens.get("laptop").id == others[0].id  # bob's is as if it were not there
    assert admin.tokens.get(others[0].id).space == "alice"
    with pytest.raises(NotFound):
        admin.tokens.get(others[1].id)
    assert admin.tokens.rotate("laptop", overlap=timedelta(0)).space == "alice"
    assert admin.tokens.revoke("laptop") == 1
    assert store.tokens.get(others[1].id).live


@pytest.mark.parametrize("which", ["0", "01", "1" * 30, "٣", "-1"])
def test_a_number_that_no_id_has_names_nothing(tokens: PostgresTokens, which: str) -> None:
    for _ in range(3):
        tokens.create("laptop", space="alice")
    assert tokens.named(which) == []
    assert [token.id for token in tokens.named("3")] == [3]


def test_two_who_rotate_a_token_at_once_wait_for_each_other(
    pool: Pool, tokens: PostgresTokens, database: str
) -> None:
    old, named = tokens.create("ci", space="alice"), {"which": "ci", "id": None}
    with psycopg.connect(database) as first, ThreadPoolExecutor(1) as threads:
        run(first, "lock_tokens", named)
        late = threads.submit(tokens.rotate, "ci")
        wait_for_lock(pool)
        run(first, "follow_token", {"id": old.id, "hash": b"x", "by": None, "until": None})
        run(first, "end_token", {"id": old.id, "overlap_s": 60})
        first.commit()
        with pytest.raises(Ambiguous):  # the second sees both, and does not guess
            late.result(timeout=30)
    assert [token.live for token in tokens.list()] == [True, True]


def test_a_token_is_never_for_a_space_that_was_dropped_meanwhile(
    pool: Pool, tokens: PostgresTokens, database: str
) -> None:
    before = tokens.create("a", space="alice")
    with psycopg.connect(database) as dropping, ThreadPoolExecutor(1) as threads:
        drop_space(dropping, "alice")
        late = threads.submit(tokens.create, "b", space="alice")
        wait_for_lock(pool)
        dropping.commit()
        made = late.result(timeout=30)
    assert pool.ask("has_space", {"name": "alice"})  # a new one
    assert {token.id: token.live for token in tokens.list()} == {before.id: False, made.id: True}


def test_a_server_that_is_not_there_is_told_without_the_password() -> None:
    nowhere = "postgresql://ann:hunter2@127.0.0.1:1/x"
    for arguments in (("list",), ("admin", "token", "list"), ("admin", "migrate")):
        code, said = recollect(nowhere, *arguments)
        assert code == 6, said
        assert "hunter2" not in said
    with pytest.raises(Unavailable):
        PostgresTokens(Pool(nowhere)).list()
