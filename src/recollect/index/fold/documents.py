"""What events about documents do to the index.

Responsible for documents as they were set and dropped. Leaves what a document means to the code
that reads it. Invariant: of a type and a name one document is current at a time.
"""

from __future__ import annotations

from recollect.index.fold.state import State
from recollect.index.rows import Cell, DocumentRow, document_id, document_row
from recollect.index.statements import NOW, STILL
from recollect.model import rules
from recollect.model.events import DocumentDropped, DocumentSet, Origin


def document_changed(
    state: State, seq: int, at: str, origin: Origin, body: DocumentSet | DocumentDropped
) -> None:
    touched = f"document {document_id(body.type, body.name)}"  # no id holds a space
    params: dict[str, Cell] = {"type": body.type, "name": body.name, "at": NOW}
    known = state.tables.settle(touched).one("get_document", params)
    trust = None if known is None else DocumentRow._make(known).trust
    if not rules.may_set(origin, body, trust):
        return
    state.tables.write("end_document", (seq, body.type, body.name), touched)
    if isinstance(body, DocumentSet):
        state.tables.write("add_document", document_row(seq, STILL, at, body), touched)
