"""Another encoder is chosen: the old one answers until every text has a vector of the new one."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from recollect import Memory, Store
from recollect.compose import record_embedder
from recollect.config import load
from recollect.finding.vectors import legs
from recollect.memory.jobs.jobs import worker_of
from tests.embed.graphs import encoder

TEXTS = 700  # more than one batch, and more than a few recalls encode


@pytest.fixture
def new(tmp_path: Path) -> str:
    return f"onnx:{encoder(tmp_path / 'model')}"


def filled(folder: Path, embedder: str = "static", texts: int = TEXTS) -> Path:
    with Memory.open(folder, embedder=embedder) as memory:
        with memory.batch() as batch:
            for number in range(texts):
                batch.remember(f"alice sits by the window number {number}")
        memory.admin.embed()
    return folder


def used(memory: Memory) -> tuple[list[str], str]:
    """What a recall would search with, and what it would say is missing."""
    handle = memory._handle
    found, note = legs(handle.space, handle.embedders, makes=False)
    return [leg.embedder.name.partition(" ")[0].partition("-")[0] for leg in found], note or ""


def test_the_old_encoder_answers_until_the_new_ones_vectors_are_there(
    tmp_path: Path, new: str
) -> None:
    place = filled(tmp_path / "w")
    with Memory.open(place, embedder=new) as memory:
        names, note = used(memory)
        assert names == ["wordllama"]
        assert "those of the embedder before are used: run `recollect admin embed`" in note
        found = memory.recall("who sits by the window?")
        assert len(found) > 0
        memory.remember("bob stands at the door")  # a text that both lack
        assert [hit.text for hit in memory.recall("bob stands at the door", k=1)] == [
            "bob stands at the door"
        ]
        assert used(memory)[0] == ["wordllama"]
        memory.admin.embed()
        assert used(memory) == (["model"], "")
        memory.remember("and more words")  # one new text does not bring the old one back
        assert used(memory)[0] == ["model"]
    with Memory.open(place, embedder=new) as memory:
        assert used(memory)[0] == ["model"]


def test_recalls_alone_finish_the_change(tmp_path: Path, new: str) -> None:
    place = filled(tmp_path / "w", texts=300)
    with Memory.open(place, embedder=new) as memory:
        for _ in range(300):  # each adds at least one text
            memory.recall("window")
            if used(memory) == (["model"], ""):
                return
    pytest.fail("the change never ended")


def test_an_embedder_that_is_added_is_used_at_once(tmp_path: Path, new: str) -> None:
    """The one that stays knows how near the other texts are."""
    place = filled(tmp_path / "w")
    with Memory.open(place, embedder=f"static+{new}") as memory:
        assert used(memory)[0] == ["wordllama", "model"]


def test_an_old_encoder_that_is_gone_is_not_missed(tmp_path: Path, new: str) -> None:
    old = encoder(tmp_path / "old", seed=2)
    place = filled(tmp_path / "w", f"onnx:{old}")
    (old / "model.onnx").unlink()
    with Memory.open(place, embedder=new) as memory:
        names, note = used(memory)
        assert names == ["model"]
        assert "no vectors yet" in note
        assert len(memory.recall("window")) > 0


KILLED = """
import os, signal, sys
from recollect import Memory
def tick(done, total):
    os.kill(os.getpid(), signal.SIGKILL)
with Memory.open(sys.argv[1]) as memory:
    memory.admin.embed(tick)
"""


def test_a_process_that_is_killed_in_the_middle_leaves_the_old_encoder_in_use(
    tmp_path: Path, new: str
) -> None:
    place = filled(tmp_path / "w")
    record_embedder(load(place, embedder=new), replace=True)
    done = subprocess.run([sys.executable, "-c", KILLED, str(place)], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    with Memory.open(place) as memory:
        assert used(memory)[0] == ["wordllama"]
        assert len(memory.recall("window")) > 0
        (rest,) = memory.admin.embed()
        assert 0 < rest.texts < TEXTS  # what was made before is not made again
        assert used(memory) == (["model"], "")


def test_a_worker_finishes_it_and_each_text_is_encoded_once(tmp_path: Path, new: str) -> None:
    place = filled(tmp_path / "w")
    record_embedder(load(place, embedder=new), replace=True)
    with Store.open(place) as store:
        memory = store.space()
        assert used(memory)[0] == ["wordllama"]
        store.jobs.ask("embed")
        job = worker_of(store.jobs).step()
        assert job is not None
        assert (job.kind, job.state) == ("embed", "done")
        assert used(memory) == (["model"], "")


def test_a_third_choice_keeps_the_one_whose_vectors_are_all_there(tmp_path: Path, new: str) -> None:
    place = filled(tmp_path / "w")
    third = f"onnx:{encoder(tmp_path / 'third', seed=3)}"
    for chosen in (new, third):
        record_embedder(load(place, embedder=chosen), replace=True)
        assert load(place, environment={}).before == "static"
    record_embedder(load(place, embedder="static"), replace=True)  # a change of mind
    found = load(place, environment={})
    assert (found.embedder, found.before) == ("static", "")
