"""The client against a real service: the calls of ``Memory``, errors, retries."""

from __future__ import annotations

import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from recollect import Store
from recollect.client import Memory
from recollect.client import Store as Remote
from recollect.errors import (
    Changed,
    ConfigError,
    Conflict,
    Forbidden,
    InvalidInput,
    LimitExceeded,
    NotFound,
    Unavailable,
)
from tests.http.serving import served
from tests.undone import brought_back


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "w", embedder="none") as store:
        store.space("main").remember("The first one.")
        yield store


@pytest.fixture
def token(store: Store) -> str:
    every = ("read", "write", "erase", "create")
    return store.tokens.create("p", space=None, verbs=every, trust="person").token


@pytest.fixture
def memory(store: Store, token: str) -> Iterator[Memory]:
    with served(store) as port, Memory.open(f"http://127.0.0.1:{port}", token=token) as memory:
        yield memory


def test_the_calls_of_a_memory(store: Store, memory: Memory) -> None:
    here = store.space("main")
    record = memory.remember(
        "Alice sits in 12A.", key="alice.seat", tags=["seat"], data={"row": 12},
        expires=timedelta(days=3), valid_from=datetime(2026, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    assert record == here.get(record.id) == memory.get(record.id) == memory.get(key="alice.seat")
    assert record.expires is not None
    assert memory.revise(record.id, "Alice sits in 14C.").text == "Alice sits in 14C."
    assert memory.revise(record.id, "Alice sits in 14D.", expires=None).expires is None
    assert [one.what for one in memory.history(record.id)] == ["added", "revised", "revised"]
    assert memory.at(record.seq).get(record.id).text == "Alice sits in 12A."
    assert memory.revise(record.id, tags=["plane"], untag=["seat"]).tags == ("plane",)
    other = memory.remember("Bob sits in 14E.")
    assert memory.graph.link(record.id, other.id, "near", weight=0.5).weight == 0.5
    assert {one.id for one in memory.graph.neighbours(record.id).records} == {record.id, other.id}
    memory.graph.unlink(record.id, other.id, "near")
    said = memory.observe(
        [{"content": "Hello.", "role": "user"}, {"content": "Hi.", "role": "assistant"}]
    )
    assert [one.text for one in said] == ["Hello.", "Hi."]
    assert memory.get(said[0].id) == said[0]
    assert memory.sessions.episodes(limit=1) == [said[1]]
    assert memory.list() == here.list()
    assert memory.list(limit=2) == here.list(limit=2)
    assert memory.recall("Alice") == here.recall("Alice")
    assert [one.query for one in memory.recall(["Alice", "Bob"])] == ["Alice", "Bob"]
    assert memory.why(record.id) == here.why(record.id)
    assert memory.admin.why_not(record.id, "Alice").reason == "there"
    context = memory.context("Where does Alice sit?", tokens=300)
    assert memory.replay(context, query=context.query).text == context.text
    assert memory.proof.receipts.get(context.receipt or "").id == context.receipt
    assert memory.used(context, [record.id])[0].reinforcement_count == 1
    assert memory.forget(other.id, reason="moved").id == other.id
    assert brought_back(memory.undo(other.id)).id == other.id
    assert memory.events.list(after=1, limit=2) == here.events.list(after=1, limit=2)
    assert memory.status().seq == memory.events.position == here.events.position
    assert memory.admin.digest() == here.admin.digest()
    assert memory.erase(record.id, dry_run=True).events
    memory.erase(record.id, reason="asked")
    with pytest.raises(NotFound):
        memory.get(record.id)


def test_what_belongs_to_a_message_arrives(store: Store, memory: Memory) -> None:
    said = memory.observe("Hi.", session="s-1", metadata={"channel": "web"})
    said += memory.observe(
        [
            {"content": "One.", "role": "user", "session": "s-2"},
            {"content": " ", "role": "user"},
            {"content": "Two.", "role": "tool", "metadata": {"n": 2}},
        ]
    )
    assert [(one.text, one.role, one.scope.session) for one in said] == [
        ("Hi.", "user", "s-1"), ("One.", "user", "s-2"), ("Two.", "tool", None),
    ]  # fmt: skip
    assert [dict(one.metadata) for one in said] == [{"channel": "web"}, {}, {"n": 2}]


def test_errors_are_the_memorys_own(memory: Memory) -> None:
    record = memory.remember("One.")
    memory.revise(record.id, "Two.")
    with pytest.raises(Changed):
        memory.revise(record.id, "Three.", expect=(record.id, record.seq))
    with pytest.raises(Changed):
        memory.remember("Late.", expect=record.seq)
    with pytest.raises(NotFound):
        memory.get("missing")
    with pytest.raises(InvalidInput):
        memory.recall("x", filter="((")
    with pytest.raises(LimitExceeded):
        memory.remember("x" * 9_000_000)
    memory.remember("Once.", idempotency_key="k")
    with pytest.raises((Conflict, InvalidInput)):
        memory.remember("Twice.", idempotency_key="k")


def test_a_handle_is_narrowed(memory: Memory) -> None:
    bob = memory.scoped(user="Boß", session="s", trust="agent")
    record = bob.remember("Bob's.")
    mine = bob.scope
    assert (mine.user, mine.session, mine.agent) == ("Boß", "s", None)
    assert (mine.space, mine.trust) == (memory.scope.space, record.trust)
    assert record.scope.to_dict() == {"user": "Boß", "session": "s"}
    with pytest.raises(NotFound):
        memory.scoped(user="ann").get(record.id)


def test_a_store_has_many_memories(store: Store, token: str) -> None:
    with served(store) as port, Remote.open(f"http://127.0.0.1:{port}", token=token) as remote:
        remote.space("Zoë/home", create=True).remember("Here.")
        assert set(remote.spaces()) == {"main", "Zoë/home"}
        with pytest.raises(NotFound):
            remote.space("nowhere", create=False).status()


def test_a_token_is_never_shown_nor_sent_in_the_open(token: str) -> None:
    remote = Remote.open("http://127.0.0.1:1", token=f" {token}\n")
    assert token not in f"{remote!r} {remote.space()!r} {vars(remote)!r}"
    for url in ("http://memory.example", "ftp://127.0.0.1", "127.0.0.1:80", "http://a:b@127.0.0.1"):
        with pytest.raises(ConfigError) as caught:
            Remote.open(url, token=token)
        assert token not in str(caught.value)
    for wrong in ("hunter2", "rct_a\nb", "rct_a b"):
        with pytest.raises(ConfigError, match="not a token") as refused:
            Remote.open("http://127.0.0.1:1", token=wrong)
        assert wrong not in str(refused.value)


def test_a_service_that_is_not_there_is_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        memory = Memory.open(f"http://127.0.0.1:{port}", token="rct_x", timeout_s=1)
        with pytest.raises(Unavailable, match="does not answer"):
            memory.status()


@pytest.mark.parametrize("with_key", [True, False])
def test_a_write_whose_answer_was_lost_happens_once(
    store: Store, token: str, with_key: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy that cuts the first answer; without the key (the control) it is written twice."""
    from recollect.client import transport

    with (
        served(store) as port,
        cutting(port) as (proxy, cuts),
        Memory.open(f"http://127.0.0.1:{proxy}", token=token) as memory,
    ):
        if not with_key:
            plain = transport.Transport._once

            def once(self, method, target, raw, headers, deadline):  # type: ignore[no-untyped-def]
                kept = {name: value for name, value in headers.items() if name != "Idempotency-Key"}
                return plain(self, method, target, raw, kept, deadline)

            monkeypatch.setattr(transport.Transport, "_once", once)
        memory.observe("Once.")
        assert cuts == [True]
        found = [one.text for one in store.space("main").sessions.episodes()]
        assert found == (["Once."] if with_key else ["Once.", "Once."])


class cutting:  # noqa: N801 - reads as a word
    """A proxy that passes everything on, but loses the end of the first answer."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.cuts: list[bool] = []

    def __enter__(self) -> tuple[int, list[bool]]:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self._listening.getsockname()[1], self.cuts

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()

    def _run(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            with client, socket.create_connection(("127.0.0.1", self._port)) as server:
                self._pass(client, server)

    def _pass(self, client: socket.socket, server: socket.socket) -> None:
        request = b""
        while b"\r\n\r\n" not in request or not request.rstrip().endswith(b"}"):
            request += client.recv(65_536)
        here = f"127.0.0.1:{self._listening.getsockname()[1]}".encode()
        request = request.replace(here, f"127.0.0.1:{self._port}".encode())
        server.sendall(request)
        answer = b""
        while not _is_whole(answer):
            answer += server.recv(65_536)
        if self.cuts:
            client.sendall(answer)
        else:
            self.cuts.append(True)
            client.sendall(answer[:-9])


def _is_whole(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    found = re.search(rb"content-length: (\d+)", head)
    return bool(end) and found is not None and len(body) == int(found[1])


def test_a_closed_or_forked_memory_refuses(store: Store, token: str) -> None:
    with served(store) as port:
        memory = Memory.open(f"http://127.0.0.1:{port}", token=token)
        memory.status()
        memory._remote.transport._process = os.getpid() + 1  # as a child would see it
        with pytest.raises(Unavailable, match="forked"):
            memory.status()
        memory.close()
        memory.close()
        with pytest.raises(Unavailable, match="closed"):
            memory.status()


def test_connections_that_the_service_closed_are_replaced(store: Store, token: str) -> None:
    with served(store) as port, Memory.open(f"http://127.0.0.1:{port}", token=token) as memory:
        readers = [threading.Thread(target=memory.status) for _ in range(8)]
        for each in readers:
            each.start()
        for each in readers:
            each.join()
        assert memory._remote.transport._idle
        time.sleep(5.5)  # the service closes a connection that waits for five seconds
        assert memory.status().records == 1


def test_an_erasure_sent_again_gives_the_first_answer(memory: Memory) -> None:
    record = memory.remember("Gone soon.")
    first = memory.erase(record.id, idempotency_key="e-1")
    assert memory.erase(record.id, idempotency_key="e-1").seq == first.seq
    with pytest.raises(NotFound):
        memory.erase(record.id)


def test_a_slow_answer_ends_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        done = threading.Event()

        def trickle() -> None:
            client, _ = listening.accept()
            with client:
                client.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
                while not done.wait(0.1):
                    with suppress(OSError):
                        client.sendall(b"x")

        thread = threading.Thread(target=trickle)
        thread.start()
        port, began = listening.getsockname()[1], time.monotonic()
        with (
            Memory.open(f"http://127.0.0.1:{port}", token="rct_x", timeout_s=1) as memory,
            pytest.raises(Unavailable),
        ):
            memory.status()
        assert time.monotonic() - began < 60
        done.set()
        thread.join()


@pytest.mark.parametrize("user", ["a\nb", "\x00"])
def test_what_a_header_cannot_have_is_refused(memory: Memory, user: str) -> None:
    with pytest.raises(InvalidInput):
        memory.scoped(user=user).list()
    with pytest.raises(InvalidInput, match="ключ"):  # it arrives as it is, and is no key
        memory.remember("Ok.", idempotency_key="ключ")


def test_a_token_with_fewer_rights_is_refused(store: Store) -> None:
    reader = store.tokens.create("r", space="main", verbs=("read",)).token
    with served(store) as port, Memory.open(f"http://127.0.0.1:{port}", token=reader) as memory:
        assert memory.status().records == 1
        with pytest.raises(Forbidden):
            memory.remember("No.")
        store.tokens.revoke("r")
        with pytest.raises(Forbidden):
            memory.status()


def test_one_connection_serves_call_after_call(memory: Memory) -> None:
    kept = set()
    for number in range(5):
        memory.observe(f"Message {number}.")
        ((_, connection),) = memory._remote.transport._idle
        kept.add(connection.sock)
    assert len(kept) == 1
