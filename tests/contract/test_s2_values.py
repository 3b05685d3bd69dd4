"""S2: the values and errors of the API: what can be made of them, and what cannot."""

from __future__ import annotations

import dataclasses
import inspect
from datetime import UTC, date, datetime
from typing import Annotated, Any, get_args, get_type_hints

import pydantic
import pytest

from recollect import InvalidInput
from recollect.contracts import episodic
from recollect.contracts.episodic import (
    AddDelta,
    ConsolidationRule,
    ConsolidationRuleError,
    DeleteDelta,
    Episode,
    Fact,
    FactPattern,
    MemoryDelta,
    MemoryScopeError,
    MigrationNotSupported,
    MigrationPlan,
    NoopDelta,
    StoreHealth,
    UpdateDelta,
)
from recollect.contracts.episodic.deltas import check
from recollect.contracts.episodic.models import Model
from recollect.errors import RecollectError
from recollect.model.limits import DATA_MAX_BYTES, DATA_MAX_DEPTH, TEXT_MAX_BYTES

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
NAIVE = NOW.replace(tzinfo=None)
EPISODE: dict[str, Any] = {
    "id": "e1",
    "content": "Alice sits in 4A.",
    "timestamp": NOW,
    "source_node": "planner",
    "agent": "rag",
    "user": "alice",
    "session": "S1",
}
PROVENANCE: dict[str, Any] = {
    "source_episode_ids": ["e1"],
    "promotion_ts": NOW,
    "rule_id": "nightly",
    "confidence": 1.0,
}
PAYLOAD: dict[str, Any] = {"fact_payload": {"content": "Alice sits in 4A."}}
REPLACES = {"replaces": ["fact-1"]}
# Every variant with the fields that it needs besides its kind.
NEEDS: list[tuple[Any, str, dict[str, Any]]] = [
    (AddDelta, "add", {**PAYLOAD, **PROVENANCE}),
    (UpdateDelta, "update", {**PAYLOAD, **REPLACES, **PROVENANCE}),
    (DeleteDelta, "delete", {**REPLACES, **PROVENANCE}),
    (NoopDelta, "noop", PROVENANCE),
]
each_variant = pytest.mark.parametrize(("variant", "kind", "fields"), NEEDS)


def nested(depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {"leaf": 1}
    for _ in range(depth - 1):
        found = {"in": found}
    return found


# Episodes.


def test_an_episode_has_the_stated_fields() -> None:
    # S2-145 S2-146 S2-147 S2-148 S2-149 S2-150
    assert get_type_hints(Episode) == {
        "id": str,
        "content": str,
        "timestamp": datetime,
        "source_node": str,
        "agent": str,
        "user": str,
        "session": str,
        "metadata": dict[str, Any],
    }
    for name in EPISODE:
        with pytest.raises(TypeError, match=name):
            Episode(**{key: value for key, value in EPISODE.items() if key != name})
    assert Episode(**EPISODE).metadata == {}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"id": ""}, "id is empty"),
        ({"id": "x" * 121}, "longer than 120"),
        ({"id": "a b"}, "not allowed"),
        ({"id": 5}, "id is empty"),
        ({"content": "  "}, "content is empty"),
        ({"content": "a\0b"}, "U\\+0000"),
        ({"content": "\ud800"}, "surrogate"),
        ({"content": "x" * (TEXT_MAX_BYTES + 1)}, "longer than 1,048,576"),
        ({"content": b"bytes"}, "must be text"),
        ({"timestamp": NAIVE}, "no time zone"),
        ({"timestamp": "2026-03-01T12:00:00Z"}, "must be a datetime"),
        ({"timestamp": date(2026, 3, 1)}, "must be a datetime"),
        ({"timestamp": None}, "must be a datetime"),
        ({"source_node": None}, "source_node must be text"),
        ({"metadata": nested(DATA_MAX_DEPTH + 1)}, "nested deeper"),
        ({"metadata": {"at": NOW}}, "not JSON"),
        ({"metadata": {"n": 2**60}}, "beyond"),
        ({"metadata": {"x": float("nan")}}, "not a JSON number"),
        ({"metadata": {5: "x"}}, "key that is not text"),
        ({"metadata": {"episodic": {}}}, "used by this API"),
        ({"metadata": [("a", 1)]}, "must be a mapping"),
        ({"metadata": {"k": "x" * DATA_MAX_BYTES}}, "longer than 262,144 bytes"),
        ({"metadata": {f"k{n}": n for n in range(2_001)}}, "2,000"),
    ],
)
def test_an_episode_that_could_not_be_kept_cannot_be_made(
    changed: dict[str, Any], message: str
) -> None:  # S2-145 S2-146 S2-147 S2-150
    with pytest.raises(InvalidInput, match=message):
        Episode(**{**EPISODE, **changed})


