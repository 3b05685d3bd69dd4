"""The part of ``MemorySuite`` about what is newest, and about overviews."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import pytest

from recollect.errors import Forbidden, InvalidInput
from recollect.memory import Memory
from recollect.model.values import Episode, Record


def _texts(found: Sequence[Record | Episode]) -> list[str]:
    return [one.text for one in found]


class RecentSuite:
    """What is newest comes first, in the whole memory or in one scope of it."""

    def test_recent_orders_by_the_instant_said(self, memory: Memory) -> None:
        memory.remember("a record")
        memory.observe("said long ago", said_at="2020-05-01")
        memory.observe("said longer ago", said_at="2019-05-01")
        memory.observe("said just now")
        memory.remember("another record")
        newest = ["another record", "said just now", "a record", "said long ago", "said longer ago"]
        assert _texts(memory.sessions.recent()) == newest
        assert _texts(memory.sessions.recent(limit=2)) == newest[:2]
        assert _texts(memory.sessions.recent(unit="record")) == ["another record", "a record"]
        assert _texts(memory.sessions.recent(unit="episode")) == [newest[1], *newest[3:]]

    def test_recent_puts_a_changed_record_first(self, memory: Memory) -> None:
        first = memory.remember("Tea at four.")
        memory.remember("Cake on Sunday.")
        memory.revise(first.id, "Tea at five.")
        assert _texts(memory.sessions.recent()) == ["Tea at five.", "Cake on Sunday."]

    def test_recent_keeps_to_a_stretch_of_time(self, memory: Memory) -> None:
        for year in (2018, 2019, 2020):
            memory.observe(f"in {year}", said_at=date(year, 6, 1))
        memory.remember("today")
        assert _texts(memory.sessions.recent(since="2019-06-01")) == ["today", "in 2020", "in 2019"]
        assert _texts(memory.sessions.recent(before="2019-06-01")) == ["in 2018"]
        assert _texts(memory.sessions.recent(since="2019-01-01", before="2020-01-01")) == [
            "in 2019"
        ]
        assert memory.sessions.recent(since="2199-01-01") == []
        with pytest.raises(InvalidInput, match="ISO 8601"):
            memory.sessions.recent(since="last tuesday")

    def test_a_record_that_was_said_earlier_counts_by_that_instant(self, memory: Memory) -> None:
        memory.observe("an episode of May", said_at="2019-05-10")
        for month in (4, 6):
            memory.remember(f"a record of 2019-0{month}", said_at=date(2019, month, 1))
        memory.remember("of today")
        memory.scoped(user="ann").remember("Ann's of July", said_at="2019-07-01")
        newest = [
            "of today",
            "Ann's of July",
            "a record of 2019-06",
            "an episode of May",
            "a record of 2019-04",
        ]
        assert _texts(memory.sessions.recent()) == newest
        assert _texts(memory.sessions.recent(limit=2)) == newest[:2]
        assert _texts(memory.sessions.recent(unit="record", limit=1)) == newest[:1]
        assert (
            _texts(memory.sessions.recent(since="2019-05-01", before="2019-07-01")) == newest[2:4]
        )
        assert _texts(memory.sessions.recent(before="2019-05-01")) == newest[4:]
        assert _texts(memory.sessions.recent(since="2020-01-01")) == newest[:1]
        assert _texts(memory.sessions.recent(user="ann")) == newest[1:2]
        june = memory.sessions.overview(since="2019-06-01", before="2019-07-01")
        assert (june.records, _texts(june.changed)) == (1, [newest[2]])
        assert (
            memory.sessions.overview().records,
            memory.sessions.overview(before="2020-01-01").records,
        ) == (4, 3)
        summer = memory.scoped(user="ann").sessions.overview(
            since="2019-06-01", before="2019-08-01"
        )
        assert (summer.records, _texts(summer.changed)) == (1, [newest[1]])

    def test_many_that_were_said_earlier_are_read_in_pages(self, memory: Memory) -> None:
        with memory.batch() as batch:
            for n in range(28):
                batch.remember(f"kept {n}", said_at=date(2020, 1, 1 + n))
            for n in range(28):
                batch.remember(f"ended {n}", said_at=date(2020, 2, 1 + n), valid_to="2020-03-01")
        assert _texts(memory.sessions.recent(limit=2)) == ["kept 27", "kept 26"]
        assert len(memory.sessions.recent(limit=100)) == 28

    def test_a_record_may_be_found_by_the_date_on_which_it_was_said(self, memory: Memory) -> None:
        memory.remember("The heron was at the lake.", said_at="2019-05-10", id="may")
        memory.remember("The heron was at the lake again.", said_at="2019-08-10", id="august")
        first = memory.recall("where was the heron in May 2019?")[0]
        assert (first.id, first.shares["date"] > 0) == ("may", True)
        assert memory.recall("where was the heron in August 2019?")[0].id == "august"

    def test_a_scope_is_compared_exactly(self, memory: Memory) -> None:
        names = ["ann", "Ann", "ann_", "ann%", "ann/b", "annb", "a_n"]
        for name in names:
            for part in ("user", "session", "agent"):
                handle = memory.scoped(**{part: name})  # type: ignore[arg-type]
                handle.remember(f"record of {part} {name}")
                handle.observe(f"said by {part} {name}")
        for name in names:
            for part in ("user", "session", "agent"):
                found = memory.sessions.recent(**{part: name})  # type: ignore[arg-type]
                assert _texts(found) == [f"said by {part} {name}", f"record of {part} {name}"]
        assert memory.sessions.recent(user="%") == memory.sessions.recent(session="_") == []
        assert memory.sessions.recent(user="ann", session="ann") == []  # both must hold

    def test_recent_is_limited_to_the_handles_user(self, memory: Memory) -> None:
        memory.scoped(user="ann").remember("Ann's note")
        memory.scoped(user="bob").remember("Bob's note")
        ann = memory.scoped(user="ann")
        assert (
            _texts(ann.sessions.recent())
            == _texts(ann.sessions.recent(user="ann"))
            == ["Ann's note"]
        )
        with pytest.raises(Forbidden, match="for user 'ann' only"):
            ann.sessions.recent(user="bob")
        assert (ann.sessions.overview().records, memory.sessions.overview().records) == (1, 2)
        assert _texts(ann.sessions.overview().changed) == ["Ann's note"]

    def test_recent_leaves_out_what_a_default_read_does(self, memory: Memory) -> None:
        gone = memory.remember("forgotten")
        memory.remember("old value", key="k")
        memory.remember("new value", key="k")
        memory.remember("expired", valid_to="2020-01-01")
        memory.forget(gone.id)
        memory.forget(memory.observe("said and forgotten")[0].id)
        memory.scoped(trust="unverified").remember("held")
        memory.scoped(trust="unverified").observe("unverified")
        assert _texts(memory.sessions.recent()) == ["new value"]
        found = memory.sessions.overview()
        assert (found.records, found.episodes) == (1, 0)

    def test_recent_reads_on_until_there_is_enough(self, memory: Memory) -> None:
        with memory.batch() as batch:
            for n in range(20):
                batch.remember(f"kept record {n}")
                batch.observe(f"kept episode {n}", said_at=date(2020, 1, 1))
            for n in range(100):
                batch.remember(f"expired {n}", valid_to="2020-01-01")
        for episode in memory.scoped(trust="unverified").observe(
            [{"role": "user", "content": f"unverified {n}"} for n in range(40)]
        ):
            assert episode.trust == "unverified"
        assert _texts(memory.sessions.recent(unit="record", limit=2)) == [
            "kept record 19",
            "kept record 18",
        ]
        said = memory.sessions.recent(unit="episode", limit=2)
        assert _texts(said) == ["kept episode 19", "kept episode 18"]
        assert len(memory.sessions.recent(limit=1_000)) == 40

    def test_recent_reads_the_past(self, memory: Memory) -> None:
        memory.remember("first")
        memory.observe("second", id="e2")
        then = memory.events.position
        memory.remember("third")
        memory.forget("e2")
        assert _texts(memory.sessions.recent()) == ["third", "first"]
        assert _texts(memory.at(then).sessions.recent()) == ["second", "first"]
        assert memory.at(0).sessions.recent() == []
        assert (
            memory.at(then).sessions.overview().records,
            memory.at(then).sessions.overview().episodes,
        ) == (1, 1)

    def test_an_overview_groups_and_counts(self, memory: Memory) -> None:
        for n in range(5):
            memory.remember(f"fact {n}")
            memory.observe(f"said {n}", said_at=date(2020, 1, 1 + n))
        memory.remember("fact 1")
        memory.remember("fact 3")
        memory.remember("fact 3")
        found = memory.sessions.overview(limit=2)
        assert _texts(found.used) == ["fact 3", "fact 1"]
        assert _texts(found.changed) == ["fact 4", "fact 2"]
        assert _texts(found.said) == ["said 4", "said 3"]
        assert (found.records, found.more_records) == (5, 1)
        assert (found.episodes, found.more_episodes) == (5, 3)
        early = memory.sessions.overview(before="2020-01-03")
        assert (early.records, _texts(early.said)) == (0, ["said 1", "said 0"])
        assert early.before == "2020-01-03T00:00:00.000000Z"
