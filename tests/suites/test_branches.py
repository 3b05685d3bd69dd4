"""Random branch histories on three engines, against a plain dictionary of what should come of them.

The dictionary knows nothing of events: it holds texts, counts the versions of each record, and
remembers at which version a branch first touched one. From that it says which changes are conflicts
and which texts a merge leaves.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Container
from pathlib import Path
from typing import NamedTuple

import pytest

from recollect.errors import Conflict
from recollect.index.proposals import ProposalRow
from recollect.lifecycle import commands as c
from recollect.lifecycle.branches import branches
from recollect.lifecycle.proposals.proposals import approved
from recollect.lifecycle.view import View
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.model import events as e
from recollect.store.files.backend import FileBackend
from recollect.store.indexed.backend import MemoryBackend
from recollect.store.port import Backend
from recollect.store.postgres.ledgers import PostgresBackend
from tests.postgres.conftest import database, server, template
from tests.suites.conftest import Tell
from tests.suites.histories import Clockwork

__all__ = ["database", "server", "template"]

START_US = 1_000_000_000_000_000  # long ago: a server takes no event ahead of its own clock
KEYS = ("alice.seat", "db.port")
STEPS = 14


class Change:
    """What a branch wants with one record: a text, or None to forget it."""

    def __init__(self, text: str | None, target: str | None, base: int, key: str | None) -> None:
        self.text, self.target, self.base, self.key = text, target, base, key


class Model:
    """What the memory holds, and what the branch would make of it."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}  # of the records that hold
        self.versions: dict[str, int] = {}
        self.holders: dict[str, str] = {}
        self.keys: dict[str, str] = {}  # of each record that ever had one
        self.changes: dict[str, Change] = {}  # by the record that a change is about

    def touch(self, id: str, text: str | None) -> None:
        """A record of the memory gets a text, or ends."""
        self.versions[id] = self.versions.get(id, 0) + 1
        if text is not None:
            self.texts[id] = text
            return
        self.texts.pop(id, None)
        key = self.keys.get(id)
        if key is not None and self.holders.get(key) == id:
            del self.holders[key]

    def hold(self, key: str, id: str, text: str) -> None:
        """A record takes a key."""
        if key in self.holders:
            self.touch(self.holders[key], None)
        self.keys[id], self.holders[key] = key, id
        self.touch(id, text)

    def is_conflict(self, change: Change) -> bool:
        if change.key is not None and self.holders.get(change.key) != change.target:
            return True
        if change.target is None:
            return False
        return change.target not in self.texts or self.versions[change.target] != change.base

    def make(self, id: str, change: Change, text: str | None) -> None:
        """The change, made to what the memory holds now."""
        if text is None:
            if change.target in self.texts:
                self.touch(str(change.target), None)
        elif change.key is not None:
            self.hold(change.key, id, text)
        elif change.target is None or change.target in self.texts:
            self.touch(id, text)
        else:  # what it would revise is gone: the words come as another record
            key = self.keys.get(id)
            again = f"{id} again"
            self.hold(key, again, text) if key else self.touch(again, text)


