"""Changed rows as acts of one command.

Responsible for what each change means in a memory, and for refusing what has no meaning there.
Leaves deciding and writing to the memory. Invariants: the acts depend on rows before and after
alone, and on the state that a record has now; nothing that a row says is dropped in silence.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, cast

from msgspec import UNSET

from recollect.contracts.blocks.db.noticing import Change, Written
from recollect.contracts.blocks.db.rows import FRAME, Row, Value
from recollect.contracts.blocks.graph import APART, EDGE, RESOLVED, canonical
from recollect.contracts.blocks.notes import clamped, note, noted
from recollect.contracts.blocks.settings import SETTINGS, SETTINGS_TYPE, stored
from recollect.contracts.blocks.table import KEY, Beside, tier_of
from recollect.contracts.blocks.types import ArchiveReason, BlockStatus
from recollect.errors import Conflict, InvalidInput, LimitExceeded, Unsupported
from recollect.finding.context import CONTRADICTS
from recollect.index.rows import LinkRow
from recollect.index.values import record_of
from recollect.lifecycle.commands import (
    Act,
    Archive,
    CloseSession,
    DropDocument,
    Expect,
    Forget,
    OpenSession,
    Reinforce,
    ReinforceLink,
    Remember,
    Restore,
    Revise,
    SetDocument,
    Tag,
    Unlink,
)
from recollect.memory import Memory, acts
from recollect.memory.handle import handle_of
from recollect.model import validate
from recollect.model.rules import at_least
from recollect.model.validate import Json
from recollect.model.values import Record

_FIXED: Final = ("category", "created_at", "last_session_id")
_BESIDE: Final = (
    "source decay_lambda last_reinforced_at self_alignment embedding embedding_model token_count"
).split()
_USES_MAX_COUNT: Final = 1_000  # that one transaction counts of one row


class Command(NamedTuple):
    """What one transaction asks of a memory."""

    acts: tuple[Act, ...]
    expect: Expect | None


def command_of(memory: Memory, written: Written) -> Command:
    """The acts that make a memory say what the rows say now."""
    moved = [_block(memory, str(id), change) for (id,), change in written.get("blocks", {}).items()]
    settings, expect = _settings(memory, written.get("system_config", {}))
    made = [
        *(act for block in moved for act in block.coming),
        *_tags(written.get("block_tags", {})),
        *_links(memory, written),
        *(act for block in moved for act in block.leaving),
        *_sessions(written.get("sessions", {})),
        *_frames(written.get("frames", {})),
        *settings,
    ]
    return Command(tuple(made), expect)


# Blocks.


class Moved(NamedTuple):
    """The acts about a block: those before its tags and links change, and those after."""

    coming: list[Act]
    leaving: list[Act]


def check_block(row: Row) -> None:
    """Refuses a row that no record can be."""
    status, reason = row["status"], row["archive_reason"]
    _word(status, BlockStatus, "status")
    if reason is not None:
        _word(reason, ArchiveReason, "archive_reason")
        if status != BlockStatus.ARCHIVED:
            raise InvalidInput(f"archive_reason is not allowed for the status {status!r}")
    validate.identifier(_text(row["id"], "id"), "id")
    validate.text(_text(row["content"], "content"), "content")
    for column in ("category", "source"):
        _name(row[column], column)
    validate.fraction(cast(float, row["confidence"]), "confidence")


def _block(memory: Memory, id: str, change: Change) -> Moved:
    if change.after is None:
        raise Unsupported(
            f"the block {id!r} cannot be deleted", hint="archive it, or use Memory.erase"
        )
    check_block(change.after)
    if change.before is None:
        return _inserted(change.after)
    return _changed(_record(memory, id), change.before, change.after)


def _inserted(row: Row) -> Moved:
    if row["last_session_id"] is not None:
        raise Unsupported("last_session_id is the session of the handle that writes")
    id, status, count = str(row["id"]), row["status"], _uses(row["reinforcement_count"], 0)
    is_active = status == BlockStatus.ACTIVE
    beside = {column: row[column] for column in _BESIDE if row[column] is not None}
    if status == BlockStatus.ARCHIVED:
        beside["archive_reason"] = row["archive_reason"] or ""
    if not is_active and count:
        beside["uses"] = count
    added = Remember(
        id=id,
        stamp="",
        chance="",
        text=str(row["content"]),
        kind=_name(row["category"], "category"),
        confidence=validate.fraction(cast(float, row["confidence"]), "confidence"),
        decay_tier=tier_of(cast(float, row["decay_lambda"])),
        data=validate.data(_data(beside)),
        status="inbox" if status == BlockStatus.INBOX else UNSET,
        fresh=True,
    )
    uses: list[Act] = [Reinforce(id=id)] * (count if is_active else 0)
    return Moved([added, *uses], _out(id, row) if status == BlockStatus.ARCHIVED else [])


def _changed(record: Record, before: Row, after: Row) -> Moved:
    id = record.id
    columns = {column for column in after if before[column] != after[column]}
    if fixed := sorted(columns.intersection(_FIXED)):
        raise Unsupported(f"the column {fixed[0]} of a block cannot be changed")
    count = _uses(after["reinforcement_count"], before["reinforcement_count"])
    is_active = after["status"] == BlockStatus.ACTIVE
    patch = _patch(record, columns, after, 0 if is_active else count)
    was_out = record.status in ("archived", "forgotten")
    goes_out = after["status"] == BlockStatus.ARCHIVED or (
        after["status"] == BlockStatus.INBOX and record.status not in ("inbox", "held")
    )
    if record.status == "held" and is_active:
        raise Conflict(f"{id} is held", hint="only a person's review can change that")
    coming: list[Act] = [Restore(id=id)] if was_out or (is_active and _waits(record)) else []
    if patch or columns & {"content", "confidence"}:
        coming.append(_revision(id, columns, after, patch))
    coming += [Reinforce(id=id)] * (count if is_active else 0)
    return Moved(coming, _out(id, after) if goes_out else [])


def _waits(record: Record) -> bool:
    return record.status == "inbox"


def _revision(id: str, columns: set[str], row: Row, patch: Row) -> Revise:
    return Revise(
        id=id,
        text=str(row["content"]) if "content" in columns else UNSET,
        confidence=cast(float, row["confidence"]) if "confidence" in columns else UNSET,
        decay_tier=tier_of(cast(float, row["decay_lambda"])) if "decay_lambda" in patch else UNSET,
        patch=validate.data(_data(patch)) if patch else UNSET,
    )


def _patch(record: Record, columns: set[str], row: Row, uses: int) -> Row:
    """The columns beside the record's fields that differ."""
    made = {column: row[column] for column in _BESIDE if column in columns}
    if KEY not in record.data:  # a record written by another API keeps the engine's hours
        made.pop("last_reinforced_at", None)
    if columns & {"status", "archive_reason"}:
        is_out = row["status"] == BlockStatus.ARCHIVED
        made["archive_reason"] = (row["archive_reason"] or "") if is_out else None
        made["status"] = "inbox" if row["status"] == BlockStatus.INBOX else None
    if uses:
        known = cast("dict[str, Json]", record.data.get(KEY) or {}).get("uses", 0)
        made["uses"] = uses + (known if isinstance(known, int) else 0)
    return made


