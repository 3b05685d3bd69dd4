"""For all tests with real programs: the model that they talk to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.programs.model import Model, serving


@pytest.fixture
def model() -> Iterator[Model]:
    with serving() as model:
        yield model
