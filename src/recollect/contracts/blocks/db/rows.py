"""The rows of the seven tables, read from a memory.

Responsible for what each row says. Leaves writing them to ``projection``. Invariants: a row depends
on the state of the memory alone, so reading what changed and reading everything give the same rows;
rows of another memory are not replaced.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple, cast

from recollect.contracts.blocks import frames
from recollect.contracts.blocks.graph import canonical
from recollect.contracts.blocks.settings import stored, texts
from recollect.contracts.blocks.table import Block, Row, block_of
from recollect.errors import ConfigError
from recollect.exchange.importers.blocks import APART, GENERAL, SETTINGS, noted
from recollect.index.reads import Reads
from recollect.index.rows import LinkRow
from recollect.index.values import record_of
from recollect.lifecycle.records.links import CONTRADICTS
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from recollect.model.limits import LIST_MAX_RECORDS, LIST_MAX_SESSIONS
from recollect.model.values import INCLUDES, Change, Record, Session

# After these, the rows of the records that are named are not enough to look at.
_SWEEPING: Final = frozenset({"events.erased", "ledger.loss_accepted", "lineage.retracted"})
# These change a block and its tags, but not whether its edges show.
_LIGHT: Final = frozenset(
    {"record.reinforced", "record.revised", "record.tagged", "record.vouched"}
)


class Head(NamedTuple):
    """The last event that rows were read from, and the command that wrote it."""

    seq: int
    command: str


class Rows(NamedTuple):
    """Rows to write. What is None stays as it is."""

    head: Head
    ids: frozenset[str] | None  # the blocks that are replaced with their links; None: everything is
    kept: frozenset[str]  # the blocks whose links stay as they are
    blocks: list[Row]
    tags: list[Row]
    edges: list[Row]
    contradictions: list[Row]
    sessions: list[Row] | None = None
    frames: list[Row] | None = None
    config: list[Row] | None = None


def head_of(memory: Memory) -> Head:
    """Where the ledger ends."""
    with handle_of(memory).reading() as reads:
        last = reads.position()
        return Head(0, "") if last is None else _head_at(reads, last.seq)


def every_row(memory: Memory) -> Rows:
    """All rows, from one state of the memory."""
    head = head_of(memory)
    still = memory.at(head.seq)
    made = _of_blocks(still, _every_id(still))
    return made._replace(
        head=head, ids=None, sessions=_sessions(still), frames=_frames(still), config=_config(still)
    )


class Touched(NamedTuple):
    """What a transaction wrote, whatever became of it."""

    blocks: frozenset[str] = frozenset()
    ends: frozenset[str] = frozenset()  # of edges and contradictions
    units: frozenset[str] = frozenset()


NOTHING: Final = Touched()


def changed_rows(memory: Memory, after: Head, touched: Touched = NOTHING) -> Rows:
    """The rows that events after a position changed, and those that were touched."""
    head = head_of(memory)
    still = memory.at(head.seq)
    with handle_of(still).reading() as reads:
        if after.seq > head.seq or _head_at(reads, after.seq) != after:
            raise _made_from_another(memory)
        links = reads.links_changed(after.seq + 1, head.seq)
    changes = list(_events(still, after.seq))
    if any(change.kind is None or change.kind in _SWEEPING for change in changes):
        return every_row(memory)
    records = [change for change in changes if change.unit == "record" and change.id]
    light = {str(change.id) for change in records if change.kind in _LIGHT}
    whole = {str(change.id) for change in records if change.kind not in _LIGHT}
    whole |= {end for link in links for end in (link.source, link.target)} | touched.ends
    made = _of_blocks(still, whole, light | touched.blocks)._replace(head=head)
    looked = {*touched.units, *(change.unit for change in changes)}
    if "session" in looked:
        made = made._replace(sessions=_sessions(still))
    if looked & {"document", "preset"}:
        made = made._replace(frames=_frames(still), config=_config(still))
    return made


def _made_from_another(memory: Memory) -> ConfigError:
    """The error for rows that are not of this ledger: they may be the last copy of something."""
    return ConfigError(
        f"the rows were made from another memory than {memory.where}, or from a later state of it",
        hint="put that memory back beside the file, under the name of the file with -memory after "
        "it; or move the file away to make it again from this memory, and bring in what it holds "
        "with `recollect import elfmem`",
    )


def _head_at(reads: Reads, seq: int) -> Head:
    command = reads.command_at(seq)
    return Head(seq, "" if command is None else f"{command.at} {command.id}")


def _events(memory: Memory, after: int) -> Iterator[Change]:
    while page := memory.events.list(after=after, limit=LIST_MAX_RECORDS):
        yield from page
        after = page[-1].seq


def _every_id(memory: Memory) -> set[str]:
    page = memory.graph.list(include=INCLUDES, limit=LIST_MAX_RECORDS)
    found = {record.id for record in page.records}
    while page.more:
        last = page.records[-1].id
        page = memory.graph.list(include=INCLUDES, limit=LIST_MAX_RECORDS, after=last)
        found |= {record.id for record in page.records}
    return found


# Blocks, and what hangs on them.


def _of_blocks(memory: Memory, whole: Collection[str], light: Collection[str] = ()) -> Rows:
    with handle_of(memory).reading() as reads:
        known = Known(reads)
        ids = frozenset(whole) - {SETTINGS}
        kept = frozenset(light) - ids - {SETTINGS}
        found = [block for id in sorted(ids | kept) if (block := known.block(id)) is not None]
        links = {link.seq: link for id in sorted(ids) for link in reads.links(id)}
        pairs = _pairs(link for _, link in sorted(links.items()))
        return Rows(
            head=Head(0, ""),
            ids=ids,
            kept=kept,
            blocks=[cast(Row, block) for block in found],
            tags=[row for block in found for row in known.tags(block)],
            edges=[row for pair, links in pairs for row in known.edge(pair, links)],
            contradictions=[
                row for pair, links in pairs for row in known.contradiction(pair, links)
            ],
        )


Pair = tuple[str, str]


def _pairs(links: Iterable[LinkRow]) -> list[tuple[Pair, list[LinkRow]]]:
    """The trusted links of each pair."""
    found: dict[Pair, list[LinkRow]] = {}
    for link in links:
        if link.trust != "unverified":
            found.setdefault(canonical(link.source, link.target), []).append(link)
    return sorted(found.items())


class Found(NamedTuple):
    """One block, its tags, and whether they and its edges show."""

    block: Block
    tags: tuple[str, ...]
    shows: bool


class Known:
    """The blocks that one state of a memory has, each read once."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._read: dict[str, Found | None] = {}

    def block(self, id: str) -> Block | None:
        found = self._found(id)
        return None if found is None else found.block

    def tags(self, block: Block) -> list[Row]:
        """A block's tags."""
        found = self._found(block["id"])
        tags = found.tags if found is not None and found.shows else ()
        return [{"block_id": block["id"], "tag": tag} for tag in tags]

    def edge(self, pair: Pair, links: list[LinkRow]) -> list[Row]:
        """The edge of a pair."""
        own = [link for link in links if link.kind not in APART]
        if not own or not all(self._shows(id) for id in pair):
            return []
        notes = [(link, noted(link.name)) for link in own]
        return [
            {
                "from_id": pair[0],
                "to_id": pair[1],
                "weight": sum(note.number if note else link.weight for link, note in notes),
                "reinforcement_count": sum(link.reinforcement_count for link in own),
                "created_at": min(note.created_at if note else link.at for link, note in notes),
            }
        ]

    def contradiction(self, pair: Pair, links: list[LinkRow]) -> list[Row]:
        """The contradiction of a pair, also if it was resolved."""
        own = [link for link in links if link.kind in APART]
        still = [link for link in own if link.kind == CONTRADICTS]
        if not own or any(self.block(id) is None for id in pair):
            return []
        notes = [(link, noted(link.name)) for link in still or own]
        return [
            {
                "block_a_id": pair[0],
                "block_b_id": pair[1],
                "score": max(note.number if note else link.weight for link, note in notes),
                "resolved": 0 if still else 1,
                "created_at": min(note.created_at if note else link.at for link, note in notes),
            }
        ]

    def _shows(self, id: str) -> bool:
        found = self._found(id)
        return found is not None and found.shows

    def _found(self, id: str) -> Found | None:
        if id not in self._read:
            row = self._reads.version(id)
            is_block = row is not None and id != SETTINGS
            self._read[id] = _found(record_of(row)) if row is not None and is_block else None
        return self._read[id]


