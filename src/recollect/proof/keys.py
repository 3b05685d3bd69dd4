"""Keys that sign notes: Ed25519, for a log and for the witnesses of a log.

Responsible for the text form of a public key, for signing, and for what counts as signed. Leaves
where keys are kept to ``store``. Invariant: a note is accepted only if a known key signed it and no
signature of a known key is wrong.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from recollect.errors import InvalidInput, NotInstalled
from recollect.proof.notes import KEY_ID_BYTES, BadNote, Note, Signature, decode64, is_name

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

Kind = Literal[1, 4]
LOG: Final[Kind] = 1  # signs the text
WITNESS: Final[Kind] = (
    4  # signs the text with the time at which it was seen (C2SP tlog-cosignature)
)

KEY_BYTES: Final = 32
_SIGNATURE_BYTES: Final = 64
_TIME_BYTES: Final = 8
_MOST_SECONDS: Final = 2**63 - 1
_KEY_ID: Final = re.compile("[0-9a-f]{8}")


class PublicKey(msgspec.Struct, frozen=True, dict=True):
    """What is needed to check the signatures of one key."""

    name: str
    kind: Kind
    key: bytes

    @cached_property
    def id(self) -> bytes:
        """The beginning of a hash, by which a signature names its key. Many keys may share it."""
        named = self.name.encode() + b"\n" + bytes([self.kind]) + self.key
        return sha256(named).digest()[:KEY_ID_BYTES]

    def __str__(self) -> str:
        """The key as people hand it on, for example ``example.com/log+530d903a+AekyeR…``."""
        return f"{self.name}+{self.id.hex()}+{b64encode(bytes([self.kind]) + self.key).decode()}"

    def made(self, signature: Signature) -> bool:
        """True if the signature says that it is of this key."""
        return (signature.name, signature.key_id) == (self.name, self.id)

    def signed(self, text: str, signature: Signature) -> bool:
        """True if this key made the signature for this text."""
        return self.made(signature) and self._is_valid(text, signature.value)

    def _is_valid(self, text: str, value: bytes) -> bool:
        if self.kind == WITNESS:
            seconds = int.from_bytes(value[:_TIME_BYTES])
            if len(value) != _TIME_BYTES + _SIGNATURE_BYTES or seconds > _MOST_SECONDS:
                return False
            return self._verifies(value[_TIME_BYTES:], _cosigned(text, seconds))
        return self._verifies(value, text.encode())

    def _verifies(self, value: bytes, message: bytes) -> bool:
        from cryptography.exceptions import InvalidSignature  # an extra

        try:
            self._loaded.verify(value, message)
        except InvalidSignature:
            return False
        return True

    @cached_property
    def _loaded(self) -> Ed25519PublicKey:
        loaded: Ed25519PublicKey = _ed25519().Ed25519PublicKey.from_public_bytes(self.key)
        return loaded


class PrivateKey(msgspec.Struct, frozen=True, dict=True):
    """A key that can sign. It prints as its public half."""

    name: str
    kind: Kind
    seed: bytes

    @cached_property
    def public(self) -> PublicKey:
        """The half that is handed on."""
        return PublicKey(self.name, self.kind, self._loaded.public_key().public_bytes_raw())

    def __repr__(self) -> str:
        return f"<private key of {self.public}>"

    def sign(self, text: str) -> Signature:
        """Signs the text of a note, as a log."""
        return Signature(self.name, self.public.id, self._loaded.sign(text.encode()))

    def cosign(self, text: str, seconds: int) -> Signature:
        """Signs that the text was seen at this time (seconds since 1970), as a witness."""
        value = seconds.to_bytes(_TIME_BYTES) + self._loaded.sign(_cosigned(text, seconds))
        return Signature(self.name, self.public.id, value)

    @cached_property
    def _loaded(self) -> Ed25519PrivateKey:
        loaded: Ed25519PrivateKey = _ed25519().Ed25519PrivateKey.from_private_bytes(self.seed)
        return loaded


def parse_key(text: str) -> PublicKey:
    """A public key from its text form."""
    parts = text.strip().split("+", 2)
    if len(parts) != 3 or not is_name(parts[0]) or not _KEY_ID.fullmatch(parts[1]):
        raise InvalidInput(
            "not a public key", hint="it has the form NAME+ID+KEY; copy the whole line"
        )
    try:
        blob = decode64(parts[2])
    except BadNote as error:
        raise InvalidInput("the last part of the public key is not base64") from error
    match list(blob[:1]):
        case [1]:
            kind: Kind = LOG
        case [4]:
            kind = WITNESS
        case _:
            raise InvalidInput("a public key of a kind that is not supported; Ed25519 is")
    key = PublicKey(parts[0], kind, blob[1:])
    if len(key.key) != KEY_BYTES or key.id.hex() != parts[1]:
        raise InvalidInput("the public key does not match its own id", hint="copy it again")
    return key


def signers(note: Note, known: Iterable[PublicKey]) -> tuple[PublicKey, ...]:
    """The known keys that signed the note; raises BadNote if there are none.

    Signatures of keys that are not known are ignored, also if they share a name with one that is.
    """
    keys = tuple(known)
    found: dict[PublicKey, None] = {}
    for signature in note.signatures:
        for key in keys:
            if not key.made(signature):
                continue
            if not key.signed(note.text, signature):
                raise BadNote(f"the signature of {key.name} does not match the text")
            found[key] = None
    if not found:
        raise BadNote(
            "no key that is known here signed it", hint="pin the key: recollect proof key pin"
        )
    return tuple(found)


def seen_at(signature: Signature) -> int:
    """When a witness says that it saw the text, in seconds since 1970."""
    return int.from_bytes(signature.value[:_TIME_BYTES])


def _cosigned(text: str, seconds: int) -> bytes:
    return f"cosignature/v1\ntime {seconds}\n{text}".encode()


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519  # an extra
    except ImportError as error:
        raise NotInstalled(
            "signatures need the package cryptography",
            hint="install it with: pip install 'recollect[proof]'",
        ) from error
    return ed25519
