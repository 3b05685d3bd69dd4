"""``memory.settings``: what people set for one memory.

Responsible for the public signatures. Everything set here is a document of the memory, with a
history like that of a record. Leaves the documents to ``memory.documents``. Invariant: only a
person decides what is encrypted and how long something is kept.
"""

from __future__ import annotations

from typing import Final

from recollect.errors import InvalidInput
from recollect.index.rows import unpack_object
from recollect.lifecycle.commands import DropDocument, Expect, SetDocument
from recollect.memory.contexts.presets import Presets
from recollect.memory.documents import Documents
from recollect.memory.handle import answers
from recollect.memory.handle.handle import Calls, Handle
from recollect.memory.handle.healed import heals
from recollect.memory.rules.rules import Rules
from recollect.model import validate
from recollect.store.keys.subjects import SETTING, Each, Who
from recollect.store.write_path import each_of

_WHO: Final[dict[Each, Who]] = {"user": "users", "named": "named"}
_RETENTION: Final = ("settings", "retention")  # the document that says how long
_DAYS_MAX_COUNT: Final = 36_500


@heals
class MemorySettings(Calls):
    """Presets, rules, documents; how long something is kept; whose memory is encrypted."""

    @property
    def presets(self) -> Presets:
        """The presets of this memory: built in, and set by its users."""
        return Presets(self._handle)

    @property
    def rules(self) -> Rules:
        """The rules of this memory: which episodes become records; ``run`` runs one."""
        return Rules(self._handle)

    @property
    def documents(self) -> Documents:
        """The documents of this memory: rules, settings and policies."""
        return Documents(self._handle)

    def retention(self) -> int | None:
        """For how many days expired records are kept; None if nothing is erased for it.

        Only what a person set counts: an agent does not decide what is erased.
        """
        return retention_of(self._handle)

    def set_retention(
        self,
        days: int | None,
        *,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> None:
        """Set for how many days expired records are kept; nothing is erased by this.

        It is the document ``settings/retention`` with ``days``.

        Args:
            days: A number of days, 0 or more; None to keep expired records.
            idempotency_key: The same key with the same call again does nothing more.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            InvalidInput: The number cannot be used.
            Forbidden: The handle has less than a person's trust, or is bound to one user.
        """
        self._handle.require_person("setting how long something is kept")
        if days is None and self.retention() is None:
            return
        if days is not None and not (type(days) is int and 0 <= days <= _DAYS_MAX_COUNT):
            raise InvalidInput(
                f"days must be a number from 0 to {_DAYS_MAX_COUNT:,}, not {validate.shown(days)}"
            )
        type_, name = _RETENTION
        act = (
            DropDocument(type=type_, name=name)
            if days is None
            else SetDocument(type=type_, name=name, data={"days": days})
        )
        self._handle.write((act,), answers.nothing, idempotency_key, expect)

    def subjects(self) -> Who | None:
        """Whose memory is encrypted under a key of its own: ``users``, ``named`` or None."""
        return subjects_of(self._handle)

    def set_subjects(
        self,
        who: Who | None,
        *,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> None:
        """Set whose memory is encrypted from now on, each under a key of its own.

        It is the document ``settings/subjects``. What was written before stays as it is.

        Args:
            who: ``users`` for every user, ``named`` for those that ``scoped(subject=…)`` names;
                None to encrypt no more.
            idempotency_key: The same key with the same call again does nothing more.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            InvalidInput: Another word was given.
            Forbidden: The handle has less than a person's trust, or is bound to one user.
        """
        self._handle.require_person("setting whose memory is encrypted")
        if who is None and self.subjects() is None:
            return
        if who not in (None, *_WHO.values()):
            raise InvalidInput(f"who must be users, named or None, not {validate.shown(who)}")
        type_, name = SETTING
        words = {who: each for each, who in _WHO.items()}
        act = (
            DropDocument(type=type_, name=name)
            if who is None
            else SetDocument(type=type_, name=name, data={"each": words[who]})
        )
        self._handle.write((act,), answers.nothing, idempotency_key, expect)


def retention_of(handle: Handle) -> int | None:
    """For how many days expired records are kept; only what a person set counts."""
    with handle.reading() as reads:
        row = reads.document(*_RETENTION)
    if row is None or row.trust != "person":
        return None
    days = unpack_object(row.data).get("days")
    return days if type(days) is int and 0 <= days <= _DAYS_MAX_COUNT else None


def subjects_of(handle: Handle) -> Who | None:
    """Whose memory is encrypted under a key of its own."""
    with handle.reading() as reads:
        each = each_of(reads.document(*SETTING))
    return None if each is None else _WHO[each]