def test_metadata_may_be_large_up_to_the_limit() -> None:  # S2-150
    text = "x" * (DATA_MAX_BYTES - len('{"k":""}'))
    for metadata in ({"k": text}, {f"k{n}": n for n in range(2_000)}):
        assert Episode(**EPISODE, metadata=metadata).metadata == metadata


def test_a_tuple_in_metadata_is_a_list() -> None:  # S2-150
    given = {"replaces": ("f1", "f2"), "in": {"deep": (1, (2,))}}
    made = Episode(**EPISODE, metadata=given)
    assert made.metadata == {"replaces": ["f1", "f2"], "in": {"deep": [1, [2]]}}
    given["replaces"] = ()
    assert made.metadata["replaces"] == ["f1", "f2"]  # it is a value of its own


def test_metadata_may_be_deep_up_to_the_limit() -> None:  # S2-150
    deep = nested(DATA_MAX_DEPTH)
    assert Episode(**EPISODE, metadata=deep).metadata == deep
    loop: dict[str, Any] = {}
    loop["again"] = loop
    with pytest.raises(InvalidInput, match="nested deeper"):
        Episode(**EPISODE, metadata=loop)


@pytest.mark.parametrize("part", ["user", "session", "agent"])
@pytest.mark.parametrize("name", [" alice", "alice\n", "e\u0301", "x" * 201, "a\0", "\x1b[1m", 7])
def test_a_name_that_would_be_stored_differently_is_no_scope(part: str, name: Any) -> None:
    # S2-168
    with pytest.raises(MemoryScopeError):
        Episode(**{**EPISODE, part: name})


# Rules.


def test_a_rule_has_the_stated_fields() -> None:  # S2-151 S2-152 S2-153 S2-154
    assert get_type_hints(ConsolidationRule) == {
        "id": str,
        "cadence": dict[str, Any],
        "when_filter": str,
        "then_emits": list[str],
    }
    for cadence in ({"every": 1}, {"every": 500}, {"cron": "0 3 * * *"}):
        rule = ConsolidationRule(id="r", cadence=cadence, when_filter="", then_emits=["seats"])
        assert (rule.cadence, rule.then_emits) == (cadence, ["seats"])


@pytest.mark.parametrize(
    "changed",
    [
        {"id": ""},
        {"id": None},
        {"cadence": {}},
        {"cadence": {"every": 0}},
        {"cadence": {"every": True}},
        {"cadence": {"every": "5"}},
        {"cadence": {"cron": "daily"}},
        {"cadence": {"cron": 5}},
        {"cadence": {"cron": "99 3 * * *"}},
        {"cadence": {"cron": "0 3 * * *", "every": 1}},
        {"cadence": {"every": 5, "cron": "0 3 * * *"}},
        {"cadence": {"hourly": 1}},
        {"cadence": "every 5"},
        {"when_filter": None},
        {"then_emits": "seats"},
        {"then_emits": [5]},
        {"then_emits": [""]},
    ],
)
def test_a_malformed_rule_cannot_be_made(changed: dict[str, Any]) -> None:
    # S2-152 S2-154 S2-169
    fields: dict[str, Any] = {
        "id": "r", "cadence": {"every": 5}, "when_filter": "", "then_emits": [],
    }  # fmt: skip
    ConsolidationRule(**fields)
    with pytest.raises(ConsolidationRuleError):
        ConsolidationRule(**{**fields, **changed})


# Deltas.


@each_variant
def test_a_variant_needs_all_of_its_fields(variant: Any, kind: str, fields: dict[str, Any]) -> None:
    # S2-156 S2-157 S2-158 S2-159 S2-160
    assert variant(**fields).kind == kind
    assert variant(kind=kind, **fields) == variant(**fields)
    assert {one.name for one in dataclasses.fields(variant)} == {"kind", *fields}
    for name in fields:
        with pytest.raises(TypeError, match=name):
            variant(**{key: value for key, value in fields.items() if key != name})


MALFORMED: list[dict[str, Any]] = [
    {"source_episode_ids": []},
    {"source_episode_ids": "e1"},
    {"source_episode_ids": ("e1",)},
    {"source_episode_ids": [""]},
    {"source_episode_ids": [None]},
    {"source_episode_ids": ["x" * 121]},
    {"source_episode_ids": ["e1"] * 257},
    {"promotion_ts": None},
    {"promotion_ts": NAIVE},
    {"promotion_ts": "2026-03-01T12:00:00Z"},
    {"rule_id": ""},
    {"rule_id": None},
    {"rule_id": "a b"},
    {"confidence": None},
    {"confidence": float("nan")},
    {"confidence": float("inf")},
    {"confidence": 1.1},
    {"confidence": -0.1},
    {"confidence": "high"},
    {"confidence": True},
    {"kind": "merge"},
    {"kind": None},
]


