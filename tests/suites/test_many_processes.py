"""Processes that write to one server: nothing acknowledged is lost, twice, or unseen by a read."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import psycopg
import pytest

from recollect.store.postgres.db import script
from tests.postgres.conftest import database, server, template
from tests.suites.conftest import Tell
from tests.suites.many import Order, Played, play, problems

__all__ = ["database", "server", "template"]

THREADS = 3


def orders(
    url: str, where: Path, seed: int, *, processes: int, rounds: int, spaces: int, life: int
) -> list[Order]:
    """So many rounds: in each, every thread of every process writes once."""
    return [
        Order(
            url=url,
            name=f"p{number}",
            notes=str(where / f"p{number}.notes"),
            seed=seed,
            spaces=[f"space{n}" for n in range(spaces)],
            threads=THREADS,
            count=rounds,
            life=life,
        )
        for number in range(processes)
    ]


def say(played: Played, what: str) -> str:
    return (
        f"many processes: {what}: {played.counted('acknowledged'):,} acknowledged writes, "
        f"{played.counted('read'):,} reads, {played.kills} kills"
    )


@pytest.mark.parametrize(
    ("processes", "spaces", "rounds", "life"),
    [
        pytest.param(2, 1, 12, 20, id="one space"),
        pytest.param(2, 3, 12, 20, id="several spaces"),
        pytest.param(4, 1, 10_000, 1_000, id="one space, long", marks=pytest.mark.nightly),
        pytest.param(4, 3, 10_000, 1_000, id="several spaces, long", marks=pytest.mark.nightly),
    ],
)
def test_what_was_acknowledged_is_there_once_for_everybody(
    database: str,
    tmp_path: Path,
    tell: Tell,
    processes: int,
    spaces: int,
    rounds: int,
    life: int,
) -> None:
    seed = random.randrange(2**32)
    made = orders(
        database, tmp_path, seed, processes=processes, rounds=rounds, spaces=spaces, life=life
    )
    played = play(made)
    assert problems(database, played.notes, played.ends) == [], f"seed {seed}"
    assert played.counted("acknowledged") == processes * THREADS * rounds, f"seed {seed}"
    assert len(played.ends) == processes * spaces, f"seed {seed}"
    assert played.kills > 0, f"seed {seed}"
    tell(say(played, f"{spaces} spaces, nothing lost, twice, stale or forked"))


def first_found(database: str, where: Path, seed: int, words: tuple[str, ...], asks: bool) -> str:
    """What is found with one of these words; plays again while the two missed each other."""
    for attempt in range(10):
        folder = where / str(attempt)
        folder.mkdir()
        two = orders(database, folder, seed + attempt, processes=2, rounds=10, spaces=1, life=0)
        two = [msgspec.structs.replace(one, spaces=[f"try{attempt}"]) for one in two]
        if not asks:
            two[0] = msgspec.structs.replace(two[0], asks=False, until=two[1].notes)
        played = play(two)
        for problem in problems(database, played.notes, played.ends):
            if any(f": {word}: " in problem for word in words):
                return problem
    return f"nothing in {attempt} tries with seed {seed}"


def test_control_a_read_that_does_not_ask_is_found(
    database: str, tmp_path: Path, tell: Tell
) -> None:
    """One process of two writes a little, and then reads what it has until the other is done."""
    found = first_found(database, tmp_path, random.randrange(2**32), ("stale",), asks=False)
    assert ": stale: " in found
    tell(f"many processes: control: {found}")


def test_control_an_append_without_an_expected_head_is_found(
    database: str, tmp_path: Path, tell: Tell
) -> None:
    """The server's function takes every append, whatever the ledger ends with."""
    expected = " AND s.seq = head AND s.hash = headed;"
    whole = script("schema.sql").decode()
    function = whole[whole.index("CREATE FUNCTION recollect.append(") :].partition("$$;")[0]
    assert expected in function
    function = function.replace("CREATE", "CREATE OR REPLACE", 1).replace(expected, ";")
    function = function.replace("u (line, n);", "u (line, n) ON CONFLICT DO NOTHING;")
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(f"{function}$$".encode())
    words = ("lost", "broken")
    found = first_found(database, tmp_path, random.randrange(2**32), words, asks=True)
    assert any(f": {word}: " in found for word in words), found
    tell(f"many processes: control: {found}")
