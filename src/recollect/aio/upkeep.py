"""The calls of ``memory.upkeep``, async; ``make async`` writes this module.

Responsible for one call in a worker thread for each call there. Leaves everything else to the plain
memory. Invariant: signatures and documentation are the same.
"""

from __future__ import annotations

import os

from recollect.aio.workers import AsyncCalls
from recollect.memory.memory import Memory
from recollect.model.values import (
    Backup,
    Checkpoint,
    Embedded,
    Finding,
    OrderedErasure,
    Rebuilt,
    Sealed,
    SpaceStatus,
    Verification,
)
from recollect.store.port import Progress


class AsyncUpkeep(AsyncCalls[Memory]):
    """Status, verify, seal, rebuild, embed, back up, diagnose."""

    async def status(self) -> SpaceStatus:
        """How many records, episodes and links there are, and where the ledger stands.

        Raises:
            NotFound: The memory is empty.
            Forbidden: The handle is bound to one user.
        """
        return await self._run(self._calls.status)

    async def digest(self) -> str:
        """The state digest: equal digests mean the same records, episodes, links and history."""
        return await self._run(self._calls.digest)

    async def verify(
        self,
        progress: Progress | None = None,
        *,
        deep: bool = False,
        anchor: str | None = None,
    ) -> Verification:
        """Check every line of the ledger and its segments: hashes, neighbours, the last seal.

        Args:
            progress: Called with the bytes done and the bytes in all.
            deep: Also fold the whole ledger again, compare the result with the index row by row
                and word by word, and run the engine's own check.
            anchor: Something that was kept elsewhere: ``SEQ:HASH``, the ``anchor`` of an earlier
                verification, or a signed checkpoint, as its text or the name of its file. It
                detects a ledger that was replaced, rewritten or cut, which is consistent in
                itself.

        Returns:
            Whether the ledger is consistent; if not, the first event that is wrong, and why. It is
            ``anchored`` if it agrees with the anchor, or with the last checkpoint that this
            person's keys know.

        Raises:
            InvalidInput: The anchor could not be parsed.
            IntegrityError: The checkpoint is of another ledger, or no known key signed it.
        """
        return await self._run(self._calls.verify, progress, deep=deep, anchor=anchor)

    async def checkpoint(self) -> Checkpoint:
        """Sign how many events the ledger has and which root their tree has.

        The signed note lies in ``checkpoints/`` beside the ledger. Give it to others, or keep it
        elsewhere: later ``verify(anchor=note)`` shows that none of these events was changed.

        Raises:
            NotFound: No key signs this ledger; create one with ``recollect admin key create``.
            NotInstalled: The extra ``proof`` is not installed.
            IntegrityError: The ledger contradicts an earlier checkpoint.
            Forbidden: The handle is bound to one user.
        """
        return await self._run(self._calls.checkpoint)

    async def erasures(self, progress: Progress | None = None) -> list[OrderedErasure]:
        """Every erasure that the ledger records, oldest first: which events, when, and why.

        Args:
            progress: Called with the bytes done and the bytes in all, because the whole ledger
                is read.

        Raises:
            Forbidden: The handle is bound to one user.
        """
        return await self._run(self._calls.erasures, progress)

    async def seal(self) -> Sealed:
        """Close the active ledger file into a segment under ``sealed/``.

        The ledger's next line says how many events came before, where their chain ends and what
        their state digest is. Nothing is hidden: ``verify`` reads the segments too. If there is a
        key for this ledger, a checkpoint is signed.

        Raises:
            Forbidden: The handle has less than a person's trust, or is bound to one user.
        """
        return await self._run(self._calls.seal)

    async def rebuild(self, progress: Progress | None = None) -> Rebuilt:
        """Throw the index away and fold the whole ledger again.

        Args:
            progress: Called with the bytes done and the bytes in all.
        """
        return await self._run(self._calls.rebuild, progress)

    async def embed(self, progress: Progress | None = None) -> tuple[Embedded, ...]:
        """Encode every text that lacks vectors.

        Args:
            progress: Called with the texts done and the texts in all.

        Returns:
            What was done for each embedder of this store.
        """
        return await self._run(self._calls.embed, progress)

    async def backup(
        self, target: str | os.PathLike[str] | None = None, progress: Progress | None = None
    ) -> Backup:
        """Copy the ledger to a new folder.

        Args:
            target: The folder; one under ``backup/`` of the workspace by default.
            progress: Called with the bytes done and the bytes in all.

        Raises:
            Forbidden: The handle has less than a person's trust, or is bound to one user.
        """
        return await self._run(self._calls.backup, target, progress)

    async def doctor(self, progress: Progress | None = None) -> list[Finding]:
        """Examine everything without changing it, as deeply as ``verify(deep=True)``.

        Args:
            progress: Called with the bytes done and the bytes in all.

        Returns:
            What is wrong, and for each finding what to do.
        """
        return await self._run(self._calls.doctor, progress)

    async def check(self, progress: Progress | None = None) -> list[Finding]:
        """Look for what leads nowhere: links without a record at one end, events without effect.

        Also for events of a kind or version that this release does not know. ``doctor`` shows
        the same findings beside its own.

        Args:
            progress: Called with the bytes done and the bytes in all, because the whole ledger
                is read.

        Returns:
            What was found, and for each finding what to do; empty if there is nothing.

        Raises:
            Forbidden: The handle is bound to one user.
        """
        return await self._run(self._calls.check, progress)

    async def accept_loss(self, *, reason: str | None = None) -> None:
        """Continue from what the ledger still holds after a loss; an event records it.

        Args:
            reason: What happened, for people who read the history.

        Raises:
            Forbidden: The handle has less than a person's trust, or is bound to one user.
        """
        await self._run(self._calls.accept_loss, reason=reason)
