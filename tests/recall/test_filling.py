"""Filling the rest of a context: what comes after the hits that pass the floor."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from recollect.model.values import Hit, Scope
from recollect.recall.asking import understand
from recollect.recall.filling import filling, spread
from tests.recall.making import episode, record


def said(id: str, score: float, session: str | None = None, **shares: float) -> Hit:
    hit = episode(id, relevance=score / 10)
    assert hit.episode is not None
    told = replace(hit.episode, scope=Scope(session=session))
    return replace(hit, episode=told, score=score, shares=shares)


def ids(hits: list[Hit]) -> str:
    return " ".join(hit.id for hit in hits)


def test_below_the_floor_is_used_in_order_if_something_passed() -> None:
    found = [said("a", 5), said("b", 2), said("c", 1)]
    passed = [found[0]]
    assert ids(filling(found, passed, 0.4, is_wide=False)) == "b c"
    assert filling(found, [], 0.9, is_wide=False) == []


@pytest.mark.parametrize("name", ["question", "echo"])
def test_what_only_asks_or_repeats_fills_nothing(name: str) -> None:
    found = [said("a", 5), said("b", 2, None, **{name: -0.5}), said("c", 1, None, correction=1.0)]
    assert ids(filling(found, found[:1], 0.4, is_wide=False)) == "c"


def test_a_wide_question_looks_into_other_places_before_it_repeats_one() -> None:
    found = [said("a1", 5, "a"), said("a2", 3.0, "a"), said("a3", 2.95, "a"), said("b1", 2.9, "b")]
    assert ids(filling(found, found[:1], 0.4, is_wide=False)) == "a2 a3 b1"
    assert ids(filling(found, found[:1], 0.4, is_wide=True)) == "b1 a2 a3"


def test_a_much_better_hit_of_the_same_place_still_comes_first() -> None:
    assert (
        ids(spread([said("a1", 3.0, "a"), said("b1", 2.0, "b")], [said("a0", 5, "a")])) == "a1 b1"
    )


def test_what_has_no_session_is_a_place_of_its_own() -> None:
    hits = [said("x", 3.0), said("y", 2.99), record("r", relevance=0.1), said("a", 2.9, "s")]
    assert ids(spread(hits, [])) == "x y a r"


def test_nothing_is_added_or_lost() -> None:
    hits = [said(f"{n}", 5 - n / 50, f"s{n % 7}") for n in range(100)]
    made = spread(hits, hits[:3])
    assert sorted(hit.id for hit in made) == sorted(hit.id for hit in hits)
    for name in range(7):
        mine = [int(hit.id) for hit in made if int(hit.id) % 7 == name]
        assert mine == sorted(mine)


@pytest.mark.parametrize(
    ("query", "is_wide"),
    [
        ("How many bikes do I own?", True),
        ("List every city we visited.", True),
        ("What is the difference between the two plans?", True),
        ("How did my diet change over time?", True),
        ("Wie viele Fahrräder habe ich?", True),
        ("¿Cuántas bicicletas tengo?", True),
        ("Quels sont tous mes vélos ?", True),
        ("Where does Alice live?", False),
        ("Wie heißt die Schwester von Anna?", False),
        ("What is the port of staging?", False),
    ],
)
def test_wide_questions_are_recognised(query: str, is_wide: bool) -> None:
    assert understand(query, lambda _: False).is_wide == is_wide
