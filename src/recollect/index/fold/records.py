"""What events about records and links do to the index.

Responsible for versions and tags, for moving a record's text between the shelves of full text, and
for links and how often they were reinforced. Leaves which records an episode is evidence for to
``index.shadow``, erasing a record to ``index.fold.erasure`` and the trust that a link lowers to
``lifecycle.records.links``. Invariant: at most one version of a record is current, and at most one
link of a kind between two records.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter, itemgetter
from typing import Final

from msgspec import UNSET

from recollect.index.fold import versions
from recollect.index.fold.state import State
from recollect.index.rows import (
    LinkRow,
    Op,
    VersionRow,
    content_id,
    is_held,
    pack_names,
    pack_object,
    recallable_record,
    searched_text,
    unpack_names,
)
from recollect.index.statements import STILL
from recollect.index.words.text import telling_tokens, token_list
from recollect.model import rules
from recollect.model.events import (
    PLAIN,
    LinkAdded,
    LinkRemoved,
    Origin,
    RecordAdded,
    RecordArchived,
    RecordForgotten,
    RecordReinforced,
    RecordRestored,
    RecordReviewed,
    RecordRevised,
    RecordSuperseded,
    RecordTagged,
    RecordVouched,
)

# The cells of a new version that are not those of its event; `record_added` makes them.
_MADE: Final = (
    *("seq", "until", "at", "what", "origin", "note", "created_at", "text_seq", "content_id"),
    *("tags", "evidence", "is_hypothesis", "reason", "superseded_by", "reinforcement_count"),
    *("last_reinforced_at", "data", "reinforced_at"),
)
_TAKEN: Final = tuple(name for name in VersionRow._fields if name not in _MADE)
# For speed, a row is not made by name: a rebuild makes millions of them.
_taken: Final = attrgetter(*_TAKEN)
_in_order: Final = itemgetter(*map((*_TAKEN, *_MADE).index, VersionRow._fields))
_VALUE_MAX_CHARS: Final = 300  # a longer text says more than one thing


def record_added(state: State, seq: int, at: str, origin: Origin, body: RecordAdded) -> None:
    if state.tables.has_version(body.id) or not rules.may_add(origin, body):
        return
    made = (
        *(seq, STILL, at, "added", origin, None, at, seq, content_id(body.text)),
        *(pack_names(body.tags), pack_names(body.evidence), int(body.is_hypothesis), None, None, 0),
        *(state.clock.hours, pack_object(body.data), None),
    )
    row = tuple.__new__(VersionRow, _in_order(_taken(body) + made))
    state.tables.begin(row)
    state.shelve(row.text_seq, searched_text(row), recallable_record(row), (row.text, False))
    for tag in body.tags:
        state.tables.write("add_tag", (tag, body.id, seq, STILL), body.id)
    if body.session:
        state.tables.name_session(body.session, body.user, seq)
    if body.evidence:
        state.reshelve(state.shadows.follow(None, row, body.evidence))
    if body.supersedes is not None:
        _note_superseded(state, body.supersedes, row)


def record_revised(state: State, seq: int, at: str, origin: Origin, body: RecordRevised) -> None:
    old = _changeable(state, origin, body)
    if old is None:
        return
    new = versions.revised(_next(old, "revised", seq, at, origin, body.reason), body.trust)
    said = ((name, getattr(body, name)) for name in PLAIN)
    new = new._replace(**{name: value for name, value in said if value is not UNSET})
    if body.is_hypothesis is not UNSET:
        new = new._replace(is_hypothesis=int(body.is_hypothesis))
    if body.data is not UNSET:
        new = new._replace(data=pack_object(body.data))
    if body.text is not UNSET:
        new = new._replace(text=body.text, text_seq=seq, content_id=content_id(body.text))
    if body.evidence is not UNSET:
        new = new._replace(evidence=pack_names(body.evidence))
    _note_replaced(state, old, new)
    before = unpack_names(old.evidence) if old.text_seq == new.text_seq else ()
    _put(state, old, new, [ref for ref in unpack_names(new.evidence) if ref not in before])


def record_superseded(
    state: State, seq: int, at: str, origin: Origin, body: RecordSuperseded
) -> None:
    old = _changeable(state, origin, body)
    if old is not None:
        known = state.tables.has_version(body.by)  # it was held, or is an older record
        successor = state.tables.version(body.by) if known else None
        if successor is not None:
            _note_replaced(state, old, successor)
        new = _next(old, "superseded", seq, at, origin, body.reason)
        _put(state, old, versions.superseded(new, body.by))


def record_reinforced(
    state: State, seq: int, at: str, origin: Origin, body: RecordReinforced
) -> None:
    old = _changeable(state, origin, body)
    if old is not None:
        new = _next(old, "reinforced", seq, at, origin, body.how)
        new = new._replace(
            reinforcement_count=old.reinforcement_count + 1,
            last_reinforced_at=state.clock.hours,
            reinforced_at=None,
        )
        _put(state, old, new)


def record_forgotten(
    state: State, seq: int, at: str, origin: Origin, body: RecordForgotten
) -> None:
    old = _changeable(state, origin, body)
    if old is not None:
        new = _next(old, "forgotten", seq, at, origin, body.reason)
        _put(state, old, versions.forgotten(new, body.sources))


def record_archived(state: State, seq: int, at: str, origin: Origin, body: RecordArchived) -> None:
    old = _changeable(state, origin, body)
    if old is not None:
        new = _next(old, "archived", seq, at, origin, body.reason)
        _put_if(state, old, versions.archived(new, body.why))


def record_restored(state: State, seq: int, at: str, origin: Origin, body: RecordRestored) -> None:
    old = _changeable(state, origin, body)
    if old is not None:
        _put(state, old, versions.restored(_next(old, "restored", seq, at, origin, None)))


def record_tagged(state: State, seq: int, at: str, origin: Origin, body: RecordTagged) -> None:
    old = _changeable(state, origin, body)
    if old is None:
        return
    before = unpack_names(old.tags)
    after = tuple(tag for tag in before if tag not in body.remove)
    after += tuple(tag for tag in body.add if tag not in after)
    new = _next(old, "tagged", seq, at, origin, None)._replace(tags=pack_names(after))
    _put(state, old, new)
    for tag in before:
        if tag not in after:
            state.tables.write("end_tag", (seq, tag, body.id), body.id)
    for tag in after:
        if tag not in before:
            state.tables.write("add_tag", (tag, body.id, seq, STILL), body.id)


def record_vouched(state: State, seq: int, at: str, origin: Origin, body: RecordVouched) -> None:
    old = _changeable(state, origin, body)
    if old is not None:
        _put_if(state, old, versions.vouched(_next(old, "vouched", seq, at, origin, None)))


def record_reviewed(state: State, seq: int, at: str, origin: Origin, body: RecordReviewed) -> None:
    old = _changeable(state, origin, body)
    if old is None:
        return
    if body.verdict == "settled":
        _settle(state, seq, at, origin, body, old)
        return
    new = _next(old, "reviewed", seq, at, origin, versions.note_of(body))
    if body.verdict == "rejected":
        _put_if(state, old, versions.rejected(new))
    elif body.verdict == "reopened":
        _put(state, old, versions.reopened(new, body.trust))
    else:
        _put_if(state, old, versions.approved(new, body.trust))


def _settle(
    state: State, seq: int, at: str, origin: Origin, body: RecordReviewed, old: VersionRow
) -> None:
    """Gives a record the whole state that a person chose; its tags are settled for themselves."""
    chosen = body.state
    if chosen is None:
        return
    fields = {name: getattr(chosen, name) for name in chosen.__struct_fields__}
    fields["evidence"] = pack_names(chosen.evidence)
    fields["is_hypothesis"] = int(chosen.is_hypothesis)
    fields["data"] = pack_object(chosen.data)
    new = _next(old, "reviewed", seq, at, origin, versions.note_of(body))
    new = new._replace(**fields, trust=body.trust)
    if new.text != old.text:
        new = new._replace(text_seq=seq, content_id=content_id(new.text))
    _note_replaced(state, old, new)
    before = unpack_names(old.evidence) if old.text_seq == new.text_seq else ()
    _put(state, old, new, [ref for ref in unpack_names(new.evidence) if ref not in before])


def _note_superseded(state: State, id: str, new: VersionRow) -> None:
    """The same for a record that names the one whose place it takes."""
    old = state.tables.version(id) if state.tables.has_version(id) else None
    if old is None:
        note_over_gap(state, id, new)
    elif old.superseded_by == new.id:  # its own event came before this one
        _note_replaced(state, old, new)


def note_over_gap(state: State, erased: str, new: VersionRow) -> None:
    """Keeps the words of values whose successor was erased, for the record that followed on it."""
    state.tables.flush()
    rows = state.tables.db.rows("superseded_by", {"id": erased, "at": new.seq})
    for old in filter(None, [state.tables.version(str(id), new.seq) for (id,) in rows]):
        _note_replaced(state, old, new)


def _note_replaced(state: State, old: VersionRow, new: VersionRow) -> None:
    """Keeps the words of a value that another replaced, so that texts that state it are found.

    Where the new text has all of them ("no longer ..."), every word of the old one counts.
    """
    if old.text == new.text or is_held(old) or len(old.text) > _VALUE_MAX_CHARS:
        return
    before = telling_tokens(old.text)
    for token in sorted(before.difference(token_list(new.text)) or before):
        state.tables.write("add_replaced", (token, old.id, old.text_seq, new.id))


def _changeable(state: State, origin: Origin, body: rules.Change) -> VersionRow | None:
    """The record that an event changes, if it exists and a rule allows its origin to."""
    old = state.tables.version(body.id)
    if old is None:
        return None
    undone = isinstance(body, RecordRestored)
    by = (old.origin, *state.tables.ended_by(body.id)) if undone else ()
    return old if rules.may_change(origin, body, old.trust, old.user, by) else None


def _next(
    old: VersionRow, what: Op, seq: int, at: str, origin: Origin, note: str | None
) -> VersionRow:
    """The version after ``old``, with the same content so far."""
    reinforced_at = old.at if old.what == "reinforced" else old.reinforced_at
    return old._replace(
        seq=seq, at=at, what=what, origin=origin, note=note, reinforced_at=reinforced_at
    )


def _put_if(state: State, old: VersionRow, new: VersionRow | None) -> None:
    """The same as ``_put``, for an event that can be without effect."""
    if new is not None:
        _put(state, old, new)


def _put(state: State, old: VersionRow, new: VersionRow, named: Iterable[str] = ()) -> None:
    """Ends one version and begins the next, with new evidence; text and shadows follow."""
    tables = state.tables
    tables.settle(old.id)  # the row to end must have been sent
    tables.write("end_version", (new.seq, old.seq), old.id, old.key, old.content_id)
    tables.begin(new)
    before = (searched_text(old), recallable_record(old))
    after = (searched_text(new), recallable_record(new))
    if old.text_seq != new.text_seq:
        state.move(old.text_seq, before, (old.text, False), (old.text, False))
        state.shelve(new.text_seq, *after, (new.text, False))
    else:
        state.move(new.text_seq, before, after, (new.text, False))
    state.reshelve(state.shadows.follow(old, new, named))


def link_added(state: State, seq: int, at: str, origin: Origin, body: LinkAdded) -> None:
    old = state.tables.link(body.source, body.target, body.kind)
    known = None if old is None else (old.weight, old.trust, old.name)
    if known != (body.weight, body.trust, body.name):  # else it is restated
        body = rules.within(origin, body)
    if not rules.may_link(origin, body, known):
        return
    count = 0
    if old is not None:
        state.tables.write("end_link", (seq, *old[:3]), body.source, body.target)
        again = known == (body.weight, body.trust, body.name)
        count = old.reinforcement_count + again
    row = LinkRow(
        body.source,
        body.target,
        body.kind,
        seq,
        STILL,
        body.weight,
        body.trust,
        at,
        count,
        body.name,
    )
    state.tables.write("add_link", row, body.source, body.target)


def link_removed(state: State, seq: int, at: str, origin: Origin, body: LinkRemoved) -> None:
    old = state.tables.link(body.source, body.target, body.kind)
    if old is not None and rules.at_least(origin, old.trust):
        ended = (seq, body.source, body.target, body.kind)
        state.tables.write("end_link", ended, body.source, body.target)
