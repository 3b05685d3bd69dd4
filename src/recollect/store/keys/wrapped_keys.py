"""Keys of subjects as they are stored: wrapped by the master key, each with its user's name.

Responsible for making such keys and for opening them. Leaves where they are stored to the engines
of ``SubjectKeys``, and the master key to ``store.keys.master_key``. Invariants: what is stored
opens only with the master key, and only for this ledger and this subject; the name of a user is
found by a tag that nobody can make without the master key.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from hashlib import sha256
from typing import Final

import msgspec

from recollect.errors import ConfigError, KeyMissing
from recollect.ledger.cipher import KEY_BYTES, NONCE_BYTES, Unopened, unwrap, wrap
from recollect.store.seam import Seam

PSEUDONYM_BYTES: Final = 16
CIPHER: Final = 1  # keys are not replaced yet, so each has this version
TOLD: Final = "the key of %s: destroyed"


class Wrapped(msgspec.Struct, frozen=True):
    """A subject, as it is stored: its key and its user's name, both wrapped."""

    pseudonym: str
    cipher: int
    key: bytes
    name: bytes
    made: str


class Wrapping:
    """What wraps and opens the keys of one ledger's subjects."""

    def __init__(
        self, ledger: str, master: Callable[[bool], bytes], seam: Seam, where: str
    ) -> None:
        self.ledger = ledger
        self._master = master  # with True, one is made if there is none
        self._seam = seam
        self.where = where  # for people
        self.is_proven = False  # the master key has opened a key that is stored there

    def new(self, user: str) -> tuple[Wrapped, bytes]:
        """A new subject with a new key, and that key."""
        master = self._master(True)
        pseudonym = self._seam.random(PSEUDONYM_BYTES).hex()
        key = self._seam.random(KEY_BYTES)

        def wrapped(plain: bytes, what: str) -> bytes:
            nonce = self._seam.random(NONCE_BYTES)
            return wrap(master, nonce, plain, self._bound(pseudonym, what))

        name, at = wrapped(user.encode(), "name"), self._seam.now()
        return Wrapped(pseudonym, CIPHER, wrapped(key, "key"), name, at), key

    def key_of(self, kept: Wrapped) -> bytes:
        """The key of a subject."""
        return self._open(kept.key, kept.pseudonym, "key")

    def name_of(self, kept: Wrapped) -> str:
        """The name of a subject's user."""
        return self._open(kept.name, kept.pseudonym, "name").decode()

    def tag(self, user: str) -> bytes:
        """What stands for a user's name where only equal names need to be found."""
        said = f"recollect subject\n{self.ledger}\n{user}"
        return hmac.digest(self._master(False), said.encode(), sha256)

    def missing(self, pseudonym: str) -> KeyMissing:
        """The error for a key that is not where this ledger's keys are."""
        return missing(pseudonym, f"in {self.where}")

    def _bound(self, pseudonym: str, what: str) -> bytes:
        return f"{self.ledger}\n{pseudonym}\n{CIPHER}\n{what}".encode("ascii")

    def _open(self, blob: bytes, pseudonym: str, what: str) -> bytes:
        try:
            return unwrap(self._master(False), blob, self._bound(pseudonym, what))
        except Unopened as error:
            raise ConfigError(
                f"the master key does not open {self.where}",
                hint="give the one with which it was made. It is taken from RECOLLECT_MASTER_KEY "
                "if that is set, else from RECOLLECT_MASTER_KEY_COMMAND, else from "
                "~/.recollect/master.key",
            ) from error


def missing(pseudonym: str, where: str) -> KeyMissing:
    """The error for a key that is not where it should be."""
    return KeyMissing(
        f"the key of {pseudonym} is not {where}: what is encrypted with it was not erased, and "
        "cannot be read here",
        hint="bring the folder ~/.recollect/subjects from the machine where it was written, and "
        "the master key",
    )
