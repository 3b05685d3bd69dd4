"""The subjects of one space: users whose memory is encrypted under a key of their own.

Responsible for whether a user is a subject, for encrypting what is about to be written, and for
finding what was encrypted for one. Leaves keys to the engines of ``SubjectKeys`` and the bytes to
``ledger.cipher``. Invariants: a key is durable before anything is encrypted with it; a key that was
ordered destroyed encrypts nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, Literal, Protocol, cast

import msgspec

from recollect.errors import KeyMissing
from recollect.ledger.chain import Draft
from recollect.ledger.cipher import NONCE_BYTES, bound_to, encrypt
from recollect.ledger.line import subject_of
from recollect.model.events import VERSION
from recollect.store.keys.wrapped_keys import Wrapped
from recollect.store.seam import Seam

Each = Literal["user", "named"]
Who = Literal["users", "named"]  # the same, as people say it
SETTING: Final = ("settings", "subjects")  # the document that says who is a subject
_NAMES: Final = b'"subject":"'  # in a header; most ledgers have null


class Named(msgspec.Struct, frozen=True):
    """A subject in a header: a pseudonym, and the version of its key."""

    pseudonym: str
    cipher: int


class SubjectKeys(Protocol):
    """The keys of one ledger's subjects.

    A key is durable before ``add`` returns, and gone before ``destroy`` does. Each promise has a
    test of the same name in ``recollect.testing.subject_keys_suite``:

    - A user has no subject before one is added.
    - Each subject has a pseudonym and a key of its own.
    - The subjects of a user are told oldest first.
    - A key is the same when the place is opened again.
    - A key that is not known is missing.
    - A destroyed key is not a missing one.
    - A destroyed subject has no name any more.
    - The first order to destroy a key is the one that is kept.
    - A key that was never here can be destroyed.
    - Destroying one key leaves the others.
    - What was destroyed is told once.
    - The keys of another ledger are others.
    - Two that have the place open see what the other does.
    - No key is lost when several are made at once.
    - Keys that can be opened are not set aside.
    """

    def named(self, user: str) -> list[Named]:
        """The subjects that a user has been here, oldest first, as far as their keys are there."""
        ...

    def add(self, user: str) -> Named:
        """Makes a user a subject, under a new pseudonym and key."""
        ...

    def key(self, pseudonym: str, cipher: int) -> bytes | None:
        """A key; None if it was destroyed. Raises ``KeyMissing`` if it is not known here."""
        ...

    def look_up(self, pseudonyms: Collection[str]) -> None:
        """Reads these subjects together, so that ``key`` needs no trip for each of them."""
        ...

    def destroy(self, pseudonyms: Iterable[str], by: int) -> tuple[str, ...]:
        """Destroys keys as an event orders; returns what was done, for people."""
        ...

    def destroyed(self) -> dict[str, int]:
        """The pseudonyms whose keys were destroyed here, each with the event that ordered it."""
        ...

    def set_aside(self) -> None:
        """If the master key is missing, keeps what it wraps elsewhere: new keys can be made."""
        ...

    def lacks(self, pseudonyms: Collection[str]) -> set[str]:
        """Those of these subjects that are neither known nor destroyed here."""
        ...

    def wrapped(self, pseudonyms: Collection[str]) -> list[Wrapped]:
        """These subjects as they are stored, as far as they are here and can be carried."""
        ...

    def take(self, keys: Collection[Wrapped]) -> None:
        """Keeps keys that were wrapped elsewhere with the same master key.

        What was destroyed here stays destroyed. Raises ``KeyMissing`` if none can be kept.
        """
        ...


class Subjects:
    """The subjects of one space in one process."""

    def __init__(
        self,
        keys: Callable[[str], SubjectKeys] | None,
        first: Callable[[], str | None],
        seam: Seam,
        note: Callable[[str, Mapping[int, str]], None] | None = None,
    ) -> None:
        self._note = note
        self._open = keys
        self._first = first
        self._seam = seam
        self._ledger: str | None = None
        self._keys: SubjectKeys | None = None
        self._retired: set[str] = set()  # their keys are to be destroyed
        self._lost: frozenset[str] = frozenset()  # a person accepted that their keys are lost

    @property
    def ledger(self) -> str:
        """What bodies are bound to: the hash of the ledger's first event."""
        if self._ledger is None:
            self._ledger = self._first()
        if self._ledger is None:
            raise KeyMissing("the first event of the ledger could not be read")
        return self._ledger

    def note_erased(self, erased: Mapping[int, str]) -> None:
        """Keeps the numbers and hashes of erased events, for backups from before."""
        if self._note is not None:
            self._note(self.ledger, erased)

    @property
    def keeps(self) -> bool:
        """True if there is a place for keys."""
        return self._open is not None

    def begin(self, first: str | None = None) -> None:
        """Notes that the space has another ledger now."""
        self._ledger, self._keys = first, None
        self._retired.clear()

    def of(self, first: str) -> Subjects:
        """The subjects of another ledger, whose first event has this hash."""
        return Subjects(self._open, lambda: first, self._seam, self._note)

    @property
    def keys(self) -> SubjectKeys:
        """The keys of this ledger's subjects."""
        if self._keys is None:
            if self._open is None:
                raise KeyMissing(
                    "this store has no place for the keys of subjects",
                    hint="open the memory with Memory.open or `recollect`",
                )
            self._keys = self._open(self.ledger)
        return self._keys

    def key(self, subject: str, cipher: int) -> bytes | None:
        """A subject's key of one version; None if it was destroyed here, or its loss accepted."""
        return None if subject in self._lost else self.keys.key(subject, cipher)

    def look_up(self, pseudonyms: Collection[str]) -> None:
        """Reads these keys together; one that is not here is told when it is used."""
        if pseudonyms and self.keeps:
            self.keys.look_up(pseudonyms)

    def ahead(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """The same pieces; the keys that open one are read together before it is given."""
        for piece in pieces:
            if _NAMES in piece:
                found = (subject_of(line) for line in piece.split(b"\n"))
                self.look_up({one[1] for one in found if one is not None})
            yield piece

    def current(self, user: str, each: Each) -> Named | None:
        """The subject that a user is now; None if this user is not one."""
        live = self._live(user)
        if live:
            return live[-1]
        is_subject = each == "user" or bool(self.keys.named(user))
        return self.keys.add(user) if is_subject else None

    def declare(self, user: str) -> None:
        """Makes a user a subject from now on."""
        if not self._live(user):
            self.keys.add(user)

    def pseudonyms(self, user: str) -> tuple[str, ...]:
        """Every pseudonym that a user has here."""
        return tuple(one.pseudonym for one in self.keys.named(user)) if self.keeps else ()

    def _live(self, user: str) -> list[Named]:
        return [one for one in self.keys.named(user) if one.pseudonym not in self._retired]

    @contextmanager
    def without(self, lost: Iterable[str]) -> Iterator[None]:
        """Reads the ledger without these keys; if that ends well, new ones can be made."""
        self._lost = frozenset(lost)
        try:
            yield
            if self._lost:
                self.keys.set_aside()
        finally:
            self._lost = frozenset()

    def retire(self, pseudonyms: Iterable[str]) -> None:
        """Notes that these keys were ordered destroyed: nothing more is encrypted with them."""
        self._retired.update(pseudonyms)

    def forget(self, pseudonyms: Collection[str]) -> None:
        """Notes that these keys were destroyed elsewhere; what is held of them is dropped."""
        if pseudonyms:
            self.retire(pseudonyms)
            self.let_go()

    def let_go(self) -> None:
        """Drops what is held; it is read again when it is needed."""
        self._ledger = self._keys = None

    def destroy(self, pseudonyms: Iterable[str], by: int) -> tuple[str, ...]:
        """Destroys keys as an event orders; returns what was done, for people."""
        told = sorted(set(pseudonyms))
        if not told or not self.keeps:
            return ()
        self.retire(told)
        return self.keys.destroy(told, by)

    def encrypted(self, drafts: Sequence[Draft]) -> Iterator[Draft]:
        """The same drafts; the bodies of those for a subject are encrypted."""
        for draft in drafts:
            if draft.subject is None:
                yield draft
                continue
            subject, cipher = draft.subject, cast(int, draft.cipher)
            key = self.key(subject, cipher)
            if key is None:
                raise KeyMissing(
                    f"the key of {subject} was destroyed a moment ago", hint="write it again"
                )
            bound = bound_to(
                VERSION, self.ledger, draft.id, draft.kind, draft.origin, subject, cipher
            )
            nonce = self._seam.random(NONCE_BYTES)
            yield msgspec.structs.replace(draft, data=encrypt(key, nonce, draft.data, bound))