def _found(record: Record) -> Found:
    block = block_of(record)
    return Found(block, record.tags, block["status"] != "archived")


# Sessions, frames and settings.


def _sessions(memory: Memory) -> list[Row]:
    """Every session that was opened, in that order; of several users' with one name the first."""
    page = memory.sessions.list(limit=LIST_MAX_SESSIONS)
    found = list(page)
    while len(page) == LIST_MAX_SESSIONS:
        page = memory.sessions.list(limit=LIST_MAX_SESSIONS, before=page[-1].seq)
        found += page
    opened = [session for session in reversed(found) if session.status != "named"]
    by_id: dict[str, Session] = {}
    for session in opened:
        by_id.setdefault(session.id, session)
    return [_session(session) for session in by_id.values()]


def _session(session: Session) -> Row:
    return {
        "id": session.id,
        "task_type": session.task_type or GENERAL,
        "started_at": session.started_at,
        "ended_at": session.ended_at,
        "start_active_hours": session.start_active_hours,
    }


def _frames(memory: Memory) -> list[Row]:
    return [cast(Row, row) for row in frames.rows(memory)]


def _config(memory: Memory) -> list[Row]:
    settings: dict[str, str] = texts(stored(memory)[0])
    return [{"key": key, "value": value} for key, value in sorted(settings.items())]
