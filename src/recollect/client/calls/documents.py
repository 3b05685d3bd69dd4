"""The calls of ``memory.documents`` as requests; ``make async`` writes it.

Responsible for one request for each call there. Leaves sending to ``client.asking``. Invariant:
signatures and documentation are the same.
"""

from __future__ import annotations

from recollect.client.asking import Calls
from recollect.client.kinds import Expect
from recollect.model.values import Document

List = list  # ``list`` is also the name of a call


class Documents(Calls):
    """List, get, set and drop the documents of a space.

    A document has a type, such as "rules", and a name; together they are its id, "type/name". It
    belongs to the whole space. Unverified writers may not change it, and no writer changes a
    document that was set with more trust."""

    def list(
        self, type: str | None = None, *, limit: int = 100, after: str | None = None
    ) -> List[Document]:
        """Documents, by type and name.

        Args:
            type: Only documents of this type; all types by default.
            limit: At most this many, up to 1,000.
            after: The id of the last document of the page before.

        Raises:
            InvalidInput: ``type`` cannot be the type of a document, or ``after`` the id of one.
        """
        answer: List[Document] = self._do(
            "list_documents", List[Document], {"type": type, "limit": limit, "after": after}
        )
        return answer

    def get(self, type: str, name: str) -> Document:
        """One document.

        Args:
            type: The type.
            name: The name.

        Raises:
            NotFound: The document does not exist.
        """
        answer: Document = self._do("get_document", Document, {"type": type, "name": name})
        return answer

    def drop(
        self,
        type: str,
        name: str,
        *,
        erase: bool = False,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> None:
        """Remove a document; its past stays readable with ``memory.at``.

        Args:
            type: The type.
            name: The name.
            erase: Also remove every byte of it and of its past, for good; needs a person.
            idempotency_key: The same key with the same call again does nothing more.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            NotFound: The document does not exist.
            Forbidden: The document was set with more trust than this handle has, or ``erase`` is
                asked for without a person's trust.
        """
        self._do(
            "drop_document",
            None,
            {"type": type, "name": name, "erase": erase},
            idempotency_key=idempotency_key,
            expect=expect,
            flags=("erase",),
        )
