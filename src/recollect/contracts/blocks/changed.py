"""What a change of a block's row means in a memory: acts of one command.

Responsible for rows of ``blocks``, whichever of the two APIs changes them, and for refusing what
has no meaning in a memory. Leaves reading and writing to its callers. Invariants: the acts depend
on the row before and after and on the record alone; nothing that a row says is dropped in silence.
"""

from __future__ import annotations

from typing import Final, NamedTuple, cast

import msgspec
from msgspec import UNSET

from recollect.contracts.blocks.table import Row, Value
from recollect.contracts.blocks.types import ArchiveReason, BlockStatus
from recollect.errors import Conflict, InvalidInput, LimitExceeded, Unsupported
from recollect.exchange.importers.blocks import KEY, Beside, embedded, tier_of
from recollect.exchange.items import moment_of
from recollect.lifecycle.commands import Act, Archive, Forget, Reinforce, Remember, Restore, Revise
from recollect.model import validate
from recollect.model.events import Tier
from recollect.model.validate import Json
from recollect.model.values import Record

_BESIDE: Final = (
    "source created_at last_session_id decay_lambda last_reinforced_at self_alignment embedding "
    "embedding_model token_count"
).split()
_FIELDS: Final = frozenset({"content", "confidence", "category"})
_OUT: Final = ("replaced", "archived", "forgotten")
_USES_MAX_COUNT: Final = 1_000  # that one transaction counts of one row


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
    validate.identifier(text(row["id"], "id"), "id")
    validate.text(text(row["content"], "content"), "content")
    for column in ("category", "source"):
        name(row[column], column)
    validate.fraction(cast(float, row["confidence"]), "confidence")


def inserted(row: Row) -> Moved:
    """The acts that add a block."""
    check_block(row)
    id, status, count = str(row["id"]), row["status"], uses(row["reinforcement_count"], 0)
    is_active = status == BlockStatus.ACTIVE
    beside = {column: row[column] for column in _BESIDE if row[column] is not None}
    if status == BlockStatus.ARCHIVED:
        beside["archive_reason"] = row["archive_reason"] or ""
    if not is_active and count:
        beside["uses"] = count
    added = Remember(
        id=id,
        stamp="",  # neither is needed: the id is the caller's
        chance="",
        text=str(row["content"]),
        kind=name(row["category"], "category"),
        confidence=validate.fraction(cast(float, row["confidence"]), "confidence"),
        said_at=UNSET if row["created_at"] is None else moment(row["created_at"], "created_at"),
        decay_tier=_tier(row),
        data=validate.data(_data(beside)),
        status="inbox" if status == BlockStatus.INBOX else UNSET,
        fresh=True,
    )
    counted: list[Act] = [Reinforce(id=id)] * (count if is_active else 0)
    leaves = status == BlockStatus.ARCHIVED
    return Moved([added, *counted], _out(id, row, is_held=False) if leaves else [])


def changed(record: Record, before: Row, after: Row) -> Moved:
    """The acts that make a record say what its row says now."""
    check_block(after)
    id = record.id
    columns = {column for column in after if before[column] != after[column]}
    if not columns:
        return Moved([], [])
    if "created_at" in columns:
        raise Unsupported(
            "created_at of a block cannot be changed",
            hint="it is given when the block is inserted",
        )
    count = uses(after["reinforcement_count"], before["reinforcement_count"])
    is_active = after["status"] == BlockStatus.ACTIVE
    if record.status == "waiting" and is_active:
        raise Conflict(f"{id} waits for review", hint="only a person's review can change that")
    patch = _patch(record, columns, after, 0 if is_active else count)
    goes_out = after["status"] == BlockStatus.ARCHIVED or (
        after["status"] == BlockStatus.INBOX and record.status not in ("inbox", "waiting")
    )
    comes_back = record.status in _OUT or (is_active and record.status == "inbox")
    coming: list[Act] = [Restore(id=id)] if comes_back else []
    if patch or columns & _FIELDS:
        coming.append(_revision(id, columns, after, patch))
    coming += [Reinforce(id=id)] * (count if is_active else 0)
    return Moved(coming, _out(id, after, is_held=record.status == "waiting") if goes_out else [])