@each_variant
def test_a_malformed_delta_cannot_be_made(variant: Any, kind: str, fields: dict[str, Any]) -> None:
    # S2-160 S2-169 S2-170
    bad = [*MALFORMED]
    if "replaces" in fields:
        bad += [{"replaces": []}, {"replaces": None}, {"replaces": [5]}]
    if "fact_payload" in fields:
        bad += [
            {"fact_payload": {}},
            {"fact_payload": None},
            {"fact_payload": {"content": ""}},
            {"fact_payload": {"content": 5}},
            {"fact_payload": {"subject": "a", "predicate": "b"}},
            {"fact_payload": {"content": "x", "deep": nested(DATA_MAX_DEPTH)}},
            {"fact_payload": {"content": "x", "at": NOW}},
        ]
    for changed in bad:
        with pytest.raises(ConsolidationRuleError):
            variant(**{**fields, **changed})


def test_a_delta_that_was_changed_is_checked_again() -> None:  # S2-160 S2-170
    delta = AddDelta(**PAYLOAD, **{**PROVENANCE, "source_episode_ids": ["e1"]})
    with pytest.raises(dataclasses.FrozenInstanceError):
        delta.rule_id = ""  # type: ignore[misc]
    with pytest.raises(ConsolidationRuleError):
        dataclasses.replace(delta, rule_id="")
    delta.source_episode_ids.clear()  # a list can be emptied, so applying looks again
    with pytest.raises(ConsolidationRuleError, match="at least one id"):
        check(delta)


ADAPTER: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(MemoryDelta)


def test_the_union_is_told_apart_by_its_kind() -> None:  # S2-155
    union, *_ = get_args(MemoryDelta)
    assert set(get_args(union)) == {AddDelta, UpdateDelta, DeleteDelta, NoopDelta}
    # The seed's own definition is the same.
    theirs: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(
        Annotated[
            AddDelta | UpdateDelta | DeleteDelta | NoopDelta, pydantic.Field(discriminator="kind")
        ]
    )
    assert theirs.json_schema() == ADAPTER.json_schema()
    adapter = ADAPTER
    for variant, kind, fields in NEEDS:
        made = variant(**fields)
        assert adapter.validate_python({"kind": kind, **fields}) == made
        assert adapter.validate_json(adapter.dump_json(made)) == made
        assert adapter.validate_python(made) == made
        with pytest.raises(pydantic.ValidationError):
            adapter.validate_python({"kind": kind, **fields, "rule_id": ""})
    for unknown in ("merge", None):
        with pytest.raises(pydantic.ValidationError, match="1 validation error") as caught:
            adapter.validate_python({"kind": unknown, **PROVENANCE})
        (told,) = caught.value.errors()
        assert "'kind'" in told["msg"]


def test_a_value_is_dumped_and_validated_as_a_model_is() -> None:  # S2-155
    values: list[Model] = [
        *(variant(**fields) for variant, _, fields in NEEDS),
        Episode(
            id="e", content="c", timestamp=NOW, source_node="n", agent="a", user="u", session="s"
        ),
        ConsolidationRule(id="r", cadence={"every": 3}, when_filter="", then_emits=["x"]),
        Fact(id="f", user="u", agent="", payload={}, lineage=[{}], confidence=0.5, pinned_at=NOW),
        FactPattern(subject="s"),
        StoreHealth(ok=True, fragment_count=1, warnings=["w"]),
        MigrationPlan(target_version=2, operations=[{"op": "add_column"}]),
    ]
    for value in values:
        dumped = value.model_dump()
        assert dumped == dataclasses.asdict(value)  # type: ignore[call-overload]
        assert type(value).model_validate(dumped) == value
        assert type(value).model_validate(value.model_dump(mode="json")) == value
        assert type(value).model_validate_json(value.model_dump_json()) == value
        with pytest.raises((pydantic.ValidationError, RecollectError)):
            type(value).model_validate({**dumped, next(iter(dumped)): [object()]})


# Errors and the whole.


@pytest.mark.parametrize("error", [MigrationNotSupported, MemoryScopeError, ConsolidationRuleError])
def test_the_errors_are_of_the_tree(error: type[RecollectError]) -> None:  # S2-168 S2-169
    assert issubclass(error, RecollectError)
    assert error("what happened", hint="what to do").to_dict()["hint"] == "what to do"


def test_health_needs_its_count() -> None:  # S2-127
    with pytest.raises(TypeError, match="fragment_count"):
        StoreHealth(ok=True)  # type: ignore[call-arg]


def test_every_public_name_is_there() -> None:
    assert sorted(episodic.__all__) == episodic.__all__
    assert all(hasattr(episodic, name) for name in episodic.__all__)
    assert inspect.getdoc(episodic)
