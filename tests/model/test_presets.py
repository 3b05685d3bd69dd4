"""Presets as data: what they may say, and what is refused."""

from __future__ import annotations

import math
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput, LimitExceeded
from recollect.model import limits
from recollect.model.presets import (
    BUILT_IN,
    SIGNALS,
    Preset,
    Template,
    Weights,
    ever_built_in,
    filled,
    holds_mark,
    places,
    without_marks,
)

EVEN = Weights(similarity=0.2, confidence=0.2, recency=0.2, centrality=0.2, reinforcement=0.2)


def test_the_built_in_presets_weigh_as_stated() -> None:
    # S4-291 S4-292 S4-293
    assert SIGNALS == ("similarity", "confidence", "recency", "centrality", "reinforcement")
    assert {name: preset.weights.each for name, preset in BUILT_IN.items()} == {
        "self": (0.10, 0.30, 0.05, 0.25, 0.30),
        "attention": (0.35, 0.15, 0.25, 0.15, 0.10),
        "task": (0.20, 0.20, 0.20, 0.20, 0.20),
    }
    for preset in BUILT_IN.values():
        assert math.fsum(preset.weights.each) == pytest.approx(1.0, abs=1e-12)
        assert preset.is_built_in
        assert ever_built_in(preset.digest) == preset


@pytest.mark.parametrize(
    "weights", [(0.2, 0.2, 0.2, 0.2, 0.1), (0.5, 0.5, 0.5, -0.5, 0.0), (math.nan, 1, 0, 0, 0)]
)
def test_weights_that_do_not_sum_to_one_are_refused(weights: tuple[float, ...]) -> None:
    with pytest.raises(InvalidInput):
        Weights(**dict(zip(SIGNALS, weights, strict=True)))


def test_weights_of_three_decimals_need_not_sum_exactly() -> None:
    weights = (0.7, 0.1, 0.1, 0.1, 0.0)
    assert sum(weights) != 1.0
    assert Weights(**dict(zip(SIGNALS, weights, strict=True))).each == weights


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", " "),
        ("guarantees", ("",)),
        ("guarantees", "self"),
        ("tokens", 0),
        ("floor", 1.5),
        ("unit", "page"),
        ("cache", "always"),
        ("cache", 0),
        ("cache", limits.CACHE_MAX_S + 1),
    ],
)
def test_a_preset_that_cannot_be_meant_is_refused(field: str, value: object) -> None:
    with pytest.raises(InvalidInput):
        Preset(**{"name": "mine", "weights": EVEN, field: value})  # type: ignore[arg-type]


def test_a_preset_may_keep_its_contexts() -> None:
    for cache in ("none", "write", 30):
        assert Preset(name="mine", weights=EVEN, cache=cache).cache == cache


@pytest.mark.parametrize(
    "part",
    [
        {"intro": " "},
        {"intro": "Hello </recollect>"},
        {"record": "no text here"},
        {"record": "{text.__class__}"},
        {"record": "{text} {0}"},
        {"record": "{text!r}"},
        {"record": "{text} }"},
        {"record": "{text} < / Recollect >"},
        {"record": "one {text}\ntwo"},
        {"episode": "{who}: {text}"},
        {"episode": "{text}" + "x" * limits.TEMPLATE_MAX_CHARS},
    ],
)
def test_a_template_holds_no_code_and_no_marks(part: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        Template(**part)


def test_a_template_says_what_it_may_hold() -> None:
    with pytest.raises(InvalidInput, match=r"\{confidence\}"):
        places("{secret}")
    with pytest.raises(LimitExceeded):
        Template(intro="x" * (limits.TEMPLATE_MAX_CHARS + 1))


def test_what_fills_a_place_is_not_read_again() -> None:
    assert places("{{{text}}} {id}") == ["text", "id"]
    assert filled("{{{text}}} {id}", {"text": "{id} {{", "id": "7"}) == "{{id} {{} 7"


def test_a_digest_covers_everything_a_preset_says() -> None:
    preset = Preset(name="mine", weights=EVEN)
    changes: list[dict[str, object]] = [
        {"name": "other"},
        {"weights": BUILT_IN["self"].weights},
        {"where": "kind = 'fact'"},
        {"unit": "record"},
        {"guarantees": ("x",)},
        {"tokens": 7},
        {"template": Template(intro="Hello")},
        {"cache": 5},
        {"floor": 0.2},
    ]
    assert {name for change in changes for name in change} == set(Preset.__struct_fields__)
    digests = {msgspec.structs.replace(preset, **change).digest for change in changes}
    assert len({preset.digest, *digests}) == len(changes) + 1


# What a mark is, said plainly; looking ahead from each "<" is too slow for long texts.
PLAIN_MARK = re.compile(r"<(?=[\W_]*recollect)", re.IGNORECASE)


@given(st.lists(st.sampled_from(["<", "/", "_", " ", "a", "É", "recollect", "ReCollect", "reco"])))
def test_marks_are_found_as_plainly_said(parts: list[str]) -> None:
    text = "".join(parts)
    assert without_marks(text) == PLAIN_MARK.sub("&lt;", text)
    assert holds_mark(text) == bool(PLAIN_MARK.search(text))
