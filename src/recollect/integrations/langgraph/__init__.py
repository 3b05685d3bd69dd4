"""A memory as LangGraph's long-term store.

Responsible for one name, ``RecollectStore``. Leaves the store to ``store``, the form of an item to
``items`` and comparing to ``match``. Invariant: nothing here is imported unless it is asked for.
"""

from recollect.integrations.langgraph.store import RecollectStore

__all__ = ["RecollectStore"]
