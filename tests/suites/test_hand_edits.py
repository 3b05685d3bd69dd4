"""Many hand edits: they all arrive, nothing is lost, and every conflict is shown."""

from __future__ import annotations

import random
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from shutil import rmtree

import pytest

from recollect import Memory
from recollect.memory.handle.handle import Handle
from recollect.store.files.space import FileSpace
from tests.suites.conftest import Tell
from tests.suites.editing import Editor, fill, readings, told, unlike
from tests.suites.interleaving import Fault, Story
from tests.suites.page_processes import beside
from tests.suites.rendering import Unsynced

LANES = 2
PER_PROCESS = 50  # interleavings for which the processes beside a lane live


def opened(folder: Path, seed: int) -> Memory:
    seam = Unsynced(seed)
    return Memory(Handle(FileSpace(folder, "main", create=True, seam=seam), seam))


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


@pytest.mark.nightly
def test_thousands_of_hand_edits_arrive(tmp_path: Path, tell: Tell) -> None:
    done, wrong = edits(tmp_path, 5_000, 2)
    tell(edits_told(done, wrong))
    assert wrong == []


def some_stories(place: Path, seeds: range) -> tuple[Counter[str], list[str]]:
    total, wrong = Counter[str](), list[str]()
    with beside() as (other, syncers):
        for seed in seeds:
            story = Story(place / str(seed), seed, other, syncers)
            story.run()
            total += story.counts
            wrong += [f"seed {seed}: {one}" for one in story.wrong]
            rmtree(place / str(seed))
    return total, wrong


def stories(place: Path, seeds: range) -> tuple[Counter[str], list[str]]:
    """Some in one process and some in another, each with its own processes beside it."""
    size = min(PER_PROCESS, -(-len(seeds) // LANES))
    parts = [seeds[first : first + size] for first in range(0, len(seeds), size)]
    total, wrong = Counter[str](), list[str]()
    with ProcessPoolExecutor(LANES) as pool:
        for counts, found in pool.map(partial(some_stories, place), parts):
            total += counts
            wrong += found
    return total, wrong


def stories_told(seeds: range, total: Counter[str], wrong: list[str]) -> str:
    return (
        f"interleavings: {len(seeds):,} of {total['hand']:,} hand edits "
        f"({total['saved']:,} while a sync ran), {total['written']:,} writes from another process "
        f"({total['crossed']:,} while a sync ran), "
        f"{total['syncs']:,} syncs and {total['killed']:,} killed with SIGKILL "
        f"({total['killed before rendering']:,} before rendering, "
        f"{total['killed between']:,} between applying and rendering, "
        f"{total['killed while rendering']:,} while rendering, "
        f"{total['killed at any time']:,} at any time); {total['applied']:,} applied, "
        f"{total['both changed']:,} changed on both sides: "
        f"{len(wrong)} lost, overwritten or not shown"
    )


def test_nothing_is_lost_between_hand_and_memory(tmp_path: Path, tell: Tell) -> None:
    seeds = range(20)
    total, wrong = stories(tmp_path, seeds)
    tell(stories_told(seeds, total, wrong))
    assert wrong == []
    assert (
        min(total[name] for name in ("both changed", "crossed", "saved", "killed", "applied")) > 0
    )


@pytest.mark.nightly
def test_nothing_is_lost_in_a_thousand_interleavings(tmp_path: Path, tell: Tell) -> None:
    seeds = range(1_000, 2_000)
    total, wrong = stories(tmp_path, seeds)
    tell(stories_told(seeds, total, wrong))
    assert wrong == []


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("page wins", "was overwritten"),
        ("memory wins", "is lost"),
        ("expects nothing", "Memory w"),
        ("renders first", "is lost"),
    ],
)
def test_a_sync_in_which_the_last_writer_wins_is_caught(
    tmp_path: Path, tell: Tell, fault: Fault, said: str
) -> None:
    with beside() as (other, syncers):
        for seed in range(60):
            story = Story(tmp_path / str(seed), seed, other, syncers, fault)
            story.run()
            if any(said in one for one in story.wrong):
                tell(f"interleavings: control: {fault}, caught in interleaving {seed + 1}")
                return
    pytest.fail(f"{fault}: not caught")
