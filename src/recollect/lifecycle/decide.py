"""From a command to events: the one state machine of records and episodes.

Responsible for what an act means in the present state. Leaves permission to ``lifecycle.trust``.
Invariant: ``decide`` returns events that the fold applies as intended, or raises; an empty list
means that the state already is as asked.

    inbox ─► active ─► archived (decayed | superseded | merged | rejected)
                │            │
                └─► forgotten ◄┘   restore leads back;   held: beside them, not trusted
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from recollect.errors import Conflict, Forbidden, InvalidInput, LimitExceeded, NotFound
from recollect.index.rows import (
    EpisodeRow,
    FrameRow,
    LinkRow,
    ReceiptRow,
    VersionRow,
    content_id,
    frame_row,
    supports,
    unpack_names,
    unpack_object,
)
from recollect.index.tables import Names
from recollect.lifecycle import commands as c
from recollect.lifecycle.trust import at_least, lowest, may_change, of_lineage, require_change
from recollect.model import door
from recollect.model import events as e
from recollect.model.door import Json
from recollect.model.limits import (
    EVIDENCE_MAX_COUNT,
    FORGET_AT_ONCE_MAX_COUNT,
    TAGS_MAX_COUNT,
)

DEFAULT_CONFIDENCE: Final = 0.7
_ID_MIN_CHARS: Final = 6  # of chance in an id
LIVE: Final = ("inbox", "active", "held")

T = TypeVar("T")


class View(Protocol):
    """What a decision may ask about the present state."""

    def version(self, id: str) -> VersionRow | None: ...
    def has_version(self, id: str) -> bool: ...
    def holder(self, key: str, user: str | None) -> VersionRow | None: ...
    def twin(self, text: str, user: str | None) -> VersionRow | None: ...
    def episode(self, id: str) -> EpisodeRow | None: ...
    def evidence_of(self, record: str) -> list[str]: ...
    def evidence_for(self, episode: str) -> list[VersionRow]: ...
    def link(self, source: str, target: str, kind: str) -> LinkRow | None: ...
    def events_about(self, id: str) -> list[int]: ...
    def frame(self, name: str) -> FrameRow | None: ...
    def events_about_frame(self, name: str) -> list[int]: ...
    def receipt(self, id: str) -> ReceiptRow | None: ...


def decide(view: View, actor: c.Actor, act: c.Act) -> tuple[list[e.AnyBody], str]:
    """The events of one act, and the id of its subject."""
    match act:
        case c.Remember():
            return _remember(view, actor, act)
        case c.Observe():
            return _observe(view, actor, act)
        case c.Revise():
            return _revise(view, actor, act), act.id
        case c.Forget():
            return _forget(view, actor, act), act.id
        case c.Restore():
            return _restore(view, actor, act), act.id
        case c.Erase():
            return _erase(view, actor, act), act.id
        case c.Reinforce():
            return _reinforce(view, actor, act), act.id
        case c.Tag():
            return _tag(view, actor, act), act.id
        case c.Link():
            return _link(view, actor, act), act.source
        case c.ReinforceLink():
            return _reinforce_link(view, actor, act), act.source
        case c.Unlink():
            return _unlink(view, actor, act), act.source
        case c.SetFrame():
            return _set_frame(view, actor, act), act.frame.name
        case c.DropFrame():
            return _drop_frame(view, actor, act), act.name
        case c.Hand():
            return _hand(view, actor, act), act.receipt.id
        case _:
            raise InvalidInput(f"{type(act).__name__} is no act this release knows")


def foreseen(acts: Iterable[c.Act]) -> Names:
    """What deciding these acts will look for and, most likely, not find.

    Whoever asks for all of it at once saves a question for each.
    """
    records, episodes, contents = set(), set(), set()
    for act in acts:
        if isinstance(act, c.Remember):
            contents.add(content_id(act.text))
            if act.id is None:
                records.add(_record_id(act, _ID_MIN_CHARS))
        elif isinstance(act, c.Observe) and act.id is None:
            episodes.add(_episode_id(act, _ID_MIN_CHARS))
    return Names(frozenset(records | episodes), frozenset(episodes), frozenset(contents))


def check_command(command: c.Command) -> None:
    """What is judged over all acts of a command together."""
    if command.actor.trust != "person" and c.forgets(command.acts) > FORGET_AT_ONCE_MAX_COUNT:
        raise Forbidden(
            f"forgetting more than {FORGET_AT_ONCE_MAX_COUNT} at once needs a person",
            hint="forget fewer, or ask a person to do it",
        )


def origin_of(actor: c.Actor, body: e.AnyBody) -> e.Origin:
    """What the header of an event says about who brought it.

    An episode's words are its speaker's, as far as the handle may vouch for them.
    """
    if isinstance(body, e.EpisodeObserved):
        return lowest([actor.trust, e.ROLE_TRUST[body.role]])
    return actor.trust


# Adding.


def _remember(view: View, actor: c.Actor, act: c.Remember) -> tuple[list[e.AnyBody], str]:
    episodes = _episodes(view, actor, act.evidence)
    trust = of_lineage(actor, episodes)
    holder = view.holder(act.key, actor.user) if act.key else None
    twin = None if trust == "unverified" else view.twin(act.text, actor.user)
    again = trust != "unverified" and act.fresh is not True
    same = _same(view, actor, act, holder, twin) if again else None
    if same is not None:
        return _restate(actor, act, same, trust), same.id
    id = _new_record_id(view, actor, act)
    status: e.Status = _or(act.status, "active")
    replaced = _replaced(act, holder, twin) if status == "active" else []
    if trust == "unverified" or not all(may_change(actor, row, episodes) for row in replaced):
        return [_added(actor, act, id, trust, "held", None)], id
    bodies: list[e.AnyBody] = [
        _stamped(actor, e.RecordSuperseded(id=row.id, by=id)) for row in replaced
    ]
    supersedes = replaced[0].id if replaced else None
    return [*bodies, _added(actor, act, id, trust, status, supersedes)], id


def _same(
    view: View,
    actor: c.Actor,
    act: c.Remember,
    holder: VersionRow | None,
    twin: VersionRow | None,
) -> VersionRow | None:
    """The active record that this act states again, if there is one."""
    if act.id is not None:
        known = view.version(act.id)
        same = known is not None and known.text == act.text and known.status == "active"
        return known if same and known and _visible(actor, known) else None
    if act.key is not None:
        return holder if holder is not None and holder.text == act.text else None
    return twin


def _replaced(
    act: c.Remember, holder: VersionRow | None, twin: VersionRow | None
) -> list[VersionRow]:
    """The key's holder; and the same sentence without a key, which the key now speaks for."""
    found = [] if holder is None else [holder]
    if act.key is not None and twin is not None and twin.key is None:
        found.append(twin)
    return found


