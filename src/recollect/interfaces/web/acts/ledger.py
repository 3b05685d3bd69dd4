"""Signing the ledger.

Responsible for asking for a checkpoint. Leaves keys and witnesses to the memory. Invariant: what a
witness did not do is told.
"""

from __future__ import annotations

from recollect.interfaces.web.digits import number
from recollect.interfaces.web.forms import Form
from recollect.interfaces.web.view import Done
from recollect.memory import Memory


def checkpoint(form: Form, memory: Memory) -> Done:
    """Signs how many events there are and which root they have."""
    made = memory.checkpoint()
    silent = sum(each.problem is not None for each in made.witnesses)
    said = f"Signed {made.size:,} events."
    if silent:
        said += f" {silent} of {len(made.witnesses)} witnesses did not cosign."
    back = number(form.text("erasure"))
    to = form.url("ledger") if back is None else form.url("erasures", back)
    return Done(to=to, said=said)
