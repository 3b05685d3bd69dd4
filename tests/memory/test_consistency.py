"""``memory.check``: what leads nowhere is found, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import Memory
from recollect.errors import Forbidden, Unsupported
from recollect.ledger.chain import SALT_BYTES, Draft, chain
from recollect.ledger.scan import scan
from recollect.model import events as e
from tests.memory.test_forged import forge
from tests.suites.ledgers import Life


def test_links_without_an_end_and_events_without_effect_are_found(tmp_path: Path) -> None:
    # S1-106 S1-107: a link to a record that is not there, events about nothing
    with Memory.open(tmp_path / "m", embedder="none") as memory:
        memory.remember("A crane.", id="r-a")
        memory.remember("A gate.", id="r-b")
        memory.graph.link("r-a", "r-b")
        assert memory.admin.check() == []
        assert [each.what for each in memory.admin.doctor() if each.level != "ok"] == []
    missing = [
        e.LinkAdded(source="r-a", target=f"r-{n}", kind="cites", trust="person") for n in range(7)
    ]
    forge(tmp_path, "person", *missing, e.RecordForgotten(id="r-none"))
    forge(tmp_path, "unverified", e.RecordForgotten(id="r-b"))
    with Memory.open(tmp_path / "m", embedder="none") as memory:
        links, events = memory.admin.check()
        assert links.detail == (
            "7 links without a record at one end: r-a cites r-0, r-a cites r-1, r-a cites r-2, "
            "r-a cites r-3, r-a cites r-4 and 2 more"
        )
        assert events.detail.startswith(
            "2 events changed nothing: 12 (record.forgotten), 13 (record.forgotten)."
        )
        assert links.fix
        assert events.fix
        assert (links.level, events.level) == ("note", "note")
        assert memory.admin.doctor()[-2:] == [links, events]
        assert [record.id for record in memory.graph.neighbours("r-a").records] == ["r-a", "r-b"]
        with pytest.raises(Forbidden):
            memory.scoped(user="ann").admin.check()
        assert memory.scoped(user="ann").admin.doctor()  # without what concerns the whole space


def test_events_of_a_newer_release_are_named(tmp_path: Path) -> None:  # S1-108
    with Memory.open(tmp_path / "m", embedder="none") as memory:
        memory.remember("A crane.")
    (file,) = tmp_path.rglob("events.wal")
    *_, append = scan([file.read_bytes()])
    last = append.lines[-1]
    drafts = [Draft("newer.1", "crane.lifted", "person", b"{}")]
    data, _ = chain(append.head, last.at, drafts, bytes(SALT_BYTES))
    with file.open("ab") as ledger:
        ledger.write(data)
    with Memory.open(tmp_path / "m", embedder="none") as memory:
        with pytest.raises(Unsupported, match="newer release"):
            memory.list()
        (found,) = memory.admin.check()
        assert found.level == "problem"
        assert "'crane.lifted', version 1 (1 event)" in found.detail
        assert str(found.fix).startswith("update Recollect")


def test_a_ledger_with_every_kind_of_event_has_no_findings(tmp_path: Path) -> None:
    """The control of the other direction: what an engine writes is never found."""
    life = Life(tmp_path, 3)
    life.until(lambda data: len(data) > 60_000)
    life.misfortunes()
    life.one_of_each()
    life.close()
    with Memory.open(tmp_path, embedder="none") as memory:
        assert memory.admin.check() == []
        calls: list[tuple[int, int]] = []
        memory.admin.check(lambda done, total: calls.append((done, total)))
        assert calls[-1][0] == calls[-1][1] > 0