def _new_record_id(view: View, actor: c.Actor, act: c.Remember) -> str:
    """The caller's id if it is free, or the shortest free one that chance offers."""
    if act.id is not None:
        known = view.version(act.id)
        if known is not None and not _visible(actor, known):
            raise Conflict(f"the id {act.id!r} is taken", hint="leave the id out")
        if known is not None:
            raise Conflict(
                f"a record with id {act.id!r} exists ({_state(known)})",
                hint="use revise to correct it, restore to bring it back, or leave the id out",
            )
        if view.episode(act.id) is not None:
            raise Conflict(f"{act.id!r} is the id of an episode")
        return act.id
    for length in range(_ID_MIN_CHARS, len(act.chance) + 1, 2):
        id = _record_id(act, length)
        if not view.has_version(id):  # no episode has such an id: theirs begin with "e-"
            return id
    raise Conflict("no free id was found", hint="try again")


def _record_id(act: c.Remember, length: int) -> str:
    return f"{act.stamp}-{act.chance[:length]}"


def _added(
    actor: c.Actor, act: c.Remember, id: str, trust: e.Trust, status: e.Status, replaced: str | None
) -> e.RecordAdded:
    return e.RecordAdded(
        id=id,
        text=act.text,
        kind=_or(act.kind, "fact"),
        confidence=_or(act.confidence, DEFAULT_CONFIDENCE),
        status=status,
        trust=trust,
        key=act.key,
        about=_or(act.about, None),
        tags=act.tags,
        source_type=_or(act.source_type, "told"),
        evidence=act.evidence,
        is_hypothesis=_or(act.is_hypothesis, False),
        valid_from=_or(act.valid_from, None),
        valid_to=_or(act.valid_to, None),
        expires=_or(act.expires, None),
        supersedes=replaced,
        decay_tier=_or(act.decay_tier, "standard"),
        data=_or(act.data, {}),
        user=actor.user,
        session=actor.session,
        agent=actor.agent,
        tz_minutes=actor.tz_minutes,
    )


