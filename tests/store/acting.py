"""Random acts, done one by one and in batches: both ways must lead to the same events.

Names are few, so that acts meet: the same text, key or id, also within one batch; ids that chance
gives again; evidence that comes later, or never.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import msgspec
from msgspec import UNSET

from recollect.errors import RecollectError
from recollect.index.reads import Reads
from recollect.ledger.scan import scan
from recollect.lifecycle import commands as c
from recollect.memory.handle.answers import Unmade, made, subjects, unmade
from recollect.model.validate import Json
from recollect.model.values import Episode, Quote, Record
from recollect.store.port import Outcome, Space

STAMP = "20260101-0000"
SAID_AT = "2026-01-01T00:00:00.000000Z"
LATER = ("2026-01-01T00:00:01.000000Z", "2030-01-01T00:00:00.000000Z")
WORDS = "tea milk sugar honey lemon".split()
KEYS = ("drink", "food", "a")
CHOSEN = ("a", "b", "e-a", "food")
DATA: dict[str, Json] = {"n": 1}
ACTORS = (
    c.Actor(trust="person"),
    c.Actor(trust="person"),
    c.Actor(trust="person", user="ann"),
    c.Actor(trust="agent", agent="bot"),
    c.Actor(trust="agent", user="ann"),
    c.Actor(trust="unverified"),
)
EVERY = (
    *(["remember"] * 12),
    *(["observe"] * 4),
    *(["revise"] * 3),
    *("forget", "forget", "restore", "reinforce", "tag", "link", "unlink", "erase"),
)


class Chance:
    """Makes random acts; each batch has names of its own, and knows those of the one before."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.batch = 0

    def acts(self, count: int) -> list[c.Act]:
        self.batch += 1
        batches = (self.batch - 1, self.batch)
        self.words = (*WORDS, f"word{self.batch}", f"word{self.batch}")
        self.keys = (*KEYS, *(f"key{number}" for number in batches))
        self.chosen = (*CHOSEN, *(f"id{number}" for number in batches))
        self.chances = [f"{number:04d}{die:02d}{0:026d}" for number in batches for die in range(3)]
        offered = [f"{STAMP}-{chance[:6]}" for chance in self.chances]
        said = [f"e-{id}" for id in offered]
        self.names = (*self.chosen, *offered, *offered, *said, "nowhere")
        return [getattr(self, f"_{self.rng.choice(EVERY)}")() for _ in range(count)]

    def _text(self) -> str:
        return " ".join(self.rng.choices(self.words, k=2))

    def _name(self) -> str:
        return self.rng.choice(self.names)

    def _evidence(self) -> dict[str, Any]:
        names = dict.fromkeys(self.rng.choices(self.names, k=self.rng.choice((0, 0, 1, 2))))
        is_quoted = names and self.rng.random() < 0.2
        words = self.rng.choice(self.words)
        quotes = tuple(Quote(name, words) for name in names) if is_quoted else UNSET
        return {"evidence": tuple(names), "quotes": quotes}

    def _remember(self) -> c.Act:
        pick = self.rng.choice
        return c.Remember(
            text=self._text(),
            id=pick((None, None, None, pick(self.chosen))),
            stamp=STAMP,
            chance=pick(self.chances),
            key=pick((None, None, pick(self.keys))),
            kind=pick((UNSET, "preference")),
            about=pick((UNSET, "ann")),
            tags=pick(((), ("warm",))),
            confidence=pick((UNSET, 0.5)),
            source_type=pick((UNSET, "inferred")),
            is_hypothesis=pick((UNSET, True)),
            **self._evidence(),
            said_at=pick((UNSET, SAID_AT)),
            valid_from=pick((UNSET, SAID_AT)),
            valid_to=pick((UNSET, *LATER)),
            expires=pick((UNSET, *LATER)),
            decay_tier=pick((UNSET, "permanent")),
            data=pick((UNSET, DATA)),
            status=pick((UNSET, UNSET, "inbox")),
            fresh=pick((UNSET, UNSET, True)),
        )

    def _observe(self) -> c.Act:
        pick = self.rng.choice
        return c.Observe(
            text=self._text(),
            role=pick(("user", "assistant", "tool")),
            id=pick((None, None, pick(self.chosen))),
            stamp=STAMP,
            chance=pick(self.chances),
            said_at=SAID_AT,
            session=pick((None, "s")),
        )

    def _revise(self) -> c.Act:
        expires = self.rng.choice((UNSET, None, *LATER))
        return c.Revise(id=self._name(), text=self._text(), expires=expires, **self._evidence())

    def _forget(self) -> c.Act:
        return c.Forget(id=self._name(), sources=self.rng.choice(("shadow", "keep")))

    def _restore(self) -> c.Act:
        return c.Restore(id=self._name())

    def _reinforce(self) -> c.Act:
        return c.Reinforce(id=self._name())

    def _tag(self) -> c.Act:
        return c.Tag(id=self._name(), add=("cold",), remove=("warm",))

    def _link(self) -> c.Act:
        return c.Link(source=self._name(), target=self._name(), kind="relates_to")

    def _unlink(self) -> c.Act:
        return c.Unlink(source=self._name(), target=self._name(), kind="relates_to")

    def _erase(self) -> c.Act:
        return c.Erase(id=self._name())


