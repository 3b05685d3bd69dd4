"""The use cases: what a memory can do for its user.

Responsible for the public face. Leaves rules to ``lifecycle``, reading policy to ``recall``,
storing to ``store``. Invariant: a handle can be narrowed and lowered, never widened or raised.
"""

from recollect.memory.batch import Batch
from recollect.memory.face import Memory, Store

__all__ = ["Batch", "Memory", "Store"]
