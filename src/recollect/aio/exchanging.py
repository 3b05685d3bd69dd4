"""The calls of ``memory.exchanging``, async; ``make async`` writes this module.

Responsible for one call in a worker thread for each call there. Leaves everything else to the plain
memory. Invariant: signatures and documentation are the same.
"""

from __future__ import annotations

import os

from recollect.aio.workers import AsyncCalls
from recollect.memory.memory import Memory
from recollect.model.values import Exported, Imported
from recollect.store.port import Progress


class AsyncExchanging(AsyncCalls[Memory]):
    """Import from other programs, and export."""

    async def import_(
        self,
        path: str | os.PathLike[str],
        format: str | None = None,
        *,
        hold: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> Imported:
        """Import what another program knew: a file, a folder or a zip archive.

        Importing the same again adds nothing: each item is known by its id there. If it changed
        there since, it changes here. A statement that was removed there from a note or an entity
        ends here. What a person changed, forgot or erased here stays as it is.

        Args:
            path: The file, folder or archive.
            format: The format, such as ``mem0``; recognized by default.
            hold: Hold every record for a review. So does a store that is opened with a token.
            dry_run: Write nothing; only say what would be done.
            progress: Called with the bytes read and the bytes in all.

        Returns:
            What was kept, changed, ended, known, missing, left out and refused. Records have at
            most an agent's trust.

        Raises:
            InvalidInput: The format is not known or not recognized, or the file cannot be read.
        """
        return await self._run(
            self._calls.import_, path, format, hold=hold, dry_run=dry_run, progress=progress
        )

    async def export(
        self, format: str, target: str | os.PathLike[str], progress: Progress | None = None
    ) -> Exported:
        """Write everything that this handle sees to a new file or folder, at one position.

        ``memory.at(…).export(…)`` writes what it was then. What was erased is not in it. To move a
        whole memory with its history, use ``copy_to`` or ``backup``.

        Args:
            format: ``ndjson``, ``json``, ``graph``, ``pages``, ``workspace``, ``mem0``,
                ``mcp-memory`` or ``markitect``. The first two have records of every status,
                episodes, links, frames and documents, and ``import_`` reads them; the others have
                what holds.
            target: A file that does not exist yet; for ``pages`` and ``workspace`` a folder.
            progress: Called with the events done and the events in all.

        Returns:
            What was written. Two memories that hold the same have the same ``digest``.

        Raises:
            InvalidInput: The format is not known, or the target cannot be written.
            Conflict: The target exists.
        """
        return await self._run(self._calls.export, format, target, progress)
