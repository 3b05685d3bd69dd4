"""Reverting: a record is again what it was.

Responsible for the events that bring an earlier version back, and for who may. Leaves which command
an undo takes back to ``memory.correction.undoing``. Invariants: only an actor who could have made
the later changes takes them back; a version comes back without more trust than the record has now,
unless a person vouches for it by that; what was erased never comes back.
"""

from __future__ import annotations

from typing import Final

from msgspec import UNSET, UnsetType

from recollect.errors import Conflict
from recollect.index.fold.versions import sources_of, why_of
from recollect.index.rows import VersionRow, is_held, unpack_names, unpack_object
from recollect.lifecycle import commands as c
from recollect.lifecycle.filed import LIVE
from recollect.lifecycle.settings.policy import require_at_once
from recollect.lifecycle.trust.dependents import lowered
from recollect.lifecycle.trust.lineage import Lineage, lineage, require_change
from recollect.lifecycle.trust.persons_word import vouched
from recollect.lifecycle.view import View, known_record, require_undo, stamped, visible
from recollect.model import events as e
from recollect.model.limits import LIST_MAX_RECORDS
from recollect.model.rules import at_least, lowest

# What a version says; the rest is its state.
_CONTENT: Final = (*e.PLAIN, "text", "is_hypothesis", "evidence", "data", "tags")


def revert(view: View, actor: c.Actor, act: c.Revert) -> tuple[list[e.AnyBody], str]:
    """Brings back what held before: an earlier version, or the record that this one superseded."""
    now = known_record(view, actor, act.id)
    require_change(view, Lineage(actor), now)
    rows = view.versions(now.id)
    then = _version_then(rows, act)
    if then is None and now.supersedes is None and act.exactly:
        _require_right(view, actor, now, rows)
        require_at_once(view, actor, "delete")
        forgotten = e.RecordForgotten(id=now.id, sources="keep")
        return ([] if now.status == "forgotten" else [stamped(actor, forgotten)]), now.id
    if then is None:
        now, then, replaced = _predecessor(view, actor, act, now)
    else:
        replaced = None
    if then.status not in LIVE and not act.exactly:
        raise Conflict(f"{now.id} did not hold at event {then.seq}", hint="choose another version")
    bodies = _back(view, actor, now, then, replaced, act.may_fall)
    return [stamped(actor, body) for body in bodies], _holding(bodies, now)


def _holding(bodies: list[e.AnyBody], now: VersionRow) -> str:
    """The record that holds after these events: one that got its key back, or the reverted one."""
    last = bodies[-1] if bodies else None
    return last.id if isinstance(last, e.RecordRestored) else now.id


def _version_then(
    rows: list[VersionRow], act: c.Revert, *, superseded: bool = False
) -> VersionRow | None:
    """The version at a position; without one, the last that held and differs from the present."""
    if act.to is not None:
        return next((row for row in reversed(rows) if row.seq <= act.to), None)
    held = (row for row in reversed(rows) if row.status in LIVE)
    return next((row for row in held if superseded or _is_other(row, rows[-1])), None)


def _is_other(row: VersionRow, now: VersionRow) -> bool:
    """True if a version differs from the present one, or waited for the review that let it in."""
    return not _is_alike(row, now) or (row.status == "held" and now.status == "active")


def _predecessor(
    view: View, actor: c.Actor, act: c.Revert, now: VersionRow
) -> tuple[VersionRow, VersionRow, VersionRow]:
    """The record that a chain of superseding leads back to, its version then, and the last one."""
    last, seen = now, {now.id}
    while now.supersedes is not None and now.supersedes not in seen:  # a forged chain may be a ring
        old = view.version(now.supersedes)
        if old is None:
            raise Conflict(
                f"what came before {now.id} was erased, so it cannot be brought back",
                hint=f"forget {last.id} if it should not hold either",
            )
        now = known_record(view, actor, old.id)
        seen.add(now.id)
        then = _version_then(view.versions(now.id), act, superseded=True)
        if then is not None:
            return now, then, last
    raise Conflict(
        f"nothing came before {last.id}", hint="`forget` takes a record out of recall instead"
    )


