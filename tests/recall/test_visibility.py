"""Why a read leaves something out, as one word for each reason."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from recollect import Memory
from recollect.errors import InvalidInput
from recollect.index.rows import EpisodeRow, VersionRow
from recollect.index.statements import NOW
from recollect.memory.handle.handle import handle_of
from recollect.model.values import INCLUDES, Include
from recollect.recall.visibility import check_include, statuses, why_episode_hidden, why_hidden

BEFORE, THEN, AFTER = (f"2026-01-0{day}T00:00:00.000000Z" for day in (1, 2, 3))


@pytest.fixture(name="rows", scope="module")
def of_both_units() -> tuple[VersionRow, EpisodeRow]:
    with Memory.open(":memory:", embedder="none") as memory:
        memory.remember("tea", id="r")
        memory.observe("tea", id="e-1")
        with handle_of(memory).reading() as reads:
            version, episode = reads.version("r"), reads.episode("e-1")
    assert version is not None
    assert episode is not None
    return version, episode


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, None),
        ({"status": "inbox"}, None),
        ({"until": 5}, "replaced"),
        ({"status": "archived", "reason": "superseded"}, "replaced"),
        ({"status": "archived"}, "archived"),
        ({"status": "forgotten"}, "forgotten"),
        ({"status": "held"}, "waiting"),
        ({"expires": THEN}, "expired"),
        ({"expires": AFTER}, None),
        ({"valid_from": AFTER}, "expired"),
        ({"valid_from": THEN}, None),
        ({"valid_to": THEN}, "expired"),
        ({"valid_to": AFTER}, None),
    ],
)
def test_why_a_record_is_hidden(
    rows: tuple[VersionRow, EpisodeRow], changes: dict[str, object], why: Include | None
) -> None:
    row = rows[0]._replace(**changes)  # type: ignore[arg-type]
    assert why_hidden(row, NOW, THEN, THEN) == why
    if changes.get("until") == 5:
        assert why_hidden(row, 4, THEN, THEN) is None


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, None),
        ({"hidden": "forgotten"}, "forgotten"),
        ({"hidden": "shadowed"}, "hidden"),
        ({"trust": "unverified"}, "waiting"),
    ],
)
def test_why_an_episode_is_hidden(
    rows: tuple[VersionRow, EpisodeRow], changes: dict[str, object], why: Include | None
) -> None:
    assert why_episode_hidden(rows[1]._replace(**changes)) == why  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("include", "more"),
    [
        ((), set()),
        (("waiting",), {"held"}),
        (("forgotten",), {"forgotten"}),
        (("replaced",), {"archived"}),
        (("archived",), {"archived"}),
        (("expired", "hidden"), set()),
    ],
)
def test_the_statuses_that_a_listing_reads(include: Iterable[Include], more: set[str]) -> None:
    assert set(statuses(frozenset(include))) == {"active", "inbox"} | more


def test_include_takes_its_words_and_no_others() -> None:
    assert check_include(INCLUDES) == frozenset(INCLUDES)
    with pytest.raises(InvalidInput, match="held"):
        check_include(["waiting", "held"])
    with pytest.raises(InvalidInput, match="waiting"):
        check_include("waiting")
