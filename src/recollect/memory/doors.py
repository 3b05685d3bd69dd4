"""The doors of a memory: calls that few programs need every day.

Responsible for one property for each. Leaves the calls to the classes behind them. Invariant: a
door has the handle of its memory, with its scope, trust and position.
"""

from __future__ import annotations

from recollect.memory.admin import Admin
from recollect.memory.branches import Branches
from recollect.memory.events import Events
from recollect.memory.graph.links import Links
from recollect.memory.handle.handle import Calls
from recollect.memory.pages.pages import Pages
from recollect.memory.proof.proofs import Proofs
from recollect.memory.review import Review
from recollect.memory.sessions import Sessions
from recollect.memory.settings import MemorySettings


class Doors(Calls):
    """Nine groups of calls over the same handle."""

    @property
    def review(self) -> Review:
        """What waits for a person: proposals and waiting records."""
        return Review(self._handle)

    @property
    def graph(self) -> Links:
        """The links between records."""
        return Links(self._handle)

    @property
    def pages(self) -> Pages:
        """The memory as Markdown, one page for each entity."""
        return Pages(self._handle)

    @property
    def branches(self) -> Branches:
        """Named lines of proposals: what would be changed, until a person merges it."""
        return Branches(self._handle)

    @property
    def sessions(self) -> Sessions:
        """Conversations and runs of work, and what was said in them."""
        return Sessions(self._handle)

    @property
    def events(self) -> Events:
        """The events of the ledger, as they were written."""
        return Events(self._handle)

    @property
    def proof(self) -> Proofs:
        """Checkpoints, proofs, audits, certificates and receipts."""
        return Proofs(self._handle)

    @property
    def settings(self) -> MemorySettings:
        """Presets, rules, documents and policies of this memory."""
        return MemorySettings(self._handle)

    @property
    def admin(self) -> Admin:
        """What looks after this memory and moves it."""
        return Admin(self._handle)
