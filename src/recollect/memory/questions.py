"""From queries to questions that can be looked for.

Responsible for understanding and encoding them, outside every transaction that looks. Leaves what
is lacking to ``memory.vectors`` and looking to ``memory.search``. Invariant: an embedder that fails
costs its leg, which is said, and never the recall.
"""

from __future__ import annotations

from collections.abc import Sequence

from recollect.compose import Embedders
from recollect.errors import RecollectError
from recollect.memory.candidates import Near, Question, understood
from recollect.memory.vectors import Leg, embedder_name, legs
from recollect.store.port import Space


def ask(
    space: Space, at: int, queries: Sequence[str], embedders: Embedders | None
) -> list[Question]:
    """Queries, understood as the memory stood at a position."""
    with space.reading(at) as reads:
        plain = [Question(query, understood(reads, query)) for query in queries]
    if embedders is None or not any(question.asked.terms for question in plain):
        return plain
    ready, lacking = legs(space, embedders)
    return [_encoded(one, ready, lacking) if one.asked.terms else one for one in plain]


def _encoded(question: Question, ready: Sequence[Leg], lacking: str | None) -> Question:
    """A question as each embedder sees it."""
    found: list[Near] = []
    names: list[str] = []
    said = [lacking] if lacking else []
    for leg in ready:
        try:
            row = leg.embedder.embed_query(question.asked.plain)
        except RecollectError as error:
            said.append(f"recall goes without {embedder_name(leg.embedder)}: {error}")
            continue
        found.append(Near(leg.embedder.grain, leg.vectors, row))
        names.append(leg.embedder.name)
    return question._replace(
        legs=tuple(found), embedder=" + ".join(names) or None, degraded="; ".join(said) or None
    )
