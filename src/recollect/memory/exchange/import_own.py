"""The acts of an import from our own export, and the fields that any imported record has.

Responsible for what each item becomes, with the status, the trust and the key that it had there.
Leaves what of it is allowed here to ``lifecycle.records.foreign``. Invariant: every value is
checked as if a caller had given it, but for an expiry that has passed.
"""

from __future__ import annotations

from typing import cast

import msgspec

from recollect.errors import InvalidInput
from recollect.exchange.items import (
    GoneItem,
    Item,
    LinkItem,
    RecordItem,
    SessionItem,
    SettingItem,
    State,
    in_years,
)
from recollect.index.preset_rows import preset_of
from recollect.index.reads import Reads
from recollect.index.rows import RULES, unpack_object
from recollect.lifecycle import commands as c
from recollect.lifecycle.records.foreign import Bring, BringLink
from recollect.memory.handle import acts
from recollect.model import validate
from recollect.model.events import Status
from recollect.model.presets import Preset
from recollect.model.record_fields import RecordFields


def state_of(item: Item) -> State | None:
    """How another memory of ours had something; None if it is of another program."""
    return None if isinstance(item, SettingItem) else item.state


def is_hidden(item: Item) -> bool:
    """True for an episode that another memory of ours had hidden."""
    return isinstance(item, GoneItem)


def fields_of(item: RecordItem) -> RecordFields:
    """The fields of an imported record that do not depend on where it comes from."""
    found: RecordFields = {
        "about": item.about,
        "kind": item.kind,
        "tags": item.tags,
        "data": item.data or None,
        "confidence": item.confidence,
        "evidence": item.evidence,
        "said_at": in_years(item.said_at),
        "valid_from": in_years(item.valid_from),
        "valid_to": in_years(item.valid_to),
        "how_known": item.how_known,
        "is_hypothesis": item.is_hypothesis,
        "id": item.id,
    }
    found.update(cast(RecordFields, item.noted))
    return found


def record_acts(make: acts.Acts, item: RecordItem, state: State) -> tuple[c.Act, ...]:
    """A record as it was there."""
    fields = fields_of(item)
    fields["key"] = state.key
    wanted = msgspec.structs.replace(
        make.remember(item.text, fields),
        expires=in_years(state.expires) or msgspec.UNSET,
        decay_tier=state.decay_tier,
    )
    names = {"supersedes": item.replaces, "superseded_by": state.replaced_by}
    return (
        Bring(
            wanted=wanted,
            trust=state.trust,
            status=cast(Status, state.status),
            reason=state.reason,
            reinforced=state.reinforced,
            why=msgspec.UNSET if state.why is None else validate.reason(state.why),
            **{name: id if id is None else validate.identifier(id) for name, id in names.items()},
        ),
    )


def link_acts(item: LinkItem, state: State) -> tuple[c.Act, ...]:
    """A link as it was there."""
    checked = acts.link(item.source, item.target, item.kind, item.weight, state.name)
    return (
        BringLink(
            source=checked.source,
            target=checked.target,
            kind=checked.kind,
            trust=state.trust,
            weight=checked.weight,
            name=state.name,
            reinforced=state.reinforced,
        ),
    )


def session_acts(item: SessionItem) -> tuple[c.Act, ...]:
    """A session begins here, or ends."""
    id = validate.name(item.id, "session")
    if item.closes:
        return (c.CloseSession(id=id),)
    opened = c.OpenSession(
        id=id,
        stamp="",
        chance="",
        task_type=validate.name(item.task_type, "task_type"),
        start_active_hours=item.start_active_hours,
    )
    return (opened,)


def is_same_setting(reads: Reads, item: SettingItem) -> bool | None:
    """Whether a preset or a document says the same here; None if it is to be set."""
    if item.is_preset:
        row = reads.preset(item.id)
        try:
            return None if row is None else preset_of(row) == _preset(item)
        except InvalidInput:
            return False
    document = reads.document(*item.id.split("/", 1))
    if document is None:
        return None
    is_same = unpack_object(document.data) == item.data
    is_due = item.command is not None and item.command.endswith(f"@{document.seq}")
    return None if is_due and not is_same else is_same


def _preset(item: SettingItem) -> Preset:
    try:
        return msgspec.convert(item.data, Preset)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"this is not a preset: {error}") from error


def setting_acts(item: SettingItem, position: int) -> tuple[c.Act, ...]:
    """A preset or a document. A rule has looked at everything that was imported before it."""
    if item.is_preset:
        return (c.SetPreset(preset=_preset(item)),)
    type, name = validate.document(*item.id.split("/", 1))
    document = c.SetDocument(type=type, name=name, data=validate.data(item.data))
    if type != RULES:
        return (document,)
    return document, c.Pass(rule=name, after=0, through=position)
