"""Trust is the minimum over all ancestors: in random graphs, after every command."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect import Memory
from recollect.lifecycle.commands import Actor
from recollect.lifecycle.records import earlier, links, records
from recollect.lifecycle.trust import lineage
from recollect.lifecycle.view import View
from recollect.model import events as e
from recollect.model.rules import at_least
from tests.suites.conftest import Tell
from tests.suites.derivations import Graph, Judge, graph, judged
from tests.suites.histories import Clockwork

STEPS = 45
Spoil = Callable[[pytest.MonkeyPatch], None]


def try_graphs(count: int, tell: Tell) -> None:
    first = random.randrange(2**32)
    seen, wrong, started = Counter[str](), list[str](), time.perf_counter()
    for seed in range(first, first + count):
        found, happened = graph(seed, STEPS)
        wrong += found
        seen += happened
    tell(
        f"lineage: {count:,} random graphs, {seen['records']:,} records, "
        f"{seen['link.added']:,} links, {seen['lowered']:,} lowered, "
        f"{seen['refused']:,} acts refused: {len(wrong)} above an ancestor, "
        f"{time.perf_counter() - started:.0f} s"
    )
    assert wrong == []
    assert seen["lowered"] > count // 4
    assert all(seen[act] for act in ("restore", "unlink", "quote", "batch", "undo", "regret"))


def test_no_record_is_above_an_ancestor(tell: Tell) -> None:
    try_graphs(40, tell)


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(10))
def test_no_record_is_above_an_ancestor_in_a_thousand_graphs(tell: Tell, part: int) -> None:
    try_graphs(100, tell)


def test_no_record_is_above_an_ancestor_in_files(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    with Memory.open(tmp_path / "workspace", embedder="none") as memory:
        Graph(memory, Clockwork(seed), random.Random(seed)).play(3 * STEPS)
        wrong, seen = judged(memory._handle.space.pieces())
        assert (wrong, seen["records"] > 20) == ([], True), seed
        before = memory.admin.digest()
        memory.admin.rebuild()
        assert memory.admin.digest() == before


def only_episodes(patch: pytest.MonkeyPatch) -> None:
    """The minimum over the episodes: a record that is evidence does not count."""
    patch.setattr(lineage, "lent_by", lambda record: "person")


def no_later_links(patch: pytest.MonkeyPatch) -> None:
    """A link that is added later does not count."""
    patch.setattr(links, "DERIVED", "some other kind")


def _each(patch: pytest.MonkeyPatch, instead: Callable[..., list[e.AnyBody]]) -> None:
    for module in (records, links, earlier):
        patch.setattr(module, "lowered", instead)


def no_descendants(patch: pytest.MonkeyPatch) -> None:
    """What was derived earlier stays as it is."""
    _each(patch, lambda *_: [])


def no_reopening(patch: pytest.MonkeyPatch) -> None:
    """What was derived from an approved record stays when the approval is taken back."""
    patch.setattr(earlier, "lowered", lambda *_: [])


def no_further_descendants(patch: pytest.MonkeyPatch) -> None:
    """Only what was derived directly is lowered."""

    def once(view: View, actor: Actor, record: Any, trust: e.Trust) -> list[e.AnyBody]:
        if at_least(trust, record.trust):
            return []
        found = [id for id in view.derived_from(record, trust) if id != record.id]
        return [e.RecordRevised(id=id, trust=trust, user=actor.user) for id in found]

    _each(patch, once)


@pytest.mark.parametrize(
    "control",
    [only_episodes, no_later_links, no_descendants, no_further_descendants, no_reopening],
)
def test_control_a_weaker_rule_is_caught(
    monkeypatch: pytest.MonkeyPatch, tell: Tell, control: Spoil
) -> None:
    control(monkeypatch)
    seed, wrong = 0, list[str]()
    while not wrong and seed < 60:
        seed += 1
        wrong, _ = graph(seed, STEPS)
    tell(f"lineage: control: {control.__name__}: caught in graph {seed}: {len(wrong)} above")
    assert wrong


def test_control_what_the_judge_finds() -> None:
    """A record above its ancestor's ancestor is seen, and not if it was reviewed since."""
    judge = Judge()
    plain = e.RecordAdded(
        id="a", text="a", kind="fact", confidence=1.0, status="held", trust="agent"
    )
    judge.see(_event(1, plain))
    for seq, (id, name) in enumerate([("b", "a"), ("c", "b"), ("d", "later")], 2):
        body = e.RecordAdded(
            id=id, text=id, kind="fact", confidence=1.0, status="active", trust="agent",
            evidence=(name,),
        )  # fmt: skip
        judge.see(_event(seq, body))
    judge.see(_event(5, e.RecordAdded(**{**_fields(plain), "id": "later"})))
    said = sorted(judge.wrong())
    assert said == [
        "b has the trust of agent, its ancestor a of unverified",
        "c has the trust of agent, its ancestor a of unverified",
    ]
    judge.beliefs["b"] = judge.beliefs["b"]._replace(reviewed=9)
    assert list(judge.wrong()) == []


def _fields(body: e.RecordAdded) -> dict[str, Any]:
    return {name: getattr(body, name) for name in body.__struct_fields__}


def _event(seq: int, body: e.AnyBody) -> e.Event:
    return e.Event(
        seq=seq,
        first=seq,
        last=seq,
        id=f"x.{seq}",
        kind="record.added",
        at="2026-01-01T00:00:00.000000Z",
        origin="agent",
        body=body,
    )
