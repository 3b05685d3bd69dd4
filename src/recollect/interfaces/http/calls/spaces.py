"""Spaces, and what a caller may do."""

from __future__ import annotations

import msgspec

from recollect.interfaces.http.call import Answer, Call
from recollect.interfaces.http.calls.reading import shown
from recollect.model import wire
from recollect.model.values import SpaceStatus


class SpaceName(msgspec.Struct, frozen=True, kw_only=True):
    """A space, and how its name is written in a path."""

    name: str
    segment: str


class Spaces(msgspec.Struct, frozen=True, kw_only=True):
    """The spaces that a token opens."""

    items: list[SpaceName]


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """A name as it is written in a path."""

    segment: str


def list_(call: Call) -> Spaces:
    """The spaces that this token opens."""
    return Spaces(items=[_named(name) for name in call.store.spaces()])


def create(call: Call) -> Answer:
    """Create a space."""
    name = call.body.name
    is_new = name not in call.store.spaces()
    status: SpaceStatus = shown(call.store.space(name, create=is_new).status())
    place = f"/v1/spaces/{wire.to_segment(name)}"
    return Answer(value=status, headers={"Location": place}, status=201 if is_new else 200)


def name(call: Call) -> Segment:
    """How a name is written in a path."""
    return Segment(segment=wire.to_segment(call.query.of))


def _named(name: str) -> SpaceName:
    return SpaceName(name=name, segment=wire.to_segment(name))
