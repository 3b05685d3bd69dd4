"""The conformance suite of the public API: a memory behaves the same on every engine.

Subclass ``MemorySuite`` and define a fixture ``memory`` with an empty memory. Its tests are in the
modules of its four parts.
"""

from __future__ import annotations

import pytest

from recollect.memory import Memory
from recollect.testing.changing_suite import ChangingSuite
from recollect.testing.reading_suite import ReadingSuite
from recollect.testing.remembering_suite import RememberingSuite
from recollect.testing.upkeep_suite import UpkeepSuite


class MemorySuite(RememberingSuite, ChangingSuite, ReadingSuite, UpkeepSuite):
    """Every engine passes this."""

    @pytest.fixture
    def memory(self) -> Memory:
        """An empty memory; defined by subclasses."""
        raise NotImplementedError
