"""The fold: total, deterministic, and blind to what was erased."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import IntegrityError
from recollect.index.digest import state_digest
from recollect.index.fold import Clock, Fold
from recollect.index.fold.apply import TABLE
from recollect.index.preset_rows import preset_of, unpack_items
from recollect.index.reads import Reads
from recollect.index.rows import EpisodeRow, VersionRow
from recollect.index.shadow import shadows
from recollect.index.statements import NOW, STILL
from recollect.index.tables import Tables
from recollect.model import events as e
from recollect.model.instants import from_microseconds
from recollect.store.sqlite import SqliteDb, memory_index
from tests.bodies import ONE_OF_EACH

START_US = 1_767_225_600_000_000


def events(bodies: Iterable[e.AnyBody | None], gap_s: int = 60) -> list[e.Event]:
    """One append for each body."""
    return [
        e.Event(
            seq=n,
            first=n,
            last=n,
            id=f"c{n}.1",
            kind="x.y",
            at=from_microseconds(START_US + n * gap_s * 1_000_000),
            origin="person",
            body=body,
        )
        for n, body in enumerate(bodies, 1)
    ]


OPENED: list[SqliteDb] = []


def new_index() -> SqliteDb:
    """An empty index that the test's end closes."""
    OPENED.append(memory_index("main"))
    return OPENED[-1]


@pytest.fixture(autouse=True)
def _close_what_was_opened() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()


def folded(history: Iterable[e.Event]) -> tuple[SqliteDb, Reads, Fold]:
    db = new_index()
    tables = Tables(db)
    fold = Fold(tables, Clock(e.GENESIS.at, 0))
    for event in history:
        fold.append([event])
    tables.flush()
    return db, Reads(db), fold


def added(id: str, text: str = "words", **more: object) -> e.RecordAdded:
    fields: dict[str, object] = {
        "kind": "fact",
        "confidence": 0.7,
        "status": "active",
        "trust": "person",
    }
    return e.RecordAdded(id=id, text=text, **{**fields, **more})  # type: ignore[arg-type]


def said(id: str, text: str = "words") -> e.EpisodeObserved:
    return e.EpisodeObserved(id=id, text=text, role="user", said_at="2026-01-01T00:00:00.000000Z")


def docs(reads: Reads, shelf: str, term: str) -> list[int]:
    return sorted(doc for doc, _ in reads.match(shelf, [term], 100))  # type: ignore[arg-type]


def test_appends_that_share_a_command_id_are_commands_of_their_own() -> None:
    one, other = events([added("a"), added("b")])
    twin = msgspec.structs.replace(other, id=one.id)
    db, _, fold = folded([])
    fold.append([])
    fold.append([one, twin])
    fold._state.tables.flush()
    assert [row[:2] for row in db.stream("digest_commands", {"at": NOW})] == [(1, 1), (2, 2)]


@pytest.mark.parametrize("body", ONE_OF_EACH, ids=lambda body: type(body).__name__)
def test_an_event_about_something_unknown_changes_nothing_else(body: e.AnyBody) -> None:
    _, reads, _ = folded(events([body]))
    assert reads.command("c1") is not None
    assert reads.version("q") is None


def test_every_event_on_one_record_makes_a_version() -> None:
    _, reads, fold = folded(
        events(
            [
                added("r", "old words", tags=("a", "b"), data={"x": 1}),
                e.RecordReinforced(id="r", how="used"),
                e.RecordTagged(id="r", add=("c", "a"), remove=("b",)),
                e.RecordRevised(
                    id="r",
                    trust="agent",
                    text="new words",
                    kind="k",
                    about="me",
                    confidence=0.9,
                    source_type="inferred",
                    is_hypothesis=True,
                    valid_from="2026-01-01T00:00:00.000000Z",
                    valid_to=None,
                    expires=None,
                    data={"y": 2},
                    evidence=("NIST",),
                    reason="because",
                ),
                e.RecordForgotten(id="r", reason="wrong"),
                e.RecordRestored(id="r"),
                e.RecordSuperseded(id="r", by="s"),
            ]
        )
    )
    versions = reads.versions("r")
    assert [row.what for row in versions] == [
        "added",
        "reinforced",
        "tagged",
        "revised",
        "forgotten",
        "restored",
        "superseded",
    ]
    assert [row.until for row in versions] == [2, 3, 4, 5, 6, 7, STILL]
    assert versions[2].tags == '["a","c"]'
    last = versions[-1]
    assert (last.text, last.kind, last.data, last.evidence) == (
        "new words",
        "k",
        '{"y":2}',
        '["NIST"]',
    )
    assert (last.status, last.reason, last.superseded_by) == ("archived", "superseded", "s")
    assert (last.reinforcement_count, last.is_hypothesis, last.note) == (1, 1, None)
    assert versions[4].note == "wrong"
    assert fold.clock.hours == pytest.approx(6 / 60)
    assert last.last_reinforced_at == pytest.approx(1 / 60)


