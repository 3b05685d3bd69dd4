"""A witness never cosigns a rollback or a fork, whatever its clients, its process and its disk do.

Controls: witnesses that answer before they keep, that forget to sync, that trust what a killed
process left, or that take no lock are each caught.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from recollect.proof.checkpoints import Checkpoint
from recollect.proof.keys import PrivateKey, PublicKey
from recollect.proof.notes import Note, render
from recollect.proof.witness import Accepted, Answer, Cosigned, Request, judge
from recollect.store.witnesses.folder import FolderWitness
from tests.suites.conftest import Tell
from tests.suites.crash_choices import draw
from tests.suites.crash_disk import Disk, lay_out
from tests.suites.crash_log import Killed, Recorder
from tests.suites.crash_runs import scratch
from tests.suites.witnessing import KEY, Open, Run, kept, request, run, sound

STEPS = 20


def runs(seeds: range, tell: Tell | None = None, opens: Open = sound) -> list[str]:
    """The problems of many runs."""
    counts: Counter[str] = Counter()
    problems: list[str] = []
    with scratch() as root:
        for seed in seeds:
            problem, found = run(root, seed, STEPS, opens)
            counts += found
            if problem:
                problems.append(f"seed {seed}: {problem}")
    if tell is not None:
        told = ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items()))
        tell(f"witness: {len(seeds):,} interleavings of {STEPS} steps: {told}; {len(problems)} bad")
    return problems


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(4))
def test_10_000_interleavings_and_crashes_of_a_witness(part: int, tell: Tell) -> None:
    assert runs(range(part * 2_500, (part + 1) * 2_500), tell) == []


def test_interleavings_and_crashes_of_a_witness(tell: Tell) -> None:
    start = random.randrange(1 << 20)  # each run of the tests looks at others
    assert runs(range(start, start + 40), tell) == []


def after_a_kill(kind: type[FolderWitness]) -> tuple[int, list[str]]:
    """Kills a witness at every call of one answer; another process answers; then the power fails.

    What that one has cosigned must still be known. Returns how many states were looked at.
    """
    states, problems = 0, list[str]()
    for call in range(1, 40):
        with scratch() as root:
            made = Run(root, call, opened(kind))
            seam, witness = made.processes[0]
            seam.die_at(call)
            try:
                witness.add(request(0, 0, 5))
            except Killed:
                """As it should be."""
            else:
                assert call > 8
                break
            answer = made.processes[1][1].add(request(0, 5, 5))
            if not isinstance(answer, Cosigned):
                continue  # it has not seen them
            disk = Disk(made.journal.ops)
            for number, (choice, tree) in enumerate(draw(disk, random.Random(call), 40)):
                lay_out(tree, root / f"state-{number}")
                states += 1
                if kept(root / f"state-{number}" / "witness") < 5:
                    problems.append(f"killed at {call}, then {choice.told()}")
    return states, problems


def test_what_a_killed_process_left_is_synced_before_it_is_cosigned_again(tell: Tell) -> None:
    states, problems = after_a_kill(FolderWitness)
    tell(f"witness killed at every call of an answer, then cosigned again: {states} states")
    assert problems == []
    assert states


# The controls: each has one fault.


class Eager(FolderWitness):
    """Answers before it keeps: the note is written after the answer was made, if at all."""

    def _answer(self, request: Request, pinned: list[PublicKey], own: PrivateKey) -> Answer:
        latest = self._latest(request.checkpoint.origin, pinned)
        decision = judge(request, pinned, latest)
        if not isinstance(decision, Accepted):
            return decision
        self._pending()
        text = decision.note.text
        made = own.cosign(text, 1_750_000_000)
        note = Note(text, (*decision.note.signatures, made))
        self._late = (decision.checkpoint, note)
        return Cosigned((made,))

    _late: tuple[Checkpoint, Note] | None = None

    def _pending(self) -> None:
        if self._late is not None:
            checkpoint, note = self._late
            self._notes(checkpoint.origin).keep(checkpoint.size, render(note))


class Unsynced(Recorder):
    """A disk whose syncs do nothing."""

    def fsync(self, fd: int) -> None:
        """Says it is done."""


class Believing(FolderWitness):
    """Believes that what a killed process left is on the disk."""

    def _sync(self, log: Path) -> None:
        """Not needed, it thinks."""


class Unlocked(FolderWitness):
    """Looks, then keeps, and another process may do so in between."""

    _stale: Checkpoint | None = None

    def _latest(self, origin: str, pinned: list[PublicKey]) -> Checkpoint | None:
        before, self._stale = self._stale, super()._latest(origin, pinned)
        return before or self._stale


def opened(kind: type[FolderWitness]) -> Open:
    return lambda folder, seam: kind(folder, KEY.public, seam, KEY)


def unsynced(folder: Path, seam: Recorder) -> FolderWitness:
    forgetful = Unsynced(seam.journal, 1)
    return FolderWitness(folder, KEY.public, forgetful, KEY)


@pytest.mark.parametrize(
    ("opens", "count"),
    [(opened(Eager), 5), (unsynced, 20), (opened(Unlocked), 20)],
    ids=["answers before it keeps", "no syncs", "no lock"],
)
def test_control_a_witness_with_a_fault_is_caught(opens: Open, count: int) -> None:
    problems = runs(range(count), opens=opens)
    assert any("was cosigned" in each or "were cosigned" in each for each in problems)


def test_control_a_witness_that_believes_a_killed_process_is_caught() -> None:
    assert after_a_kill(Believing)[1]
