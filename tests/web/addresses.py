"""An address for every page of the table, on a memory that has a record and an episode.

A page with names in braces needs a line in ``NAMED``; a page that is better with a query, in
``ASKED``.
"""

from __future__ import annotations

from recollect import Memory
from recollect.interfaces.web.table import PAGES
from recollect.model.values import INCLUDES
from recollect.model.wire import to_segment

ASKED: dict[str, list[str]] = {
    "search": [
        "q=where+does+alice+sit&k=5",
        "q=alice&include=waiting&include=replaced&unit=record",
        "q=zzz",
        "q=alice&id={record}",
    ],
    "context": [
        "q=where+does+alice+sit",
        "q=alice&preset=self&other=task&tokens=120&id={record}",
        "q=alice&tokens=1",
        "q=zzz",
    ],
    "diff": ["from=0", "from=12&to=20", "from=2000-01-01"],
    "records": ["where=kind+%3D+%27fact%27", "include=replaced&include=waiting&limit=3"],
    "receipts": ["before=20"],
    "stops": ["width=9"],
    "timeline": [
        "kinds=record",
        "who=agent",
        "session=booking",
        "about={record}",
        "before=5",
        "kinds=ledger",
    ],
    "review": ["after=1", "after=9999"],
    "audit": ["from=2026-01-01&to=2026-12-31&who=person", "who=planner", "after=5"],
}

LEADS_AWAY = ("go",)  # has no page of its own


def addresses(memory: Memory, space: str = "demo") -> list[str]:
    """Paths behind the root, at least one for each page."""
    record = next(iter(memory.list(limit=1, include=INCLUDES)), None)
    episode = next(iter(memory.sessions.episodes(limit=1, include=INCLUDES)), None)
    erased = next(iter(memory.events.list(kinds=["events.erased"], limit=1)), None)
    shown = next(iter(memory.list(limit=1)), None)
    receipt = next(iter(memory.at(memory.events.position).proof.receipts.list(limit=1)), None)
    named = {
        "ledger/{seq}": f"ledger/{memory.events.position}" if memory.events.position else None,
        "ledger/{seq}/proof": None,  # a file, and only under a signed checkpoint
        "erase/{id}": None if record is None else f"erase/{to_segment(record.id)}",
        "erasures/{seq}": None if erased is None else f"erasures/{erased.seq}",
        "r/{id}": None if record is None else f"r/{to_segment(record.id)}",
        "e/{id}": None if episode is None else f"e/{to_segment(episode.id)}",
        "graph/{id}": None if shown is None else f"graph/{to_segment(shown.id)}?hops=2",
        "about/{entity}": "about/alice",
        "session/{name}": None if episode is None else "session/booking",
        "presets/{name}": "presets/task?q=alice",
        "presets/{name}/edit": "presets/task/edit?q=alice",
        "receipts/{id}": None if receipt is None else f"receipts/{to_segment(receipt.id)}",
    }
    found = []
    for page in PAGES:
        if page.path in LEADS_AWAY:
            continue
        path = named[page.path] if "{" in page.path else page.path
        if path is None:  # an empty memory has none
            continue
        address = f"/{to_segment(space)}/{path}"
        asked = [each.format(record=record.id if record else "x") for each in ASKED.get(path, [])]
        found += [address, *(f"{address}?{each}" for each in asked)]
    return found
