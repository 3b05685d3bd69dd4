"""Two ledgers that grew after a copy are brought together: nothing is lost, nothing is doubled."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from recollect.errors import RecollectError
from recollect.memory.merging import erasures
from recollect.memory.merging.histories import History, Told
from recollect.memory.merging.meetings import Sides
from recollect.memory.merging.merge import Merging
from recollect.memory.merging.merge_steps import Writing
from tests.suites.conftest import Tell
from tests.suites.merging import (
    Before,
    Pair,
    different,
    doubled,
    lost,
    returned,
    story,
    unsigned_story,
)

STEPS = 15


def try_pairs(count: int, tell: Tell, first: int) -> None:
    seen, wrong = Counter[str](), dict[int, list[str]]()
    for seed in range(first, first + count):
        pair = story(seed, STEPS)
        seen += pair.seen
        if pair.wrong:
            wrong[seed] = pair.wrong
    tell(
        f"merging: {count:,} random pairs from seed {first}, {seen['commands']:,} commands came, "
        f"{seen['conflicts']:,} conflicts decided, {seen['erased']:,} events erased with the other "
        f"side: {len(wrong)} pairs that differ, lost or doubled something"
    )
    assert wrong == {}
    assert seen["commands"] > 5 * count
    assert seen["conflicts"] > count // 8


def test_a_merge_loses_and_doubles_nothing_and_both_sides_are_the_same(tell: Tell) -> None:
    try_pairs(8, tell, 0)  # the same ones each time: the night draws others


@pytest.mark.parametrize(
    ("seed", "tale"),
    [
        (1_187_025_693, story),  # an id that was used again after it was erased
        (2_749_570_326, story),  # a proposal was erased here and rejected there
        (3_739_694_770, unsigned_story),  # a tag here, and there an agent restored the record
        (2_590_355_477, unsigned_story),  # an episode came later than that it was forgotten
    ],
)
def test_pairs_that_once_differed(seed: int, tale: Callable[[int, int], Pair]) -> None:
    assert tale(seed, STEPS).wrong == []


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(20))
def test_many_merges_lose_and_double_nothing(tell: Tell, part: int) -> None:
    try_pairs(50, tell, random.randrange(2**32))


def try_unsigned(count: int, tell: Tell, first: int) -> None:
    seen, wrong = Counter[str](), dict[int, list[str]]()
    for seed in range(first, first + count):
        pair = unsigned_story(seed, STEPS)
        seen += pair.seen
        if pair.wrong:
            wrong[seed] = pair.wrong
    tell(
        f"merging: {count:,} random pairs from seed {first}, merged first without a signature "
        f"({seen['unsigned']:,} commands came, {seen['refused']:,} were refused) and then with "
        f"one: {len(wrong)} pairs that differ"
    )
    assert wrong == {}
    assert seen["unsigned"] > 3 * count


def test_a_merge_that_was_not_trusted_is_made_whole_by_one_that_is(tell: Tell) -> None:
    try_unsigned(4, tell, 0)


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(5))
def test_many_merges_that_were_not_trusted_are_made_whole(tell: Tell, part: int) -> None:
    try_unsigned(50, tell, random.randrange(2**32))


# Controls: the judge sees what a wrong merge would leave.


def spoiled(count: int = 12) -> Iterator[str]:
    """What the judge says of up to so many pairs; a merge that fails says so itself."""
    for seed in range(count):
        try:
            yield from story(seed, STEPS).wrong
        except (RecollectError, AttributeError) as error:
            yield f"failed: {error}"


def test_control_a_command_that_is_not_known_again_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def parts(self: History, other: Told, *, surely: bool = False) -> list[Told]:
        return []

    monkeypatch.setattr(History, "parts", parts)
    assert any(spoiled(3))


def test_control_a_merge_without_decisions_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def settled(*_: Any) -> list[Any]:
        return []

    monkeypatch.setattr(Sides, "settled", settled)
    assert any(one.startswith("differs: ") for one in spoiled())


def test_control_a_merge_that_ignores_erasures_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erasures.Erasures, "_erasing", lambda _: iter(()))
    monkeypatch.setattr(erasures.Erasures, "_erased_here", lambda _: set())
    assert any(one.startswith(("came back: ", "only in the")) for one in spoiled(15))


def test_control_a_merge_that_leaves_what_came_low_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Merging, "_came_low", lambda _: set())
    assert any(unsigned_story(seed, STEPS).wrong for seed in range(4))


def test_control_a_merge_that_a_write_does_not_stop_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def written(self: Writing, commands: list[Any]) -> int:
        outcomes = self._handle.space.submit_all(commands, lambda _, outcome: outcome)
        for command, outcome in zip(commands, outcomes, strict=True):
            self._note(command, outcome)
        return len(commands)

    monkeypatch.setattr(Writing, "_append", written)
    assert any(spoiled(6))


def test_control_the_judge_sees_each_kind_of_wrong() -> None:
    said = '["record.revised", "person", "2026", {"id": "r", "text": "words"}]'
    one, two = Counter([said]), Counter([said, said])
    assert doubled([one, one], two) == [f"doubled: {said}"]
    assert doubled([one, one], one) == []
    assert lost(one, Counter(), set()) == [f"lost: {said}"]
    assert lost(one, Counter(), {"r"}) == []
    assert lost(one, Counter(), {"other"}) == [f"lost: {said}"]
    made = '["proposal.made", "agent", "2026", {"id": "p", "intent": "add", "branch": "b"}]'
    settled = Counter([made, '["proposal.approved", "person", "2026", {"id": "p"}]'])
    assert lost(settled, Counter(), {"b"}) == []
    assert len(lost(settled, Counter(), {"other"})) == 2
    assert lost(Counter(list(settled)[1:]), Counter(), set()) == []  # its proposal was erased
    assert returned({"r"}, [one, Counter()]) == [f"came back: {said}"]
    assert returned({"other"}, [one, one]) == []
    assert different(one, Counter()) == [f"only in the first: {said}"]
    assert different(Counter(), one) == [f"only in the second: {said}"]
    assert Before(one, {}, set()).said == one
