"""Proofs of events: what they show, to whom, and what they need."""

from __future__ import annotations

import errno
import json
import runpy
from pathlib import Path

import pytest

from recollect import Memory
from recollect.config import keys_folder
from recollect.errors import (
    Conflict,
    Forbidden,
    IntegrityError,
    InvalidInput,
    NotFound,
    Unavailable,
    Unsupported,
)
from recollect.ledger.erasure import lines_of
from recollect.memory.handle.handle import Handle, handle_of
from recollect.memory.keys import Keys
from recollect.model.events import Trust
from recollect.model.values import Proof
from recollect.store.files.space import FileSpace
from recollect.store.seam import Seam

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "verify_proof.py"))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture(params=["files", pytest.param("memory", marks=pytest.mark.nightly)])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Memory:
    where = ":memory:" if request.param == "memory" else tmp_path / "w"
    return Memory.open(where, embedder="none")


def keyed(memory: Memory) -> str:
    return Keys(memory).create().key


def said(proof: Proof, *keys: str) -> str:
    """What the independent program prints."""
    given = [SCRIPT["key_of"](key) for key in keys]
    return "\n".join(SCRIPT["verify"](proof.document.encode(), given))


def line_of(proof: Proof) -> str:
    return str(json.loads(proof.document)["event"])


def test_a_record_and_an_episode_are_proved(memory: Memory) -> None:
    made = memory.remember("Alice sits in 14C.", key="alice.seat")
    (told,) = memory.observe("She said: Grüße.")
    key = keyed(memory)
    proof = memory.proof.prove(made.id)
    assert (proof.seq, proof.kind, proof.by) == (made.seq, "record.added", "person")
    assert "Alice sits in 14C." in said(proof, key)
    assert memory.proof.prove("alice.seat") == proof
    assert "Gr\\u00fc\\u00dfe" in said(memory.proof.prove(told.id), key)
    held = list(lines_of([b"".join(handle_of(memory).space.pieces())]))
    assert line_of(proof).encode() + b"\n" == held[made.seq - 1]  # byte for byte


def test_an_id_stands_for_the_event_that_gave_its_text(memory: Memory) -> None:
    made = memory.remember("Alice sits in 14C.")
    key = keyed(memory)
    revised = memory.revise(made.id, "Alice sits in 3A.")
    memory.revise(made.id, tags=["seat"])
    proof = memory.proof.prove(made.id)
    assert (proof.seq, proof.kind) == (revised.seq, "record.revised")
    assert "3A" in said(proof, key)
    first = memory.proof.prove(made.id, event=made.seq)
    assert "14C" in said(first, key)
    assert memory.proof.prove(event=made.seq) == first
    assert memory.at(made.seq).proof.prove(made.id).seq == made.seq
    other = memory.remember("Bob sits in 9F.")
    with pytest.raises(NotFound, match="about"):
        memory.proof.prove(made.id, event=other.seq)
    with pytest.raises(NotFound, match="no event 999"):
        memory.proof.prove(event=999)
    with pytest.raises(InvalidInput, match="what to prove"):
        memory.proof.prove()
    with pytest.raises(NotFound):
        memory.proof.prove("nothing")


def test_a_checkpoint_is_signed_only_if_none_covers_the_event(memory: Memory) -> None:
    made = memory.remember("One.")
    with pytest.raises(NotFound, match="covers event 2") as refused:
        memory.proof.prove(made.id)
    assert "key create" in str(refused.value.hint)
    keyed(memory)
    assert memory.proof.prove(made.id).size == 2
    memory.remember("Two.")
    assert memory.proof.prove(made.id).size == 2  # the one that is there covers it
    assert memory.proof.prove(event=3).size == 3


def test_an_erased_event_is_shown_without_its_body(memory: Memory) -> None:
    made = memory.remember("The canary sings.")
    key = keyed(memory)
    memory.proof.checkpoint()
    assert "canary" in memory.proof.prove(event=made.seq).document
    memory.erase(made.id)
    proof = memory.proof.prove(event=made.seq)
    assert proof.erased_by == 3
    assert "canary" not in proof.document
    told = said(proof, key)
    assert "Erased by event 3 at " in told
    with pytest.raises(NotFound):
        memory.proof.prove(made.id)


def test_an_erasure_that_is_not_finished_shows_no_body(tmp_path: Path) -> None:
    """The body is still in the file, and the index knows that it was erased."""

    class Stopping(Seam):
        def replace(self, source: Path, target: Path) -> None:
            if target.name == "events.wal":
                raise OSError(errno.EIO, "no")
            super().replace(source, target)

    seam = Stopping()
    memory = Memory(Handle(FileSpace(tmp_path / "w", "main", create=True, seam=seam), seam))
    made = memory.remember("The canary sings.")
    key = keyed(memory)
    with pytest.raises(Unavailable):
        memory.erase(made.id)
    memory.proof.checkpoint()
    assert b"canary" in (tmp_path / "w" / "events.wal").read_bytes()  # else this shows nothing
    proof = memory.proof.prove(event=made.seq)
    assert "canary" not in proof.document
    assert "Erased by event 3" in said(proof, key)


