"""``recollect ui`` as a process."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from zlib import compress

import msgspec
import pytest

from recollect import Memory
from recollect.interfaces.web import reply

WEB = Path(reply.__file__).parent


@contextmanager
def running(*words: str, cwd: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The process, ended by Ctrl-C; it must leave with 0 and without a trace."""
    started = subprocess.Popen(
        [sys.executable, "-Pm", "recollect", "ui", "--no-open", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd,
    )  # fmt: skip
    try:
        yield started
    finally:
        started.send_signal(signal.SIGINT)
        _, told = started.communicate(timeout=60)
    assert started.returncode == 0, told
    assert b"Traceback" not in told


def address(started: subprocess.Popen[bytes]) -> dict[str, str]:
    """What it told as JSON."""
    assert started.stdout is not None
    told = b""
    while not told.rstrip().endswith(b"}"):
        told += started.stdout.readline()
    found: dict[str, str] = msgspec.json.decode(told)
    return found


def get(url: str, cookie: str = "") -> tuple[int, dict[str, str], str]:
    host, _, path = url.removeprefix("http://").partition("/")
    connection = HTTPConnection(host, timeout=60)
    try:
        connection.request("GET", f"/{path}", headers={"Cookie": cookie} if cookie else {})
        answer = connection.getresponse()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, headers, answer.read().decode()
    finally:
        connection.close()


def test_it_shows_a_folder(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "store") as memory:
        memory.remember("Alice sits in 12A.", key="alice.seat")
    with running("--store", str(tmp_path / "store"), "--json", cwd=tmp_path) as started:
        told = address(started)
        assert told["url"].startswith("http://127.0.0.1:")
        status, headers, _ = get(told["url"])
        assert status == 303
        cookie = headers["set-cookie"].partition(";")[0]
        first = f"http://127.0.0.1:{told['port']}{headers['location']}"
        status, headers, _ = get(first, cookie)
        assert status == 303  # the only space, at once
        status, _, text = get(f"http://127.0.0.1:{told['port']}{headers['location']}", cookie)
        assert status == 200
        assert "Alice sits in 12A." in text
        assert str(tmp_path / "store") in text  # the command that repeats it


def test_it_opens_the_space_that_was_named(tmp_path: Path) -> None:
    where = str(tmp_path / "store")
    for space in ("one", "two"):
        with Memory.open(where, space=space) as memory:
            memory.remember(f"This is {space}.")
    with running("--store", where, "--space", "two", "--json", cwd=tmp_path) as started:
        _, headers, _ = get(address(started)["url"])
        assert headers["location"].endswith("/two/")


def test_it_says_what_to_do_without_a_memory(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-Pm", "recollect", "ui", "--no-open", "--store", str(tmp_path / "none")],
        capture_output=True, text=True, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert ran.returncode == 3
    assert "recollect init" in ran.stderr
    assert not (tmp_path / "none").exists()


def test_the_terminal_is_told_the_link(tmp_path: Path) -> None:
    with running("--demo", cwd=tmp_path) as started:
        assert started.stderr is not None
        said = b""
        while b"Ctrl-C" not in said:
            said += started.stderr.readline()
        link = re.search(rb"http://127\.0\.0\.1:\d+/open\?key=[0-9a-f]{48}", said)
        assert link is not None
        assert get(link[0].decode())[0] == 303


def test_what_the_wheel_gains_is_small() -> None:
    files = [*(WEB / "templates").iterdir(), *(WEB / "static").iterdir()]
    packed = sum(len(compress(each.read_bytes())) for each in files)  # as in a wheel
    assert 0 < packed <= 150_000
    scripts = [each for each in files if each.suffix == ".js"]
    assert 0 < sum(each.stat().st_size for each in scripts) <= 30_000


@pytest.mark.parametrize("word", ["innerHTML", "eval(", "Function(", ".style", "insertAdjacent"])
def test_no_script_makes_markup(word: str) -> None:
    for script in (WEB / "static").glob("*.js"):
        assert word not in script.read_text("utf-8"), script.name
