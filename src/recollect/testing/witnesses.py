"""A log to be witnessed, and a witness that lives in memory.

Responsible for what tests of witnesses need: trees of any size, and requests, right and wrong.
"""

from __future__ import annotations

from hashlib import sha256
from threading import Lock

from recollect.ledger.tree import Frontier, Roots
from recollect.proof.checkpoints import Checkpoint, parse_text, sign
from recollect.proof.growth import grown
from recollect.proof.keys import LOG, WITNESS, PrivateKey, PublicKey
from recollect.proof.notes import Note, parse, render
from recollect.proof.witness import Accepted, Answer, Cosigned, Request, judge

_HASH_BYTES = 32


class FakeLog:
    """A log whose events are numbers; two with different ``fork`` agree on the first events."""

    def __init__(self, name: str = "recollect/log", *, fork: str = "", after: int = 0) -> None:
        self.key = PrivateKey(name, LOG, sha256(name.encode()).digest())
        self._fork, self._after = fork, after

    def hashes(self, size: int) -> bytes:
        """The hashes of the first events."""
        return b"".join(
            sha256(f"{seq} {self._fork if seq > self._after else ''}".encode()).digest()
            for seq in range(1, size + 1)
        )

    def tree(self, size: int) -> Frontier:
        """The tree over the first events."""
        roots = Roots([size])
        roots.take(self.hashes(size))
        return roots.at.get(size, Frontier())

    def note(self, size: int, key: PrivateKey | None = None) -> Note:
        """A signed checkpoint."""
        name = self.key.name
        return sign(Checkpoint(name, size, self.tree(size).root), [key or self.key])

    def request(self, old: int, size: int, key: PrivateKey | None = None) -> Request:
        """A request to cosign ``size`` events after ``old`` of them."""
        added = self.hashes(size)[old * _HASH_BYTES :]
        return Request.of(old, grown(self.tree(old), added), self.note(size, key))


class MemoryWitness:
    """A witness that forgets everything when its process ends; for tests only."""

    def __init__(self, *pinned: PublicKey, seconds: int = 1_750_000_000) -> None:
        self._key = PrivateKey("witness.example/memory", WITNESS, bytes(range(32)))
        self._pinned = pinned
        self._seconds = seconds
        self._kept: dict[str, bytes] = {}
        self._lock = Lock()

    @property
    def key(self) -> PublicKey:
        """The key with which it cosigns."""
        return self._key.public

    def add(self, request: Request) -> Answer:
        """Cosigns the checkpoint of a request, or says why not."""
        with self._lock:
            decision = judge(request, self._pinned, self._latest(request.checkpoint.origin))
            return self._cosigned(decision) if isinstance(decision, Accepted) else decision

    def _latest(self, origin: str) -> Checkpoint | None:
        raw = self._kept.get(origin)
        return None if raw is None else parse_text(parse(raw).text)

    def _cosigned(self, accepted: Accepted) -> Cosigned:
        text = accepted.note.text
        self._seconds += 1
        signature = self._key.cosign(text, self._seconds)
        kept = render(Note(text, (*accepted.note.signatures, signature)))
        self._kept[accepted.checkpoint.origin] = kept
        return Cosigned((signature,))

    def latest(self, origin: str) -> bytes | None:
        """The last checkpoint of a log that it cosigned."""
        return self._kept.get(origin)
