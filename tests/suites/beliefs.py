"""Random histories of a few keyed values: agents propose, people review, correct, undo and erase.

Every value has a word of its own, so that it can be found again wherever it went. A plain
dictionary says what must hold under each key. Invariant: the same seed does the same on every
engine.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable

from recollect import Memory, Quote
from recollect.errors import Conflict, NotFound
from recollect.model.values import Proposal, Record
from tests.suites.histories import Clockwork

KEYS = ("door", "port", "seat")
_GAPS_US = (1_000, 5_000_000, 600_000_000)
_WORD = re.compile(r"q[a-z]{9}q")


class Beliefs:
    """What a few people and agents do to a few values, and what must hold after it."""

    def __init__(self, memory: Memory, seam: Clockwork, seed: int) -> None:
        self.memory = memory
        self.agent = memory.scoped(trust="agent", agent="bot")
        self.stranger = memory.scoped(trust="unverified")
        self.seam = seam
        self.rng = random.Random(seed)
        self.holds: dict[str, str | None] = dict.fromkeys(KEYS)
        self.ever: dict[str, set[str]] = {key: set() for key in KEYS}
        self.past: list[tuple[int, dict[str, str | None]]] = []
        self.proposals: set[str] = set()
        self.erased: set[str] = set()
        self.done: Counter[str] = Counter()
        self.wrong: list[str] = []

    def play(self, steps: int) -> None:
        """So many acts, each followed by a look at what holds."""
        acts: list[tuple[int, Callable[[str], object]]] = [
            (4, self.state),
            (3, self.correct),
            (4, self.ask),
            (2, self.quote),
            (2, self.overhear),
            (2, self.note),
            (5, self.decide),
            (2, self.go_back),
            (1, self.retract),
            (1, self.forget),
            (1, self.erase),
        ]
        weights = [weight for weight, _ in acts]
        for act in self.rng.choices([act for _, act in acts], weights, k=steps):
            self.seam.tick(self.rng.choice(_GAPS_US))
            self.past.append((self.memory.events.position, dict(self.holds)))
            try:
                act(self.rng.choice(KEYS))
                self.done[act.__name__] += 1
            except (Conflict, NotFound):
                self.done["refused"] += 1
            self.look(act.__name__)
        self.look_back()
        self.search()

    # What people and agents do.

    def state(self, key: str) -> None:
        """A person says what holds."""
        self.set(key, self.memory.remember(self.value(key), key=key))

    def correct(self, key: str) -> None:
        """A person corrects it."""
        self.set(key, self.memory.revise(self.holder(key).id, self.value(key)))

    def ask(self, key: str) -> None:
        """An agent wants something else, and is asked to wait if it is a person's."""
        holder = self.holder(key)
        if self.rng.random() < 0.3:
            self.agent.review.propose(self.value(key), key=key)
        elif self.rng.random() < 0.2:
            if self.agent.forget(holder.id).pending is None:
                self.holds[key] = None
        else:
            made = self.agent.revise(holder.id, self.value(key))
            if made.pending is None:
                self.set(key, made)

    def quote(self, key: str) -> None:
        """A person says it in passing, and an agent quotes that."""
        holder, text = self.holder(key), self.value(key)
        (said,) = self.memory.observe(f"by the way, {text} now")
        made = self.agent.revise(holder.id, text, evidence=[Quote(said.id, text)])
        self.set(key, made)
        if (made.pending, made.text) != (None, text):
            self.wrong.append(f"{key}: a quoted correction did not win")

    def overhear(self, key: str) -> None:
        """A page says something else."""
        self.stranger.remember(self.value(key), key=key)

    def note(self, key: str) -> None:
        """An agent remembers it."""
        made = self.agent.remember(self.value(key), key=key)
        if made.status == "active":
            self.set(key, made)

    def decide(self, key: str) -> None:
        """A person looks at something that waits."""
        waiting = self.memory.review.list()
        if not waiting:
            return
        one, dice = self.rng.choice(waiting), self.rng.random()
        if dice < 0.25:
            self.memory.review.reject(one.id, one.digest, "no")
        elif dice < 0.35 and one.unit == "proposal":
            self.agent.review.withdraw(one.id)
        else:
            self.approve(one)

    def approve(self, one: Proposal) -> None:
        stale = self.is_stale(one)
        holder_of = {record.id: key for key in KEYS for record in self.holders(key)}
        target = holder_of.get(one.target or "")
        try:
            self.memory.review.approve(one.id, one.digest)
            self.done["approvals"] += 1
        except Conflict:
            if not stale:
                self.wrong.append(f"{one.id} could not be approved")
            raise
        if stale:
            self.wrong.append(f"{one.id} was approved though it speaks of what holds no more")
        if one.unit == "record" or one.intent == "add":
            if one.key is not None:
                self.holds[one.key] = one.text
                self.ever[one.key].add(one.text or "")
        elif target is not None:
            self.holds[target] = one.text if one.intent == "update" else None
            self.ever[target].add(one.text or "")

    def go_back(self, key: str) -> None:
        """A person takes the last change back; whatever comes back has held before."""
        last = self.holder(key)
        self.memory.undo(last.id)
        if last.text in [record.text for record in self.holders(key)]:
            self.wrong.append(f"{key}: {last.text!r} was taken back and holds")
        self.accept(key)

    def retract(self, key: str) -> None:
        """A person takes back what holds, and all that rests on it; what held before is back."""
        holder = self.holder(key)
        named = [name for name in holder.evidence if name.startswith("e-")]
        root = named[0] if named and self.rng.random() < 0.5 else holder.id
        words = _WORD.findall(holder.text)
        self.memory.forget(root, derived=True)
        self.accept(key)
        if self.holds[key] is not None and words == _WORD.findall(self.holds[key] or ""):
            self.wrong.append(f"{key}: {holder.text!r} was retracted and still holds")

    def forget(self, key: str) -> None:
        self.memory.forget(self.holder(key).id)
        self.holds[key] = None

    def erase(self, key: str) -> None:
        """A person erases what holds, with everything that it ever said."""
        id = self.holder(key).id
        texts = [version.record.text for version in self.memory.history(id)]
        asked = [self.memory.review.show(one) for one in self.proposals if self.knows(one)]
        # What became of a proposal may be another record, which keeps the words.
        mine = (one for one in asked if id in (one.target, one.record))
        texts += [one.text or "" for one in mine if one.record in (None, id)]
        self.memory.erase(id, sources=True)
        self.erased.update(word for text in texts for word in _WORD.findall(text))
        self.accept(key)

    # What must be so.

    def value(self, key: str) -> str:
        word = "".join(self.rng.choices("abcdefghijklmnoprstuvwxyz", k=9))
        return f"the {key} is q{word}q"

    def set(self, key: str, made: Record) -> None:
        self.holds[key] = made.text
        self.ever[key].add(made.text)

    def accept(self, key: str) -> None:
        """Takes what holds now, if it could."""
        now = next(iter(self.holders(key)), None)
        self.holds[key] = None if now is None else now.text
        if now is not None and now.text not in self.ever[key]:
            self.wrong.append(f"{key}: {now.text!r} has never held")

    def holder(self, key: str) -> Record:
        found = self.holders(key)
        if not found:
            raise NotFound(f"nothing holds {key}")
        return found[0]

    def holders(self, key: str, memory: Memory | None = None) -> list[Record]:
        return (memory or self.memory).list(filter=f"key = '{key}'")

    def is_stale(self, one: Proposal) -> bool:
        """The rule again, from what everyone can see: the target as it was when it was proposed."""
        if one.unit == "record":
            return False
        then = self.memory.at(one.seq)
        if one.intent == "add":
            before, now = self.holders(one.key or "", then), self.holders(one.key or "")
            return [r.id for r in before] != [r.id for r in now] or _said(before) != _said(now)
        before, now = (
            where.list(filter=f"id = '{one.target}'", include=["waiting"])
            for where in (then, self.memory)
        )
        return _said(before) != _said(now)

    def look(self, act: str) -> None:
        """One value for each key: the one that must hold."""
        for key in KEYS:
            texts = [record.text for record in self.holders(key)]
            expected = [] if self.holds[key] is None else [self.holds[key]]
            if texts != expected:
                self.wrong.append(f"after {act}: {key} is {texts}, not {expected}")
        self.proposals.update(one.id for one in self.memory.review.list() if one.unit == "proposal")

    def look_back(self) -> None:
        """What held at each position, except for what was erased since."""
        for position, holds in self.rng.sample(self.past, min(4, len(self.past))):
            then = self.memory.at(position)
            for key, text in holds.items():
                gone = text is not None and not self.erased.isdisjoint(_WORD.findall(text))
                texts = [record.text for record in self.holders(key, then)]
                if not gone and texts != ([] if text is None else [text]):
                    self.wrong.append(f"at {position}: {key} was {text!r}, and shows {texts}")

    def search(self) -> None:
        """Words that were erased, in proposals and in the bytes of the ledger."""
        ledger = b"".join(self.memory._handle.space.pieces()).decode()
        shown = [self.memory.review.show(id) for id in sorted(self.proposals) if self.knows(id)]
        for word in sorted(self.erased):
            if word in str(shown):
                self.wrong.append(f"{word} was erased and is in a proposal")
            if word in ledger:
                self.wrong.append(f"{word} was erased and is in the ledger")

    def knows(self, id: str) -> bool:
        try:
            self.memory.review.show(id)
        except NotFound:
            return False
        return True


def _said(records: list[Record]) -> list[tuple[str, str]]:
    return [(record.text, record.status) for record in records]