def test_a_user_proves_what_that_user_sees_and_nothing_else(memory: Memory) -> None:
    alice, bob = memory.scoped(user="alice"), memory.scoped(user="bob")
    mine = alice.remember("Alice sits in 14C.")
    theirs = bob.remember("The canary sits in 3A.")
    key = keyed(memory)
    with pytest.raises(NotFound, match="covers") as refused:
        alice.proof.prove(mine.id)  # signing concerns everybody
    assert "recollect proof checkpoint" in str(refused.value.hint)
    memory.proof.checkpoint()
    proof = alice.proof.prove(mine.id)
    assert "14C" in said(proof, key)
    assert "canary" not in proof.document
    assert "bob" not in proof.document
    for refused_call in ({"id": theirs.id}, {"event": theirs.seq}, {"event": 1}):
        with pytest.raises(NotFound):
            alice.proof.prove(**refused_call)
    memory.erase(mine.id)
    memory.proof.checkpoint()
    with pytest.raises(NotFound):  # whose event it was is not known any more
        alice.proof.prove(event=mine.seq)


@pytest.mark.parametrize("origin", ["agent", "unverified"])
def test_only_a_person_signs(memory: Memory, origin: Trust) -> None:
    made = memory.remember("One.")
    key = keyed(memory)
    other = memory.scoped(trust=origin)
    with pytest.raises(Forbidden, match="signing a checkpoint needs a person"):
        other.proof.checkpoint()
    with pytest.raises(Forbidden, match="covers event 2 needs a person"):
        other.proof.prove(made.id)
    assert handle_of(memory).space.checkpoints().sizes() == []  # else one was signed
    memory.proof.checkpoint()
    assert "One." in said(other.proof.prove(made.id), key)  # it is covered


def test_what_is_on_a_branch_only_is_not_proved(memory: Memory) -> None:
    keyed(memory)
    memory.branches.open("plan")
    branch = memory.on("plan")
    branch.remember("Perhaps.")
    with pytest.raises(Unsupported, match="branch"):
        branch.proof.prove(event=2)


def test_hashes_that_were_kept_are_not_believed(tmp_path: Path) -> None:
    memory = Memory.open(tmp_path / "w", embedder="none")
    with memory.batch() as batch:
        for number in range(700):
            batch.remember(f"Fact number {number}.")
    key = keyed(memory)
    first = memory.proof.prove(event=10)
    (kept,) = keys_folder().glob("*.tree")
    good = kept.read_bytes()
    for bad in (b"", b"junk", good[:8] + bytes(len(good) - 8), good[:-1]):
        kept.write_bytes(bad)
        assert memory.proof.prove(event=10) == first
        assert kept.read_bytes() == good
    kept.unlink()
    kept.mkdir()  # cannot be read or written
    assert memory.proof.prove(event=10) == first
    assert "Fact number" in said(first, key)


def test_a_ledger_that_was_changed_proves_nothing(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "w", embedder="none") as memory:
        for number in range(9):
            memory.remember(f"Fact number {number}.")
        keyed(memory)
        memory.proof.checkpoint()
        ledger = tmp_path / "w" / "events.wal"
        lines = ledger.read_bytes().splitlines(keepends=True)
        broken = lines[4].replace(b'"hash":"', b'"hash":"0')[:-1] + b"\n"
        ledger.write_bytes(b"".join([*lines[:4], broken, *lines[5:]]))
        with pytest.raises((IntegrityError, Conflict)):
            memory.proof.prove(event=3)


def test_sealed_segments_are_searched_too(tmp_path: Path) -> None:
    memory = Memory.open(tmp_path / "w", embedder="none")
    key = keyed(memory)
    for part in range(3):
        with memory.batch() as batch:
            for number in range(300):
                batch.remember(f"Fact {part} {number}.")
        memory.admin.seal()
    for seq in (1, 2, 299, 303, 600, 601, 903, 904):
        assert f"event {seq} of" in said(memory.proof.prove(event=seq), key)


def test_both_keys_of_a_rotation_check_it(memory: Memory) -> None:
    made = memory.remember("One.")
    old = keyed(memory)
    new = Keys(memory).rotate().key
    proof = memory.proof.prove(made.id)
    assert "One." in said(proof, old, new)
    wrong = SCRIPT["Wrong"]
    with pytest.raises(wrong, match="whose key was not given"):
        said(proof, new)
    given = [SCRIPT["key_of"](new)]
    assert "not checked" in "\n".join(SCRIPT["verify"](proof.document.encode(), given, True))
