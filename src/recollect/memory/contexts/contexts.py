"""Contexts: packed for a prompt, replayed, and reported as useful.

Responsible for the public calls around a context. Leaves looking to ``finding.context``, receipts
to ``memory.contexts.receipts`` and keeping contexts to ``memory.handle.kept``. Invariant: a kept
context is not returned after anything was erased.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from recollect.errors import InvalidInput
from recollect.finding.context import Assembled, assemble
from recollect.index.erasures import was_erased_since
from recollect.index.preset_rows import unpack_items
from recollect.index.reads import Reads
from recollect.index.rows import VersionRow
from recollect.lifecycle.commands import Expect, Reinforce
from recollect.memory.contexts import receipts
from recollect.memory.contexts.presets import preset_named
from recollect.memory.handle import answers
from recollect.memory.handle.handle import Calls, Handle
from recollect.memory.handle.healed import compares, heals
from recollect.memory.handle.kept import ContextKey
from recollect.model import limits, validate
from recollect.model.presets import Preset
from recollect.model.values import Context, Record, Replay
from recollect.recall.pack import Counter, count_tokens, counter_name
from recollect.recall.presets import RANKING_VERSION


@compares
@heals
class Contexts(Calls):
    """Context, replay, used."""

    def context(
        self,
        query: str,
        *,
        tokens: int | None = None,
        preset: str = "task",
        receipt: bool = True,
        counter: Counter | None = None,
    ) -> Context:
        """What the memory holds about a question, packed for a prompt under a token budget.

        Args:
            query: The question, in plain words.
            tokens: The budget; the preset's by default.
            preset: Decides what counts, what is always included and what is not relevant enough.
            receipt: Leave a receipt of what was handed out; it is written with the next append.
            counter: Counts the tokens of a text; by default an estimate.

        Returns:
            The packed text, its hits, what was left out and why, and the receipt's id.

        Raises:
            NotFound: The preset does not exist.
            LimitExceeded: The preset guarantees too many records.
        """
        handle, counter = self._handle, counter or count_tokens
        writes = handle.writes
        question = handle.ask(query)
        with handle.reading() as reads:
            chosen = preset_named(reads, preset)
            budget = chosen.tokens if tokens is None else tokens
            budget = validate.count(budget, "tokens", at_most=limits.CONTEXT_MAX_TOKENS)
            wish = handle.wish(chosen.unit, filter=chosen.where)
            key = ContextKey(query, chosen.digest, budget, receipt, counter)
            position = _position(handle, reads)
            kept = handle.kept.get(
                key, chosen.cache, writes=handle.writes, position=position, now=wish.now
            )
            if kept is not None and not was_erased_since(reads, kept.seq):
                return kept
            looked = assemble(reads, question, chosen, wish, budget, counter)
        left = None
        if receipt:
            left = receipts.leave(
                handle,
                question,
                chosen,
                looked,
                now=wish.now,
                position=position,
                budget=budget,
                counter=counter,
            )
        context = _context(query, looked, budget, position, chosen.name, left)
        handle.kept.put(key, chosen.cache, context, writes, wish.now)
        return context

    def replay(
        self,
        receipt: str | Context,
        *,
        query: str | None = None,
        counter: Counter | None = None,
    ) -> Replay:
        """The text that a context handed out, again; text erased since shows as erased.

        Args:
            receipt: The id of a receipt, or the context itself.
            query: The question that was asked. With it the memory is ranked again as it was then,
                and ``same_order`` says whether the order is the same.
            counter: The counter that the context used.

        Raises:
            NotFound: This handle sees no receipt with that id.
            InvalidInput: The query or the counter is not the one that was used.
        """
        handle = self._handle
        row = receipts.find(handle, _receipt_id(receipt))
        if query is not None and receipts.query_digest(row.id, query) != row.query:
            raise InvalidInput(f"that is not the question of {row.id}")
        with handle.reading() as reads:
            replay = receipts.replayed(handle, reads, row)
        if query is None or row.ranking != RANKING_VERSION:
            return replay
        counter = counter or count_tokens
        if counter_name(counter) != row.counter:
            raise InvalidInput(f"{row.id} was counted by {row.counter!r}", hint="pass that counter")
        then = handle.moved(row.position, row.now)
        question = then.ask(query)
        if question.degraded or question.embedder != row.embedder:
            return replay
        with then.reading() as reads:
            preset = receipts.preset_then(reads, row)
            wish = then.wish(preset.unit, filter=preset.where)
            looked = assemble(reads, question, preset, wish, row.budget, counter)
            same = receipts.items_of(looked) == unpack_items(row.items)
        return msgspec.structs.replace(replay, same_order=same)

    def used(
        self,
        context: Context | str | None,
        ids: Iterable[str] | None = None,
        *,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> list[Record]:
        """Report which of the packed records were useful; this, not recall, reinforces them.

        Args:
            context: The context itself, or the id of its receipt; None for records named by id.
            ids: The records that were useful; all that were packed by default.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Returns:
            The records that were reinforced.

        Raises:
            InvalidInput: An id was not part of that context.
            NotFound: This handle sees nothing with one of the ids.
        """
        packed = self._packed(context)
        wanted = list(packed) if ids is None else list(ids)
        if context is not None:
            stray = sorted(set(wanted).difference(packed))
            if stray:
                raise InvalidInput(f"{stray[0]} was not in that context")
        with self._handle.space.reading() as reads:
            found = {id: self._handle.find(reads, id) for id in dict.fromkeys(wanted)}
        records = [row.id for row in found.values() if isinstance(row, VersionRow)]
        if not records:
            return []
        made = tuple(Reinforce(id=validate.identifier(id)) for id in records)
        return self._handle.write(made, answers.records, idempotency_key, expect)

    def _packed(self, context: Context | str | None) -> tuple[str, ...]:
        """The ids of what a context packed."""
        if isinstance(context, str):
            return tuple(
                item.id for item in receipts.Receipts(self._handle).get(context).items if item.id
            )
        return context.ids if context is not None else ()


def tried(handle: Handle, query: str, preset: Preset) -> Context:
    """What a preset would pack that need not be set; nothing is kept and no receipt is left."""
    question = handle.ask(query)
    with handle.reading() as reads:
        wish = handle.wish(preset.unit, filter=preset.where)
        looked = assemble(reads, question, preset, wish, preset.tokens, count_tokens)
        position = _position(handle, reads)
    return _context(query, looked, preset.tokens, position, preset.name, None)


def _position(handle: Handle, reads: Reads) -> int:
    position = reads.position()
    return min(handle.position, position.seq if position else 0)


def _context(
    query: str, looked: Assembled, budget: int, position: int, preset: str, receipt: str | None
) -> Context:
    """The value of a context that was looked for."""
    return Context(
        query=query,
        text=looked.packed.text,
        hits=looked.packed.hits,
        omitted=looked.packed.omitted,
        tokens=looked.packed.tokens,
        budget=budget,
        seq=position,
        preset=preset,
        receipt=receipt,
        abstained=looked.abstained,
        degraded=looked.degraded,
        notes=looked.packed.notes,
    )


def _receipt_id(receipt: str | Context) -> str:
    """The id of a receipt, or of a context's."""
    if isinstance(receipt, str):
        return receipt
    if receipt.receipt is None:
        raise InvalidInput("that context left no receipt")
    return receipt.receipt