def _restate(actor: c.Actor, act: c.Remember, twin: VersionRow, trust: e.Trust) -> list[e.AnyBody]:
    """The same sentence again: reinforced, and revised where the caller says more than before."""
    bodies: list[e.AnyBody] = [e.RecordReinforced(id=twin.id, how="restated")]
    evidence = unpack_names(twin.evidence)
    more = tuple(x for x in act.evidence if x not in evidence)
    _check_count(evidence + more, EVIDENCE_MAX_COUNT, "pieces of evidence")
    changes = e.RecordRevised(
        id=twin.id,
        trust=lowest([twin.trust, trust]),
        evidence=evidence + more if more else UNSET,
        kind=_new(act.kind, twin.kind),
        about=_new(act.about, twin.about),
        confidence=_new(act.confidence, twin.confidence),
        source_type=_new(act.source_type, twin.source_type),
        is_hypothesis=_new(act.is_hypothesis, bool(twin.is_hypothesis)),
        valid_from=_new(act.valid_from, twin.valid_from),
        valid_to=_new(act.valid_to, twin.valid_to),
        expires=_new(act.expires, twin.expires),
        data=_new(act.data, unpack_object(twin.data)),
    )
    if changes != e.RecordRevised(id=twin.id, trust=changes.trust) and may_change(actor, twin):
        bodies.append(changes)
    tags = tuple(tag for tag in act.tags if tag not in unpack_names(twin.tags))
    _check_count(unpack_names(twin.tags) + tags, TAGS_MAX_COUNT, "tags")
    if tags and may_change(actor, twin):
        bodies.append(e.RecordTagged(id=twin.id, add=tags))
    return [_stamped(actor, body) for body in bodies]


def _observe(view: View, actor: c.Actor, act: c.Observe) -> tuple[list[e.AnyBody], str]:
    if act.id is not None:
        known = view.episode(act.id)
        same = known is not None and known.text == act.text and known.role == act.role
        if same and known is not None and _visible(actor, known):
            return [], known.id
        if known is not None or view.version(act.id) is not None:
            raise Conflict(f"the id {act.id!r} is taken by something else")
    id = act.id or _new_episode_id(view, act)
    body = e.EpisodeObserved(
        id=id,
        text=act.text,
        role=act.role,
        said_at=act.said_at,
        metadata=act.metadata,
        user=actor.user,
        session=act.session or actor.session,
        agent=actor.agent,
        tz_minutes=actor.tz_minutes,
    )
    return [body], id


def _episode_id(act: c.Observe, length: int) -> str:
    """Episodes carry an ``e-`` so that a person can tell them from records."""
    return f"e-{act.stamp}-{act.chance[:length]}"


def _new_episode_id(view: View, act: c.Observe) -> str:
    """The shortest free id that chance offers."""
    for length in range(_ID_MIN_CHARS, len(act.chance) + 1, 2):
        id = _episode_id(act, length)
        if view.episode(id) is None:
            return id
    raise Conflict("no free id was found", hint="try again")


# Changing.


