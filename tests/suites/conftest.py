"""What every suite shares: the one line that says what it counted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Tell = Callable[[str], None]


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Tell:
    """Print a line that stands in the output of a passing run too."""

    def say(line: str) -> None:
        with capsys.disabled():
            print(f"\n{line}")  # noqa: T201  # a suite's counts are for people to see

    return say