def _out(id: str, row: Row) -> list[Act]:
    """Takes a record out of default reads: for good, or back into the inbox."""
    if row["archive_reason"] == ArchiveReason.DECAYED:
        return [Archive(id=id, why="decayed")]
    return [Forget(id=id, sources="keep")]


def _record(memory: Memory, id: str) -> Record:
    with handle_of(memory).reading() as reads:
        row = reads.version(id)
    if row is None:
        raise Conflict(f"the block {id!r} was erased meanwhile", hint="begin the transaction again")
    return record_of(row)


def _data(columns: Row) -> dict[str, Json]:
    # Bytes are text in JSON; Beside knows which way.
    coded = Beside(embedding=cast("bytes | None", columns.get("embedding"))).as_data()[KEY]
    return {KEY: {**columns, **cast("dict[str, Json]", coded)}}  # type: ignore[dict-item]


def _tags(changes: dict[tuple[object, ...], Change]) -> list[Act]:
    by_block: dict[str, tuple[list[str], list[str]]] = {}
    for (block, tag), change in changes.items():
        add, remove = by_block.setdefault(str(block), ([], []))
        (remove if change.after is None else add).append(_name(cast(Value, tag), "tag"))
    return [Tag(id=id, add=tuple(add), remove=tuple(gone)) for id, (add, gone) in by_block.items()]


# Links.


def _links(memory: Memory, written: Written) -> list[Act]:
    made: list[Act] = []
    with handle_of(memory).reading() as reads:
        for table, making in (("edges", _edge), ("contradictions", _contradiction)):
            for (one, other), change in written.get(table, {}).items():
                pair = (str(one), str(other))
                if canonical(*pair) != pair or pair[0] == pair[1]:
                    raise InvalidInput(
                        f"{one!r} does not come before {other!r}",
                        hint="order the ids with Edge.canonical(a, b)",
                    )
                known = [x for x in reads.links(pair[0]) if canonical(x.source, x.target) == pair]
                made += making(memory, pair, known, change)
    return made