def _revise(view: View, actor: c.Actor, act: c.Revise) -> list[e.AnyBody]:
    target = _record(view, actor, act.id)
    if target.status not in LIVE:
        raise Conflict(f"{act.id} is {_state(target)}", hint="restore it first")
    episodes = _episodes(view, actor, act.evidence)
    require_change(actor, target, episodes)
    trust = lowest([target.trust, of_lineage(actor, episodes)])
    text = _new(act.text, target.text)
    data = unpack_object(target.data)
    body = e.RecordRevised(
        id=act.id,
        trust=trust,
        text=text,
        evidence=UNSET if text is UNSET else act.evidence,
        expires=_new(act.expires, target.expires),
        confidence=_new(act.confidence, target.confidence),
        decay_tier=_new(act.decay_tier, target.decay_tier),
        data=_new(act.data if act.patch is UNSET else _patched(data, act.patch), data),
        reason=act.reason,
    )
    if body == e.RecordRevised(id=act.id, trust=trust, reason=act.reason):
        return []
    return [_stamped(actor, body)]


def _forget(view: View, actor: c.Actor, act: c.Forget) -> list[e.AnyBody]:
    episode = view.episode(act.id)
    if episode is not None and _visible(actor, episode):
        if not at_least(actor.trust, episode.trust):
            raise Forbidden(f"{actor.trust!r} may not forget what a {episode.trust!r} said")
        if episode.hidden == "forgotten":
            return []
        return [_stamped(actor, e.EpisodeForgotten(id=act.id, reason=act.reason))]
    target = _record(view, actor, act.id)
    require_change(actor, target)
    if target.status == "forgotten":
        return []
    body = e.RecordForgotten(id=act.id, sources=act.sources, reason=act.reason)
    return [_stamped(actor, body)]


def _restore(view: View, actor: c.Actor, act: c.Restore) -> list[e.AnyBody]:
    episode = view.episode(act.id)
    if episode is not None and _visible(actor, episode):
        if not at_least(actor.trust, episode.trust):
            raise Forbidden(f"{actor.trust!r} may not restore what a {episode.trust!r} said")
        if episode.hidden != "forgotten":
            return []
        return [_stamped(actor, e.EpisodeRestored(id=act.id))]
    target = _record(view, actor, act.id)
    require_change(actor, target)
    if target.status in ("active", "held"):
        return []
    if not at_least(actor.trust, target.origin):
        raise Forbidden(f"{actor.trust!r} may not undo what a {target.origin!r} did")
    holder = view.holder(target.key, target.user) if target.key else None
    if holder is not None:
        raise Conflict(
            f"the key {target.key!r} is held by {holder.id} now",
            hint=f"forget {holder.id} first, or revise it",
        )
    return [_stamped(actor, e.RecordRestored(id=act.id))]


def _reinforce(view: View, actor: c.Actor, act: c.Reinforce) -> list[e.AnyBody]:
    target = _record(view, actor, act.id)
    if target.status != "active":
        return []
    if actor.trust == "unverified":
        raise Forbidden("an unverified source may not reinforce a record")
    return [_stamped(actor, e.RecordReinforced(id=act.id, how=act.how))]


def _tag(view: View, actor: c.Actor, act: c.Tag) -> list[e.AnyBody]:
    target = _record(view, actor, act.id)
    require_change(actor, target)
    tags = unpack_names(target.tags)
    add = tuple(tag for tag in act.add if tag not in tags)
    remove = tuple(tag for tag in act.remove if tag in tags and tag not in act.add)
    if not add and not remove:
        return []
    _check_count([tag for tag in tags if tag not in remove] + list(add), TAGS_MAX_COUNT, "tags")
    return [_stamped(actor, e.RecordTagged(id=act.id, add=add, remove=remove))]


