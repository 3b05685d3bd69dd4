"""A preset as a person writes it in a form.

Responsible for its fields as text, and for the preset that they mean. Leaves what a preset may be
to the model. Invariant: the fields of a preset that was set give the same preset back.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import msgspec

from recollect.errors import InvalidInput
from recollect.interfaces.web.digits import number
from recollect.memory.contexts.presets import checked_preset
from recollect.model.presets import SIGNALS, Cache, Preset, Signal

CACHES: Final = (
    ("none", "for each question"), ("write", "after the next write"), ("seconds", "after"),
)  # fmt: skip
UNITS: Final = (
    ("any", "records and episodes"), ("record", "records only"), ("episode", "episodes only"),
)  # fmt: skip
_DECIMAL: Final = re.compile(r"[0-9]{1,6}(\.[0-9]{1,17})?")


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a form about a preset."""

    name: str
    weights: tuple[tuple[Signal, str], ...]  # in parts of any sum
    tokens: str
    floor: str
    unit: str
    guarantees: str
    where: str
    cache: str
    seconds: str
    intro: str
    record: str
    episode: str


def of(preset: Preset) -> Draft:
    """The fields of a preset."""
    is_timed = isinstance(preset.cache, int)
    each = zip(SIGNALS, preset.weights.each, strict=True)
    return Draft(
        name=preset.name,
        weights=tuple((signal, _short(100 * weight)) for signal, weight in each),
        tokens=str(preset.tokens),
        floor=_short(preset.floor),
        unit=preset.unit,
        guarantees=", ".join(preset.guarantees),
        where=preset.where or "",
        cache="seconds" if is_timed else str(preset.cache),
        seconds=str(preset.cache) if is_timed else "60",
        intro=preset.template.intro,
        record=preset.template.record,
        episode=preset.template.episode,
    )


def read(text: Callable[[str], str]) -> Draft:
    """The fields that were sent, by their names."""
    names = [each for each in Draft.__struct_fields__ if each != "weights"]
    weights = tuple((signal, text(signal)) for signal in SIGNALS)
    return Draft(weights=weights, **{name: text(name) for name in names})


def preset_of(draft: Draft) -> Preset:
    """The preset that the fields mean; InvalidInput says which one is wrong."""
    parts = {signal: _decimal(given, signal) for signal, given in draft.weights}
    total = sum(parts.values())
    if not total:
        raise InvalidInput("at least one signal must count", hint="give one of them a weight")
    cache: Cache | str = draft.cache
    if cache == "seconds":
        cache = _whole(draft.seconds, "seconds")
    return checked_preset(
        {
            "name": draft.name.strip(),
            "weights": {signal: part / total for signal, part in parts.items()},
            "where": draft.where.strip() or None,
            "unit": draft.unit,
            "guarantees": [tag.strip() for tag in draft.guarantees.split(",") if tag.strip()],
            "tokens": _whole(draft.tokens, "tokens"),
            "template": {name: getattr(draft, name) for name in ("intro", "record", "episode")},
            "cache": cache,
            "floor": _decimal(draft.floor, "floor"),
        }
    )


def _short(value: float) -> str:
    """A number with as few digits as say it."""
    return f"{round(value, 12):.12f}".rstrip("0").rstrip(".")


def _decimal(given: str, name: str) -> float:
    if not _DECIMAL.fullmatch(given.strip()):
        raise InvalidInput(f"{name} must be a number, such as 0.25")
    return float(given)


def _whole(given: str, name: str) -> int:
    found = number(given.strip())
    if found is None:
        raise InvalidInput(f"{name} must be a whole number")
    return found