def test_a_revision_keeps_what_it_does_not_name() -> None:
    _, reads, _ = folded(
        events(
            [added("r", evidence=("x",), data={"x": 1}), e.RecordRevised(id="r", trust="person")]
        )
    )
    first, second = reads.versions("r")
    assert second._replace(seq=1, until=2, at=first.at, what="added") == first


@pytest.mark.parametrize("status", ["inbox", "active", "held"])
def test_a_revision_that_rests_on_something_unverified_is_held(status: e.Status) -> None:
    """Whatever state the record had before: a text in the inbox would be let in unseen."""
    revised = e.RecordRevised(id="r", trust="unverified", text="b")
    _, reads, _ = folded(events([added("r", status=status), revised]))
    row = reads.version("r")
    assert row is not None
    assert (row.status, row.trust) == ("held", "unverified")


def test_an_id_is_added_once() -> None:
    _, reads, _ = folded(events([added("r", "one"), added("r", "two"), said("e"), said("e", "x")]))
    assert [row.text for row in reads.versions("r")] == ["one"]
    assert reads.counts()["episodes"] == 1


def test_only_gaps_under_half_an_hour_are_active() -> None:
    _, _, fold = folded(events([said("a"), said("b")], gap_s=1799))
    assert fold.clock.hours == pytest.approx(1799 / 3600)
    _, _, fold = folded(events([said("a"), said("b")], gap_s=1800))
    assert fold.clock.hours == 0.0


def test_text_moves_between_the_shelves() -> None:
    steps: list[e.AnyBody] = [
        added("r", "apple"),
        e.RecordForgotten(id="r"),
        e.RecordRestored(id="r"),
        e.RecordRevised(id="r", trust="person", text="pear"),
        added("h", "apple", status="held", trust="unverified"),
        e.RecordRestored(id="h"),
        said("e", "apple"),
        e.EpisodeForgotten(id="e"),
        e.EpisodeForgotten(id="e"),
        e.EpisodeRestored(id="e"),
        e.EpisodeRestored(id="e"),
    ]
    expected: list[tuple[list[int], list[int]]] = [
        ([1], []),
        ([], [1]),
        ([1], []),
        ([], [1]),
        ([], [1, 5]),
        ([], [1, 5]),
        ([7], [1, 5]),
        ([], [1, 5, 7]),
        ([], [1, 5, 7]),
        ([7], [1, 5]),
        ([7], [1, 5]),
    ]
    for count, (recallable, rest) in enumerate(expected, 1):
        _, reads, _ = folded(events(steps[:count]))
        assert (docs(reads, "recallable", "appl"), docs(reads, "rest", "appl")) == (
            recallable,
            rest,
        )


def test_an_episode_is_shadowed_with_the_last_record_it_supports() -> None:
    history: list[e.AnyBody] = [
        said("e"),
        added("a", evidence=("e", "elsewhere")),
        added("b", "other", evidence=("e",)),
        e.RecordForgotten(id="a"),
        e.RecordSuperseded(id="b", by="c"),
        e.RecordRestored(id="a"),
        e.RecordForgotten(id="a", sources="keep"),
        e.RecordRevised(id="a", trust="person", text="new", evidence=()),
    ]
    hidden = []
    for count in range(1, len(history) + 1):
        _, reads, _ = folded(events(history[:count]))
        row = reads.episode("e")
        assert row is not None
        hidden.append(row.hidden)
    assert hidden == [None, None, None, None, "shadowed", None, None, "shadowed"]
    _, reads, _ = folded(events(history))
    for seq in range(1, len(history) + 1):
        past = Reads(reads.db, at=seq).episode("e")
        assert past is not None
        assert past.hidden == hidden[seq - 1]


