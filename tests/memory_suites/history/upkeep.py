"""The part of ``MemorySuite`` about erasing, verifying and rebuilding."""

from __future__ import annotations

import pytest

from recollect.errors import Conflict, Forbidden, InvalidInput, NotFound
from recollect.memory import Memory
from recollect.testing.rebuilding import rebuilt_digest
from tests.memory_suites.behind import BehindSuite


class UpkeepSuite(BehindSuite):
    """What is erased is gone, and the rest can be verified."""

    def test_erasing_removes_a_record_and_its_own_sources(
        self, memory: Memory, engine: Memory
    ) -> None:
        (own,) = memory.observe("canary one")
        (shared,) = memory.observe("canary two")
        record = memory.remember("canary", evidence=[own.id, shared.id], idempotency_key="req")
        other = memory.remember("other", evidence=[shared.id])
        memory.graph.link(other.id, record.id)
        planned = memory.erase(record.id, dry_run=True)
        assert memory.get(record.id) == record
        report = memory.erase(record.id, reason="asked to")
        assert (planned.events, planned.episodes, planned.kept) == (
            report.events,
            report.episodes,
            report.kept,
        )
        assert (report.episodes, report.kept) == ((own.id,), (shared.id,))
        assert len(report.events) == 3
        assert report.places
        for id in (record.id, own.id):
            with pytest.raises(NotFound):
                memory.get(id, include=["forgotten", "replaced"])
        assert memory.get(shared.id) == shared
        assert memory.why(other.id).links == ()
        verification = memory.admin.verify(deep=True)
        assert (verification.ok, verification.erased) == (True, 3)
        with pytest.raises(Conflict):
            memory.remember("canary", idempotency_key="req")
        with pytest.raises(NotFound):
            memory.erase(record.id)
        digest = memory.admin.digest()
        assert rebuilt_digest(engine.admin) == digest

    def test_sources_can_outlive_an_erasure(self, memory: Memory) -> None:
        (episode,) = memory.observe("words")
        record = memory.remember("belief", evidence=[episode.id])
        report = memory.erase(record.id, sources=False)
        assert (report.episodes, report.kept) == ((), (episode.id,))
        assert memory.erase(episode.id).events == (episode.seq,)

    def test_verify_and_rebuild_tell_progress(self, engine: Memory) -> None:
        engine.remember("words")
        told: list[tuple[int, int]] = []
        assert engine.admin.verify(lambda done, total: told.append((done, total))).events == 2
        assert told[-1][0] == told[-1][1]
        told.clear()
        assert engine.admin.verify(lambda done, total: told.append((done, total)), deep=True).ok
        assert told[-1][0] == told[-1][1]
        assert told == sorted(told)
        assert engine.admin.rebuild(lambda done, total: told.append((done, total))).events == 2

    def test_a_memory_that_was_never_written_to_verifies(self, engine: Memory) -> None:
        """It must be the first call: any other would begin the ledger."""
        assert (engine.admin.verify().ok, engine.admin.verify().events) == (True, 1)

    def test_status_counts(self, memory: Memory) -> None:
        (episode,) = memory.observe("said")
        a = memory.remember("one", evidence=[episode.id])
        memory.remember("two")
        memory.scoped(trust="unverified").remember("three")
        memory.forget(a.id)
        status = memory.status()
        assert (status.records, status.waiting, status.forgotten, status.replaced) == (1, 1, 1, 0)
        assert (status.episodes, status.hidden, status.links) == (1, 1, 0)
        assert status.seq == memory.events.position
        assert status.where == memory.where
        assert "Memory(" in repr(memory)
        assert "at=" in repr(memory.at(1))

    def test_status_follows_every_change(self, memory: Memory) -> None:
        (episode,) = memory.observe("said")
        assert memory.status().episodes == 1  # counted; from here on it is brought up to date
        a = memory.remember("one", evidence=[episode.id])
        b = memory.remember("two", key="k")
        memory.graph.link(a.id, b.id)
        seen = memory.status()
        assert (seen.records, seen.links, seen.hidden) == (2, 1, 0)
        memory.forget(a.id)
        memory.graph.unlink(a.id, b.id)
        memory.remember("three", key="k")
        seen = memory.status()
        assert (seen.records, seen.links, seen.hidden) == (1, 0, 1)
        assert (seen.forgotten, seen.replaced, seen.seq) == (1, 1, memory.events.position)
        memory.undo(a.id)
        assert (memory.status().records, memory.status().hidden) == (2, 0)
        memory.erase(a.id)
        seen = memory.status()
        assert (seen.records, seen.episodes, seen.hidden) == (1, 0, 0)

    def test_only_a_person_accepts_a_loss(self, engine: Memory) -> None:
        with pytest.raises(Forbidden):
            engine.scoped(trust="agent").admin.accept_loss()

    def test_a_ledger_is_compared_with_an_anchor(self, memory: Memory) -> None:
        memory.remember("one")
        kept = memory.admin.verify().anchor
        memory.remember("two")
        later = memory.admin.verify(anchor=kept)
        assert (later.ok, later.status) == (True, "anchored")
        assert memory.admin.verify(deep=True, anchor=f" {kept.upper()}\n").status == "anchored"
        seq, _, hash = kept.partition(":")
        other = memory.admin.verify(anchor=f"{seq}:{'0' * 64}")
        assert (other.ok, other.status) == (False, "not anchored")
        assert f"event {seq} has another hash" in str(other.problem)
        assert not memory.admin.verify(anchor=f"{int(seq) - 1}:{hash}").ok
        beyond = memory.admin.verify(anchor=f"99:{hash}")
        assert (beyond.ok, "99" in str(beyond.problem)) == (False, True)
        assert not memory.admin.verify(anchor=f"0:{hash}").ok
        for wrong in ("", hash, f"{seq}:", f"x:{hash}", f"{seq}:{hash}0", 3):
            with pytest.raises(InvalidInput):
                memory.admin.verify(anchor=wrong)  # type: ignore[arg-type]
