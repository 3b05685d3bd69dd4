"""The seven tables of an elfmem database: blocks, what hangs on them, frames, sessions, settings.

Responsible for what each row becomes here, and for a line about each kind of thing that is left out
or changed. Leaves reading the file to ``databases``, and storing to ``memory.exchange.imports``.
Invariants: a value of another type than its column's is never taken for it; every block keeps its
id if that can be an id here, and gets the same other one each time if not.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Final, cast, get_args

import msgspec

from recollect.errors import RecollectError
from recollect.exchange.importers.block_frames import FrameData, frame_of
from recollect.exchange.importers.blocks import (
    EDGE,
    GENERAL,
    RESOLVED,
    SETTINGS,
    SETTINGS_TYPE,
    ArchiveReason,
    Beside,
    BlockStatus,
    clamped,
    note,
    tier_of,
)
from recollect.exchange.importers.databases import Database, Row
from recollect.exchange.injected import storable
from recollect.exchange.items import (
    Found,
    LinkItem,
    RecordItem,
    SessionItem,
    SettingItem,
    Standing,
    State,
    Trouble,
    data_of,
    fraction_of,
    moment_of,
    name_of,
    named,
    short,
)
from recollect.lifecycle.records.links import CONTRADICTS
from recollect.model import limits, validate
from recollect.model.limits import BROUGHT_REINFORCEMENTS_MAX_COUNT as USES_MAX_COUNT
from recollect.model.presets import BUILT_IN, KEPT_ROWS

FORMAT: Final = "elfmem"
BLOCKS: Final = "blocks"
_COLUMNS: Final = {
    BLOCKS: "id content category source created_at status archive_reason confidence "
    "reinforcement_count decay_lambda last_reinforced_at self_alignment embedding embedding_model "
    "token_count last_session_id",
    "block_tags": "block_id tag",
    "edges": "from_id to_id weight reinforcement_count created_at",
    "contradictions": "block_a_id block_b_id score resolved created_at",
    "frames": "name weights_json filters_json guarantees_json template token_budget cache_json "
    "source created_at",
    "sessions": "id task_type started_at ended_at start_active_hours",
    "system_config": "key value",
}
_NOT_CONTENTS: Final = frozenset({"alembic_version", "recollect_projection"})
# What an archived block counts as if it was active when it was imported before.
_ENDED: Final[dict[ArchiveReason | None, Standing]] = {
    "decayed": "decayed",
    "superseded": "merged",
    "forgotten": "rejected",
    None: "rejected",
}


class Tables:
    """The rows of one database, as items."""

    def __init__(self, name: str, database: Database) -> None:
        self._name = name
        self._database = database
        self._left: Counter[tuple[str, str]] = Counter()
        self._ids: dict[str, str] = {}  # of the blocks, there and here

    def items(self) -> Iterator[Found]:
        """Everything that can be brought in, then a line for each kind of thing that cannot."""
        known = {table.lower() for table in self._database.tables}
        if BLOCKS not in known:
            yield Trouble(where=self._name, why="it has no table of blocks")
            return
        for table in sorted(known - _COLUMNS.keys() - _NOT_CONTENTS):
            yield Trouble(where=self._where("table", table), why="it is not read")
        tags = self._tags()
        for row in self._rows(BLOCKS):
            block = self._block(row, tags)
            if block is not None:
                yield block
        self._leave("block_tags", "the block is not there", sum(map(len, tags.values())))
        yield from self._edges()
        yield from self._contradictions()
        yield from self._sessions()
        yield from self._frames()
        yield from self._settings()
        self._leave("texts", "not UTF-8: � stands for what is not", self._database.not_utf8)
        for (table, why), count in self._left.items():
            yield Trouble(where=f"{self._name}, {table}", why=f"{why} ({count:,})")

    def _rows(self, table: str) -> Iterator[Row]:
        columns, is_first = set(_COLUMNS[table].split()), True
        for row in self._database.rows(table, table):
            if is_first:
                for column in sorted(row.keys() - columns):
                    self._leave(table, f"the column {name_of(column)} is not read")
                is_first = False
            yield row

    def _leave(self, table: str, why: str, count: int = 1) -> None:
        if count:
            self._left[table, why] += count

    def _where(self, what: str, id: object) -> str:
        return f"{self._name}, {what} {name_of(id)}"

    # Blocks.

    def _tags(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for row in self._rows("block_tags"):
            block, tag = row.get("block_id"), self._name_in("block_tags", row, "tag")
            if isinstance(block, str) and tag is not None:
                found.setdefault(block, []).append(tag)
            else:
                self._leave("block_tags", "no block or no tag")
        return found

    def _block(self, row: Row, tags: dict[str, list[str]]) -> RecordItem | None:
        id, content = row.get("id"), row.get("content")
        if not isinstance(id, str) or not isinstance(content, str) or not content.strip():
            self._leave(BLOCKS, "no id or no text")
            return None
        if id in self._ids:
            self._leave(BLOCKS, "the id is there twice")
            return None
        text = storable(content)
        if text != content:
            self._leave(BLOCKS, "content: characters that cannot be stored; � stands for them")
        own = list(dict.fromkeys(tags.pop(id, [])))
        self._leave("block_tags", "too many on one block", len(own) - limits.TAGS_MAX_COUNT > 0)
        beside, state, standing = self._state(row)
        return RecordItem(
            id=self._new_id(id),
            text=text,
            where=self._where("block", id),
            kind=self._name_in(BLOCKS, row, "category"),
            tags=tuple(own[: limits.TAGS_MAX_COUNT]),
            data=beside.as_data(),
            embedding=self._bytes(BLOCKS, row, "embedding"),
            confidence=self._fraction(BLOCKS, row, "confidence"),
            said_at=moment_of(beside.created_at),
            how_known="imported",
            status=standing,
            state=state,
        )

    def _new_id(self, id: str) -> str:
        try:
            made = validate.identifier(id)
        except RecollectError:
            made = ""
        if made in ("", SETTINGS):
            self._leave(BLOCKS, "the id cannot be one here, so the block has another one")
            made = short(named(FORMAT, "id", id.encode("utf-8", "replace").hex(), " "))
        self._ids[id] = made
        return made

    def _state(self, row: Row) -> tuple[Beside, State, Standing]:
        """What the record keeps beside its fields, and how it stood there."""
        status, reason = self._status(row)
        uses = self._count(BLOCKS, row, "reinforcement_count")
        # A record that waits is not reinforced.
        counted = 0 if status == "inbox" else min(uses, USES_MAX_COUNT)
        rate = self._number(BLOCKS, row, "decay_lambda")
        beside = Beside(
            source=self._name_in(BLOCKS, row, "source"),
            archive_reason=(reason or "") if status == "archived" else None,
            created_at=self._date(BLOCKS, row),
            last_session_id=self._name_in(BLOCKS, row, "last_session_id"),
            uses=uses - counted,
            decay_lambda=rate,
            last_reinforced_at=self._number(BLOCKS, row, "last_reinforced_at"),
            self_alignment=self._number(BLOCKS, row, "self_alignment"),
            embedding_model=self._name_in(BLOCKS, row, "embedding_model"),
            token_count=self._whole(BLOCKS, row, "token_count"),
        )
        state = State(
            trust="agent",
            status=("archived" if reason == "decayed" else "forgotten")
            if status == "archived"
            else status,
            reason="decayed" if reason == "decayed" else None,
            decay_tier="standard" if rate is None else tier_of(rate),
            reinforced=counted,
        )
        return beside, state, _ENDED[reason] if status == "archived" else status

    def _status(self, row: Row) -> tuple[BlockStatus, ArchiveReason | None]:
        status, reason = row.get("status"), row.get("archive_reason")
        if status not in get_args(BlockStatus):
            self._leave(BLOCKS, "status: not one that is known, so the block waits in the inbox")
            status = "inbox"
        if reason is not None and (status != "archived" or reason not in get_args(ArchiveReason)):
            self._leave(BLOCKS, "archive_reason: not one that is known, or not archived")
            reason = None
        return cast(BlockStatus, status), cast("ArchiveReason | None", reason)

    # Links.

    def _edges(self) -> Iterator[LinkItem]:
        for row in self._rows("edges"):
            pair, weight = self._pair("edges", row), self._weight("edges", row, "weight")
            if pair is not None:
                yield self._link("edges", row, pair, EDGE, weight)

    def _contradictions(self) -> Iterator[LinkItem]:
        table = "contradictions"
        for row in self._rows(table):
            pair, score = self._pair(table, row), self._weight(table, row, "score")
            if row.get("resolved") not in (0, 1):
                self._leave(table, "resolved: not 0 or 1, so it is not resolved")
            kind = RESOLVED if row.get("resolved") == 1 else CONTRADICTS
            if pair is not None:
                yield self._link(table, row, pair, kind, score)

    def _pair(self, table: str, row: Row) -> tuple[str, str] | None:
        """The two blocks of a row, here, the smaller id first; None if they are not two."""
        one, other, *_ = _COLUMNS[table].split()
        ends = [self._ids.get(cast(str, row.get(end))) for end in (one, other)]
        if None in ends or ends[0] == ends[1]:
            self._leave(table, "its two blocks are not there")
            return None
        first, second = sorted(cast("list[str]", ends))
        return first, second

    def _link(
        self, table: str, row: Row, pair: tuple[str, str], kind: str, number: float
    ) -> LinkItem:
        created_at = self._date(table, row)
        uses = self._count(table, row, "reinforcement_count") if kind == EDGE else 0
        self._leave(
            table, f"more than {USES_MAX_COUNT} uses; so many were kept", uses > USES_MAX_COUNT
        )
        name = None if created_at is None else note(created_at, number)
        return LinkItem(
            source=pair[0],
            target=pair[1],
            kind=kind,
            weight=0.0 if kind == RESOLVED and name is not None else number,
            where=self._where(table, "–".join(pair)),
            state=State(trust="agent", name=name, reinforced=min(uses, USES_MAX_COUNT)),
        )

    # Sessions, frames and settings.

    def _sessions(self) -> Iterator[SessionItem]:
        rows = sorted(self._rows("sessions"), key=lambda row: str(row.get("started_at")))
        for row in rows:
            id, hours = row.get("id"), self._number("sessions", row, "start_active_hours")
            if not isinstance(id, str) or not validate.is_name(id):
                self._leave("sessions", "the id cannot be a name here")
                continue
            self._leave("sessions", "started_at, ended_at: a session has the time of the import")
            given = self._name_in("sessions", row, "task_type") or GENERAL
            made = SessionItem(
                id=id, task_type=given, start_active_hours=hours, where=self._where("session", id)
            )
            yield made
            if row.get("ended_at") is not None:
                yield msgspec.structs.replace(made, closes=True)

    def _frames(self) -> Iterator[SettingItem | Trouble]:
        for row in self._rows("frames"):
            name, where = str(row.get("name")), self._where("frame", row.get("name"))
            if name in BUILT_IN:
                self._leave("frames", "built in: those of Recollect stay as they are")
                continue
            try:
                data = msgspec.convert({**row, "in_use": True}, FrameData)
                frame = msgspec.to_builtins(frame_of(name, data))
                kept = SettingItem(id=f"{KEPT_ROWS}/{name}", data=data.as_data(), where=where)
            except (RecollectError, msgspec.ValidationError) as error:
                why = error.message if isinstance(error, RecollectError) else str(error)
                yield Trouble(where=where, why=name_of(why) or "not a frame")
                continue
            yield SettingItem(id=name, data=frame, is_preset=True, where=where)
            yield kept

    def _settings(self) -> Iterator[SettingItem]:
        found: dict[str, object] = {}
        for row in self._rows("system_config"):
            key, value = row.get("key"), row.get("value")
            if isinstance(key, str) and validate.is_name(key) and isinstance(value, str):
                found[key] = value
            else:
                self._leave("system_config", "no name or no text")
        if found:
            where = f"{self._name}, system_config"
            yield SettingItem(id=f"{SETTINGS_TYPE}/{SETTINGS}", data=data_of(found), where=where)

    # Values. A column that is NULL says nothing, so nothing is left out.

    def _name_in(self, table: str, row: Row, column: str) -> str | None:
        value = row.get(column)
        found = name_of(value) if isinstance(value, str) else None
        if value is not None and found != value:
            self._leave(
                table, f"{column}: not one line of up to {limits.NAME_MAX_CHARS} characters"
            )
        return found

    def _number(self, table: str, row: Row, column: str) -> float | None:
        value = row.get(column)
        if value is None:
            return None
        if isinstance(value, int | float) and math.isfinite(value):
            return float(value)
        self._leave(table, f"{column}: not a number")
        return None

    def _whole(self, table: str, row: Row, column: str) -> int | None:
        value = row.get(column)
        if value is None or (isinstance(value, int) and abs(value) <= limits.INTEGER_MAX):
            return value
        self._leave(table, f"{column}: not a whole number of up to {limits.INTEGER_MAX:,}")
        return None

    def _count(self, table: str, row: Row, column: str) -> int:
        value = self._whole(table, row, column) or 0
        self._leave(table, f"{column}: below 0", value < 0)
        return max(value, 0)

    def _fraction(self, table: str, row: Row, column: str) -> float | None:
        number = self._number(table, row, column)
        if number is None or fraction_of(number) is not None:
            return number
        self._leave(table, f"{column}: not from 0 to 1, so the nearest is kept")
        return clamped(number)

    def _bytes(self, table: str, row: Row, column: str) -> bytes | None:
        value = row.get(column)
        if value is None or isinstance(value, bytes):
            return value
        self._leave(table, f"{column}: not bytes")
        return None

    def _weight(self, table: str, row: Row, column: str) -> float:
        found = self._fraction(table, row, column)
        self._leave(table, f"{column}: none, so 0 is kept", found is None)
        return found or 0.0

    def _date(self, table: str, row: Row) -> str | None:
        value = row.get("created_at")
        if isinstance(value, str) and moment_of(value) is not None:
            return value
        self._leave(table, "created_at: not a date")
        return None


def items_of(name: str, database: Database) -> Iterator[Found]:
    """What a database holds."""
    return Tables(name, database).items()