def _link(view: View, actor: c.Actor, act: c.Link) -> list[e.AnyBody]:
    source, target = _record(view, actor, act.source), _record(view, actor, act.target)
    if source.id == target.id:
        raise InvalidInput("a record cannot be linked to itself")
    known = view.link(act.source, act.target, act.kind)
    trust = lowest([actor.trust, source.trust, target.trust])
    if known is not None:
        if act.fresh is True:
            raise Conflict(f"a link {act.kind!r} leads from {act.source} to {act.target} already")
        if (known.weight, known.trust) == (act.weight, trust):
            return []
        if not at_least(actor.trust, known.trust):
            raise Forbidden(f"the link was made with trust {known.trust!r}")
    body = e.LinkAdded(
        source=act.source, target=act.target, kind=act.kind, trust=trust, weight=act.weight
    )
    return [_stamped(actor, body)]


def _reinforce_link(view: View, actor: c.Actor, act: c.ReinforceLink) -> list[e.AnyBody]:
    source, target = _record(view, actor, act.source), _record(view, actor, act.target)
    known = view.link(source.id, target.id, act.kind)
    if known is None:
        return []
    if actor.trust == "unverified":
        raise Forbidden("an unverified source may not reinforce a link")
    body = e.LinkAdded(
        source=source.id, target=target.id, kind=act.kind, trust=known.trust, weight=known.weight
    )
    return [_stamped(actor, body)]


def _unlink(view: View, actor: c.Actor, act: c.Unlink) -> list[e.AnyBody]:
    source, target = _record(view, actor, act.source), _record(view, actor, act.target)
    known = view.link(source.id, target.id, act.kind)
    if known is None:
        raise NotFound(f"no link {act.kind!r} leads from {act.source} to {act.target}")
    if not at_least(actor.trust, known.trust):
        raise Forbidden(f"the link was made with trust {known.trust!r}")
    body = e.LinkRemoved(source=act.source, target=act.target, kind=act.kind)
    return [_stamped(actor, body)]


# Frames and receipts.


def _set_frame(view: View, actor: c.Actor, act: c.SetFrame) -> list[e.AnyBody]:
    frame = act.frame
    if frame.is_built_in:
        raise Conflict(f"the frame {frame.name!r} is built in", hint="choose another name")
    known = _changeable_frame(view, actor, frame.name)
    body = e.FrameSet(
        name=frame.name,
        trust=actor.trust,
        weights=frame.weights.each,
        unit=frame.unit,
        tokens=frame.tokens,
        floor=frame.floor,
        intro=frame.template.intro,
        record=frame.template.record,
        episode=frame.template.episode,
        where=frame.where,
        guarantees=frame.guarantees,
        cache=frame.cache,
    )
    if known is not None and frame_row(known.seq, known.until, known.at, body) == known:
        return []
    return [_stamped(actor, body)]


def _drop_frame(view: View, actor: c.Actor, act: c.DropFrame) -> list[e.AnyBody]:
    if _changeable_frame(view, actor, act.name) is None:
        raise _no_frame(act.name)
    return [_stamped(actor, e.FrameDropped(name=act.name))]


def _changeable_frame(view: View, actor: c.Actor, name: str) -> FrameRow | None:
    """The frame, if there is one. Its words stand in prompts, so not everybody may choose them."""
    _require_everybody(actor)
    if actor.trust == "unverified":
        raise Forbidden("an unverified source may not change a frame")
    known = view.frame(name)
    if known is not None and not at_least(actor.trust, known.trust):
        raise Forbidden(f"the frame {name!r} was set with trust {known.trust!r}")
    return known


def _require_everybody(actor: c.Actor) -> None:
    if actor.user is not None:
        raise Forbidden(
            "a frame concerns the whole space", hint="use a handle without a user to change it"
        )


def _no_frame(name: str) -> NotFound:
    return NotFound(f"no frame {name!r} was set", hint="`recollect frame list` shows all")


def _hand(view: View, actor: c.Actor, act: c.Hand) -> list[e.AnyBody]:
    return [] if view.receipt(act.receipt.id) is not None else [_stamped(actor, act.receipt)]


# Erasing.


