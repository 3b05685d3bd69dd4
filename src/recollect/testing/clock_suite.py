"""The conformance suite of the clock: what every engine does when the clock may be wrong.

Subclass ``ClockSuite`` and define a fixture ``opened``: a memory in an empty place whose time comes
from the given seam, which starts in the past.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recollect.errors import Conflict
from recollect.memory import Memory
from recollect.model.limits import US_PER_HOUR
from recollect.testing.seams import FixedSeam

DAY_US = 24 * US_PER_HOUR
START = "2020-01-01T00:00:00.000000Z"


class ClockSuite:
    """Every engine passes this."""

    @pytest.fixture
    def seam(self) -> FixedSeam:
        """A clock that a test sets."""
        return FixedSeam(start=START)

    @pytest.fixture
    def opened(self, seam: FixedSeam) -> Callable[[], Memory]:
        """A function that returns the same memory each time; defined by subclasses."""
        raise NotImplementedError

    @pytest.fixture
    def memory(self, opened: Callable[[], Memory]) -> Memory:
        """The same, with something in it."""
        memory = opened()
        memory.remember("Before.", id="before")
        return memory

    @pytest.mark.parametrize("days", [3, 31, 365])
    def test_a_pause_is_never_asked_about(self, memory: Memory, seam: FixedSeam, days: int) -> None:
        seam.now_us += days * DAY_US
        assert memory.remember("After the pause.").at > "2020-01-03"
        assert not clock_findings(memory)

    def test_a_jump_is_refused_until_a_person_confirms_it(
        self, memory: Memory, seam: FixedSeam
    ) -> None:
        seam.now_us += 400 * DAY_US
        with pytest.raises(Conflict, match=r"2021-02-04.*2020-01-01") as refusal:
            memory.remember("Is it 2021?")
        assert "recollect admin close-segment" in str(refusal.value.hint)
        assert [record.id for record in memory.list()] == ["before"]
        (found,) = clock_findings(memory)
        assert "admin close-segment" in found
        memory.admin.seal()
        assert memory.remember("It is 2021.").at[:7] == "2021-02"
        assert not clock_findings(memory)
        assert memory.admin.verify(deep=True).ok

    def test_a_clock_that_was_wrong_leaves_no_trace(self, memory: Memory, seam: FixedSeam) -> None:
        right = seam.now_us
        seam.now_us += 79 * 365 * DAY_US
        for write in (
            lambda: memory.remember("In 2099."),
            lambda: memory.observe("In 2099.", role="user"),
            lambda: memory.forget("before"),
        ):
            with pytest.raises(Conflict):
                write()
        seam.now_us = right
        assert memory.remember("The clock is right again.").at[:10] == "2020-01-01"

    def test_a_second_jump_right_after_a_seal_is_confirmed_too(
        self, memory: Memory, seam: FixedSeam
    ) -> None:
        for _ in range(2):
            seam.now_us += 400 * DAY_US
            with pytest.raises(Conflict):
                memory.remember("Is it a year later?")
            memory.admin.seal()
        assert memory.remember("It is.").at[:4] == "2022"
        assert memory.admin.verify(deep=True).ok

    def test_a_last_event_ahead_of_the_clock_is_reported(
        self, memory: Memory, seam: FixedSeam
    ) -> None:
        memory.remember("Now.")
        seam.now_us -= DAY_US // 2
        assert not clock_findings(memory)
        seam.now_us -= DAY_US
        (found,) = clock_findings(memory)
        assert "2020-01-01" in found

    def test_a_memory_that_was_only_begun_asks_nothing(
        self, opened: Callable[[], Memory], seam: FixedSeam
    ) -> None:
        memory = opened()
        assert memory.events.position == 1
        seam.now_us += 800 * DAY_US
        assert memory.remember("The first.").at[:4] == "2022"


def clock_findings(memory: Memory) -> list[str]:
    """What ``doctor`` reports about the clock."""
    found = [finding for finding in memory.admin.doctor() if finding.what == "clock"]
    return [f"{finding.detail}\n{finding.fix}" for finding in found]
