"""The value of a document.

Responsible for its shape. Leaves reading and writing to ``memory.documents``. Invariant: ``data``
is a copy; changing it changes no memory.
"""

from __future__ import annotations

from recollect.model.events import Trust
from recollect.model.validate import Json
from recollect.model.values.records import Value


class Document(Value, frozen=True, kw_only=True):
    """Rules, settings or a policy of a space: JSON under a type and a name.

    ``trust`` is that of the writer, ``seq`` the event that set it and ``at`` its instant.
    """

    type: str
    name: str
    data: dict[str, Json]
    trust: Trust
    at: str
    seq: int

    @property
    def id(self) -> str:
        """What events and ``expect`` know it by."""
        return f"{self.type}/{self.name}"
