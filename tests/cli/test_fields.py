"""Every place that takes the fields of a record takes all of them.

``model.record_fields.RecordFields`` is made from the signature of ``Memory.remember``. To add a
field, follow the list in CONTRIBUTING.md; these tests name the place that was forgotten.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable
from typing import Any, cast, get_type_hints

import msgspec
import pytest

from recollect import AsyncMemory, InvalidInput, Memory
from recollect.interfaces.cli.daily.fields import field_options
from recollect.interfaces.http import shapes
from recollect.interfaces.mcp.tools import Remember as Tool
from recollect.lifecycle.commands import Remember as Act
from recollect.memory.writing import Writing
from recollect.model.events import RecordAdded
from recollect.model.record_fields import RecordFields
from recollect.model.values import Record
from recollect.model.words import COLUMNS
from tests.cli.running import Shell

# A value for each field, and what the record then says.
EXAMPLES: dict[str, tuple[object, object]] = {
    "key": ("db.port", "db.port"),
    "about": ("alice", "alice"),
    "kind": ("preference", "preference"),
    "tags": (["red"], ("red",)),
    "data": ({"n": 1}, {"n": 1}),
    "confidence": (0.25, 0.25),
    "evidence": (["https://example.org/a"], ("https://example.org/a",)),
    "expires": ("2199-01-01T00:00:00Z", "2199-01-01T00:00:00.000000Z"),
    "said_at": ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00.000000Z"),
    "valid_from": ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00.000000Z"),
    "valid_to": ("2199-01-01T00:00:00Z", "2199-01-01T00:00:00.000000Z"),
    "how_known": ("observed", "observed"),
    "is_hypothesis": (True, True),
    "replaces": ("old", "old"),
    "reason": ("she moved", "she moved"),
    "id": ("r-mine", "r-mine"),
}
# A model is offered the fields that it fills in well; each of the others is left out on purpose.
NOT_FOR_MODELS = {
    "kind",
    "data",
    "confidence",
    "expires",
    "said_at",
    "valid_from",
    "valid_to",
    "how_known",
    "is_hypothesis",
    "replaces",
    "reason",
    "id",
}
NAMES = set(RecordFields.__annotations__)
SAID = NAMES - {"reason"}  # of a record; the reason is in its history
CALL = {"self", "text", "idempotency_key", "expect"}  # of the call, not of the record

each_field = pytest.mark.parametrize("field", sorted(NAMES))


def missing(taken: Iterable[str], names: Iterable[str] = NAMES) -> list[str]:
    return sorted(set(names) - set(taken))


def test_each_place_names_every_field() -> None:
    assert missing(EXAMPLES) == []
    assert missing(inspect.signature(Memory.remember).parameters) == []
    assert missing(inspect.signature(AsyncMemory.remember).parameters) == []
    assert missing(Record.__struct_fields__, SAID) == []
    codes = [COLUMNS.get(name, name) for name in SAID]
    for stored in (Act, RecordAdded):
        assert missing(stored.__struct_fields__, codes) == []
    assert missing(option.field for option in field_options()) == []
    assert missing(shapes.Remember.__struct_fields__) == []
    assert missing(shapes.RememberAct.__struct_fields__) == []
    assert missing({*Tool.__struct_fields__, *NOT_FOR_MODELS}) == []


def test_a_forgotten_field_is_named() -> None:
    """The control."""
    assert missing(inspect.signature(Memory.remember).parameters, {*NAMES, "colour"}) == ["colour"]


def test_the_list_and_the_public_call_agree_on_types() -> None:
    shown = get_type_hints(Writing.remember)
    listed = get_type_hints(RecordFields)
    assert {name: shown[name] for name in shown if name not in {*CALL, "return"}} == listed


@each_field
def test_the_public_call_documents_each_field(field: str) -> None:
    assert f"\n    {field}: " in (inspect.getdoc(Memory.remember) or "")


def told_by(memory: Memory, record: Any, field: str) -> object:
    """What the memory says of a field; a reason is kept with the record that was replaced."""
    if field == "reason":
        return memory.history("old")[-1].note
    return getattr(record, field)


@each_field
def test_a_field_reaches_the_record(field: str) -> None:
    given, told = EXAMPLES[field]
    fields: Any = {field: given} | ({"replaces": "old"} if field == "reason" else {})
    with Memory.open(":memory:", embedder="none") as memory:
        memory.remember("before", id="old")
        assert told_by(memory, memory.remember("alone", **fields), field) == told
    with Memory.open(":memory:", embedder="none") as memory:
        memory.remember("before", id="old")
        with memory.batch() as batch:
            batch.remember("in a batch", **fields)
        assert told_by(memory, batch.results[0], field) == told


def test_a_reason_without_a_record_to_replace_is_refused() -> None:
    with (
        Memory.open(":memory:", embedder="none") as memory,
        pytest.raises(InvalidInput, match="replaced"),
    ):
        memory.remember("alone", reason="she moved")


@pytest.mark.parametrize("field", sorted(NAMES - {"id", "key", "tags", "replaces", "reason"}))
def test_saying_a_sentence_again_with_a_field_sets_it(field: str) -> None:
    given, told = EXAMPLES[field]
    fields: Any = {field: given}
    with Memory.open(":memory:", embedder="none") as memory:
        first = memory.remember("The same sentence.")
        again = memory.remember("The same sentence.", **fields)
        assert (again.id, getattr(again, field)) == (first.id, told)
        assert memory.get(again.id) == again
        memory.admin.rebuild()
        assert memory.get(again.id) == again


@each_field
def test_the_command_line_takes_each_field(field: str, store: Shell) -> None:
    given, told = EXAMPLES[field]
    (option,) = (one for one in field_options() if one.field == field)
    store.run("remember", "Before.", "--id", "old")
    typed = {True: (), False: (_typed(given),)}[given is True]
    also = ("--replaces", "old") if field == "reason" else ()
    found = store.run("remember", "From a shell.", option.flag, *typed, *also, "--json").json
    if field == "reason":
        found = store.run("show", "old", "--json").json["history"][-1]
    name = {"reason": "note"}.get(field, field)
    assert found[name] == json.loads(msgspec.json.encode(told))


def _typed(value: object) -> str:
    if isinstance(value, list):
        return str(value[0])
    return json.dumps(value) if isinstance(value, dict) else str(value)


def test_a_field_that_does_not_exist_is_refused() -> None:
    wrong: Any = {"colour": "red"}
    with Memory.open(":memory:", embedder="none") as memory:
        with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
            memory.remember("x", **wrong)
        batch = memory.batch()
        with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
            batch.remember("x", **wrong)
        for inner in ("colour", "files"):  # the second is an argument inside
            with pytest.raises(TypeError, match=f"unexpected keyword argument '{inner}'"):
                batch.revise("x", "y", **cast(Any, {inner: True}))