@dataclass
class Pair:
    """Two spaces that are told the same, one act by act, the other in batches."""

    single: Space
    together: Space
    words: bool = True  # compare messages too; of several records with a key, engines name any
    told: Counter[str] = field(default_factory=Counter)
    _numbers: count[int] = field(default_factory=count)

    def tell(self, actor: c.Actor, acts: Sequence[c.Act]) -> None:
        """Tells both; a batch with an act that is refused fails like that act, and does nothing."""
        good: list[c.Act] = []
        ids: list[str] = []
        for act in acts:
            refusal, found = self._outcome(self.single, actor, act)
            if refusal is None:
                good.append(act)
                ids += found
                continue
            self.told["refused"] += 1
            before = self.together.head()
            batched = self._outcome(self.together, actor, *good, act)
            assert batched == (refusal, []), (batched, refusal, *good, act)
            assert self.together.head() == before
        if good:
            self.told["acts"] += len(good)
            batched = self._outcome(self.together, actor, *good)
            assert batched == (None, ids), (batched, ids, *good)

    def _outcome(
        self, space: Space, actor: c.Actor, *acts: c.Act
    ) -> tuple[tuple[type, str] | None, list[str]]:
        """The error of these acts, if they are refused, and their subjects."""
        command = c.Command(id=f"c{next(self._numbers)}", actor=actor, acts=tuple(acts))
        try:
            outcome, later, now = space.submit(command, _answers)
        except RecollectError as error:
            return (type(error), str(error) if self.words else ""), []
        assert made(later) == now
        self.told["made later"] += sum(not isinstance(one, Record | Episode) for one in later)
        return None, list(outcome.subjects)

    def check(self) -> None:
        """Both ledgers have the same events, and both indexes are what a fold of them gives."""
        self.single.purge()
        self.together.purge()
        assert events_of(self.together) == events_of(self.single)
        assert self.together.index_problem() is None
        assert self.single.index_problem() is None


def _answers(
    reads: Reads, outcome: Outcome
) -> tuple[Outcome, list[Unmade], list[Record | Episode]]:
    """What a batch hands back, before and after values are made of it; not of what is erased."""
    kept = [id for id in outcome.subjects if reads.version(id) or reads.episode(id)]
    some = msgspec.structs.replace(outcome, subjects=tuple(kept))
    return outcome, unmade(reads, some), subjects(reads, some)


def events_of(space: Space) -> list[tuple[str, str, bytes | None]]:
    """The kind, the origin and the body of every event."""
    appends = scan(space.pieces())
    return [(line.kind, line.origin, line.data) for append in appends for line in append.lines]


def tell_random_acts(pair: Pair, rng: random.Random, rounds: int) -> None:
    chance = Chance(rng)
    for _ in range(rounds):
        actor = rng.choice(ACTORS)
        pair.tell(actor, chance.acts(rng.choice((2, 12, 20))))
    pair.check()
