"""The inspector on the port of the service: everything under ``/ui/``.

Responsible for which requests are its own. Leaves them to the application that ``__main__`` hands
in, with its own checks of names, origins and sessions. Invariant: it gets the address as the
browser sees it, with the prefix of a proxy, and no request of the API.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Protocol

from recollect.memory.store import Store
from recollect.serving.guard import Receive, Scope, Send
from recollect.serving.oauth.desk import Desk

# Where a person approves an assistant, behind the beginning of the inspector.
CONSENT: Final = "-/assistants"
# Without a name of its own, a part of its path is only told in the terminal.
_PATH: Final = re.compile("/ui(?:-[0-9a-f]{12})?(?:/.*)?", re.DOTALL)


class Pages(Protocol):
    """The inspector."""

    @property
    def path(self) -> str:
        """Where it begins, with the prefix of a proxy."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""

    def drain(self) -> None:
        """Ends its streams."""

    def close(self) -> None:
        """Ends what it keeps."""


class MakesPages(Protocol):
    """Makes the inspector of a store."""

    def __call__(
        self, store: Store, *, hosts: list[str], address: str, root: str, is_secure: bool,
        is_named: bool, take: Callable[[str, str], None], desk: Desk | None,
    ) -> Pages:  # fmt: skip
        """The inspector, as it is reached under these names.

        ``is_secure`` means over https, and ``is_named`` that none of the names is this machine's.
        ``take`` counts its requests; with a desk, people approve assistants there.
        """


def is_page(path: str) -> bool:
    """True if a path belongs to the inspector."""
    return _PATH.fullmatch(path) is not None


def with_root(scope: Scope, root: str, path: str) -> Scope:
    """A request as the browser sent it; the inspector itself ends in a slash."""
    whole = f"{root}{path}" if "/" in path[1:] else f"{root}{path}/"
    return {**scope, "raw_path": whole.encode("latin-1")}
