"""From what an importer found to a command: who writes it, what it is called, and its acts.

Responsible for one item at a time. Leaves submitting commands and counting to
``memory.exchange.imports``. Invariants: the same item always gives a command of the same name;
none is written with more than the trust of the import.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final, cast

import msgspec

from recollect.errors import Forbidden, NotFound
from recollect.exchange.items import (
    EpisodeItem,
    GoneItem,
    Item,
    LinkItem,
    RecordItem,
    SessionItem,
    SettingItem,
    State,
    in_years,
)
from recollect.index.rows import LinkRow, VersionRow
from recollect.lifecycle import commands as c
from recollect.memory.exchange.import_own import (
    fields_of,
    link_acts,
    record_acts,
    session_acts,
    setting_acts,
    state_of,
)
from recollect.memory.exchange.import_pages import earlier_id, takes_over, whole
from recollect.memory.handle import acts
from recollect.memory.handle.handle import Handle
from recollect.model.events import Archival, Trust
from recollect.model.rules import lowest

ENDED: Final = "@ended-"  # in the names of commands that end what is said there no longer


class ItemCommands:
    """Makes the commands of an import."""

    def __init__(self, handle: Handle, format: str, trust: Trust) -> None:
        self._handle = handle
        self._format = format
        self._trust = trust
        self.acts = handle.acts
        self.is_held = trust == "unverified"
        self.reason = f"changed in {format}"
        self.may_see = handle.may_see

    def actor(self, item: Item) -> c.Actor:
        """Who writes it: with the trust of the import, for the user that it has there."""
        mine = self._handle.actor
        if mine.user is not None and item.user not in (None, mine.user):
            raise Forbidden(f"it belongs to the user {item.user!r}, this handle to {mine.user!r}")
        session = agent = tz_minutes = None
        if isinstance(item, RecordItem | EpisodeItem):
            session, agent = item.session, item.agent
        if isinstance(item, RecordItem):
            tz_minutes = item.tz_minutes
        trust = self._trust
        state = state_of(item)
        if isinstance(item, EpisodeItem) and state is not None:
            trust = lowest([trust, state.trust])
        return c.Actor(
            trust=trust,
            user=mine.user or item.user,
            session=mine.session or session,
            agent=mine.agent or agent or (self._format if state is None else None),
            tz_minutes=mine.tz_minutes if tz_minutes is None else tz_minutes,
        )

    def name(self, item: Item) -> str:
        """What the command of an item is known by. A foreign id begins with its format."""
        if isinstance(item, LinkItem):
            ends = item.names or (item.source, item.target)
            parts = [*ends, item.kind, item.user]
            key = digest(parts if item.edge is None else [*parts, item.edge])
            return f"{self._format}-link-{key}"
        if isinstance(item, RecordItem | SettingItem) and item.command is not None:
            return item.command
        if isinstance(item, SettingItem):
            what = [item.data] if item.fills else []
            return f"{self._format}-setting-{digest([item.is_preset, item.id, *what])}"
        if isinstance(item, SessionItem):
            return f"{self._format}-session-{digest([item.closes, item.id, item.user])}"
        if isinstance(item, RecordItem) and item.id == earlier_id(item):
            return item.id
        if item.state is not None:
            return f"{self._format}-{digest(item.id)}"
        return (item.name if isinstance(item, RecordItem | EpisodeItem) else None) or item.id

    def command(self, item: Item) -> c.Command:
        """The command that stores it."""
        name = f"{self.name(item)}@gone" if isinstance(item, GoneItem) else self.name(item)
        return c.Command(id=name, actor=self.actor(item), acts=self._acts(item), named=True)

    def ending(self, actor: c.Actor, row: VersionRow) -> c.Command:
        """The command that ends what is said there no longer."""
        act = self.acts.forget(row.id, "keep", f"no longer in {self._format}")
        name = f"{row.id}{ENDED}{row.seq}"
        return c.Command(id=name, actor=actor, acts=(act,), named=True)

    def unlinking(self, actor: c.Actor, row: LinkRow) -> c.Command:
        """The same for a link."""
        item = LinkItem(source=row.source, target=row.target, kind=row.kind, user=actor.user)
        act = acts.unlink(row.source, row.target, row.kind)
        name = f"{self.name(item)}{ENDED}{row.seq}"
        return c.Command(id=name, actor=actor, acts=(act,), named=True)

    def _acts(self, item: Item) -> tuple[c.Act, ...]:
        make = self.acts
        if isinstance(item, SettingItem):
            return setting_acts(whole(self._handle, item) if item.fills else item, self._position())
        if isinstance(item, SessionItem):
            return session_acts(item)
        if isinstance(item, GoneItem):
            is_shadowed = item.state.status == "hidden" or msgspec.UNSET
            forget = make.forget(item.id, "keep", None)
            return (msgspec.structs.replace(forget, visible=is_shadowed),)
        if isinstance(item, LinkItem):
            if item.state is not None:
                return link_acts(item, item.state)
            return (acts.link(item.source, item.target, item.kind, item.weight),)
        if isinstance(item, EpisodeItem):
            observed = make.observe(
                item.text,
                role=item.role,
                session=None,
                said_at=in_years(item.said_at),
                metadata=item.metadata,
                id=item.id,
            )
            return tuple(observed)
        if item.state is not None and not self._takes_over(item, item.state):
            return record_acts(make, item, item.state)
        return self._remember(item)

    def _takes_over(self, item: RecordItem, state: State) -> bool:
        before = item.replaces or ""
        own = f"{self._format}-{digest(before)}"  # one of an earlier release is the id itself
        names = (own, before) if before.startswith(f"{self._format}-") else (own,)
        return takes_over(self._handle, item, state, names)

    def _position(self) -> int:
        try:
            return self._handle.space.head().seq
        except NotFound:
            return 0  # no memory was created yet

    def _remember(self, item: RecordItem) -> tuple[c.Act, ...]:
        fields = fields_of(item)
        fields["how_known"] = item.how_known or "imported"
        fields["replaces"] = None if self._trust == "unverified" else item.replaces
        is_fresh = fields["replaces"] is None
        act = self.acts.remember(item.text, fields, fresh=is_fresh)
        if not is_fresh:  # it has its own tags and data, not those of what it replaces
            act = msgspec.structs.replace(act, untagged=True, data=item.data)
        if item.status == "inbox":
            act = msgspec.structs.replace(act, status="inbox")
        if item.status == "forgotten":
            return act, c.Forget(id=item.id)
        if item.status in ("active", "inbox") or self._trust == "unverified":
            return (act,)
        return act, c.Archive(id=item.id, why=cast(Archival, item.status))


def digest(value: object) -> str:
    """A short name for what a value says."""
    return sha256(msgspec.json.encode(value, order="sorted")).hexdigest()[:32]
