"""Answers of two memories as one: each hit with the mount it comes from.

Responsible for the shape of such answers and for one order of hits. Leaves asking the memories to
``mounts``. Invariant: each mount's own order is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import islice
from typing import Final, Generic, Literal, TypeVar

from recollect.model.values import Hit, Omitted, Value

T = TypeVar("T")
Mount = Literal["project", "personal"]
MOUNTS: Final[tuple[Mount, ...]] = ("project", "personal")


class Mounted(Value, Generic[T], frozen=True, kw_only=True):
    """An answer, and the mount it comes from."""

    mount: Mount
    value: T


class MountedRecall(Value, frozen=True, kw_only=True):
    """The hits of both mounts for one query, best first; unverified ones are separate."""

    query: str
    hits: tuple[Mounted[Hit], ...]
    unverified: tuple[Mounted[Hit], ...] = ()
    waiting: int = 0
    notes: tuple[str, ...] = ()  # why a mount was left out


class MountedContext(Value, frozen=True, kw_only=True):
    """Both mounts packed under one budget; ``str(context)`` is the text to paste."""

    query: str
    text: str
    hits: tuple[Mounted[Hit], ...]
    omitted: tuple[Omitted, ...]
    tokens: int
    budget: int
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


def in_one_order(
    found: Iterable[tuple[Mount, Iterable[Hit]]], at_most: int
) -> tuple[Mounted[Hit], ...]:
    """Merges the hits of the mounts by relevance; each mount's own order is kept.

    Equally relevant hits alternate, so that a large project does not crowd out a person's memory.
    """
    merged = merge(*(_ranked(mount, hits) for mount, hits in found), key=_by_relevance)
    return tuple(hit for _, hit in islice(merged, at_most))


def _ranked(mount: Mount, hits: Iterable[Hit]) -> Iterator[tuple[int, Mounted[Hit]]]:
    return ((rank, Mounted(mount=mount, value=hit)) for rank, hit in enumerate(hits))


def _by_relevance(ranked: tuple[int, Mounted[Hit]]) -> tuple[float, int]:
    rank, hit = ranked
    return -hit.value.relevance, rank
