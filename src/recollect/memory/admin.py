"""``memory.admin``: what looks after a memory and moves it.

Responsible for the public signatures, and for who may make each call. Leaves the work to ``store``
and to modules that are loaded when they are needed. Invariant: a call that concerns the whole space
is refused to a handle that is bound to one user.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from recollect.lifecycle.commands import Expect
from recollect.memory.handle.handle import Calls, handle_of
from recollect.memory.handle.healed import heals
from recollect.memory.proof import consistency, verification
from recollect.memory.proof.verification import require_last
from recollect.model import limits, validate
from recollect.model.instants import Moment
from recollect.model.presets import Units
from recollect.model.values import (
    Archived,
    Backup,
    Choice,
    Copied,
    Embedded,
    Exported,
    Finding,
    Imported,
    Include,
    LedgerMerge,
    Rebuilt,
    Sealed,
    Verification,
    WhyNot,
)
from recollect.recall.pack import Counter, count_tokens
from recollect.store.carry import carry
from recollect.store.port import Progress


@heals
class Admin(Calls):
    """Verify, diagnose, explain, seal, rebuild, back up, copy, merge, import, export."""

    def verify(
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
        handle = self._handle
        return verification.verify(handle.space, handle.seam, progress, deep=deep, anchor=anchor)

    def doctor(self, progress: Progress | None = None) -> list[Finding]:
        """Examine everything without changing it, as deeply as ``verify(deep=True)``.

        Args:
            progress: Called with the bytes done and the bytes in all.

        Returns:
            What is wrong, and for each finding what to do.
        """
        found = verification.findings(self._handle.space, self._handle.seam.now(), progress)
        good = {each.what for each in found if each.level == "ok"}
        if self._handle.actor.user is not None or any(each.level == "problem" for each in found):
            return found
        replaced = verification.replaced(self._handle.space)
        if replaced:
            return [*found, *replaced]
        overdue = verification.overdue(self._handle) if good & {"index", "server"} else []
        return [*found, *overdue, *(self.check() if "index" in good else ())]

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
        self._handle.require_whole("checking")
        return consistency.findings(self._handle.space, progress)

    def digest(self) -> str:
        """The state digest: equal digests mean the same records, episodes, links and history."""
        self._handle.require_whole("the digest")
        return self._handle.space.digest(self._handle.position)

    def why_not(
        self,
        id: str,
        query: str,
        *,
        preset: str | None = None,
        tokens: int | None = None,
        counter: Counter | None = None,
        k: int = 10,
        unit: Units = "any",
        filter: str | None = None,
        include: Iterable[Include] = (),
        valid_at: Moment | None = None,
        min_relevance: float | None = None,
    ) -> WhyNot:
        """Why a recall leaves a record or an episode out; with a preset, why a context does.

        Args:
            id: The record or episode that was expected.
            query: The question.
            preset: The preset of the context to explain; without one, a recall is explained.
            tokens: The context's budget; the preset's by default.
            counter: Counts tokens, as for ``Memory.context``.
            k: The recall's number of hits.
            unit: As for ``Memory.recall``.
            filter: As for ``Memory.recall``.
            include: As for ``Memory.recall``.
            valid_at: As for ``Memory.recall``.
            min_relevance: As for ``Memory.recall``.

        Raises:
            NotFound: This handle sees nothing with that id, or the preset does not exist.
        """
        from recollect.finding.candidates import wished  # few ask for it
        from recollect.finding.why_not import Inquiry, in_context, in_recall
        from recollect.memory.contexts.presets import preset_named

        handle = self._handle
        k = validate.count(k, "k", at_most=limits.RECALL_MAX_HITS)
        wish = handle.wish(unit, include, valid_at, min_relevance, filter)
        question = handle.ask(query)
        with handle.reading() as reads:
            row = handle.find(reads, id)
            if preset is None:
                return in_recall(Inquiry(row, reads, question, wished(question, wish)), k)
            chosen = preset_named(reads, preset)
            budget = chosen.tokens if tokens is None else tokens
            budget = validate.count(budget, "tokens", at_most=limits.CONTEXT_MAX_TOKENS)
            wish = wished(question, handle.wish(chosen.unit, filter=chosen.where))
            inquiry = Inquiry(row, reads, question, wish)
            return in_context(inquiry, chosen, budget, counter or count_tokens)

    def seal(self) -> Sealed:
        """Close the active ledger file into a segment under ``sealed/``.

        The ledger's next line says how many events came before, where their chain ends and what
        their state digest is. Nothing is hidden: ``verify`` reads the segments too. If there is a
        key for this ledger, a checkpoint is signed.

        Raises:
            Forbidden: The handle has less than a person's trust, or is bound to one user.
        """
        self._handle.require_whole("sealing")
        self._handle.require_person("sealing the ledger")
        done = self._handle.space.seal()
        return verification.with_checkpoint(self._handle, done)

    def rebuild(self, progress: Progress | None = None) -> Rebuilt:
        """Throw the index away and fold the whole ledger again.

        Args:
            progress: Called with the bytes done and the bytes in all.
        """
        self._handle.require_whole("rebuilding")
        return self._handle.space.rebuild(progress)

    def embed(self, progress: Progress | None = None) -> tuple[Embedded, ...]:
        """Encode every text that lacks vectors.

        Args:
            progress: Called with the texts done and the texts in all.

        Returns:
            What was done for each embedder of this store.
        """
        from recollect.finding.vectors import embed_all

        self._handle.require_whole("embedding")
        return embed_all(self._handle.space, self._handle.embedders, progress)

    def flush(self) -> None:
        """Write the receipts that wait for the next append."""
        self._handle.space.flush()

    def archive(
        self,
        *,
        below: float = 0.05,
        limit: int = 1_000,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Archived:
        """Archive the records that have faded: long unused, by their decay tier.

        Nothing calls this by itself. Recency falls with each active hour since a record was last
        restated or used, as in presets: at 0.05 a ``standard`` record was unused for 300 active
        hours, a ``durable`` one for 3,000 and an ``ephemeral`` one for 60; a ``permanent`` one
        never fades. ``undo`` brings a record back.

        Args:
            below: Archive what has less recency than this, from 0 to 1.
            limit: At most so many, the longest unused first.
            dry_run: Only return what would be archived.
            idempotency_key: The same key with the same call again returns the first outcome. With
                a key or ``expect`` it is one command: ``limit`` is then 1,000 at most.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Returns:
            What was archived, how many this handle may not archive, and whether there are more.

        Raises:
            InvalidInput: An argument is not valid.
            Forbidden: An agent archives more than 20 at once.
        """
        from recollect.memory.correction.faded import (  # most archive nothing
            archive,
            would_archive,
        )

        at_most = validate.count(limit, "limit", at_most=limits.LIST_MAX_RECORDS)
        only_look = validate.flag(dry_run, "dry_run")
        below = validate.fraction(below, "below")
        if only_look:
            return would_archive(self._handle, below, at_most)
        return archive(self._handle, below, at_most, idempotency_key, expect)

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
        self._handle.require_whole("a backup")
        self._handle.require_person("copying the whole ledger")
        verification.require_last(self._handle)
        return self._handle.space.backup(None if target is None else os.fspath(target), progress)

    def copy_to(self, other: Calls, progress: Progress | None = None) -> Copied:
        """Append to another memory the events of this one that it lacks, byte for byte.

        Afterwards both ledgers end alike. If it is stopped halfway, the same call continues.

        Args:
            other: The memory to copy to: an empty one, or an older copy of this one.
            progress: Called with the events done and the events in all.

        Raises:
            Conflict: The other memory has events that this one lacks.
            IntegrityError: The ledger contradicts the last checkpoint known here.
            Forbidden: A handle has less than a person's trust, or is bound to one user.
        """
        target = handle_of(other)
        for handle in (self._handle, target):
            handle.require_whole("carrying a memory")
        self._handle.require_person("copying the whole ledger")
        require_last(self._handle)
        return carry(self._handle.space, target.space, progress, now=target.now())

    def merge_from(
        self,
        other: Calls,
        *,
        choose: Mapping[str, Choice] | None = None,
        digest: str | None = None,
        is_mine: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> LedgerMerge:
        """Bring what another copy of this memory has written since both were one.

        Its erasures come first, then its commands in their order, with their authors and times.
        This ledger goes on; nothing in it is rewritten. A command comes once, so a merge that was
        stopped, or is made again in either direction, doubles nothing.

        Args:
            other: A memory whose ledger began as a copy of this one, or this one as a copy of it.
            choose: For each conflict, by its id: ``ours`` keeps what this memory has, ``theirs``
                takes the other's.
            digest: The ``digest`` of the dry run that was shown; another state is refused.
            is_mine: What the other memory says has the trust that it has there, also where no key
                known here has signed it. Else that is at most an agent's.
            dry_run: Only say what would come, and show both sides of each conflict.
            progress: Called with the commands done and the commands in all.

        Raises:
            Conflict: A conflict is not decided, or the ledgers have nothing in common; nothing was
                merged.
            IntegrityError: One of the ledgers is damaged, or contradicts a checkpoint.
            Unsupported: One of the memories is encrypted for subjects.
            Forbidden: A handle has less than a person's trust, or is bound to one user.
        """
        from recollect.memory.merging.merge import Wanted, merge  # rarely needed

        source = handle_of(other)
        for handle in (self._handle, source):
            handle.require_now()
            handle.require_whole("merging a memory")
            handle.require_person("merging two ledgers")
        require_last(source if is_mine else self._handle)
        wanted = Wanted(dict(choose or {}), digest, is_mine, dry_run)
        return merge(self._handle, source, wanted, progress)

    def import_(
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
        from recollect.memory.exchange.import_run import (
            run_import,  # loaded only by those who import
        )

        return run_import(
            self._handle,
            Path(path).expanduser(),
            format,
            hold=hold,
            dry_run=dry_run,
            progress=progress,
        )

    def export(
        self, format: str, target: str | os.PathLike[str], progress: Progress | None = None
    ) -> Exported:
        """Write everything that this handle sees to a new file or folder, at one position.

        ``memory.at(…).admin.export(…)`` writes what it was then. What was erased is not in
        it. To move a whole memory with its history, use ``copy_to`` or ``backup``.

        Args:
            format: ``ndjson``, ``json``, ``graph``, ``pages``, ``workspace``, ``mem0``,
                ``mcp-memory`` or ``markitect``. The first two have records of every status,
                episodes, links, presets and documents, and ``import_`` reads them; the others have
                what holds.
            target: A file that does not exist yet; for ``pages`` and ``workspace`` a folder.
            progress: Called with the events done and the events in all.

        Returns:
            What was written. Two memories that hold the same have the same ``digest``.

        Raises:
            InvalidInput: The format is not known, or the target cannot be written.
            Conflict: The target exists.
        """
        from recollect.memory.exchange.exports import (
            run_export,  # loaded only by those who export
        )

        return run_export(self._handle, format, Path(target).expanduser(), progress)

    def accept_loss(self, *, reason: str | None = None) -> None:
        """Continue from what the ledger still holds after a loss; an event records it.

        Args:
            reason: What happened, for people who read the history.

        Raises:
            Forbidden: The handle has less than a person's trust, or is bound to one user.
        """
        self._handle.require_whole("accepting a loss")
        self._handle.require_person("accepting a loss")
        self._handle.space.accept_loss(validate.reason(reason))
