"""The digest of a state: an earlier ledger keeps the one that its release computed."""

from __future__ import annotations

from recollect import Memory
from recollect.memory.handle.handle import Handle
from recollect.store.indexed.backend import MemoryBackend
from recollect.testing.seams import FixedSeam

# Of the story below, computed by the last release whose links had no names.
BEFORE_NAMES = "610fad01e35f478a01f7ea823c0e3b78150ef4b8f7ad44c7995f8858aad8f8d1"


def linked(name: str | None = None) -> Memory:
    seam = FixedSeam(7)
    memory = Memory(Handle(MemoryBackend(seam=seam).space("main", create=True), seam))
    for id in ("r1", "r2"):
        memory.remember(f"She drinks what {id} says", id=id)
    if name is None:
        memory.graph.link("r1", "r2", "cites", weight=0.5)
    else:
        memory.graph.link("r1", "r2", "cites", weight=0.5, name=name)
    return memory


def test_links_without_a_name_keep_the_digest_that_they_always_had() -> None:
    with linked() as memory:
        assert memory.admin.digest() == BEFORE_NAMES


def test_the_name_of_a_link_is_in_the_digest() -> None:
    with linked("edge-7") as one, linked("edge-8") as other, linked() as without:
        assert len({one.admin.digest(), other.admin.digest(), without.admin.digest()}) == 3
