"""The answer to a question that names nothing to look for.

Responsible for recognizing such a question with a memory's clock and offset. Leaves the words to
``recall.times`` and the answer to ``Memory.overview``. Invariant: a question with a subject
gets no overview.
"""

from __future__ import annotations

from recollect.memory.handle.handle import clock_of
from recollect.memory.memory import Memory
from recollect.model.values import Overview
from recollect.recall.times import unspecific


def in_general(memory: Memory, query: str, *, found: bool, limit: int = 10) -> Overview | None:
    """An overview, if the question is unspecific; ``found`` says whether recall found something."""
    span = unspecific(query, *clock_of(memory), found=found)
    if span is None:
        return None
    return memory.sessions.overview(since=span.since, before=span.before, limit=limit)
