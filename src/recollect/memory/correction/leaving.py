"""The calls of a memory that take something back or remove it.

Responsible for the public signatures of undoing and erasing. Leaves which command is taken back to
``memory.correction.undoing``, what an erasure removes to ``memory.erasure.erasure``, and deciding
to ``lifecycle``. Invariant: an erasure that was ordered is finished, by this call or by the next
process.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Final, get_args

from msgspec import structs

from recollect.errors import InvalidInput, NotFound
from recollect.index.rows import VersionRow
from recollect.index.statements import NOW
from recollect.lifecycle.commands import Expect
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
from recollect.memory.handle import acts
from recollect.memory.handle.handle import Calls
from recollect.memory.handle.healed import heals
from recollect.memory.settings import retention_of
from recollect.model import validate
from recollect.model.counts import counted
from recollect.model.instants import Moment, instant, to_datetime
from recollect.model.values import Erasure, Undone, Unit
from recollect.store.port import Progress

_UNCERTIFIED: Final = "a certificate is of a subject"
ONE_OF: Final = (
    "erase takes exactly one of id, key, about, user, filter, subject, author and expired"
)


@heals
class Leaving(Calls):
    """Undo, erase."""

    def undo(
        self,
        what: str | int | None = None,
        *,
        to: int | Moment | None = None,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Undone:
        """Take back the last command, a command of before, or a change of one record.

        ``undo()`` takes back the last command. ``undo(12)`` takes back the command that wrote event
        12, if nothing of it was changed since. ``undo(id)`` brings back what was forgotten,
        archived or replaced; of anything else it takes back the last change.
        ``undo(id, to=version)`` brings back what the record was then. Each is one command of its
        own: a second ``undo()`` or ``undo(id)`` takes back the first.

        Records, episodes, links, tags, presets and documents are again as they were before.
        Receipts, reinforcements and sessions stay, and so does what was said in a session, unless
        it is named. The history shows both. A record that holds the key instead is replaced. Trust
        is never raised by it, and an erasure cannot be taken back.

        Args:
            what: A record or episode by its id or key, or an event by its position; the last
                command by default.
            to: The ``seq`` of an earlier version, as ``history`` lists it, or an instant: the
                record is again what it was then, or the one that it replaced.
            dry_run: Only return what would be taken back.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since. By
                default the position at which the last command was found.

        Returns:
            The events that were taken back, the events that did it, and for a record the one that
            holds again.

        Raises:
            NotFound: This handle sees nothing with that id, or no event at that position.
            Conflict: There is nothing to undo, it was an erasure, it was changed again since,
                something else has its key, or what came before was erased.
            Forbidden: An agent takes back what a person wrote or did.
        """
        from recollect.memory.correction import undoing  # most processes undo nothing

        wanted = undoing.asked(what, to)
        if validate.flag(dry_run, "dry_run"):
            return undoing.would_undo(self._handle, wanted)
        return undoing.undo(self._handle, wanted, idempotency_key, expect)

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
        expired: bool = False,
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

        Exactly one of ``id``, ``key``, ``about``, ``user``, ``filter``, ``subject``, ``author``
        and ``expired`` says what. Much is erased in several commands. If that is interrupted, what
        was ordered is finished by the next process, and the same call again, without an
        idempotency key, erases the rest. What is written while it runs is not erased.

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
            expired: Every record that expired longer ago than ``settings.retention`` keeps it.
                Without a retention nothing is erased. Nothing calls this by itself.
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
            InvalidInput: Not exactly one of these was given, or the filter cannot be parsed.
            Ambiguous: Several users have values under the key.
            Forbidden: The handle has less than a person's trust, or ``expired`` is asked of a
                handle that is bound to one user.
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
        _require_one(len(chosen) + (id is not None), expired, unit, filter)
        checked, dry_run = validate.reason(reason), validate.flag(dry_run, "dry_run")
        if id is not None:
            return self._erase_one(id, sources, checked, dry_run, idempotency_key, expect)
        if expired:
            if certificate:
                raise InvalidInput(_UNCERTIFIED, hint="erase with subject=")
            due = Order(sources, checked, idempotency_key, expect, progress)
            return self._erase_expired(due, dry_run)
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
            raise InvalidInput(_UNCERTIFIED, hint="erase with subject=")
        from recollect.memory.proof.certificates import certified  # needs the extra that signs

        return certified(self._handle, erase)

    def _erase_expired(self, order: Order, dry_run: bool) -> Erasure:
        """Erases what expired longer ago than the retention; it is fine if there is nothing."""
        handle = self._handle
        handle.require_whole("retention")
        handle.require_person("erasing")
        days = retention_of(handle)
        if days is None:
            return Erasure(id=None, seq=0, events=(), episodes=(), kept=(), places=())
        now = to_datetime(handle.now())
        choose = by_expiry(instant(now - timedelta(days=days)))
        with handle.space.reading() as reads:
            planned = would_erase(reads, choose(handle, reads), sources=order.sources)
        if dry_run or not planned.events:
            again = None if dry_run else repeated(handle, order.idempotency_key)
            return again or planned
        reason = order.reason or f"expired more than {counted(days, 'day')} ago"
        return erase_planned(handle, planned, order._replace(reason=reason))

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


def _require_one(named: int, expired: bool, unit: str, filter: str | None) -> None:
    """Refuses an erasure of nothing or of two things, and a unit without a filter."""
    if named + validate.flag(expired, "expired") != 1:
        raise InvalidInput(ONE_OF, hint="name one of them")
    if unit != "record" and filter is None:
        raise InvalidInput("unit is of a filter", hint="erase with filter=, or leave unit out")


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