def test_an_episode_is_not_tied_to_what_named_it_before() -> None:
    history: list[e.AnyBody] = [
        added("a", evidence=("e",)),
        said("e"),
        e.RecordTagged(id="a", add=("t",)),
        e.RecordRevised(id="a", trust="person", evidence=("e", "f")),
        e.RecordForgotten(id="a"),
    ]
    for count in range(2, len(history) + 1):
        _, reads, _ = folded(events(history[:count]))
        row, record = reads.episode("e"), reads.version("a")
        assert row is not None
        assert record is not None
        assert row.hidden is None
        assert reads.evidence_for(row) == []
        assert not reads.supports(row, record)


def test_an_episode_is_tied_to_what_names_it_again_with_other_words() -> None:
    history: list[e.AnyBody] = [
        added("a", evidence=("e",)),
        said("e"),
        e.RecordRevised(id="a", trust="person", text="new", evidence=("e",)),
        e.RecordForgotten(id="a"),
    ]
    _, reads, _ = folded(events(history))
    row = reads.episode("e")
    assert row is not None
    assert row.hidden == "shadowed"
    then, now = reads.versions("a")[0], reads.versions("a")[-1]
    assert (reads.supports(row, then), reads.supports(row, now)) == (False, True)


def test_shadows_are_the_gaps_between_what_holds() -> None:
    def version(seq: int, until: int, status: str = "active") -> VersionRow:
        blank = dict.fromkeys(VersionRow._fields)
        return VersionRow(**{**blank, "seq": seq, "until": until, "status": status})  # type: ignore[arg-type]

    def episode(seq: int) -> EpisodeRow:
        blank = dict.fromkeys(EpisodeRow._fields)
        return EpisodeRow(**{**blank, "seq": seq})  # type: ignore[arg-type]

    assert shadows(episode(1), []) == []
    assert shadows(episode(1), [(3, version(3, STILL))]) == []
    assert shadows(episode(1), [(3, version(3, 5)), (7, version(7, STILL))]) == [(5, 7)]
    assert shadows(episode(1), [(3, version(3, 5)), (4, version(4, 9))]) == [(9, STILL)]
    assert shadows(episode(6), [(3, version(3, 5))]) == []
    assert shadows(episode(1), [(3, version(3, STILL, "forgotten"))]) == [(3, STILL)]
    assert shadows(episode(1), [(3, version(3, 5)), (8, version(2, STILL))]) == [(5, 8)]
    assert shadows(episode(1), [(3, version(3, 9)), (6, version(2, 5))]) == [(9, STILL)]


def test_what_is_held_has_no_say_over_an_episode() -> None:
    held = added("h", evidence=("e",), status="held", trust="unverified")
    beside = added("h", evidence=("e",), status="held", trust="agent")
    for record in (held, beside):
        alone: list[list[e.AnyBody]] = [
            [said("e"), record],
            [said("e"), record, e.RecordForgotten(id="h")],
        ]
        for history in alone:
            _, reads, _ = folded(events(history))
            row = reads.episode("e")
            assert row is not None
            assert row.hidden is None
        corrected: list[e.AnyBody] = [
            said("e"),
            added("a", evidence=("e",)),
            e.RecordForgotten(id="a"),
            record,
        ]
        _, reads, _ = folded(events(corrected))
        row = reads.episode("e")
        assert row is not None
        assert row.hidden == "shadowed"
        _, reads, _ = folded(events([record, e.RecordForgotten(id="h"), e.RecordRestored(id="h")]))
        assert [version.status for version in reads.versions("h")] == ["held", "forgotten", "held"]


def test_another_user_has_no_say_over_an_episode() -> None:
    history: list[e.AnyBody] = [
        e.EpisodeObserved(
            id="e", text="x", role="user", said_at="2026-01-01T00:00:00.000000Z", user="alice"
        ),
        added("b", evidence=("e",), user="bob"),
        e.RecordForgotten(id="b"),
    ]
    _, reads, _ = folded(events(history))
    row = reads.episode("e")
    assert row is not None
    assert row.hidden is None


def test_evidence_can_be_added_to_the_same_words() -> None:
    history: list[e.AnyBody] = [
        said("e"),
        added("a", evidence=("x",)),
        e.RecordRevised(id="a", trust="person", evidence=("x", "e")),
        e.RecordForgotten(id="a"),
    ]
    hidden = []
    for count in range(1, 5):
        _, reads, _ = folded(events(history[:count]))
        row, record = reads.episode("e"), reads.version("a")
        assert row is not None
        hidden.append(row.hidden)
        assert (record is not None and len(reads.evidence_for(row)) > 0) == (count >= 3)
    assert hidden == [None, None, None, "shadowed"]


def test_links_begin_change_and_end() -> None:
    link = e.LinkAdded(source="a", target="b", kind="supports", trust="person", weight=0.5)
    _, reads, _ = folded(
        events(
            [
                link,
                e.LinkAdded(source="a", target="b", kind="supports", trust="person", weight=0.9),
                e.LinkRemoved(source="a", target="b", kind="supports"),
                e.LinkRemoved(source="a", target="b", kind="supports"),
            ]
        )
    )
    assert reads.links("a") == []
    assert [row.weight for row in Reads(reads.db, at=1).links("b")] == [0.5]
    assert [row.weight for row in Reads(reads.db, at=2).links("b")] == [0.9]


ERASABLE: list[e.AnyBody] = [
    said("e1", "apple one"),
    said("e2", "apple two"),
    added("a", "apple", tags=("t",), evidence=("e1", "e2")),
    added("b", "apple pie", evidence=("e2",)),
    e.LinkAdded(source="b", target="a", kind="supports", trust="person"),
    e.RecordTagged(id="a", add=("u",), remove=("t",)),
    e.RecordRevised(id="a", trust="person", text="apple tart"),
    e.RecordForgotten(id="a"),
    e.EpisodeForgotten(id="e1"),
    e.EpisodeRestored(id="e1"),
    e.RecordForgotten(id="b"),
]
ABOUT_A = (3, 5, 6, 7, 8)
ABOUT_E1 = (1, 9, 10)


@pytest.mark.parametrize("targets", [ABOUT_A, ABOUT_E1, (*ABOUT_A, *ABOUT_E1), (99,)])
def test_what_was_erased_leaves_the_same_state_as_what_never_was(targets: tuple[int, ...]) -> None:
    erasure = e.EventsErased(targets=targets)
    live, reads, _ = folded(events([*ERASABLE, erasure]))
    without = [None if n in targets else body for n, body in enumerate(ERASABLE, 1)]
    rebuilt, reads_again, _ = folded(events([*without, erasure]))
    assert state_digest(live, NOW) == state_digest(rebuilt, NOW)
    for shelf in ("recallable", "rest"):
        assert docs(reads, shelf, "appl") == docs(reads_again, shelf, "appl")


def test_an_episode_that_was_observed_and_erased_in_one_go_is_not_at_hand_any_more() -> None:
    later: list[e.AnyBody] = [e.EventsErased(targets=(1,)), said("e1", "said anew")]
    live, reads, _ = folded(events([said("e1"), *later]))
    rebuilt, _, _ = folded(events([None, *later]))
    assert state_digest(live, NOW) == state_digest(rebuilt, NOW)
    assert docs(reads, "recallable", "anew") == [3]


def test_an_erased_command_loses_its_marks() -> None:
    body = added("r", command="1/1:abc")
    _, reads, _ = folded(events([body]))
    command = reads.command("c1")
    assert command is not None
    assert command.marks == "1/1:abc"
    _, reads, _ = folded(events([body, e.EventsErased(targets=(1,))]))
    command = reads.command("c1")
    assert command is not None
    assert command.marks == ""


