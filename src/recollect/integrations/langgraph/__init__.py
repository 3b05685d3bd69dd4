"""A memory as LangGraph's long-term store.

Responsible for one name, ``RecollectStore``. Leaves the store to ``store``, the format of an item
to ``items`` and comparing to ``match``. Invariant: nothing here is imported before it is used.
"""

from recollect.integrations.extras import needs

with needs("langgraph"):
    from recollect.integrations.langgraph.store import RecollectStore

__all__ = ["RecollectStore"]
