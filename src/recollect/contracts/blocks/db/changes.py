"""Changed rows as acts of one command.

Responsible for what the changes of one transaction mean together in a memory. Leaves rows of
``blocks`` to ``blocks.changed``, and deciding and writing to the memory. Invariants: the acts
depend on rows before and after alone, and on the state that a record has now; nothing that a row
says is dropped in silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import NamedTuple, cast

from recollect.contracts.blocks import frames
from recollect.contracts.blocks.changed import Moved, changed, inserted, moment, name, text, uses
from recollect.contracts.blocks.db.row_changes import Change, Written
from recollect.contracts.blocks.graph import Pair, canonical
from recollect.contracts.blocks.settings import stored
from recollect.contracts.blocks.table import Row, Value
from recollect.contracts.blocks.types import BlockStatus
from recollect.errors import Conflict, InvalidInput, Unsupported
from recollect.exchange.importers.blocks import (
    APART,
    EDGE,
    RESOLVED,
    SETTINGS,
    SETTINGS_TYPE,
    clamped,
    note,
    noted,
)
from recollect.index.reads import Reads
from recollect.index.rows import LinkRow
from recollect.index.values import record_of
from recollect.lifecycle.commands import (
    Act,
    CloseSession,
    Expect,
    OpenSession,
    ReinforceLink,
    SetDocument,
    Tag,
    Unlink,
)
from recollect.lifecycle.records.links import CONTRADICTS
from recollect.memory import Memory
from recollect.memory.handle import acts
from recollect.memory.handle.handle import handle_of
from recollect.model import validate
from recollect.model.instants import to_microseconds
from recollect.model.limits import US_PER_HOUR
from recollect.model.values import Record
from recollect.store.seam import REAL


class Command(NamedTuple):
    """What one transaction asks of a memory."""

    acts: tuple[Act, ...]
    expect: Expect | None


def command_of(memory: Memory, written: Written) -> Command:
    """The acts that make a memory say what the rows say now."""
    blocks = written.get("blocks", {})
    hidden = {str(id) for (id,), change in blocks.items() if _goes(change)}
    with handle_of(memory).reading() as reads:
        moved = [_block(reads, str(id), change) for (id,), change in blocks.items()]
        links = _links(reads, written, hidden)
    settings, expect = _settings(memory, written.get("system_config", {}))
    made = [
        *(act for block in moved for act in block.coming),
        *_tags(written.get("block_tags", {}), hidden),
        *links,
        *(act for block in moved for act in block.leaving),
        *_sessions(written.get("sessions", {})),
        *_frames(memory, written.get("frames", {})),
        *settings,
    ]
    return Command(tuple(made), expect)


# Blocks.


def _goes(change: Change) -> bool:
    """True if a block is archived now. Its tags and edges are hidden, not removed."""
    is_out = [row is not None and row["status"] == BlockStatus.ARCHIVED for row in change]
    return is_out == [False, True]


def _block(reads: Reads, id: str, change: Change) -> Moved:
    if change.after is None:
        raise Unsupported(
            f"the block {id!r} cannot be deleted", hint="archive it, or use Memory.erase"
        )
    if change.before is None:
        return inserted(change.after)
    return changed(_record(reads, id), change.before, change.after)


def _record(reads: Reads, id: str) -> Record:
    row = reads.version(id)
    if row is None:
        raise Conflict(f"the block {id!r} was erased meanwhile", hint="begin the transaction again")
    return record_of(row)


def _tags(changes: dict[tuple[object, ...], Change], hidden: Set[str]) -> list[Act]:
    by_block: dict[str, tuple[list[str], list[str]]] = {}
    for (block, tag), change in changes.items():
        if change.after is None and str(block) in hidden:
            continue
        add, remove = by_block.setdefault(str(block), ([], []))
        (remove if change.after is None else add).append(name(cast(Value, tag), "tag"))
    return [Tag(id=id, add=tuple(add), remove=tuple(gone)) for id, (add, gone) in by_block.items()]


# Links.


def _links(reads: Reads, written: Written, hidden: Set[str]) -> list[Act]:
    made: list[Act] = []
    known: dict[str, dict[Pair, list[LinkRow]]] = {}  # by one end; a hub is read once
    for table, making in (("edges", _edge), ("contradictions", _contradiction)):
        for (one, other), change in written.get(table, {}).items():
            pair = (str(one), str(other))
            if table == "edges" and change.after is None and not hidden.isdisjoint(pair):
                continue
            if canonical(*pair) != pair or pair[0] == pair[1]:
                raise InvalidInput(
                    f"{one!r} does not come before {other!r}",
                    hint="order the ids with Edge.canonical(a, b)",
                )
            if pair[0] not in known:
                known[pair[0]] = _by_pair(reads.links(pair[0]))
            made += making(pair, known[pair[0]].get(pair, []), change)
    return made


def _by_pair(links: Iterable[LinkRow]) -> dict[Pair, list[LinkRow]]:
    found: dict[Pair, list[LinkRow]] = {}
    for link in links:
        found.setdefault(canonical(link.source, link.target), []).append(link)
    return found


def _edge(pair: Pair, known: list[LinkRow], change: Change) -> Iterable[Act]:
    links = [link for link in known if link.kind not in APART]
    before, after = change
    if after is None:
        return _unlinked(links)
    weight = cast(float, after["weight"])
    if before is None or before["weight"] != weight:
        validate.fraction(weight, "weight")
    if before is None or before["created_at"] != after["created_at"]:  # deleted, and inserted again
        moment(after["created_at"], "created_at")
        count = uses(after["reinforcement_count"], 0)
        made = acts.link(*pair, EDGE, weight, note(str(after["created_at"]), weight))
        gone = [] if before is None else _unlinked(links)
        return [*gone, made, *[_used(*pair, EDGE)] * count]
    own = max(links, key=lambda link: (link.kind == EDGE, link.seq))
    changes: list[Act] = []
    if before["weight"] != weight:
        was = noted(own.name)
        number = (was.number if was else own.weight) + weight - cast(float, before["weight"])
        said = note(was.created_at if was else own.at, weight if len(links) == 1 else number)
        changes.append(acts.link(own.source, own.target, own.kind, clamped(number), said))
    count = uses(after["reinforcement_count"], before["reinforcement_count"])
    return [*changes, *[_used(own.source, own.target, own.kind)] * count]


def _contradiction(pair: tuple[str, str], known: list[LinkRow], change: Change) -> Iterable[Act]:
    links = [link for link in known if link.kind in APART]
    gone = _unlinked(links) if change.before is not None else []
    if change.after is None:
        return gone
    moment(change.after["created_at"], "created_at")
    score = validate.fraction(cast(float, change.after["score"]), "score")
    if change.after["resolved"] not in (0, 1):
        raise InvalidInput(
            f"resolved must be 0 or 1, not {validate.shown(change.after['resolved'])}"
        )
    is_resolved = change.after["resolved"] == 1
    kind, weight = (RESOLVED, 0.0) if is_resolved else (CONTRADICTS, score)
    return [*gone, acts.link(*pair, kind, weight, note(str(change.after["created_at"]), score))]


def _unlinked(links: list[LinkRow]) -> list[Act]:
    return [Unlink(source=x.source, target=x.target, kind=x.kind) for x in links]


def _used(source: str, target: str, kind: str) -> ReinforceLink:
    return ReinforceLink(source=source, target=target, kind=kind)


# Sessions, frames and settings.


def _sessions(changes: dict[tuple[object, ...], Change]) -> list[Act]:
    made: list[Act] = []
    for (id,), (before, after) in changes.items():
        own = name(cast(Value, id), "session_id")
        if after is None:
            raise Unsupported(f"the session {id!r} cannot be deleted", hint="end it")
        if before is None:
            _of_now(after, "started_at")
            opened = OpenSession(
                id=own,
                stamp="",
                chance="",
                task_type=name(after["task_type"], "task_type"),
                start_active_hours=cast(float, after["start_active_hours"]),
                fresh=True,
            )
            made.append(opened)
        elif [c for c in after if before[c] != after[c]] != ["ended_at"] or before["ended_at"]:
            raise Unsupported(f"the session {id!r} can only be ended, once")
        if after["ended_at"] is not None:
            _of_now(after, "ended_at")
            made.append(CloseSession(id=own))
    return made


def _of_now(row: Row, column: str) -> None:
    """Refuses another time than that of the commit, which is the one that a session gets."""
    said = to_microseconds(moment(row[column], column))
    if abs(said - to_microseconds(REAL.now())) > US_PER_HOUR:
        raise Unsupported(
            f"{column} of a session cannot be another time than now",
            hint="leave it to start_session and end_session; `recollect import` brings a database",
        )


def _frames(memory: Memory, changes: dict[tuple[object, ...], Change]) -> list[Act]:
    made: list[Act] = []
    for (own,), (_, after) in changes.items():
        made += frames.dropped(memory, str(own)) if after is None else frames.put(str(own), after)
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
            data[name(cast(Value, key), "key")] = text(change.after["value"], "value")
    act = SetDocument(type=SETTINGS_TYPE, name=SETTINGS, data=validate.data(data))
    return [act], expect