def _edge(
    memory: Memory, pair: tuple[str, str], known: list[LinkRow], change: Change
) -> Iterable[Act]:
    links = [link for link in known if link.kind not in APART]
    before, after = change
    if after is None:
        return _unlinked(memory, links)
    weight = cast(float, after["weight"])
    if before is None:
        count = _uses(after["reinforcement_count"], 0)
        name = note(str(after["created_at"]), weight)
        made = acts.link(*pair, EDGE, clamped(weight), name)
        return [made, *[_used(*pair, EDGE)] * count]
    if before["created_at"] != after["created_at"]:
        raise Unsupported("the column created_at of an edge cannot be changed")
    own = max(links, key=lambda link: (link.kind == EDGE, link.seq))
    changes: list[Act] = []
    if before["weight"] != weight:
        was = noted(own.name)
        number = (was.number if was else own.weight) + weight - cast(float, before["weight"])
        name = note(was.created_at if was else own.at, weight if len(links) == 1 else number)
        changes.append(acts.link(own.source, own.target, own.kind, clamped(number), name))
    count = _uses(after["reinforcement_count"], before["reinforcement_count"])
    return [*changes, *[_used(own.source, own.target, own.kind)] * count]


def _contradiction(
    memory: Memory, pair: tuple[str, str], known: list[LinkRow], change: Change
) -> Iterable[Act]:
    links = [link for link in known if link.kind in APART]
    gone = _unlinked(memory, links, leave=False) if change.before is not None else []
    if change.after is None:
        return gone
    score = validate.fraction(cast(float, change.after["score"]), "score")
    if change.after["resolved"] not in (0, 1):
        raise InvalidInput(
            f"resolved must be 0 or 1, not {validate.shown(change.after['resolved'])}"
        )
    is_resolved = change.after["resolved"] == 1
    kind, weight = (RESOLVED, 0.0) if is_resolved else (CONTRADICTS, score)
    return [*gone, acts.link(*pair, kind, weight, note(str(change.after["created_at"]), score))]


def _unlinked(memory: Memory, links: list[LinkRow], leave: bool = True) -> list[Act]:
    """Ends links. One that was made with more trust may stay: an archived block shows none."""
    if leave:
        links = [link for link in links if at_least(memory.trust, link.trust)]
    return [Unlink(source=x.source, target=x.target, kind=x.kind) for x in links]


def _used(source: str, target: str, kind: str) -> ReinforceLink:
    return ReinforceLink(source=source, target=target, kind=kind)


# Sessions, frames and settings.


def _sessions(changes: dict[tuple[object, ...], Change]) -> list[Act]:
    made: list[Act] = []
    for (id,), (before, after) in changes.items():
        name = _name(cast(Value, id), "session_id")
        if after is None:
            raise Unsupported(f"the session {id!r} cannot be deleted", hint="end it")
        if before is None:
            opened = OpenSession(
                id=name,
                stamp="",
                chance="",
                task_type=_name(after["task_type"], "task_type"),
                start_active_hours=cast(float, after["start_active_hours"]),
                fresh=True,
            )
            made.append(opened)
        elif [c for c in after if before[c] != after[c]] != ["ended_at"] or before["ended_at"]:
            raise Unsupported(f"the session {id!r} can only be ended, once")
        if after["ended_at"] is not None:
            made.append(CloseSession(id=name))
    return made


def _frames(changes: dict[tuple[object, ...], Change]) -> list[Act]:
    made: list[Act] = []
    for (name,), change in changes.items():
        type, own = validate.document(FRAME, str(name))
        if change.after is None:
            made.append(DropDocument(type=type, name=own))
        else:
            data = {key: value for key, value in change.after.items() if key != "name"}
            made.append(SetDocument(type=type, name=own, data=validate.data(data)))  # type: ignore[arg-type]
    return made


def _settings(
    memory: Memory, changes: dict[tuple[object, ...], Change]
) -> tuple[list[Act], Expect | None]:
    """Settings are one document; that of others which was written meanwhile must not be lost."""
    if not changes:
        return [], None
    known, expect = stored(memory)
    data = dict(known)
    for (key,), change in changes.items():
        data.pop(str(key), None)
        if change.after is not None:
            data[_name(cast(Value, key), "key")] = _text(change.after["value"], "value")
    act = SetDocument(type=SETTINGS_TYPE, name=SETTINGS, data=validate.data(data))
    return [act], expect


# Values.


def _uses(now: Value, before: Value) -> int:
    count = cast(int, now) - cast(int, before)
    if count < 0:
        raise Unsupported("reinforcement_count cannot fall")
    if count > _USES_MAX_COUNT:
        raise LimitExceeded(f"a transaction counts at most {_USES_MAX_COUNT:,} uses of one row")
    return count


def _word(value: Value, words: type[BlockStatus] | type[ArchiveReason], what: str) -> None:
    if value not in list(words):
        raise InvalidInput(f"{what} must be one of {', '.join(words)}, not {validate.shown(value)}")


def _text(value: Value, what: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be a text, not {validate.shown(value)}")
    return value


def _name(value: Value, what: str) -> str:
    text = _text(value, what)
    if validate.name(text, what) != text:
        raise InvalidInput(f"{what} {text!r} has blanks around it, or is not in composed form")
    return text
