"""The way of a real browser: from another website to the page, and back, without JavaScript."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from recollect import Store
from recollect.interfaces.web.consent import Consent
from recollect.interfaces.web.reply import Reply
from recollect.serving.oauth.desk import READ_MIN_S, Desk
from tests.oauth.assistant import exchange, registered, request
from tests.web.browsing import chromium
from tests.web.teams import Team, serving

ADMIN = ("read", "write", "admin")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    with Store.open(tmp_path / "w", embedder="none") as store:
        store.space("main").remember("Tea is at four.")
        store.space("other").remember("The door code is 4711.")
        with serving(store, desk=Desk()) as found:
            yield found


class Website:
    """The assistant's own website, under another name than the service."""

    def __init__(self) -> None:
        self.came: list[str] = []
        self.link = ""
        website = self

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                website.came.append(self.path)
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(f'<h1>Assistant</h1><a href="{website.link}">add</a>'.encode())

            def log_message(self, format: str, *args: object) -> None:
                """Nothing: the terminal is for the tests."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.url = f"http://localhost:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self) -> Website:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def website() -> Iterator[Website]:
    with Website() as found:
        yield found


def to_consent(page: Any, team: Team, website: Website) -> str:
    """Goes from the website through the login to the page; returns the client's id."""
    back = f"{website.url}/callback"
    id = registered(team, "Planner \u202eevil", back)
    query = request(team, id, redirect_uri=back, scope="read write")
    website.link = escape(f"http://127.0.0.1:{team.port}/authorize?{query}")
    page.goto(website.url)
    page.click("a")
    page.wait_for_selector("#token")
    page.fill("#token", team.token("alice", space=None, verbs=ADMIN, trust="person"))
    page.click("button.main")
    page.wait_for_selector("h1:has-text('An assistant asks')")
    return id


@pytest.mark.parametrize("has_scripts", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_from_the_website_of_the_assistant_and_back(
    browser: Any, team: Team, website: Website, has_scripts: bool
) -> None:
    page = browser.new_context(java_script_enabled=has_scripts).new_page()
    id = to_consent(page, team, website)
    assert "a program on the computer of this browser" in page.inner_text("main")
    page.select_option("#space", "other")
    page.check("[name=verb-write]")
    page.wait_for_timeout(READ_MIN_S * 1_000)
    page.click("button:has-text('Approve')")  # the browser itself wants the box ticked
    assert "An assistant asks" in page.inner_text("h1")
    page.check("[name=asked]")
    page.click("button:has-text('Approve')")
    page.wait_for_url(f"{website.url}/callback?*")
    told = {name: each[0] for name, each in parse_qs(urlsplit(page.url).query).items()}
    assert (told["state"], told["iss"]) == ("s-1 &=", f"http://127.0.0.1:{team.port}")
    back = f"{website.url}/callback"
    status, given = exchange(team, id, told["code"], redirect_uri=back)
    assert (status, given["scope"]) == (200, "read write")
    # Once it is logged in, the browser comes to the page at once.
    page.goto(website.url)
    page.click("a")
    page.wait_for_selector("h1:has-text('An assistant asks')")
    page.click("button:has-text('Deny')")
    page.wait_for_selector("h1:has-text('Denied')")
    page.wait_for_timeout(1_500)  # nobody is led to the website that they refused
    assert page.url.startswith(f"http://127.0.0.1:{team.port}/")
    page.click("a.button")
    page.wait_for_url(f"{website.url}/callback?error=access_denied*")


def test_enter_in_a_field_denies(browser: Any, team: Team, website: Website) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    to_consent(page, team, website)
    page.wait_for_timeout(READ_MIN_S * 1_000)
    page.check("[name=asked]")
    page.fill("#user", "carol")
    page.press("#user", "Enter")
    page.wait_for_selector("h1:has-text('Denied')")


def test_control_a_redirect_after_the_form_would_not_arrive(
    browser: Any, team: Team, website: Website, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Why a page leads back: the browser itself refuses what ``form-action`` does not name."""
    decided = Consent._decided

    def redirected(self: Consent, *given: Any) -> Reply:
        done = decided(self, *given)
        id = done.headers["Location"].rpartition("=")[2]
        place = self._desk.asked(given[2].id, id).answer
        return Reply(303, headers={"Location": place or ""})

    monkeypatch.setattr(Consent, "_decided", redirected)
    page = browser.new_context().new_page()
    to_consent(page, team, website)
    page.wait_for_timeout(READ_MIN_S * 1_000)
    page.check("[name=asked]")
    with page.expect_event("console", lambda said: "form-action" in said.text, timeout=60_000):
        page.click("button:has-text('Approve')", no_wait_after=True)
    assert not any("callback" in each for each in website.came)


@pytest.mark.nightly
def test_axe_finds_no_fault(browser: Any, team: Team, website: Website) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is not installed"
    )
    for scheme in ("light", "dark"):
        page = browser.new_context(color_scheme=scheme).new_page()
        to_consent(page, team, website)
        found = axe.Axe().run(page).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []
