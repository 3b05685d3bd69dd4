"""A long text is stored once, and every read shows it: now, in the past, after erasures."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.index.cards import Cards
from recollect.index.digest import state_digest
from recollect.index.fold import Clock, Fold
from recollect.index.reads import Reads
from recollect.index.rows import COPIED_TEXT_MAX_CHARS, Undecodable, VersionRow
from recollect.index.statements import NOW
from recollect.index.tables import Tables
from recollect.model import events as e
from recollect.store.sqlite import SqliteDb, memory_index
from tests.index.test_fold import added, events
from tests.index.test_shadow import once, said

RECORDS = ("a", "b", "c")
STATUSES = ("active", "held", "inbox", "forgotten", "archived")
ids = st.sampled_from(RECORDS)
changes: st.SearchStrategy[e.AnyBody] = st.one_of(
    st.builds(e.RecordRevised, id=ids, trust=st.just("person"), text=st.just("new")),
    st.builds(e.RecordRevised, id=ids, trust=st.just("agent"), confidence=st.just(0.1)),
    st.builds(e.RecordRevised, id=ids, trust=st.just("person"), evidence=st.just(("e",))),
    st.builds(e.RecordTagged, id=ids, add=st.just(("t",)), remove=st.just(())),
    st.builds(e.RecordTagged, id=ids, add=st.just(()), remove=st.just(("t",))),
    st.builds(e.RecordReinforced, id=ids, how=st.just("used")),
    st.builds(e.RecordForgotten, id=ids),
    st.builds(e.RecordRestored, id=ids),
    st.builds(e.RecordSuperseded, id=ids, by=ids),
    st.builds(e.LinkAdded, source=ids, target=ids, kind=st.just("contradicts")),
    st.builds(e.EventsErased, targets=st.lists(st.integers(2, 14), max_size=2).map(tuple)),
)
bodies = st.one_of(st.builds(added, ids, evidence=st.just(("e",)), key=st.just("k")), changes)


def told(history: list[e.AnyBody]) -> list[e.AnyBody]:
    """The same history after an episode, with another text wherever there is one, short or long."""
    numbers = count()
    kept: list[e.AnyBody] = [said("e")]
    for body in history:
        if isinstance(body, e.RecordAdded) or getattr(body, "text", None) == "new":
            kept.append(_with_text(body, text_of(next(numbers))))
        else:
            kept.append(body)
    return once(kept)


def text_of(number: int) -> str:
    """Every other text is one character longer than what is copied."""
    text = f"words {number} "
    return text.ljust(COPIED_TEXT_MAX_CHARS + number % 2, "x")


def _with_text(body: e.AnyBody, text: str) -> e.AnyBody:
    if isinstance(body, e.RecordAdded):
        return added(body.id, text, evidence=body.evidence, key=body.key)
    assert isinstance(body, e.RecordRevised)
    return e.RecordRevised(id=body.id, trust=body.trust, text=text)


histories = st.lists(bodies, min_size=1, max_size=16).map(told)


class Copying(Tables):
    """What stored a copy of the text with every version."""

    def begin(self, row: VersionRow) -> None:
        self.write("add_version", row, row.id, row.key, row.content_id)
        self._current[row.id] = row


def folded(history: Sequence[e.AnyBody], kind: type[Tables] = Tables) -> SqliteDb:
    db = memory_index("main")
    tables = kind(db)
    fold = Fold(tables, Clock(e.GENESIS.at, 0))
    for event in events(history):
        fold.append([event])
        tables.flush()
    return db


def answers(db: SqliteDb, at: int) -> dict[str, object]:
    """Every read that tells a version's text, at a position."""
    reads = Reads(db, at=at)
    found: dict[str, object] = {
        "digest": state_digest(db, at),
        "list": reads.listing(STATUSES, None, NOW, 100),
        "tagged": reads.tagged("t", "t", None, 100),
        "keyed": reads.keyed("k", None, holder=False),
        "past texts": [list(db.stream(f"texts_{s}", {"at": at})) for s in ("recallable", "rest")],
        "texts": reads.texts_after(0, 100),
    }
    for past in (False, True):
        seqs = range(1, 18)
        found[f"texts of, {past}"] = sorted(Cards(reads).of(seqs, past=past), key=str)
    for id in RECORDS:
        found[f"one {id}"] = reads.version(id)
        found[f"all {id}"] = reads.versions(id)
    return found


