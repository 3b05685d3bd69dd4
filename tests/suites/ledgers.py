"""Ledgers to damage: made by a real memory, with every kind of event in them.

Responsible for what a ledger looks like after some use: single and multi-event appends, erased
lines, text in many scripts, a crash and an accepted loss behind it. Leaves the damage to
``damaging``. Invariant: the ledger it hands out is whole, and its last append has several events.
"""

from __future__ import annotations

import os
import random
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from recollect import Memory
from recollect.ledger.chain import Draft, chain, event_id
from recollect.ledger.codec import encode_body
from recollect.ledger.erasure import lines_of
from recollect.ledger.line import Line
from recollect.ledger.scan import Append, scan
from recollect.ledger.verify import verify
from recollect.lifecycle.commands import Name
from recollect.memory.handle.handle import Handle
from recollect.model.events import GENESIS, KINDS, Head, RecordTagged
from recollect.model.presets import BUILT_IN
from recollect.store.files.space import FileSpace
from tests.suites.histories import Clockwork, History

MEGABYTE = 1_048_576
SCRIPTS = (
    "Größe ändern",
    "東京へ行く",
    "мост через реку",
    "🌉 and 🧭",
    "line\u2028separated\u2029text\x85",
    'quoted "so" \\ and\nso',
)


@dataclass(frozen=True)
class Ledger:
    """The bytes of a ledger, and where everything in them stands."""

    data: bytes

    @cached_property
    def appends(self) -> list[Append]:
        return list(scan([self.data]))

    @cached_property
    def lines(self) -> list[bytes]:
        """Each with its newline; event ``seq`` is ``lines[seq - 1]``."""
        return list(lines_of([self.data]))

    @cached_property
    def events(self) -> list[Line]:
        return [line for append in self.appends for line in append.lines]

    @cached_property
    def starts(self) -> list[int]:
        """Where each line begins; at the end, where the last one ends."""
        return [0, *accumulate(map(len, self.lines))]

    @property
    def head(self) -> Head:
        return self.appends[-1].head

    def seq_at(self, place: int) -> int:
        """The event whose line holds the byte at this place; a newline belongs to its line."""
        return bisect_right(self.starts, place)

    def head_before(self, seq: int) -> Head:
        """The head before the append that this event belongs to."""
        first = self.events[seq - 1].first
        return self.events[first - 2].head if first > 1 else GENESIS


class Lived(History):
    """A history whose texts are written in many scripts, and in which much is erased."""

    def __init__(self, memory: Memory, seam: Clockwork, rng: random.Random) -> None:
        super().__init__(memory, seam, rng)
        self._acts.append((2, self.erase))

    def _text(self) -> str:
        words = super()._text()
        return f"{words} {self.rng.choice(SCRIPTS)}" if self.rng.random() < 0.4 else words


