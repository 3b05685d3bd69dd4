"""Removing bodies from a ledger's bytes.

Responsible for rewriting lines whose body an event erased, and for tracking which bodies are gone.
Leaves replacing the file to ``store``. Invariant: headers, their order and their hashes never
change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Final

from recollect.ledger.codec import decode
from recollect.ledger.line import erase, parse, seq_of, subject_of
from recollect.model.events import Event, EventsErased
from recollect.model.rules import may_erase

_ID_DIGITS: Final = 16


def lines_of(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Whole lines, each with its newline; then any bytes after the last newline."""
    held: list[bytes] = []  # the start of a line whose end has not been read yet
    for piece in pieces:
        *lines, rest = piece.split(b"\n")
        for line in lines:
            yield b"".join((*held, line, b"\n"))
            held.clear()
        held.append(rest)
    if rest := b"".join(held):
        yield rest


def line_of(pieces: Iterable[bytes], seq: int) -> bytes | None:
    """The line of an event, without its newline, if the bytes begin with it."""
    first = next(iter(lines_of(pieces)), b"").removesuffix(b"\n")
    return first if seq_of(first) == seq else None


def without_bodies(pieces: Iterable[bytes], erased: Mapping[int, int]) -> Iterator[bytes]:
    """The same lines; those of the given events lose their body and name the erasing event."""
    for line in lines_of(pieces):
        by = erased.get(seq_of(line) or 0)
        yield line if by is None else erase(line.removesuffix(b"\n"), by) + b"\n"


def encrypted_for(pieces: Iterable[bytes], subjects: Collection[str]) -> list[int]:
    """The events with a body that is encrypted for one of these subjects."""
    found = (subject_of(line) for line in lines_of(pieces))
    return [one[0] for one in found if one is not None and one[1] in subjects]


def orders_in(pieces: Iterable[bytes], erased: Mapping[int, int]) -> dict[str, int]:
    """The subjects whose keys these erasures destroy, each with the event that orders it."""
    by, orders = set(erased.values()), dict[str, int]()
    for raw in lines_of(pieces):
        if seq_of(raw) in by:
            line = parse(raw.removesuffix(b"\n"))
            body = decode(line).body if line.is_erasure else None
            if isinstance(body, EventsErased):
                orders |= dict.fromkeys(body.subjects, line.seq)
    return orders


class Erasures:
    """Tracks, over all events, which bodies are gone and which should be."""

    def __init__(self) -> None:
        self._missing: set[int] = set()
        self._ordered: dict[int, int] = {}  # erased event -> the event that ordered it
        self.subjects: dict[str, int] = {}  # whose keys must be gone -> the event that ordered it

    def note(self, event: Event) -> None:
        """Takes the next event, in order."""
        if event.body is None:
            if not event.locked:  # of a destroyed key: the encrypted body may still be there
                self._missing.add(event.seq)
        elif isinstance(event.body, EventsErased) and may_erase(event.origin):
            for target in event.body.targets:
                self._ordered.setdefault(target, event.seq)
            for subject in event.body.subjects:
                self.subjects.setdefault(subject, event.seq)

    @property
    def first_unfinished(self) -> float:
        """The first erasure that left a body in place; a number above every seq if all are done."""
        left = (by for seq, by in self._ordered.items() if seq not in self._missing)
        return min(left, default=float("inf"))

    @property
    def purged(self) -> int:
        """The last erasure, if every body that it and earlier ones ordered erased is gone."""
        is_done = self._ordered.keys() <= self._missing
        return max(self._ordered.values(), default=0) if is_done else 0


def erased_id(id: str, role: str = "", chars: int = 0) -> str:
    """The digest of the id of something erased, by which another copy knows the id again.

    A role and a length tell two episodes of one id apart; what was said has no part in it.
    """
    return sha256(f"erased id\0{id}\0{role}\0{chars}".encode()).hexdigest()[:_ID_DIGITS]
