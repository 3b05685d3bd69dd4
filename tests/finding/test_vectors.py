"""A memory's vectors, through its API and its command line."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from recollect import Memory, compose
from recollect.errors import Forbidden, Unsupported
from recollect.finding.vectors import Leg, catch_up, legs
from recollect.memory.handle.handle import handle_of
from recollect.model.values import Embedded
from recollect.testing.embedders import WordEmbedder
from tests.embed.servers import Server, vectors

if TYPE_CHECKING:
    from recollect.embed.port import Matrix


def test_embed_makes_what_is_missing_once(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="static") as memory:
        memory.observe("Alice sits by the window.")
        memory.remember("Bob likes coffee.")
        seen: list[tuple[int, int]] = []
        (done,) = memory.admin.embed(lambda now, total: seen.append((now, total)))
        assert (done.texts, done.pieces, done.missing) == (2, 2, 0)
        assert done.model.startswith("wordllama")
        assert seen[-1][0] == seen[-1][1] == memory.events.position
        assert memory.admin.embed() == (Embedded(model=done.model, texts=0, pieces=0),)
        digest = memory.admin.digest()
    with Memory.open(tmp_path) as memory:  # the choice was recorded
        assert memory.admin.embed()[0].model == done.model
        assert memory.admin.digest() == digest


def test_without_an_embedder_there_is_nothing_to_embed(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.remember("Bob likes coffee.")
        assert memory.admin.embed() == ()
        assert legs(memory._handle.space, memory._handle.embedders) == ([], None)
    assert not (tmp_path / "vectors").exists()


def test_a_handle_of_one_user_does_not_embed_for_all() -> None:
    with Memory.open(":memory:") as memory, pytest.raises(Forbidden):
        memory.scoped(user="ann").admin.embed()


def test_a_recall_searches_by_what_is_there_and_says_what_is_not(tmp_path: Path) -> None:
    lacking = f"static+onnx:{tmp_path / 'nowhere'}"
    with Memory.open(tmp_path / "w", embedder=lacking) as memory:
        memory.observe("Alice sits by the window.")
        found, degraded = legs(memory._handle.space, memory._handle.embedders)
        assert [leg.embedder.name[:9] for leg in found] == ["wordllama"]
        assert found[0].vectors.through() == memory.events.position
        assert degraded is not None
        assert "nowhere" in degraded
        with pytest.raises(Unsupported, match="nowhere"):
            memory.admin.embed()


def test_a_recall_says_how_many_texts_have_no_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.embed.static.StaticEmbedder.recall_max_pieces", 3)
    with Memory.open(tmp_path, embedder="static") as memory:
        memory.observe([{"role": "user", "content": f"text {n}"} for n in range(10)])
        found, degraded = legs(memory._handle.space, memory._handle.embedders)
        assert len(found) == 1
        assert degraded == "7 texts have no vectors yet: run `recollect admin embed`"
        memory.admin.embed()
        assert legs(memory._handle.space, memory._handle.embedders)[1] is None


class SlowEmbedder(WordEmbedder):
    """Takes 2 ms for each piece."""

    def embed(self, pieces: Sequence[str]) -> Matrix:
        time.sleep(0.002 * len(pieces))
        return super().embed(pieces)


@pytest.mark.timing
def test_a_recall_does_not_encode_longer_than_it_may() -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        memory.observe([{"role": "user", "content": f"text {n}"} for n in range(1_200)])
        space = memory._handle.space
        slow = SlowEmbedder(recall_max_pieces=2_000)
        leg = Leg(slow, space.vectors(slow.name, slow.dimensions))
        done = catch_up(space, leg, 2_000, 20_000_000)
        assert done.pieces == 32  # which took 64 ms
        assert done.missing == 1_001  # counted no further
        done = catch_up(space, leg, 2_000, 200_000_000)
        assert 32 < done.pieces <= 100
        done = catch_up(space, leg, 2_000)  # the control: without a time all are encoded
        assert done.missing == 0


def test_a_large_number_of_missing_vectors_is_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.embed.static.StaticEmbedder.recall_max_pieces", 3)
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.observe([{"role": "user", "content": f"text {n}"} for n in range(1_004)])
    with Memory.open(tmp_path, embedder="static") as memory:
        _, degraded = legs(memory._handle.space, memory._handle.embedders)
        assert degraded == "more than 1,000 texts have no vectors yet: run `recollect admin embed`"
        found, _ = legs(memory._handle.space, memory._handle.embedders)
        catch_up(memory._handle.space, found[0], 994)  # with two times three before and one after
        _, degraded = legs(memory._handle.space, memory._handle.embedders)
        assert degraded == "1 text has no vectors yet: run `recollect admin embed`"


def messages(count: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": f"message {n}"} for n in range(count)]


def test_who_writes_much_makes_cheap_vectors_after_the_answer(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="static") as memory:
        handle, embedder = handle_of(memory), compose._static()
        vectors = handle.space.vectors(embedder.name, embedder.dimensions)
        memory.observe(messages(200))
        assert vectors.through() == 0  # a few make none
        memory.scoped(session="chat").observe(messages(60))
        assert vectors.through() == memory.events.position
        assert legs(handle.space, handle.embedders)[1] is None
        here = memory.events.position
        memory.observe(messages(200))
        assert vectors.through() == here


def test_what_lacks_vectors_from_before_gets_them_in_part(tmp_path: Path) -> None:
    """A write is not held up by all that others left undone."""
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.observe(messages(1_300))
    with Memory.open(tmp_path, embedder="static") as memory:
        memory.observe(messages(260))
        embedder = compose._static()
        vectors = handle_of(memory).space.vectors(embedder.name, embedder.dimensions)
        assert 1_000 < vectors.through() < 1_300


def test_an_import_makes_cheap_vectors(tmp_path: Path) -> None:
    file = tmp_path / "mem0.json"
    given = [{"id": str(n), "memory": f"Fact {n} of many"} for n in range(300)]
    file.write_bytes(msgspec.json.encode(given))
    with Memory.open(tmp_path / "w", embedder="static") as memory:
        memory.admin.import_(file, "mem0")
        handle, embedder = handle_of(memory), compose._static()
        vectors = handle.space.vectors(embedder.name, embedder.dimensions)
        assert memory.events.position - vectors.through() < 256


def test_a_write_does_not_fail_because_of_vectors(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "w", embedder="static") as memory:
        memory.remember("Tea.")
        (tmp_path / "w" / "vectors").write_text("a file in the place of the folder")
        with memory.batch() as batch:
            for number in range(300):
                batch.remember(f"Sentence {number} of many")
        assert len(memory.list(limit=1_000)) == 301


def test_an_endpoint_that_does_not_answer_leaves_full_text(tmp_path: Path) -> None:
    with Server() as server:
        address = f"{server.url}#small"
        with Memory.open(tmp_path, embedder=address) as memory:
            memory.observe("Alice sits by the window.")
            assert legs(memory._handle.space, memory._handle.embedders)[1] is None
    with Memory.open(tmp_path, embedder=address) as memory:
        found, degraded = legs(memory._handle.space, memory._handle.embedders)
        assert found == []
        assert degraded is not None
        assert "did not answer" in degraded
        assert len(memory.recall("window")) == 1


def test_an_endpoint_that_refuses_one_of_many_questions_is_not_asked_for_the_others(
    tmp_path: Path,
) -> None:
    def answer(texts: list[str]) -> tuple[int, bytes]:
        return (400, b"{}") if any("kettle" in text for text in texts) else vectors(texts)

    with (
        Server(answer) as server,
        Memory.open(tmp_path, embedder=f"{server.url}#small") as memory,
    ):
        memory.observe("Alice sits by the window.")
        memory.recall("window")
        before = len(server.asked)
        asked = ["which window?", "a kettle", "", "another kettle", "the window"]
        found = memory.recall(asked)
        assert len(server.asked) == before + 2
        assert [len(each) for each in found] == [1, 0, 0, 0, 1]
        assert all("works without" in (found[n].degraded or "") for n in (0, 1, 3, 4))


def test_a_text_on_a_branch_gets_no_vectors(tmp_path: Path) -> None:
    """Its number is one that another event will get, which would then be found by its words."""
    with Memory.open(tmp_path, embedder="static") as memory:
        memory.remember("Bob likes coffee.")
        memory.branches.open("plans")
        branch = memory.on("plans")
        branch.remember("Zebras are striped.")
        for recall in (branch.recall, memory.recall):  # either makes what is missing
            recall("zebras")
        embedders = memory._handle.embedders
        assert embedders is not None
        (leg,), _ = legs(memory._handle.space, embedders)
        query = leg.embedder.embed_query("Zebras are striped.")
        known = {record.seq for record in memory.list()}
        found = leg.vectors.best(query, 10, set)
        assert {seq for seq, _ in found} == known
