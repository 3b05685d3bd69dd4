"""Records: what stating, correcting, confirming and tagging a belief mean.

Responsible for the events of acts on records, and for a JSON Merge Patch on a record's data. Leaves
forgetting, restoring and erasing to ``lifecycle.removal`` and whether evidence allows a change to
``lifecycle.trust.lineage``. Invariants: a key has one active holder for each user; keys that a
patch does not name stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from msgspec import UNSET, UnsetType, structs

from recollect.errors import Conflict, Forbidden, LimitExceeded
from recollect.index.rows import VersionRow, is_held, unpack_names, unpack_object
from recollect.lifecycle import commands as c
from recollect.lifecycle.filed import LIVE, filed
from recollect.lifecycle.ids import ID_MIN_CHARS, record_id
from recollect.lifecycle.records.names import require_free
from recollect.lifecycle.settings.policy import at_once
from recollect.lifecycle.trust.dependents import lowered
from recollect.lifecycle.trust.expiry import may_expire, weakens
from recollect.lifecycle.trust.lineage import (
    Lineage,
    lineage,
    may_change,
    may_replace,
    refused,
    require_change,
)
from recollect.lifecycle.trust.persons_word import may_alter, vouched, vouched_again
from recollect.lifecycle.view import View, known_record, stamped, visible
from recollect.model import events as e
from recollect.model import rules, validate
from recollect.model.limits import EVIDENCE_MAX_COUNT, TAGS_MAX_COUNT
from recollect.model.rules import lowest
from recollect.model.validate import Json

DEFAULT_CONFIDENCE: Final = 0.7
T = TypeVar("T")


def patched(old: dict[str, Json], patch: dict[str, Json]) -> dict[str, Json]:
    """The old data with a patch applied: objects are merged, null removes a key."""
    return validate.data(_merged(old, patch))


def _merged(old: dict[str, Json], patch: dict[str, Json]) -> dict[str, Json]:
    new = dict(old)
    for key, value in patch.items():
        if value is None:
            new.pop(key, None)
        elif isinstance(value, dict):
            below = new.get(key)
            new[key] = _merged(below if isinstance(below, dict) else {}, value)
        else:
            new[key] = value
    return new


def remember(
    view: View, actor: c.Actor, act: c.Remember, *, vouches: bool = True
) -> tuple[list[e.AnyBody], str]:
    """Holds a belief, or restates one. A rule does not vouch for what it makes of an episode."""
    line = lineage(view, actor, act.evidence, act.quotes)
    trust = line.trust
    holder = view.holder(act.key, actor.user) if act.key else None
    twin = None if trust == "unverified" else view.twin(act.text, actor.user)
    again = trust != "unverified" and act.fresh is not True
    same = same_record(view, actor, act, holder, twin) if again else None
    if same is not None:
        return restated(view, line, act, same, vouches=vouches), same.id
    id = new_record_id(view, actor, act)
    status: e.Status = "active" if act.status is UNSET else act.status
    replaced = replaced_by(act, holder, twin) if status == "active" else []
    if (
        trust == "unverified"
        or not (replaced or at_once(view, actor, "add"))
        or not all(may_replace(view, line, row, act, act.key) for row in replaced)
    ):
        return [added(actor, act, id, trust, "held", None)], id
    bodies: list[e.AnyBody] = [
        stamped(actor, e.RecordSuperseded(id=row.id, by=id)) for row in replaced
    ]
    supersedes = replaced[0].id if replaced else None
    bodies.append(added(actor, act, id, trust, status, supersedes))
    return [*bodies, *(vouched(actor, id, trust) if vouches else ())], id


def same_record(
    view: View,
    actor: c.Actor,
    act: c.Remember,
    holder: VersionRow | None,
    twin: VersionRow | None,
) -> VersionRow | None:
    """The active record that this act restates, if there is one."""
    if act.id is not None:
        known = view.version(act.id)
        same = known is not None and known.text == act.text and known.status == "active"
        return known if same and known and visible(actor, known) else None
    if act.key is not None:
        return holder if holder is not None and holder.text == act.text else None
    return twin


def replaced_by(
    act: c.Remember, holder: VersionRow | None, twin: VersionRow | None
) -> list[VersionRow]:
    """The records that the new one replaces: the key's holder, and the same text without a key."""
    found = [] if holder is None else [holder]
    if act.key is not None and twin is not None and twin.key is None:
        found.append(twin)
    return found


