"""The calls of ``memory.upkeep`` as requests; ``make async`` writes it.

Responsible for one request for each call there. Leaves sending to ``client.asking``. Invariant:
signatures and documentation are the same.
"""

from __future__ import annotations

import os

from recollect.client.asking import Calls
from recollect.client.kinds import Progress
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
)


class Upkeep(Calls):
    """Status, verify, prove, audit, seal, rebuild, back up, diagnose."""

    def digest(self) -> str:
        """The state digest: equal digests mean the same records, episodes, links and history."""
        answer: str = self._do("digest", str, {}, inside="digest")
        return answer

    def check_certificate(self, certificate: str) -> Certified:
        """Compare a certificate of erasure with the ledger and the keys that are trusted here.

        Args:
            certificate: Its text, as ``erase(subject=…, certificate=True)`` returned it, or the
                name of its file.

        Raises:
            InvalidInput: It is neither a note nor the name of a file.
            IntegrityError: It is not a certificate, or no known key signed it.
        """
        raise self._unsupported("check_certificate")

    def checkpoint(self) -> Checkpoint:
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
        answer: Checkpoint = self._do("checkpoint", Checkpoint, {})
        return answer

    def prove(self, id: str | None = None, *, event: int | None = None) -> Proof:
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
        answer: Proof = self._do("prove", Proof, {"id": id, "event": event})
        return answer

    def audit(
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
        answer: list[AuditEntry] = self._do(
            "audit",
            list[AuditEntry],
            {"since": since, "until": until, "id": id, "after": after, "limit": limit},
        )
        return answer

    def erasures(self, progress: Progress | None = None) -> list[OrderedErasure]:
        """Every erasure that the ledger records, oldest first: which events, when, and why.

        Args:
            progress: Called with the bytes done and the bytes in all, because the whole ledger
                is read.

        Raises:
            Forbidden: The handle is bound to one user.
        """
        answer: list[OrderedErasure] = self._do("erasures", list[OrderedErasure], {})
        return answer

    def seal(self) -> Sealed:
        """Close the active ledger file into a segment under ``sealed/``.

        The ledger's next line says how many events came before, where their chain ends and what
        their state digest is. Nothing is hidden: ``verify`` reads the segments too. If there is a
        key for this ledger, a checkpoint is signed.

        Raises:
            Forbidden: The handle has less than a person's trust, or is bound to one user.
        """
        raise self._unsupported("seal")

    def rebuild(self, progress: Progress | None = None) -> Rebuilt:
        """Throw the index away and fold the whole ledger again.

        Args:
            progress: Called with the bytes done and the bytes in all.
        """
        raise self._unsupported("rebuild")

    def embed(self, progress: Progress | None = None) -> tuple[Embedded, ...]:
        """Encode every text that lacks vectors.

        Args:
            progress: Called with the texts done and the texts in all.

        Returns:
            What was done for each embedder of this store.
        """
        raise self._unsupported("embed")

    def backup(
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
        raise self._unsupported("backup")

    def doctor(self, progress: Progress | None = None) -> list[Finding]:
        """Examine everything without changing it, as deeply as ``verify(deep=True)``.

        Args:
            progress: Called with the bytes done and the bytes in all.

        Returns:
            What is wrong, and for each finding what to do.
        """
        raise self._unsupported("doctor")

    def check(self, progress: Progress | None = None) -> list[Finding]:
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
        answer: list[Finding] = self._do("check", list[Finding], {})
        return answer

    def accept_loss(self, *, reason: str | None = None) -> None:
        """Continue from what the ledger still holds after a loss; an event records it.

        Args:
            reason: What happened, for people who read the history.

        Raises:
            Forbidden: The handle has less than a person's trust, or is bound to one user.
        """
        raise self._unsupported("accept_loss")
