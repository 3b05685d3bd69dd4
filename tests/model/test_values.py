"""Answers are frozen and speak JSON."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

import msgspec
import pytest

from recollect.model import values
from recollect.model.counts import size
from recollect.model.events import Event, SpaceOpened
from recollect.model.values import (
    Context,
    Episode,
    Hit,
    MadeToken,
    Recall,
    Receipt,
    Record,
    Replay,
    Scope,
    Source,
    Verification,
)

RECORD = Record(
    id="r",
    text="hello",
    kind="fact",
    key=None,
    about=None,
    tags=(),
    scope=Scope(user="u"),
    confidence=0.5,
    how_known="told",
    evidence=(),
    is_hypothesis=False,
    status="active",
    reason=None,
    valid_from=None,
    valid_to=None,
    expires=None,
    trust="agent",
    replaces=None,
    replaced_by=None,
    reinforcement_count=0,
    last_reinforced_at="2026-01-01T00:00:00.000000Z",
    reinforced_hours=0.0,
    decay_tier="standard",
    data={"a": 1},
    content_id="x",
    created_at="t",
    at="t",
    seq=1,
)
HIT = Hit(id="r", unit="record", text="hello", relevance=1.0, trust="agent", at="t", record=RECORD)
RECEIPT = Receipt(
    id="c-1",
    seq=9,
    at="t",
    scope=Scope(),
    query="0" * 64,
    preset="task",
    preset_digest="1" * 64,
    ranking=1,
    embedder=None,
    now="t",
    position=8,
    budget=2,
    tokens=1,
    counter="estimate",
    items=(),
)
EPISODE = Episode(
    id="e",
    text="said",
    role="user",
    scope=Scope(),
    said_at="t",
    at="t",
    metadata={},
    trust="person",
    status="visible",
    seq=1,
)


def test_values_are_frozen() -> None:
    with pytest.raises(AttributeError):
        RECORD.text = "other"  # type: ignore[misc]


def test_values_speak_json() -> None:
    assert msgspec.json.decode(msgspec.json.encode(RECORD.to_dict())) == RECORD.to_dict()
    assert RECORD.to_dict()["scope"] == {"user": "u"}


def test_the_text_of_a_value_is_what_it_says() -> None:
    context = Context(query="q", text="packed", hits=(HIT,), omitted=(), tokens=1, budget=2, seq=3)
    assert [str(value) for value in (RECORD, HIT, EPISODE, context)] == [
        "hello",
        "hello",
        "said",
        "packed",
    ]
    assert context.ids == ("r",)
    source = Source(id="e", quote="said", role="user", said_at="t", status="visible")
    quoting = msgspec.structs.replace(HIT, sources=(source,))
    assert msgspec.structs.replace(context, hits=(HIT, quoting)).sources == (source,)
    replay = Replay(receipt=RECEIPT, text="packed")
    assert (str(replay), replay.to_dict()["same_order"]) == ("packed", None)


def test_a_recall_is_a_sequence_of_hits() -> None:
    recall = Recall(query="q", hits=(HIT, HIT))
    assert isinstance(recall, Sequence)
    assert len(recall) == 2
    assert recall[0] is HIT
    assert recall[:1] == (HIT,)
    assert list(recall) == list(reversed(recall)) == [HIT, HIT]
    assert HIT in recall
    assert (recall.index(HIT), recall.count(HIT)) == (0, 2)


def test_a_verification_is_ok_unless_broken() -> None:
    assert Verification(status="self-consistent", events=0, erased=0, head="").ok
    assert not Verification(status="broken", events=0, erased=0, head="").ok


def test_an_event_knows_its_command() -> None:
    body = SpaceOpened(space="main")
    event = Event(
        seq=1, first=1, last=1, id="a.b.1", kind="space.opened", at="t", origin="system", body=body
    )
    assert event.command_id == "a.b"


def test_every_value_can_be_imported_from_the_package() -> None:
    homes = [module for module in vars(values).values() if isinstance(module, ModuleType)]
    defined = {
        name
        for home in homes
        for name, each in vars(home).items()
        if isinstance(each, type) and each.__module__ == home.__name__
    }
    assert len(defined) > 25
    assert defined <= set(values.__all__)
    assert all(getattr(values, name) is not None for name in values.__all__)


def test_a_value_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Wish'"):
        values.Wish  # type: ignore[attr-defined]  # noqa: B018


def test_a_new_token_is_not_shown_by_its_repr() -> None:
    token = MadeToken(
        id=7,
        label="laptop",
        space=None,
        verbs=("read",),
        trust="agent",
        user=None,
        agent=None,
        made="2026-01-01T00:00:00.000000Z",
        expires=None,
        revoked=None,
        live=True,
        token="secret",
    )
    assert repr(token) == "MadeToken(id=7, label='laptop')"


@pytest.mark.parametrize(
    ("count", "told"),
    [(12_300, "12 KiB"), (512 << 20, "512 MiB"), (9 << 30, "9,216 MiB"), (71 << 30, "71 GiB")],
)
def test_a_size_is_told_in_units_that_fit(count: int, told: str) -> None:
    assert size(count) == told