class Player:
    """Plays one history in a memory and in the model at the same time."""

    def __init__(self, memory: Memory, seed: int) -> None:
        self.memory, self.rng, self.model = memory, random.Random(seed), Model()
        self.count = 0

    def text(self) -> str:
        self.count += 1
        return f"{self.rng.choice(['tea', 'port', 'seat'])} number {self.count}"

    def main(self) -> None:
        """Something happens in the memory itself."""
        rng, model, text = self.rng, self.model, self.text()
        known, what = sorted(model.texts), rng.random()
        if not known or what < 0.25:
            model.touch(self.memory.remember(text).id, text)
        elif what < 0.45:
            key = rng.choice(KEYS)
            model.hold(key, self.memory.remember(text, key=key).id, text)
        else:
            id = rng.choice(known)
            if what < 0.8:
                self.memory.revise(id, text)
                model.touch(id, text)
            else:
                self.memory.forget(id)
                model.touch(id, None)

    def on_branch(self) -> None:
        """Something is written on the branch; what it refuses is not tried."""
        rng, changes, text = self.rng, self.model.changes, self.text()
        branch, what = self.memory.on("line"), rng.random()
        new = sorted(id for id, one in changes.items() if id != one.target)
        if what < 0.2:
            changes[branch.remember(text).id] = Change(text, None, 0, None)
        elif what < 0.4:
            self._keyed(branch, rng.choice(KEYS), text)
        elif what < 0.55 and new:
            id = rng.choice(new)
            branch.revise(id, text)
            changes[id].text = text
        elif what < 0.65 and new:
            id = rng.choice(new)
            branch.forget(id)
            self._gone(changes.pop(id))
        else:
            self._existing(branch, text, forgets=what > 0.85)

    def _gone(self, change: Change) -> None:
        """A record of the branch is forgotten there; what it replaced does not come back."""
        if change.target is not None:
            change.text, change.key = None, None
            self.model.changes[change.target] = change

    def _keyed(self, branch: Memory, key: str, text: str) -> None:
        model, changes = self.model, self.model.changes
        own = next((id for id, one in changes.items() if self._takes(one, key)), None)
        holder = model.holders.get(key)
        id = branch.remember(text, key=key).id
        earlier = changes.pop(own, None) if own else changes.pop(holder or "", None)
        if earlier is not None:
            changes[id] = Change(text, earlier.target, earlier.base, key)
        else:
            changes[id] = Change(text, holder, model.versions.get(holder or "", 0), key)

    def _takes(self, change: Change, key: str) -> bool:
        """True if a change takes a key: its own, or that of a record which is gone meanwhile."""
        is_gone = change.target is not None and change.target not in self.model.texts
        again = is_gone and change.text is not None and change.key is None
        return change.key == key or (again and self.model.keys.get(str(change.target)) == key)

    def _existing(self, branch: Memory, text: str, *, forgets: bool) -> None:
        """A record of the memory, if the branch has not ended it."""
        model, changes = self.model, self.model.changes
        ended = {one.target for id, one in changes.items() if id != one.target or one.text is None}
        free = [id for id in sorted(model.texts) if id not in ended and not self._stands_for(id)]
        if not free:
            return
        id = self.rng.choice(free)
        branch.forget(id) if forgets else branch.revise(id, text)
        change = changes.setdefault(id, Change(text, id, model.versions[id], None))
        change.text = None if forgets else text

    def _stands_for(self, id: str | None) -> bool:
        """True if the memory put this record in the place of one that the branch changes."""
        key = self.model.keys.get(id or "")
        return key is not None and any(
            one.target != id and key in (one.key, self.model.keys.get(str(one.target)))
            for one in self.model.changes.values()
        )

    def merge(self, *, as_shown: bool = True) -> Merged:
        """Merges, each conflict settled by chance; what the memory should hold then."""
        diff, model, rng = self.memory.branches.diff("line"), self.model, self.rng
        expected = {id for id, one in model.changes.items() if model.is_conflict(one)}
        reported = {one.record for one in diff.conflicts}
        assert {one.record for one in diff.changes} == set(model.changes)
        seen = sorted(record.text for record in self.memory.on("line").list(limit=1_000))
        choose, edits, plan = {}, {}, list[tuple[str, Change, str | None]]()
        whole = Model()
        whole.__dict__.update({k: dict(v) for k, v in model.__dict__.items()})
        for change in diff.changes:
            wanted = model.changes[change.record]
            whole.make(change.record, wanted, wanted.text)
            word = rng.choice(["ours", "theirs", "edited"]) if change.conflict else "theirs"
            if word == "edited" and wanted.text is not None:
                edits[change.id] = f"edited {change.id}"
                plan.append((change.record, wanted, edits[change.id]))
            elif word == "ours":
                choose[change.id] = "ours"
            else:
                plan.append((change.record, wanted, wanted.text))
                if change.conflict:
                    choose[change.id] = "theirs"
        if reported and as_shown:
            with pytest.raises(Conflict):
                self.memory.branches.merge("line", diff.digest)
        self.memory.branches.merge(
            "line",
            diff.digest,
            choose=choose,  # type: ignore[arg-type]
            edits=edits,
            reason="merged",
        )
        for id, wanted, text in plan:
            model.make(id, wanted, text)
        left = sorted(record.text for record in self.memory.list(limit=1_000))
        return Merged(
            expected == reported and seen == sorted(whole.texts.values()),
            left == sorted(model.texts.values()),
            len(reported),
            len(diff.changes),
            self.memory.admin.digest(),
        )


