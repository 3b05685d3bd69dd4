"""One body of every kind, for tests that must know them all."""

from __future__ import annotations

from typing import Final

from recollect.model import events as e

AT: Final = "2026-01-01T00:00:00.000000Z"

ONE_OF_EACH: Final[list[e.AnyBody]] = [
    e.SpaceOpened(space="main"),
    e.EpisodeObserved(id="e", text="hello", role="user", said_at=AT, metadata={"a": [1, None]}),
    e.EpisodeForgotten(id="e", reason="why"),
    e.EpisodeRestored(id="e"),
    e.RecordAdded(
        id="r",
        text="hello",
        kind="fact",
        confidence=0.5,
        status="active",
        trust="agent",
        tags=("x",),
        data={"deep": {"er": 1.5}},
        user="u",
        session="s",
        agent="a",
        tz_minutes=60,
        command="1/1:00",
    ),
    e.RecordRevised(id="r", trust="agent", text="other", about=None, confidence=0.1),
    e.RecordSuperseded(id="r", by="q"),
    e.RecordReinforced(id="r", how="used"),
    e.RecordForgotten(id="r", sources="keep"),
    e.RecordRestored(id="r"),
    e.RecordTagged(id="r", add=("a",), remove=("b",)),
    e.LinkAdded(source="r", target="q", kind="supports", trust="agent", weight=0.25),
    e.LinkRemoved(source="r", target="q", kind="supports"),
    e.FrameSet(
        name="mine",
        trust="person",
        weights=(1.0, 0.0, 0.0, 0.0, 0.0),
        unit="any",
        tokens=100,
        floor=0.25,
        intro="Notes.",
        record="{text}",
        episode="{role}: {text}",
        where="kind = 'fact'",
        guarantees=("self/*",),
        cache=60,
    ),
    e.FrameDropped(name="mine"),
    e.DocumentSet(type="rules", name="mail", trust="person", data={"never": ["before noon"]}),
    e.DocumentDropped(type="rules", name="mail"),
    e.SessionOpened(id="s", task_type="review", start_active_hours=1.5),
    e.SessionClosed(id="s"),
    e.ContextHanded(
        id="c-1",
        query="0" * 64,
        frame="task",
        frame_digest="1" * 64,
        ranking=1,
        embedder=None,
        now=AT,
        position=9,
        budget=100,
        tokens=20,
        counter="estimate",
        signals=("similarity", "recency"),
        items=(e.Handed(seq=2, shares=(0.5, 0.25), against=(3,)), e.Handed(seq=4)),
    ),
    e.EventsErased(targets=(1, 2)),
    e.TailCut(bytes=3, kept_as="events.wal.1.torn"),
    e.LedgerSealed(first=1, count=9, head="a" * 64, digest="b" * 64, index_version=1),
    e.LossAccepted(seen_seq=9, seen_hash="0" * 64),
]
