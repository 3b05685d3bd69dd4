"""``memory.proof``: evidence for others, and who told, read and approved what.

Responsible for the public signatures, and for who may make each call. Leaves the work to modules
that are loaded when they are needed: most programs prove nothing.
"""

from __future__ import annotations

from recollect.errors import InvalidInput
from recollect.memory.contexts.receipts import Receipts
from recollect.memory.handle.handle import Calls
from recollect.memory.handle.healed import heals
from recollect.memory.proof import verification
from recollect.model import validate
from recollect.model.instants import Moment
from recollect.model.values import (
    AuditEntry,
    Certified,
    Checkpoint,
    OrderedErasure,
    Proof,
)
from recollect.store.port import Progress


@heals
class Proofs(Calls):
    """Sign, prove, audit; what was erased, and what contexts handed out."""

    def checkpoint(self) -> Checkpoint:
        """Sign how many events the ledger has and which root their tree has.

        The signed note lies in ``checkpoints/`` beside the ledger. Give it to others, or keep it
        elsewhere: later ``verify(anchor=note)`` shows that none of these events was changed.
        The witnesses of this ledger are asked to cosign it. One that does not answer is named in
        ``witnesses``; the checkpoint is kept all the same.

        Raises:
            NotFound: No key signs this ledger; create one with ``recollect proof key create``.
            NotInstalled: The extra ``proof`` is not installed.
            IntegrityError: The ledger contradicts an earlier checkpoint.
            Forbidden: The handle is bound to one user, or has less than a person's trust.
        """
        from recollect.memory.proof import checkpoints  # loaded only by those who sign

        self._handle.require_whole("a checkpoint")
        self._handle.require_person("signing a checkpoint")
        return checkpoints.checkpoint(self._handle)

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
        from recollect.memory.proof import evidence  # loaded only by those who need proofs

        return evidence.prove(self._handle, id, event)

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
            id: Only about this record (and its links), episode, receipt, preset or document.
            after: Only after this position. Pass the ``seq`` of a page's last entry to get the
                next page.
            limit: At most this many events, up to 10,000; checkpoints come on top.

        Raises:
            InvalidInput: An instant could not be understood, or a position is below 0.
        """
        from recollect.memory.proof import audit as audits  # loaded only by those who audit

        return audits.audit(self._handle, since=since, until=until, id=id, after=after, limit=limit)

    def check_certificate(self, certificate: str) -> Certified:
        """Compare a certificate of erasure with the ledger and the keys that are trusted here.

        Args:
            certificate: Its text, as ``erase(subject=…, certificate=True)`` returned it, or the
                name of its file.

        Raises:
            InvalidInput: It is neither a note nor the name of a file.
            IntegrityError: It is not a certificate, or no known key signed it.
        """
        from recollect.memory.proof.certificates import check

        note = verification.note_in(validate.text(certificate, "certificate"))
        if note is None:
            raise InvalidInput(
                f"{validate.shown(certificate)} is neither a certificate nor the file of one",
                hint="give its text, or the name of its file",
            )
        return check(self._handle, note)

    def erasures(self, progress: Progress | None = None) -> list[OrderedErasure]:
        """Every erasure that the ledger records, oldest first: which events, when, and why.

        Args:
            progress: Called with the bytes done and the bytes in all, because the whole ledger
                is read.

        Raises:
            Forbidden: The handle is bound to one user.
        """
        self._handle.require_whole("listing erasures")
        return verification.erasures(self._handle.space, progress)

    @property
    def receipts(self) -> Receipts:
        """What contexts handed out."""
        return Receipts(self._handle)
