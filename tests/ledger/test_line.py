"""One line: exact bytes, both digests, the strict form."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.ledger.chain import Draft, chain
from recollect.ledger.codec import decode, encode_body
from recollect.ledger.line import BadLine, encode, erase, header_of, parse
from recollect.model.events import GENESIS
from tests.ledger.golden import ERASED, INPUTS, LATER_INPUTS, LATER_LINES, LINES


def test_golden_vectors_are_reproduced() -> None:
    head, made = GENESIS, b""
    for at, drafts in [*INPUTS, *LATER_INPUTS]:
        salts = b"".join(bytes.fromhex(draft[4]) for draft in drafts)
        data, head = chain(head, at, [Draft(*draft[:4]) for draft in drafts], salts)  # type: ignore[arg-type]
        made += data
    assert made.split(b"\n") == [*LINES, *LATER_LINES, b""]


def test_golden_bodies_are_written_as_they_are_read() -> None:
    for line in map(parse, LATER_LINES):
        body = decode(line).body
        assert body is not None
        assert encode_body(body) == line.data


def test_golden_vectors_are_read() -> None:
    lines = [parse(raw) for raw in LINES]
    assert [line.seq for line in lines] == [1, 2, 3, 4]
    assert [(line.first, line.last) for line in lines] == [(1, 1), (2, 3), (2, 3), (4, 4)]
    assert [line.prev for line in lines] == ["0" * 64, *(line.hash for line in lines[:-1])]
    assert lines[3].id == "x.y.1"
    assert lines[3].origin == "person"
    assert [line.kind for line in lines][::3] == ["space.opened", "events.erased"]
    assert {(line.v, line.subject, line.cipher) for line in lines} == {(1, None, None)}
    assert lines[1].data == INPUTS[1][1][0][3]


def test_an_erased_line_keeps_its_header() -> None:
    assert erase(LINES[1], 4) == ERASED
    kept, gone = parse(LINES[1]), parse(ERASED)
    assert gone.data is None
    assert gone.erased_by == 4
    assert (gone.hash, gone.prev, gone.kind) == (kept.hash, kept.prev, kept.kind)


def test_subject_and_cipher_are_part_of_the_header() -> None:
    raw, digest = encode(
        v=1,
        seq=1,
        first=1,
        last=1,
        id="a.1",
        kind="record.added",
        at="2026-01-01T00:00:00.000000Z",
        origin="agent",
        prev="0" * 64,
        salt=b"\0" * 16,
        data=b"{}",
        subject="0f" * 16,
        cipher=3,
    )
    line = parse(raw.removesuffix(b"\n"))
    assert (line.subject, line.cipher, line.hash) == ("0f" * 16, 3, digest)


@given(st.integers(0, len(LINES[1]) * 8 - 1))
def test_every_flipped_bit_of_a_line_is_seen(bit: int) -> None:
    flipped = bytearray(LINES[1])
    flipped[bit // 8] ^= 1 << bit % 8
    with pytest.raises(BadLine):
        parse(bytes(flipped))


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{}",
        LINES[0] + b" ",
        b" " + LINES[0],
        LINES[0][:-1],
        LINES[0].replace(b'"v":1', b'"v":01'),
        LINES[0].replace(b'"seq":1', b'"seq": 1'),
        ERASED + b"}",
        LINES[0].replace(b',"data":', b',"dat4":'),
        LINES[0].replace(b'"salt":"00', b'"salt":"0A'),
        LINES[0].replace(b'"salt":"00', b'"s4lt":"00'),
        LINES[0].replace(b'"salt":"00', b'"salt":"xx'),
        LINES[0].replace(b'"salt":"00', b'"salt":"  '),
        LINES[3].replace(b'"salt":"ab', b'"salt":"AB'),
        LINES[0].replace(b'"prev"', b'"pr3v"'),
        ERASED.replace(b'"erased":"4"', b'"erased":"04"'),
        ERASED.replace(b'"erased":"4"', b'"erased":4'),
    ],
)
def test_only_the_one_form_is_accepted(raw: bytes) -> None:
    with pytest.raises(BadLine):
        parse(raw)


def test_a_header_is_known_even_if_its_body_is_torn() -> None:
    assert header_of(LINES[1][:-20]) == (2, 2)
    assert header_of(LINES[2]) == (3, 2)
    assert header_of(b"\0" * 600) is None
    assert header_of(LINES[1].replace(b'"seq":2', b'"seq":3')) is None


def test_an_erased_line_still_needs_its_commitment() -> None:
    """Nothing is left to compare it with, so its form is all there is to check."""
    front, _, rest = ERASED.partition(b'"body":"')
    header = front + b'"body":"' + b"Z" * 64 + rest[64:].partition(b',"hash":"')[0]
    digest = sha256(header).hexdigest().encode()
    with pytest.raises(BadLine, match="commitment"):
        parse(header + b',"hash":"' + digest + b'","erased":"4"}')


def test_a_header_says_prev() -> None:
    header = LINES[0].partition(b',"hash":"')[0].replace(b'","prev":"', b'","prov":"')
    digest = sha256(header).hexdigest().encode()
    with pytest.raises(BadLine, match="hash"):
        parse(header + b',"hash":"' + digest + b'","erased":"4"}')


@pytest.mark.parametrize("prev", [b"\xff" * 64, b'"}\n\0' * 16, b"F" * 64])
def test_only_a_digest_may_stand_where_the_chain_goes_on(prev: bytes) -> None:
    """A hash proves nothing about who computed it."""
    header = LINES[0].partition(b',"hash":"')[0].replace(b"0" * 64, prev)
    digest = sha256(header).hexdigest().encode()
    raw = header + b',"hash":"' + digest + b'","erased":"4"}'
    assert header_of(raw) is None
    with pytest.raises(BadLine, match="hash"):
        parse(raw)


def test_only_a_line_can_be_erased() -> None:
    with pytest.raises(BadLine):
        erase(b"junk", 3)
