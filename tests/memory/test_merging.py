"""Two copies of a memory that both grew come together, and a stranger's copy brings little."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Memory
from recollect.config import keys_folder
from recollect.errors import Changed, Conflict, Forbidden, IntegrityError, InvalidInput, Unsupported
from recollect.memory.handle.handle import handle_of
from recollect.memory.keys import Keys
from recollect.model import events as e
from recollect.model.values import Choice
from tests.memory.two_ledgers import EVERYTHING, Two, added, append, assert_same, texts


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Two]:
    made = Two(tmp_path)
    yield made
    made.close()


def test_what_both_wrote_is_in_both_with_authors_and_times(two: Two) -> None:
    mine = two.a.remember("Only in A.").id
    theirs = two.b.scoped(trust="agent", agent="bot").remember("Only in B.").id
    two.b.revise(two.tea, tags=["drink"])
    at = two.b.history(theirs)[0].at
    done = two.a.admin.merge_from(two.b, is_mine=True)
    assert (done.fork, done.commands, done.events, done.conflicts) == (4, 2, 2, ())
    two.b.admin.merge_from(two.a, is_mine=True)
    assert_same(two)
    assert {mine, theirs} <= texts(two.b).keys()
    (version,) = two.a.history(theirs)
    assert (version.by, version.record.scope.agent, version.at) == ("agent", "bot", at)
    assert two.a.admin.merge_from(two.b, is_mine=True).commands == 0
    assert two.b.admin.merge_from(two.a, is_mine=True).commands == 0


@pytest.mark.parametrize("is_mine", [True, False])
def test_each_side_learns_who_acted_on_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_mine: bool
) -> None:
    monkeypatch.setenv("RECOLLECT_NAME", "Mara")
    two = Two(tmp_path)
    two.b.close()
    monkeypatch.setenv("RECOLLECT_NAME", "Ben")
    two.b = Memory.open(tmp_path / "b")
    mine, theirs = two.a.remember("Only in A.").id, two.b.remember("Only in B.").id
    two.a.admin.merge_from(two.b, is_mine=is_mine)
    two.b.admin.merge_from(two.a, is_mine=True)
    for memory in (two.a, two.b):
        names = {id: str(memory.history(id)[0].author) for id in (mine, theirs)}
        assert names == {mine: "Mara", theirs: "Ben"}
    if is_mine:
        assert_same(two)
    two.close()


def test_a_strangers_copy_acts_in_no_name_that_is_known_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_NAME", "Mara")
    two = Two(tmp_path)
    mara = two.a.history(two.tea)[0].author
    assert mara is not None
    boss = e.AuthorNamed(id="b055", name="Boss", checked="token", author="b055")
    append(two.b, "person", added("r-1", author=mara.id))
    append(two.b, "person", boss, added("r-2", author="b055"))
    two.a.admin.merge_from(two.b)
    assert two.a.history("r-1")[0].author is None
    author = two.a.history("r-2")[0].author
    assert author is not None
    assert (author.name, author.checked) == ("Boss", None)
    two.close()


def test_a_dry_run_writes_nothing_and_shows_both_sides(two: Two) -> None:
    two.a.remember("The seat is 14C.", key="seat")
    two.b.revise(two.seat, "The seat is 33B.")
    before = two.a.events.position
    shown = two.a.admin.merge_from(two.b, is_mine=True, dry_run=True)
    (conflict,) = shown.conflicts
    assert conflict.ours.values == ("The seat is 14C.",)
    assert conflict.theirs.values == ("The seat is 33B.",)
    assert (conflict.what, conflict.ours.key, conflict.theirs.by) == (
        "record",
        "seat",
        "person",
    )
    with pytest.raises(Conflict, match="nothing was merged"):
        two.a.admin.merge_from(two.b, is_mine=True)
    assert two.a.events.position == before


@pytest.mark.parametrize("word", ["ours", "theirs"])
def test_what_was_decided_holds_in_both(two: Two, word: str) -> None:
    two.a.remember("The seat is 14C.", key="seat")
    two.b.revise(two.seat, "The seat is 33B.")
    shown = two.a.admin.merge_from(two.b, is_mine=True, dry_run=True)
    choose = {shown.conflicts[0].id: word}
    two.a.admin.merge_from(two.b, is_mine=True, choose=choose, digest=shown.digest)  # type: ignore[arg-type]
    assert two.b.admin.merge_from(two.a, is_mine=True).conflicts == ()
    assert_same(two)
    held = two.a.get(key="seat")
    assert held.text == {"ours": "The seat is 14C.", "theirs": "The seat is 33B."}[word]
    every = {version.record.text for version in two.b.history(two.seat)}
    assert "The seat is 33B." in every


def test_links_tags_documents_and_forgotten_episodes_are_decided_too(two: Two) -> None:
    two.a.graph.link(two.seat, two.tea, weight=0.2)
    two.b.graph.link(two.seat, two.tea, weight=0.9)
    two.a.settings.documents.set("note", "day", {"n": 1})
    two.b.settings.documents.set("note", "day", {"n": 2})
    two.a.revise(two.tea, tags=["drink"])
    two.a.revise(two.tea, untag=["drink"])
    two.b.revise(two.tea, tags=["drink"])
    two.a.forget(two.said)
    two.b.forget(two.said)
    two.b.undo(two.said)
    shown = two.a.admin.merge_from(two.b, is_mine=True, dry_run=True)
    assert {one.what for one in shown.conflicts} == {"link", "document", "tag", "episode"}
    choose = {one.id: "theirs" for one in shown.conflicts}
    two.a.admin.merge_from(two.b, is_mine=True, choose=choose)  # type: ignore[arg-type]
    two.b.admin.merge_from(two.a, is_mine=True)
    assert_same(two)
    assert two.b.settings.documents.get("note", "day").data == {"n": 2}
    assert [link.weight for link in two.a.why(two.seat).links] == [0.9]
    assert two.a.get(two.tea).tags == two.b.get(two.tea).tags == ("drink",)  # type: ignore[union-attr]


def test_what_was_erased_on_either_side_is_gone_on_both(two: Two) -> None:
    two.b.erase(two.said)
    two.b.erase(two.tea)
    two.a.revise(two.tea, "Tea with a drop of milk.")
    two.a.erase(two.seat)
    two.b.revise(two.seat, "The seat is by the galley.")
    done = two.a.admin.merge_from(two.b, is_mine=True)
    assert done.erased > 0
    two.b.admin.merge_from(two.a, is_mine=True)
    assert_same(two)
    assert texts(two.a) == {}
    for memory in (two.a, two.b):
        raw = b"".join(handle_of(memory).space.pieces())
        for words in (
            b"galley",
            b"The seat is",
            b"milk",
            b"window",
        ):  # no instant and no hash has them
            assert words not in raw


def test_what_came_without_effect_is_erased_with_its_record(two: Two) -> None:
    bot = two.a.scoped(trust="agent", agent="bot")
    tea = bot.remember("Green tea.").id
    two.b.admin.merge_from(two.a, is_mine=True)
    bot.revise(tea, "Tea with cinnamon.")
    two.b.revise(tea, "Black tea.")  # a person has vouched for it, so the other one changes nothing
    shown = two.b.admin.merge_from(two.a, is_mine=True, dry_run=True)
    two.b.admin.merge_from(two.a, is_mine=True, choose={tea: "ours"}, digest=shown.digest)
    assert b"cinnamon" in b"".join(handle_of(two.b).space.pieces())
    two.b.erase(tea)
    assert b"cinnamon" not in b"".join(handle_of(two.b).space.pieces())
    assert two.b.admin.verify(deep=True).ok
    two.b.admin.merge_from(two.a, is_mine=True)
    two.a.admin.merge_from(two.b, is_mine=True)
    for memory in (two.a, two.b):
        assert b"cinnamon" not in b"".join(handle_of(memory).space.pieces())
    heads = [handle_of(memory).space.head() for memory in (two.a, two.b)]
    two.b.admin.merge_from(two.a, is_mine=True)
    two.a.admin.merge_from(two.b, is_mine=True)
    assert [handle_of(memory).space.head() for memory in (two.a, two.b)] == heads


@pytest.mark.parametrize("word", ["ours", "theirs"])
def test_a_tag_here_and_a_restoring_there_are_decided(two: Two, word: Choice) -> None:
    bot = two.a.scoped(trust="agent", agent="bot")
    note = bot.remember("Green tea.").id
    bot.forget(note)
    two.b.admin.merge_from(two.a, is_mine=True)
    two.b.scoped(trust="agent").undo(note)
    two.a.revise(note, tags=["kitchen"])  # after which an agent could not restore it here
    shown = two.a.admin.merge_from(two.b, is_mine=True, dry_run=True)
    assert [one.id for one in shown.conflicts] == [note]
    two.a.admin.merge_from(two.b, is_mine=True, choose={note: word}, digest=shown.digest)
    two.b.admin.merge_from(two.a, is_mine=True)
    found = two.a.get(note, include=["forgotten"])
    assert found.status == ("forgotten" if word == "ours" else "active")
    assert_same(two)


@pytest.mark.parametrize("is_mine", [True, False])
def test_an_id_that_is_used_again_after_it_was_erased_comes(two: Two, *, is_mine: bool) -> None:
    two.a.remember("The first one.", id="mine")
    two.b.admin.merge_from(two.a, is_mine=True)
    two.a.erase("mine")
    two.b.admin.merge_from(two.a, is_mine=True)
    two.a.remember("The second one.", id="mine")
    two.b.admin.merge_from(two.a, is_mine=is_mine)
    found = [one.text for one in two.b.list(include=EVERYTHING) if one.id == "mine"]
    assert found == (["The second one."] if is_mine else [])  # else it may be what was erased
    two.b.admin.merge_from(two.a, is_mine=True)
    assert two.b.get("mine").text == "The second one."
    assert two.b.admin.verify(deep=True).ok


def test_a_close_of_an_erased_session_does_not_end_the_next_of_its_name(two: Two) -> None:
    two.a.sessions.open("trip")
    two.b.admin.merge_from(two.a, is_mine=True)
    two.b.sessions.close("trip", erase=True)
    two.a.sessions.close("trip")
    two.b.admin.merge_from(two.a, is_mine=True)
    two.a.admin.merge_from(two.b, is_mine=True)
    two.a.sessions.open("trip")
    assert two.b.admin.merge_from(two.a, is_mine=True).commands == 1
    assert two.b.admin.merge_from(two.a, is_mine=True).commands == 0
    for memory in (two.a, two.b):
        assert [one.id for one in memory.sessions.list() if one.status == "open"] == ["trip"]


def test_a_merge_that_was_stopped_goes_on(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.memory.merging.merge_steps.AT_ONCE", 1)
    two.a.remember("The seat is 14C.", key="seat")
    two.b.revise(two.seat, "The seat is 33B.")
    for number in range(3):
        two.b.remember(f"Number {number}.")
    shown = two.a.admin.merge_from(two.b, is_mine=True, dry_run=True)
    choose = {shown.conflicts[0].id: "ours"}
    for _ in range(4):  # all commands came at the end, and the decision did not

        def cut(done: int, total: int) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            two.a.admin.merge_from(two.b, is_mine=True, choose=choose, progress=cut)  # type: ignore[arg-type]
        again = two.a.admin.merge_from(two.b, is_mine=True, dry_run=True)
        assert again.conflicts[0].ours.values == ("The seat is 14C.",)
    two.a.admin.merge_from(two.b, is_mine=True, choose=choose)  # type: ignore[arg-type]
    two.b.admin.merge_from(two.a, is_mine=True)
    assert_same(two)
    assert two.b.get(key="seat").text == "The seat is 14C."


KILLED = """
import os, signal, sys
from recollect import Memory
import recollect.memory.merging.merge_steps as steps
steps.AT_ONCE = 1
a, b = Memory.open(sys.argv[1]), Memory.open(sys.argv[2])
seen = 0
def tick(done, total):
    global seen
    seen += 1
    if seen == 3:
        os.kill(os.getpid(), signal.SIGKILL)
