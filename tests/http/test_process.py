"""``recollect serve`` as a process: the first token, other tokens, signals, kills."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import pytest

from recollect import Memory as Local
from recollect.client import Memory
from recollect.errors import RecollectError

pytestmark = pytest.mark.ci

UNAVAILABLE = 6  # as for every command whose store does not answer in time
COMMAND = (sys.executable, "-m", "recollect")


class Service:
    """A service in a process of its own."""

    def __init__(self, store: Path | str, *options: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "--store", str(store), "serve", "--port", "0", *options],
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stderr is not None
        self.said = ""
        for line in self.process.stderr:
            self.said += line
            if line.startswith("Try:"):
                break
        found = re.search("https?://127[^ \n]+", self.said)
        assert found, self.said
        self.url = found[0]
        token = re.search("rct_[A-Za-z0-9_-]{20,}", self.said)
        self.token = token[0] if token else None


@contextmanager
def running(store: Path | str, *options: str) -> Iterator[Service]:
    service = Service(store, *options)
    try:
        yield service
    finally:
        service.process.kill()
        service.process.communicate()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Local.open(tmp_path / "w", embedder="none") as memory:
        memory.remember("The first one.")
    return tmp_path / "w"


def test_the_first_start_shows_a_token_once(folder: Path) -> None:
    with running(folder) as service:
        assert service.token
        with Memory.open(service.url, token=service.token) as memory:
            memory.remember("Over HTTP.")
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(timeout=60) == 0
    with running(folder) as again:
        assert again.token is None
        with Memory.open(again.url, token=service.token) as memory:
            assert [one.text for one in memory.list()] == ["Over HTTP.", "The first one."]
    with Local.open(folder) as memory:
        assert memory.admin.verify().ok


def test_a_folder_without_a_memory_is_not_served(tmp_path: Path) -> None:
    words = [*COMMAND, "--store", str(tmp_path / "mistyped"), "serve", "--port", "0"]
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=120)
    assert (done.returncode != 0, "does not contain a memory" in done.stderr) == (True, True)
    assert not (tmp_path / "mistyped").exists()


def test_other_hosts_are_refused_unless_named(folder: Path) -> None:
    from http.client import HTTPConnection

    with running(folder, "--hostname", "memory.example") as service:
        port = int(service.url.rpartition(":")[2])
        for host, status in (("memory.example", 200), ("evil.example", 421), ("", 421)):
            connection = HTTPConnection("127.0.0.1", port)
            connection.request("GET", "/livez", headers={"Host": host})
            assert connection.getresponse().status == status
            connection.close()


def test_streams_that_no_file_is_left_for_are_refused(folder: Path) -> None:
    words = [*COMMAND, "--store", str(folder), "serve", "--port", "0", "--streams", "400"]
    few = ["sh", "-c", 'ulimit -n 600; exec "$@"', "sh", *words]
    done = subprocess.run(few, check=False, capture_output=True, text=True, timeout=120)
    assert (done.returncode != 0, "ulimit -n 1152" in done.stderr) == (True, True)


def wait_for_waiter(lock: IO[str]) -> None:
    """Until a process waits for a lock that this one holds."""
    if not Path("/proc/locks").exists():
        pytest.skip("this system does not say who waits for a lock")
    inode = os.fstat(lock.fileno()).st_ino
    until = time.monotonic() + 60
    while not re.search(rf"-> FLOCK .*:{inode} ", Path("/proc/locks").read_text()):
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize(("grace", "code"), [("1", UNAVAILABLE), ("20", 0)])
def test_a_request_that_outlasts_the_grace_ends_with_an_error(
    folder: Path, grace: str, code: int
) -> None:
    """A write waits for the lock that this test holds: longer than a grace, or not as long."""
    with running(folder, "--grace", grace) as service, (folder / "ledger.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        def write() -> None:
            with (
                suppress(RecollectError),
                Memory.open(service.url, token=service.token or "", timeout_s=15) as memory,
            ):
                memory.remember("It waits.")

        writing = threading.Thread(target=write)
        writing.start()
        wait_for_waiter(lock)
        service.process.send_signal(signal.SIGTERM)
        assert service.process.stderr is not None
        said = "" if code == 0 else service.process.stderr.readline()  # as soon as it is over
        fcntl.flock(lock, fcntl.LOCK_UN)
        assert service.process.wait(timeout=60) == code
        writing.join()
        said += service.process.stderr.read()
    assert ("1 request did not end within 1 s" in said) == (code == UNAVAILABLE), said
    with Local.open(folder, embedder="none") as memory:
        assert "It waits." in [one.text for one in memory.list()]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_what_was_acknowledged_survives_the_end(folder: Path, how: signal.Signals) -> None:
    """Writers retry with their keys; nothing acknowledged is lost, nothing is there twice."""
    acknowledged: list[str] = []
    with running(folder) as service:
        assert service.token

        def write(number: int) -> None:
            with Memory.open(service.url, token=service.token or "", timeout_s=3) as memory:
                for turn in range(200):
                    text = f"{number}-{turn}"
                    try:
                        memory.observe(text, idempotency_key=f"k-{text}")
                    except RecollectError:
                        return
                    acknowledged.append(text)

        writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for writer in writers:
            writer.start()
        while len(acknowledged) < 40:
            assert any(writer.is_alive() for writer in writers)
        service.process.send_signal(how)
        assert service.process.wait(timeout=60) == (0 if how == signal.SIGTERM else -how)
        for writer in writers:
            writer.join()
    with Local.open(folder, embedder="none") as memory:
        kept = [one.text for one in memory.sessions.episodes(limit=10_000)]
        assert memory.admin.verify().ok
    assert len(kept) == len(set(kept))
    assert set(acknowledged) <= set(kept)
