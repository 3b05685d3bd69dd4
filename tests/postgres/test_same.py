"""The same script on each engine: the same state, the same order of hits."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from recollect.compose import Embedders
from recollect.config import Settings
from recollect.index import rows
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.model.values import Include
from recollect.store.files.backend import FileBackend
from recollect.store.indexed.backend import MemoryBackend
from recollect.store.port import Backend
from recollect.store.postgres.ledgers import PostgresBackend
from recollect.testing.rebuilding import rebuilt_digest
from tests.suites.conftest import Tell, tell
from tests.suites.histories import ALL, WORDS, Clockwork, History
from tests.suites.histories import answers as read_all

__all__ = ["tell"]

START_US = 1_000_000_000_000_000  # long ago: a server takes no event ahead of its own clock


def sizes(steps: int) -> tuple[int, int]:
    """How many questions are asked, and how many positions are read again."""
    return (25, 3) if steps < 1_000 else (60, 6)


def play(backend: Backend, seam: Clockwork, seed: int, steps: int) -> tuple[str, list[object]]:
    """The digest and the answers after a random history."""
    memory = Memory(Handle(backend.space("main", create=True), seam))
    memory.status()  # genesis draws its dice before anything else does
    rng = random.Random(seed)
    history = History(memory, seam, rng)
    history.play(steps)
    answers: list[object] = [memory.list(limit=1_000, include=ALL)]
    queries, past = sizes(steps)
    for _ in range(queries):
        query = " ".join(rng.choices(WORDS, k=rng.randint(1, 3)))
        choices: tuple[tuple[Include, ...], ...] = ((), ALL)
        for include in choices:
            hits = memory.recall(query, k=20, include=include).hits
            answers.append([(hit.id, hit.relevance) for hit in hits])
    ids = rng.sample(history.records, 20)
    positions = rng.sample(range(1, memory.events.position), past)
    answers += [read_all(memory.at(position), ids) for position in positions]
    answers.append([memory.history(record.id) for record in memory.list(limit=100)])
    digest = memory.admin.digest()
    assert memory.admin.verify(deep=True).ok
    assert rebuilt_digest(memory.admin) == digest
    return digest, answers


def compare(database: str, folder: Path, steps: int, tell: Tell) -> None:
    seed = random.randrange(2**32)
    found = []
    for make in (
        lambda seam: MemoryBackend(seam=seam),
        lambda seam: FileBackend(folder / "workspace", seam=seam),
        lambda seam: PostgresBackend(database, seam=seam),
    ):
        seam = Clockwork(seed, START_US)
        backend = make(seam)
        try:
            found.append(play(backend, seam, seed, steps))
        finally:
            backend.close()
    (digest, answers), *others = found
    for other_digest, other_answers in others:
        for number, (ours, theirs) in enumerate(zip(answers, other_answers, strict=True)):
            assert ours == theirs, f"seed {seed}, answer {number}"
        assert other_digest == digest, f"seed {seed}"
    tell(
        f"same: {steps:,} operations on memory, files and PostgreSQL: one state digest, "
        f"{2 * sizes(steps)[0]} recalls in the same order"
    )


def test_a_script_gives_the_same_on_every_engine(
    database: str, tmp_path: Path, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "COPIED_TEXT_MAX_CHARS", 30)  # so that some texts are long
    compare(database, tmp_path, 250, tell)


@pytest.mark.nightly
def test_a_long_script_gives_the_same_on_every_engine(
    database: str, tmp_path: Path, tell: Tell
) -> None:
    compare(database, tmp_path, 5_000, tell)


def test_with_vectors_the_first_ten_are_the_same_on_a_server(database: str, tell: Tell) -> None:
    rng = random.Random(5)
    texts = [" ".join(rng.choices(WORDS, k=rng.randint(4, 12))) for _ in range(150)]
    queries = [" ".join(rng.choices(WORDS, k=rng.randint(2, 5))) for _ in range(40)]
    embedders = Embedders(Settings(where=":memory:", why="tested", embedder="static"))
    found: list[list[set[str]]] = []
    for make in (MemoryBackend, lambda: PostgresBackend(database)):
        backend = make()
        try:
            memory = Memory(Handle(backend.space("main", create=True), embedders=embedders))
            for number, text in enumerate(texts):
                memory.observe(text, session=f"s{number // 10}", id=f"e{number}")
            memory.admin.embed()
            answers = [memory.recall(query, k=10) for query in queries]
            assert all(answer.degraded is None for answer in answers)
            assert any("chunk" in hit.shares for hit in answers[0])
            found.append([{hit.id for hit in answer} for answer in answers])
        finally:
            backend.close()
    shared = [len(ours & theirs) / 10 for ours, theirs in zip(*found, strict=True)]
    overlap = sum(shared) / len(shared)
    tell(f"same: {len(queries)} recalls with vectors, overlap of the first ten {overlap:.3f}")
    assert overlap >= 0.98
