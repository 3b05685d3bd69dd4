"""Frames as rows with JSON in them.

Responsible for both directions of the translation. Leaves what a frame means to ``model.frames``.
Invariant: a row is a frame that contexts use, never a copy of one; what a frame cannot express is
refused rather than dropped.
"""

from __future__ import annotations

from typing import Final, Literal, TypedDict, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from recollect.contracts.blocks.connection import Connection
from recollect.errors import InvalidInput, NotFound
from recollect.index.filter import And, Column, Contains, Node, OneOf, Or, StartsWith
from recollect.index.filter.parse import parse
from recollect.memory import Memory
from recollect.model.frames import BUILT_IN, Frame, Template, Weights

# Built-in frames exist before the memory does.
_ALWAYS: Final = "1970-01-01T00:00:00.000000Z"

T = TypeVar("T")


class FrameRow(TypedDict):
    """One row; the columns that end in ``_json`` hold JSON as text."""

    name: str
    weights_json: str
    filters_json: str
    guarantees_json: str
    template: str
    token_budget: int
    cache_json: str | None
    source: Literal["builtin", "user"]
    created_at: str


class Filters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of ``filters_json``. ``where`` is a filter in the engine's own language."""

    tag_patterns: tuple[str, ...] | None = None
    categories: tuple[str, ...] | None = None
    search_window: float | None = None
    where: str | UnsetType = UNSET


class CachePolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of ``cache_json``: a number of seconds, or until the next write."""

    ttl_seconds: int | None = None


async def get_frame(conn: Connection, name: str) -> FrameRow | None:
    """A frame, or None."""

    def work(memory: Memory) -> FrameRow | None:
        try:
            return _row(memory, memory.frames.get(name))
        except NotFound:
            return None

    return await conn.run(work)


async def list_frames(conn: Connection) -> list[FrameRow]:
    """All frames, the built-in ones first."""
    return await conn.run(lambda memory: [_row(memory, frame) for frame in memory.frames.list()])


async def upsert_frame(
    conn: Connection,
    *,
    name: str,
    weights_json: str,
    filters_json: str,
    guarantees_json: str,
    template: str,
    token_budget: int,
    cache_json: str | None,
    source: str,
) -> None:
    """Insert or replace a frame. A built-in frame can only be given unchanged."""
    guarantees = _decoded(guarantees_json, tuple[str, ...], "guarantees_json")
    cache = None if cache_json is None else _decoded(cache_json, CachePolicy, "cache_json")
    frame = Frame(
        name=name,
        weights=_decoded(weights_json, Weights, "weights_json"),
        where=_where(_decoded(filters_json, Filters, "filters_json")),
        unit="any" if name in BUILT_IN else "record",  # a block is a record
        guarantees=tuple(map(_guarantee, guarantees)),
        tokens=token_budget,
        template=Template(intro=template),
        cache="none" if cache is None else cache.ttl_seconds or "write",
    )
    if source != ("builtin" if frame.is_built_in else "user"):
        raise InvalidInput(f"the source of the frame {name!r} cannot be {source!r}")
    if frame != BUILT_IN.get(name):
        await conn.run(lambda memory: memory.frames.set(frame))


def _row(memory: Memory, frame: Frame) -> FrameRow:
    guarantees = [f"{tag[:-1]}%" if tag.endswith("*") else tag for tag in frame.guarantees]
    ttl = frame.cache if isinstance(frame.cache, int) else None
    cached = None if frame.cache == "none" else _encoded(CachePolicy(ttl_seconds=ttl))
    return FrameRow(
        name=frame.name,
        weights_json=_encoded(frame.weights),
        filters_json=_encoded(_filters(frame.where)),
        guarantees_json=_encoded(guarantees),
        template=frame.template.intro,
        token_budget=frame.tokens,
        cache_json=cached,
        source="builtin" if frame.is_built_in else "user",
        created_at=_ALWAYS if frame.is_built_in else memory.frames.since(frame.name),
    )


# Between a row and a frame's filter.


def _where(filters: Filters) -> str | None:
    """The filter for a row's settings."""
    if filters.search_window is not None:
        raise InvalidInput(
            "a frame does not support search_window",
            hint="use its weight for recency, which lowers old records",
        )
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
