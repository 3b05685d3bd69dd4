"""Deriving: what a rule makes of an episode.

Responsible for the events of one intent, and for noting how far a rule has looked. Leaves what an
episode asks for to ``lifecycle.proposals.intents``. Invariants: a derived record names its
episode as evidence and has at most the trust of the actor, the rule and the episode; what they may
not change at once becomes a proposal that names the rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec import UNSET

from recollect.errors import Changed, Forbidden, LimitExceeded, NotFound
from recollect.index.rows import RULES, EpisodeRow, VersionRow, unpack_names
from recollect.lifecycle import commands as c
from recollect.lifecycle.filed import LIVE, is_stale
from recollect.lifecycle.proposals.alike import alike
from recollect.lifecycle.proposals.proposals import propose
from recollect.lifecycle.records.records import remember
from recollect.lifecycle.settings.documents import no_document
from recollect.lifecycle.trust.lineage import Lineage, lineage, may_change, may_replace
from recollect.lifecycle.view import View, require_whole_space, stamped
from recollect.model import events as e
from recollect.model.limits import FORGET_AT_ONCE_MAX_COUNT
from recollect.model.rules import at_least, lowest
from recollect.model.values import Quote

_AGAIN: Final = "run it again: it goes on where it stands"


def pass_rule(view: View, actor: c.Actor, act: c.Pass) -> list[e.AnyBody]:
    """Notes how far a rule has looked; refused if it was changed or run meanwhile."""
    require_whole_space(actor, "a rule")
    known = view.document(RULES, act.rule)
    if known is None:
        raise no_document(RULES, act.rule)
    if actor.trust == "unverified" or not at_least(actor.trust, known.trust):
        raise Forbidden(
            f"the rule {act.rule!r} was set with trust {known.trust!r}; {actor.trust!r} may not "
            "run it",
            hint="a pass would keep what people said with less trust than it deserves",
        )
    last = view.last_pass(act.rule)
    stands = 0 if last is None else last.through
    if act.after is None and stands == 0:
        return []
    is_other = act.after != stands or act.set_at not in (None, known.seq)
    if act.after is not None and is_other:
        raise Changed(f"the rule {act.rule!r} was changed or run meanwhile", hint=_AGAIN)
    body = e.RulePassed(
        rule=act.rule, through=act.through, seen=act.seen, made=act.made, skipped=act.skipped
    )
    return [stamped(actor, body)]


def derive(view: View, actor: c.Actor, act: c.Derive) -> tuple[list[e.AnyBody], str]:
    """The events of one intent, and the record or the proposal that came of it."""
    episode = view.episode(act.episode)
    if episode is None or episode.user != act.user:
        raise NotFound(f"the episode {act.episode!r} was not found")
    trust = lowest([actor.trust, act.trust, episode.trust])
    mine = msgspec.structs.replace(actor, trust=trust, user=act.user)
    line = lineage(view, mine, (episode.id,), _quotes(mine, episode))
    targets = _targets(view, act)
    if act.intent == "delete":
        return _forgotten(view, line, act, targets)
    key = _key_of(view, act)
    new = wanted(act, line.quotes)
    blocked = [row for row in targets if not may_replace(view, line, row, new, key)]
    if any(row.text == act.text for row in blocked):
        return [], act.episode  # it says nothing new
    if blocked:
        return _proposed(view, mine, act, blocked[0])
    if trust == "unverified" and view.twin(act.text, act.user) is not None:
        return [], act.episode
    bodies, id = _remembered(view, mine, new, targets)
    return [*bodies, *_links(view, mine, act, bodies)], id


def wanted(act: c.Derive, quotes: tuple[Quote, ...] = ()) -> c.Remember:
    """The record that an intent asks for."""
    return c.Remember(
        text=act.text,
        id=None,
        stamp=act.stamp,
        chance=act.chance,
        key=act.key,
        about=UNSET if act.about is None else act.about,
        tags=act.tags,
        source_type="observed",
        evidence=(act.episode,),
        quotes=quotes or UNSET,
        said_at=act.said_at,
        data=act.data,
    )


def _quotes(mine: c.Actor, episode: EpisodeRow) -> tuple[Quote, ...]:
    """An agent may correct a person's record with a person's words: here, all of the episode's."""
    if mine.trust == "agent" and episode.trust == "person":
        return (Quote(episode=episode.id, words=episode.text),)
    return ()


def _key_of(view: View, act: c.Derive) -> str | None:
    """The key of the record that an intent leads to: without one, the same text may have one."""
    twin = view.twin(act.text, act.user) if act.key is None else None
    return act.key if twin is None else twin.key


