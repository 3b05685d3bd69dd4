"""The calls of ``memory.upkeep``, async; ``make async`` writes this module.

Responsible for one call in a worker thread for each call there. Leaves everything else to the plain
memory. Invariant: signatures and documentation are the same.
"""

from __future__ import annotations

import os

from recollect.client.aio.workers import AsyncCalls
from recollect.client.kinds import Progress
from recollect.client.memory import Memory
from recollect.model.instants import Moment
from recollect.model.values import (
    AuditEntry,
    Backup,
    Certified,
    Checkpoint,
    Embedded,
    Finding,
    OrderedErasure,
    Proof,
    Rebuilt,
    Sealed,
    SpaceStatus,
    Verification,
)


class AsyncUpkeep(AsyncCalls[Memory]):
    """Status, verify, prove, audit, seal, rebuild, back up, diagnose."""

    async def status(self) -> SpaceStatus:
        """How many records, episodes and links there are, and where the ledger stands.

        The first call counts; later ones of the same process count what has changed since.

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
            ``anchored`` if it agrees with the anchor, with the last checkpoint that this person's
            keys know, or with one that a witness has cosigned.

        Raises:
            InvalidInput: The anchor could not be parsed.
            IntegrityError: The checkpoint is of another ledger, or no known key signed it.
        """
        return await self._run(self._calls.verify, progress, deep=deep, anchor=anchor)

    async def check_certificate(self, certificate: str) -> Certified:
        """Compare a certificate of erasure with the ledger and the keys that are trusted here.

        Args:
            certificate: Its text, as ``erase(subject=…, certificate=True)`` returned it, or the
                name of its file.

        Raises:
            InvalidInput: It is neither a note nor the name of a file.
            IntegrityError: It is not a certificate, or no known key signed it.
        """
        return await self._run(self._calls.check_certificate, certificate)

    async def checkpoint(self) -> Checkpoint:
        """Sign how many events the ledger has and which root their tree has.

        The signed note lies in ``checkpoints/`` beside the ledger. Give it to others, or keep it
        elsewhere: later ``verify(anchor=note)`` shows that none of these events was changed.
        The witnesses of this ledger are asked to cosign it. One that does not answer is named in
        ``witnesses``; the checkpoint is kept all the same.

        Raises:
            NotFound: No key signs this ledger; create one with ``recollect admin key create``.
            NotInstalled: The extra ``proof`` is not installed.
            IntegrityError: The ledger contradicts an earlier checkpoint.
            Forbidden: The handle is bound to one user, or has less than a person's trust.
        """
        return await self._run(self._calls.checkpoint)

    async def prove(self, id: str | None = None, *, event: int | None = None) -> Proof:
        """Evidence to hand over: one event, exactly as the ledger has it, under a checkpoint.

        ``proof.document`` can be checked with ``docs/verify_proof.py`` by anyone who has the
        ledger's public key, without this program and without the rest of the memory. Of other
        events it has only hashes. If no signed checkpoint covers the event yet, one is signed.

        Args:
            id: A record or an episode: the event that gave it the text that it has.
            event: The number of an event instead, as ``events`` lists it; with ``id``, one about
                that record or episode. An erased event is shown without its body, together with
                the event that erased it.

        Raises:
            NotFound: This handle sees no such event, or no checkpoint covers it and none can be
                signed here.
            Forbidden: No checkpoint covers it, and this handle has less than a person's trust.
            NotInstalled: The extra ``proof`` is not installed.
            IntegrityError: The ledger contradicts the checkpoint.
        """
        return await self._run(self._calls.prove, id, event=event)

    async def audit(
        self,
        *,
        since: Moment | None = None,
        until: Moment | None = None,
        id: str | None = None,
        after: int = 0,
        limit: int = 1_000,
    ) -> list[AuditEntry]:
        """Who told the memory what, who approved it, what was handed out, erased and signed.

        Entries in the order of the ledger, a page at a time. A handle for one user lists the
        events that its ``events`` lists. Each entry says which signed checkpoint covers it, if the
        key that signed is known here; ``verify`` checks that the ledger agrees with them.

        Args:
            since: Only from this instant on.
            until: Only up to this instant; a date includes that day.
            id: Only about this record (and its links), episode, receipt, frame or document.
            after: Only after this position. Pass the ``seq`` of a page's last entry to get the
                next page.
            limit: At most this many events, up to 10,000; checkpoints come on top.

        Raises:
            InvalidInput: An instant could not be understood, or a position is below 0.
        """
        return await self._run(
            self._calls.audit, since=since, until=until, id=id, after=after, limit=limit
        )

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
            IntegrityError: The ledger contradicts the last checkpoint known here.
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
