"""Bodies: every kind round-trips, old versions are raised, unknown ones refused."""

from __future__ import annotations

import msgspec
import pytest

from recollect.errors import IntegrityError, Unsupported
from recollect.ledger.codec import Upcaster, decode, decode_body, encode_body
from recollect.ledger.line import parse
from recollect.model.events import KIND_OF, KINDS, AnyBody, RecordAdded, RecordForgotten
from recollect.model.validate import Json
from tests.bodies import ONE_OF_EACH
from tests.ledger.golden import ERASED, LINES


@pytest.mark.parametrize("body", ONE_OF_EACH, ids=lambda body: KIND_OF[type(body)])
def test_every_kind_round_trips(body: AnyBody) -> None:
    assert decode_body(KIND_OF[type(body)], 1, encode_body(body)) == body


def test_there_is_an_example_of_every_kind() -> None:
    assert {KIND_OF[type(body)] for body in ONE_OF_EACH} == set(KINDS)


def test_a_line_becomes_an_event() -> None:
    event = decode(parse(LINES[2]))
    assert isinstance(event.body, RecordAdded)
    assert (event.seq, event.first, event.last, event.command_id) == (3, 2, 3, "k")
    assert decode(parse(ERASED)).body is None


def test_what_this_release_does_not_know_is_refused() -> None:
    with pytest.raises(Unsupported, match="version 2"):
        decode_body("record.added", 2, b"{}")
    with pytest.raises(Unsupported, match=r"record\.invented"):
        decode_body("record.invented", 1, b"{}")


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"{}",
        b'{"id":"a","surprise":1}',
        b"[]",
        b'{"id":"\xff"}',
        b'{"id":"\xed\xa0\x80"}',
        b'{"id":' + b"[" * 100_000,
    ],
    ids=["cut", "empty", "unknown field", "no object", "no UTF-8", "half a pair", "nested"],
)
def test_a_body_that_cannot_be_parsed_is_damage(data: bytes) -> None:
    with pytest.raises(IntegrityError):
        decode_body("record.forgotten", 1, data)


def test_old_versions_are_raised_step_by_step() -> None:
    def rename(old: dict[str, Json]) -> dict[str, Json]:
        return {"id": old["record"], **{k: v for k, v in old.items() if k != "record"}}

    table: dict[tuple[str, int], Upcaster] = {("record.forgotten", 1): rename}
    data = msgspec.json.encode({"record": "r", "reason": "why"})
    raised = decode_body("record.forgotten", 1, data, upcasters=table, version=3)
    assert raised == RecordForgotten(id="r", reason="why")