def _back(
    view: View,
    actor: c.Actor,
    now: VersionRow,
    then: VersionRow,
    replaced: VersionRow | None,
    may_fall: bool,
) -> list[e.AnyBody]:
    """The events from one version to an earlier one; ``replaced`` is superseded by it."""
    since = [row for row in view.versions(now.id) if row.seq > then.seq]
    _require_right(view, actor, now, since)
    is_word = _is_word(actor, now, then, since)
    content = _content_events(view, actor, now, then, may_fall, is_word)
    if _falls(content, now) and now.status != "held":
        return [*content, *_restored(now)]
    if then.status == "held":  # it holds no key, so nothing is superseded
        key = _key_back(view, actor, now, since)
        return [*_held_again(view, actor, now, then), *content, *key]
    if then.status in LIVE:
        word = vouched(actor, now.id, _trust_after(now, content)) if is_word else []
        return [*_live_again(view, actor, now, replaced), *content, *word]
    return [*content, *_ended_again(view, actor, now, then)]


def _live_again(
    view: View, actor: c.Actor, now: VersionRow, replaced: VersionRow | None
) -> list[e.AnyBody]:
    """The events after which a record holds, in the place of what has come since."""
    holder = view.holder(now.key, now.user) if now.key else None
    found = (holder, replaced, _successor(view, now))
    others = {row.id: row for row in found if row and row.status in LIVE}
    others.pop(now.id, None)
    for row in others.values():
        _require_right(view, actor, row, [row])
    ended = [e.RecordSuperseded(id=id, by=now.id) for id in others]
    return [*ended, *_restored(now)]


def _ended_again(view: View, actor: c.Actor, now: VersionRow, then: VersionRow) -> list[e.AnyBody]:
    """The events after which a record is archived or forgotten as it was."""
    if (now.status, now.superseded_by) == (then.status, then.superseded_by):
        return []
    if then.status == "archived" and then.superseded_by:
        return [e.RecordSuperseded(id=now.id, by=then.superseded_by)]
    require_at_once(view, actor, "delete")
    if then.status == "archived":
        return [*_restored(now), e.RecordArchived(id=now.id, why=why_of(then))]
    return [e.RecordForgotten(id=now.id, sources=sources_of(then))]


def _restored(now: VersionRow) -> list[e.AnyBody]:
    """The event that brings a record back, if it is gone."""
    return [] if now.status in LIVE else [e.RecordRestored(id=now.id)]


def _is_word(actor: c.Actor, now: VersionRow, then: VersionRow, since: list[VersionRow]) -> bool:
    """True if a person brings back a text that was a person's, or takes back an agent's change.

    Taking back one's own change leaves the record as it was, with the trust that it had.
    """
    is_sure = now.is_hypothesis and not then.is_hypothesis  # as good as confirming it
    is_set = now.text != then.text or now.status not in LIVE or is_sure
    if actor.trust != "person" or not is_set or then.status == "held" or is_held(now):
        return False
    changed = (row.origin for row in since if row.what != "reinforced")
    return then.trust == "person" or any(origin != "person" for origin in changed)


def _trust_after(now: VersionRow, content: list[e.AnyBody]) -> e.Trust:
    """The trust of a record after the events that change its content."""
    revised = (body for body in content if isinstance(body, e.RecordRevised) and body.id == now.id)
    return next((body.trust for body in revised), now.trust)


def _successor(view: View, now: VersionRow) -> VersionRow | None:
    """The record that holds in the place of this one, at the end of what replaced it in turn.

    A record that was there before did not come in its place, unless it was brought back into it.
    """
    last, seen = now, {now.id}
    while last.superseded_by and last.superseded_by not in seen:  # a forged chain may be a ring
        found = view.version(last.superseded_by)
        if found is None or (last.id != found.supersedes and last.supersedes != found.id):
            return None
        if found.status in LIVE:
            return found
        seen.add(found.id)
        last = found
    return None


def _falls(content: list[e.AnyBody], now: VersionRow) -> bool:
    """True if a trusted record comes back with words that rest on something unverified."""
    return now.trust != "unverified" and any(
        isinstance(body, e.RecordRevised) and (body.id, body.trust) == (now.id, "unverified")
        for body in content
    )