def new_record_id(view: View, actor: c.Actor, act: c.Remember) -> str:
    """The caller's id if it is free, or the shortest free random one."""
    if act.id is not None:
        known = view.version(act.id)
        if known is not None and not visible(actor, known):
            raise Conflict(
                f"the id {act.id!r} is already used", hint="omit the id to have one generated"
            )
        if known is not None:
            raise Conflict(
                f"a record with id {act.id!r} exists ({state_of(known)})",
                hint="use revise to correct it, undo to bring it back, or omit the id",
            )
        if view.episode(act.id) is not None:
            raise Conflict(f"{act.id!r} is the id of an episode")
        if act.id != act.key:
            require_free(view, actor, act.id)
        return act.id
    for length in range(ID_MIN_CHARS, len(act.chance) + 1, 2):
        id = record_id(act, length)
        if not view.has_version(id):  # ids of episodes begin with "e-"
            return id
    raise Conflict("no free id was found", hint="try again")


def added(
    actor: c.Actor, act: c.Remember, id: str, trust: e.Trust, status: e.Status, replaced: str | None
) -> e.RecordAdded:
    """The event that adds a record, as decided."""
    body = e.RecordAdded(
        id=id,
        text=act.text,
        kind="fact",
        confidence=DEFAULT_CONFIDENCE,
        status=status,
        trust=trust,
        key=act.key,
        tags=act.tags,
        evidence=act.evidence,
        supersedes=replaced,
        user=actor.user,
        session=actor.session,
        agent=actor.agent,
        tz_minutes=actor.tz_minutes,
    )
    return structs.replace(body, **_said(act))


def restated(
    view: View, line: Lineage, act: c.Remember, twin: VersionRow, *, vouches: bool = True
) -> list[e.AnyBody]:
    """Restates a record: it is reinforced, and revised where the caller adds something."""
    bodies: list[e.AnyBody] = [e.RecordReinforced(id=twin.id, how="restated")]
    evidence = unpack_names(twin.evidence)
    more = tuple(x for x in act.evidence if x not in evidence)
    _check_count(evidence + more, EVIDENCE_MAX_COUNT, "pieces of evidence")
    expires = act.expires if may_expire(view, line.actor, twin, act.expires) else UNSET
    trust = lowest([twin.trust, line.trust])
    word = vouched_again(line.actor, twin, trust, says=vouches)
    changes = e.RecordRevised(
        id=twin.id,
        trust=trust,
        evidence=evidence + more if more else UNSET,
    )
    changes = structs.replace(
        changes, **_news(structs.replace(act, expires=expires, decay_tier=UNSET), twin)
    )
    mine = Lineage(line.actor)
    if may_change(view, mine, twin) and changes != e.RecordRevised(id=twin.id, trust=trust):
        fallen = [] if word else lowered(view, line.actor, twin, trust)
        bodies = [*fallen, *bodies, changes]
    tags = tuple(tag for tag in act.tags if tag not in unpack_names(twin.tags))
    _check_count(unpack_names(twin.tags) + tags, TAGS_MAX_COUNT, "tags")
    if tags and may_change(view, mine, twin, what="tag"):
        bodies.append(e.RecordTagged(id=twin.id, add=tags))
    return [stamped(line.actor, body) for body in (*bodies, *word)]


