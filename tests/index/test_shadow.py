"""Shadows kept step by step are those that all evidence gives, at every position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

import pytest
from hypothesis import Phase, event, find, given, settings
from hypothesis import strategies as st

from recollect.index.fold import Clock, Fold
from recollect.index.rows import EpisodeRow, VersionRow, recallable_episode
from recollect.index.shadow import Shadows, resting, shadows
from recollect.index.statements import NOW
from recollect.index.tables import Tables
from recollect.model import events as e
from recollect.store.sqlite import SqliteDb, memory_index
from tests.index.test_fold import added, events

RECORDS = ("a", "b", "c")
EPISODES = ("e1", "e2", "e3")
BARE = settings(max_examples=300, database=None, phases=[Phase.generate])


def said(id: str, user: str | None = None) -> e.EpisodeObserved:
    return e.EpisodeObserved(
        id=id, text="w", role="user", said_at="2026-01-01T00:00:00.000000Z", user=user
    )


references = st.lists(st.sampled_from(EPISODES), unique=True).map(tuple)
trusts: st.SearchStrategy[e.Trust] = st.sampled_from(["person", "agent", "unverified"])
ids = st.sampled_from(RECORDS)
bodies: st.SearchStrategy[e.AnyBody] = st.one_of(
    st.builds(
        added,
        ids,
        st.just("words"),
        evidence=references,
        trust=trusts,
        status=st.sampled_from(["active", "held", "inbox", "forgotten"]),
        user=st.sampled_from([None, "ann"]),
    ),
    st.builds(
        e.RecordRevised,
        id=ids,
        trust=trusts,
        text=st.just("other words"),
        evidence=references,
    ),
    st.builds(e.RecordRevised, id=ids, trust=trusts, evidence=references),
    st.builds(e.RecordRevised, id=ids, trust=trusts, confidence=st.just(0.1)),
    st.builds(e.RecordForgotten, id=ids, sources=st.sampled_from(["shadow", "keep"])),
    st.builds(e.RecordRestored, id=ids),
    st.builds(e.RecordSuperseded, id=ids, by=st.just("z")),
    st.builds(said, st.sampled_from(EPISODES), st.sampled_from([None, "ann", "ben"])),
    st.builds(e.EpisodeForgotten, id=st.sampled_from(EPISODES)),
    st.builds(e.EpisodeRestored, id=st.sampled_from(EPISODES)),
    st.builds(e.EventsErased, targets=st.lists(st.integers(1, 12), max_size=3).map(tuple)),
    st.builds(e.EventsErased, targets=st.just(()), reason=st.sampled_from(RECORDS + EPISODES)),
)
# Two records on one episode, which chance alone rarely makes.
shared: list[e.AnyBody] = [said("e1"), added("a", evidence=("e1",)), added("b", evidence=("e1",))]


def once(history: list[e.AnyBody]) -> list[e.AnyBody]:
    """The same history, but that nothing is erased before it was, or twice.

    An erasure whose reason is an id names every event about it, as erasing a record does.
    """
    gone: set[int] = set()
    kept = list(history)
    for seq, body in enumerate(history, 1):
        if isinstance(body, e.EventsErased):
            named = {at for at, one in enumerate(history[: seq - 1], 1) if about(one, body.reason)}
            targets = ({target for target in body.targets if target < seq} | named) - gone
            gone |= targets
            kept[seq - 1] = e.EventsErased(targets=tuple(sorted(targets)))
    return kept


def about(body: e.AnyBody, id: str | None) -> bool:
    return id is not None and getattr(body, "id", None) == id


erased: list[e.AnyBody] = [e.EventsErased(targets=(), reason="a")]
histories = st.builds(
    lambda start, rest, end: once([*start, *rest, *end]),
    st.sampled_from([[], shared, [*shared, *erased]]),
    st.lists(bodies, min_size=1, max_size=20),
    st.sampled_from([[], erased]),
)


def differences(db: SqliteDb) -> list[str]:
    """Where the tables are not what all evidence gives."""
    found = []
    for id in EPISODES:
        sql = "SELECT seq, until FROM hidden WHERE episode = ? AND why = 'shadowed' ORDER BY seq"
        kept = db._connection.execute(sql, (id,)).fetchall()
        sql = "SELECT record, now FROM resting WHERE episode = ?"
        rested = dict(db._connection.execute(sql, (id,)))
        row = db.one("get_episode", {"id": id, "at": NOW})
        if row is None:
            found += [f"{id}: something is left of it"] if kept or rested else []
            continue
        episode = EpisodeRow._make(row)
        rows = db.rows("evidence_of_episode", {"episode": id})
        ties = [(int(str(named)), VersionRow._make(version)) for named, *version in rows]
        if kept != shadows(episode, ties):
            found.append(f"{id}: {kept} instead of {shadows(episode, ties)}")
        if rested != resting(episode, ties):
            found.append(f"{id}: {rested} instead of {resting(episode, ties)}")
        shelf = "recallable" if recallable_episode(episode) else "rest"
        if (episode.seq,) not in db._connection.execute(f"SELECT rowid FROM {shelf}").fetchall():
            found.append(f"{id} stands on the wrong shelf")
    return found


def rests(db: SqliteDb) -> set[tuple[str, str]]:
    """Which records rest on which episodes now."""
    sql = "SELECT episode, record FROM resting WHERE now = 1"
    return set(db._connection.execute(sql).fetchall())


def check(history: Sequence[e.AnyBody]) -> bool:
    """True if a record was erased while another rested on the same episode, which stayed."""
    beside = False
    with closing(memory_index("main")) as db:
        tables = Tables(db)
        fold = Fold(tables, Clock(e.GENESIS.at, 0))
        for one in events(history):
            before = rests(db)
            fold.append([one])
            tables.flush()
            assert differences(db) == []
            if isinstance(one.body, e.EventsErased):
                left = rests(db)
                stayed = {episode for episode, _ in left & before}
                beside |= any(episode in stayed for episode, _ in before - left)
    return beside


@given(histories)
def test_shadows_are_those_of_all_evidence_at_every_position(history: list[e.AnyBody]) -> None:
    if check(history):
        event("a record was erased beside another on the same episode")


def test_the_histories_erase_a_record_beside_another_on_the_same_episode() -> None:
    find(histories, check, settings=BARE)


def test_control_an_erasure_that_forgets_the_other_records_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def forgetful(self: Shadows, id: str) -> Iterator[EpisodeRow]:
        """As if nothing were left on an episode once a record of it is erased."""
        episode = self._tables.episode(id)
        if episode is not None:
            self._tables.write("drop_resting_on", (id,), f"resting {id}")
            self._tables.write("drop_shadows", (id,), id)
            yield episode

    def is_seen(history: list[e.AnyBody]) -> bool:
        try:
            check(history)
        except AssertionError:
            return True
        return False

    monkeypatch.setattr(Shadows, "compute", forgetful)
    find(histories, is_seen, settings=BARE)


@given(histories)
def test_shadows_are_the_same_in_one_append(history: list[e.AnyBody]) -> None:
    with closing(memory_index("main")) as db:
        tables = Tables(db)
        Fold(tables, Clock(e.GENESIS.at, 0)).append(events(history, gap_s=0))
        tables.flush()
        assert differences(db) == []


def test_control_a_shadow_that_does_not_ask_for_others_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    history: list[e.AnyBody] = [said("e1"), added("a", evidence=("e1",))]
    history += [added("b", evidence=("e1",)), e.RecordForgotten(id="a")]
    check(history)
    monkeypatch.setattr(Shadows, "_is_rested_on", lambda self, episode: False)
    with pytest.raises(AssertionError):
        check(history)