def _held_again(view: View, actor: c.Actor, now: VersionRow, then: VersionRow) -> list[e.AnyBody]:
    """The events after which a record waits for a person again, unless it does."""
    if now.status == "held":
        return []
    if is_held(now):
        return [e.RecordRestored(id=now.id)]
    reopened = e.RecordReviewed(id=now.id, trust=then.trust, digest="", verdict="reopened")
    return [*lowered(view, actor, now, "unverified"), reopened]  # what is held lends no trust


def _key_back(
    view: View, actor: c.Actor, now: VersionRow, since: list[VersionRow]
) -> list[e.AnyBody]:
    """The event that gives a key back to the record that lost it when this one was let in."""
    if now.key is None or now.status != "active" or not since:
        return []
    for row in view.under_key(now.key, now.user, LIST_MAX_RECORDS):
        is_its = row.superseded_by == now.id and row.seq >= since[0].seq - 1
        if is_its and visible(actor, row):
            _require_right(view, actor, row, [row])
            return [e.RecordRestored(id=row.id)]
    return []


def _content_events(
    view: View,
    actor: c.Actor,
    now: VersionRow,
    then: VersionRow,
    may_fall: bool,
    is_word: bool,
) -> list[e.AnyBody]:
    """The events that give a record the content of an earlier version."""
    is_raised = then.status != "held" and not at_least(then.trust, now.trust)  # by a review
    if _is_alike(now, then, states=False) and not is_raised:
        return []
    evidence = evidence_then(view, then)
    same_words = now.text == then.text and unpack_names(now.evidence) == evidence
    line = Lineage(actor) if same_words else lineage(view, actor, evidence)
    require_change(view, Lineage(actor) if may_fall else line, now)
    trust = lowest([now.trust, then.trust, line.trust])
    body = revision(now, then, trust, UNSET if same_words else evidence)
    bodies: list[e.AnyBody] = []
    if is_raised or body != e.RecordRevised(id=now.id, trust=trust):
        stays = is_word and trust == "agent"  # it is vouched for
        bodies = [*([] if stays else lowered(view, actor, now, trust)), body]
    return [*bodies, *tagging(now, then)]


def revision(
    now: VersionRow, then: VersionRow, trust: e.Trust, evidence: tuple[str, ...] | UnsetType
) -> e.RecordRevised:
    """The revision from one version to the content of another."""
    changed = {name: getattr(then, name) for name in e.PLAIN}
    guess = bool(then.is_hypothesis)
    return e.RecordRevised(
        id=now.id,
        trust=trust,
        # The same text is set again if it named something else: what it named is tied to it.
        text=UNSET if isinstance(evidence, UnsetType) else then.text,
        evidence=evidence,
        is_hypothesis=UNSET if now.is_hypothesis == then.is_hypothesis else guess,
        data=UNSET if now.data == then.data else unpack_object(then.data),
        **{name: value for name, value in changed.items() if value != getattr(now, name)},
    )


def tagging(now: VersionRow, then: VersionRow) -> list[e.AnyBody]:
    """The event from the tags of one version to those of another, if they differ."""
    had, has = unpack_names(then.tags), unpack_names(now.tags)
    if set(had) == set(has):
        return []
    add = tuple(tag for tag in had if tag not in has)
    remove = tuple(tag for tag in has if tag not in had)
    return [e.RecordTagged(id=now.id, add=add, remove=remove)]


def evidence_then(view: View, then: VersionRow) -> tuple[str, ...]:
    """What a version named as evidence, without references to elsewhere that name something now.

    Naming them again would tie to the record what was written after it, under the same name.
    """

    def is_later(name: str) -> bool:
        episode, record = view.episode(name), view.versions(name)[:1]
        return any(row.seq > then.seq for row in (*record, *([episode] if episode else ())))

    return tuple(name for name in unpack_names(then.evidence) if not is_later(name))


def _require_right(view: View, actor: c.Actor, now: VersionRow, since: list[VersionRow]) -> None:
    """Refuses an actor who has less trust than the record, or than the author of a later change."""
    require_change(view, Lineage(actor), now)
    require_undo(actor, [row.origin for row in since if row.what != "reinforced"])


def _is_alike(one: VersionRow, other: VersionRow, *, states: bool = True) -> bool:
    """True if two versions say the same and, with ``states``, both hold or both do not."""
    if states and (one.status in LIVE) != (other.status in LIVE):
        return False
    return all(getattr(one, name) == getattr(other, name) for name in _CONTENT)
