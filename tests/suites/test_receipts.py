"""Receipts over random histories: each gives its very text again, and ranks anew to the same.

Contexts are asked for between the acts of a history, by handles and in presets of every kind;
whatever happens later (corrections, forgetting, erasure, other presets) their receipts replay.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from recollect import Context, Memory
from recollect.errors import LimitExceeded, NotFound
from recollect.memory.contexts.receipts import replayed
from recollect.memory.handle.handle import Handle
from recollect.model.presets import BUILT_IN, Preset, Template
from recollect.model.values import Replay
from recollect.recall.pack import count_tokens
from recollect.store.files.backend import FileBackend
from recollect.store.indexed.backend import MemorySpace
from recollect.testing.rebuilding import rebuilt_digest
from tests.recall.making import random_weights
from tests.suites.histories import TAGS, WORDS, Clockwork, History

Tell = Callable[[str], None]
TEMPLATES = (Template(), Template(intro="Known:", record="* {text} [{id}]"))


class Asking(History):
    """A history whose memory is asked for contexts, in presets that come and go."""

    def __init__(self, memory: Memory, seam: Clockwork, rng: random.Random) -> None:
        super().__init__(memory, seam, rng)
        self.handed: list[tuple[Memory, Context]] = []
        self.names = list(BUILT_IN)
        self.erased = False
        self.guaranteed = 0
        self._acts += [(16, self.ask), (8, self.set_preset), (1, self.drop_preset)]

    def ask(self, handle: Memory) -> None:
        query = " ".join(self.rng.choices(WORDS, k=self.rng.randint(1, 4)))
        tokens = self.rng.choice([None, 40, 90, 200])
        try:
            context = handle.context(query, tokens=tokens, preset=self.rng.choice(self.names))
        except (LimitExceeded, NotFound):
            return
        self.check(handle, context)
        if context.receipt is not None:
            self.handed.append((handle, context))

    def check(self, handle: Memory, context: Context) -> None:
        """The budget holds, and what the preset guarantees is in."""
        assert context.tokens <= context.budget
        assert count_tokens(context.text) == context.tokens
        for tag in handle.settings.presets.get(context.preset).guarantees:
            for record in handle.list(filter=f"tags contains '{tag}'", limit=1_000):
                if record.trust != "unverified":
                    assert record.id in context.ids
                    self.guaranteed += 1

    def set_preset(self, handle: Memory) -> None:
        rng = self.rng
        name = f"preset {rng.randrange(4)}"
        self.memory.settings.presets.set(
            Preset(
                name=name,
                weights=random_weights(rng),
                where=self._maybe("confidence > 0.2"),
                unit=rng.choice(["any", "any", "record"]),
                guarantees=tuple(rng.sample(TAGS, rng.choice([0, 1, 2]))),
                tokens=rng.choice([150, 1_500]),
                template=rng.choice(
                    [Template(), Template(intro="Known:", record="* {text} [{id}]")]
                ),
                floor=rng.choice([0.0, 0.3]),
            )
        )
        if name not in self.names:
            self.names.append(name)

    def drop_preset(self, handle: Memory) -> None:
        self.memory.settings.presets.drop(self.rng.choice(self.names))

    def erase(self, handle: Memory) -> None:
        super().erase(handle)
        self.erased = True


def asked(seed: int, steps: int, folder: Path | None = None) -> Asking:
    rng, seam = random.Random(seed), Clockwork(seed)
    space = MemorySpace("main", seam)
    if folder is not None:
        space = FileBackend(folder, seam=seam).space("main", create=True)  # type: ignore[assignment]
    history = Asking(Memory(Handle(space, seam)), seam, rng)
    history.play(steps)
    return history


def judged(history: Asking, handle: Memory, context: Context) -> Replay:
    """A replay must say what was said, but for what was erased; and come to the same order."""
    replay = handle.replay(context, query=context.query)
    if not replay.erased:
        assert replay.text == context.text
        assert [item.id for item in replay.receipt.items] == list(context.ids)
    else:
        assert history.erased
        before, after = context.text.splitlines(), replay.text.splitlines()
        assert len(before) == len(after)
        for old, new in zip(before, after, strict=True):
            assert old == new or "[erased]" in new
    if not history.erased:  # what is gone moves no statistic any more, so orders may differ
        assert replay.same_order is True
    return replay


def test_every_receipt_of_a_history_replays_to_the_very_text(tmp_path: Path) -> None:
    for seed, folder in ((1, None), (2, tmp_path)):
        history = asked(seed, 150, folder)
        with history.memory as memory:
            assert len(history.handed) > 10
            assert history.guaranteed > 0
            for handle, context in history.handed:
                judged(history, handle, context)
            assert len(memory.proof.receipts.list(limit=1_000)) == len(history.handed)
            assert memory.admin.digest() == rebuilt_digest(memory.admin)
            assert memory.admin.verify().ok


@pytest.mark.nightly
def test_500_random_histories_replay_and_rank_to_the_same(tell: Tell) -> None:
    receipts = same = erased = 0
    for seed in range(500):
        history = asked(1_000 + seed, 60)
        with history.memory:
            for handle, context in history.handed:
                replay = judged(history, handle, context)
                receipts += 1
                same += replay.same_order is True
                erased += bool(replay.erased)
    tell(f"500 histories: {receipts:,} receipts replayed, {same:,} ranked anew to the same order")
    tell(f"{erased:,} of them with something erased since")
    assert same > receipts // 3
    assert erased > 0


def test_random_histories_replay_and_rank_to_the_same() -> None:
    for seed in range(25):
        history = asked(9_000 + seed, 60)
        with history.memory:
            for handle, context in history.handed:
                judged(history, handle, context)


# --- controls


def test_control_one_number_changed_in_a_receipt_is_seen() -> None:
    """Another version, another order or a lost line: none of them gives the same text."""
    history = asked(3, 120)
    changed = 0
    with history.memory as memory:
        memory.admin.flush()
        for _, context in history.handed:
            with memory._handle.space.reading() as reads:
                row = reads.receipt(str(context.receipt))
                assert row is not None
                if replayed(memory._handle, reads, row).erased:
                    continue
                items = msgspec.json.decode(row.items)
                for spoiled in (_other(items, _all_versions(memory)), items[::-1], items[1:]):
                    again = row._replace(items=msgspec.json.encode(spoiled).decode())
                    if spoiled != items:
                        assert replayed(memory._handle, reads, again).text != context.text
                        changed += 1
    assert changed > 10


def _all_versions(memory: Memory) -> list[int]:
    return [record.seq for record in memory.list(limit=1_000)]


def _other(items: list[dict[str, object]], others: list[int]) -> list[dict[str, object]]:
    """The first line says another version."""
    mine = {item["seq"] for item in items}
    free = [seq for seq in others if seq not in mine]
    return [{**items[0], "seq": free[0]}, *items[1:]] if free else items


def test_control_another_ranking_gives_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """If ranking anew used today's statistics, or another recency, the comparison would say so."""
    from recollect.recall import presets

    history = asked(4, 120)
    monkeypatch.setitem(presets.DECAY_PER_HOUR, "standard", 5.0)
    with history.memory:
        orders = [
            handle.replay(context, query=context.query).same_order
            for handle, context in history.handed
        ]
    assert False in orders
