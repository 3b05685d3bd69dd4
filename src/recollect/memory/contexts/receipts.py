"""``memory.proof.receipts``: what contexts handed out, and the same text again.

Responsible for making a receipt, for reading receipts and for rendering one again. Leaves when it
is written to ``store``. Invariant: a receipt holds no text and no id of a memory, only the numbers
of events, so that erasing what they made leaves nothing of it here.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from msgspec import structs

from recollect.errors import IntegrityError, NotFound
from recollect.finding import search
from recollect.finding.candidates import Question
from recollect.finding.context import Assembled
from recollect.index.erasures import erased_by
from recollect.index.preset_rows import preset_of, unpack_items
from recollect.index.reads import Reads
from recollect.index.rows import EpisodeRow, ReceiptRow, VersionRow, unpack_names
from recollect.index.statements import NOW
from recollect.index.values import record_of
from recollect.lifecycle.commands import Command, Erase, Expect, Hand
from recollect.memory.handle import answers
from recollect.memory.handle.acts import stamp
from recollect.memory.handle.handle import Calls, Handle
from recollect.memory.handle.healed import heals
from recollect.model import limits, validate
from recollect.model.events import ContextHanded, Handed
from recollect.model.presets import SIGNALS, Preset, Template, ever_built_in
from recollect.model.values import Hit, Receipt, ReceiptItem, Record, Replay, Scope
from recollect.recall.pack import (
    BARE,
    ERASED,
    Counter,
    counter_name,
    erased_line,
    line_of,
    notes_on,
    text_of,
    was_bare,
)
from recollect.recall.presets import RANKING_VERSION, hit_of
from recollect.recall.rank import TextRow

_CHANCE_BYTES: Final = 8
_Line = tuple[Hit, list[str], list[Record | None]]  # with what contradicts and replaced it
_SAID_RANKING: Final = 10  # from here on an earlier value ended when the next one was said
_DOUBT_RANKING: Final = 11  # from here on lines say what is a hypothesis or hardly believed


@heals
class Receipts(Calls):
    """List, get and erase. Reading them writes those that still wait to be written."""

    def list(self, *, limit: int = 100, after: str | int | None = None) -> list[Receipt]:
        """Receipts, newest first.

        Args:
            limit: At most this many, up to 10,000.
            after: The id of the last receipt of the page before, or its ``seq``, which leads on
                even if it was erased since.
        """
        limit = validate.count(limit, "limit", at_most=limits.LIST_MAX_RECORDS)
        handle = self._handle
        before = _page_after(handle, after)
        _write_waiting(handle)
        found: list[Receipt] = []
        with handle.reading() as reads:
            while len(found) < limit:
                page = reads.receipts(before, limit)
                mine = [row for row in page if handle.may_see(row)]
                found += [receipt_of(reads, row) for row in mine]
                if len(page) < limit:
                    break
                before = page[-1].seq
        return found[:limit]

    def get(self, id: str) -> Receipt:
        """One receipt.

        Raises:
            NotFound: This handle sees no receipt with that id.
        """
        row = find(self._handle, id)
        with self._handle.space.reading() as reads:
            return receipt_of(reads, row)

    def erase(
        self,
        id: str,
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> None:
        """Remove every byte of a receipt, for good; the memory that it names stays.

        Args:
            id: The receipt.
            reason: Why; it stays in the ledger.
            idempotency_key: The same key with the same call again does nothing more.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            NotFound: This handle sees no receipt with that id.
            Forbidden: The handle has less than a person's trust.
        """
        _write_waiting(self._handle)
        act = Erase(id=validate.identifier(id), what="receipt", reason=validate.reason(reason))
        self._handle.write((act,), answers.nothing, idempotency_key, expect)
        self._handle.space.purge()


def _page_after(handle: Handle, after: str | int | None) -> int:
    """The position before which a page begins."""
    if after is None:
        return search.first_page(handle.position)
    if isinstance(after, int):
        return validate.position(after, "after")
    return find(handle, after).seq


def leave(
    handle: Handle,
    question: Question,
    preset: Preset,
    looked: Assembled,
    *,
    now: str,
    position: int,
    budget: int,
    counter: Counter,
) -> str | None:
    """A receipt that rides on the next append; None if this handle leaves none."""
    if handle.position != NOW or not looked.packed.hits:
        return None
    id = f"c-{stamp(now)}-{handle.seam.random(_CHANCE_BYTES).hex()}"
    body = ContextHanded(
        id=id,
        query=query_digest(id, question.query),
        frame=preset.name,
        frame_digest=preset.digest,
        ranking=RANKING_VERSION,
        embedder=embedder_of(question),
        now=now,
        position=position,
        budget=budget,
        tokens=looked.packed.tokens,
        counter=counter_name(counter),
        signals=SIGNALS,
        items=items_of(looked),
    )
    command = Command(
        id=handle.seam.random(16).hex(), actor=handle.actor, acts=(Hand(receipt=body),)
    )
    return id if handle.space.later(command) else None


def embedder_of(question: Question) -> str | None:
    """The encoders that a receipt records; one that says degraded is not ranked again."""
    if question.degraded is None:
        return question.embedder
    return f"{question.embedder or 'none'}, degraded"


def items_of(looked: Assembled) -> tuple[Handed, ...]:
    """What a receipt says of each line."""
    return tuple(
        Handed(
            seq=_event_of(hit),
            shares=tuple(hit.shares[name] for name in SIGNALS),
            against=tuple(row.seq for row in _against(looked, hit)),
            guaranteed=hit.until is None and hit.id in looked.guaranteed,
            changed=tuple(record.seq for record in hit.changed),
        )
        for hit in looked.packed.hits
    )


def _against(looked: Assembled, hit: Hit) -> tuple[TextRow, ...]:
    """What contradicts a hit; an earlier value may have the id of the current one."""
    return () if hit.until is not None else looked.against.get(hit.id, ())


def query_digest(id: str, query: str) -> str:
    """Two receipts of one question look different; a reader who knows the question can check it."""
    return sha256(id.encode() + b"\0" + query.encode()).hexdigest()


def find(handle: Handle, id: str) -> ReceiptRow:
    """A receipt that this handle may see; one that still waits is written first."""
    for attempt in (1, 2):
        with handle.reading() as reads:
            row = reads.receipt(id)
        if row is not None and handle.may_see(row):
            return row
        if attempt == 1:
            _write_waiting(handle)
    raise NotFound(f"there is no receipt {id!r}", hint="`proof receipts` lists all of them")


def receipt_of(reads: Reads, row: ReceiptRow) -> Receipt:
    """The receipt a row describes, with ids as far as they are still there."""
    signals = unpack_names(row.signals)
    return Receipt(
        id=row.id,
        seq=row.seq,
        at=row.at,
        scope=Scope(user=row.user, session=row.session, agent=row.agent),
        query=row.query,
        preset=row.preset,
        preset_digest=row.preset_digest,
        ranking=row.ranking,
        embedder=row.embedder,
        now=row.now,
        position=row.position,
        budget=row.budget,
        tokens=row.tokens,
        counter=row.counter,
        items=tuple(_item(reads, item, signals) for item in unpack_items(row.items)),
    )


def replayed(handle: Handle, reads: Reads, row: ReceiptRow) -> Replay:
    """The text that was handed out, from the versions that it named."""
    template = preset_then(reads, row).template
    lines: list[_Line | None] = []
    hits: list[Hit] = []
    erased: list[int] = []
    for item in unpack_items(row.items):
        said = _said(handle, reads, item.seq)
        if said is None:
            erased.append(item.seq)
            lines.append(None)
            continue
        others = [_said(handle, reads, seq) for seq in item.against]
        erased += [seq for seq, other in zip(item.against, others, strict=True) if other is None]
        against = [ERASED if other is None else other.id for other in others]
        hit = _as_it_was(Reads(reads.db, at=row.position), said, row.ranking)
        now = [_said(handle, reads, seq) for seq in item.changed]
        erased += [seq for seq, other in zip(item.changed, now, strict=True) if other is None]
        changed = [record_of(other) if isinstance(other, VersionRow) else None for other in now]
        hits.append(structs.replace(hit, changed=tuple(each for each in changed if each)))
        lines.append((hits[-1], against, changed))
    with_doubt = row.ranking >= _DOUBT_RANKING
    text = _text(lines, template, with_doubt)
    is_bare = was_bare(text, row.counter, row.budget)
    return Replay(
        receipt=receipt_of(reads, row),
        text=_text(lines, BARE, with_doubt) if is_bare else text,
        erased=tuple(dict.fromkeys(erased)),
        notes=notes_on(hits),
    )


def _text(lines: Sequence[_Line | None], template: Template, with_doubt: bool) -> str:
    """The text of these lines; None stands for one that was erased."""
    made = [
        erased_line() if one is None else line_of(one[0], template, *one[1:], with_doubt=with_doubt)
        for one in lines
    ]
    return text_of(made, template)


def _as_it_was(then: Reads, row: TextRow, ranking: int) -> Hit:
    """What an event made, as it was at the position of a context: perhaps an earlier value."""
    hit = hit_of(row)
    if isinstance(row, EpisodeRow) or not (row.until <= then.at or row.reason == "superseded"):
        return hit
    from recollect.finding.earlier import ended_at, head_of, written_at

    head, versions = head_of(then, row), then.versions(row.id)
    is_older = ranking < _SAID_RANKING  # its lines said when the next value was written
    until = written_at(row, versions) if is_older else ended_at(then, row, versions)
    return structs.replace(hit, until=until, current=None if head is None else record_of(head))


def preset_then(reads: Reads, row: ReceiptRow) -> Preset:
    """The preset as it was when a context was handed out."""
    built_in = ever_built_in(row.preset_digest)
    if built_in is not None:
        return built_in
    found = Reads(reads.db, at=row.position).preset(row.preset)
    if found is None or preset_of(found).digest != row.preset_digest:
        raise NotFound(f"the preset {row.preset!r} of {row.id} was erased since")
    return preset_of(found)


def _said(handle: Handle, reads: Reads, seq: int) -> VersionRow | EpisodeRow | None:
    """What an event made, or nothing if it was erased.

    A ledger can come from elsewhere, so a receipt is not believed: what no context of this handle
    could have handed out, no replay does.
    """
    row = reads.by_event(seq)
    if row is None and erased_by(reads, seq) is not None:
        return None
    if row is None or row.trust == "unverified" or not handle.may_see(row):
        raise IntegrityError(f"a receipt names event {seq}, which it cannot have handed out")
    return row


def _item(reads: Reads, item: Handed, signals: tuple[str, ...]) -> ReceiptItem:
    row = reads.by_event(item.seq)
    unit = None if row is None else hit_of(row).unit
    return ReceiptItem(
        seq=item.seq,
        id=None if row is None else row.id,
        unit=unit,
        shares=dict(zip(signals, item.shares, strict=False)),
        against=item.against,
        guaranteed=item.guaranteed,
    )


def _event_of(hit: Hit) -> int:
    """The event that made what a hit says."""
    if hit.record is not None:
        return hit.record.seq
    return hit.episode.seq if hit.episode else 0


def _write_waiting(handle: Handle) -> None:
    if handle.position == NOW:
        handle.space.flush()
