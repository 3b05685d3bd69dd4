"""The page on the disk that lets a browser in.

Responsible for a file that only this account can read and that posts a launch key: what stands in
the arguments of a process, every account of the machine can read. Leaves the key to ``session``.
Invariant: the file is gone when its key was used, when its key has ended, and with the process.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path

from recollect.interfaces.web.login.session import LAUNCH_S, Launched
from recollect.store.disk.disk import make_folder, replace_file
from recollect.store.seam import REAL, Seam

_PAGE = """<!doctype html>
<meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>Recollect</title>
<form method="post" action="{action}"><input type="hidden" name="key" value="{key}">
<button>Look at the memory</button></form>
<script>document.forms[0].submit()</script>
"""
_LED_ON = """<!doctype html>
<meta charset="utf-8"><meta http-equiv="refresh" content="0; url={place}"><title>Recollect</title>
<p><a href="{place}">Look at the memory</a></p>
"""


class StartPage:
    """The file, from when it is written until it is removed."""

    def __init__(self, folder: Path, port: int, seam: Seam = REAL) -> None:
        self.path = folder / f"open-{port}.html"  # one process at a time has the port
        self._seam = seam

    def write(self, action: str, key: str) -> None:
        """Writes it; the folder and the file are for this account alone."""
        make_folder(self._seam, self.path.parent)
        with suppress(FileNotFoundError):  # of a process that was killed; a link is not followed
            self._seam.unlink(self.path)
        page = _PAGE.format(action=escape(action), key=escape(key))
        replace_file(self._seam, self.path, [page.encode()])

    def remove(self) -> None:
        """Removes it, if it is still there."""
        with suppress(OSError):
            self._seam.unlink(self.path)


@contextmanager
def start_page(
    folder: Path, port: int, action: str, sessions: Launched, seam: Seam = REAL
) -> Iterator[StartPage | None]:
    """A page with a key of its own while this runs; None if the folder cannot be written."""
    page = StartPage(folder, port, seam)
    try:
        page.write(action, sessions.launch())
    except OSError:  # the link in the terminal is left
        yield None
        return
    ending = threading.Timer(LAUNCH_S, page.remove)
    ending.daemon = True
    ending.start()
    try:
        yield page
    finally:
        ending.cancel()
        page.remove()


def led_on(place: str) -> bytes:
    """What the browser is answered: a page that goes on by itself.

    A redirect would not do. The form came from a file, so the browser would not send the cookie
    (SameSite=Strict) to the address it is redirected to.
    """
    return _LED_ON.format(place=escape(place)).encode()