BODIES = st.sampled_from(
    [
        added("a", "apple", evidence=("e1",)),
        added("b", "pear", evidence=("e1", "e2"), tags=("x",)),
        said("e1"),
        said("e2"),
        *[
            body
            for id in ("a", "b")
            for body in (
                e.RecordForgotten(id=id),
                e.RecordRestored(id=id),
                e.RecordSuperseded(id=id, by="z"),
                e.RecordReinforced(id=id, how="used"),
                e.RecordRevised(id=id, trust="person", text="plum", evidence=("e2",)),
                e.RecordRevised(id=id, trust="person", evidence=("e1", "e2")),
                e.RecordTagged(id=id, add=("y",), remove=("x",)),
            )
        ],
        e.EpisodeForgotten(id="e1"),
        e.EpisodeRestored(id="e1"),
        e.LinkAdded(source="a", target="b", kind="k", trust="person"),
        e.LinkRemoved(source="a", target="b", kind="k"),
        None,
    ]
)


@given(st.lists(BODIES, min_size=1, max_size=25), st.data())
def test_any_past_position_reads_like_a_replay_to_it(
    bodies: list[e.AnyBody | None], data: st.DataObject
) -> None:
    history = events(bodies)
    live, _, _ = folded(history)
    seq = data.draw(st.integers(1, len(history)))
    replayed, _, _ = folded(history[:seq])
    assert state_digest(live, seq) == state_digest(replayed, NOW)


@given(st.lists(BODIES, min_size=1, max_size=25), st.data())
def test_appends_of_any_size_fold_alike(
    bodies: list[e.AnyBody | None], data: st.DataObject
) -> None:
    history = events(bodies, gap_s=0)
    one_by_one, _, _ = folded(history)
    db = new_index()
    tables = Tables(db)
    Fold(tables, Clock(e.GENESIS.at, 0)).append(history)
    tables.flush()
    assert state_digest(one_by_one, NOW) == state_digest(db, NOW)


def test_long_texts_are_not_all_kept_at_hand() -> None:
    tables = Tables(new_index())
    fold = Fold(tables, Clock(e.GENESIS.at, 0))
    for event in events(added(f"r{number}", "x" * 1_000_000) for number in range(40)):
        fold.append([event])
        tables.flush()
    assert 0 < len(tables._current) < 20


def test_the_commands_of_an_append_are_kept_apart() -> None:
    history = events([said("e1"), said("e2"), said("e3")], gap_s=0)
    same = [
        e.Event(
            seq=event.seq,
            first=1,
            last=3,
            id=id,
            kind=event.kind,
            at=event.at,
            origin=event.origin,
            body=event.body,
        )
        for event, id in zip(history, ["x.1", "x.2", "y.1"], strict=True)
    ]
    db = new_index()
    tables = Tables(db)
    Fold(tables, Clock(e.GENESIS.at, 0)).append(same)
    tables.flush()
    rows = [tuple(row[:3]) for row in db.rows("digest_commands", {"at": NOW})]
    assert rows == [(2, 1, "x"), (3, 3, "y")]


# --- presets and receipts


def preset_set(name: str, tokens: int = 100) -> e.FrameSet:
    (known,) = [body for body in ONE_OF_EACH if isinstance(body, e.FrameSet)]
    return msgspec.structs.replace(known, name=name, tokens=tokens)


def handed(id: str, *seqs: int) -> e.ContextHanded:
    (known,) = [body for body in ONE_OF_EACH if isinstance(body, e.ContextHanded)]
    return msgspec.structs.replace(known, id=id, items=tuple(e.Handed(seq=seq) for seq in seqs))


def test_a_preset_is_what_was_said_last_at_every_position() -> None:
    db, reads, _ = folded(
        events(
            [
                preset_set("mine", 100),
                preset_set("mine", 200),
                preset_set("b"),
                e.FrameDropped(name="mine"),
            ]
        )
    )
    assert [row.name for row in reads.presets()] == ["b"]
    assert reads.preset("mine") is None
    then = [Reads(db, at=at).preset("mine") for at in range(5)]
    assert [row and row.tokens for row in then] == [None, 100, 200, 200, None]
    assert reads.events_about_preset("mine") == [1, 2, 4]


