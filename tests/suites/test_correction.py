"""A correction wins: what was revised, forgotten or replaced comes back only when asked for."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

import pytest

from recollect import Memory
from recollect.errors import NotFound
from recollect.index.shadow import Shadows
from tests.suites.conftest import Tell
from tests.suites.stories import ALL, Story, flat, hidden_though_alive, leaks, unreachable

HISTORIES = 1_000


def tell_story(where: Path | str, seed: int, done: Counter[str]) -> list[str]:
    """Play one history; what went wrong, after every correction and at the end."""
    rng = random.Random(seed)
    wrong: list[str] = []
    with Memory.open(where) as memory:
        story = Story(memory, rng)
        for did in story.play(rng.randint(4, 10)):
            done[did] += 1
            if did in ("revise", "forget", "remember"):
                wrong += leaks(story, 1)
        while not story.fallen:
            did = story.correct() or story.tell() or ""
            done[did] += 1
        wrong += leaks(story, 9)
        wrong += [f"hidden: {id}" for id in hidden_though_alive(story)]
        wrong += [f"unreachable: {what}" for what in unreachable(story)]
        done["values that fell"] += len(story.fallen)
    return [f"seed {seed}: {what}" for what in wrong]


def tell_stories(count: int, tell: Tell) -> None:
    first = random.randrange(2**32)
    done: Counter[str] = Counter()
    wrong: list[str] = []
    started = time.perf_counter()
    for seed in range(first, first + count):
        wrong += tell_story(":memory:", seed, done)
    took_s = time.perf_counter() - started
    corrections = {how: done[how] for how in ("revise", "forget", "remember")}
    tell(
        f"correction: {count:,} histories, {done['values that fell']:,} values fell "
        f"({', '.join(f'{n:,} by {how}' for how, n in corrections.items())}), "
        f"{done['restore']:,} restored, {len(wrong)} wrong answers, {took_s:.0f} s"
    )
    assert wrong == []
    assert all(corrections.values())


def test_a_correction_wins(tell: Tell) -> None:
    tell_stories(50, tell)


@pytest.mark.nightly
def test_a_correction_wins_in_a_thousand_histories(tell: Tell) -> None:
    tell_stories(HISTORIES, tell)


def test_a_correction_wins_in_files(tmp_path: Path) -> None:
    first = random.randrange(2**32)
    done: Counter[str] = Counter()
    wrong = [w for n in range(10) for w in tell_story(tmp_path / str(n), first + n, done)]
    assert wrong == []


def test_control_without_shadows_old_values_come_back(
    monkeypatch: pytest.MonkeyPatch, tell: Tell
) -> None:
    monkeypatch.setattr(Shadows, "_turn", lambda *_: iter(()))
    wrong: list[str] = []
    seed = 0
    while not wrong and seed < 20:
        seed += 1
        wrong = [w for w in tell_story(":memory:", seed, Counter()) if " shows " in w]
    assert wrong
    tell(f"correction: control: without shadows, {len(wrong)} leaks after {seed} histories")


@pytest.mark.parametrize("how", ["revise", "forget", "remember"])
def test_the_episode_behind_an_old_value_is_not_got_by_default(how: str) -> None:
    with Memory.open(":memory:") as memory:
        episode, record = seat_in_a_row(memory)
        correct(memory, record, how)
        with pytest.raises(NotFound):
            memory.get(episode)
        assert "row umzelfix" in flat(memory.get(episode, include=["hidden"]))


@pytest.mark.parametrize("how", ["revise", "forget", "remember"])
def test_an_episode_that_still_supports_a_live_record_keeps_showing(how: str) -> None:
    with Memory.open(":memory:") as memory:
        episode, record = seat_in_a_row(memory)
        memory.remember("Alice talks about seats", evidence=[episode])
        correct(memory, record, how)
        assert [one.id for one in memory.sessions.episodes()] == [episode]
        assert episode in flat(memory.recall("row umzelfix").hits)


def test_restating_on_more_evidence_hides_none_of_it() -> None:
    with Memory.open(":memory:") as memory:
        episode, record = seat_in_a_row(memory)
        (more,) = memory.observe("As I said, row umzelfix")
        again = memory.remember("Alice sits in row umzelfix", key="alice.seat", evidence=[more.id])
        assert again.evidence == (episode, more.id)
        assert {one.id for one in memory.sessions.episodes()} == {episode, more.id}
        memory.revise(record, "Alice sits in row 3")
        assert memory.sessions.episodes() == []
        assert "row umzelfix" not in flat(memory.recall("row umzelfix", k=100).hits)


@pytest.mark.parametrize("how", ["forget", "remember"])
def test_restore_brings_the_old_value_and_its_episode_back(how: str) -> None:
    with Memory.open(":memory:") as memory:
        episode, record = seat_in_a_row(memory)
        correct(memory, record, how)
        assert "row umzelfix" not in flat(memory.recall("row umzelfix").hits)
        if how == "remember":
            memory.forget(memory.list()[0].id)
        memory.undo(record)
        assert "row umzelfix" in flat(memory.get(record))
        assert episode in flat(memory.recall("row umzelfix").hits)
        assert [one.id for one in memory.sessions.episodes()] == [episode]


def test_sources_that_were_to_be_kept_still_show() -> None:
    with Memory.open(":memory:") as memory:
        episode, record = seat_in_a_row(memory)
        assert memory.forget(record, sources="keep").showing == (episode,)
        assert [hit.id for hit in memory.recall("row umzelfix")] == [episode]


@pytest.mark.parametrize("origin", ["agent", "unverified"])
def test_an_old_value_does_not_come_back_among_the_unverified(origin: str) -> None:
    with Memory.open(":memory:") as memory:
        tool = memory.scoped(trust="unverified" if origin == "unverified" else "agent")
        (episode,) = tool.observe("Alice sits in row umzelfix", role="tool")
        record = tool.remember("Alice sits in row umzelfix", evidence=[episode.id])
        memory.revise(record.id, "Alice sits in row 3")
        found = memory.recall("Alice row umzelfix sits", k=100)
        assert "umzelfix" not in flat((found.hits, found.unverified))
        assert "umzelfix" in flat(memory.recall("row umzelfix", include=ALL).hits)


def seat_in_a_row(memory: Memory) -> tuple[str, str]:
    (episode,) = memory.observe("I sit in row umzelfix")
    record = memory.remember("Alice sits in row umzelfix", key="alice.seat", evidence=[episode.id])
    return episode.id, record.id


def correct(memory: Memory, record: str, how: str) -> None:
    if how == "revise":
        memory.revise(record, "Alice sits in row 3")
    elif how == "forget":
        memory.forget(record)
    else:
        memory.remember("Alice sits in row 3", key="alice.seat")