def _targets(view: View, act: c.Derive) -> list[VersionRow]:
    """The records that an intent is about: those it names, and the one that has its key."""
    found: dict[str, VersionRow] = {}
    for name in act.replaces:
        found.update((row.id, row) for row in _named(view, act, name))
    holder = view.holder(act.key, act.user) if act.key else None
    if holder is not None:
        found[holder.id] = holder
    if len(found) > FORGET_AT_ONCE_MAX_COUNT:
        raise LimitExceeded(f"it would replace more than {FORGET_AT_ONCE_MAX_COUNT} records")
    return list(found.values())


def _named(view: View, act: c.Derive, name: str) -> Iterable[VersionRow]:
    """What a name stands for: a record, those that rest on an episode alone, or a key's holder."""
    record, episode = view.version(name), view.episode(name)
    rows = [record]
    if record is None and episode is not None:
        resting = [view.version(id) for id in {row.id: None for row in view.evidence_for(episode)}]
        rows = [row for row in resting if row and unpack_names(row.evidence) == (name,)]
    elif record is None:
        rows = [view.holder(name, act.user)]
    return [row for row in rows if row and row.user == act.user and row.status in LIVE]


def _remembered(
    view: View, mine: c.Actor, act: c.Remember, targets: list[VersionRow]
) -> tuple[list[e.AnyBody], str]:
    """Adds or restates a record, which takes the place of the targets."""
    try:
        bodies, id = remember(view, mine, act, vouches=False)
    except LimitExceeded:  # restated by as many episodes as a record can name
        bare = msgspec.structs.replace(act, evidence=(), quotes=UNSET)
        bodies, id = remember(view, mine, bare, vouches=False)
    new = next((body for body in bodies if isinstance(body, e.RecordAdded)), None)
    if new is not None and new.status == "held":
        return bodies, id
    ended = {body.id for body in bodies if isinstance(body, e.RecordSuperseded)} | {id}
    others = [row for row in targets if row.id not in ended]
    more = [stamped(mine, e.RecordSuperseded(id=row.id, by=id)) for row in others]
    if new is not None and new.supersedes is None and others:
        bodies[-1] = msgspec.structs.replace(new, supersedes=others[0].id)
    return [*more, *bodies], id


def _links(
    view: View, mine: c.Actor, act: c.Derive, bodies: list[e.AnyBody]
) -> Iterable[e.AnyBody]:
    """Links from a new record to those that say nearly the same, or the opposite."""
    new = next((body for body in bodies if isinstance(body, e.RecordAdded)), None)
    if new is None:
        return
    ended = {body.id for body in bodies if isinstance(body, e.RecordSuperseded)}
    for name in act.beside:
        row = view.version(name)
        if row is None or row.user != act.user or row.status not in LIVE or row.id in ended:
            continue
        like = alike(new.text, row.text)
        if like is not None:
            trust = lowest([new.trust, row.trust])
            link = e.LinkAdded(
                source=new.id, target=row.id, kind=like.kind, trust=trust, weight=like.score
            )
            yield stamped(mine, link)


def _proposed(
    view: View, mine: c.Actor, act: c.Derive, target: VersionRow
) -> tuple[list[e.AnyBody], str]:
    """A proposal for what this actor may not change at once; the same is not filed twice."""
    text = None if act.intent == "delete" else act.text
    intent: e.Intent = "delete" if act.intent == "delete" else "update"
    for row in view.waiting_about(target.id):
        if (row.intent, row.text) == (intent, text) and not is_stale(view, row):
            return [], row.id
    wish = c.Propose(
        intent=intent,
        stamp=act.stamp,
        chance=act.chance,
        target=target.id,
        text=text,
        about=act.about,
        evidence=(act.episode,),
        rule=act.rule,
    )
    return propose(view, mine, wish)


def _forgotten(
    view: View, line: Lineage, act: c.Derive, targets: list[VersionRow]
) -> tuple[list[e.AnyBody], str]:
    """Forgets the targets, each with a proposal that says on which episode it rests."""
    if not targets:
        raise NotFound("what it would delete was not found")
    bodies: list[e.AnyBody] = []
    id = ""
    for number, target in enumerate(targets):
        chance = act.chance[number:] + act.chance[:number]  # another id for each
        one = msgspec.structs.replace(act, chance=chance)
        made, id = _proposed(view, line.actor, one, target)
        bodies += made
        if may_change(view, Lineage(line.actor), target, what="delete"):
            done = (e.ProposalApplied(id=id, record=target.id), e.RecordForgotten(id=target.id))
            bodies += [stamped(line.actor, body) for body in done]
            id = target.id
    return bodies, id
