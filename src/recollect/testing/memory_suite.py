"""The conformance suite of the public API: a memory behaves the same on every engine.

Subclass ``MemorySuite`` and define a fixture ``memory`` with an empty memory. Its tests are in the
modules of its parts.
"""

from __future__ import annotations

import pytest

from recollect.memory import Memory
from recollect.testing.changing_suite import ChangingSuite
from recollect.testing.doubt_suite import DoubtSuite
from recollect.testing.earlier_suite import EarlierSuite
from recollect.testing.erase_suite import EraseSuite
from recollect.testing.links_suite import LinksSuite
from recollect.testing.naming_suite import NamingSuite
from recollect.testing.quotes_suite import QuotesSuite
from recollect.testing.reading_suite import ReadingSuite
from recollect.testing.recent_suite import RecentSuite
from recollect.testing.remembering_suite import RememberingSuite
from recollect.testing.replaced_suite import ReplacedSuite
from recollect.testing.supersede_suite import SupersedeSuite
from recollect.testing.transient_suite import TransientSuite
from recollect.testing.undo_suite import UndoSuite
from recollect.testing.upkeep_suite import UpkeepSuite


class MemorySuite(
    RememberingSuite,
    SupersedeSuite,
    ChangingSuite,
    NamingSuite,
    UndoSuite,
    EraseSuite,
    ReadingSuite,
    RecentSuite,
    LinksSuite,
    EarlierSuite,
    TransientSuite,
    DoubtSuite,
    ReplacedSuite,
    QuotesSuite,
    UpkeepSuite,
):
    """Every engine passes this."""

    @pytest.fixture
    def memory(self) -> Memory:
        """An empty memory; defined by subclasses."""
        raise NotImplementedError
