"""Erasing reaches every process and every cache, also a process that is stopped meanwhile.

Four processes have one space awake. One is stopped, another erases. When a report says that a
process has dropped what was erased, no byte of it is in that process's files, and none in a
snapshot, a block or an answer of any process. The stopped process is named, and drops it before its
next answer. A snapshot that was made before is refused. The first control lets the server's
function take a snapshot of any epoch; in the second a process says that it has dropped words whose
pages it keeps.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psycopg
import pytest

from recollect.store.postgres.db import script
from tests.postgres.conftest import as_address, database, server, template
from tests.suites.canaries import FILLER, canary
from tests.suites.conftest import Tell
from tests.suites.erased_processes import EMBEDDER, Kind, Process, cached, holding, left

__all__ = ["database", "server", "template"]

NOT_YET = "NOT cleaned: the index of "
NOT_KNOWN = "NOT known: whether "
SPACE = "shared"
FOUR: Final[tuple[Kind, ...]] = ("large", "small", "large", "small")


class World:
    """Four processes of one space, and what was said in it."""

    def __init__(
        self, address: str, seed: int, kinds: tuple[Kind, ...], *, has_subjects: bool
    ) -> None:
        self.address = address
        self.rng = random.Random(seed)
        self.has_subjects = has_subjects
        self.processes = [Process(address, SPACE, kind) for kind in kinds]
        self.said = dict[str, str]()  # texts that stay, each with its word
        self.counts = dict.fromkeys(("erased", "searched", "named", "dropped", "refused"), 0)
        if has_subjects:
            self.processes[0].ask("subjects")

    def say(self, name: str, count: int) -> dict[str, str]:
        """One process remembers new words for a user, and has vectors made of them."""
        made = dict[str, str]()
        for _ in range(count):
            word = canary(self.rng)
            made[f"{' '.join(self.rng.choices(FILLER, k=30))} {word}"] = word
        writer = self.rng.choice(self.processes)
        user = {"user": f"user of {name}"} if self.has_subjects else {}
        assert writer.ask("remember", id=name, texts=[*made], **user).error is None
        assert writer.ask("embed").error is None
        return made

    def read(self, process: Process, words: list[str]) -> list[str]:
        """Those of the words that are in any answer of a process; it is asked for a few of them."""
        said = process.ask("read", words=words[-8:])
        assert said.error is None
        return holding("\n".join(said.texts).encode(), words)

    def check_clean(self, process: Process, gone: dict[str, str]) -> None:
        """No byte of what was erased is in the caches, or in files of a process that is done."""
        rows = EMBEDDER.embed([*gone]).astype("<f4")
        self.counts["searched"] += sum(len(data) for _, data in cached(self.address))
        assert left(self.address, gone.values(), [row.tobytes() for row in rows]) == []
        files = process.files()
        self.counts["searched"] += len(files)
        assert holding(files, gone.values()) == []

    def close(self) -> None:
        for process in self.processes:
            process.go_on()
            process.close()


@contextmanager
def made(
    database: str, seed: int, kinds: tuple[Kind, ...] = FOUR, *, has_subjects: bool = False
) -> Iterator[World]:
    world = World(as_address(database), seed, kinds, has_subjects=has_subjects)
    try:
        yield world
    finally:
        world.close()


def erase_once(world: World, name: str) -> None:
    """One round: what some read, another erases while one is stopped."""
    rng = world.rng
    world.said |= world.say(f"stay.{name}", 12)
    gone = world.say(name, 6)
    words = [*gone.values()]
    check_before(world, words)
    for process in world.processes:
        assert process.ask("take").error is None
    eraser, stopped, *others = rng.sample(world.processes, 4)
    looking, late = others[:1], others[1:]
    stopped.stop()
    asked = {"user": f"user of {name}"} if world.has_subjects else {"id": f"{name}-0"}
    ordered = [eraser.ask("erase", key=f"order.{name}", **asked)]
    if not world.has_subjects:
        ordered += [
            eraser.ask("erase", id=f"{name}-{n}", key=f"order.{name}-{n}") for n in range(1, 6)
        ]
    assert [said.error for said in ordered if said.error] == []
    world.counts["erased"] += len(gone)
    check_told(world, ordered[-1].places, not_yet=[stopped, *others], done=[])
    world.check_clean(eraser, gone)
    for process in looking:
        assert world.read(process, words) == []
        world.check_clean(process, gone)

    def again() -> tuple[str, ...]:
        said = eraser.ask("erase", key=f"order.{name}", **asked)
        assert said.error is None
        return said.places

    check_told(world, again(), not_yet=[stopped, *late], done=looking)
    stopped.go_on()
    assert world.read(stopped, words) == []
    world.check_clean(stopped, gone)
    check_told(world, again(), not_yet=late, done=[*looking, stopped])
    for process in late:
        assert world.read(process, words) == []
    check_told(world, again(), not_yet=[], done=[*looking, stopped, *late])
    for process in world.processes:
        assert process.ask("keep").kept is False
        world.counts["refused"] += 1
        world.check_clean(process, gone)
        assert set(world.said.values()) == set(world.read(process, [*world.said.values()]))


def check_before(world: World, words: list[str]) -> None:
    """The search finds it now: in answers, in files, and in caches unless they are encrypted."""
    for process in world.processes:
        assert set(world.read(process, words)) == set(words)
    assert world.processes[1].ask("sleep").kept is True  # which keeps a snapshot
    assert set(world.read(world.processes[1], words)) == set(words)
    large = [process for process in world.processes if process.is_large]
    assert [process for process in large if not holding(process.files(), words)] == []
    assert bool(left(world.address, words)) is not world.has_subjects
    assert [*cached(world.address)]


def check_told(
    world: World,
    places: tuple[str, ...],
    *,
    not_yet: list[Process],
    done: list[Process],
) -> None:
    """The report names these, and counts the others that were named before."""
    for process in world.processes:
        assert process.is_in(places, NOT_YET) is (process in not_yet), places
    count = len(done)
    who = "1 other process" if count == 1 else f"{count} other processes"
    assert (f"indexes of {who}: dropped" in places) is bool(done), places
    world.counts["named"] += len(not_yet)
    world.counts["dropped"] += count


def check_killed(world: World) -> None:
    """A killed process is named until its row counts no more, and then told as not known."""
    gone = world.say("killed", 2)
    killed, eraser = world.processes[3], world.processes[0]
    for process in world.processes:
        world.read(process, [])
    killed.kill()
    world.processes.remove(killed)
    asked = {"user": "user of killed"} if world.has_subjects else {"id": "killed-0"}
    assert killed.is_in(eraser.ask("erase", key="k", **asked).places, NOT_YET)
    with psycopg.connect(world.address, autocommit=True) as owner:
        owner.execute(
            "UPDATE recollect.holders SET until = now() WHERE name LIKE %s", (f"{killed.pid} on %",)
        )
    places = eraser.ask("erase", key="k", **asked).places
    assert killed.is_in(places, NOT_KNOWN)
    assert not killed.is_in(places, NOT_YET)
    word = next(iter(gone.values()))
    assert world.read(eraser, [word]) == []


def check_dropped(world: World) -> None:
    """A dropped space goes from every process at its next call, and is in no file then."""
    dropping, *others = world.processes
    words = [*world.said.values()]
    for process in others:
        world.read(process, words)
    places = dropping.ask("drop").places
    assert [process for process in others if not process.is_in(places, NOT_YET)] == []
    for process in others:
        assert "was dropped" in (process.ask("read").error or "")
        assert holding(process.files(), words) == []
    assert left(world.address, words) == []
    with psycopg.connect(world.address) as owner:
        names = owner.execute("SELECT name FROM recollect.holders").fetchall()
    for process in world.processes:
        assert not [name for (name,) in names if str(name).startswith(f"{process.pid} on ")]


def run_world(database: str, seed: int, rounds: int, *, has_subjects: bool) -> str:
    with made(database, seed, has_subjects=has_subjects) as world:
        for number in range(rounds):
            erase_once(world, f"round{number}")
        check_killed(world)
        check_dropped(world)
    found = ", ".join(f"{count:,} {what}" for what, count in world.counts.items())
    return f"{rounds} rounds, {found}"


@pytest.mark.parametrize("has_subjects", [False, True], ids=["plain", "subjects"])
@pytest.mark.parametrize(
    "rounds", [pytest.param(1, id="short"), pytest.param(20, id="long", marks=pytest.mark.nightly)]
)
def test_what_is_reported_as_dropped_is_nowhere(
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tell: Tell,
    rounds: int,
    has_subjects: bool,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    seed = random.randrange(2**32)
    found = run_world(database, seed, rounds, has_subjects=has_subjects)
    tell(f"erased processes: {'subjects' if has_subjects else 'plain'}, seed {seed}: {found}")


def test_control_without_the_epoch_an_old_snapshot_comes_back_and_is_found(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tell: Tell
) -> None:
    """The server's function takes a snapshot of any epoch."""
    monkeypatch.setenv("HOME", str(tmp_path))
    checked = " AND s.epoch = at_epoch FOR SHARE;"
    whole = script("schema.sql").decode()
    function = whole[whole.index("CREATE FUNCTION recollect.keep_snapshot(") :].partition("$$;")[0]
    assert checked in function
    function = function.replace("CREATE", "CREATE OR REPLACE", 1).replace(checked, " FOR SHARE;")
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(f"{function}$$".encode())
    with made(database, random.randrange(2**32), FOUR[:2]) as world:
        gone = world.say("gone", 3)
        old, eraser = world.processes[:2]
        assert old.ask("take").error is None
        for number in range(3):
            eraser.ask("erase", id=f"gone-{number}")
        assert left(world.address, gone.values()) == []
        assert old.ask("keep").kept is True
        found = left(world.address, gone.values())
        assert found == ["snapshot old, unpacked"]
    tell(f"erased processes: control: {len(gone)} erased words in {found}")


def test_control_a_process_that_keeps_the_pages_of_erased_words_is_found(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tell: Tell
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with made(database, random.randrange(2**32), ("untidy", "small")) as world:
        gone = world.say("gone", 6)
        untidy, eraser = world.processes
        assert set(world.read(untidy, [*gone.values()])) == {*gone.values()}
        places = [eraser.ask("erase", id=f"gone-{n}", key=f"k{n}").places for n in range(6)]
        assert untidy.is_in(places[-1], NOT_YET)
        assert world.read(untidy, [*gone.values()]) == []
        again = eraser.ask("erase", id="gone-0", key="k0").places
        assert "indexes of 1 other process: dropped" in again  # it says so, and it is not true
        found = holding(untidy.files(), gone.values())
        assert found
    tell(f"erased processes: control: {len(found)} of {len(gone)} erased words in the file")
