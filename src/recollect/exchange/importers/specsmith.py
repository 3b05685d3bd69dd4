"""Requirements and test cases of specsmith: ``.specsmith/*.json``, each a list.

Responsible for both lists. Leaves what a record is here to ``exchange.importers.chrono`` and
storing to ``memory.exchange.imports``. Invariants: a record keeps its id; what has no id is left
out, as there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from recollect.exchange.given import Given
from recollect.exchange.importers.chrono import ACTIVE, belief
from recollect.exchange.items import (
    Found,
    LinkItem,
    Source,
    Trouble,
    kept,
    name_of,
    named,
    once,
)
from recollect.exchange.json_stream import BrokenJsonError, elements

FORMAT: Final = "specsmith"
_KINDS: Final = {"requirements.json": "requirement", "testcases.json": "testcase"}
_VERIFIES: Final = "verifies"
_DEPRECATED: Final = "deprecat"


def recognizes(name: str, head: bytes) -> bool:
    """True if a file is one of the two."""
    return name.rpartition("/")[2] in _KINDS


def read(sources: Sequence[Source]) -> Iterator[Found]:
    """The requirements, the test cases and which of them belong together."""
    yield from once(found for source in sources for found in _file(source))


def _file(source: Source) -> Iterator[Found]:
    file = source.name.rpartition("/")[2]
    if file in _KINDS:
        number = 0
        try:
            for _, element in elements(source.chunks()):
                number += 1
                yield from _items(f"{source.name}, element {number}", file, element)
        except BrokenJsonError as error:
            yield Trouble(where=source.name, why=str(error))


def _items(where: str, file: str, given: object) -> Iterator[Found]:
    if not isinstance(given, Mapping):
        yield Trouble(where=where, why="not an object")
        return
    id, status = name_of(given.get("id")), given.get("status")
    if id is None:
        yield Trouble(where=where, why="no id")
        return
    is_old = isinstance(status, str) and _DEPRECATED in status.lower()
    said = {
        "kind": _KINDS[file],
        "status": "deprecated" if is_old else ACTIVE,
        "label": given.get("title"),
        "confidence": given.get("confidence"),
        "evidence": [f"migrated from {file}"],
        "data": given,
    }
    yield from Given(where, given).altered("id", "requirement_id")
    yield from belief(FORMAT, id, said, where)
    wanted = name_of(given.get("requirement_id"))
    if wanted is not None and wanted != id:
        yield LinkItem(
            source=kept(FORMAT, id),
            target=kept(FORMAT, wanted),
            kind=_VERIFIES,
            names=(named(FORMAT, id), named(FORMAT, wanted)),
            where=where,
        )
