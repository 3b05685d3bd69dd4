"""One receipt: the text that was handed out, again.

Responsible for a replay and for whether ranking gives the same today. Leaves the text to the
memory, which reads it from the ledger. Invariant: what was erased since is shown as erased.
"""

from __future__ import annotations

import msgspec

from recollect.errors import IntegrityError, InvalidInput, NotFound
from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.draw import packed
from recollect.interfaces.web.draw.errors import told
from recollect.interfaces.web.draw.shares import Bar, bars
from recollect.interfaces.web.pages.receipts.receipts import name_of
from recollect.interfaces.web.view import Call, View
from recollect.memory import Memory
from recollect.model.values import Receipt, ReceiptItem, Replay


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One line of it, as far as it is still there."""

    place: int
    item: ReceiptItem
    name: str | None  # its key or its id; None if it was erased
    bar: Bar
    tokens: int
    tone: int


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    receipt: Receipt
    replay: Replay | None
    lines: tuple[packed.Line, ...]
    slices: tuple[packed.Slice, ...]
    items: tuple[Item, ...]
    erased: int
    q: str
    said: str | None  # why it could not be replayed or ranked again


def page(asked: Asked, memory: Memory) -> View:
    """Reads one receipt and its text."""
    then = memory.at(asked.position)  # a handle on the present would write receipts that wait
    receipt = then.proof.receipts.get(asked.names["id"])
    q = asked.text("q")
    replay, said = _replay(then, receipt.id, q)
    lines = packed.lines(replay.text, len(receipt.items)) if replay else ()
    slices = packed.slices(lines, receipt.budget)
    main = Main(
        receipt=receipt, replay=replay, lines=lines, slices=slices,
        items=_items(memory, receipt, slices),
        erased=sum(1 for item in receipt.items if item.id is None), q=q, said=said,
    )  # fmt: skip
    answer = {"receipt": receipt, "replay": replay}
    return View(title=receipt.id, main=main, answer=answer, calls=_calls(asked, receipt, q))


def _replay(memory: Memory, id: str, q: str) -> tuple[Replay | None, str | None]:
    """The text again; with the question also whether the order would be the same."""
    try:
        return memory.replay(id, query=q or None), None
    except InvalidInput as error:
        return memory.replay(id), told(error)
    except (NotFound, IntegrityError) as error:
        return None, told(error)


def _items(memory: Memory, receipt: Receipt, slices: tuple[packed.Slice, ...]) -> tuple[Item, ...]:
    drawn = bars(
        [item.shares for item in receipt.items],
        [sum(item.shares.values()) for item in receipt.items],
    )
    costs = {each.item: each.tokens for each in slices}
    return tuple(
        Item(
            place=place, item=item, name=name_of(memory, item), bar=bar,
            tokens=costs.get(place, 0), tone=(place - 1) % packed.TONES,
        )
        for place, (item, bar) in enumerate(zip(receipt.items, drawn, strict=True), 1)
    )  # fmt: skip


def _calls(asked: Asked, receipt: Receipt, q: str) -> tuple[Call, ...]:
    words = [q] if q else []
    replay = asked.python("replay", receipt.id, query=q)
    return (
        asked.call(asked.python("proof.receipts.get", receipt.id)),
        asked.call(
            replay,
            None
            if asked.is_past
            else asked.cli("context", *words, "--replay", receipt.id, past=False),
        ),
    )
