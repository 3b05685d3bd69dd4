"""What comes from another store follows the rules of a write: a server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recollect import Store
from tests.memory.arriving import Arriving
from tests.postgres.conftest import as_address


class TestServer(Arriving):
    @pytest.fixture
    def store(self, database: str) -> Iterator[Store]:
        with Store.open(as_address(database)) as store:
            yield store