def test_a_preset_can_be_set_twice_in_one_append_and_dropped_unknown() -> None:
    db = new_index()
    tables = Tables(db)
    fold = Fold(tables, Clock(e.GENESIS.at, 0))
    fold.append(
        events([preset_set("mine", 1), preset_set("mine", 2), e.FrameDropped(name="other")])
    )
    tables.flush()
    row = Reads(db).preset("mine")
    assert row is not None
    assert row.tokens == 2


def test_a_receipt_is_kept_once() -> None:
    db, reads, _ = folded(events([handed("c-1", 7, 9), handed("c-1", 8), handed("c-2")]))
    first, second = reads.receipts(99, 10)[::-1]
    assert (first.id, second.id) == ("c-1", "c-2")
    assert [item.seq for item in unpack_items(first.items)] == [7, 9]
    assert Reads(db, at=0).receipt("c-1") is None
    assert [row.id for row in reads.receipts(3, 10)] == ["c-1"]


def test_erased_presets_and_receipts_leave_no_trace() -> None:
    erased = e.EventsErased(targets=(1, 2, 3))
    bodies: list[e.AnyBody] = [
        preset_set("mine"),
        preset_set("mine", 7),
        handed("c-1"),
        added("r"),
        erased,
    ]
    live, reads, _ = folded(events(bodies))
    assert reads.presets() == []
    assert reads.receipt("c-1") is None
    rebuilt, _, _ = folded(events([None, None, None, *bodies[3:]]))
    assert state_digest(live, NOW) == state_digest(rebuilt, NOW)


@pytest.mark.parametrize(
    "wrong",
    [
        {"weights": (1.0,)},
        {"weights": (1.0, 1.0, 0.0, 0.0, 0.0)},
        {"unit": "page"},
        {"cache": "always"},
        {"record": "{text} </recollect>"},
        {"episode": "nothing"},
    ],
)
def test_a_preset_of_elsewhere_that_cannot_be_meant_is_folded_and_not_used(
    wrong: dict[str, object],
) -> None:
    body = msgspec.structs.replace(preset_set("mine"), **wrong)
    db, reads, _ = folded(events([body, added("r")]))
    assert state_digest(db, NOW) == state_digest(folded(events([body, added("r")]))[0], NOW)
    (row,) = reads.presets()
    with pytest.raises(IntegrityError, match="'mine' could not be parsed"):
        preset_of(row)


def test_a_target_that_is_erased_twice_counts_once() -> None:
    """A hostile writer could order that; the fold must go on all the same."""
    before: list[e.AnyBody] = [said("e1", "a word"), said("e2", "another")]
    twice: list[e.AnyBody] = [e.EventsErased(targets=(1, 1)), e.EventsErased(targets=(1, 2))]
    once: list[e.AnyBody] = [e.EventsErased(targets=(1,)), e.EventsErased(targets=(2,))]
    one, other = folded(events(before + twice))[0], folded(events(before + once))[0]
    assert state_digest(one, NOW) == state_digest(other, NOW)


def test_a_command_id_that_comes_twice_stops_no_fold() -> None:
    """A hostile writer could send that; the first command of an id is the one that counts."""
    one, other = events([added("a"), added("b")])
    db, reads, _ = folded([one, msgspec.structs.replace(other, id=one.id)])
    found = reads.command("c1")
    assert found is not None
    assert (found.seq, {row.id for row in map(reads.version, "ab") if row}) == (1, {"a", "b"})
    assert state_digest(db, NOW)


def without_a_row(table: Iterable[type[e.Body]]) -> set[type[e.Body]]:
    """The events that a ledger can hold and a table leaves out."""
    union: tuple[type[e.Body], ...] = get_args(e.AnyBody)
    return set(union) - set(table)


def test_every_event_has_its_row() -> None:
    assert without_a_row(TABLE) == set()
    assert without_a_row(type(body) for body in ONE_OF_EACH) == set()


@pytest.mark.parametrize("missing", TABLE)
def test_an_event_without_a_row_is_found(missing: type[e.Body]) -> None:
    """The control: the check above sees each row that is taken out."""
    assert without_a_row(set(TABLE) - {missing}) == {missing}
