"""The inspector on a real socket, in a thread of this process, and a visitor of a few lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import unescape
from http.client import HTTPConnection
from typing import NamedTuple
from urllib.parse import urlencode

from recollect import Store
from recollect.interfaces.web.app import App
from recollect.interfaces.web.guard import Guard
from recollect.interfaces.web.login.session import Launched, Session
from recollect.interfaces.web.memories import Memories, Own
from recollect.serving.server import listen
from tests.running import running


class Page(NamedTuple):
    """An answer."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def words(self) -> str:
        """What a reader sees, without tags."""
        return unescape(re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", self.text)))


def ask(
    port: int,
    method: str,
    path: str,
    headers: Mapping[str, str] | None = None,
    body: str | None = None,
) -> Page:
    """One request, with exactly these headers."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, body, dict(headers or {}))
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return Page(answer.status, found, answer.read().decode())
    finally:
        connection.close()


class Served(NamedTuple):
    """An inspector that runs."""

    port: int
    sessions: Launched

    @property
    def root(self) -> str:
        return self.sessions.root

    def ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: str | None = None,
    ) -> Page:
        """One request, with exactly these headers."""
        return ask(self.port, method, path, headers, body)

    def enter(self) -> Visitor:
        """A browser that was let in."""
        came = self.ask("GET", f"/open?key={self.sessions.launch()}")
        assert came.status == 303, came
        return Visitor(self, came.headers["set-cookie"].partition(";")[0])


class Visitor(NamedTuple):
    """One browser with its cookie, in the way that a browser asks."""

    served: Served
    cookie: str

    def session(self) -> Session:
        """What the inspector keeps about this browser."""
        found = self.served.sessions.find(self.cookie.partition("=")[2])
        assert found is not None
        return found

    def get(self, path: str, **headers: str) -> Page:
        """A page, by its path behind the root."""
        asked = {"Cookie": self.cookie, "Sec-Fetch-Site": "same-origin", **headers}
        return self.served.ask("GET", f"{self.served.root}{path}", asked)

    def post(self, path: str, fields: Mapping[str, str], **headers: str) -> Page:
        """A form."""
        asked = {
            "Cookie": self.cookie,
            "Sec-Fetch-Site": "same-origin",
            "Content-Type": "application/x-www-form-urlencoded",
            **headers,
        }
        return self.served.ask("POST", f"{self.served.root}{path}", asked, urlencode(fields))

    def follow(self, done: Page) -> Page:
        """The page that a form led to."""
        assert done.status == 303, done.words[:500]
        return self.get(done.headers["location"].removeprefix(self.served.root))


@contextmanager
def served(
    store: Store,
    memories: Memories | None = None,
    *,
    read_only: bool = False,
    guard: type[Guard] = Guard,
    sessions: Launched | None = None,
) -> Iterator[Served]:
    """The inspector of a store while it runs; controls give it another guard or other sessions."""
    with listen(0) as listening:
        port = listening.getsockname()[1]
        sessions = sessions or Launched()
        app = App(
            memories or Own(store, read_only=read_only), sessions, guard([f"127.0.0.1:{port}"])
        )
        with running(app, listening, drain=app.drain):
            yield Served(port, sessions)


def hidden_fields(page: Page, action: str) -> dict[str, str]:
    """The hidden fields of the form that is sent to an address ending in ``action``."""
    form = re.search(
        rf'<form[^>]*action="[^"]*{re.escape(action)}"[^>]*>(.*?)</form>', page.text, re.DOTALL
    )
    assert form is not None, action
    found = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', form[1])
    return {unescape(name): unescape(value) for name, value in found}
