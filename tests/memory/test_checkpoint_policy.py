"""Checkpoints by policy: signed by the write that makes one due, never at its cost."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from recollect import Memory
from recollect.config import keys_folder
from recollect.errors import Forbidden, InvalidInput
from recollect.memory.handle import due
from recollect.memory.handle.handle import Handle
from recollect.memory.keys import Keys
from recollect.store.checkpoints import checkpoints
from recollect.store.files.backend import FileBackend
from recollect.testing.seams import FixedSeam

POLICY = ("policy", "checkpoints")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def seam() -> FixedSeam:
    return FixedSeam(1, step_us=1_000)


@pytest.fixture
def memory(tmp_path: Path, seam: FixedSeam) -> Iterator[Memory]:
    backend = FileBackend(tmp_path / "w", seam=seam)
    yield Memory(Handle(backend.space("main", create=True), seam))
    backend.close()


def sizes(memory: Memory) -> list[int]:
    return memory._handle.space.checkpoints().sizes()


def looking(memory: Memory) -> Memory:
    """The same memory as another process would open it: it looks at its first write."""
    return Memory(Handle(memory._handle.space, memory._handle.seam))


def ruled(memory: Memory, **policy: int) -> Memory:
    memory.settings.documents.set(*POLICY, dict(policy))
    Keys(memory).create()
    return looking(memory)


def overdue(memory: Memory) -> list[str]:
    return [each.detail for each in memory.admin.doctor() if each.what == "checkpoints"]


def test_the_write_that_crosses_the_limit_signs(memory: Memory) -> None:
    memory = ruled(memory, every_events=5)
    for number in range(12):
        memory.remember(f"Fact {number}.")
    assert sizes(memory) == [5, 10]
    assert memory.admin.verify().anchored_through == 10
    assert not overdue(memory)
    with memory.batch() as batch:
        for number in range(20):
            batch.remember(f"More {number}.")
    assert sizes(memory)[-1] == memory.status().seq == 34


def test_an_event_is_signed_by_the_first_write_after_its_time(
    memory: Memory, seam: FixedSeam
) -> None:
    memory = ruled(memory, every_seconds=60)
    memory.remember("Early.")
    assert sizes(memory) == []
    assert not overdue(memory)
    seam.now_us += 61_000_000
    assert overdue(memory) == ["overdue by the policy of this memory: 3 events not signed yet"]
    assert "3 events not signed yet; run `recollect proof checkpoint`" in (
        memory.admin.verify().problem or ""
    )
    assert memory.admin.verify().ok
    looking(memory).remember("Late.")
    assert sizes(memory) == [4]
    assert not overdue(memory)


def test_an_import_signs_too(memory: Memory, tmp_path: Path) -> None:
    memory.remember("Alice sits in 14C.")
    memory.admin.export("ndjson", tmp_path / "out.ndjson")
    with Memory.open(tmp_path / "other", embedder="none") as opened:
        other = ruled(opened, every_events=1)
        other.admin.import_(tmp_path / "out.ndjson")
        assert sizes(other)[-1] == other.status().seq


def test_another_process_continues_after_the_last_checkpoint(memory: Memory) -> None:
    memory = ruled(memory, every_events=5)
    memory.proof.checkpoint()
    for number in range(12):  # each write from a process of its own
        looking(memory).remember(f"Fact {number}.")
    assert sizes(memory) == [2, 7, 12]


def test_without_a_policy_or_a_key_nothing_is_signed_or_loaded(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due, "_LOOK_EVENTS", 1)
    with monkeypatch.context() as patch:
        patch.setitem(
            sys.modules, "recollect.memory.handle.unsigned", None
        )  # loading it would fail
        memory.settings.documents.set(*POLICY, {"every_events": 1})
        memory.remember("No key.")
    assert sizes(memory) == []
    assert overdue(memory) == ["overdue by the policy of this memory: 3 events not signed yet"]
    Keys(memory).create()
    memory.settings.documents.drop(*POLICY)
    memory.remember("No policy.")
    assert sizes(memory) == []
    assert not overdue(memory)
    memory.settings.documents.set(*POLICY, {"every_events": 1})  # noticed without opening it again
    assert sizes(memory) == [6]


def test_a_write_is_acknowledged_whatever_becomes_of_its_checkpoint(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = ruled(memory, every_events=1)
    (key,) = keys_folder().glob("*.json")
    kept = key.read_bytes()
    for spoiled in (b"[", b'{"private": 7}'):
        key.write_bytes(spoiled)
        looking(memory).remember(f"Spoiled {spoiled!r}.")
    key.write_bytes(kept)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric", None)
        looking(memory).remember("Not installed.")
        assert overdue(memory)
    with monkeypatch.context() as patch:
        patch.delattr(checkpoints, "make")
        looking(memory).remember("A fault of our own.")
    assert sizes(memory) == []
    assert overdue(memory)
    looking(memory).remember("As it should be.")
    assert sizes(memory) == [memory.status().seq] == [7]


def test_a_forged_name_does_not_put_the_next_checkpoint_off(memory: Memory) -> None:
    memory = ruled(memory, every_events=5)
    memory.proof.checkpoint()
    folder = Path(memory.where) / "checkpoints"
    (folder / "1000000.note").write_bytes((folder / "2.note").read_bytes())
    for number in range(5):
        memory.remember(f"Fact {number}.")
    assert 7 in sizes(memory)


def test_threads_sign_once_each_time(memory: Memory) -> None:
    memory = ruled(memory, every_events=10)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: memory.remember(f"Fact {number}."), range(60)))
    assert 1 <= len(sizes(memory)) <= 6
    assert memory.admin.verify().status == "anchored"


def test_the_last_checkpoint_beside_the_keys_never_becomes_a_smaller_one(memory: Memory) -> None:
    memory = ruled(memory, every_events=100)
    early = memory.proof.checkpoint().note
    memory.remember("More.")
    late = memory.proof.checkpoint().note
    ring = checkpoints.ring_of(memory._handle.space, keys_folder(), memory._handle.seam)
    ring.keep_last(early.encode())  # another process was slower
    assert (ring.last() or b"").decode() == late


@pytest.mark.parametrize(
    "data",
    [{}, {"every_events": 0}, {"every_events": "5"}, {"every_seconds": 0.5}, {"every_hours": 1}],
)
def test_a_policy_that_says_nothing_is_refused(memory: Memory, data: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match="this is not a policy") as refusal:
        memory.settings.documents.set(*POLICY, data)  # type: ignore[arg-type]
    assert "every_events" in str(refusal.value.hint)


def test_only_a_person_sets_it(memory: Memory) -> None:
    with pytest.raises(Forbidden):
        memory.scoped(trust="agent").settings.documents.set(*POLICY, {"every_events": 1})
    with pytest.raises(InvalidInput, match="unknown policy 'checkpoint'"):
        memory.settings.documents.set("policy", "checkpoint", {"every_events": 1})


def test_writers_of_one_user_and_of_less_trust_let_it_be_signed(memory: Memory) -> None:
    memory = ruled(memory, every_events=1)
    memory.scoped(user="ann").remember("Of Ann.")
    memory.scoped(trust="agent").remember("Of an agent.")
    assert sizes(memory) == [3, 4]
    branch = memory.branches.open("try")
    memory.on(branch.id).remember("On a branch.")
    memory.remember("And on.")
    assert memory.admin.verify().anchored_through == memory.status().seq
