"""The one fold: what every event does to the index.

Responsible for all derived state. Leaves whether an act may happen to ``lifecycle``; but an event
that no rule of ``model.rules`` lets its origin do changes nothing, however it came into the ledger.
Invariants: the fold is total (an event about something unknown, or whose body was erased, changes
nothing); it depends on events alone, so folding a ledger again gives the same rows; a subject whose
events are erased leaves the same rows as if it had never been.

``apply`` has the table of events, ``records``, ``episodes``, ``links``, ``frames``, ``receipts``
and ``erasing`` what each of them does, and ``state`` what they share.
"""

from recollect.index.fold.apply import Fold
from recollect.index.fold.state import Clock

__all__ = ["Clock", "Fold"]
