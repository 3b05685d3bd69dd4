"""Vouching: a person's word, and what a change of it needs.

Responsible for the event with which a person who writes stands behind the text, and for the trust
that a change of a record needs. Leaves which evidence allows an agent's change to
``lifecycle.trust.lineage``. Invariants: only an act in which a person sets the text, or keeps it a
person's, vouches; what a person vouched for once needs a person, or a person's later words, for
every change from then on, whatever trust its present text has.
"""

from __future__ import annotations

from recollect.index.rows import VersionRow, is_held
from recollect.lifecycle import commands as c
from recollect.lifecycle.view import View, stamped
from recollect.model import events as e
from recollect.model.rules import at_least


def vouched(actor: c.Actor, id: str, trust: e.Trust) -> list[e.AnyBody]:
    """The event after which a text that this actor has set is a person's word.

    ``trust`` is that of the text by its evidence: what an agent captured does not lower a person's
    word. What is unverified waits for a review, and what is a person's needs no event.
    """
    is_raised = actor.trust == "person" and trust == "agent"
    return [stamped(actor, e.RecordVouched(id=id))] if is_raised else []


def vouched_again(
    actor: c.Actor, row: VersionRow, trust: e.Trust, *, says: bool
) -> list[e.AnyBody]:
    """The same for a change of a record: a person says its text, or it was a person's word before.

    What is held stays held: its own review lets it in, which shows whose key it takes.
    """
    is_word = row.status != "held" and (says or row.trust == "person")
    return vouched(actor, row.id, trust) if is_word else []


def may_alter(view: View, actor: c.Actor, row: VersionRow) -> bool:
    """True if an actor may change a record without quoting a person."""
    return actor.trust == "person" or at_least(actor.trust, standing(view, row))


def standing(view: View, row: VersionRow) -> e.Trust:
    """The trust that a change of a record needs: a person's, if a person ever vouched for it.

    Also if it was for another record under the same key, or for one whose place this one took. A
    record that never held its key stands for itself alone.
    """
    if row.trust == "person":
        return "person"
    is_aside = is_held(row) or row.status == "inbox"
    key = None if is_aside else row.key
    if view.is_vouched(row.id, key, row.user):
        return "person"
    return "person" if row.key is None and _replaced_one(view, row.id) else row.trust


def _replaced_one(view: View, id: str) -> bool:
    """True if a record without a key took the place of one that a person vouched for.

    Over any number of records: an agent's correction keeps the key, so under one this is not asked.
    """
    seen, waiting = {id}, [id]  # a forged chain may be a ring
    while waiting:
        found = [one for one in view.superseded_by(waiting.pop()) if one not in seen]
        rows = [row for row in map(view.version, found) if row is not None]
        if any(view.is_vouched(row.id, row.key, row.user) for row in rows):
            return True
        seen.update(found)
        waiting += found
    return False
