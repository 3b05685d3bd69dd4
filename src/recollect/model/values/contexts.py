"""Values of a context, of its receipt and of its replay.

Responsible for their shape. Leaves packing to ``recall.pack`` and replaying to ``memory``.
Invariant: a receipt does not contain the text of a memory.
"""

from __future__ import annotations

from recollect.model.reasons import Omission
from recollect.model.values.recall import Hit
from recollect.model.values.records import Scope, Source, Unit, Value


class Omitted(Value, frozen=True, kw_only=True):
    """Something that was found but not packed, and why: a code, and a sentence for people.

    ``budget``: too many tokens. ``repeat``: something packed says the same. ``source``: it is
    quoted under a packed record. ``contradiction``: it contradicts something packed, which says
    so. ``floor``: not relevant enough for the preset. ``by`` are the ids of what is packed instead.
    """

    id: str
    reason: Omission
    detail: str
    by: tuple[str, ...] = ()


class Context(Value, frozen=True, kw_only=True):
    """Memory packed for a prompt; ``str(context)`` is the text to paste.

    ``abstained`` is True if nothing was relevant enough for the preset. ``receipt`` is the id with
    which ``replay`` returns the same text again; None if no receipt was written.
    """

    query: str
    text: str
    hits: tuple[Hit, ...]
    omitted: tuple[Omitted, ...]
    tokens: int
    budget: int
    seq: int
    preset: str = "task"
    receipt: str | None = None
    abstained: bool = False
    degraded: str | None = None
    notes: tuple[str, ...] = ()  # characters that are shown differently from how they are stored

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of what was packed, in order."""
        return tuple(hit.id for hit in self.hits)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The episodes that the packed records rest on, if the query found them."""
        return tuple(source for hit in self.hits for source in hit.sources)

    def __str__(self) -> str:
        return self.text


class ReceiptItem(Value, frozen=True, kw_only=True):
    """One line of a context; its id is None if it has been erased since."""

    seq: int  # the event that the line was made from
    id: str | None
    unit: Unit | None
    shares: dict[str, float]
    against: tuple[int, ...]
    guaranteed: bool


class Receipt(Value, frozen=True, kw_only=True):
    """What a context contained, without its text: ``replay`` reads that from the ledger."""

    id: str
    seq: int
    at: str
    scope: Scope
    query: str  # SHA-256 of the id, a zero byte and the question
    preset: str
    preset_digest: str
    ranking: int
    embedder: str | None
    now: str
    position: int
    budget: int
    tokens: int
    counter: str
    items: tuple[ReceiptItem, ...]


class Replay(Value, frozen=True, kw_only=True):
    """A context as it was handed out; ``str(replay)`` is its text.

    ``erased`` are the events of lines that are shown as erased. ``same_order`` says whether ranking
    again at that position gives the same items with the same shares; None if that was not asked
    for, or if another ranking or embedder made the receipt.
    """

    receipt: Receipt
    text: str
    erased: tuple[int, ...] = ()
    same_order: bool | None = None
    notes: tuple[str, ...] = ()  # characters that are shown differently from how they are stored

    def __str__(self) -> str:
        return self.text
