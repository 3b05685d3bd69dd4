"""The Merkle tree over a ledger's events, as Certificate Transparency builds it (RFC 9162, 2.1).

Responsible for roots, and for making and checking proofs: that an event is one of the first n
(inclusion), and that the first m are the beginning of the first n (consistency). Leaves signing
to checkpoints and keeping nodes to ``store``. Invariant: a proof that is accepted for a root is the
one that the tree of that root has; there is one for each question.

A leaf is the hash of an event's header, so the tree can be built from hashes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import Final

import msgspec

# The root of the full subtree over the leaves [index << level, (index + 1) << level).
Nodes = Callable[[int, int], bytes]

EMPTY: Final = sha256(b"").digest()
_HASH_BYTES: Final = 32


def leaf(data: bytes) -> bytes:
    """The hash of a leaf."""
    return sha256(b"\x00" + data).digest()


def parent(left: bytes, right: bytes) -> bytes:
    """The hash of two neighbouring subtrees."""
    return sha256(b"\x01" + left + right).digest()


class Frontier(msgspec.Struct, frozen=True, gc=False):
    """All that is needed to go on with a tree: the roots of its full subtrees, the largest first.

    A tree of 13 leaves has three: over 8, 4 and 1 of them.
    """

    size: int = 0
    peaks: tuple[bytes, ...] = ()

    def plus(self, leaves: Iterable[bytes]) -> Frontier:
        """The frontier after these further leaves (their hashes)."""
        size, peaks = self.size, list(self.peaks)
        for added in leaves:
            peaks.append(added)
            size += 1
            full = size
            while not full & 1:  # each trailing zero of the size completes one more subtree
                right = peaks.pop()
                peaks.append(parent(peaks.pop(), right))
                full >>= 1
        return Frontier(size, tuple(peaks))

    @property
    def root(self) -> bytes:
        """The root of the tree."""
        if not self.peaks:
            return EMPTY
        root = self.peaks[-1]
        for peak in self.peaks[-2::-1]:
            root = parent(peak, root)
        return root


class Roots:
    """The tree at some sizes, from the hashes of a ledger's events in their order."""

    def __init__(self, sizes: Iterable[int], start: Frontier | None = None) -> None:
        self._tree = start or Frontier()
        self._sizes = sorted({size for size in sizes if size > self._tree.size}, reverse=True)
        self.at: dict[int, Frontier] = {}  # the sizes that were reached

    def take(self, hashes: bytes) -> None:
        """Takes the hashes of the next events, one after the other."""
        place, end = 0, len(hashes)
        while place < end and self._sizes:
            stop = min(end, place + (self._sizes[-1] - self._tree.size) * _HASH_BYTES)
            places = range(place, stop, _HASH_BYTES)
            self._tree = self._tree.plus(leaf(hashes[at : at + _HASH_BYTES]) for at in places)
            place = stop
            if self._tree.size == self._sizes[-1]:
                self.at[self._sizes.pop()] = self._tree


def root_of(size: int, nodes: Nodes) -> bytes:
    """The root over the first ``size`` leaves."""
    return _range(0, size, nodes) if size else EMPTY


def inclusion(index: int, size: int, nodes: Nodes) -> list[bytes]:
    """The proof that the leaf at ``index``, counted from 0, is one of the first ``size``."""
    if not 0 <= index < size:
        raise ValueError(f"no leaf {index} in a tree of {size}")
    path: list[bytes] = []
    low, high = 0, size
    while high - low > 1:
        middle = low + _split(high - low)
        if index < middle:
            path.append(_range(middle, high, nodes))
            high = middle
        else:
            path.append(_range(low, middle, nodes))
            low = middle
    return path[::-1]


def consistency(old: int, new: int, nodes: Nodes) -> list[bytes]:
    """The proof that the first ``old`` leaves are the beginning of the first ``new``."""
    if not 0 < old <= new:
        raise ValueError(f"no tree of {old} is the beginning of one of {new}")
    path: list[bytes] = []
    low, high = 0, new
    while old != high:
        middle = low + _split(high - low)
        if old <= middle:
            path.append(_range(middle, high, nodes))
            high = middle
        else:
            path.append(_range(low, middle, nodes))
            low = middle
    if low:  # otherwise the old tree is itself a full subtree, whose root the verifier has
        path.append(_range(low, high, nodes))
    return path[::-1]


def includes(root: bytes, size: int, index: int, node: bytes, proof: Sequence[bytes]) -> bool:
    """True if the proof shows that ``node`` is the hash of the leaf at ``index``."""
    if not 0 <= index < size or not _are_hashes((root, node, *proof)):
        return False
    position, last = index, size - 1
    for sibling in proof:
        if last == 0:
            return False  # longer than the way to the root
        if position & 1 or position == last:
            node = parent(sibling, node)
            while not position & 1 and position:  # no sibling on these levels: the right edge
                position >>= 1
                last >>= 1
        else:
            node = parent(node, sibling)
        position >>= 1
        last >>= 1
    return last == 0 and node == root


def extends(old_root: bytes, old: int, new_root: bytes, new: int, proof: Sequence[bytes]) -> bool:
    """True if the proof shows that the tree of ``old`` leaves is the beginning of that of ``new``.

    Every tree begins with the empty one and with itself; both need an empty proof.
    """
    if not 0 <= old <= new or not _are_hashes((old_root, new_root, *proof)):
        return False
    if old == 0:
        return old_root == EMPTY and not proof and (new > 0 or new_root == EMPTY)
    if old == new:
        return old_root == new_root and not proof
    return _grows(old_root, old, new_root, new, proof)


def _grows(old_root: bytes, old: int, new_root: bytes, new: int, proof: Sequence[bytes]) -> bool:
    """The walk up from the last full subtree of the old tree; 0 < old < new."""
    position, last = old - 1, new - 1
    while position & 1:
        position >>= 1
        last >>= 1
    # A full old tree is the first subtree itself, and the proof leaves its root out.
    rest = list(proof) if position else [old_root, *proof]
    if not rest:
        return False
    before = after = rest[0]
    for sibling in rest[1:]:
        if last == 0:
            return False  # longer than the way to the root
        if position & 1 or position == last:
            before, after = parent(sibling, before), parent(sibling, after)
            while not position & 1 and position:
                position >>= 1
                last >>= 1
        else:
            after = parent(after, sibling)
        position >>= 1
        last >>= 1
    return last == 0 and before == old_root and after == new_root


def _range(low: int, high: int, nodes: Nodes) -> bytes:
    """The root over the leaves [low, high), which begin at a subtree of at least that size."""
    count = high - low
    if not count & (count - 1):
        return nodes(count.bit_length() - 1, low // count)
    middle = low + _split(count)
    return parent(_range(low, middle, nodes), _range(middle, high, nodes))


def _split(count: int) -> int:
    """The largest power of two below ``count``, at which a tree of so many leaves divides."""
    return 1 << ((count - 1).bit_length() - 1)


def _are_hashes(given: Iterable[bytes]) -> bool:
    return all(len(each) == _HASH_BYTES for each in given)
