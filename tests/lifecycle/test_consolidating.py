"""From episodes to intents, by their metadata."""

from __future__ import annotations

import re

import pytest

from recollect.lifecycle.proposals.intents import (
    Heard,
    Intended,
    Seen,
    Unfit,
    intended,
    key_of,
)
from recollect.model.validate import Json


def _one(metadata: dict[str, Json], text: str = "words") -> Intended | Unfit:
    (found,) = intended([Heard("e1", text, metadata)], {})
    return found


@pytest.mark.parametrize(
    ("metadata", "intent", "replaces"),
    [
        ({}, "add", ()),
        ({"intent": None}, "add", ()),
        ({"intent": "add"}, "add", ()),
        ({"intent": "noop"}, "noop", ()),
        ({"intent": "delete", "replaces": ["r1", "r2", "r1"]}, "delete", ("r1", "r2")),
        ({"intent": "delete", "replaces": "r1"}, "delete", ("r1",)),
        ({"intent": "delete", "key": "alice.seat"}, "delete", ()),
        ({"intent": "update", "replaces": ["r1"]}, "update", ("r1",)),
        ({"intent": "update", "key": "alice.seat"}, "update", ()),
        ({"intent": "update"}, "add", ()),
    ],
)
def test_metadata_says_what_an_episode_asks_for(
    metadata: dict[str, Json], intent: str, replaces: tuple[str, ...]
) -> None:
    found = _one(metadata)
    assert isinstance(found, Intended)
    assert (found.intent, found.replaces, found.text) == (intent, replaces, "words")


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({"intent": "erase"}, "intent is 'erase', not one of add, update, delete, noop"),
        ({"intent": ["add"]}, r"intent is \['add'\]"),
        ({"intent": "delete"}, "neither replaces nor key says of what"),
        ({"replaces": 5}, "replaces is 5, not an id or a list of ids"),
        ({"replaces": ["r1", 5]}, "not an id or a list of ids"),
        ({"replaces": ["r1", ""]}, "not an id or a list of ids"),
        ({"key": ""}, "key is '', not a word"),
        ({"subject": 7, "predicate": "is"}, "subject is 7, not a word"),
        ({"subject": "a", "predicate": "b", "object": {}}, "object is {}, not a value"),
        ({"subject": "a", "predicate": "b", "object": " "}, "object is ' ', not a value"),
    ],
)
def test_metadata_that_cannot_be_read_is_reported(metadata: dict[str, Json], reason: str) -> None:
    found = _one(metadata)
    assert isinstance(found, Unfit)
    assert found.episode == "e1"
    assert re.search(reason, found.reason)


@pytest.mark.parametrize(
    ("value", "text"),
    [("Oslo", "alice lives in Oslo"), (5, "alice lives in 5"), (True, "alice lives in true")],
)
def test_a_triple_becomes_a_statement_about_its_subject(value: Json, text: str) -> None:
    found = _one({"subject": "alice", "predicate": "lives_in", "object": value})
    assert isinstance(found, Intended)
    assert (found.text, found.key, found.about) == (text, "alice.lives_in", "alice")
    assert found.triple == ("alice", "lives_in", value)


def test_a_triple_without_an_object_says_what_was_said() -> None:
    found = _one({"subject": "alice", "predicate": "seat"}, "I sit at the window.")
    assert isinstance(found, Intended)
    assert (found.text, found.key) == ("I sit at the window.", "alice.seat")


def test_a_key_of_its_own_comes_before_that_of_the_triple() -> None:
    found = _one({"subject": "alice", "predicate": "seat", "key": "seats.alice"})
    assert isinstance(found, Intended)
    assert (found.key, found.about) == ("seats.alice", "alice")


def test_a_subject_alone_is_what_a_statement_is_about() -> None:
    found = _one({"subject": "alice"})
    assert isinstance(found, Intended)
    assert (found.key, found.about, found.triple) == (None, "alice", None)


def test_no_two_triples_share_a_key() -> None:
    assert key_of("alice", "seat") == "alice.seat"
    pairs = [("a.b", "c"), ("a", "b.c"), ("a\\", ".b.c"), ("a\\.b", "c"), ("a\\b", "c")]
    assert len({key_of(*pair) for pair in pairs}) == len(pairs)


def test_a_repeated_key_is_an_update_of_the_earlier_episode() -> None:
    triple: dict[str, Json] = {"subject": "alice", "predicate": "seat"}
    heard = [
        Heard("e1", "one", triple, "alice"),
        Heard("e2", "two", triple, "bob"),
        Heard("e3", "three", triple, "alice"),
        Heard("e4", "four", {"intent": "noop", **triple}, "alice"),
        Heard("e5", "five", {"intent": "update", "replaces": "r9", **triple}, "alice"),
        Heard("e6", "six", {"key": "alice.seat"}, "alice"),
    ]
    seen: Seen = {}
    found = list(intended(heard, seen))
    assert [(one.intent, one.replaces) for one in found if isinstance(one, Intended)] == [
        ("add", ()),
        ("add", ()),  # another user's
        ("update", ("e1",)),
        ("noop", ()),
        ("update", ("r9",)),  # named by the episode itself
        ("update", ("e5",)),
    ]
    assert seen == {("alice", "alice.seat"): "e6", ("bob", "alice.seat"): "e2"}
