"""What is behind the doors of a memory of a service.

Responsible for the calls whose arguments are not those of their operation. Leaves the others to
``client.calls``. Invariant: signatures and documentation are those of the plain API.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from recollect.client.calls import (
    admin,
    documents,
    presets,
    proofs,
    receipts,
    rules,
    sessions,
    settings,
)
from recollect.client.calls.branches import Branches
from recollect.client.calls.links import Links
from recollect.client.calls.pages import Pages
from recollect.client.calls.review import Review
from recollect.client.events import Events
from recollect.client.kinds import Expect, Progress
from recollect.client.looking import listed
from recollect.errors import InvalidInput
from recollect.model.presets import Preset
from recollect.model.validate import Json
from recollect.model.values import Document, Episode, Include, Receipt, Rule, Session, Verification

__all__ = [
    "Admin",
    "Events",
    "Links",
    "MemorySettings",
    "Proofs",
    "Branches",
    "Documents",
    "Presets",
    "Pages",
    "Receipts",
    "Review",
    "Rules",
    "Sessions",
]

List = list  # ``list`` is a call


class Presets(presets.Presets):
    """List, get, set and drop."""

    def set(
        self,
        preset: Preset | Mapping[str, object],
        *,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Preset:
        """Set a preset, whole.

        The arguments are those of ``recollect.Memory.settings.presets.set``.
        """
        given = msgspec.to_builtins(preset) if isinstance(preset, Preset) else preset
        if not isinstance(given, Mapping) or not isinstance(given.get("name"), str):
            raise InvalidInput("this preset could not be parsed: it has no name")
        answer: Preset = self._do(
            "set_preset",
            Preset,
            {"name": given["name"]},
            body={name: value for name, value in given.items() if name != "name"},
            idempotency_key=idempotency_key,
            expect=expect,
        )
        return answer


class Receipts(receipts.Receipts):
    """List, get and erase. Reading them writes those that still wait to be written."""

    def list(self, *, limit: int = 100, after: str | int | None = None) -> list[Receipt]:
        """Receipts, newest first.

        The arguments are those of ``recollect.Memory.proof.receipts.list``.
        """
        return listed(self._remote, "list_receipts", Receipt, {}, limit, after)


class Documents(documents.Documents):
    """List, get, set and drop."""

    def set(
        self,
        type: str,
        name: str,
        data: Mapping[str, Json],
        *,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Document:
        """Set a document, whole.

        The arguments are those of ``recollect.Memory.settings.documents.set``.
        """
        answer: Document = self._do(
            "set_document",
            Document,
            {"type": type, "name": name},
            body=data,
            idempotency_key=idempotency_key,
            expect=expect,
        )
        return answer


class Rules(rules.Rules):
    """List, get, set and drop; which are due."""

    def due(self) -> List[Rule]:
        """The rules that have something to do now.

        The answer is that of ``recollect.Memory.settings.rules.due``.
        """
        answer: List[Rule] = self._do("list_rules", List[Rule], {"due": True})
        return answer


class Sessions(sessions.Sessions):
    """Open, close and list; which one is active."""

    def active(self) -> Session | None:
        """The session that was opened last and is still open.

        The answer is that of ``recollect.Memory.sessions.active``.
        """
        found: List[Session] = self._do("list_sessions", List[Session], {"active": True})
        return found[0] if found else None

    def episodes(
        self,
        *,
        filter: str | None = None,
        include: Iterable[Include] = (),
        limit: int = 100,
        after: str | int | None = None,
    ) -> List[Episode]:
        """Episodes, newest first.

        The arguments are those of ``recollect.Memory.sessions.episodes``.
        """
        wanted = {"filter": filter, "include": include}
        return listed(self._remote, "list_episodes", Episode, wanted, limit, after)


class Admin(admin.Admin):
    """Verify, diagnose, explain, seal, rebuild, back up, copy, merge, import, export."""

    def verify(
        self,
        progress: Progress | None = None,
        *,
        deep: bool = False,
        anchor: str | None = None,
    ) -> Verification:
        """Check every line of the ledger, its chain, and whether the index agrees with it.

        The arguments are those of ``recollect.Memory.admin.verify``; an anchor is a position and a
        hash.
        """
        kept = anchor.strip().lower() if isinstance(anchor, str) else anchor
        answer: Verification = self._do("verify", Verification, {"deep": deep, "anchor": kept})
        return answer


class Proofs(proofs.Proofs):
    """Sign, prove, audit; what was erased, and what contexts handed out."""

    @property
    def receipts(self) -> Receipts:
        """What contexts handed out."""
        return Receipts(self._remote)


class MemorySettings(settings.MemorySettings):
    """Presets, rules, documents; how long something is kept; whose memory is encrypted."""

    @property
    def presets(self) -> Presets:
        """The presets of this memory: built in, and set by its users."""
        return Presets(self._remote)

    @property
    def rules(self) -> Rules:
        """The rules of this memory: which episodes become records; ``run`` runs one."""
        return Rules(self._remote)

    @property
    def documents(self) -> Documents:
        """The documents of this memory: rules, settings and policies."""
        return Documents(self._remote)
