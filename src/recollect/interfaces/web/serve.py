"""The process behind ``recollect ui``, and the inspector as a part of ``recollect serve --ui``.

Responsible for opening the store, telling the address and opening a browser. Leaves listening to
``serving.server`` and requests to ``app``. Invariants: ``recollect ui`` listens on this machine
alone, and shows nothing without a launch key of its own; in a service, nothing is shown without a
token.
"""

from __future__ import annotations

import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Final

from recollect import config
from recollect.errors import NotFound
from recollect.interfaces.web.guard import Guard
from recollect.interfaces.web.login.session import LAUNCH_S, Launched
from recollect.interfaces.web.login.start_page import start_page
from recollect.interfaces.web.memories import Own
from recollect.memory import Store
from recollect.serving import guard, server
from recollect.store.seam import REAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from recollect.interfaces.web.app import App
    from recollect.interfaces.web.memories import Takes
    from recollect.serving.oauth.desk import Desk

_OPEN_AFTER_S: Final = 0.3  # the server is listening already; it answers when it has loaded


def serve(
    *,
    store: str | None,
    space: str | None = None,
    port: int = 0,
    opens: bool = True,
    read_only: bool = False,
    demo: bool = False,
    tell: Callable[[dict[str, object]], None] | None = None,
) -> None:
    """Shows the memories of a store in a browser until a signal ends it.

    ``tell`` is given the address instead of the terminal, as data.
    """
    _check_installed()
    with _opened(store, space, demo=demo) as opened, server.listen(port) as listening:
        own = Own(opened, read_only=read_only, named=store)
        _run(own, opened.where, listening, Launched(space), opens=opens, tell=tell)


def _run(
    own: Own,
    where: str,
    listening: socket.socket,
    sessions: Launched,
    *,
    opens: bool,
    tell: Callable[[dict[str, object]], None] | None,
) -> None:
    from recollect.interfaces.web.app import App

    port = listening.getsockname()[1]
    app = App(own, sessions, Guard(f"{name}:{port}" for name in guard.NAMES))
    door = f"http://{server.ADDRESS}:{port}/open"
    url = f"{door}?key={sessions.launch()}"
    if tell is None:
        _say(url, where)
    else:
        tell({"url": url, "where": where, "port": port})
    own_folder = config.known_file().parent
    with start_page(own_folder, port, door, sessions) if opens else nullcontext() as page:
        if page is not None:
            app.entered = page.remove
            threading.Timer(_OPEN_AFTER_S, webbrowser.open, (page.path.as_uri(),)).start()
        server.serve(app, listening, drain=app.drain)


@contextmanager
def _opened(where: str | None, space: str | None, *, demo: bool) -> Iterator[Store]:
    """The store to look at; one without a memory is refused, because its name may be mistyped."""
    if demo:
        from recollect.interfaces.web.demo import told

        with told() as store:
            yield store
        return
    with Store.open(where) as store:
        spaces = store.spaces()
        if not spaces:
            raise NotFound(
                f"{store.where} does not contain a memory",
                hint="run `recollect init` to create one, or `recollect ui --demo` to look around",
            )
        if space is not None and space not in spaces:
            raise NotFound(
                f"the space {space!r} does not exist in {store.where}",
                hint=f"use --space with one of: {', '.join(spaces[:10])}",
            )
        yield store


def _say(url: str, where: str) -> None:
    sys.stderr.write(
        f"Looking at {where}\n\n  {url}\n\n"
        f"The link works once, for {LAUNCH_S:.0f} seconds, on this machine. Ctrl-C ends it.\n"
    )
    sys.stderr.flush()


def mounted(
    store: Store, *, hosts: Iterable[str], address: str, root: str, is_secure: bool,
    is_named: bool, take: Takes | None = None, desk: Desk | None = None,
) -> App:  # fmt: skip
    """The inspector as a part of a service: a token lets in, and allows what it allows there.

    Unless it has a name of its own, its path has a part that is only told in the terminal: a cookie
    is sent to every port of 127.0.0.1, a secure one too, so another program would get one whose
    path it can guess. With a desk, people approve assistants here.
    """
    _check_installed()
    from recollect.interfaces.web.app import App
    from recollect.interfaces.web.consent import Consent
    from recollect.interfaces.web.login.session import LoggedIn
    from recollect.interfaces.web.memories import Team

    team = Team(store, address)
    name = "ui" if is_named else f"ui-{REAL.random(6).hex()}"
    sessions = LoggedIn(team.check, root=f"{root}/{name}", is_secure=is_secure)
    guard = Guard(hosts, ("https",) if is_secure else ("http",))
    consent = None if desk is None else Consent(desk, sessions.root, root)
    return App(team, sessions, guard, take=take, consent=consent)


def _check_installed() -> None:
    server.check_installed("the inspector", "ui", "jinja2")
