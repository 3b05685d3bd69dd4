"""What is behind the doors of a memory of a service.

Responsible for each door being one of the engine's by type. Leaves every call to ``client.parts``.
Invariant: a call that the client lacks, or has otherwise, is an error of the type check.
"""

from __future__ import annotations

from recollect.client import parts
from recollect.memory.admin import Admin
from recollect.memory.branches import Branches
from recollect.memory.contexts.presets import Presets
from recollect.memory.contexts.receipts import Receipts
from recollect.memory.documents import Documents
from recollect.memory.events import Events
from recollect.memory.graph.links import Links
from recollect.memory.pages.pages import Pages
from recollect.memory.proof.proofs import Proofs
from recollect.memory.review import Review
from recollect.memory.rules.rules import Rules
from recollect.memory.sessions import Sessions
from recollect.memory.settings import MemorySettings


class ServicePresets(parts.Presets, Presets):
    """The presets of a memory of a service."""


class ServiceReceipts(parts.Receipts, Receipts):
    """What contexts handed out, at a service."""


class ServiceRules(parts.Rules, Rules):
    """The rules of a memory of a service."""


class ServiceDocuments(parts.Documents, Documents):
    """The documents of a memory of a service."""


class ServiceReview(parts.Review, Review):
    """What waits for a person, at a service."""


class ServiceLinks(parts.Links, Links):
    """The links between records, at a service."""


class ServicePages(parts.Pages, Pages):
    """The memory of a service as Markdown."""


class ServiceBranches(parts.Branches, Branches):
    """Named lines of proposals, at a service."""


class ServiceSessions(parts.Sessions, Sessions):
    """Conversations and runs of work, at a service."""


class ServiceEvents(parts.Events, Events):
    """The events of a ledger, at a service."""


class ServiceProofs(parts.Proofs, Proofs):
    """Checkpoints, proofs and receipts of a service."""

    @property
    def receipts(self) -> ServiceReceipts:
        """What contexts handed out."""
        return ServiceReceipts(self._remote)


class ServiceMemorySettings(parts.MemorySettings, MemorySettings):
    """What people set for a memory of a service."""

    @property
    def presets(self) -> ServicePresets:
        """The presets of this memory: built in, and set by its users."""
        return ServicePresets(self._remote)

    @property
    def rules(self) -> ServiceRules:
        """The rules of this memory: which episodes become records."""
        return ServiceRules(self._remote)

    @property
    def documents(self) -> ServiceDocuments:
        """The documents of this memory: rules, settings and policies."""
        return ServiceDocuments(self._remote)


class ServiceAdmin(parts.Admin, Admin):
    """What looks after a memory of a service."""