def present(db: SqliteDb) -> dict[str, object]:
    """And those that know the present alone."""
    reads = Reads(db)
    found: dict[str, object] = {"holder": reads.holder("k", None)}
    episode = reads.episode("e")
    found["evidence"] = episode and reads.evidence_for(episode)
    for row in reads.listing(STATUSES, None, NOW, 100):
        found[f"alias {row.id}"] = reads.by_alias(row.content_id)
        found[f"twin {row.id}"] = reads.twin(row.text, row.user)
    for seq in range(1, 18):
        found[f"event {seq}"] = reads.by_event(seq)
    return found


def stored(db: SqliteDb) -> list[tuple[int, int, str | None]]:
    return db._connection.execute("SELECT seq, text_seq, text FROM versions").fetchall()


@given(histories)
def test_every_read_at_every_position_is_that_of_an_index_with_copies(
    history: list[e.AnyBody],
) -> None:
    with closing(folded(history)) as db, closing(folded(history, Copying)) as copies:
        assert all(text is not None or seq != of for seq, of, text in stored(db))
        copied = [text for seq, of, text in stored(db) if seq != of and text is not None]
        assert all(len(text) <= COPIED_TEXT_MAX_CHARS for text in copied)
        assert all(text is not None for _, _, text in stored(copies))
        assert present(db) == present(copies)
        for at in [*range(len(history) + 1), NOW]:
            assert answers(db, at) == answers(copies, at)


FIRST, SECOND, THIRD = (word.ljust(2_000) for word in ("first", "second", "third"))
LONG: tuple[e.AnyBody, ...] = (
    said("e"),
    added("a", FIRST, key="k", evidence=("e",)),
    e.RecordTagged(id="a", add=("t",)),
    e.RecordRevised(id="a", trust="person", text=SECOND),
    e.RecordReinforced(id="a", how="used"),
    added("b", THIRD),
    e.RecordTagged(id="b", add=("t",)),
    e.RecordTagged(id="a", remove=("t",)),
)


def test_erasing_a_record_takes_every_text_of_it_and_none_of_others() -> None:
    erased = e.EventsErased(targets=(2, 3, 4, 5, 8))
    with closing(folded([*LONG, erased])) as db:
        assert [text for _, _, text in stored(db)] == [THIRD, None]
        assert [row.text for row in Reads(db).versions("b")] == [THIRD, THIRD]
        assert Reads(db).versions("a") == []


@pytest.mark.parametrize(
    "where",
    [
        "t.id = v.id AND t.text IS NOT NULL",  # any text of the record
        "t.id = v.id AND t.text IS NOT NULL ORDER BY t.seq DESC LIMIT 1",  # its last
        "t.seq < v.seq AND t.text IS NOT NULL ORDER BY t.seq DESC LIMIT 1",  # anybody's
    ],
)
def test_control_another_text_is_seen(where: str) -> None:
    with closing(folded(LONG)) as db, closing(folded(LONG, Copying)) as copies:
        assert answers(db, 3) == answers(copies, 3)
        script = "SELECT sql FROM sqlite_schema WHERE name = 'full_versions'"
        (view,) = db._connection.execute(script).fetchone()
        assert view.count("t.seq = v.text_seq AND t.id = v.id") == 1
        db._connection.execute("DROP VIEW full_versions")
        db._connection.execute(view.replace("t.seq = v.text_seq AND t.id = v.id", where))
        assert any(answers(db, at) != answers(copies, at) for at in range(len(LONG) + 1))


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM versions WHERE seq = 4",
        "UPDATE versions SET text_seq = 3 WHERE seq = 5",
        "UPDATE versions SET text_seq = 6 WHERE seq = 5",  # of another record
    ],
)
def test_a_text_that_is_not_there_is_damage(damage: str) -> None:
    with closing(folded(LONG)) as db:
        db._connection.execute(damage)
        with pytest.raises(Undecodable, match="text of version"):
            Reads(db).versions("a")
