"""The calls of ``memory.pages``, async; ``make async`` writes this module.

Responsible for one call in a worker thread for each call there. Leaves everything else to the plain
memory. Invariant: signatures and documentation are the same.
"""

from __future__ import annotations

import os

from recollect.aio.workers import AsyncCalls
from recollect.memory.pages import Pages
from recollect.model.values import PageInfo, PagesStatus, Rendered

List = list  # ``list`` is also the name of a call


class AsyncPages(AsyncCalls[Pages]):
    """List, read and render the pages of a memory.

    A page is about one entity, named after what its records are about: ``person-alice`` for
    "person:Alice", ``topic-rust-async`` for "Rust async", ``unfiled`` for records about nothing.
    ``event-2026-04-22`` tells what was learned in the sessions of that day. Pages show records that
    hold, and those that were superseded, struck through. A document of the type "page" says what a
    page is called (``title``), its ``description``, ``tags``, ``status`` and ``needs_compact``."""

    async def list(self) -> List[PageInfo]:
        """Every page but the index, by name."""
        return await self._run(self._calls.list)

    async def read(self, name: str) -> str:
        """The text of a page as it would be rendered now, on every engine.

        Args:
            name: The name of a page, such as ``user-profile``; ``index`` lists the others.

        Raises:
            NotFound: The page does not exist.
        """
        return await self._run(self._calls.read, name)

    async def render(
        self, folder: str | os.PathLike[str] | None = None, *, overwrite: bool = False
    ) -> Rendered:
        """Write the pages that differ from what is in the folder, and remove those that ended.

        A file that a person changed is left as it is and named in the answer.

        Args:
            folder: Where to; by default ``pages`` in the folder of the memory. A memory in a server
                or in the process has no folder, so it must be named there. After an erasure render
                again into a folder that you named: only the default folder is cleaned by itself.
            overwrite: Also write files that a person changed.

        Raises:
            Unsupported: This memory has no folder, or the handle shows the past.
            Forbidden: Without a folder: the handle is bound to one user.
            Unavailable: The folder could not be written.
        """
        return await self._run(self._calls.render, folder, overwrite=overwrite)

    async def status(self, folder: str | os.PathLike[str] | None = None) -> PagesStatus:
        """What ``render`` would find in the folder. Changes nothing.

        Args:
            folder: As for ``render``.
        """
        return await self._run(self._calls.status, folder)
