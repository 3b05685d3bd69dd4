"""The keys with which a memory's checkpoints are signed and checked.

Responsible for who may change them, and for the order of a rotation. Leaves the files to
``store.checkpoints.key_ring``. Invariant: a key that replaces another is trusted only with a
checkpoint that both have signed, or if a person says so.
"""

from __future__ import annotations

from recollect.config import keys_folder
from recollect.errors import Conflict, InvalidInput
from recollect.memory.handle.handle import handle_of
from recollect.memory.memory import Memory
from recollect.memory.proof.checkpoints import ring_of
from recollect.model.values import SigningKey
from recollect.proof.keys import LOG, PublicKey, parse_key, signers
from recollect.proof.notes import BadNote, parse
from recollect.store.checkpoints import checkpoints
from recollect.store.checkpoints.key_ring import no_key
from recollect.store.files.backend import make_workspace


class Keys:
    """The keys with which a memory's checkpoints are signed and checked, on this machine."""

    def __init__(self, memory: Memory) -> None:
        self._handle = handle_of(memory)
        self._handle.require_whole("a key")
        self._handle.require_person("changing keys")
        self._ring = ring_of(self._handle)

    def create(self) -> SigningKey:
        """Creates the key that signs from now on."""
        if self._ring.private():
            raise Conflict(
                "there is a key for this memory already",
                hint="replace it with: recollect proof key rotate",
            )
        make_workspace(keys_folder().parent, self._handle.seam)
        return _shown(self._ring.add(), signs=True)

    def rotate(self) -> SigningKey:
        """Replaces the key: both sign one checkpoint, then the old one is removed."""
        old = self._ring.private()
        if not old:
            raise no_key(self._ring.ledger)
        if len(old) == 1:  # otherwise an earlier rotation was interrupted
            self._ring.add()
        checkpoints.make(self._handle.space, self._ring)
        self._ring.retire()
        return _shown(self._ring.private()[-1].public, signs=True)

    def pin(self, line: str, *, replace: bool = False) -> SigningKey:
        """Trusts a public key for this memory's checkpoints.

        If another key is trusted already, both must have signed one checkpoint, or ``replace``
        says that this is known to be right.
        """
        key = parse_key(line)
        if key.kind != LOG or key.name != self._ring.ledger:
            raise InvalidInput(
                f"it is a key for {key.name}, and this memory is {self._ring.ledger}",
                hint="pin it in the memory that it signs",
            )
        before = self._ring.public()
        if before and key not in before and not replace and not self._follows(key, before):
            raise Conflict(
                "another key is trusted already, and no checkpoint here is signed by both",
                hint="pull the checkpoint of the rotation first; or ask the owner of the key, then "
                "add --replace",
            )
        make_workspace(keys_folder().parent, self._handle.seam)
        self._ring.pin(key)
        return _shown(key, signs=False)

    def all(self) -> list[SigningKey]:
        """The keys that are trusted, and those that can sign here."""
        own = {key.public for key in self._ring.private()}
        return [_shown(key, signs=key in own) for key in self._ring.public()]

    def _follows(self, key: PublicKey, before: list[PublicKey]) -> bool:
        """True if a checkpoint was signed by this key and by one that is trusted already."""
        notes = self._handle.space.checkpoints()
        for size in reversed(notes.sizes()):
            try:
                signed = signers(parse(notes.note(size)), [key, *before])
            except BadNote:
                continue
            if key in signed and len(signed) > 1:
                return True
        return False


def _shown(key: PublicKey, *, signs: bool) -> SigningKey:
    return SigningKey(ledger=key.name, key=str(key), signs=signs)
