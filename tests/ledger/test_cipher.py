"""Encrypted bodies: they open in their own event with their own key, and nowhere else."""

from __future__ import annotations

import sys
from itertools import product

import pytest

from recollect.errors import IntegrityError, KeyMissing, NotInstalled
from recollect.ledger.batches import batches
from recollect.ledger.chain import SALT_BYTES, Draft, chain
from recollect.ledger.cipher import Unopened, bound_to, decrypt, encrypt, encrypted_bytes
from recollect.ledger.codec import decode, encode_body
from recollect.ledger.erasure import Erasures, encrypted_for, orders_in
from recollect.ledger.line import Line, erase, parse
from recollect.ledger.scan import Scanner
from recollect.ledger.verify import verify
from recollect.model.events import GENESIS, EventsErased, RecordForgotten

LEDGER, OTHER = "a" * 64, "b" * 64
ANN, BOB, EVE = "0a" * 16, "0b" * 16, "0e" * 16
KEYS = {ANN: b"a" * 32, BOB: b"b" * 32}
BODY = encode_body(RecordForgotten(id="r", reason="her words"))
AT = "2026-01-01T00:00:00.000000Z"


class Held:
    """Keys at hand; those of Eve were destroyed."""

    def __init__(self, ledger: str = LEDGER) -> None:
        self.ledger = ledger

    def key(self, subject: str, cipher: int) -> bytes | None:
        if subject == EVE:
            return None
        if subject not in KEYS or cipher != 1:
            raise KeyMissing("not here", hint="bring it")
        return KEYS[subject]


def draft(
    id: str, subject: str | None, kind: str = "record.forgotten", cipher: int = 1, key: bytes = b""
) -> Draft:
    if subject is None:
        return Draft(id, kind, "person", BODY)
    bound = bound_to(1, LEDGER, id, kind, "person", subject, cipher)
    used = key or KEYS.get(subject, b"e" * 32)
    data = encrypt(used, id.encode().ljust(12, b"."), BODY, bound)
    assert len(data) == encrypted_bytes(len(BODY))
    return Draft(id, kind, "person", data, subject, cipher)


def lines(*drafts: Draft) -> list[Line]:
    data, _ = chain(GENESIS, AT, drafts, bytes(SALT_BYTES * len(drafts)))
    return [parse(raw) for raw in data.splitlines()]


def test_a_body_opens_with_its_key() -> None:
    (line,) = lines(draft("c.1", ANN))
    assert (line.subject, line.cipher) == (ANN, 1)
    assert b"words" not in (line.data or b"")
    event = decode(line, Held())
    assert event.body == RecordForgotten(id="r", reason="her words")
    assert not event.locked


def test_a_body_moved_to_any_other_event_does_not_open() -> None:
    """Also to one of the same subject: the id of the event is bound too."""
    own = [draft(f"c.{n}", who) for n, who in enumerate((ANN, ANN, BOB, BOB), 1)]
    for source, target in product(own, own):
        swapped = Draft(
            target.id, target.kind, "person", source.data, target.subject, target.cipher
        )
        (line,) = lines(swapped)
        if source is target:
            assert decode(line, Held()).body is not None
            continue
        with pytest.raises(IntegrityError, match="event 1: it does not open"):
            decode(line, Held())


@pytest.mark.parametrize("field", ["kind", "origin", "ledger", "cipher", "v"])
def test_it_is_bound_to_what_stands_in_the_header(field: str) -> None:
    parts = {"v": 1, "ledger": LEDGER, "id": "c.1", "kind": "record.forgotten"}
    parts |= {"origin": "person", "subject": ANN, "cipher": 1}
    data = encrypt(KEYS[ANN], bytes(12), BODY, bound_to(**parts))  # type: ignore[arg-type]
    other = {"kind": "record.restored", "origin": "agent", "ledger": OTHER, "cipher": 2, "v": 2}
    bound = bound_to(**{**parts, field: other[field]})  # type: ignore[arg-type]
    with pytest.raises(Unopened):
        decrypt(KEYS[ANN], data, bound)
    assert decrypt(KEYS[ANN], data, bound_to(**parts)) == BODY  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "data", [b"", b'""', b'"!"', b'"AAAA"', b'"AAB="', b"{}", b'"' + b"A" * 40 + b'"']
)
def test_bytes_that_nobody_encrypted_do_not_open(data: bytes) -> None:
    with pytest.raises(Unopened):
        decrypt(KEYS[ANN], data, b"")


def test_a_key_that_is_not_here_is_not_an_erasure() -> None:
    (line,) = lines(draft("c.1", "0c" * 16, key=b"c" * 32))
    with pytest.raises(KeyMissing, match="event 1: not here") as caught:
        decode(line, Held())
    assert caught.value.hint == "bring it"
    with pytest.raises(KeyMissing, match="not at hand"):
        decode(line)


def test_with_a_destroyed_key_nothing_is_left_to_read() -> None:
    (line,) = lines(draft("c.1", EVE))
    event = decode(line, Held())
    assert (event.body, event.locked) == (None, True)
    erased = Erasures()
    erased.note(decode(lines(draft("d.1", None))[0]))
    erased.note(event)
    assert erased.purged == 0
    gone = parse(erase(chain(GENESIS, AT, [draft("c.1", EVE)], bytes(16))[0].rstrip(), 2))
    assert decode(gone, Held()).locked is False


def test_many_lines_at_once_give_the_same_events() -> None:
    drafts = [draft("c.1", None), draft("d.1", ANN), draft("e.1", EVE), draft("f.1", BOB)]
    data, _ = chain(GENESIS, AT, drafts, bytes(SALT_BYTES * 4))
    (batch,) = batches(Scanner(), [data], 99, ciphers=Held())
    assert batch.decode() == [decode(line, Held()) for line in lines(*drafts)]
    assert verify([data]).ok  # no key is needed for that
    for ciphers in (None, Held(OTHER)):
        (batch,) = batches(Scanner(), [data], 99, ciphers=ciphers)
        with pytest.raises((KeyMissing, IntegrityError), match="event 2"):
            batch.decode()


def test_what_is_encrypted_for_a_subject_is_found_by_its_header() -> None:
    drafts = [draft("c.1", None), draft("d.1", ANN), draft("e.1", BOB), draft("f.1", ANN)]
    data, _ = chain(GENESIS, AT, drafts, bytes(SALT_BYTES * 4))
    assert encrypted_for([data], {ANN}) == [2, 4]
    whole = data.splitlines()
    whole[1] = erase(whole[1], 5)
    assert encrypted_for([b"\n".join(whole) + b"\nnothing\n"], {ANN, EVE}) == [4]


def test_an_order_names_the_subjects_whose_keys_go() -> None:
    body = EventsErased(targets=(1,), subjects=(ANN,))
    order = Draft("o.1", "events.erased", "person", encode_body(body))
    data, _ = chain(GENESIS, AT, [draft("c.1", ANN), order], bytes(SALT_BYTES * 2))
    assert orders_in([data], {1: 2}) == {ANN: 2}
    assert orders_in([data], {1: 1, 2: 7}) == {}
    erased = Erasures()
    for line in map(parse, data.splitlines()):
        erased.note(decode(line, Held()))
    assert erased.subjects == {ANN: 2}


def test_without_the_package_the_next_step_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(NotInstalled, match=r"recollect\[proof\]"):
        encrypt(bytes(32), bytes(12), b"", b"")
