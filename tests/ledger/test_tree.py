"""The Merkle tree: against the definition in RFC 9162, and with proofs that must be refused."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache

import pytest

from recollect.ledger.tree import (
    EMPTY,
    Frontier,
    Roots,
    consistency,
    extends,
    includes,
    inclusion,
    leaf,
    parent,
    root_of,
)
from tests.suites.conftest import Tell, tell

__all__ = ["tell"]  # a fixture

MOST = 256
FEW = 70  # more than 64, so that all shapes of a right edge occur
LEAVES = [leaf(f"leaf {number}".encode()) for number in range(MOST)]
JUNK = leaf(b"junk")


@cache
def nodes(level: int, index: int) -> bytes:
    if level == 0:
        return LEAVES[index]
    return parent(nodes(level - 1, 2 * index), nodes(level - 1, 2 * index + 1))


@cache
def by_definition(low: int, high: int) -> bytes:
    """RFC 9162, 2.1.1: split at the largest power of two below the number of leaves."""
    if high - low == 1:
        return LEAVES[low]
    split = 1
    while split * 2 < high - low:
        split *= 2
    return parent(by_definition(low, low + split), by_definition(low + split, high))


def path_by_definition(index: int, low: int, high: int) -> list[bytes]:
    """RFC 9162, 2.1.3.1: the proof for leaf ``index`` of [low, high)."""
    if high - low == 1:
        return []
    split = 1
    while split * 2 < high - low:
        split *= 2
    if index < split:
        return [*path_by_definition(index, low, low + split), by_definition(low + split, high)]
    rest = path_by_definition(index - split, low + split, high)
    return [*rest, by_definition(low, low + split)]


# Public test data of Certificate Transparency: eight leaves and the root after each of them.
KNOWN_LEAVES = (
    "", "00", "10", "2021", "3031", "40414243", "5051525354555657",
    "606162636465666768696a6b6c6d6e6f",
)  # fmt: skip
KNOWN_ROOTS = (
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)


def test_the_published_roots() -> None:
    frontier = Frontier()
    for data, root in zip(KNOWN_LEAVES, KNOWN_ROOTS, strict=True):
        frontier = frontier.plus([leaf(bytes.fromhex(data))])
        assert frontier.root.hex() == root
    assert EMPTY.hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_every_root_up_to_256_leaves() -> None:
    frontier = Frontier()
    assert frontier.root == root_of(0, nodes) == EMPTY
    for size in range(1, MOST + 1):
        frontier = frontier.plus(LEAVES[size - 1 : size])
        assert frontier.root == root_of(size, nodes) == by_definition(0, size)
        assert frontier.size == size
        assert len(frontier.peaks) == size.bit_count()
    assert Frontier().plus(LEAVES) == frontier


def test_roots_are_found_at_every_size_that_was_asked_for() -> None:
    hashes = [bytes([number]) * 32 for number in range(40)]
    expected = {n: Frontier().plus(map(leaf, hashes[:n])) for n in range(41)}
    for step in (1, 3, 40):
        roots = Roots([7, 1, 32, 33, 7, 0, 90])
        for start in range(0, 40, step):
            roots.take(b"".join(hashes[start : start + step]))
        assert roots.at == {size: expected[size] for size in (1, 7, 32, 33)}
    later = Roots([5, 20], expected[13])
    later.take(b"".join(hashes[13:]))
    assert later.at == {20: expected[20]}


def check_proofs(most: int) -> int:
    """Every proof of every tree up to this size; how many there are."""
    checked = 0
    for size in range(1, most + 1):
        root = root_of(size, nodes)
        for index in range(size):
            proof = inclusion(index, size, nodes)
            assert proof == path_by_definition(index, 0, size)
            assert includes(root, size, index, LEAVES[index], proof)
            assert not includes(root, size, index, JUNK, proof)
            other = (index + 1) % size
            assert other == index or not includes(root, size, other, LEAVES[index], proof)
        for old in range(1, size + 1):
            proof = consistency(old, size, nodes)
            assert extends(root_of(old, nodes), old, root, size, proof)
            assert not extends(JUNK, old, root, size, proof)
            assert not extends(root_of(old, nodes), old, JUNK, size, proof)
        checked += 2 * size
    return checked


def test_every_proof_up_to_70_leaves() -> None:
    check_proofs(FEW)


@pytest.mark.nightly
def test_every_proof_up_to_256_leaves(tell: Tell) -> None:
    tell(f"tree: {check_proofs(MOST):,} proofs of all trees up to {MOST} leaves, all right")


@pytest.mark.parametrize(("index", "size"), [(0, 0), (-1, 3), (3, 3), (9, 3)])
def test_no_inclusion_proof_is_made_for_a_leaf_that_is_not_there(index: int, size: int) -> None:
    with pytest.raises(ValueError, match=f"no leaf {index} in a tree of {size}"):
        inclusion(index, size, nodes)
    assert not includes(root_of(size, nodes), size, index, LEAVES[0], [])


@pytest.mark.parametrize(("old", "new"), [(0, 3), (-1, 3), (4, 3)])
def test_no_consistency_proof_is_made_from_a_tree_that_is_no_beginning(old: int, new: int) -> None:
    with pytest.raises(ValueError, match=f"no tree of {old} is the beginning of one of {new}"):
        consistency(old, new, nodes)


def test_every_tree_begins_with_the_empty_one_and_with_itself() -> None:
    root = root_of(5, nodes)
    assert extends(EMPTY, 0, root, 5, [])
    assert extends(EMPTY, 0, EMPTY, 0, [])
    assert extends(root, 5, root, 5, [])
    assert not extends(EMPTY, 0, root, 5, [JUNK])
    assert not extends(EMPTY, 0, root, 0, [])
    assert not extends(JUNK, 0, root, 5, [])
    assert not extends(root, 5, root, 5, [JUNK])
    assert not extends(root, 5, JUNK, 5, [])
    assert not extends(root, -1, root, 5, [])
    assert not extends(root, 6, root, 5, [])


# What the public test data tries: the changes that a verifier must notice, in any proof.
Changes = Callable[[list[bytes]], list[bytes]]
WRONG: dict[str, Changes] = {
    "one hash more at the end": lambda proof: [*proof, JUNK],
    "one hash more at the start": lambda proof: [JUNK, *proof],
    "the root at the end": lambda proof: [*proof, root_of(7, nodes)],
    "the last hash left out": lambda proof: proof[:-1],
    "the first hash left out": lambda proof: proof[1:],
    "a changed hash": lambda proof: [JUNK, *proof[1:]],
    "a shortened hash": lambda proof: [proof[0][:-1], *proof[1:]],
    "an empty hash": lambda proof: [b"", *proof[1:]],
    "a hash twice": lambda proof: [proof[0], *proof],
    "the other order": lambda proof: [*proof[::-1], JUNK][: len(proof)],
    "nothing": lambda proof: [],
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_changed_proof_is_refused(wrong: str) -> None:
    for size in range(4, 40):
        for index in range(size):
            proof = inclusion(index, size, nodes)
            changed = WRONG[wrong](proof)
            if changed != proof:
                assert not includes(root_of(size, nodes), size, index, LEAVES[index], changed)
        for old in range(1, size):
            proof = consistency(old, size, nodes)
            changed = WRONG[wrong](proof)
            if changed != proof:
                both = (root_of(old, nodes), old, root_of(size, nodes), size)
                assert not extends(*both, changed)


def mutated(rng: random.Random, proof: list[bytes]) -> list[bytes]:
    """The proof with one bit flipped, or a hash left out, doubled, moved or replaced."""
    at = rng.randrange(len(proof))
    choice = rng.randrange(5)
    if choice == 0:
        flipped = bytearray(proof[at])
        flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
        return [*proof[:at], bytes(flipped), *proof[at + 1 :]]
    if choice == 1:
        return [*proof[:at], *proof[at + 1 :]]
    if choice == 2:
        return [*proof[:at], proof[at], *proof[at:]]
    if choice == 3:
        return [*proof[at:], *proof[:at]]
    return [*proof[:at], LEAVES[rng.randrange(MOST)], *proof[at + 1 :]]


def mutate_many(count: int, tell: Tell) -> None:
    """Mutated proofs of random trees, and true proofs with another place, size or leaf."""
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    tried = 0
    while tried < count:
        size = rng.randrange(2, MOST + 1)
        index, old = rng.randrange(size), rng.randrange(1, size)
        root, old_root = root_of(size, nodes), root_of(old, nodes)
        proof, grown = inclusion(index, size, nodes), consistency(old, size, nodes)
        wrong = mutated(rng, proof)
        if wrong != proof:
            tried += 1
            assert not includes(root, size, index, LEAVES[index], wrong), f"seed {seed}"
        elsewhere = rng.randrange(MOST)
        if elsewhere != index:
            tried += 2
            assert not includes(root, size, elsewhere, LEAVES[index], proof), f"seed {seed}"
            assert not includes(root, size, index, LEAVES[elsewhere], proof), f"seed {seed}"
        worse = mutated(rng, grown)
        if worse != grown:
            tried += 1
            assert not extends(old_root, old, root, size, worse), f"seed {seed}"
        other = rng.randrange(1, size)
        if other != old:
            tried += 1
            assert not extends(root_of(other, nodes), old, root, size, grown), f"seed {seed}"
    tell(f"tree: {tried:,} mutated proofs, 0 accepted")


def test_mutated_proofs_are_refused() -> None:
    mutate_many(5_000, lambda _: None)


@pytest.mark.nightly
def test_300_000_mutated_proofs_are_refused(tell: Tell) -> None:
    mutate_many(300_000, tell)


def test_a_verifier_that_ignores_the_length_of_a_proof_is_caught() -> None:
    """The control: without the check of the way's length, a longer proof of another tree passes."""

    def careless(root: bytes, node: bytes, index: int, proof: list[bytes]) -> bool:
        for sibling in proof:
            node = parent(sibling, node) if index & 1 else parent(node, sibling)
            index >>= 1
        return node == root

    # A node of the tree of 4 is passed off as a leaf of it: the shorter way leads to the same root.
    root, inner = root_of(4, nodes), nodes(1, 0)
    assert careless(root, inner, 0, [nodes(1, 1)])
    assert not includes(root, 4, 0, inner, [nodes(1, 1)])
