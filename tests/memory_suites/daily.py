"""The conformance suite of the public API: a memory behaves the same on every engine.

Subclass ``MemorySuite`` and define a fixture ``memory`` with an empty memory. Its tests are in the
modules of its parts.
"""

from __future__ import annotations

import pytest

from recollect.memory import Memory
from tests.memory_suites.history.upkeep import UpkeepSuite
from tests.memory_suites.recall.doubt import DoubtSuite
from tests.memory_suites.recall.earlier import EarlierSuite
from tests.memory_suites.recall.reading import ReadingSuite
from tests.memory_suites.recall.recent import RecentSuite
from tests.memory_suites.recall.replaced import ReplacedSuite
from tests.memory_suites.recall.transient import TransientSuite
from tests.memory_suites.records.changing import ChangingSuite
from tests.memory_suites.records.erase import EraseSuite
from tests.memory_suites.records.links import LinksSuite
from tests.memory_suites.records.naming import NamingSuite
from tests.memory_suites.records.one_word import OneWordSuite
from tests.memory_suites.records.quotes import QuotesSuite
from tests.memory_suites.records.remembering import RememberingSuite
from tests.memory_suites.records.supersede import SupersedeSuite
from tests.memory_suites.records.undo import UndoSuite


class MemorySuite(
    RememberingSuite,
    SupersedeSuite,
    ChangingSuite,
    NamingSuite,
    UndoSuite,
    OneWordSuite,
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
