"""The conformance suite of the store port: what every engine must do.

Subclass ``StoreSuite`` and define a fixture ``backend`` with an empty place. Each test is named
after the sentence of ``recollect.store.port`` that it checks.
"""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from recollect.errors import (
    Conflict,
    IntegrityError,
    InvalidInput,
    NotFound,
    Unavailable,
)
from recollect.index.reads import Reads
from recollect.ledger.codec import decode
from recollect.ledger.scan import scan
from recollect.ledger.verify import verify
from recollect.lifecycle.commands import (
    Act,
    DropPreset,
    Erase,
    Forget,
    Link,
    Reinforce,
    Revise,
    Unlink,
)
from recollect.model import limits
from recollect.model.events import LedgerSealed, SpaceOpened
from recollect.store.disk.layout import LEDGER
from recollect.store.indexed.backend import MemoryBackend
from recollect.store.port import Backend, Outcome, Space
from recollect.testing.acts import (
    command,
    hand,
    observe,
    outcome,
    remember,
    set_preset,
)
from recollect.testing.drop_suite import DropSuite
from recollect.testing.expect_suite import ExpectSuite
from recollect.testing.heads_suite import HeadsSuite
from recollect.testing.rebuilding import rebuilt_digest


class StoreSuite(ExpectSuite, HeadsSuite, DropSuite):
    """Every engine passes this."""

    def test_a_space_begins_with_its_name(self, space: Space) -> None:
        space.submit(command("a", remember("one")), outcome)
        (first, *_) = scan(space.pieces())
        body = decode(first.lines[0]).body
        assert isinstance(body, SpaceOpened)
        assert body.space == space.name == "main"

    def test_a_submitted_command_is_durable_when_the_call_returns(self, space: Space) -> None:
        got = space.submit(command("a", remember("one", "r1")), outcome)
        assert (got.first, got.last, got.subjects, got.repeated) == (2, 2, ("r1",), False)
        events = [decode(line) for append in scan(space.pieces()) for line in append.lines]
        assert [event.seq for event in events] == [1, 2]
        assert space.head().seq == 2

    def test_a_refused_command_leaves_nothing_behind(self, space: Space) -> None:
        space.submit(command("a", remember("one", "r1")), outcome)
        before = b"".join(space.pieces()), space.digest()
        with pytest.raises(NotFound):
            space.submit(command("b", remember("two", "r2"), Forget(id="nobody")), outcome)
        with pytest.raises(Conflict):
            space.submit(command("c", remember("other", "r1")), outcome)
        assert (b"".join(space.pieces()), space.digest()) == before
        got = space.submit(command("d", remember("two", "r2")), outcome)
        assert got.first == 3

    def test_a_command_that_is_tried_leaves_nothing_behind(self, space: Space) -> None:
        space.submit(command("a", remember("one", "r1")), outcome)
        before = b"".join(space.pieces()), space.digest(), space.head()
        with space.trying(command("b", remember("two", "r2"), Forget(id="r1"))) as reads:
            assert (reads.version("r1"), reads.version("r2")) != (None, None)
            assert [reads.version(id).status for id in ("r1", "r2")] == ["forgotten", "active"]  # type: ignore[union-attr]
        with pytest.raises(NotFound), space.trying(command("c", Forget(id="nobody"))):
            pass
        assert (b"".join(space.pieces()), space.digest(), space.head()) == before
        with space.reading() as reads:
            assert reads.version("r2") is None
        got = space.submit(command("b", remember("two", "r2")), outcome)
        assert (got.first, got.repeated) == (3, False)

    def test_a_command_that_may_wait_rides_on_the_next_append(self, space: Space) -> None:
        space.submit(command("a", remember("one", "r1")), outcome)
        assert space.later(command("b", remember("two", "r2")))
        assert space.later(command("c", Forget(id="nobody")))  # refused, without any effect
        assert space.head().seq == 2
        space.submit(command("d", remember("three", "r3")), outcome)
        appends = list(scan(space.pieces()))
        assert [len(append.lines) for append in appends] == [1, 1, 2]
        assert [decode(line).command_id for line in appends[-1].lines] == ["b", "d"]
        with space.reading() as reads:
            assert reads.command("c") is None

    def test_what_waits_is_written_by_a_flush_once(self, space: Space) -> None:
        space.flush()
        assert space.later(command("a", remember("one", "r1")))
        space.flush()
        before = b"".join(space.pieces())
        space.flush()
        assert b"".join(space.pieces()) == before
        with space.reading() as reads:
            assert reads.version("r1") is not None

    def test_what_waits_is_bounded(self, space: Space) -> None:
        space.submit(command("a", remember("one", "r1")), outcome)
        for number in range(limits.RECEIPTS_WAITING_MAX_COUNT + 1):
            assert space.later(command(f"w{number}", remember(f"number {number}", f"w{number}")))
        assert space.head().seq == 2 + limits.RECEIPTS_WAITING_MAX_COUNT + 1

    def test_a_refused_command_among_many_concerns_no_other(self, space: Space) -> None:
        space.submit(command("a", remember("one", "r1")), outcome)
        many = [
            command(f"m{number}", remember(f"number {number}", f"m{number}"), named=True)
            for number in range(100)
        ]
        many[40] = command("m40", Forget(id="nobody"), named=True)
        many[50] = many[49]
        got = space.submit_all(many, outcome)
        assert isinstance(got[40], NotFound)
        kept = [one for one in got if isinstance(one, Outcome)]
        assert [one.repeated for one in kept].count(True) == 1
        assert [one.subjects for one in kept[38:41]] == [("m38",), ("m39",), ("m41",)]
        assert space.head().seq == 2 + 98
        assert len(list(scan(space.pieces()))[-1].lines) == 98  # one append
        again = space.submit_all(many, outcome)
        assert all(one.repeated for one in again if isinstance(one, Outcome))
        assert space.head().seq == 2 + 98
        assert space.submit_all([], outcome) == []
        assert rebuilt_digest(space) == space.digest()

    def test_a_command_happens_once_for_each_id(self, space: Space) -> None:
        act = remember("one", key="k")
        first = space.submit(command("a", act, named=True), outcome)
        again = space.submit(command("a", remember("one", key="k"), named=True), outcome)
        assert (again.first, again.last, again.subjects) == (
            first.first,
            first.last,
            first.subjects,
        )
        assert again.repeated
        with pytest.raises(Conflict, match="already used"):
            space.submit(command("a", remember("two", key="k"), named=True), outcome)
        with pytest.raises(Conflict, match="already used"):
            space.submit(command("a", act, remember("more"), named=True), outcome)
        space.rebuild()
        assert space.submit(command("a", act, named=True), outcome).repeated

    @pytest.mark.parametrize(
        "act",
        [
            Erase(id="r1"),
            Erase(id="mine", what="frame"),
            Erase(id="c1", what="receipt"),
            DropPreset(name="mine"),
            Unlink(source="r1", target="r2", kind="relates_to"),
            Reinforce(id="r1"),
            set_preset("other"),
            Forget(id="r1"),
        ],
        ids=lambda act: type(act).__name__,
    )
    def test_each_act_happens_once_for_the_id_of_its_command(self, space: Space, act: Act) -> None:
        link = Link(source="r1", target="r2", kind="relates_to")
        things = (
            remember("one", "r1"),
            remember("two", "r2"),
            link,
            set_preset("mine"),
            hand("c1"),
        )
        space.submit(command("a", *things), outcome)
        sent = command("b", act, remember("three", "r3"), named=True)
        first = space.submit(sent, outcome)
        head = space.head()
        again = space.submit(sent, outcome)
        assert (again.first, again.last, again.subjects) == (
            first.first,
            first.last,
            first.subjects,
        )
        assert again.repeated
        assert space.head() == head
        with pytest.raises(Conflict, match="already used"):
            space.submit(command("b", remember("four"), named=True), outcome)

    def test_acts_of_a_command_see_each_other(self, space: Space) -> None:
        acts = (
            observe("said", "e1"),
            remember("one", "r1", "k"),
            remember("two", "r2", "k"),
            Revise(id="r2", text="three"),
        )
        got = space.submit(command("a", *acts), outcome)
        assert (got.last - got.first + 1, got.subjects) == (5, ("e1", "r1", "r2", "r2"))
        with space.reading() as reads:
            row = reads.holder("k", None)
        assert row is not None
        assert (row.id, row.text) == ("r2", "three")

    def test_a_command_that_changes_nothing_writes_nothing(self, space: Space) -> None:
        space.submit(command("a", observe("said", "e1")), outcome)
        before = space.head()
        got = space.submit(command("b", observe("said", "e1")), outcome)
        assert got.last < got.first
        assert space.head() == before

    def test_the_answer_is_read_in_the_same_transaction(self, space: Space) -> None:
        def text(reads: Reads, done: Outcome) -> str:
            row = reads.version(done.subjects[0])
            return row.text if row else ""

        assert space.submit(command("a", remember("one", "r1")), text) == "one"

    def test_a_reader_sees_whole_appends_only(self, space: Space) -> None:
        stop, seen = threading.Event(), []

        def read() -> None:
            while not stop.is_set():
                with space.reading() as reads:
                    seen.append(reads.counts()["episodes"])

        space.submit(command("a", *(observe("x", f"e{n}") for n in range(10))), outcome)
        reader = threading.Thread(target=read)
        reader.start()
        for turn in range(1, 20):
            acts = (observe("x", f"e{turn}-{n}") for n in range(10))
            space.submit(command(f"a{turn}", *acts), outcome)
        stop.set()
        reader.join()
        assert seen
        assert all(count % 10 == 0 for count in seen)

    def test_positions_become_visible_in_order(self, space: Space) -> None:
        space.submit(command("start", remember("start")), outcome)
        stop, gaps = threading.Event(), []

        def read() -> None:
            last = 0
            while not stop.is_set():
                with space.reading() as reads:
                    position = reads.position()
                    seqs = [
                        int(str(cell))
                        for (cell, *_) in reads.db.rows("digest_commands", {"at": 2**52})
                    ]
                if position is None or position.seq < last or seqs != sorted(seqs):
                    gaps.append(last)
                last = position.seq if position else last

        def write(name: int) -> None:
            for turn in range(25):
                space.submit(command(f"{name}-{turn}", remember(f"{name} {turn}")), outcome)

        reader = threading.Thread(target=read)
        writers = [threading.Thread(target=write, args=(name,)) for name in range(4)]
        for thread in (reader, *writers):
            thread.start()
        for thread in writers:
            thread.join()
        stop.set()
        reader.join()
        assert gaps == []
        assert space.head().seq == 102
        assert verify(space.pieces()).ok

    def test_a_rebuild_equals_the_live_state(self, space: Space) -> None:
        space.submit(command("a", observe("said", "e1"), remember("one", "r1", "k")), outcome)
        space.submit(command("b", remember("two", "r2", "k")), outcome)
        space.submit(command("c", Forget(id="r2")), outcome)
        live = space.digest()
        told: list[tuple[int, int]] = []
        rebuilt = space.rebuild(lambda done, total: told.append((done, total)))
        assert space.digest() == live
        assert rebuilt.events == space.head().seq
        assert told
        assert told[-1][0] == told[-1][1] == space.size_bytes()

    def test_a_seal_says_what_the_events_before_it_came_to(self, space: Space) -> None:
        """Their number, the chain's head, the state; sealing again finds nothing to seal."""
        for number in range(3):
            space.submit(command(f"c{number}", remember(f"text {number}")), outcome)
        head, digest = space.head(), space.digest()
        sealed = space.seal()
        assert (sealed.events, sealed.seq, sealed.head) == (4, head.seq, head.hash)
        assert sealed.digest == digest == space.digest(head.seq)
        (event,) = [decode(line) for line in list(scan(space.pieces()))[-1].lines]
        assert isinstance(event.body, LedgerSealed)
        assert (event.body.count, event.body.digest) == (head.seq, digest)
        assert space.seal().events == 0
        assert space.head().seq == head.seq + 1
        live = space.digest()
        assert rebuilt_digest(space) == live
        assert verify(space.pieces()).events == head.seq + 1

    def test_an_erasure_is_finished_by_purge(self, space: Space) -> None:
        from recollect.lifecycle.commands import Erase

        space.submit(command("a", remember("canary", "r1")), outcome)
        space.submit(command("b", Erase(id="r1")), outcome)
        assert b"canary" in b"".join(space.pieces())
        assert space.purge()
        assert b"canary" not in b"".join(space.pieces())
        assert space.purge() == ()
        assert verify(space.pieces()).erased == 1
        live = space.digest()
        assert rebuilt_digest(space) == live

    def test_two_backups_in_one_second_get_two_folders(
        self, space: Space, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        space.submit(command("a", remember("one")), outcome)
        first, second = space.backup(None), space.backup(None)
        assert first.path != second.path
        assert (first.seq, first.head) == (space.head().seq, space.head().hash)
        for backup in (first, second):
            ledger = (Path(backup.path) / LEDGER).read_bytes()
            assert ledger == b"".join(space.pieces())
        with pytest.raises(Conflict):
            space.backup(first.path)

    def test_spaces_are_apart(self, backend: Backend) -> None:
        one, two = (backend.space(name, create=True) for name in ("main", "Üser/../x"))
        one.submit(command("a", remember("one", "r1")), outcome)
        two.submit(command("a", remember("two", "r1")), outcome)
        with one.reading() as reads:
            row = reads.version("r1")
        assert row is not None
        assert row.text == "one"
        assert backend.spaces() == ["main", "Üser/../x"]

    def test_a_space_that_does_not_exist_is_not_made_by_asking(self, backend: Backend) -> None:
        with pytest.raises(NotFound):
            backend.space("nowhere", create=False).head()
        assert backend.spaces() == []

    def test_closing_twice_is_fine(self, space: Space) -> None:
        space.submit(command("a", remember("one")), outcome)
        space.close()
        space.close()
        with pytest.raises(Unavailable):
            space.submit(command("b", remember("two")), outcome)
        with pytest.raises(Unavailable):
            space.head()

    def test_a_healthy_space_has_no_problem(self, space: Space) -> None:
        space.submit(command("a", remember("one")), outcome)
        assert {finding.level for finding in space.examine()} == {"ok"}
        assert space.where

    def test_a_command_has_limits(self, space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
        from recollect.model import limits

        monkeypatch.setattr(limits, "COMMAND_MAX_EVENTS", 3)
        with pytest.raises(InvalidInput, match="too large"):
            space.submit(command("a", *(remember(f"n {n}") for n in range(4))), outcome)
        assert space.submit(command("b", remember("fits")), outcome).first == 2

    def test_what_another_store_wrote_is_received_as_it_is(self, backend: Backend) -> None:
        source = MemoryBackend().space("main", create=True)
        space = backend.space("main", create=True)
        for number in range(3):
            source.submit(command(f"a{number}", remember(f"number {number}")), outcome)
            assert space.receive(source.pieces()) == source.head()
        source.seal()
        space.receive(source.pieces())
        assert b"".join(space.pieces()) == b"".join(source.pieces())
        assert space.digest() == source.digest() == rebuilt_digest(space)
        space.submit(command("b", remember("here")), outcome)
        assert space.head().seq == source.head().seq + 1
        source.close()

    def test_what_does_not_continue_this_ledger_is_not_received(self, backend: Backend) -> None:
        source = MemoryBackend().space("main", create=True)
        space = backend.space("main", create=True)
        source.submit(command("a", remember("one")), outcome)
        whole = b"".join(source.pieces())
        for broken in (whole[:-1], whole[200:], whole.replace(b"one", b"two")):
            with pytest.raises(IntegrityError):
                space.receive([broken])
        assert space.existing_head().seq == 0
        space.receive([whole])
        source.submit(command("b", remember("theirs")), outcome)
        space.submit(command("b", remember("ours")), outcome)
        before = b"".join(space.pieces())
        with pytest.raises(Conflict):
            space.receive(source.pieces())
        with pytest.raises(Conflict):
            space.receive([whole])
        assert b"".join(space.pieces()) == before
        source.close()
