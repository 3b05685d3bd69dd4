"""From an act to events: which module decides which act.

Responsible for the table of acts, for checks of a whole command and for the origin of an event.
Leaves what an act means in the current state to the module of its subject: ``records``,
``links``, ``documents``, ``proposals.derived``, ``sessions``, ``proposals``, ``branches``,
``records.foreign``, ``ledger_merge`` and ``removal``.
Invariant: ``decide`` returns events that the fold applies as intended, or raises; an empty list
means that the state is already as requested.

    inbox ─► active ─► archived (decayed | superseded | merged | rejected)
                │            │
                └─► forgotten ◄┘   restore leads back;   held: beside them, not trusted
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Final, TypeVar, cast

from recollect.errors import Changed, Forbidden, InvalidInput, NotFound
from recollect.index.rows import RULES, content_id, document_id
from recollect.index.tables import Names
from recollect.lifecycle import commands as c
from recollect.lifecycle.branches.branch_writes import on_branch
from recollect.lifecycle.branches.branches import close_branch, open_branch, try_branch
from recollect.lifecycle.ids import ID_MIN_CHARS, episode_id, record_id
from recollect.lifecycle.ledger_merge import Take, TakeErasure, take, take_erasure
from recollect.lifecycle.proposals.derived import derive, pass_rule, wanted
from recollect.lifecycle.proposals.proposals import propose, review, withdraw
from recollect.lifecycle.records.earlier import revert
from recollect.lifecycle.records.foreign import Bring, BringLink, bring, bring_link
from recollect.lifecycle.records.hypotheses import archive, settle
from recollect.lifecycle.records.links import link, reinforce_link, unlink
from recollect.lifecycle.records.names import with_full_ids
from recollect.lifecycle.records.records import reinforce, revise, tag
from recollect.lifecycle.records.replacement import remember
from recollect.lifecycle.removal import erase, erase_all, forget, restore
from recollect.lifecycle.retraction.plan import retract
from recollect.lifecycle.sessions import close_session, hand, observe, open_session
from recollect.lifecycle.settings.documents import (
    drop_document,
    drop_preset,
    set_document,
    set_preset,
    subject,
)
from recollect.lifecycle.settings.policy import policy_of
from recollect.lifecycle.view import View, visible
from recollect.model import events as e
from recollect.model import rules

FORGET_FEWER: Final = "forget fewer, or ask a person to do it"
_READ_AGAIN: Final = "read it again, then decide"
A = TypeVar("A", bound=c.Act)
Decided = tuple[list[e.AnyBody], str]  # the events of an act, and the id of its subject
Deciding = Callable[[View, c.Actor, c.Act], Decided]
Naming = Callable[[c.Act], str | None]


def _row(
    act: type[A],
    subject: Callable[[A], str | None],
    deciding: Callable[[View, c.Actor, A], Decided],
) -> tuple[type, tuple[Naming, Deciding]]:
    """A row for an act whose subject is known only after deciding, unless it names one."""
    return act, (cast(Naming, subject), cast(Deciding, deciding))


def _on(
    act: type[A],
    subject: Callable[[A], str],
    deciding: Callable[[View, c.Actor, A], list[e.AnyBody]],
) -> tuple[type, tuple[Naming, Deciding]]:
    """A row for an act that names its subject."""
    return _row(act, subject, lambda view, actor, act: (deciding(view, actor, act), subject(act)))


TABLE: Final = dict(
    [
        _row(c.Remember, lambda act: act.id, remember),
        _row(c.Observe, lambda act: act.id, observe),
        _on(c.Revise, lambda act: act.id, revise),
        _on(c.Forget, lambda act: act.id, forget),
        _on(c.Restore, lambda act: act.id, restore),
        _row(c.Revert, lambda act: None, revert),
        _on(c.Archive, lambda act: act.id, archive),
        _on(c.Retract, lambda act: act.id, retract),
        _on(c.Settle, lambda act: act.id, settle),
        _on(c.Erase, lambda act: act.id, erase),
        _on(c.EraseAll, lambda act: "", erase_all),
        _on(c.Reinforce, lambda act: act.id, reinforce),
        _on(c.Tag, lambda act: act.id, tag),
        _on(c.Link, lambda act: act.source, link),
        _on(c.ReinforceLink, lambda act: act.source, reinforce_link),
        _on(c.Unlink, lambda act: act.source, unlink),
        _on(c.SetPreset, lambda act: act.preset.name, set_preset),
        _on(c.DropPreset, lambda act: act.name, drop_preset),
        _on(c.SetDocument, subject, set_document),
        _on(c.DropDocument, subject, drop_document),
        _on(c.Pass, lambda act: document_id(RULES, act.rule), pass_rule),
        _row(c.Derive, lambda act: None, derive),
        _row(c.OpenSession, lambda act: act.id, open_session),
        _on(c.CloseSession, lambda act: act.id, close_session),
        _row(c.Propose, lambda act: None, propose),
        _on(c.Review, lambda act: act.id, review),
        _on(c.Withdraw, lambda act: act.id, withdraw),
        _row(c.OpenBranch, lambda act: None, open_branch),
        _row(c.OnBranch, lambda act: None, on_branch),
        _on(c.CloseBranch, lambda act: act.branch, close_branch),
        _on(c.TryBranch, lambda act: act.branch, try_branch),
        _on(c.Hand, lambda act: act.receipt.id, hand),
        _row(Bring, lambda act: act.wanted.id, bring),
        _on(BringLink, lambda act: act.source, bring_link),
        _on(Take, lambda act: "", take),
        _on(TakeErasure, lambda act: "", take_erasure),
    ]
)


def decide(view: View, actor: c.Actor, act: c.Act) -> Decided:
    """The events of one act, and the id of its subject."""
    row = TABLE.get(type(act))
    if row is None:
        raise InvalidInput(f"unknown act {type(act).__name__}")
    return row[1](view, actor, with_full_ids(view, actor, act))


def named_subject(act: c.Act) -> str | None:
    """The id of the subject that an act names; None if deciding it makes one."""
    return TABLE[type(act)][0](act)


def foreseen(acts: Iterable[c.Act]) -> Names:
    """The names that deciding these acts will look up and, most likely, not find.

    Looking up all of them at once saves a query for each.
    """
    records: set[str] = set()
    episodes: set[str] = set()
    contents: set[str] = set()
    keys: set[str] = set()
    for given in acts:
        act = wanted(given) if isinstance(given, c.Derive) else given
        act = act.wanted if isinstance(act, Bring) else act
        chosen = None  # an id of a caller, which must not be a key
        if isinstance(act, c.Remember):
            contents.add(content_id(act.text))
            episodes.update(act.evidence)
            if act.key is not None:
                keys.add(act.key)
            chosen = act.id
            if chosen is None:
                records.add(record_id(act, ID_MIN_CHARS))
        elif isinstance(act, c.Observe):
            chosen = act.id
            if chosen is None:
                episodes.add(episode_id(act, ID_MIN_CHARS))
        elif isinstance(act, c.Revise):
            episodes.update(act.evidence)
        if chosen is not None:
            episodes.add(chosen)
            keys.add(chosen)
    return Names(records | episodes, episodes, contents, keys)


def check_command(view: View, command: c.Command, here: Container[int]) -> None:
    """Checks all acts of a command together; ``here`` has the current position."""
    if command.expect is not None:
        check_expected(view, command.actor, command.expect, here)
    forgets = 0 if command.actor.trust == "person" else c.forgets(command.acts)
    if forgets and forgets > (at_most := policy_of(view, command.actor).forget_at_once):
        raise Forbidden(
            f"forgetting more than {at_most} at once needs a person",
            hint=FORGET_FEWER,
        )


def check_expected(view: View, actor: c.Actor, expect: c.Expect, here: Container[int]) -> None:
    """Refuses a caller who expects what has changed; ``here`` has the current position."""
    if isinstance(expect, int):
        if expect not in here:
            raise Changed(f"the memory has changed since position {expect}", hint=_READ_AGAIN)
        return
    id, seq = expect
    now = _seqs_of(view, actor, id)
    if not now:
        raise NotFound(f"nothing here has the id {id!r}", hint="`list` shows what there is")
    if seq not in now:
        raise Changed(f"{id!r} is at event {now[0]} now, not at {seq}", hint=_READ_AGAIN)


def _seqs_of(view: View, actor: c.Actor, id: str) -> list[int]:
    """Where everything with this id stands; a seq is unique, so one of them is the one meant."""
    rows = (view.version(id), view.episode(id), view.receipt(id), view.proposal(id))
    document = view.document(*id.split("/", 1)) if "/" in id else None
    found = [row.seq for row in rows if row is not None and visible(actor, row)]
    return found if document is None else [*found, document.seq]


def origin_of(actor: c.Actor, body: e.AnyBody) -> e.Origin:
    """The origin in the header of an event.

    The origin of an episode is its speaker, but never more trusted than the handle.
    """
    if isinstance(body, e.EpisodeObserved):
        return rules.said_with(actor.trust, body.role)
    return actor.trust
