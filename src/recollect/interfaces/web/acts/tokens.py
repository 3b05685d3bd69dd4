"""Acts on tokens, and on the sessions that browsers opened with them.

Responsible for creating, rotating and ending tokens and for ending sessions. Leaves what a session
may look after to the store and whose sessions they are to ``logins``. Invariants: a new token is
told once, to the session that asked for it; a session that has ended shows and changes nothing.
"""

from __future__ import annotations

from datetime import timedelta

from recollect.errors import InvalidInput, NotFound
from recollect.interfaces.web.forms import Form
from recollect.interfaces.web.login.logins import Logins
from recollect.interfaces.web.pages.tokens import ENDS_DAYS, OVERLAPS_S
from recollect.interfaces.web.view import Done
from recollect.memory import Store
from recollect.model.counts import counted
from recollect.model.events import Trust
from recollect.store.tokens.grants import VERBS

_TRUSTS: dict[str, Trust] = {"person": "person", "agent": "agent", "unverified": "unverified"}


def create(form: Form, store: Store) -> Done:
    """Creates a token that allows no more than this session does."""
    verbs = [verb for verb in VERBS if form.text(f"verb-{verb}") == "on"]
    ends = form.text("ends")
    if not verbs:
        raise InvalidInput("a token must allow something", hint="tick what it may do")
    if ends not in ENDS_DAYS or form.text("trust") not in _TRUSTS:
        raise InvalidInput("this form is incomplete", hint="load the page again")
    made = store.tokens.create(
        form.text("label"),
        space=form.text("space") or None,
        verbs=verbs,
        trust=_TRUSTS[form.text("trust")],
        user=form.text("user") or None,
        agent=form.text("agent") or None,
        expires=None if ends == "never" else timedelta(days=int(ends)),
    )
    said = f"Created. The token of {made.label} is shown only now: copy it."
    return Done(to=form.url("tokens"), said=said, secret=made.token)


def rotate(form: Form, store: Store) -> Done:
    """Creates a token in the place of another, which works on for a while."""
    if form.text("overlap") not in OVERLAPS_S:
        raise InvalidInput("this form is incomplete", hint="load the page again")
    seconds = int(form.text("overlap"))
    made = store.tokens.rotate(form.id("token"), overlap=timedelta(seconds=seconds))
    until = OVERLAPS_S[form.text("overlap")]
    said = f"Rotated. The old token of {made.label} works for {until} more. Copy the new one now."
    return Done(to=form.url("tokens"), said=said, secret=made.token)


def revoke(form: Form, store: Store) -> Done:
    """Ends a token at once."""
    found = store.tokens.get(form.id("token"))
    store.tokens.revoke(found.id)
    said = f"Revoked. What uses {found.label} is refused from now on."
    return Done(to=form.url("tokens"), said=said)


def end(form: Form, store: Store) -> Done:
    """Ends one session."""
    _logins(form).end(form.names["name"])
    return Done(to=form.url("tokens"), said="Ended. That browser is not let in any more.")


def end_others(form: Form, store: Store) -> Done:
    """Ends every session of this token but this one."""
    ended = _logins(form).end_others()
    said = f"Ended {counted(ended, 'other session')}." if ended else "No other session was open."
    return Done(to=form.url("tokens"), said=said)


def _logins(form: Form) -> Logins:
    if form.asked.logins is None:
        raise NotFound("this page has no sessions", hint="open the page of tokens")
    return form.asked.logins
