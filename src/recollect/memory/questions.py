"""From a query to a question that can be looked for.

Responsible for understanding and encoding it, outside every transaction that looks. Leaves what is
lacking to ``memory.vectors`` and looking to ``memory.search``. Invariant: an embedder that fails
costs its leg, which is said, and never the recall.
"""

from __future__ import annotations

from recollect.compose import Embedders
from recollect.errors import RecollectError
from recollect.memory.candidates import Near, Question, understood
from recollect.memory.vectors import embedder_name, legs
from recollect.store.port import Space


def ask(space: Space, at: int, query: str, embedders: Embedders | None) -> Question:
    """A query, understood as the memory stood at a position."""
    with space.reading(at) as reads:
        asked = understood(reads, query)
    if not asked.terms or embedders is None:
        return Question(query, asked)
    ready, lacking = legs(space, embedders)
    found: list[Near] = []
    names: list[str] = []
    said = [lacking] if lacking else []
    for leg in ready:
        try:
            row = leg.embedder.embed_query(asked.plain)
        except RecollectError as error:
            said.append(f"recall goes without {embedder_name(leg.embedder)}: {error}")
            continue
        found.append(Near(leg.embedder.grain, leg.vectors, row))
        names.append(leg.embedder.name)
    return Question(query, asked, tuple(found), " + ".join(names) or None, "; ".join(said) or None)
