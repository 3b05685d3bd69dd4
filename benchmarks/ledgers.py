"""Long ledgers, made quickly.

Responsible for a ledger as a memory would have written it, without an fsync for each line: half
of its events came one at a time, half in batches. Leaves the form of the lines to
``recollect.ledger``. Invariant: its instants are in the past, and ids begin with their instants, as
in a ledger that grew over time.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from benchmarks.sentences import endless
from recollect.ledger.chain import SALT_BYTES, Draft, chain, event_id
from recollect.ledger.codec import encode_body
from recollect.memory.handle.acts import stamp
from recollect.model.events import GENESIS, KIND_OF, AnyBody, RecordAdded, SpaceOpened
from recollect.model.instants import from_microseconds, to_microseconds

LEDGER: Final = "events.wal"
_BATCH: Final = 1_000
_STEP_US: Final = 250_000
_START: Final = "2026-01-31T12:00:00.000000Z"


def write_ledger(folder: Path, events: int, *, seed: int) -> None:
    """A workspace of nothing but a ledger with this many events; opening it makes the index."""
    folder.mkdir(parents=True)
    chance = random.Random(seed)
    at = _START
    data, head = chain(GENESIS, at, [_genesis(chance)], chance.randbytes(SALT_BYTES))
    with (folder / LEDGER).open("wb") as file:
        file.write(data)
        for texts in _appends(islice(endless(seed), events - 1)):
            at = from_microseconds(to_microseconds(at) + _STEP_US)
            drafts = _drafts(texts, at, chance)
            data, head = chain(head, at, drafts, chance.randbytes(SALT_BYTES * len(drafts)))
            file.write(data)


def _appends(texts: Iterable[str]) -> Iterator[list[str]]:
    """The texts of each append: single ones and batches, by turns."""
    rest = iter(texts)
    while block := list(islice(rest, _BATCH)):
        yield from ([text] for text in block)
        if together := list(islice(rest, _BATCH)):
            yield together


def _drafts(texts: list[str], at: str, chance: random.Random) -> list[Draft]:
    """One command that remembers these."""
    command_id = chance.randbytes(16).hex()
    return [
        _draft(event_id(command_id, ordinal), _remembered(text, at, chance))
        for ordinal, text in enumerate(texts, 1)
    ]


def _remembered(text: str, at: str, chance: random.Random) -> RecordAdded:
    return RecordAdded(
        id=f"{stamp(at)}-{chance.randbytes(5).hex()}",
        text=text,
        kind="fact",
        confidence=0.7,
        status="active",
        trust="person",
    )


def _genesis(chance: random.Random) -> Draft:
    opened = SpaceOpened(space="main")
    id = event_id(chance.randbytes(16).hex(), 1)
    return Draft(id, KIND_OF[SpaceOpened], "system", encode_body(opened))


def _draft(id: str, body: AnyBody) -> Draft:
    return Draft(id=id, kind=KIND_OF[type(body)], origin="person", data=encode_body(body))
