"""One answer from two memories: the project's and the person's own.

Responsible for merging what ``recall``, ``list`` and ``context`` found in each, with the mount of
every part. Leaves opening the memories to ``call``. Invariants: each memory's own order is kept; a
store that was named is asked alone, and its answer names no mount.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import structs

from recollect.assistants.mounted import Mount, in_one_order
from recollect.errors import NotFound
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call
from recollect.memory import Memory
from recollect.model import limits
from recollect.model.values import Context, Episode, Hit, Recall, Record

T = TypeVar("T")
Of = tuple[Mount | None, T]
Document = dict[str, Any]
Read = Callable[[Memory, int, str | None], list[Record] | list[Episode]]
Pack = Callable[[Memory, int | None, bool], Context]


def mount_at(call: Call, mount: Mount | None, at: str | None) -> Mount | None:
    """The mount to ask: a position counts the events of one ledger, so ``--at`` with one asks one.

    That is the nearest memory, as everywhere on the command line.
    """
    if mount is not None or at is None or not o.is_position(at):
        return mount
    with call.memory() as nearest:
        return call.mount_of(nearest)


# Recall.


class Recalled(msgspec.Struct, frozen=True):
    """Hits of all memories in one order."""

    recall: Recall
    mounts: dict[int, Mount]  # by the identity of a hit, because both may use the same id

    def mount_of(self, hit: Hit) -> Mount | None:
        """The mount that a hit comes from; None in a store that was named."""
        return self.mounts.get(id(hit))

    @property
    def document(self) -> Document:
        """For programs: the answer of one memory, with the mount of each hit."""
        told: Document = msgspec.to_builtins(self.recall)
        for name in ("hits", "unverified"):
            hits: tuple[Hit, ...] = getattr(self.recall, name)
            told[name] = [
                {**each, **_named(self.mount_of(hit))}
                for each, hit in zip(told[name], hits, strict=True)
            ]
        return told


def recalled(found: Sequence[Of[Recall]], k: int) -> Recalled:
    """Merges the answers, most relevant first."""
    if len(found) == 1:
        ((mount, only),) = found
        every = (*only.hits, *only.unverified)
        return Recalled(only, {id(hit): mount for hit in every} if mount else {})
    hits = in_one_order([(mount or "personal", each.hits) for mount, each in found], k)
    unverified = in_one_order(
        [(mount or "personal", each.unverified) for mount, each in found],
        limits.UNVERIFIED_MAX_HITS,
    )
    lacking = dict.fromkeys(each.degraded for _, each in found if each.degraded)
    merged = structs.replace(
        found[0][1],
        hits=tuple(hit.value for hit in hits),
        unverified=tuple(hit.value for hit in unverified),
        waiting=sum(each.waiting for _, each in found),
        abstained=not hits and any(each.abstained for _, each in found),
        degraded="; ".join(lacking) or None,
    )
    return Recalled(merged, {id(hit.value): hit.mount for hit in (*hits, *unverified)})


# List.


class Listed(msgspec.Struct, frozen=True):
    """What each memory lists, the project's before the person's own."""

    parts: list[tuple[Mount | None, str, list[Record] | list[Episode]]]

    @property
    def documents(self) -> list[Document]:
        """For programs: each record or episode with its mount."""
        return [
            {**msgspec.to_builtins(value), **_named(mount)}
            for mount, _, values in self.parts
            for value in values
        ]

    def last_if(self, limit: int) -> str | None:
        """The id after which the list goes on; None if it has fewer than its limit."""
        ids = [value.id for _, _, values in self.parts for value in values]
        return ids[-1] if ids and len(ids) == limit else None

    def draw(self, limit: int) -> None:
        """For people: each memory under a heading that says where it is."""
        shown = [part for part in self.parts if part[2]]
        for number, (mount, where, values) in enumerate(shown or self.parts[:1]):
            if mount and values:
                plain.say(*([""] if number else []), plain.dim(f"{mount}: {plain.safe(where)}"))
            is_last = number == len(shown) - 1
            full = is_last and self.last_if(limit) is not None
            plain.listing(values, len(values) if full else 0)


def listed(memories: Sequence[Of[Memory]], read: Read, limit: int, after: str | None) -> Listed:
    """Lists one memory after the other, up to the limit; ``after`` continues in its own memory."""
    rest = list(memories)
    if after is not None and len(rest) > 1:
        from recollect.assistants.mounts import holder_of

        start = holder_of([(mount or "personal", memory) for mount, memory in rest], after)[0]
        rest = [each for each in rest if each[0] == start or start == "project"]
    parts: list[tuple[Mount | None, str, list[Record] | list[Episode]]] = []
    left = limit
    for mount, memory in rest:
        values = read(memory, left, after) if left > 0 else []
        parts.append((mount, memory.where, values))
        left, after = left - len(values), None
    return Listed(parts)


# Context.


class Packed(msgspec.Struct, frozen=True):
    """The contexts of all memories, under one budget."""

    parts: list[tuple[Mount | None, Context]]
    budget: int

    @property
    def text(self) -> str:
        """All of it, ready to paste."""
        return "\n".join(part.text for _, part in self.parts if part.text)

    @property
    def document(self) -> Document:
        """For programs: the context of one memory; of two, one after the other."""
        told: Document = msgspec.to_builtins(self.parts[0][1])
        parts = [(mount, msgspec.to_builtins(part)) for mount, part in self.parts]
        for name in ("hits", "omitted"):
            told[name] = [{**each, **_named(mount)} for mount, part in parts for each in part[name]]
        told["notes"] = [each for _, part in parts for each in part["notes"]]
        told |= {"text": self.text, "budget": self.budget}
        told["tokens"] = sum(part.tokens for _, part in self.parts)
        told["abstained"] = all(part.abstained for _, part in self.parts)
        told["degraded"] = "; ".join(self._lacking) or None
        if len(parts) > 1:
            told["receipts"] = {mount: part["receipt"] for mount, part in parts}
        return told

    def draw(self) -> None:
        """The text alone on stdout, ready to paste; what it cost, and from where, on stderr."""
        if self.text:
            plain.say(plain.safe(self.text))
        for mount, part in self.parts:
            left_out = f", {len(part.omitted)} left out" if part.omitted else ""
            receipt = f"; receipt {part.receipt}" if part.receipt else ""
            name = f"{mount}: " if mount else ""
            spent = f"{part.tokens} of {self.budget} tokens"
            line = f"{name}{len(part.hits)} packed{left_out}; {spent}{receipt}"
            plain.say_to_stderr(line, *part.notes)
        plain.say_to_stderr(*(f"Note: {each}." for each in self._lacking))

    @property
    def _lacking(self) -> list[str]:
        """What each memory had to do without, once."""
        found = (part.degraded for _, part in self.parts)
        return list(dict.fromkeys(each for each in found if each))


def packed(memories: Sequence[Of[Memory]], pack: Pack, tokens: int | None) -> Packed:
    """Packs each memory; if both do not fit, each gets what it needs up to a half, or the rest."""
    if len(memories) == 1:
        ((mount, memory),) = memories
        only = pack(memory, tokens, True)
        return Packed([(mount, only)], only.budget)
    plans, missing = _plans(memories, pack, tokens)
    if missing is not None and not plans:
        raise missing
    budget = plans[0][2].budget
    shares = _shares(budget, [plan.tokens for _, _, plan in plans])
    parts = [
        (mount, pack(memory, share, True) if share else plan)
        for (mount, memory, plan), share in zip(plans, shares, strict=True)
    ]
    return Packed(parts, budget)


def _plans(
    memories: Sequence[Of[Memory]], pack: Pack, tokens: int | None
) -> tuple[list[tuple[Mount | None, Memory, Context]], NotFound | None]:
    """What each memory would pack by itself; a memory without the preset is left out."""
    plans, missing = [], None
    for mount, memory in memories:
        try:
            plans.append((mount, memory, pack(memory, tokens, False)))
        except NotFound as error:
            missing = error
    return plans, missing


def _shares(budget: int, needs: list[int]) -> list[int]:
    """How much of a budget each of at most two memories gets."""
    if sum(needs) <= budget:
        return needs
    one, two = needs
    half = budget // 2
    first = one if one <= half else max(half, budget - two)
    return [first, budget - first]


def _named(mount: Mount | None) -> Document:
    return {} if mount is None else {"memory": mount}