def revise(view: View, actor: c.Actor, act: c.Revise) -> list[e.AnyBody]:
    target = known_record(view, actor, act.id)
    if target.status not in LIVE:
        raise Conflict(f"{act.id} is {state_of(target)}", hint="`undo` brings it back first")
    line = lineage(view, actor, act.evidence, act.quotes)
    text = _new(act.text, target.text)
    if not may_expire(view, actor, target, act.expires):
        raise Forbidden(
            f"{target.id} is a person's, and {actor.trust!r} may not let it end sooner",
            hint="leave out `expires`, or ask a person to set it",
        )
    trust = lowest([target.trust, line.trust])
    if act.patch is not UNSET:
        act = structs.replace(act, data=patched(unpack_object(target.data), act.patch))
    body = e.RecordRevised(
        id=act.id,
        trust=trust,
        text=text,
        evidence=_grounds(actor, act, target, text),
        reason=act.reason,
    )
    body = structs.replace(body, **_news(act, target))
    says = act.text is not UNSET  # also with the words that it has: then they are the actor's too
    if body == e.RecordRevised(id=act.id, trust=trust, reason=act.reason):
        return vouched_again(actor, target, trust, says=says)
    is_weaker = weakens(act, target) and not may_alter(view, actor, target)
    if is_weaker or not may_change(view, line, target, _or(text, None)):
        proposed = _filed(view, line, act, target, body)
        return refused(view, line, target) if proposed is None else proposed
    word = vouched_again(actor, target, trust, says=says)
    try:
        fallen = [] if word else lowered(view, actor, target, trust)
        return [*fallen, stamped(actor, body), *word]
    except Forbidden:  # for a person to decide, like a change of what would fall with it
        proposed = _filed(view, line, act, target, body)
        if proposed is None:
            raise
        return proposed


def _grounds(
    actor: c.Actor, act: c.Revise, target: VersionRow, text: str | UnsetType
) -> tuple[str, ...] | UnsetType:
    """The evidence of a revision, if it gets other evidence."""
    if text is not UNSET:
        return act.evidence
    if act.regrounds is not True:
        return UNSET
    before = unpack_names(target.evidence)
    if is_held(target) and actor.trust != "person":  # a reviewer must see where it came from
        return _new(tuple(dict.fromkeys((*before, *act.evidence))), before)
    return _new(act.evidence, before)


def _filed(
    view: View, line: Lineage, act: c.Revise, target: VersionRow, body: e.RecordRevised
) -> list[e.AnyBody] | None:
    """The proposal that a revision becomes; None if it changes what no proposal can say."""
    unsaid = (body.about, body.kind, body.source_type, body.said_at, act.regrounds)
    if any(value is not UNSET for value in unsaid):
        return None
    return filed(view, line, act, target, body)


def reinforce(view: View, actor: c.Actor, act: c.Reinforce) -> list[e.AnyBody]:
    target = known_record(view, actor, act.id)
    if target.status != "active":
        return []
    if not rules.may_reinforce(actor.trust):
        raise Forbidden("an unverified source may not reinforce a record")
    return [stamped(actor, e.RecordReinforced(id=act.id, how=act.how))]


def tag(view: View, actor: c.Actor, act: c.Tag) -> list[e.AnyBody]:
    target = known_record(view, actor, act.id)
    require_change(view, Lineage(actor), target, "tag")
    tags = unpack_names(target.tags)
    add = tuple(tag for tag in act.add if tag not in tags)
    remove = tuple(tag for tag in act.remove if tag in tags and tag not in act.add)
    if not add and not remove:
        return []
    _check_count([tag for tag in tags if tag not in remove] + list(add), TAGS_MAX_COUNT, "tags")
    return [stamped(actor, e.RecordTagged(id=act.id, add=add, remove=remove))]


def _check_count(names: Sequence[str], at_most: int, what: str) -> None:
    """Checks a limit over all versions of a record, not only for one call."""
    if len(names) > at_most:
        raise LimitExceeded(f"the record would have more than {at_most} {what}")


def state_of(row: VersionRow) -> str:
    return f"archived ({row.reason})" if row.status == "archived" else row.status


def _said(act: c.Remember | c.Revise) -> dict[str, object]:
    """The fields that an act mentions."""
    fields = ((name, getattr(act, name)) for name in e.Said.__struct_fields__)
    return {name: value for name, value in fields if value is not UNSET}


def _news(act: c.Remember | c.Revise, row: VersionRow) -> dict[str, object]:
    """The fields that an act mentions and that a record has otherwise."""
    own = {"is_hypothesis": bool(row.is_hypothesis), "data": unpack_object(row.data)}
    return {
        name: value
        for name, value in _said(act).items()
        if value != (own[name] if name in own else getattr(row, name))
    }


def _or(value: T | UnsetType, default: T) -> T:
    """The value, or a default if it was not given."""
    return default if isinstance(value, UnsetType) else value


def _new(value: T | UnsetType, old: object) -> T | UnsetType:
    """The value if it was given and differs from the old one."""
    return UNSET if value is UNSET or value == old else value
