"""Proofs that a ledger grew, made from the end of the earlier tree and what was added since.

Responsible for consistency proofs without the earlier events. Leaves reading the added ones to
``store``. Invariant: what it makes is the proof that ``ledger.tree`` makes from all leaves.
"""

from __future__ import annotations

from recollect.ledger.tree import Frontier, Nodes, consistency, leaf

_HASH_BYTES = 32


def grown(before: Frontier, added: bytes) -> list[bytes]:
    """The proof that a tree grew by these events, given as their hashes one after the other.

    Its nodes are over whole old events, which the frontier has, or over added ones alone.
    """
    if not before.size or not added:
        return []
    new = before.size + len(added) // _HASH_BYTES
    return consistency(before.size, new, _nodes(before, added))


def _nodes(before: Frontier, added: bytes) -> Nodes:
    peaks: dict[tuple[int, int], bytes] = {}
    low = 0
    for peak in before.peaks:
        level = (before.size - low).bit_length() - 1
        peaks[level, low >> level] = peak
        low += 1 << level

    def node(level: int, index: int) -> bytes:
        if (level, index) in peaks:
            return peaks[level, index]
        first = ((index << level) - before.size) * _HASH_BYTES
        places = range(first, first + (_HASH_BYTES << level), _HASH_BYTES)
        return Frontier().plus(leaf(added[at : at + _HASH_BYTES]) for at in places).root

    return node
