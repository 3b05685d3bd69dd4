"""Values of a recall: hits, and the sequence of them.

Responsible for their shape. Leaves how hits are found and scored to ``finding`` and ``recall``.
Invariant: a recall is a sequence of its hits, best first.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias, overload

from recollect.model.events import Trust
from recollect.model.values.records import Episode, Record, Source, Unit, Value

Slice: TypeAlias = "slice[int | None, int | None, int | None]"


Strength = Literal["strong", "likely", "weak"]


class Hit(Value, frozen=True, kw_only=True):
    """One answer: a record or an episode.

    ``relevance``, in [0, 1], is the probability that this is what was asked for: of hits with 0.8,
    four in five are. ``strength`` is the word for it: ``strong`` from 0.8, ``likely`` from 0.5,
    else ``weak``. ``score`` decides the order and is the sum of ``shares``, which say what each
    signal adds to it; a signal that adds nothing is left out. Relevance rises with the score and
    with its distance from the scores of other candidates.

    In a context, a preset decides the order: there ``score`` and ``shares`` are those of the
    preset, in which ``similarity`` is its weight times the relevance, and ``match`` has the shares
    from the recall.

    Of an episode that was said several times in the same words, the best match is a hit, ``said``
    is how often and ``last_said`` when last. ``corrects`` are the ids of older statements that this
    one contradicts, and ``corrected_by`` is the newest that contradicts this one; both are guesses
    from the words.

    A question about an earlier value ("what was the old port?") also finds records as they were
    before. Of such a hit ``until`` is the instant at which it was replaced, and ``current`` is the
    record that holds now; ``id`` and ``record`` are of the earlier one.

    A text may still state a value that was replaced after it was said. ``changed`` are the records
    that hold in place of what it states; so of a source. A guess from the words.
    """

    id: str
    unit: Unit
    text: str
    relevance: float
    strength: Strength = "weak"
    trust: Trust
    at: str
    record: Record | None = None
    episode: Episode | None = None
    sources: tuple[Source, ...] = ()
    score: float = 0.0
    shares: dict[str, float] = {}
    match: dict[str, float] = {}
    said: int = 1
    last_said: str | None = None
    corrects: tuple[str, ...] = ()
    corrected_by: str | None = None
    until: str | None = None
    current: Record | None = None
    changed: tuple[Record, ...] = ()

    def __str__(self) -> str:
        return self.text


class Recall(Value, frozen=True, kw_only=True):
    """The answers to one query, best first: a sequence of hits. Unverified ones stand apart.

    ``abstained``: something was found, and none of it was relevant enough. ``waiting``: how many
    more texts wait for a review. ``degraded``: a sentence about what this recall had to do without.
    """

    query: str
    hits: tuple[Hit, ...]
    unverified: tuple[Hit, ...] = ()
    waiting: int = 0
    abstained: bool = False
    degraded: str | None = None

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: Slice) -> Sequence[Hit]: ...
    def __getitem__(self, index: int | Slice) -> Hit | Sequence[Hit]:
        try:
            return self.hits[index]
        except IndexError:
            count = len(self.hits) or "no"
            hits = "hit" if count == 1 else "hits"
            raise IndexError(f"recall found {count} {hits} for {self.query!r}") from None

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __reversed__(self) -> Iterator[Hit]:
        return reversed(self.hits)

    def __contains__(self, hit: object) -> bool:
        return hit in self.hits

    def index(self, hit: Hit, start: int = 0, stop: int = sys.maxsize) -> int:
        """The position of a hit, as in a list."""
        return self.hits.index(hit, start, stop)

    def count(self, hit: Hit) -> int:
        """How often a hit is in the sequence."""
        return self.hits.count(hit)


# Structs and abstract classes cannot be mixed, so the sequence is declared, not inherited.
Sequence.register(Recall)
