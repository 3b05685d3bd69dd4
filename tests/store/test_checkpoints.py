"""Checkpoints in files and in memory pass the published suite."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.store.disk.layout import CHECKPOINTS, FRONTIER
from recollect.store.files.backend import FileBackend
from recollect.store.indexed.backend import MemoryBackend
from recollect.store.port import Backend
from recollect.testing.checkpoint_suite import CheckpointSuite, filled, note_of


class TestFiles(CheckpointSuite):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> Iterator[Backend]:
        backend = FileBackend(tmp_path / "workspace")
        yield backend
        backend.close()


class TestMemory(CheckpointSuite):
    @pytest.fixture
    def backend(self) -> Iterator[Backend]:
        backend = MemoryBackend()
        yield backend
        backend.close()


def test_another_process_finds_a_note(tmp_path: Path) -> None:
    first, second = FileBackend(tmp_path), FileBackend(tmp_path)
    space = filled(first)
    space.checkpoints().keep(2, note_of(space, 2))
    assert second.space("main", create=False).checkpoints().note(2) == note_of(space, 2)
    first.close()
    second.close()


def test_only_regular_files_are_notes_and_no_link_is_written_through(tmp_path: Path) -> None:
    """A folder from elsewhere may hold anything under these names."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    backend = FileBackend(tmp_path / "workspace")
    space = filled(backend)
    notes, folder = space.checkpoints(), tmp_path / "workspace" / CHECKPOINTS
    folder.mkdir()
    (folder / "2.note").symlink_to(victim)
    (folder / FRONTIER).symlink_to(victim)
    (folder / "98.note").symlink_to(tmp_path / "nowhere")
    os.mkfifo(folder / "99.note")
    assert notes.sizes() == []
    notes.keep(2, note_of(space, 2))
    notes.keep_frontier(b"{}")
    assert victim.read_text() == "mine"
    assert notes.sizes() == [2]
    assert (notes.note(2), notes.frontier()) == (note_of(space, 2), b"{}")
    backend.close()
