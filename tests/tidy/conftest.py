"""Lets go of the syntax trees when the rules were looked at."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.tidy import parsing


@pytest.fixture(scope="package", autouse=True)
def no_tree_is_left() -> Iterator[None]:
    yield
    parsing.forget()
