"""Frames of S4, which are rows with JSON in them, as frames that contexts use.

Responsible for both directions of the translation. Leaves storing to its callers. Invariants: a row
whose weights, patterns or guarantees a context could not follow is refused; of the rest, only
``search_window`` is kept and not followed.
"""

from __future__ import annotations

from typing import Final, Literal, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from recollect.errors import InvalidInput
from recollect.index.filter import And, Column, Contains, Node, OneOf, Or, StartsWith
from recollect.index.filter.parse import parse
from recollect.model import validate
from recollect.model.presets import BUILT_IN, SIGNALS, Preset, Template, Weights
from recollect.model.validate import Json

# Built-in frames exist before the memory does.
ALWAYS: Final = "1970-01-01T00:00:00.000000Z"

T = TypeVar("T")


class FrameData(msgspec.Struct, frozen=True, kw_only=True):
    """A row of ``frames`` but for its name; the columns that end in ``_json`` hold JSON as text."""

    weights_json: str
    filters_json: str
    guarantees_json: str
    template: str
    token_budget: int
    cache_json: str | None = None
    source: str
    created_at: str
    in_use: bool = False  # a frame was set with it; earlier releases kept the row alone

    def as_data(self) -> dict[str, Json]:
        """What the document of the row holds."""
        return validate.data(msgspec.to_builtins(self))


class Filters(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """The content of ``filters_json``. ``where`` is a filter in the engine's own language."""

    tag_patterns: tuple[str, ...] | None = None
    categories: tuple[str, ...] | None = None
    search_window: float | None = None  # not followed: a frame's weight for recency is
    where: str | UnsetType = UNSET


class CachePolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of ``cache_json``: a number of seconds, or until the next write."""

    ttl_seconds: int | None = None


def frame_of(name: str, row: FrameData) -> Preset:
    """The frame that a row means; raises ``InvalidInput`` if it means none."""
    guarantees = _decoded(row.guarantees_json, tuple[str, ...], "guarantees_json")
    cache = None
    if row.cache_json is not None:
        cache = _decoded(row.cache_json, CachePolicy, "cache_json")
    where = _where(_decoded(row.filters_json, Filters, "filters_json"))
    frame = Preset(
        name=validate.name(name, "frame"),
        weights=_weights(row.weights_json),
        where=None if where is None else str(parse(where, "record")),
        unit="any" if name in BUILT_IN else "record",  # a block is a record
        guarantees=tuple(map(_guarantee, guarantees)),
        tokens=row.token_budget,
        template=Template(intro=row.template),
        cache="none" if cache is None else cache.ttl_seconds or "write",
    )
    if row.source != source_of(frame):
        raise InvalidInput(f"the source of the frame {name!r} cannot be {row.source!r}")
    return frame


def _weights(text: str) -> Weights:
    """The weights of a row; one that it does not name is 0."""
    given = _decoded(text, dict[str, float], "weights_json")
    if unknown := given.keys() - set(SIGNALS):
        raise InvalidInput(f"weights_json: {min(unknown)!r} is not a signal")
    return Weights(**{signal: given.get(signal, 0.0) for signal in SIGNALS})


def row_of(frame: Preset, created_at: str) -> FrameData:
    """The row that says what a frame does."""
    guarantees = [f"{tag[:-1]}%" if tag.endswith("*") else tag for tag in frame.guarantees]
    ttl = frame.cache if isinstance(frame.cache, int) else None
    return FrameData(
        weights_json=_encoded(frame.weights),
        filters_json=_encoded(_filters(frame.where)),
        guarantees_json=_encoded(guarantees),
        template=frame.template.intro,
        token_budget=frame.tokens,
        cache_json=None if frame.cache == "none" else _encoded(CachePolicy(ttl_seconds=ttl)),
        source=source_of(frame),
        created_at=created_at,
    )


def row_in(data: object) -> FrameData | None:
    """The row that a document holds; None if another program wrote it in another shape."""
    try:
        return msgspec.convert(data, FrameData)
    except msgspec.ValidationError:
        return None


def source_of(frame: Preset) -> Literal["builtin", "user"]:
    """What the column ``source`` says of a frame."""
    return "builtin" if frame.is_built_in else "user"


# Between a row and a frame's filter.


def _where(filters: Filters) -> str | None:
    """The filter for a row's settings."""
    terms = [] if filters.where is UNSET else [f"({filters.where})"]
    if filters.categories:
        terms.append(f"kind in ({', '.join(map(_quoted, filters.categories))})")
    if filters.tag_patterns:
        terms.append(f"({' or '.join(map(_tag_term, filters.tag_patterns))})")
    return " and ".join(terms) or None


def _tag_term(pattern: str) -> str:
    begin, is_prefix = _begin(pattern)
    return f"tags {'starts with' if is_prefix else 'contains'} {_quoted(begin)}"


def _guarantee(pattern: str) -> str:
    begin, is_prefix = _begin(pattern)
    return f"{begin}*" if is_prefix else begin


def _begin(pattern: str) -> tuple[str, bool]:
    """The fixed start of a pattern, and whether anything may follow it."""
    begin = pattern.removesuffix("%")
    if not begin or "%" in begin:
        raise InvalidInput(f"the pattern {pattern!r} may contain only one %, at its end")
    return begin, begin != pattern


def _filters(where: str | None) -> Filters:
    """A frame's filter as a row's settings, or verbatim if those cannot express it."""
    if where is None:
        return Filters()
    root = parse(where).root
    categories: tuple[str, ...] | None = None
    patterns: tuple[str, ...] | None = None
    for term in root.terms if isinstance(root, And) else (root,):
        if categories is None and isinstance(term, OneOf) and term.field == Column("kind"):
            categories = tuple(map(str, term.values))
        elif patterns is None and (found := _patterns(term)):
            patterns = found
        else:
            return Filters(where=where)
    return Filters(categories=categories, tag_patterns=patterns)


def _patterns(node: Node) -> tuple[str, ...]:
    """The patterns of a term about tags only, or an empty list."""
    found: list[str] = []
    for term in node.terms if isinstance(node, Or) else (node,):
        if not isinstance(term, Contains | StartsWith) or term.field != Column("tags"):
            return ()
        found.append(f"{term.value}{'%' if isinstance(term, StartsWith) else ''}")
    return tuple(found)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _decoded(text: str, kind: type[T], what: str) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as error:
        raise InvalidInput(f"{what}: {error}") from error


def _encoded(value: object) -> str:
    return msgspec.json.encode(value).decode()
