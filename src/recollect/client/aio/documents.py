"""The calls of ``memory.documents``, async; ``make async`` writes this module.

Responsible for one call in a worker thread for each call there. Leaves everything else to the plain
memory. Invariant: signatures and documentation are the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from recollect.client.aio.workers import AsyncCalls
from recollect.client.kinds import Expect
from recollect.client.parts import Documents
from recollect.model.validate import Json
from recollect.model.values import Document

List = list  # ``list`` is also the name of a call


class AsyncDocuments(AsyncCalls[Documents]):
    """List, get, set and drop the documents of a space.

    A document has a type, such as "rules", and a name; together they are its id, "type/name". It
    belongs to the whole space. Unverified writers may not change it, and no writer changes a
    document that was set with more trust."""

    async def list(
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
        return await self._run(self._calls.list, type, limit=limit, after=after)

    async def get(self, type: str, name: str) -> Document:
        """One document.

        Args:
            type: The type.
            name: The name.

        Raises:
            NotFound: The document does not exist.
        """
        return await self._run(self._calls.get, type, name)

    async def set(
        self,
        type: str,
        name: str,
        data: Mapping[str, Json],
        *,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Document:
        """Set a document, whole. The same data again writes nothing.

        Args:
            type: Lower-case letters, digits and ``_ . -``, beginning with a letter.
            name: An id; with the type at most 120 characters.
            data: A JSON object, within the limits of a record's data.
            idempotency_key: The same key with the same call again does nothing more.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Returns:
            The document as it is stored.

        Raises:
            InvalidInput: Type, name or data cannot be stored.
            Forbidden: The document was set with more trust than this handle has.
        """
        return await self._run(
            self._calls.set, type, name, data, idempotency_key=idempotency_key, expect=expect
        )

    async def drop(
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
        await self._run(
            self._calls.drop,
            type,
            name,
            erase=erase,
            idempotency_key=idempotency_key,
            expect=expect,
        )