class Life:
    """One memory in a folder, used until its ledger is long enough."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._seam = Clockwork(seed)
        self._history = Lived(self._open(), self._seam, random.Random(seed))

    def until(self, is_enough: Callable[[bytes], bool]) -> Ledger:
        """The ledger when this is true of its bytes and its last append has three events."""
        history = self._history
        history.play(history.done.total() + 1)
        while not is_enough(self._bytes()):
            history.play(history.done.total() + 40)
        with history.memory.batch() as batch:
            for script in SCRIPTS[:3]:
                batch.remember(script)
        data = self._bytes()
        assert verify([data]).ok
        return Ledger(data)

    def misfortunes(self) -> None:
        """A crash in the middle of an append, and a loss that somebody accepted."""
        self._history.memory.remember("soon lost")
        before, last = list(scan([self._bytes()]))[-2:]
        self._history.memory.close()
        active = self._folder / "events.wal"
        os.truncate(active, active.stat().st_size - (last.end - before.end))
        with self._open() as memory:
            memory.admin.accept_loss(reason="for the suite")
        with open(active, "ab") as file:
            file.write(b'{"v":1,"seq":')
        old = self._history
        self._history = Lived(self._open(), self._seam, old.rng)
        self._history.records, self._history.episodes = old.records, old.episodes

    def one_of_each(self) -> None:
        """What chance may not have brought."""
        memory = self._history.memory
        (episode,) = memory.observe("said, taken back, and said again")
        memory.forget(episode.id)
        memory.undo(episode.id)
        one, other = memory.remember("one", key="each.one"), memory.remember("other")
        memory.revise(other.id, "another")
        memory.revise(other.id, tags=["each"])
        memory.graph.link(one.id, other.id, "relates_to")
        memory.graph.unlink(one.id, other.id, "relates_to")
        memory.used(None, [other.id])
        memory.forget(other.id)
        memory.undo(other.id)
        memory.remember("one more", key="each.one")
        guess = memory.remember("a guess", is_hypothesis=True)
        memory.review.refute(guess.id)
        memory.forget(guess.id, derived=True)
        memory.erase(other.id)
        memory.settings.presets.set(msgspec.structs.replace(BUILT_IN["task"], name="each"))
        memory.context("one more", preset="each")
        memory.settings.presets.drop("each")
        memory.settings.documents.set("settings", "each", {"days": 30})
        memory.settings.documents.drop("settings", "each")
        memory.settings.rules.set("each")
        memory.settings.rules.run("each", limit=3)
        memory.sessions.open("each", task_type="one of each")
        memory.sessions.close("each")
        self._reviews(memory)
        memory.branches.open("each")
        memory.on("each").remember("on a branch")
        memory.branches.abandon("each", "one of each")
        memory.admin.seal()

    def _reviews(self, memory: Memory) -> None:
        """Proposals with each outcome that a call gives them."""
        agent = memory.scoped(trust="agent")
        for verdict in ("approve", "reject", "withdraw"):
            made = agent.review.propose(f"to {verdict}")
            if verdict == "withdraw":
                agent.review.withdraw(made.id)
            else:
                getattr(memory.review, verdict)(made.id, made.digest)

    def close(self) -> None:
        self._history.memory.close()

    def _bytes(self) -> bytes:
        return b"".join(self._history.memory._handle.space.pieces())

    def _open(self) -> Memory:
        space = FileSpace(self._folder, "main", create=True, seam=self._seam)
        return Memory(Handle(space, self._seam, name=Name(text="Mara")))


def lived(seed: int) -> Ledger:
    """A ledger of one megabyte, with every kind of event that a call writes."""
    shared_memory = Path("/dev/shm")
    place = shared_memory if shared_memory.is_dir() else None
    with TemporaryDirectory(dir=place) as folder:
        life = Life(Path(folder), seed)
        try:
            life.until(lambda data: len(data) > MEGABYTE // 8)
            life.misfortunes()
            life.one_of_each()
            ledger = life.until(lambda data: len(data) >= MEGABYTE)
        finally:
            life.close()
    missing = set(KINDS) - {line.kind for line in ledger.events} - {"proposal.applied"}
    assert not missing, f"seed {seed}"
    return ledger


def chained(events: int, rng: random.Random) -> Ledger:
    """A ledger of so many events in appends of one to five, the last one of three."""
    head, pieces = GENESIS, []
    while head.seq < events:
        count = min(rng.choice((1, 1, 1, 2, 3, 5)), max(events - 3 - head.seq, 0)) or 3
        command = rng.randbytes(8).hex()
        bodies = [
            encode_body(RecordTagged(id=f"r-{rng.randrange(99)}", add=(str(rng.random()),)))
            for _ in range(count)
        ]
        drafts = [
            Draft(event_id(command, n), "record.tagged", "agent", body)
            for n, body in enumerate(bodies, 1)
        ]
        data, head = chain(head, "2026-01-01T00:00:00.000000Z", drafts, rng.randbytes(16 * count))
        pieces.append(data)
    return Ledger(b"".join(pieces))
