"""Pages from the last rendering are the same as pages from nothing, on a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import Memory
from recollect.index import page_reads
from recollect.memory.handle.handle import Handle
from recollect.store.postgres.ledgers import PostgresBackend
from tests.postgres.conftest import entered, make_token
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


def test_a_token_for_one_user_renders_what_a_handle_for_one_does(
    database: str, tmp_path: Path
) -> None:
    token = make_token(database, "ann", space="main", trust="person", user="ann")
    server = PostgresBackend(database)
    limited = entered(server, token)
    try:
        owner = Memory(Handle(server.space("main", create=True)))
        theirs = owner.remember("Bob's.", about="alice")
        mine = owner.scoped(user="ann", session="s").remember("Ann's.", about="alice")
        owner.graph.link(mine.id, theirs.id, "related")
        ann = Memory(Handle(limited.space("main", create=False)))
        for number in range(3):
            ann.remember(f"Number {number}.", about=("Alice", "bob", None)[number])
            ann.pages.render(tmp_path / "token")
            owner.scoped(user="ann").pages.render(tmp_path / f"handle-{number}")
            assert _texts(tmp_path / "token") == _texts(tmp_path / f"handle-{number}")
            assert "Bob" not in str(_texts(tmp_path / "token"))
    finally:
        server.close()


def _texts(folder: Path) -> dict[str, list[str]]:
    """The pages, without when a memory began: a token for one user does not see that."""
    own = ("created", "updated", "position", "- [User P")
    return {
        path.name: [line for line in path.read_text().split("\n") if not line.startswith(own)]
        for path in folder.glob("*.md")
    }
