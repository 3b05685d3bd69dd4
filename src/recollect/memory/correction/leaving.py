"""The calls of a memory that take something back or remove it.

Responsible for the public signatures of undoing and erasing. Leaves which command is taken back to
``memory.correction.undoing``, what an erasure removes to ``memory.erasure.erasure``, and deciding
to ``lifecycle``. Invariant: an erasure that was ordered is finished, by this call or by the next
process.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import get_args

from msgspec import structs

from recollect.errors import InvalidInput, NotFound
from recollect.index.rows import VersionRow
from recollect.index.statements import NOW
from recollect.lifecycle.commands import Expect, Revert
from recollect.memory.erasure.erasure import (
    Choosing,
    Chosen,
    Order,
    by_about,
    by_author,
    by_expiry,
    by_filter,
    by_key,
    by_user,
    cleaned,
    erase_planned,
    erased,
    naming,
    nothing_found,
    repeated,
    would_erase,
)
from recollect.memory.handle import acts, answers
from recollect.memory.handle.handle import Calls, Handle
from recollect.memory.handle.healed import heals
from recollect.memory.settings import retention_of
from recollect.model import validate
from recollect.model.counts import counted
from recollect.model.instants import Moment, instant, to_datetime
from recollect.model.values import Erasure, Record, Undone, Unit
from recollect.store.port import Progress


@heals
class Leaving(Calls):
    """Revert, undo, erase, retain."""

    def revert(
        self,
        id: str,
        *,
        to: int | Moment | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Record:
        """Bring back what held before: an earlier version, or the record that was superseded.

        The version is written again, so the history shows both. A record that holds the key
        instead is superseded, in the same command. Trust is never raised: a version comes back
        with at most the trust that its record has now.

        Args:
            id: The record, or its key.
            to: The ``seq`` of an earlier version, as ``history`` lists it, or an instant: what
                held then comes back. By default the last version that said something else.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Returns:
            The record that holds again.

        Raises:
            NotFound: This handle sees no record with that id.
            Conflict: Nothing came before, or what came before was erased.
            Forbidden: An agent reverts a person's record, or takes back a person's change.
        """
        act = Revert(id=validate.reference(id), to=_seq_of(self._handle, to))
        return self._handle.write((act,), answers.record, idempotency_key, expect)

    def undo(
        self,
        id: str | None = None,
        *,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Undone:
        """Take back the last command, in one command; an undo can be undone in the same way.

        Records, episodes, links, tags, frames and documents are again as they were before that
        command. Receipts, reinforcements and sessions stay, and so does what was said in a
        session, unless its id is given. An erasure cannot be taken back.

        Args:
            id: Take back the last change of this record or episode instead.
            dry_run: Only return what would be taken back.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since. By
                default the position at which the last command was found.

        Returns:
            The events of the command, and the events that took them back.

        Raises:
            NotFound: This handle sees nothing with that id.
            Conflict: There is nothing to undo, or the last command was an erasure.
            Forbidden: An agent takes back what a person wrote or did.
        """
        from recollect.memory.correction import undoing  # most processes undo nothing

        if validate.flag(dry_run, "dry_run"):
            with self._handle.reading() as reads:
                return undoing.plan(self._handle, reads, id).undone
        return undoing.undo(self._handle, id, idempotency_key, expect)

    def erase(
        self,
        id: str | None = None,
        *,
        key: str | None = None,
        about: str | None = None,
        user: str | None = None,
        filter: str | None = None,
        subject: str | None = None,
        author: str | None = None,
        certificate: bool = False,
        unit: Unit = "record",
        sources: bool = True,
        reason: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Erasure:
        """Remove every byte of records, episodes and receipts from this memory, for good.

        Exactly one of ``id``, ``key``, ``about``, ``user``, ``filter``, ``subject`` and ``author``
        says what. Much is erased in several commands. If that is interrupted, what was ordered is
        finished by the next process, and the same call again, without an idempotency key, erases
        the rest. What is written while it runs is not erased.

        Args:
            id: One record or episode.
            key: Every record that has this key: the present value and all earlier ones.
            about: Every record about this person, project or thing.
            user: Every record, episode, receipt and session of this user.
            filter: Every record that matches, in any state, such as ``created_at < '2026-01-01'``.
            subject: Everything of this user, and the key that it is encrypted with, so that
                copies elsewhere cannot be read any more. It needs a handle for the whole space.
            author: The name of who acted, or their id: the name alone; what they wrote and approved
                stays.
            certificate: Of a subject: also sign what was done, if the ledger has a key here.
            unit: ``episode`` to erase the episodes that match the filter instead.
            sources: Also erase episodes that are evidence for these records and nothing else.
            reason: Why; it stays in the ledger, so it should not repeat what is erased.
            dry_run: Only return what would be erased.
            progress: Called with the records, episodes and receipts done, and all of them.
            idempotency_key: The same key with the same call again returns the first outcome, and
                never erases more: if there is more by then, it is a ``Conflict``.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Returns:
            What was erased, the places that were cleaned, and what remains: earlier values of the
            same key, episodes that other records need, and what still names the user, the subject
            or the author in its text.

        Raises:
            NotFound: This handle sees nothing of that kind.
            InvalidInput: Not exactly one of the seven was given, or the filter cannot be parsed.
            Ambiguous: Several users have values under the key.
            Forbidden: The handle has less than a person's trust.
            Conflict: The key was used before, and there is more to erase: what an interrupted call
                left, or what was written later. Call again without the key.
        """
        given = {
            "key": key,
            "about": about,
            "user": user,
            "filter": filter,
            "subject": subject,
            "author": author,
        }
        chosen = {name: value for name, value in given.items() if value is not None}
        if len(chosen) + (id is not None) != 1:
            raise InvalidInput(
                "erase takes exactly one of id, key, about, user, filter, subject and author",
                hint="name one of them",
            )
        checked, dry_run = validate.reason(reason), validate.flag(dry_run, "dry_run")
        if id is not None:
            return self._erase_one(id, sources, checked, dry_run, idempotency_key, expect)
        (what,) = chosen.items()
        choose = _choosing(*what, unit)
        names = () if subject is None else self._pseudonyms(subject)
        order = Order(sources, checked, idempotency_key, expect, progress, user or subject, names)
        person = user or subject or author
        named = f"{what[0]} {what[1]!r}"
        erase = partial(self._erase_chosen, choose, order, named, dry_run, person)
        if not validate.flag(certificate, "certificate") or dry_run:
            return erase()
        if subject is None:
            raise InvalidInput("a certificate is of a subject", hint="erase with subject=")
        from recollect.memory.proof.certificates import certified  # needs the extra that signs

        return certified(self._handle, erase)

    def retain(
        self,
        *,
        dry_run: bool = False,
        progress: Progress | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Erasure:
        """Erase the records that expired longer ago than ``settings.retention`` keeps them.

        Nothing calls this by itself. Without a retention nothing is erased.

        Args:
            dry_run: Only return what would be erased.
            progress: Called with the records and episodes done, and all of them.
            idempotency_key: The same key again returns the first outcome, and never erases more:
                if more has expired by then, it is a ``Conflict``.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Returns:
            What was erased; nothing if ``events`` is empty.

        Raises:
            Forbidden: The handle has less than a person's trust, or is bound to one user.
            Conflict: The key was used before, and there is more to erase by now.
        """
        handle = self._handle
        handle.require_whole("retention")
        handle.require_person("erasing")
        days = retention_of(handle)
        if days is None:
            return Erasure(id=None, seq=0, events=(), episodes=(), kept=(), places=())
        now = to_datetime(handle.now())
        choose = by_expiry(instant(now - timedelta(days=days)))
        with handle.space.reading() as reads:
            planned = would_erase(reads, choose(handle, reads), sources=True)
        if validate.flag(dry_run, "dry_run") or not planned.events:
            again = None if dry_run else repeated(handle, idempotency_key)
            return again or planned
        reason = f"expired more than {counted(days, 'day')} ago"
        order = Order(True, reason, idempotency_key, expect, progress)
        return erase_planned(handle, planned, order)

    def _erase_chosen(
        self, choose: Choosing, order: Order, what: str, dry_run: bool, person: str | None
    ) -> Erasure:
        handle = self._handle
        if handle.position == NOW:
            handle.space.flush()  # receipts that still wait are erased too
        with handle.reading() as reads:
            chosen = choose(handle, reads)
            planned = would_erase(reads, chosen, sources=order.sources)
            if person is not None:
                names = dict.fromkeys((person, *(author.name for author in chosen.authors)))
                planned = structs.replace(planned, naming=naming(handle, reads, names, planned))
        if not planned.events and not order.subjects:
            before = repeated(handle, order.idempotency_key, dry_run=dry_run)
            if before is None:
                raise nothing_found(what)
            return before
        if dry_run:
            return structs.replace(planned, subjects=order.subjects)
        return erase_planned(handle, planned, order)

    def _pseudonyms(self, subject: str) -> tuple[str, ...]:
        self._handle.require_whole("erasing a subject")
        return self._handle.space.subjects.pseudonyms(validate.name(subject, "subject"))

    def _erase_one(
        self,
        id: str,
        sources: bool,
        reason: str | None,
        dry_run: bool,
        idempotency_key: str | None,
        expect: Expect | None,
    ) -> Erasure:
        handle = self._handle
        act = acts.erase(id, sources, reason)
        try:
            with handle.space.reading() as reads:
                found = handle.find(reads, id)
                is_record = isinstance(found, VersionRow)
                one = Chosen((found.id,)) if is_record else Chosen(episodes=(found.id,))
                report = would_erase(reads, one, sources=sources)
            also = tuple(other for other in report.episodes if other != found.id)
            report = structs.replace(report, id=found.id, episodes=also)
        except NotFound:
            if idempotency_key is None or dry_run:
                raise
            report = Erasure(id=id, seq=0, events=(), episodes=(), kept=(), places=())
        if dry_run:
            return report
        act = structs.replace(act, id=report.id)
        seq, events = handle.write((act,), erased, idempotency_key, expect)
        return structs.replace(report, seq=seq, events=events, places=cleaned(handle, report))


def _choosing(name: str, value: str, unit: Unit) -> Choosing:
    """What one of the arguments of ``erase`` chooses."""
    if name == "filter":
        if unit not in get_args(Unit):
            raise InvalidInput(f"unit must be record or episode, not {unit!r}")
        return by_filter(value, unit)
    checked = validate.name(value, name)
    choices = {
        "key": by_key,
        "about": by_about,
        "user": by_user,
        "subject": by_user,
        "author": by_author,
    }
    return choices[name](checked)


def _seq_of(handle: Handle, to: int | Moment | None) -> int | None:
    """A position of the ledger, as a number or an instant."""
    if to is None or isinstance(to, int):
        return to
    with handle.reading() as reads:
        return reads.seq_at(instant(to))
