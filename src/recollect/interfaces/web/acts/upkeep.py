"""Acts of upkeep: checking and signing the ledger, and background work.

Responsible for starting a check, for asking for a checkpoint, and for jobs and their schedules.
Leaves the work to the memory and to a worker. Invariants: what a witness did not do is told; what a
job may write is bound by the token of the session that asked for it.
"""

from __future__ import annotations

from typing import cast, get_args

from recollect.errors import Forbidden, InvalidInput
from recollect.interfaces.web.checked import CHECKED
from recollect.interfaces.web.digits import number
from recollect.interfaces.web.forms import Form
from recollect.interfaces.web.view import Done
from recollect.memory import Memory, Store
from recollect.model.events import Trust
from recollect.model.values import JobKind


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


def ask(form: Form, store: Store) -> Done:
    """Asks for a pass over a memory."""
    kind, space = _kind(form), form.text("space")
    job = store.jobs.ask(kind, space=space, trust=_origin(store))
    said = f"Asked for: {kind} in {space} (job {job.id}). A worker does it."
    return Done(to=form.url("jobs"), said=said)


def cancel(form: Form, store: Store) -> Done:
    """Ends a job that waits or runs."""
    job = store.jobs.cancel(form.id("job"))
    return Done(to=form.url("jobs"), said=f"Cancelled: {job.kind} in {job.space} (job {job.id}).")


def schedule(form: Form, store: Store) -> Done:
    """Sets when a pass is asked for again and again."""
    kind, space = _kind(form), form.text("space")
    store.jobs.set_schedule(kind, space=space, cron=form.text("cron"), trust=_origin(store))
    return Done(to=form.url("jobs"), said=f"Set: {kind} in {space} at {form.text('cron')} (UTC).")


def drop_schedule(form: Form, store: Store) -> Done:
    """Removes a schedule."""
    if _origin(store) != "person":
        raise Forbidden("only a person removes a schedule", hint="use a person's token")
    kind, space = form.text("kind"), form.text("space")
    store.jobs.drop_schedule(kind, space=space)
    return Done(to=form.url("jobs"), said=f"Removed: {kind} in {space} is not asked for again.")


def _kind(form: Form) -> JobKind:
    kind = form.text("kind")
    if kind not in get_args(JobKind):
        raise InvalidInput("this form is incomplete", hint="load the page again")
    return cast(JobKind, kind)


def _origin(store: Store) -> Trust:
    """The trust of who asks: that of the token, and a person's without one."""
    held = store.token()
    return "person" if held is None else held.trust
