"""Proofs and audits of a memory on a server: the same as in a folder, and to the same people."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.errors import Forbidden, NotFound
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.memory.keys import Keys
from recollect.store.postgres.ledgers import PostgresBackend
from tests.postgres.conftest import entered, make_token

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "verify_proof.py"))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def shared(database: str) -> Iterator[Memory]:
    backend = PostgresBackend(database)
    yield Memory(Handle(backend.space("main", create=True)))
    backend.close()


def test_events_on_a_server_are_proved_and_audited(shared: Memory) -> None:
    with shared.batch() as batch:
        for number in range(600):
            batch.remember(f"Fact number {number}.")
    gone = shared.remember("The canary sings.")
    key = Keys(shared).create().key
    shared.erase(gone.id, reason="asked for")
    for seq in (1, 2, 255, 256, 257, 513, 601, gone.seq):
        proof = shared.proof.prove(event=seq)
        said = SCRIPT["verify"](proof.document.encode(), [SCRIPT["key_of"](key)])
        assert f"event {seq} of" in said[0]
        assert "canary" not in proof.document
    entries = shared.proof.audit(after=600)
    assert ("erased", "asked for") in [(entry.what, entry.reason) for entry in entries]
    assert entries[-1].unit == "checkpoint"


def test_a_token_for_one_user_reads_no_ledger_and_audits_its_own(
    shared: Memory, database: str
) -> None:
    alice = shared.scoped(user="alice").remember("Alice sits in 14C.")
    bob = shared.scoped(user="bob").remember("The canary sits in 3A.")
    Keys(shared).create()
    shared.proof.checkpoint()
    token = make_token(database, "a", space="main", trust="person", user="alice")
    backend = PostgresBackend(database)
    try:
        mine = Memory(Handle(entered(backend, token).space("main", create=False)))
        with pytest.raises((Forbidden, NotFound)):
            mine.proof.prove(alice.id)  # a line is found in the whole ledger
        with pytest.raises((Forbidden, NotFound)):
            mine.proof.prove(event=bob.seq)
        assert (mine.events.get(alice.seq).body or {})["text"] == "Alice sits in 14C."
        for hidden in (bob.seq, 1, shared.events.position + 1):
            with pytest.raises(NotFound):
                mine.events.get(hidden)
            assert mine._handle.space.line(hidden) is None
        entries = mine.proof.audit()
        assert [entry.seq for entry in entries] == [alice.seq]
        assert "canary" not in str([entry.to_dict() for entry in entries])
    finally:
        backend.close()
