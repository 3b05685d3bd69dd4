"""Many hand edits: they all arrive, nothing is lost, and every conflict is shown."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from recollect import Memory
from recollect.memory.handle import Handle
from recollect.store.files.space import FileSpace
from tests.suites.conftest import Tell
from tests.suites.editing import Editor, Story, fill, readings, told, unlike
from tests.suites.rendering import Unsynced


def opened(folder: Path, seed: int, *, create: bool = True) -> Memory:
    seam = Unsynced(seed)
    return Memory(Handle(FileSpace(folder, "main", create=create, seam=seam), seam))


def edits(place: Path, count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """So many random edits, in rounds; each round is synced and compared."""
    chance, done, wrong = random.Random(seed), Counter[str](), list[str]()
    memory = opened(place / "memory", seed)
    folder = place / "pages"
    editor = Editor(folder, chance)
    while sum(done.values()) - done["rounds"] - done["applied"] < count and not wrong:
        if done["rounds"] % 20 == 0:
            fill(memory, chance, 30)
        memory.pages.sync(folder)
        for _ in range(25):
            editor.edit(done)
        edited = readings(folder)
        synced = memory.pages.sync(folder)
        done["rounds"] += 1
        done["applied"] += len(synced.applied)
        wrong += [str(one) for one in (*synced.conflicts, *synced.refused, *synced.problems)]
        wrong += unlike(edited, readings(folder)) + told(memory, synced)
        wrong += [str(one) for one in memory.pages.changes(folder).changes]
    memory.close()
    return done, wrong


def edits_told(done: Counter[str], wrong: list[str]) -> str:
    ways = ", ".join(
        f"{done[way]} {way}" for way in sorted(done) if way not in ("rounds", "applied")
    )
    made = sum(done.values()) - done["rounds"] - done["applied"]
    return (
        f"hand edits: {made:,} random edits in {done['rounds']} syncs ({ways}), "
        f"{done['applied']:,} changes taken over: {len(wrong)} pages or histories say otherwise"
    )


def test_every_hand_edit_arrives(tmp_path: Path, tell: Tell) -> None:
    done, wrong = edits(tmp_path, 200, 1)
    tell(edits_told(done, wrong))
    assert wrong == []


@pytest.mark.slow
def test_thousands_of_hand_edits_arrive(tmp_path: Path, tell: Tell) -> None:
    done, wrong = edits(tmp_path, 5_000, 2)
    tell(edits_told(done, wrong))
    assert wrong == []


def stories(
    place: Path, seeds: range, *, takes_page: bool = False
) -> tuple[Counter[str], list[str]]:
    total, wrong = Counter[str](), list[str]()
    for seed in seeds:
        folder = place / str(seed)
        mine = opened(folder / "memory", seed)
        other = opened(folder / "memory", -seed - 1, create=False)
        story = Story(mine, other, folder / "pages", random.Random(seed))
        story.run(8, takes_page=takes_page)
        total += story.counts
        wrong += [f"seed {seed}: {one}" for one in story.wrong]
        mine.close()
        other.close()
    return total, wrong


def stories_told(seeds: range, total: Counter[str], wrong: list[str]) -> str:
    return (
        f"interleavings: {len(seeds):,} of {total['hand']:,} hand edits, {total['written']:,} "
        f"other writes, {total['syncs']:,} syncs and {total['stopped']:,} stopped before "
        f"rendering; {total['applied']:,} applied, {total['both changed']:,} changed on both "
        f"sides: {len(wrong)} lost, overwritten or not shown"
    )


def test_nothing_is_lost_between_hand_and_memory(tmp_path: Path, tell: Tell) -> None:
    seeds = range(25)
    total, wrong = stories(tmp_path, seeds)
    tell(stories_told(seeds, total, wrong))
    assert wrong == []
    assert total["both changed"] > 0


@pytest.mark.slow
def test_nothing_is_lost_in_a_thousand_interleavings(tmp_path: Path, tell: Tell) -> None:
    seeds = range(1_000, 2_000)
    total, wrong = stories(tmp_path, seeds)
    tell(stories_told(seeds, total, wrong))
    assert wrong == []


def test_a_sync_in_which_the_last_writer_wins_is_caught(tmp_path: Path) -> None:
    _, wrong = stories(tmp_path, range(25), takes_page=True)
    assert any("was overwritten" in one for one in wrong)
