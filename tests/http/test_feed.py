"""The feed: nothing missed, nothing twice, nothing of others."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from recollect import Memory as Local
from recollect import Store
from recollect.client import Memory
from recollect.client.transport import Ending
from recollect.errors import InvalidInput, RecollectError, Unavailable
from recollect.interfaces.http import feed
from recollect.interfaces.http.feed import Streams
from recollect.interfaces.http.pages import Asked, Page, Pages
from recollect.model.values import Change
from tests.http.serving import served

EVERY = ("read", "write", "erase", "create")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "w", embedder="none") as store:
        store.space("main").remember("The first one.")
        yield store


def token(store: Store, label: str = "p", **options: str) -> str:
    return store.tokens.create(label, space="main", trust="person", **options).token


class Reader:
    """Reads a stream in a thread until it has an event of a text."""

    def __init__(self, memory: Memory, last: str, **options: int) -> None:
        self.found: list[Change] = []
        self.error: RecollectError | None = None
        self._memory, self._last, self._options = memory, last, options
        self.thread = threading.Thread(target=self._read)
        self.thread.start()

    def _read(self) -> None:
        try:
            for change in self._memory.events.tail(**self._options):  # type: ignore[arg-type]
                self.found.append(change)
                if change.text == self._last:
                    return
        except RecollectError as error:
            self.error = error

    def texts(self) -> list[str | None]:
        self.thread.join(timeout=60)
        assert not self.thread.is_alive()
        return [change.text for change in self.found]


def test_a_stream_has_what_was_and_what_comes(store: Store) -> None:
    with served(store) as port, opened(port, token(store)) as memory:
        reader = Reader(memory, "5", after=0)
        for number in range(6):
            memory.observe(f"{number}")
        assert reader.texts() == [None, "The first one.", *"012345"]
        assert [change.seq for change in reader.found] == list(range(1, 9))


def test_a_write_of_another_process_is_found(store: Store, tmp_path: Path) -> None:
    with served(store) as port, opened(port, token(store)) as memory:
        reader = Reader(memory, "elsewhere", after=2)
        with Local.open(tmp_path / "w", embedder="none") as other:  # has files of its own open
            other.observe("elsewhere")
        assert reader.texts() == ["elsewhere"]


def test_a_stream_that_breaks_is_continued(store: Store) -> None:
    """Every connection is cut again and again; nothing is missed or given twice."""
    with (
        served(store) as port,
        cutting(port) as (proxy, cuts),
        opened(proxy, token(store)) as memory,
    ):
        reader = Reader(memory, "199", after=2)
        here = store.space("main")
        for number in range(200):
            here.observe(f"{number}")
            if number % 20 == 0:
                cuts()
        assert reader.texts() == [str(number) for number in range(200)]


def test_a_user_gets_no_event_of_another(store: Store) -> None:
    with served(store) as port, opened(port, token(store, "b", user="bob")) as bob:
        assert bob.events.position == 2
        reader = Reader(bob, "of bob, 2", after=0)
        here = store.space("main")
        for number in range(3):
            here.scoped(user="ann").observe(f"of ann, {number}")
            here.scoped(user="bob").observe(f"of bob, {number}")
        texts = reader.texts()
        assert [text for text in texts if text and "bob" in text] == [
            "of bob, 0", "of bob, 1", "of bob, 2",
        ]  # fmt: skip
        assert not any("ann" in (text or "") for text in texts)


def test_a_token_that_ends_ends_its_streams(store: Store) -> None:
    with served(store) as port, opened(port, token(store)) as memory:
        reader = Reader(memory, "never", after=0)
        while not reader.found:
            time.sleep(0.01)
        store.tokens.revoke("p")
        store.space("main").observe("after it was revoked")
        assert "after it was revoked" not in reader.texts()
        assert reader.error is not None


def test_a_space_that_is_dropped_ends_its_streams(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "_SILENCE_MAX_S", 600.0)  # it would look by itself only then
    made = store.tokens.create("p", space=None, trust="person").token
    with served(store) as port, opened(port, made) as memory:
        reader = Reader(memory, "never", after=0)
        while not reader.found:
            time.sleep(0.01)
        time.sleep(0.6)  # its position was looked at
        store.drop("main")
        reader.thread.join(timeout=60)
        assert not reader.thread.is_alive()
        assert reader.error is not None


def test_a_stream_of_unknown_kinds_is_refused(store: Store) -> None:
    with (
        served(store) as port,
        opened(port, token(store)) as memory,
        pytest.raises(InvalidInput),
    ):
        next(memory.events.tail(after=0, kinds=["nonsense"]))


def test_one_token_has_a_bounded_number_of_streams(store: Store) -> None:
    few = Streams(8, 4)
    with served(store, streams=few) as port, opened(port, token(store)) as memory:
        streams = [memory.events._streamed(0, [], Ending()) for _ in range(4)]
        for each in streams:
            next(each)
        with pytest.raises(Unavailable, match="too many streams"):
            next(memory.events._streamed(0, [], Ending()))
        with opened(port, token(store, "other")) as other:
            one_more = other.events._streamed(0, [], Ending())
            next(one_more)
            one_more.close()  # type: ignore[attr-defined]
        for each in streams:
            each.close()  # type: ignore[attr-defined]


def test_streams_of_one_token_share_what_they_read(store: Store) -> None:
    """Twelve streams, one page each, and as many reads as there are positions, not streams."""
    with served(store) as port, opened(port, token(store)) as memory:
        readers = [Reader(memory, "last", after=2) for _ in range(12)]
        for number in range(30):
            memory.observe(f"{number}")
        memory.observe("last")
        for reader in readers:
            assert reader.texts() == [*(str(number) for number in range(30)), "last"]


def test_a_stream_that_has_every_event_is_left_alone(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look for writes of other processes does not wake streams that got theirs already."""
    asked: list[int] = []
    read = Pages.read

    async def counted(pages: Pages, what: Asked, after: int) -> Page:
        asked.append(after)
        return await read(pages, what, after)

    monkeypatch.setattr(Pages, "read", counted)
    with served(store) as port, opened(port, token(store)) as memory:
        reader = Reader(memory, "last", after=2)
        for text in ("one", "two", "three", "four"):
            time.sleep(0.6)  # more than two looks
            memory.observe(text)
        memory.observe("last")
        reader.texts()
    assert len(asked) < 9  # one at the start, one for each event; ten if each woke it twice


