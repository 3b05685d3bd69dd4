"""The engine behind a memory, for tests that look at its ledger or put something in its way.

A suite that needs it takes the fixture ``engine``. By default it is the memory itself. A memory
that is not an engine, such as one that a service keeps, has another: define ``engine`` with a
``recollect.Memory`` on the same store and space.
"""

from __future__ import annotations

import pytest

from recollect.memory import Memory


class BehindSuite:
    """For suites with tests that a client alone cannot do."""

    @pytest.fixture
    def engine(self, memory: Memory) -> Memory:
        """The engine behind the memory: itself, unless a subclass says otherwise."""
        return memory
