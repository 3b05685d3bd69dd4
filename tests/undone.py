"""What an undo has brought back, for tests that go on with it."""

from __future__ import annotations

from recollect.model.values import Record, Undone


def brought_back(undone: Undone) -> Record:
    """The record that holds again."""
    assert undone.record is not None
    return undone.record
