"""An import into a server: everything once, and on a shared store everything waits for a review."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.exchange.formats import FORMATS
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.store.indexed.backend import MemoryBackend
from recollect.store.postgres.ledgers import PostgresBackend
from tests.exchange.foreign import linked, records
from tests.exchange.foreign_json import Graph
from tests.exchange.foreign_notes import Vault
from tests.exchange.test_formats import make
from tests.postgres.conftest import entered, make_token
from tests.suites.histories import Clockwork

START_US = 1_000_000_000_000_000  # long ago: a server takes no event ahead of its own clock


@pytest.fixture
def memory(database: str) -> Iterator[Memory]:
    backend = PostgresBackend(database, seam=Clockwork(0, START_US))
    yield Memory(Handle(backend.space("main", create=True), Clockwork(0, START_US)))
    backend.close()


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_comes_in_as_it_does_elsewhere(name: str, memory: Memory, tmp_path: Path) -> None:
    make(name, tmp_path)
    path = next(tmp_path.glob("*.zip"), tmp_path)
    backend = MemoryBackend(seam=Clockwork(0, START_US))
    other = Memory(Handle(backend.space("main", create=True), Clockwork(0, START_US)))
    done = memory.admin.import_(path)
    assert done == other.admin.import_(path)
    assert memory.admin.import_(path).known == done.kept
    digests = [
        one.admin.export("ndjson", tmp_path.parent / f"{name}-{number}").digest
        for number, one in enumerate((memory, other))
    ]
    assert digests[0] == digests[1]
    backend.close()


@pytest.mark.parametrize("kind", [Vault, Graph])
def test_what_is_said_no_longer_ends_as_it_does_elsewhere(
    kind: type[Vault] | type[Graph], memory: Memory, tmp_path: Path
) -> None:
    store = kind(random.Random(11), 6)
    memory.admin.import_(store.write(tmp_path / "first"))
    store.change()
    assert memory.admin.import_(store.write(tmp_path / "changed")).refused == 0
    assert records(memory, tmp_path) == store.expected()
    assert linked(memory, tmp_path) == store.links()


@pytest.mark.parametrize("name", ["mem0", "recollect"])
def test_on_a_shared_store_everything_waits(
    name: str, memory: Memory, database: str, tmp_path: Path
) -> None:
    memory.remember("The owner's own words")
    make(name, tmp_path)
    verbs = ("read", "write")
    token = make_token(database, "all", space="main", verbs=verbs, trust="person")
    seam = Clockwork(1, START_US)
    backend = PostgresBackend(database, seam=seam)
    shared = Memory(Handle(entered(backend, token).space("main", create=False), seam))
    before = [record.id for record in shared.list()]
    done = shared.admin.import_(tmp_path)
    assert done.waiting
    assert done.records > 0
    assert [record.id for record in shared.list()] == before
    held = shared.list(filter="status = 'waiting'", include=["waiting"])
    assert len(held) == done.records
    assert {record.trust for record in held} == {"unverified"}
    refused = [problem.why for problem in done.problems]  # presets and documents are everybody's
    assert len(refused) == (2 if name == "recollect" else 0)
    backend.close()


def test_control_the_owner_imports_with_an_agents_trust(memory: Memory, tmp_path: Path) -> None:
    make("mem0", tmp_path)
    done = memory.admin.import_(tmp_path)
    assert not done.waiting
    assert {record.trust for record in memory.list()} == {"agent"}


def test_a_large_file_is_many_commands_and_few_appends(memory: Memory, tmp_path: Path) -> None:
    lines = [{"id": str(n), "memory": f"Fact {n}", "user_id": None} for n in range(2_500)]
    file = tmp_path / "mem0.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    assert memory.admin.import_(file, "mem0").records == 2_500
    assert memory.status().records == 2_500
    assert memory.admin.import_(file, "mem0").known == 2_500
