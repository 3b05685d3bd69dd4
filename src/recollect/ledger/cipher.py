"""Bodies that only one person's key opens: AES-256-GCM, bound to the event that they belong to.

Responsible for the bytes of an encrypted body, both ways, and for what a body is bound to. Leaves
keys, nonces and chance to ``store``. Invariant: a body opens only in the event that it was made
for. It is bound to everything in the header that does not depend on its place in the ledger.
"""

from __future__ import annotations

import binascii
from base64 import b64encode
from typing import TYPE_CHECKING, Final, Protocol

from recollect.errors import IntegrityError, NotInstalled

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES: Final = 32
# Chosen at random for each body. After 2**32 bodies under one key, two of them share a nonce with
# a chance of one in 2**33; no ledger comes near that number.
NONCE_BYTES: Final = 12
TAG_BYTES: Final = 16
_QUOTE: Final = b'"'


class Unopened(IntegrityError):
    """These bytes are not what was encrypted with this key for this event."""

    code = "unopened"


class Ciphers(Protocol):
    """The keys that open the encrypted bodies of one ledger."""

    @property
    def ledger(self) -> str:
        """What the bodies of this ledger are bound to: the hash of its first event."""
        ...

    def key(self, subject: str, cipher: int) -> bytes | None:
        """A subject's key of one version; None if it was destroyed here.

        Raises ``KeyMissing`` if it is neither here nor known to be destroyed.
        """
        ...


def bound_to(
    v: int, ledger: str, id: str, kind: str, origin: str, subject: str, cipher: int
) -> bytes:
    """What an encrypted body is bound to. The fields have closed character sets, so no two
    different events give the same bytes."""
    return "\n".join((str(v), ledger, id, kind, origin, subject, str(cipher))).encode("ascii")


def encrypt(key: bytes, nonce: bytes, body: bytes, bound: bytes) -> bytes:
    """The data of an encrypted event: a JSON string."""
    return _QUOTE + b64encode(wrap(key, nonce, body, bound)) + _QUOTE


def decrypt(key: bytes, data: bytes, bound: bytes) -> bytes:
    """The body in the data of an encrypted event."""
    inner = data[1:-1]
    try:
        blob = binascii.a2b_base64(inner, strict_mode=True)
    except ValueError as error:
        raise Unopened("not an encrypted body") from error
    if _QUOTE + b64encode(blob) + _QUOTE != data:
        raise Unopened("not an encrypted body")
    return unwrap(key, blob, bound)


def wrap(key: bytes, nonce: bytes, plain: bytes, bound: bytes) -> bytes:
    """Bytes that only this key opens, and only beside what they are bound to."""
    return nonce + _aead(key).encrypt(nonce, plain, bound)


def unwrap(key: bytes, blob: bytes, bound: bytes) -> bytes:
    """What was wrapped; raises Unopened."""
    aead = _aead(key)
    from cryptography.exceptions import InvalidTag  # an extra, which is there now

    try:
        return aead.decrypt(blob[:NONCE_BYTES], blob[NONCE_BYTES:], bound)
    except (InvalidTag, ValueError) as error:
        raise Unopened("it does not open with this key") from error


def encrypted_bytes(size: int) -> int:
    """How long the data of a body of this size is."""
    return 2 + (size + NONCE_BYTES + TAG_BYTES + 2) // 3 * 4


def _aead(key: bytes) -> AESGCM:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        raise NotInstalled(
            "memory that is encrypted for one person needs the package cryptography",
            hint="install it with: pip install 'recollect[proof]'",
        ) from error
    return AESGCM(key)