def test_a_page_is_shared_with_nobody_who_may_see_less(store: Store) -> None:
    """Streams at one position: of two users, of all users, and of some kinds alone."""
    made = token(store)
    with served(store) as port, opened(port, made) as all_, opened(port, made) as kinds:
        ann, bob = (all_.scoped(user=name) for name in ("ann", "bob"))
        readers = [Reader(each, "of last", after=2) for each in (all_, ann, bob)]
        added = Reader(kinds, "added", after=2, kinds=["record.added"])  # type: ignore[arg-type]
        here = store.space("main")
        for name in ("ann", "bob"):
            here.scoped(user=name).observe(f"of {name}")
        here.remember("added")
        for name in ("ann", "bob"):
            here.scoped(user=name).observe("of last")
        here.observe("of last")
        assert readers[0].texts()[:3] == ["of ann", "of bob", "added"]
        assert readers[1].texts() == ["of ann", "of last"]
        assert readers[2].texts() == ["of bob", "of last"]
        assert added.texts() == ["added"]


def test_a_stream_continues_after_a_restart(store: Store) -> None:
    made = token(store)
    with served(store) as port:
        memory = opened(port, made)
        reader = Reader(memory, "after the restart", after=0)
        while len(reader.found) < 2:
            time.sleep(0.01)
    with served(store, port=port):
        store.space("main").observe("after the restart")
        assert reader.texts() == [None, "The first one.", "after the restart"]
    memory.close()


def test_streams_say_bye_when_the_service_stops(store: Store) -> None:
    made = token(store)
    with served(store) as port:
        raw = socket.create_connection(("127.0.0.1", port))
        raw.sendall(
            b"GET /v1/spaces/main/events?after=0 HTTP/1.1\r\nAccept: text/event-stream\r\n"
            + f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {made}\r\n\r\n".encode()
        )
        said = b""
        while b"The first one." not in said:
            said += raw.recv(65_536)
        assert b"id: 2\nevent: record.added\ndata: {" in said
    while piece := raw.recv(65_536):
        said += piece
    raw.close()
    assert b'event: bye\ndata: {"after":2,"why":"draining"}' in said


def opened(port: int, token: str) -> Memory:
    return Memory.open(f"http://127.0.0.1:{port}", token=token)


class cutting:  # noqa: N801 - reads as a word
    """A proxy whose connections can be cut."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> tuple[int, Callable[[], None]]:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._start(self._run)
        return self._listening.getsockname()[1], self._cut

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._cut()
        for thread in self._threads:
            thread.join()

    def _cut(self) -> None:
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _start(self, what: Callable[..., None], *given: object) -> None:
        thread = threading.Thread(target=what, args=given)
        self._threads.append(thread)
        thread.start()

    def _run(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._port))
            self._open += [client, server]
            self._start(self._pass, client, server, True)
            self._start(self._pass, server, client, False)

    def _pass(self, source: socket.socket, target: socket.socket, is_request: bool) -> None:
        here = f"127.0.0.1:{self._listening.getsockname()[1]}".encode() if is_request else b"-"
        there = f"127.0.0.1:{self._port}".encode()
        with source:
            with suppress(OSError):
                while piece := source.recv(65_536):
                    target.sendall(piece.replace(here, there))
            with suppress(OSError):
                target.shutdown(socket.SHUT_RDWR)
