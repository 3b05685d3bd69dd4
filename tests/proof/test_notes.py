"""Signed notes, keys and checkpoints: the published examples, and what must be refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.ledger.tree import EMPTY, Frontier, leaf
from recollect.proof import checkpoints
from recollect.proof.checkpoints import Checkpoint
from recollect.proof.keys import LOG, WITNESS, PrivateKey, PublicKey, parse_key, seen_at, signers
from recollect.proof.notes import MOST_BYTES, BadNote, Note, Signature, is_name, parse, render

# The example of the specification.
EXAMPLE_KEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
EXAMPLE = (
    "This is an example message.\n\n\N{EM DASH} example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6Tf"
    "Xppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n"
).encode()

KEY = PrivateKey("example.org/memory", LOG, b"\x01" * 32)
NEXT = PrivateKey("example.org/memory", LOG, b"\x02" * 32)
SEEN = PrivateKey("witness.example", WITNESS, b"\x03" * 32)
POINT = Checkpoint(
    "example.org/memory", 3, Frontier().plus([leaf(b"1"), leaf(b"2"), leaf(b"3")]).root
)


def test_the_published_example() -> None:
    key = parse_key(EXAMPLE_KEY)
    note = parse(EXAMPLE)
    assert str(key) == EXAMPLE_KEY
    assert render(note) == EXAMPLE
    assert note.text == "This is an example message.\n"
    assert signers(note, [key]) == (key,)


def test_every_changed_byte_of_a_note_is_noticed() -> None:
    key = parse_key(EXAMPLE_KEY)
    for place in range(len(EXAMPLE)):
        for bit in range(8):
            changed = bytearray(EXAMPLE)
            changed[place] ^= 1 << bit
            with pytest.raises(BadNote):
                signers(parse(bytes(changed)), [key])
    for cut in range(len(EXAMPLE)):
        with pytest.raises(BadNote):
            signers(parse(EXAMPLE[:cut]), [key])


LETTERS = st.characters(exclude_categories=["Cs", "Cc"])
# A text is not empty lines alone. Made so that nothing has to be thrown away.
TEXTS = st.tuples(st.text(LETTERS | st.just("\n")), LETTERS, st.text(LETTERS | st.just("\n"))).map(
    lambda parts: "".join(parts) + "\n"
)
VISIBLE = st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters="+")
NAMES = st.text(VISIBLE, min_size=1, max_size=20).filter(is_name)


@given(
    TEXTS,
    st.lists(
        st.tuples(NAMES, st.binary(min_size=4, max_size=4), st.binary(min_size=1)), min_size=1
    ),
)
def test_a_note_is_read_as_it_was_written(text: str, lines: list[tuple[str, bytes, bytes]]) -> None:
    note = Note(text, tuple(Signature(*line) for line in lines))
    assert parse(render(note)) == note


@given(st.binary(max_size=300))
def test_any_bytes_are_a_note_or_refused(raw: bytes) -> None:
    try:
        note = parse(raw)
    except BadNote:
        return
    assert render(note) == raw


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\n",
        b"text\n",
        b"text\n\n",
        b"\n\n\xe2\x80\x94 a AAAAAAA=\n",
        b"text\n\n\xe2\x80\x94 a AAAAAAA=",
        b"text\n\n-- a AAAAAAA=\n",
        b"text\n\n\xe2\x80\x94 a  AAAAAAA=\n",
        b"text\n\n\xe2\x80\x94 a+b AAAAAAA=\n",
        b"text\n\n\xe2\x80\x94 a AAAAAAB=\n",  # another spelling of the same bytes
        b"text\n\n\xe2\x80\x94 a AAAAAA==\n",  # an id without a signature
        b"text\n\n\xe2\x80\x94 a AAAAAAA=\n\n",
        b"text\r\n\n\xe2\x80\x94 a AAAAAAA=\n",
        b"text\x00\n\n\xe2\x80\x94 a AAAAAAA=\n",
        b"\xff\n\n\xe2\x80\x94 a AAAAAAA=\n",
        b"text\n\n" + b"\xe2\x80\x94 a AAAAAAA=\n" * 101,
        b"x" * (MOST_BYTES + 1),
    ],
)
def test_what_is_not_a_note_is_refused(raw: bytes) -> None:
    with pytest.raises(BadNote):
        parse(raw)


def test_a_checkpoint_comes_back() -> None:
    raw = render(checkpoints.sign(POINT, [KEY]))
    assert raw.startswith(b"example.org/memory\n3\n")
    assert checkpoints.read(raw, [KEY.public]) == (POINT, parse(raw))
    empty = Checkpoint("a", 0, EMPTY)
    assert checkpoints.parse_text(empty.text) == empty


@pytest.mark.parametrize(
    "text",
    [
        "a\n3\n",
        "\n3\n" + POINT.text.split("\n")[2] + "\n",
        POINT.text.replace("\n3\n", "\n03\n"),
        POINT.text.replace("\n3\n", "\n-3\n"),
        POINT.text.replace("\n3\n", "\n3 \n"),
        POINT.text.replace("\n3\n", "\n\u0663\n"),
        POINT.text + "more\n",
        "a\n3\nAAAA\n",
        "a\n3\n*\n",
    ],
)
def test_what_is_not_a_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(BadNote):
        checkpoints.parse_text(text)


def test_two_keys_sign_while_one_is_replaced() -> None:
    raw = render(checkpoints.sign(POINT, [KEY, NEXT]))
    for known in ([KEY.public], [NEXT.public], [KEY.public, NEXT.public]):
        assert signers(parse(raw), known) == tuple(known)


def test_a_signature_of_an_unknown_key_is_ignored_and_a_wrong_one_of_a_known_key_is_not() -> None:
    note = checkpoints.sign(POINT, [KEY])
    with pytest.raises(BadNote, match="no key that is known"):
        signers(note, [NEXT.public])
    forged = Signature(NEXT.name, NEXT.public.id, b"\x00" * 64)
    both = Note(note.text, (*note.signatures, forged))
    assert signers(both, [KEY.public]) == (KEY.public,)
    with pytest.raises(BadNote, match="does not match the text"):
        signers(both, [KEY.public, NEXT.public])


def test_a_key_with_the_name_of_another_signs_nothing_for_it() -> None:
    note = checkpoints.sign(POINT, [NEXT])
    assert NEXT.name == KEY.name
    with pytest.raises(BadNote):
        signers(note, [KEY.public])
    renamed = Note(note.text, (Signature(KEY.name, KEY.public.id, note.signatures[0].value),))
    with pytest.raises(BadNote):
        signers(renamed, [KEY.public])


def test_a_witness_signs_the_time_too() -> None:
    line = SEEN.cosign(POINT.text, 1_679_315_147)
    assert seen_at(line) == 1_679_315_147
    assert SEEN.public.signed(POINT.text, line)
    assert not SEEN.public.signed(POINT.text + "x", line)
    later = Signature(line.name, line.key_id, (1_679_315_148).to_bytes(8) + line.value[8:])
    assert not SEEN.public.signed(POINT.text, later)
    endless = Signature(line.name, line.key_id, b"\xff" * 8 + line.value[8:])
    assert not SEEN.public.signed(POINT.text, endless)
    short = Signature(line.name, line.key_id, line.value[:-1])
    assert not SEEN.public.signed(POINT.text, short)


def test_one_seed_as_log_and_as_witness_has_two_ids_and_signs_different_bytes() -> None:
    log, witness = PrivateKey("a", LOG, b"\x07" * 32), PrivateKey("a", WITNESS, b"\x07" * 32)
    assert log.public.key == witness.public.key
    assert log.public.id != witness.public.id
    text = Signature("a", log.public.id, witness.cosign("t\n", 1).value[8:])
    assert not log.public.signed("t\n", text)


def test_a_private_key_does_not_print_its_seed() -> None:
    assert KEY.seed.hex() not in repr(KEY)
    assert repr(KEY.seed)[2:-1] not in repr(KEY)
    assert str(KEY.public) in str(KEY)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "example.com/foo",
        EXAMPLE_KEY[:-1],
        EXAMPLE_KEY.replace("530d903a", "530d903b"),
        EXAMPLE_KEY.replace("530d903a", "530D903A"),
        EXAMPLE_KEY.replace("foo", "bar"),
        EXAMPLE_KEY.replace("/foo", "/f oo"),
        EXAMPLE_KEY.replace("+Aeky", "+Beky"),
        "a+00000000+",
        "a+00000000+AQ==",
        str(PublicKey("a", 9, b"\x00" * 32)),  # type: ignore[arg-type]
    ],
)
def test_what_is_not_a_public_key_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_key(text)


def test_a_public_key_is_read_with_the_line_break_that_came_with_it() -> None:
    assert parse_key(f" {EXAMPLE_KEY}\n") == parse_key(EXAMPLE_KEY)
    assert parse_key(str(SEEN.public)) == SEEN.public
