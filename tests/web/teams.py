"""A service with its inspector on a real socket, and browsers that log in with a token."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import urlencode

from recollect import Store
from recollect.interfaces.http.app import App
from recollect.interfaces.http.limits.gate import Gate
from recollect.interfaces.http.limits.rates import Rates
from recollect.interfaces.http.oauth import OAuth
from recollect.interfaces.http.ui import CONSENT
from recollect.interfaces.http.work import Rules
from recollect.interfaces.mcp.over_http import OverHttp
from recollect.interfaces.web.serve import mounted
from recollect.serving.oauth.desk import Desk
from recollect.serving.server import listen
from tests.running import running
from tests.web.visiting import Page, ask

FORM = {"Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded"}


class Team(NamedTuple):
    """A service with its inspector."""

    port: int
    store: Store
    app: App
    path: str

    def ask(
        self, method: str, path: str, headers: dict[str, str] | None = None, body: str | None = None
    ) -> Page:
        return ask(self.port, method, path, headers, body)

    def login(self, token: str, **headers: str) -> Page:
        body = urlencode({"token": token, "back": ""})
        return self.ask("POST", "/ui/-/login", {**FORM, **headers}, body)

    def cookie(self, token: str) -> dict[str, str]:
        came = self.login(token)
        assert came.status == 303, came.words
        return {"Cookie": came.headers["set-cookie"].partition(";")[0]}

    def token(self, label: str, **options: object) -> str:
        return self.store.tokens.create(label, **options).token  # type: ignore[arg-type]


@contextmanager
def serving(
    store: Store, root: str = "", *, is_secure: bool = True, desk: Desk | None = None
) -> Iterator[Team]:
    with listen(0) as listening:
        port = listening.getsockname()[1]
        hosts = [f"127.0.0.1:{port}"]
        address = f"http://{hosts[0]}"
        pages = mounted(
            store,
            hosts=hosts,
            address=address,
            root=root,
            is_secure=is_secure,
            is_named=is_secure,
            desk=desk,
        )
        oauth = None if desk is None else OAuth(desk, f"{pages.path}{CONSENT}", root)
        mcp = None if desk is None else OverHttp()
        rules = Rules(Rates(), root_path=root)
        app = App(store, Gate(hosts), mcp=mcp, ui=pages, oauth=oauth, rules=rules)
        with running(app, listening, drain=app.drain):
            yield Team(port, store, app, pages.path)
