"""Contexts: packed, replayed, and said to have been of use.

Responsible for the calls around a context and for keeping one as long as its frame allows. Leaves
looking to ``finding.context`` and receipts to ``memory.receipts``. Invariant: what is kept is given
again only while nothing that it packs has ended, and nothing was erased since by anybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import msgspec

from recollect.errors import InvalidInput
from recollect.finding.context import assemble
from recollect.index import caches
from recollect.index.reads import Reads
from recollect.index.rows import VersionRow, unpack_items
from recollect.lifecycle.commands import Reinforce
from recollect.memory import answers, receipts
from recollect.memory.frames import Frames, frame_named
from recollect.memory.handle import Handle
from recollect.memory.healing import heals
from recollect.memory.receipts import Receipts
from recollect.model import limits, validate
from recollect.model.frames import Frame
from recollect.model.instants import to_microseconds
from recollect.model.values import Context, Record, Replay
from recollect.recall.frames import RANKING_VERSION
from recollect.recall.pack import Counter, count_tokens, counter_name

Asked = tuple[str, str, int, bool, Counter]  # question, frame's digest, budget, receipt, counter


class Kept(msgspec.Struct, frozen=True):
    """A context that may be given again."""

    context: Context
    writes: int  # of this handle, when it was made
    made_at: str
    ends_at: str | None  # when the first of what it packs stops being so


@heals
class Contexts(Handle):
    """The calls of a memory that are about contexts."""

    _kept: Mapping[Asked, Kept] = MappingProxyType({})  # replaced, never changed: threads share it

    @property
    def frames(self) -> Frames:
        """The ways of looking: built in, and set by somebody."""
        return Frames(self)

    @property
    def receipts(self) -> Receipts:
        """What contexts handed out."""
        return Receipts(self)

    def context(
        self,
        query: str,
        *,
        tokens: int | None = None,
        frame: str = "task",
        receipt: bool = True,
        counter: Counter = count_tokens,
    ) -> Context:
        """Memory about a question, packed for a prompt under a token budget.

        The frame decides what counts, what is always in and what is not relevant enough; without
        ``tokens`` its budget holds. A receipt of what was handed out rides on the next append.
        """
        writes = self._writes
        question = self._ask(query)
        with self._space.reading(self._at) as reads:
            chosen = frame_named(reads, frame)
            budget = chosen.tokens if tokens is None else tokens
            budget = validate.count(budget, "tokens", at_most=limits.CONTEXT_MAX_TOKENS)
            wish = self._wish(chosen.unit, (), None, None, chosen.where)
            asked = (query, chosen.digest, budget, receipt, counter)
            position = self._position(reads)
            kept = self._again(asked, chosen, position, wish.now)
            if kept is not None and not reads.was_erased_since(kept.seq):
                return kept
            looked = assemble(reads, question, chosen, wish, budget, counter)
        left = None
        if receipt:
            left = receipts.leave(
                self,
                question,
                chosen,
                looked,
                now=wish.now,
                position=position,
                budget=budget,
                counter=counter,
            )
        context = Context(
            query=query,
            text=looked.packed.text,
            hits=looked.packed.hits,
            omitted=looked.packed.omitted,
            tokens=looked.packed.tokens,
            budget=budget,
            seq=position,
            frame=chosen.name,
            receipt=left,
            abstained=looked.abstained,
            degraded=looked.degraded,
            notes=looked.packed.notes,
        )
        self._keep(asked, chosen, context, writes, wish.now)
        return context

    def replay(
        self,
        receipt: str | Context,
        *,
        query: str | None = None,
        counter: Counter = count_tokens,
    ) -> Replay:
        """The very text that a context handed out; what was erased since shows as erased.

        With the question that was asked, memory is ranked anew as it stood then, and ``same_order``
        says whether that comes to the same.
        """
        row = receipts.find(self, _receipt_id(receipt))
        if query is not None and receipts.query_digest(row.id, query) != row.query:
            raise InvalidInput(f"that is not the question of {row.id}")
        with self._space.reading(self._at) as reads:
            replay = receipts.replayed(self, reads, row)
        if query is None or row.ranking != RANKING_VERSION:
            return replay
        if counter_name(counter) != row.counter:
            raise InvalidInput(f"{row.id} was counted by {row.counter!r}", hint="pass that counter")
        then = self._seen_at(row.position, row.now)
        question = then._ask(query)
        if question.degraded or question.embedder != row.embedder:
            return replay
        with self._space.reading(row.position) as reads:
            frame = receipts.frame_then(reads, row)
            wish = then._wish(frame.unit, (), None, None, frame.where)
            looked = assemble(reads, question, frame, wish, row.budget, counter)
            same = receipts.items_of(looked) == unpack_items(row.items)
        return msgspec.structs.replace(replay, same_order=same)

    def used(
        self,
        context: Context | str | None,
        ids: Iterable[str] | None = None,
        *,
        command: str | None = None,
    ) -> list[Record]:
        """Say which of the packed records were of use; this, not recall, reinforces them.

        The context itself, or the id of its receipt; without ``ids`` all that it packed.
        """
        packed = self._packed(context)
        wanted = list(packed) if ids is None else list(ids)
        if context is not None:
            stray = sorted(set(wanted).difference(packed))
            if stray:
                raise InvalidInput(f"{stray[0]} was not in that context")
        with self._space.reading() as reads:
            found = {id: self._find(reads, id) for id in dict.fromkeys(wanted)}
        records = [row.id for row in found.values() if isinstance(row, VersionRow)]
        if not records:
            return []
        made = tuple(Reinforce(id=validate.identifier(id)) for id in records)
        return self._write(made, answers.records, command)

    def flush(self) -> None:
        """Writes the receipts that wait for the next append."""
        self._space.flush()

    def _packed(self, context: Context | str | None) -> tuple[str, ...]:
        """The ids of what a context packed."""
        if isinstance(context, str):
            return tuple(item.id for item in self.receipts.get(context).items if item.id)
        return context.ids if context is not None else ()

    def _position(self, reads: Reads) -> int:
        position = reads.position()
        return min(self._at, position.seq if position else 0)

    # What a frame lets be given again.

    def _again(self, asked: Asked, frame: Frame, position: int, now: str) -> Context | None:
        kept = self._kept.get(asked)
        if kept is None or kept.writes != self._writes:
            return None
        if kept.ends_at is not None and kept.ends_at <= now:
            return None
        if isinstance(frame.cache, int):
            age_us = to_microseconds(now) - to_microseconds(kept.made_at)
            return kept.context if 0 <= age_us < frame.cache * 1_000_000 else None
        return kept.context if kept.context.seq == position else None

    def _keep(self, asked: Asked, frame: Frame, context: Context, writes: int, now: str) -> None:
        if frame.cache == "none":
            return
        records = [hit.record for hit in context.hits if hit.record]
        ends = [end for record in records for end in (record.expires, record.valid_to) if end]
        others = [(key, kept) for key, kept in self._kept.items() if key != asked]
        mine = Kept(context, writes, now, min(ends, default=None))
        self._kept = dict([*others, (asked, mine)][-limits.CACHE_MAX_COUNT :])
        caches.register(self._forget_contexts)

    def _forget_contexts(self) -> None:
        """Keeps no context any longer: something was erased."""
        self._kept = {}


def _receipt_id(receipt: str | Context) -> str:
    """The id of a receipt, or of a context's."""
    if isinstance(receipt, str):
        return receipt
    if receipt.receipt is None:
        raise InvalidInput("that context left no receipt")
    return receipt.receipt
