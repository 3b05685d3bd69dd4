"""Random stores of other programs, imported, changed there and imported again, field by field."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from recollect import Memory
from recollect.model.values import Imported
from tests.exchange.foreign import Foreign, Said, held, linked, records
from tests.exchange.foreign_chats import Chats
from tests.exchange.foreign_json import Graph, Memories
from tests.exchange.foreign_notes import Vault

Make = Callable[[random.Random, int], Foreign]
STORES: dict[str, Make] = {
    "basic-memory": Vault,
    "chatgpt": Chats,
    "mcp-memory": Graph,
    "mem0": Memories,
}
SEEDS = (0, *(pytest.param(seed, marks=pytest.mark.ci) for seed in range(1, 10)))


def story(make: Make, seed: int, count: int, folder: Path) -> None:
    """Imports a store three times: new, unchanged and changed; what is held is compared."""
    store = make(random.Random(seed), count)
    with Memory.open(folder / "store", embedder="none") as memory:
        path = store.write(folder / "first")
        planned = memory.admin.import_(path, dry_run=True)
        done = memory.admin.import_(path)
        assert shown(planned) == shown(done)
        assert done.format == store.format
        assert (done.refused, done.problems, done.changed, done.forgotten) == (0, (), 0, 0)
        assert done.left_out == store.left_out()
        compare(memory, store, folder)
        digest = memory.admin.digest()
        again = memory.admin.import_(path)
        assert (again.kept, again.changed, again.forgotten, again.refused) == (0, 0, 0, 0)
        assert (again.known, again.missing) == (done.kept, 0)
        assert memory.admin.digest() == digest
        for number in range(3):
            before = {str(one["id"]): one for one in all_records(memory, folder)}
            was = store.expected(), store.links()
            store.change()
            path = store.write(folder / f"changed-{number}")
            planned = memory.admin.import_(path, dry_run=True)
            done = memory.admin.import_(path)
            assert shown(planned) == shown(done)
            assert (done.refused, done.problems, done.missing) == (0, (), 0)
            assert done.left_out == store.left_out()
            compare(memory, store, folder)
            added = (store.expected() - was[0]).total() + (store.links() - was[1]).total()
            gone = (was[0] - store.expected()).total() + (was[1] - store.links()).total()
            after = all_records(memory, folder)
            new = [one for one in after if one["id"] not in before]
            back = [one for one in after if returned(before.get(str(one["id"])), one)]
            names = sum(one["text"] == one.get("about") for one in new)
            assert done.kept + done.changed == added + names
            assert done.changed + done.forgotten == gone + len(back)
            digest = memory.admin.digest()
            memory.admin.import_(path)
            assert memory.admin.digest() == digest


def returned(before: dict[str, object] | None, after: dict[str, object]) -> bool:
    """True for a record that had ended and holds again."""
    return before is not None and before["status"] != "active" == after["status"]


def shown(done: Imported) -> dict[str, object]:
    """What a report says; a dry run must say the same."""
    return msgspec.to_builtins(msgspec.structs.replace(done, dry_run=True))  # type: ignore[no-any-return]


def all_records(memory: Memory, folder: Path) -> list[dict[str, object]]:
    return [line["record"] for line in held(memory, folder) if "record" in line]


def compare(memory: Memory, store: Foreign, folder: Path) -> None:
    found, wanted = records(memory, folder), store.expected()
    assert found - wanted == {}
    assert wanted - found == {}
    assert linked(memory, folder) == store.links()


@pytest.mark.parametrize("format", STORES)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_store_comes_in_and_follows(format: str, seed: int, tmp_path: Path) -> None:
    story(STORES[format], seed, 8, tmp_path)


@pytest.mark.ci
@pytest.mark.parametrize("format", STORES)
def test_a_store_of_200_comes_in_and_follows(format: str, tmp_path: Path) -> None:
    story(STORES[format], 7, 200, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("format", STORES)
def test_200_random_stores_come_in_and_follow(format: str, tmp_path: Path) -> None:
    first = random.randrange(2**32)
    for seed in range(first, first + 200):
        folder = tmp_path / str(seed)
        folder.mkdir()
        story(STORES[format], seed, random.Random(seed).randrange(1, 40), folder)
        shutil.rmtree(folder)


@pytest.mark.parametrize("format", ["mcp-memory", "mem0"])
def test_a_store_goes_out_in_its_format_and_comes_in_again(format: str, tmp_path: Path) -> None:
    store = STORES[format](random.Random(5), 40)
    one = Memory.open(tmp_path / "one", embedder="none")
    other = Memory.open(tmp_path / "other", embedder="none")
    one.admin.import_(store.write(tmp_path / "files"))
    one.admin.export(format, tmp_path / "out.json")
    done = other.admin.import_(tmp_path / "out.json", format)
    assert (done.refused, done.problems, done.left_out) == (0, (), {})
    found = [undated(records(memory, tmp_path)) for memory in (one, other)]
    assert found[0] == found[1]
    assert linked(one, tmp_path) == linked(other, tmp_path)
    digest = other.admin.digest()
    other.admin.import_(tmp_path / "out.json", format)
    assert other.admin.digest() == digest


def undated(said: Counter[Said]) -> Counter[Said]:
    """Without the dates in the data, which mem0 writes in more than one way."""
    found: Counter[Said] = Counter()
    for one, count in said.items():
        data = {name: value for name, value in json.loads(one.data).items() if name != "created_at"}
        found[msgspec.structs.replace(one, data=json.dumps(data, sort_keys=True))] += count
    return found
