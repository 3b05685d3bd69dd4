"""The rule of a witness, the text of requests, and proofs from what was added."""

from __future__ import annotations

import pytest

from recollect.ledger.tree import Frontier, consistency, leaf, root_of
from recollect.proof.growth import grown
from recollect.proof.notes import BadNote
from recollect.proof.witness import (
    MOST_HASHES,
    REQUEST_MAX_BYTES,
    Accepted,
    judge,
    parse_request,
    render_request,
)
from recollect.testing.witnesses import FakeLog

LOG = FakeLog()
# The example of the specification, with a signature line that has its form.
EXAMPLE = (
    b"old 20852014\n"
    b"PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=\n"
    b"jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=\n"
    b"5+pKlUdi2LeF/BcMHBn+Ku6yhPGNCswZZD1X/6QgPd8=\n"
    b"/6WVhPs2CwSsb5rYBH5cjHV/wSmA79abXAwhXw3Kj/0=\n"
    b"\n"
    b"example.com/behind-the-sofa\n"
    b"20852163\n"
    b"CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
    b"\n"
    b"\xe2\x80\x94 example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URY"
    b"N7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n"
    b"\xe2\x80\x94 example.com/behind-the-sofa opLqBQsREYCgu6xQkYQwJr9fo45a62DN9EdmHXnZdXNqlcVGlCum"
    b"2Wks+49/V6267UEjw6QUXTS5Rovnzv++qbSzm9Q=\n"
)


def test_the_published_request() -> None:
    request = parse_request(EXAMPLE)
    assert (request.old, len(request.proof), request.checkpoint.size) == (20852014, 4, 20852163)
    assert len(request.note.signatures) == 2
    assert render_request(request) == EXAMPLE


@pytest.mark.parametrize("size", [1, 2, 7, 31])
def test_a_request_survives_its_text(size: int) -> None:
    for old in range(size + 1):
        request = LOG.request(old, size)
        assert parse_request(render_request(request)) == request


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"old 20852014", b"old 020852014"),
        (b"old 20852014", b"old -1"),
        (b"old 20852014", b"old 20852014 "),
        (b"old 20852014", "old \u0661".encode()),
        (b"old 20852014", b"old 99999999999999999"),
        (b"old 20852014\n", b""),
        (b"old 20852014\n", b"old 20852014\n\n"),
        (b"PlRN", b"PlR\xff"),
        (b"PlRN", b"PlR"),
        (b"pkaw=\n", b"pkaw=\nAAAA\n"),
        (b"\n20852163\n", b"\nmany\n"),
        (b"XTS5Rovnzv++qbSzm9Q=\n", b""),
    ],
)
def test_other_requests_are_refused(before: bytes, after: bytes) -> None:
    assert before in EXAMPLE
    with pytest.raises(BadNote):
        parse_request(EXAMPLE.replace(before, after))


def test_long_requests_are_refused() -> None:
    head, _, rest = EXAMPLE.partition(b"\n\n")
    line = b"\n" + b"A" * 43 + b"="
    whole = b"old 1" + line * MOST_HASHES + b"\n\n" + rest
    assert len(parse_request(whole).proof) == MOST_HASHES
    for raw in (whole.replace(b"old 1", b"old 1" + line), EXAMPLE + b"x" * REQUEST_MAX_BYTES, head):
        with pytest.raises(BadNote):
            parse_request(raw)


def test_only_signatures_of_pinned_keys_are_kept() -> None:
    request = LOG.request(0, 3)
    doubled = request.note.signatures * 2 + FakeLog("recollect/other").note(3).signatures
    more = type(request).of(0, (), type(request.note)(request.note.text, doubled))
    decision = judge(more, [LOG.key.public], None)
    assert isinstance(decision, Accepted)
    assert decision.note == request.note


def test_a_proof_from_what_was_added_is_the_one_from_all_leaves() -> None:
    most = 40
    hashes = LOG.hashes(most)
    leaves = [leaf(hashes[at : at + 32]) for at in range(0, len(hashes), 32)]

    def node(level: int, index: int) -> bytes:
        return Frontier().plus(leaves[index << level : (index + 1) << level]).root

    for new in range(1, most + 1):
        assert LOG.tree(new).root == root_of(new, node)
        for old in range(1, new + 1):
            made = grown(LOG.tree(old), hashes[old * 32 : new * 32])
            assert made == consistency(old, new, node), (old, new)
    assert grown(Frontier(), hashes) == []