a.admin.merge_from(b, is_mine=True, progress=tick)
"""


def test_a_merge_that_was_killed_goes_on(two: Two, tmp_path: Path) -> None:
    for number in range(6):
        two.b.remember(f"Number {number}.")
    two.a.remember("Only in A.")
    two.close()
    folders = [str(tmp_path / "a"), str(tmp_path / "b")]
    done = subprocess.run([sys.executable, "-c", KILLED, *folders], check=False)
    assert done.returncode == -signal.SIGKILL
    two.a, two.b = Memory.open(folders[0]), Memory.open(folders[1])
    assert 0 < two.a.admin.merge_from(two.b, is_mine=True).commands < 6
    two.b.admin.merge_from(two.a, is_mine=True)
    assert_same(two)
    assert len(texts(two.a)) == 9


def test_what_came_and_was_erased_here_is_erased_there(two: Two) -> None:
    for key in (None, "k"):
        id = two.b.remember(f"Said under {key}.", idempotency_key=key).id
        two.a.admin.merge_from(two.b, is_mine=True)
        two.a.erase(id)
        assert two.b.admin.merge_from(two.a, is_mine=True).erased == 1
        assert two.a.admin.merge_from(two.b, is_mine=True).commands == 0
        assert_same(two)
        assert id not in texts(two.b)


def test_one_key_of_two_calls_keeps_both(two: Two) -> None:
    two.a.remember("What A said.", idempotency_key="k")
    two.b.remember("What B said.", idempotency_key="k")
    two.a.admin.merge_from(two.b, is_mine=True)
    two.b.admin.merge_from(two.a, is_mine=True)
    assert_same(two)
    assert {one[0] for one in texts(two.a).values()} >= {"What A said.", "What B said."}


def test_the_same_call_on_both_sides_is_one(two: Two) -> None:
    for memory in (two.a, two.b):
        memory.remember("Said by an import.", id="import-1", idempotency_key="import-1")
    assert two.a.admin.merge_from(two.b, is_mine=True).commands == 0


def test_an_id_that_means_two_things_is_refused(two: Two) -> None:
    two.a.observe("One.", id="talk")
    two.b.observe("Two.", id="talk")
    with pytest.raises(Conflict, match="gave the id 'talk' to another episode"):
        two.a.admin.merge_from(two.b, is_mine=True)
    two.a.erase("talk")
    two.a.remember("mine", id="note", key="one")
    two.b.remember("yours", id="note", key="two")
    with pytest.raises(Conflict, match="gave the id 'note' to another record"):
        two.a.admin.merge_from(two.b, is_mine=True)


def test_a_refusal_says_what_is_wrong(two: Two, tmp_path: Path) -> None:
    two.a.revise(two.seat, "A.")
    two.b.revise(two.seat, "B.")
    with pytest.raises(InvalidInput, match="not a conflict"):
        two.a.admin.merge_from(two.b, is_mine=True, choose={"what": "ours"})
    wrong = {two.seat: "mine"}
    with pytest.raises(InvalidInput, match="decided with 'mine'"):
        two.a.admin.merge_from(two.b, is_mine=True, choose=wrong)  # type: ignore[arg-type]
    with pytest.raises(Changed):
        two.a.admin.merge_from(two.b, is_mine=True, choose={two.seat: "ours"}, digest="0" * 64)
    for handle in (two.a.scoped(trust="agent"), two.a.scoped(user="ann")):
        with pytest.raises(Forbidden):
            handle.admin.merge_from(two.b)
        with pytest.raises(Forbidden):
            two.b.admin.merge_from(handle)
    with pytest.raises(Unsupported):
        two.a.at(3).admin.merge_from(two.b)
    with Memory.open(tmp_path / "other") as other:
        other.remember("Of nobody here.")
        with pytest.raises(Conflict, match="no event in common") as refused:
            two.a.admin.merge_from(other)
        assert "recollect import" in (refused.value.hint or "")
    with pytest.raises(Conflict) as diverged:
        two.a.admin.copy_to(two.b)
    assert "--merge" in (diverged.value.hint or "")


def test_a_damaged_ledger_brings_nothing(two: Two, tmp_path: Path) -> None:
    two.b.remember("Written in B.")
    two.b.remember("And this.")
    two.b.close()
    file = next(path for path in (tmp_path / "b").rglob("events.wal"))
    file.write_bytes(file.read_bytes().replace(b"Written in B.", b"Written in C."))
    two.b = Memory.open(tmp_path / "b")
    with pytest.raises(IntegrityError):
        two.a.admin.merge_from(two.b)
    assert two.a.events.position == 4


# A copy that nothing shows to be this person's.


def test_without_a_signature_trust_is_at_most_an_agents(two: Two) -> None:
    made = two.b.remember("Written by a person in B.").id
    done = two.a.admin.merge_from(two.b)
    assert (done.signed, done.left) == (0, ())
    assert texts(two.a)[made][1:3] == ("active", "agent")
    assert two.a.admin.merge_from(two.b).commands == 0


def test_a_hostile_copy_changes_nothing_that_a_person_vouched_for(two: Two) -> None:
    before = texts(two.a)
    append(
        two.b, "person", e.RecordRevised(id=two.seat, trust="person", text="Forged.", evidence=())
    )
    append(
        two.b, "agent", e.RecordRevised(id=two.tea, trust="agent", text="Milk.", evidence=("x",))
    )
    append(two.b, "person", e.RecordSuperseded(id=two.tea, by="forged"), added("forged"))
    append(two.b, "person", e.RecordVouched(id=two.tea))
    append(two.b, "person", e.RecordForgotten(id=two.tea))
    append(two.b, "person", e.EventsErased(targets=(2, 3)))
    append(two.b, "person", e.DocumentSet(type="policy", name="agents", trust="person", data={}))
    append(two.b, "unverified", added("untold", trust="agent"))
    append(two.b, "person", added("taken", key="seat"))
    done = two.a.admin.merge_from(two.b)
    assert len(done.left) == 5
    now = texts(two.a)
    assert {id: now[id] for id in before} == before
    assert now["taken"][1:3] == ("waiting", "agent")
    assert "forged" not in now
    with pytest.raises(Exception, match=r"not found|exist"):
        two.a.settings.documents.get("policy", "agents")
    assert two.a.get(key="seat").text == "The seat is 12A."
    assert two.a.admin.verify(deep=True).ok


def test_a_hostile_copy_cannot_lend_trust_by_what_it_names(two: Two) -> None:
    (heard,) = two.b.observe("From a web page.", role="tool")
    append(two.b, "person", added("laundered", evidence=(heard.id,)))
    append(
        two.b,
        "person",
        e.RecordReviewed(id="laundered", trust="person", digest="", verdict="approved"),
    )
    two.a.admin.merge_from(two.b)
    assert texts(two.a)["laundered"][1:3] == ("waiting", "unverified")


def test_a_hostile_copy_enters_no_scope_of_another_user(two: Two) -> None:
    ann = two.a.scoped(user="ann").remember("Ann's.").id
    two.b.admin.merge_from(two.a, is_mine=True)
    append(two.b, "person", e.RecordRevised(id=ann, trust="agent", text="Bob's.", user="bob"))
    append(two.b, "agent", e.RecordTagged(id=ann, add=("seen",), user="bob"))
    two.a.admin.merge_from(two.b)
    assert two.a.get(ann).text == "Ann's."
    assert two.a.get(ann).tags == ()  # type: ignore[union-attr]


def test_a_signature_of_a_known_key_keeps_the_trust(two: Two) -> None:
    Keys(two.b).create()
    early = two.b.remember("Signed.").id
    two.b.proof.checkpoint()
    (seen,) = keys_folder().glob("*.note")
    seen.unlink()  # it was signed on the other machine, whose key is known here
    late = two.b.remember("Written after that.").id
    done = two.a.admin.merge_from(two.b)
    assert done.signed == 5
    assert texts(two.a)[early][2] == "person"
    assert texts(two.a)[late][2] == "agent"


def test_encrypted_subjects_are_refused(two: Two) -> None:
    two.b.settings.set_subjects("users")
    two.b.scoped(user="ann").remember("Ann's.")
    with pytest.raises(Unsupported, match="encrypted"):
        two.a.admin.merge_from(two.b, is_mine=True)