def _erase(view: View, actor: c.Actor, act: c.Erase) -> list[e.AnyBody]:
    if actor.trust != "person":
        raise Forbidden(
            "erasing cannot be undone, so it needs a person",
            hint="forget takes it out of reads and can be undone",
        )
    targets = _events_to_erase(view, actor, act)
    if act.sources and act.what == "memory":
        for source in own_sources(view, act.id):
            targets.update(view.events_about(source))
    body = e.EventsErased(targets=tuple(sorted(targets)), reason=act.reason)
    return [_stamped(actor, body)]


def _events_to_erase(view: View, actor: c.Actor, act: c.Erase) -> set[int]:
    """Every event about one subject."""
    if act.what == "receipt":
        receipt = view.receipt(act.id)
        if receipt is None or not _visible(actor, receipt):
            raise NotFound(f"no receipt {act.id!r}", hint="`receipts.list()` shows what there is")
        return {receipt.seq}
    if act.what == "frame":
        _require_everybody(actor)
        seqs = view.events_about_frame(act.id)
        if not seqs:
            raise _no_frame(act.id)
        return set(seqs)
    episode = view.episode(act.id)
    if episode is None or not _visible(actor, episode):
        _record(view, actor, act.id)
    return set(view.events_about(act.id))


def own_sources(view: View, id: str) -> list[str]:
    """The episodes that are evidence for this record and for no other."""
    return [source.id for source in sources_of(view, id) if not _others(view, source, id)]


def sources_of(view: View, id: str) -> list[EpisodeRow]:
    """The episodes that any version of this record rests on."""
    row = view.version(id)
    named = [view.episode(name) for name in view.evidence_of(id)]
    return [source for source in named if source and row and supports(source, row)]


def _others(view: View, source: EpisodeRow, id: str) -> bool:
    return any(row.id != id and supports(source, row) for row in view.evidence_for(source.id))


# What the acts share.


def _record(view: View, actor: c.Actor, id: str) -> VersionRow:
    """The record, if there is one that this actor may see."""
    row = view.version(id)
    if row is None or not _visible(actor, row):
        raise NotFound(f"no record {id!r}", hint="`recollect list` shows what there is")
    return row


def _visible(actor: c.Actor, row: VersionRow | EpisodeRow | ReceiptRow) -> bool:
    """A handle that speaks for one user touches that user's things only."""
    return actor.user is None or row.user == actor.user


def _episodes(view: View, actor: c.Actor, evidence: tuple[str, ...]) -> list[EpisodeRow]:
    """Those pieces of evidence that are episodes; the rest are references to elsewhere."""
    found = (view.episode(reference) for reference in evidence)
    return [row for row in found if row is not None and _visible(actor, row)]


def _check_count(names: Sequence[str], at_most: int, what: str) -> None:
    """Limits hold over a record's whole life, not only for one call."""
    if len(names) > at_most:
        raise LimitExceeded(f"the record would have more than {at_most} {what}")


def _state(row: VersionRow) -> str:
    return f"archived ({row.reason})" if row.status == "archived" else row.status


def _stamped(actor: c.Actor, body: e.AnyBody) -> e.AnyBody:
    """The body with who acted, in which session, on which clock."""
    if actor == c.Actor(trust=actor.trust):
        return body
    return msgspec.structs.replace(
        body,
        user=actor.user,
        session=actor.session,
        agent=actor.agent,
        tz_minutes=actor.tz_minutes,
    )


def _patched(old: dict[str, Json], patch: dict[str, Json]) -> dict[str, Json]:
    """The old data with a patch's changes: an object changes an object, null takes away."""
    return door.data(_merged(old, patch))


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


def _or(value: T | UnsetType, default: T) -> T:
    """The value, or what stands for one that was not given."""
    return default if isinstance(value, UnsetType) else value


def _new(value: T | UnsetType, old: object) -> T | UnsetType:
    """The value if it was given and differs from the old one."""
    return UNSET if value is UNSET or value == old else value
