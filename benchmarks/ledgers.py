"""Long ledgers, made quickly.

Responsible for a ledger as a memory would have written it, without an fsync for each line: half
of its events came one at a time, half in batches. Leaves the form of the lines to
``recollect.ledger``.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.sentences import sentences
from recollect.ledger.chain import SALT_BYTES, Draft, chain, event_id
from recollect.ledger.codec import encode_body
from recollect.ledger.scan import recover
from recollect.memory import Memory
from recollect.model.events import KIND_OF, RecordAdded
from recollect.model.instants import from_microseconds, to_microseconds

LEDGER: Final = "events.wal"
_BATCH: Final = 1_000
_STEP_US: Final = 250_000


def write_ledger(folder: Path, events: int, *, seed: int) -> None:
    """A memory whose ledger has this many events; its index is brought up to it when opened."""
    with Memory.open(folder) as memory:
        memory.remember("The first sentence of this memory.")
        more = events - memory.position
    path = folder / LEDGER
    head = recover(path.read_bytes()).head
    chance = random.Random(seed)
    with path.open("ab") as file:
        for drafts in _appends(sentences(more, seed=seed), chance):
            at = from_microseconds(to_microseconds(head.at) + _STEP_US)
            data, head = chain(head, at, drafts, chance.randbytes(SALT_BYTES * len(drafts)))
            file.write(data)


def _appends(texts: list[str], chance: random.Random) -> Iterator[list[Draft]]:
    """The events of each append: single ones and batches, by turns."""
    for start in range(0, len(texts), _BATCH):
        block = texts[start : start + _BATCH]
        together = start // _BATCH % 2 == 1
        for part in [block] if together else [[text] for text in block]:
            command_id = chance.randbytes(16).hex()
            yield [_draft(command_id, n, text, chance) for n, text in enumerate(part, 1)]


def _draft(command_id: str, ordinal: int, text: str, chance: random.Random) -> Draft:
    body = RecordAdded(
        id=f"20260131-1200-{chance.randbytes(5).hex()}",
        text=text,
        kind="fact",
        confidence=0.7,
        status="active",
        trust="person",
    )
    id = event_id(command_id, ordinal)
    return Draft(id=id, kind=KIND_OF[RecordAdded], origin="person", data=encode_body(body))
