"""What deciding emits, the fold applies: the two judge by the same rules."""

from __future__ import annotations

import pkgutil
import random
from collections.abc import Iterable
from importlib import import_module
from itertools import groupby

import pytest

import recollect.index.fold
from recollect import Memory
from recollect.index.digest import state_digest
from recollect.index.fold import Clock, Fold
from recollect.index.statements import NOW
from recollect.index.tables import Tables
from recollect.ledger.codec import decode
from recollect.ledger.scan import scan
from recollect.memory.handle.handle import Handle
from recollect.model import events as e
from recollect.model import rules
from recollect.model.presets import BUILT_IN, Preset
from recollect.store.indexed.backend import MemorySpace
from recollect.store.sqlite import memory_index
from tests.suites.histories import Clockwork, History


class Lineages(History):
    """Histories in which records rest on records, derive from them, and presets come and go."""

    def __init__(self, memory: Memory, seam: Clockwork, rng: random.Random) -> None:
        super().__init__(memory, seam, rng)
        self._acts = [act for act in self._acts if act[1] != self.erase]
        self._acts += [(8, self.derive), (3, self.preset), (2, self.drop_preset)]

    def derive(self, handle: Memory) -> None:
        handle.graph.link(self._record(), self._record(), "derived_from")

    def preset(self, handle: Memory) -> None:
        name = self.rng.choice(["mine", "other"])
        weights = next(iter(BUILT_IN.values())).weights
        handle.settings.presets.set(
            Preset(name=name, weights=weights, tokens=self.rng.randint(100, 900))
        )

    def drop_preset(self, handle: Memory) -> None:
        handle.settings.presets.drop(self.rng.choice(["mine", "other"]))

    def _evidence(self) -> list[str]:
        found = super()._evidence()
        return [*found, self._record()] if self.rng.random() < 0.3 else found


class Lenient:
    """Rules that allow everything."""

    said_with = staticmethod(rules.said_with)
    lowest = staticmethod(rules.lowest)

    @staticmethod
    def within(_: str, body: e.AnyBody) -> e.AnyBody:
        return body

    def __getattr__(self, name: str) -> object:
        return lambda *_: True


def be_lenient(patch: pytest.MonkeyPatch) -> None:
    """Lets every module of the fold ask rules that allow everything."""
    for found in pkgutil.iter_modules(recollect.index.fold.__path__, "recollect.index.fold."):
        module = import_module(found.name)
        if hasattr(module, "rules"):
            patch.setattr(module, "rules", Lenient())


def digest_of(events: Iterable[e.Event]) -> str:
    db = memory_index("main")
    tables = Tables(db)
    fold = Fold(tables, Clock(e.GENESIS.at, 0))
    for _, append in groupby(events, key=lambda event: event.first):
        fold.append(list(append))
    tables.flush()
    found = state_digest(db, NOW)
    db.close()
    return found


def played(seed: int, steps: int) -> tuple[list[e.Event], History]:
    """The events of a random history, every one of them decided."""
    seam = Clockwork(seed)
    space = MemorySpace("main", seam=seam)
    history = Lineages(Memory(Handle(space)), seam, random.Random(seed))
    history.play(steps)
    appends = scan(list(space.pieces()))
    return [decode(line) for append in appends for line in append.lines], history


def test_the_fold_ignores_nothing_that_was_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: set[str] = set()
    for seed in range(5):
        events, history = played(seed, 150)
        judged = digest_of(events)
        with monkeypatch.context() as lenient:
            be_lenient(lenient)
            assert digest_of(events) == judged, seed
        kinds |= {event.kind for event in events}
        assert history.done["derive"] > 2
        assert history.refused > 5
    assert {"record.superseded", "frame.dropped", "link.removed", "episode.restored"} <= kinds
    assert {"session.opened", "session.closed", "rule.passed"} <= kinds


def test_and_a_forged_event_tells_the_two_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: without the rules the same comparison finds the forgery."""
    events, _ = played(1, 40)
    mine = next(
        event.body.id
        for event in events
        if isinstance(event.body, e.RecordAdded) and event.body.trust == "person"
    )
    last = events[-1]
    forged = e.Event(
        seq=last.seq + 1,
        first=last.seq + 1,
        last=last.seq + 1,
        id="forged.1",
        kind="record.forgotten",
        at=last.at,
        origin="unverified",
        body=e.RecordForgotten(id=mine),
    )
    judged = digest_of([*events, forged])
    be_lenient(monkeypatch)
    assert digest_of([*events, forged]) != judged
