"""The one fold: what every event does to the index.

Responsible for all derived state. Leaves whether an act is allowed to ``lifecycle``; but an event
that ``model.rules`` does not allow its origin has no effect, however it got into the ledger.
Invariants: the fold is total (an event about something unknown, or whose body was erased, has no
effect); it depends on events alone, so folding a ledger again gives the same rows; after a
subject's events are erased, the rows are as if it had never existed.

``apply`` has the table of events, ``records``, ``episodes``, ``documents``, ``sessions``,
``branches``, ``proposals`` and ``erasure`` what each event does, and ``state`` what they share.
"""

from recollect.index.fold.apply import Fold
from recollect.index.fold.state import Clock

__all__ = ["Clock", "Fold"]
