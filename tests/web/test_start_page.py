"""Another account reads the arguments of every process; they let nobody into the inspector."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import msgspec
import pytest

from recollect import Memory, Store
from recollect.interfaces.web.login.start_page import StartPage, start_page
from tests.web.browsing import chromium
from tests.web.visiting import Page, Served, ask, served

LINK = re.compile(r"http://127\.0\.0\.1:\d+/open\?key=[0-9a-f]{48}")
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
# What a page on the disk sends, as browsers do.
FROM_A_FILE = {**FORM, "Origin": "null", "Sec-Fetch-Site": "cross-site"}
TEXT = "Vault 4711 opens at nine."
SLOW_BROWSER = '#!/bin/sh\necho "$@" > {seen}.new; mv {seen}.new {seen}; cat > /dev/null < {go}\n'


class Started(NamedTuple):
    """``recollect ui`` and the browser it opened, which waits."""

    port: int
    arguments: str
    home: Path
    go: Path


@contextmanager
def started(tmp_path: Path) -> Iterator[Started]:
    """The process as a person starts it, with a browser that tells its arguments."""
    home, seen, go = tmp_path / "home", tmp_path / "seen", tmp_path / "go"
    home.mkdir(mode=0o700)
    os.mkfifo(go)
    browser = tmp_path / "browser"
    browser.write_text(SLOW_BROWSER.format(seen=seen, go=go))
    browser.chmod(0o700)
    with Memory.open(tmp_path / "store", embedder="none") as memory:
        memory.remember(TEXT)
    process = subprocess.Popen(
        [sys.executable, "-Pm", "recollect", "--store", str(tmp_path / "store"), "ui", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path,
        env={**os.environ, "HOME": str(home), "BROWSER": f"{browser} %s"},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        told = b""
        while not told.rstrip().endswith(b"}"):
            told += process.stdout.readline()
        with open(go, "wb"):  # opens when the browser runs, and has told
            yield Started(msgspec.json.decode(told)["port"], seen.read_text(), home, go)
    finally:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert not pages_in(home)


def pages_in(home: Path) -> list[Path]:
    return sorted((home / ".recollect").glob("*.html"))


def attack(port: int, arguments: str) -> Page | None:
    """What another account gets out of the arguments of a browser."""
    link = LINK.search(arguments)
    return None if link is None else ask(port, "GET", link[0].partition(f":{port}")[2])


def posted(port: int, page: str) -> Page:
    """What the browser gets that opens the page."""
    fields = dict(re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', page))
    action = re.search(r'action="http://127\.0\.0\.1:\d+([^"]*)"', page)
    assert action is not None
    return ask(port, "POST", action[1], FROM_A_FILE, urlencode(fields))


def test_the_arguments_of_the_browser_let_nobody_in(tmp_path: Path) -> None:
    with started(tmp_path) as ui:
        assert attack(ui.port, ui.arguments) is None
        (page,) = pages_in(ui.home)
        assert page.as_uri() in ui.arguments
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
        assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
        text = page.read_text("utf-8")
        came = posted(ui.port, text)
        assert came.status == 200
        assert not page.exists()
        cookie = came.headers["set-cookie"].partition(";")[0]
        place = re.search(r'url=([^"]*)"', came.text)
        assert place is not None
        root = ask(ui.port, "GET", unescape(place[1]), {"Cookie": cookie})
        seen = ask(ui.port, "GET", root.headers["location"], {"Cookie": cookie})
        assert TEXT in seen.text
        assert posted(ui.port, text).status == 401  # the second account, with a copy


def test_control_a_link_among_the_arguments_lets_them_in() -> None:
    with Store.open(":memory:") as store, served(store) as inspector:
        link = f"http://127.0.0.1:{inspector.port}/open?key={inspector.sessions.launch()}"
        found = attack(inspector.port, f"browser {link}")
        assert found is not None
        assert found.status == 303
        assert "set-cookie" in found.headers


@pytest.fixture
def inspector() -> Iterator[Served]:
    with Store.open(":memory:") as store:
        store.space("main", create=True).remember(TEXT)
        with served(store) as found:
            yield found


@pytest.mark.parametrize("key", ["", "0" * 48, "\N{SNOWMAN}"])
def test_a_form_of_elsewhere_without_the_key_lets_nobody_in(inspector: Served, key: str) -> None:
    came = inspector.ask("POST", "/open", FROM_A_FILE, urlencode({"key": key}))
    assert came.status == 401
    assert "set-cookie" not in came.headers
    right = urlencode({"key": inspector.sessions.launch()})
    rebound = {**FROM_A_FILE, "Host": f"evil.example:{inspector.port}"}
    assert inspector.ask("POST", "/open", rebound, right).status == 421
    assert inspector.ask("POST", "/open", FROM_A_FILE, right).status == 200  # the control


def test_what_a_killed_process_left_is_replaced_and_a_link_not_followed(tmp_path: Path) -> None:
    folder, other = tmp_path / "own", tmp_path / "other"
    folder.mkdir()
    other.write_text("mine")
    page = StartPage(folder, 1234)
    for is_link in (True, False):
        page.path.symlink_to(other) if is_link else page.path.write_text("old")
        page.write("http://127.0.0.1:1234/open", "k" * 48)
        assert not page.path.is_symlink()
        assert stat.S_IMODE(page.path.stat().st_mode) == 0o600
        assert other.read_text() == "mine"
        page.remove()
        page.remove()
        assert not list(folder.iterdir())


def test_without_a_folder_to_write_the_link_in_the_terminal_is_left(
    inspector: Served, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with start_page(tmp_path / "file" / "in", 1, "http://x/open", inspector.sessions) as page:
        assert page is None


def test_a_real_browser_comes_in_from_the_page(inspector: Served, tmp_path: Path) -> None:
    door = f"http://127.0.0.1:{inspector.port}/open"
    with (
        start_page(tmp_path, inspector.port, door, inspector.sessions) as page,
        chromium() as browser,
    ):
        assert page is not None
        tab = browser.new_context().new_page()
        tab.goto(page.path.as_uri())
        tab.wait_for_url(f"**{inspector.root}/**")
        tab.wait_for_selector(f"text={TEXT}")
