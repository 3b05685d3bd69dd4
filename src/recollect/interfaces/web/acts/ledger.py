"""Checking and signing the ledger.

Responsible for starting a check and for asking for a checkpoint. Leaves both to the memory.
Invariant: what a witness did not do is told.
"""

from __future__ import annotations

from recollect.interfaces.web.checked import CHECKED
from recollect.interfaces.web.digits import number
from recollect.interfaces.web.forms import Form
from recollect.interfaces.web.view import Done
from recollect.memory import Memory


def verify(form: Form, memory: Memory) -> Done:
    """Starts a check; the next page shows how far it is, or what it found."""
    CHECKED.begin(memory, form.asked.now, deep=form.text("how") == "deep")
    is_over = CHECKED.running(memory) is None
    said = "Checked." if is_over else "The check has begun. It goes on if you leave this page."
    return Done(to=_back(form), said=said)


def checkpoint(form: Form, memory: Memory) -> Done:
    """Signs how many events there are and which root they have."""
    made = memory.proof.checkpoint()
    silent = sum(each.problem is not None for each in made.witnesses)
    said = f"Signed {made.size:,} events."
    if silent:
        said += f" {silent} of {len(made.witnesses)} witnesses did not cosign."
    return Done(to=_back(form), said=said)


def _back(form: Form) -> str:
    """The certificate that the form was on, or the ledger."""
    erasure = number(form.text("erasure"))
    return form.url("ledger") if erasure is None else form.url("erasures", erasure)
