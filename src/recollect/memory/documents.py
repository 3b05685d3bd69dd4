"""``memory.documents``: rules, settings and policies of a space, as JSON.

Responsible for checking a document and for reading and writing it. Leaves who may change it to
``lifecycle.settings.documents`` and what the data means to its readers. Invariant: a document is
set whole, never merged.
"""

from __future__ import annotations

from collections.abc import Mapping

from recollect.index.reads import Reads
from recollect.index.rows import DocumentRow, document_id, unpack_object
from recollect.lifecycle.commands import DropDocument, Erase, Expect, SetDocument
from recollect.lifecycle.settings.documents import no_document
from recollect.memory.handle import answers
from recollect.memory.handle.handle import Calls
from recollect.memory.handle.healed import heals
from recollect.model import limits, validate
from recollect.model.validate import Json
from recollect.model.values import Document
from recollect.store.port import Outcome

List = list  # ``list`` is also the name of a call


@heals
class Documents(Calls):
    """List, get, set and drop the documents of a space.

    A document has a type, such as "rules", and a name; together they are its id, "type/name". It
    belongs to the whole space. Unverified writers may not change it, and no writer changes a
    document that was set with more trust.
    """

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
        type = None if type is None else validate.document_type(type)
        limit = validate.count(limit, "limit", at_most=limits.LIST_MAX_DOCUMENTS)
        start = ("", "") if after is None else validate.document_id(after, "after")
        with self._handle.reading() as reads:
            return [_document_of(row) for row in reads.documents(type, start, limit)]

    def get(self, type: str, name: str) -> Document:
        """One document.

        Args:
            type: The type.
            name: The name.

        Raises:
            NotFound: The document does not exist.
        """
        type, name = validate.document(type, name)
        with self._handle.reading() as reads:
            return _found(reads, type, name)

    def set(
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
        type, name = validate.document(type, name)
        act = SetDocument(type=type, name=name, data=validate.data(data))

        def answer(reads: Reads, outcome: Outcome) -> Document:
            return _found(reads, type, name)  # not there if a repeated call was undone since

        return self._handle.write((act,), answer, idempotency_key, expect)

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
        type, name = validate.document(type, name)
        id = document_id(type, name)
        erase = validate.flag(erase, "erase")
        act = Erase(id=id, what="document") if erase else DropDocument(type=type, name=name)
        self._handle.write((act,), answers.nothing, idempotency_key, expect)
        if erase:
            self._handle.space.purge()


def _found(reads: Reads, type: str, name: str) -> Document:
    row = reads.document(type, name)
    if row is None:
        raise no_document(type, name)
    return _document_of(row)


def _document_of(row: DocumentRow) -> Document:
    return Document(
        type=row.type,
        name=row.name,
        data=unpack_object(row.data),
        trust=row.trust,
        at=row.at,
        seq=row.seq,
    )
