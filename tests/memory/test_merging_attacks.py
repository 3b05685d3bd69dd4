"""Merging when a step was forgotten, raced or forged: nothing is lost, and nothing gets in."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recollect import Memory
from recollect.errors import Changed, Conflict, InvalidInput, Unsupported
from recollect.memory.handle.handle import handle_of
from recollect.memory.merging import merge_steps
from recollect.memory.merging.merge_steps import Writing
from recollect.model import events as e
from recollect.model import limits
from recollect.store.seam import REAL
from tests.memory.two_ledgers import Two, added, append, assert_same, texts


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Two]:
    made = Two(tmp_path)
    yield made
    made.close()


def raw(memory: Memory) -> bytes:
    return b"".join(handle_of(memory).space.pieces())


def last_command(memory: Memory) -> str:
    line = handle_of(memory).space.pieces()
    return json.loads(b"".join(line).splitlines()[-1])["id"].rpartition(".")[0]  # type: ignore[no-any-return]


# Forgetting --mine, and saying it later.


def vouched_over_agent(two: Two) -> None:
    (heard,) = two.b.observe("The model says tea.", role="assistant")
    two.b.remember("Vouched over an agent.", evidence=[heard.id])


def replaced_twice(two: Two) -> None:
    two.b.remember("The seat is 14C.", key="seat")
    two.b.remember("The seat is 33B.", key="seat")


def linked_and_set(two: Two) -> None:
    two.b.graph.link(two.seat, two.tea, weight=0.9)
    two.b.settings.documents.set("note", "day", {"n": 2})
    two.b.revise(two.tea, tags=["drink"])
    two.b.revise(two.tea, "Tea with lemon.")


@pytest.mark.parametrize("change", [vouched_over_agent, replaced_twice, linked_and_set])
def test_a_merge_without_mine_is_repaired_by_one_with_it(
    two: Two, change: Callable[[Two], None]
) -> None:
    change(two)
    two.a.admin.merge_from(two.b)
    done = two.a.admin.merge_from(two.b, is_mine=True)
    assert (done.conflicts, done.left) == ((), ())
    two.b.admin.merge_from(two.a, is_mine=True)
    assert_same(two)
    assert {row[2] for row in texts(two.a).values()} == {"person"}
    assert [link.trust for link in two.a.why(two.seat).links] == [
        link.trust for link in two.b.why(two.seat).links
    ]
    heads = [memory.events.position for memory in (two.a, two.b)]
    two.a.revise(two.tea, "Tea with honey.")  # later changes of this side alone are no conflict
    assert two.a.admin.merge_from(two.b, is_mine=True).conflicts == ()
    assert two.a.events.position == heads[0] + 1
    two.b.admin.merge_from(two.a, is_mine=True)
    assert_same(two)


def test_what_this_side_changed_itself_is_asked_after_a_merge_without_mine(two: Two) -> None:
    made = two.b.remember("Written in B.").id
    two.a.admin.merge_from(two.b)
    two.a.revise(made, "Rewritten in A.")
    shown = two.a.admin.merge_from(two.b, is_mine=True, dry_run=True)
    assert [one.id for one in shown.conflicts] == [made]
    two.a.admin.merge_from(two.b, is_mine=True, choose={made: "ours"})
    two.b.admin.merge_from(two.a, is_mine=True)
    assert_same(two)
    assert two.b.get(made).text == "Rewritten in A."


def test_a_decision_without_mine_is_asked_again_if_more_comes_with_it(two: Two) -> None:
    bot = two.a.scoped(trust="agent", agent="bot").remember("Written by a bot.").id
    two.b.admin.merge_from(two.a, is_mine=True)
    two.b.revise(bot, "A person's words in B.")
    two.a.scoped(trust="agent", agent="bot").revise(bot, "The bot's words in A.")
    two.a.admin.merge_from(two.b, choose={bot: "ours"})
    assert texts(two.a)[bot][2] == "agent"
    shown = two.a.admin.merge_from(two.b, is_mine=True, dry_run=True)
    assert [one.id for one in shown.conflicts] == [bot]
    two.a.admin.merge_from(two.b, is_mine=True, choose={bot: "ours"})
    assert texts(two.a)[bot][2] == "agent"  # no person has vouched for these words
    two.b.admin.merge_from(two.a, is_mine=True)
    assert_same(two)


def test_a_stranger_after_a_stranger_gets_no_persons_word(two: Two, tmp_path: Path) -> None:
    append(two.b, "agent", added("r-1", trust="agent"))
    two.a.admin.merge_from(two.b)
    shutil.copytree(tmp_path / "b", tmp_path / "evil")
    with Memory.open(tmp_path / "evil") as evil:
        append(evil, "person", e.RecordRevised(id="r-1", trust="person", text="Evil."))
        done = two.a.admin.merge_from(evil)
    assert (done.decided, done.conflicts) == (0, ())
    assert texts(two.a)["r-1"][2] == "agent"


# One id for two commands.


@pytest.mark.parametrize("key", ["week~k1", "week~k5-6", "week~x12", "week~x0123456789abcde:1"])
def test_a_callers_key_is_no_syntax_of_a_merge(two: Two, key: str) -> None:
    two.b.remember("The seat is 77.", key="seat", idempotency_key=key)
    assert two.a.admin.merge_from(two.b, is_mine=True).events == 2
    two.b.admin.merge_from(two.a, is_mine=True)
    assert_same(two)
    assert two.a.get(key="seat").text == "The seat is 77."


def test_a_key_that_looks_like_a_merged_command_is_refused(two: Two) -> None:
    for key in ("week~x0123456789abcdef", "week~u0123456789abcdef:1-3"):
        with pytest.raises(InvalidInput, match="merged command"):
            two.b.remember("A tag.", idempotency_key=key)


def test_a_ledger_that_has_such_a_key_keeps_what_it_said(two: Two) -> None:
    command = "week~x0123456789abcdef:7"
    append(two.b, "agent", added("r-1"), added("r-2"), command=command)
    two.a.admin.merge_from(two.b, is_mine=True)
    assert {"r-1", "r-2"} <= texts(two.a).keys()


@pytest.mark.parametrize("is_first", [True, False])
def test_two_calls_under_one_made_up_id_both_come(two: Two, *, is_first: bool) -> None:
    key = hashlib.md5(b"daily", usedforsecurity=False).hexdigest()
    two.a.remember("What A said.", idempotency_key=key)
    two.b.remember("What B said.", idempotency_key=key)
    one, other = (two.a, two.b) if is_first else (two.b, two.a)
    one.admin.merge_from(other, is_mine=True)
    other.admin.merge_from(one, is_mine=True)
    assert_same(two)
    assert {row[0] for row in texts(two.a).values()} >= {"What A said.", "What B said."}


@pytest.mark.parametrize("tagged", [False, True])
def test_a_forged_copy_does_not_keep_out_the_honest_one(
    two: Two, tmp_path: Path, *, tagged: bool
) -> None:
    shutil.copytree(tmp_path / "b", tmp_path / "evil")
    made = two.b.remember("True words of B.").id
    command = last_command(two.b)
    if tagged:  # it says of itself that it is that command, brought by a merge
        line = json.loads(raw(two.b).splitlines()[-1])
        command = f"{command}~x{line['hash'][:16]}"
    with Memory.open(tmp_path / "evil") as evil:
        when = "2026-01-01T00:00:00.000000Z" if tagged else None
        words = added(made, text="Evil words.", trust="agent", written_at=when)
        append(evil, "agent", words, command=command)
        assert two.a.admin.merge_from(evil).commands == 1
    two.a.admin.merge_from(two.b, is_mine=True)
    assert two.a.get(made).text == "True words of B."
    assert texts(two.a)[made][2] == "person"
    two.b.admin.merge_from(two.a, is_mine=True)
    assert two.b.get(made).text == "True words of B."


# Someone writes while a merge is on its way.


def racing(monkeypatch: pytest.MonkeyPatch, at: int, write: Callable[[], object]) -> None:
    """Another handle writes just before one of the appends of a merge."""
    append_some, seen = Writing._append, 0

    def raced(self: Writing, commands: list[object]) -> int:
        nonlocal seen
        seen += 1
        if seen == at:
            write()
        return append_some(self, commands)  # type: ignore[arg-type]

    monkeypatch.setattr(Writing, "_append", raced)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_write_before_a_merge_stops_all_of_it(
    two: Two, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    made = two.b.remember("First version.").id
    two.b.revise(made, "Second version.")
    two.b.revise(made, tags=["tag"])
    with Memory.open(tmp_path / "a") as other:
        racing(monkeypatch, 1, lambda: [other.remember(f"Raced {n}.") for n in range(count)])
        with pytest.raises(Changed):
            two.a.admin.merge_from(two.b, is_mine=True)
    assert made not in texts(two.a)
    two.a.admin.merge_from(two.b, is_mine=True)
    two.b.admin.merge_from(two.a, is_mine=True)
    assert_same(two)


@pytest.mark.parametrize("at_once", [1, 200])
def test_a_write_before_the_decision_is_not_overruled(
    two: Two, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(merge_steps, "AT_ONCE", at_once)
    two.a.remember("The seat is 14C.", key="seat")
    two.b.revise(two.seat, "The seat is 33B.")
    shown = two.a.admin.merge_from(two.b, is_mine=True, dry_run=True)
    choose = {shown.conflicts[0].id: "ours"}
    with Memory.open(tmp_path / "a") as other:
        racing(monkeypatch, 2, lambda: other.remember("The seat is 50D.", key="seat"))
        with pytest.raises(Changed):
            two.a.admin.merge_from(two.b, is_mine=True, choose=choose)  # type: ignore[arg-type]
    assert two.a.get(key="seat").text == "The seat is 50D."
    again = two.a.admin.merge_from(two.b, is_mine=True, dry_run=True)
    assert again.conflicts[0].ours.values == ("The seat is 50D.",)
    two.a.admin.merge_from(two.b, is_mine=True, choose={again.conflicts[0].id: "ours"})
    two.b.admin.merge_from(two.a, is_mine=True)
    assert_same(two)
    active = [row for row in texts(two.a).values() if row[1] == "active" and "seat" in row[0]]
    assert [row[0] for row in active] == ["The seat is 50D."]


def test_what_was_ordered_is_erased_if_a_merge_is_stopped(
    two: Two, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_steps, "AT_ONCE", 1)
    two.b.erase(two.said)
    two.b.remember("After that.")
    with Memory.open(tmp_path / "a") as other:
        racing(monkeypatch, 2, lambda: other.remember("Raced."))
        with pytest.raises(Changed):
            two.a.admin.merge_from(two.b, is_mine=True)
    assert b"window" not in raw(two.a)


def test_a_refused_command_keeps_out_nothing_but_itself(two: Two) -> None:
    append(two.b, "agent", added("r-1", trust="agent"))
    append(two.b, "agent", e.RecordForgotten(id=two.tea))
    append(two.b, "agent", added("r-2", trust="agent"))
    shown = two.a.admin.merge_from(two.b, dry_run=True)
    done = two.a.admin.merge_from(two.b)
    assert shown.left == done.left
    assert len(done.left) == 1
    assert {"r-1", "r-2"} <= texts(two.a).keys()


# What was erased, under whichever command.


def imported(two: Two, tmp_path: Path) -> str:
    made = two.a.remember("Secret sentence.").id
    two.a.admin.export("ndjson", str(tmp_path / "x.ndjson"))
    two.b.admin.import_(str(tmp_path / "x.ndjson"), "recollect")
    return made


def observed(two: Two, tmp_path: Path) -> str:
    for memory in (two.a, two.b):
        memory.observe("Secret sentence.", id="sess-1-0", role="user")
    return "sess-1-0"


@pytest.mark.parametrize("write", [imported, observed])
@pytest.mark.parametrize("is_first", [True, False])
def test_what_was_erased_stays_so_if_both_wrote_it(
    two: Two, tmp_path: Path, write: Callable[[Two, Path], str], *, is_first: bool
) -> None:
    two.a.erase(write(two, tmp_path))
    pair = [(two.a, two.b), (two.b, two.a)]
    for one, other in pair if is_first else pair[::-1]:
        one.admin.merge_from(other, is_mine=True)
    for memory in (two.a, two.b):
        assert b"Secret sentence" not in raw(memory)
    assert_same(two)
    heads = [two.a.events.position, two.b.events.position]
    two.a.admin.merge_from(two.b, is_mine=True)
    two.b.admin.merge_from(two.a, is_mine=True)
    assert [two.a.events.position, two.b.events.position] == heads


def test_another_episode_of_an_erased_id_stays(two: Two) -> None:
    two.a.observe("Said in A.", id="sess-1-0", role="user")
    two.b.observe("Said in B, and longer.", id="sess-1-0", role="user")
    with pytest.raises(Conflict, match="another episode"):
        two.a.admin.merge_from(two.b, is_mine=True)
    two.a.erase("sess-1-0")
    two.a.admin.merge_from(two.b, is_mine=True)
    two.b.admin.merge_from(two.a, is_mine=True)
    for memory in (two.a, two.b):
        assert memory.get("sess-1-0").text == "Said in B, and longer."


def test_an_id_that_is_used_again_is_not_erased_again(two: Two) -> None:
    two.a.observe("The old one.", id="sess-1-0", role="user")
    two.a.erase("sess-1-0")
    two.a.observe("The new one.", id="sess-1-0", role="user")
    for _ in range(2):
        two.b.admin.merge_from(two.a, is_mine=True)
        two.a.admin.merge_from(two.b, is_mine=True)
    for memory in (two.a, two.b):
        assert memory.get("sess-1-0").text == "The new one."


# Forged instants.


@pytest.mark.parametrize("when", ["garbage", "2026-13-45T99:99:99.999999Z", "2999-01-01", ""])
def test_a_forged_instant_does_not_come(two: Two, when: str) -> None:
    append(two.b, "agent", added("r-1", trust="agent", written_at=when or "x"))
    append(two.b, "agent", added("r-2", trust="agent", valid_from=when))
    append(two.b, "agent", e.EpisodeObserved(id="e-1", text="said", role="tool", said_at=when))
    for is_mine in (False, True):
        done = two.a.admin.merge_from(two.b, is_mine=is_mine)
        assert len(done.left) == 3
    assert two.a.events.position == 4


def test_a_strangers_event_was_written_when_its_own_line_says(two: Two) -> None:
    append(two.b, "agent", added("r-1", trust="agent", written_at="2001-01-01T00:00:00.000000Z"))
    two.a.admin.merge_from(two.b)
    assert not two.a.history("r-1")[0].at.startswith("2001")


def test_a_forged_instant_that_is_in_the_ledger_stops_no_read(two: Two) -> None:
    state = e.RecordState(
        text="Tea, settled.", kind="fact", confidence=1.0, status="active", said_at="zz"
    )
    append(
        two.a,
        "person",
        added("r-1", written_at="garbage", valid_from="never", said_at="then", expires="soon"),
        e.EpisodeObserved(id="e-1", text="forged talk", role="user", said_at="nonsense"),
        e.RecordRevised(id=two.seat, trust="person", valid_to="later"),
        e.RecordReviewed(id=two.tea, trust="person", digest="", verdict="settled", state=state),
    )
    assert {hit.id for hit in two.a.recall("forged").hits} >= {"r-1"}
    assert two.a.sessions.recent()
    assert two.a.history("r-1")[0].at.startswith("20")
    assert two.a.get(two.tea).text == "Tea, settled."
    assert two.a.admin.verify(deep=True).ok
    two.a.remember("Still writing.")


# Limits, subjects, ids that mean two things.


def test_a_decision_that_one_command_cannot_hold_is_split(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(15):
        two.a.remember(f"A says {number}.", key="seat")
        two.b.remember(f"B says {number}.", key="seat")
    shown = two.a.admin.merge_from(two.b, is_mine=True, dry_run=True)
    monkeypatch.setattr(limits, "COMMAND_MAX_EVENTS", 12)
    (conflict,) = shown.conflicts
    two.a.admin.merge_from(two.b, is_mine=True, choose={conflict.id: "ours"})
    two.b.admin.merge_from(two.a, is_mine=True)
    assert_same(two)
    assert two.b.get(key="seat").text == "A says 14."


def test_a_command_that_is_too_large_is_named(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    append(two.b, "agent", *(added(f"r-{n}", trust="agent") for n in range(5)))
    two.b.remember("A small one.")
    monkeypatch.setattr(limits, "COMMAND_MAX_EVENTS", 4)
    done = two.a.admin.merge_from(two.b, is_mine=True)
    assert [one.partition(": ")[2] for one in done.left] == ["it is too large for one command"]
    assert "A small one." in {row[0] for row in texts(two.a).values()}


@pytest.mark.parametrize("side", ["a", "b"])
def test_a_setting_to_encrypt_refuses_the_first_merge_too(two: Two, side: str) -> None:
    one, other = (two.a, two.b) if side == "a" else (two.b, two.a)
    one.settings.set_subjects("users")
    other.remember("Written in the other one.")
    for target, source in ((one, other), (other, one)):
        before = target.events.position
        with pytest.raises(Unsupported, match="encrypted"):
            target.admin.merge_from(source, is_mine=True)
        assert target.events.position == before


def test_a_stranger_cannot_block_a_merge_with_an_id(two: Two) -> None:
    append(
        two.b,
        "agent",
        e.EpisodeObserved(id=two.said, text="other", role="user", said_at=REAL.now()),
    )
    append(two.b, "agent", added("good", trust="agent"))
    append(two.b, "agent", added(two.seat, trust="agent", key="another"))
    done = two.a.admin.merge_from(two.b)
    assert [one.partition(": ")[2] for one in done.left] == [
        "its episode has an id of another one here",
        "its record has an id of another one here",
    ]
    assert "good" in texts(two.a)
    with pytest.raises(Conflict, match="another episode") as refused:
        two.a.admin.merge_from(two.b, is_mine=True)
    for memory in (two.a, two.b):
        assert handle_of(memory).space.where in (refused.value.hint or "")


def test_two_records_that_say_the_same_under_one_key_are_not_asked(two: Two) -> None:
    two.a.remember("The car is red.", key="car")
    two.b.remember("The car is red.", key="car")
    assert two.a.admin.merge_from(two.b, is_mine=True).conflicts == ()
    two.b.admin.merge_from(two.a, is_mine=True)
    assert_same(two)
    assert two.a.get(key="car").text == "The car is red."
    two.b.remember("The car is blue.", key="car")
    two.a.remember("The car is green.", key="car")
    assert len(two.a.admin.merge_from(two.b, is_mine=True, dry_run=True).conflicts) == 1


def test_a_conflict_is_settled_by_its_key(two: Two) -> None:
    two.a.remember("The seat is 14C.", key="seat")
    two.b.revise(two.seat, "The seat is 33B.")
    (conflict,) = two.a.admin.merge_from(two.b, is_mine=True, dry_run=True).conflicts
    with pytest.raises(InvalidInput, match="more than one decision"):
        two.a.admin.merge_from(two.b, is_mine=True, choose={"seat": "ours", conflict.id: "ours"})
    two.a.admin.merge_from(two.b, is_mine=True, choose={"seat": "theirs"})
    assert two.a.get(key="seat").text == "The seat is 33B."
    with pytest.raises(InvalidInput, match="decided already"):
        two.a.admin.merge_from(two.b, is_mine=True, choose={"seat": "theirs"})


# Who did it.


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Two]:
    monkeypatch.setenv("RECOLLECT_NAME", "Mara")
    made = Two(tmp_path)
    yield made
    made.close()


def name_of(memory: Memory, id: str) -> str | None:
    author = memory.history(id)[0].author
    return None if author is None else author.name


@pytest.mark.parametrize("is_copied_before", [True, False])
def test_nobody_takes_over_what_a_person_did_whose_name_was_erased(
    named: Two, tmp_path: Path, *, is_copied_before: bool
) -> None:
    mara = named.a.history(named.tea)[0].author
    assert mara is not None
    named.a.erase(author="Mara")
    if not is_copied_before:
        shutil.copytree(tmp_path / "a", tmp_path / "c")
    with Memory.open(tmp_path / ("b" if is_copied_before else "c")) as copy:
        taken = e.AuthorNamed(id=mara.id, name="Boss", author=mara.id)
        append(copy, "person", taken, added("r-1", author=mara.id))
        named.a.admin.merge_from(copy)
    assert name_of(named.a, named.tea) is None
    assert name_of(named.a, "r-1") == (None if is_copied_before else "Boss")


def test_without_a_signature_each_command_keeps_its_author(named: Two) -> None:
    ben = e.AuthorNamed(id="be11", name="Ben", author="be11")
    append(named.b, "person", ben, added("r-1", author="be11"))
    append(named.b, "person", added("r-2", author="be11"))
    named.a.admin.merge_from(named.b)
    append(named.b, "person", added("r-3", author="be11"))
    named.a.admin.merge_from(named.b)
    assert [name_of(named.a, id) for id in ("r-1", "r-2", "r-3")] == ["Ben"] * 3
    append(named.b, "person", added("r-4", author="be11"))
    named.a.admin.merge_from(named.b, is_mine=True)
    assert name_of(named.a, "r-4") == "Ben"


def test_a_claimed_name_is_not_the_one_who_has_it_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_NAME", "-")
    two = Two(tmp_path)
    mara = e.AuthorNamed(id="e411", name="Mara", author="e411")
    append(two.b, "person", mara, added("r-1", author="e411"))
    two.a.admin.merge_from(two.b)
    two.a.close()
    monkeypatch.setenv("RECOLLECT_NAME", "Mara")
    two.a = Memory.open(tmp_path / "a")
    made = two.a.remember("By the real one.").id
    authors = [two.a.history(id)[0].author for id in ("r-1", made)]
    assert [one.name for one in authors if one is not None] == ["Mara", "Mara"]
    assert authors[0].id != authors[1].id  # type: ignore[union-attr]
    two.close()


def test_a_decision_is_not_the_one_whose_words_it_takes(named: Two) -> None:
    named.a.settings.documents.set("note", "day", {"n": 1})
    mara = named.a.history(named.tea)[0].author
    assert mara is not None
    forged = e.DocumentSet(
        type="note", name="day", trust="person", data={"n": 66}, author=mara.id, agent="bot"
    )
    append(named.b, "person", forged)
    shown = named.a.admin.merge_from(named.b, dry_run=True)
    named.a.admin.merge_from(named.b, choose={shown.conflicts[0].id: "theirs"})
    body = json.loads(raw(named.a).splitlines()[-1])["data"]
    assert body["data"] == {"n": 66}
    assert not {"author", "agent", "session"} & body.keys()
