"""Requirements and test cases of specsmith: ``.specsmith/*.json``, each a list.

Responsible for both lists. Leaves storing to ``memory.importing``. Invariant: what has no id is
left out, as there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from recollect.exchange.items import (
    Found,
    LinkItem,
    RecordItem,
    Source,
    Trouble,
    data_of,
    fraction_of,
    name_of,
    named,
    text_of,
)
from recollect.exchange.json_stream import BrokenJsonError, elements
from recollect.exchange.statuses import standing

FORMAT: Final = "specsmith"
_KINDS: Final = {"requirements.json": "requirement", "testcases.json": "testcase"}
_VERIFIES: Final = "verifies"


def recognizes(name: str, head: bytes) -> bool:
    """True if a file is one of the two."""
    return name.rpartition("/")[2] in _KINDS


def read(sources: Sequence[Source]) -> Iterator[Found]:
    """The requirements, the test cases and which of them belong together."""
    for source in sources:
        kind = _KINDS.get(source.name.rpartition("/")[2])
        if kind is None:
            continue
        number = 0
        try:
            for _, element in elements(source.chunks()):
                number += 1
                yield from _items(f"{source.name}, element {number}", kind, element)
        except BrokenJsonError as error:
            yield Trouble(where=source.name, why=str(error))


def _items(where: str, kind: str, given: object) -> Iterator[Found]:
    if not isinstance(given, Mapping):
        yield Trouble(where=where, why="not an object")
        return
    id, title = name_of(given.get("id")), text_of(given.get("title"))
    if id is None or not title:
        yield Trouble(where=where, why="no id" if id is None else "no title")
        return
    yield RecordItem(
        id=named(FORMAT, id),
        text=title,
        where=where,
        kind=kind,
        about=id,
        confidence=fraction_of(given.get("confidence")),
        data=data_of(given),
        status=standing(given.get("status")),
    )
    wanted = name_of(given.get("requirement_id"))
    if wanted is not None and wanted != id:
        ends = named(FORMAT, id), named(FORMAT, wanted)
        yield LinkItem(source=ends[0], target=ends[1], kind=_VERIFIES, where=where)