class Merged(NamedTuple):
    """What came of a history: as the model says, how many conflicts and changes, the digest."""

    reported: bool
    kept: bool
    conflicts: int
    changes: int
    digest: str


def played(backend: Backend, space: str, seam: Clockwork, seed: int) -> Merged:
    """One history: the memory, a branch, then both in turns, then a merge."""
    memory = Memory(Handle(backend.space(space, create=True), seam))
    memory.status()  # genesis draws its dice before anything else does
    player = Player(memory, seed)
    for _ in range(5):
        player.main()
    memory.branches.open("line")
    for _ in range(STEPS):
        seam.tick(1_000_000)
        player.rng.choice([player.main, player.on_branch, player.on_branch])()
    return player.merge()


def compare(database: str, folder: Path, count: int, tell: Tell) -> None:
    """The same histories on every engine."""
    first = random.randrange(2**32)
    made: list[tuple[Clockwork, Backend]] = []
    makers: list[Callable[[Clockwork], Backend]] = [
        lambda seam: MemoryBackend(seam=seam),
        lambda seam: FileBackend(folder / "workspace", seam=seam),
        lambda seam: PostgresBackend(database, seam=seam),
    ]
    for make in makers:
        seam = Clockwork(0, START_US)
        made.append((seam, make(seam)))
    conflicts = changes = 0
    try:
        for seed in range(first, first + count):
            found = []
            for seam, backend in made:
                seam.restart(seed, START_US)
                found.append(played(backend, f"s{seed}", seam, seed))
            assert found[0].reported, f"seed {seed}"
            assert found[0].kept, f"seed {seed}"
            assert found[1:] == found[:1] * 2, f"seed {seed}"
            conflicts, changes = conflicts + found[0].conflicts, changes + found[0].changes
    finally:
        for _, backend in made:
            backend.close()
    assert conflicts > count // 4
    tell(
        f"branches: {count:,} histories on memory, files and PostgreSQL: {changes:,} changes, "
        f"{conflicts:,} conflicts, every one reported, no change lost, one digest each"
    )


def test_random_branches_on_every_engine(database: str, tmp_path: Path, tell: Tell) -> None:
    compare(database, tmp_path, 6, tell)


@pytest.mark.nightly
def test_a_thousand_random_branches_on_every_engine(
    database: str, tmp_path: Path, tell: Tell
) -> None:
    compare(database, tmp_path, 1_000, tell)


def caught(count: int) -> tuple[int, int]:
    """In how many histories a conflict was not reported, and in how many a text was lost."""
    unreported = lost = 0
    for seed in range(count):
        seam = Clockwork(seed, START_US)
        backend = MemoryBackend(seam=seam)
        try:
            found = played(backend, "main", seam, seed)
            unreported, lost = unreported + (not found.reported), lost + (not found.kept)
        finally:
            backend.close()
    return unreported, lost


def test_the_model_agrees_without_a_fault() -> None:
    assert caught(60) == (0, 0)


def test_control_a_merge_that_does_not_look_at_bases_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import recollect.memory.branches as shown

    for module in (branches, shown):
        monkeypatch.setattr(module, "is_stale", lambda view, row: False)
    unreported, _ = caught(40)
    assert unreported > 10


def test_control_a_merge_that_drops_one_side_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def dropping(
        view: View, actor: c.Actor, act: c.Review, row: ProposalRow, others: Container[str]
    ) -> list[e.AnyBody]:
        """Approves, and leaves out what the branch would change; a trial is as always."""
        bodies = approved(view, actor, act, row, others)
        return bodies[:1] if act.reason == "merged" else bodies

    monkeypatch.setattr(branches, "approved", dropping)
    _, lost = caught(40)
    assert lost > 10
