"""Pages from the last rendering are the same as pages from nothing, on a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.index import page_reads
from recollect.memory.handle import Handle
from recollect.store.postgres.backend import PostgresBackend
from tests.suites.rendering import Unsynced, rendered


def test_pages_from_the_last_rendering_are_the_same(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seam = Unsynced(7, 1_700_000_000_000_000)
    backend = PostgresBackend(database, seam=seam)
    handle = Handle(backend.space("main", create=True), seam)
    total = rendered(handle, seam, 7, tmp_path / "pages", 30)
    assert total["different"] == total["read otherwise"] == 0
    monkeypatch.setattr(page_reads, "links_changed", lambda *_: set())  # the control
    handle = Handle(backend.space("other", create=True), seam)
    assert rendered(handle, seam, 8, tmp_path / "other", 60)["different"] > 0
    backend.close()
