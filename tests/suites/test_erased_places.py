"""Wherever an erased word is left, the report of the erasure names that place.

The places are made, not listed: whatever holds the word afterwards must be named, so a place that
nobody thought of fails this test as soon as something is written there.
"""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from recollect import Memory
from recollect.memory import Store
from recollect.store.files.copies import copies
from tests.store.files.test_holders import neighbour
from tests.suites.canaries import canary, files_hit

BEFORE = ("events.wal", "index.db", "sealed", "backup", "spaces", "copies", "restored")


def made(root: Path, word: str) -> Memory:
    """A memory whose word lies in every kind of place that this release writes or knows."""
    where = root / "workspace"
    memory = Memory.open(where)
    memory.remember(f"The word is {word}", tags=[word], key=f"key.{word}", about=word)
    memory.admin.seal()
    memory.admin.backup()
    memory.admin.backup(where / "backup" / "monthly" / "november")
    memory.admin.backup(where / "spaces" / "old")
    memory.admin.backup(root / "disk" / "outside")
    (where / "copies").mkdir()
    for path in (where / "sealed").iterdir():
        shutil.copy(path, where / "copies" / "by-hand.txt")
        os.link(path, where / "copies" / "second-name")
    with Store.restore_backup(root / "disk" / "outside", where / "restored") as used:
        used.list()
    with open(where / "events.wal", "ab") as ledger:  # a crash in the middle of an append
        ledger.write(f'{{"tx":"torn {word}'.encode())
    memory.remember("The sea is blue")
    return memory


def unnamed(root: Path, word: str, places: tuple[str, ...]) -> set[str]:
    """The files that hold the word and that no line of the report names as not clean."""
    told = [place for place in places if place.startswith("NOT")]
    return {
        name
        for name in files_hit(root, [word])
        if not any(str(folder) in line for folder in _above(root, name) for line in told)
    }


def _above(root: Path, name: str) -> list[Path]:
    """A file and the folders around it, below the workspace and the disk."""
    path = root / name
    return [path, *(folder for folder in path.parents if len(folder.parts) > len(root.parts) + 1)]


def test_every_place_that_keeps_a_word_is_named(tmp_path: Path) -> None:
    word = canary(random.Random(11))
    with made(tmp_path, word) as memory, Store.open(tmp_path / "workspace") as store:
        store.space("alice").remember("Another space")
        before = files_hit(tmp_path / "workspace", [word])
        assert {name.partition("/")[0].partition("-")[0] for name in before} >= set(BEFORE) - {
            "events.wal"
        }
        assert any(name.endswith(".torn") for name in before)
        (record,) = [one for one in memory.list() if word in one.text]
        with neighbour(tmp_path / "workspace") as reader:
            places = memory.erase(record.id).places
            assert [place for place in places if f"process {reader.pid} " in place]
    assert unnamed(tmp_path, word, places) == set()
    left = {name.split("/")[1] for name in files_hit(tmp_path, [word])}
    assert left == {"restored", "outside"}  # a memory in use, and a backup elsewhere: both named


def test_control_a_place_that_is_forgotten_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    word = canary(random.Random(12))

    def nothing(work: copies._Work) -> None:
        """No walk: what is not noted is forgotten."""

    with made(tmp_path, word) as memory:
        (record,) = [one for one in memory.list() if word in one.text]
        monkeypatch.setattr(copies._Work, "_change_found", nothing)
        places = memory.erase(record.id).places
    assert {name.rpartition("/")[2] for name in unnamed(tmp_path, word, places)} >= {
        "by-hand.txt",
        "second-name",
    }