def _revision(id: str, columns: set[str], row: Row, patch: Row) -> Revise:
    return Revise(
        id=id,
        text=str(row["content"]) if "content" in columns else UNSET,
        kind=name(row["category"], "category") if "category" in columns else UNSET,
        confidence=cast(float, row["confidence"]) if "confidence" in columns else UNSET,
        decay_tier=_tier(row) if "decay_lambda" in patch else UNSET,
        patch=validate.data(_data(patch)) if patch else UNSET,
    )


def _tier(row: Row) -> Tier:
    rate = row["decay_lambda"]
    if not isinstance(rate, int | float):
        raise InvalidInput(f"decay_lambda must be a number, not {validate.shown(rate)}")
    return tier_of(rate)


def _patch(record: Record, columns: set[str], row: Row, used: int) -> Row:
    """The columns beside the record's fields that differ."""
    made = {column: row[column] for column in _BESIDE if column in columns}
    if KEY not in record.data:  # a record written by another API keeps the engine's hours
        made.pop("last_reinforced_at", None)
    if "last_session_id" in made and record.scope.session is not None:
        made["last_session_id"] = row["last_session_id"] or ""
    if columns & {"status", "archive_reason"}:
        is_out = row["status"] == BlockStatus.ARCHIVED
        made["archive_reason"] = (row["archive_reason"] or "") if is_out else None
        made["status"] = "inbox" if row["status"] == BlockStatus.INBOX else None
    if used:
        known = cast("dict[str, Json]", record.data.get(KEY) or {}).get("uses", 0)
        made["uses"] = used + (known if isinstance(known, int) else 0)
    return made


def _out(id: str, row: Row, *, is_held: bool) -> list[Act]:
    """Takes a record out of default reads: for good, or back into the inbox."""
    reason = row["archive_reason"]
    if reason == ArchiveReason.DECAYED and not is_held:
        return [Archive(id=id, why="decayed")]
    # What faded, or waits again, takes none of its sources along.
    keeps = reason == ArchiveReason.DECAYED or row["status"] == BlockStatus.INBOX
    return [Forget(id=id, sources="keep" if keeps else "shadow")]


def _data(columns: Row) -> dict[str, Json]:
    """These columns as a record keeps them; raises if one is of another type than it is read as."""
    vector = columns.get("embedding")
    if not isinstance(vector, bytes | None):
        raise InvalidInput(f"embedding must be bytes, not {validate.shown(vector)}")
    data: dict[str, Json] = {**columns, **({} if vector is None else embedded(vector))}  # type: ignore[dict-item]
    try:
        msgspec.convert(data, Beside)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"a column of the block has another type than it: {error}") from error
    return {KEY: data}


# Values.


def uses(now: Value, before: Value) -> int:
    """How many uses were counted; they can only grow."""
    if not isinstance(now, int):
        raise InvalidInput(f"reinforcement_count must be a whole number, not {validate.shown(now)}")
    count = now - cast(int, before)
    if count < 0:
        raise Unsupported("reinforcement_count cannot fall")
    if count > _USES_MAX_COUNT:
        raise LimitExceeded(f"a transaction counts at most {_USES_MAX_COUNT:,} uses of one row")
    return count


def moment(value: Value, what: str) -> str:
    """The instant that a column says."""
    found = moment_of(value) if isinstance(value, str) else None
    if found is None:
        raise InvalidInput(
            f"{what} must be a date or a time in ISO 8601, not {validate.shown(value)}"
        )
    return found


def text(value: Value, what: str) -> str:
    """A text of a column."""
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be a text, not {validate.shown(value)}")
    return value


def name(value: Value, what: str) -> str:
    """A name of a column, which must be as it is stored."""
    found = text(value, what)
    if validate.name(found, what) != found:
        raise InvalidInput(f"{what} {found!r} has blanks around it, or is not in composed form")
    return found


def _word(value: Value, words: type[BlockStatus] | type[ArchiveReason], what: str) -> None:
    if value not in list(words):
        raise InvalidInput(f"{what} must be one of {', '.join(words)}, not {validate.shown(value)}")
