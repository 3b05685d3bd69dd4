"""Values that agents propose and people decide, in random histories on three engines."""

from __future__ import annotations

import random
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from recollect.index.reads import Reads
from recollect.lifecycle.proposals import proposals
from recollect.lifecycle.trust import lineage
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.store.files.backend import FileBackend
from recollect.store.indexed.backend import MemoryBackend
from recollect.store.port import Backend
from recollect.store.postgres.ledgers import PostgresBackend
from tests.postgres.test_same import START_US
from tests.suites.beliefs import Beliefs
from tests.suites.conftest import Tell, tell
from tests.suites.histories import Clockwork

__all__ = ["tell"]

STEPS = 30
Played = tuple[str, list[str], list[str], Counter[str]]


def play(backend: Backend, seam: Clockwork, seed: int) -> Played:
    """The digest, the queue and what went wrong in one history."""
    seam.restart(seed, START_US)
    memory = Memory(Handle(backend.space(f"s{seed}", create=True), seam))
    memory.status()  # genesis draws its dice before anything else does
    story = Beliefs(memory, seam, seed)
    story.play(STEPS)
    queue = [one.digest for one in memory.review.list(limit=1_000)]
    story.done["words erased"] += len(story.erased)
    digest = memory.admin.digest()
    memory.close()
    return digest, queue, story.wrong, story.done


ACTS = ("approvals", "quote", "go_back", "retract", "erase")


def compare(database: str, folder: Path, count: int, tell: Tell) -> None:
    first = random.randrange(2**32)
    done: Counter[str] = Counter()
    wrong: list[str] = []
    started = time.perf_counter()
    seam = Clockwork(0, START_US)
    with ExitStack() as opened:
        engines: list[Backend] = [
            MemoryBackend(seam=seam),
            FileBackend(folder, seam=seam),
            PostgresBackend(database, seam=seam),
        ]
        for backend in engines:
            opened.callback(backend.close)
        for seed in range(first, first + 10 * count):
            if seed >= first + count and all(done[act] for act in ACTS):
                break  # dice may take longer to show every act
            found = [play(backend, seam, seed) for backend in engines]
            digest, queue, told, acts = found[0]
            wrong += [f"seed {seed}: {what}" for what in told]
            wrong += [
                f"seed {seed}: engine {number} differs"
                for number, other in enumerate(found)
                if other[:3] != (digest, queue, told)
            ]
            done += acts
    acts_done = ", ".join(f"{number:,} {name}" for name, number in sorted(done.items()))
    tell(
        f"beliefs: {seed - first:,} histories on memory, files and PostgreSQL: {len(wrong)} wrong, "
        f"{time.perf_counter() - started:.0f} s ({acts_done})"
    )
    assert wrong == []
    assert all(done[act] for act in ACTS)


def test_values_are_the_same_on_every_engine(database: str, tmp_path: Path, tell: Tell) -> None:
    compare(database, tmp_path, 8, tell)


@pytest.mark.nightly
def test_values_are_the_same_in_a_thousand_histories(
    database: str, tmp_path: Path, tell: Tell
) -> None:
    compare(database, tmp_path, 1_000, tell)


def first_wrong(at_most: int) -> list[str]:
    """What the first history that goes wrong tells."""
    for seed in range(at_most):
        seam = Clockwork(seed, START_US)
        wrong = play(MemoryBackend(seam=seam), seam, seed)[2]
        if wrong:
            return wrong
    return []


def test_control_without_a_check_for_staleness_an_old_proposal_wins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert first_wrong(20) == []
    monkeypatch.setattr(proposals, "is_stale", lambda view, row: False)
    assert "holds no more" in str(first_wrong(60))


def test_control_if_no_quote_is_believed_a_correction_does_not_win(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lineage, "_was_said", lambda *given: False)
    assert "did not win" in str(first_wrong(60))


def test_control_if_nothing_is_taken_back_the_last_value_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Memory, "undo", lambda self, *given: None)
    assert "was taken back and holds" in str(first_wrong(60))


def test_control_if_proposals_stay_an_erased_word_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reads, "proposal_events", lambda self, id, episode: set())
    assert "is in a proposal" in str(first_wrong(60))
