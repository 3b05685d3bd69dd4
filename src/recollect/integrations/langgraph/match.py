"""What LangGraph's filters and namespace patterns match.

Responsible for comparing JSON values and namespaces. Leaves finding candidates to the store.
Invariant: values of different JSON types are never equal and have no order; a namespace is
compared label by label, never as one text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from langgraph.store.base import MatchCondition

Namespace = tuple[str, ...]

_ORDER: Final[dict[str, Callable[[int], bool]]] = {
    "$gt": lambda sign: sign > 0,
    "$gte": lambda sign: sign >= 0,
    "$lt": lambda sign: sign < 0,
    "$lte": lambda sign: sign <= 0,
}


def passes(value: Mapping[str, object], filter: Mapping[str, object] | None) -> bool:
    """True if a value matches every field of the filter."""
    return all(_fits(_at(value, name), wanted) for name, wanted in (filter or {}).items())


def _at(value: Mapping[str, object], name: str) -> object:
    """A field by its name, or else by the dotted path in the name."""
    if name in value:
        return value[name]
    first, dot, rest = name.partition(".")
    inner = value.get(first)
    return _at(inner, rest) if dot and isinstance(inner, Mapping) else None


def _fits(found: object, wanted: object) -> bool:
    """True if the value equals the condition, or satisfies its operators or fields."""
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            return all(_compares(found, sign, other) for sign, other in wanted.items())
        return isinstance(found, Mapping) and passes(found, wanted)
    if isinstance(wanted, list | tuple):
        if not isinstance(found, list | tuple) or len(found) != len(wanted):
            return False
        return all(map(_fits, found, wanted))
    return same(found, wanted)


def _compares(found: object, sign: str, other: object) -> bool:
    if sign == "$eq":
        return same(found, other)
    if sign == "$ne":
        return not same(found, other)
    if sign not in _ORDER:
        raise ValueError(f"Unsupported operator: {sign}")
    order = _order(found, other)
    return order is not None and _ORDER[sign](order)


def same(one: object, other: object) -> bool:
    """True if equal as JSON: numbers by value; booleans are not numbers."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _order(one: object, other: object) -> int | None:
    """Below, equal or above; None if the two have no order."""
    if isinstance(one, bool) or isinstance(other, bool):
        return None
    if isinstance(one, int | float) and isinstance(other, int | float):
        return (one > other) - (one < other)
    if isinstance(one, str) and isinstance(other, str):
        return (one > other) - (one < other)
    return None


def begins(namespace: Namespace, prefix: Namespace) -> bool:
    """True if a namespace starts with a prefix."""
    return namespace[: len(prefix)] == tuple(prefix)


def meets(namespace: Namespace, conditions: Iterable[MatchCondition]) -> bool:
    """True if a namespace matches all conditions; ``*`` matches any one label."""
    return all(_meets(namespace, condition) for condition in conditions)


def _meets(namespace: Namespace, condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if condition.match_type not in ("prefix", "suffix"):
        raise ValueError(f"Unsupported match type: {condition.match_type}")
    if len(path) > len(namespace):
        return False
    start = 0 if condition.match_type == "prefix" else len(namespace) - len(path)
    part = namespace[start : start + len(path)]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))
