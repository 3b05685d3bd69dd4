"""Ending sessions.

Responsible for ending one, or all others. Leaves whose they are to ``logins``. Invariant: a session
that has ended shows and changes nothing more.
"""

from __future__ import annotations

from recollect.errors import NotFound
from recollect.interfaces.web.forms import Form
from recollect.interfaces.web.login.logins import Logins
from recollect.interfaces.web.view import Done
from recollect.memory import Store
from recollect.model.counts import counted


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
