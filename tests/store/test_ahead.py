"""What the acts of a command name is looked up at once, and never believed for too long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import msgspec
import pytest

from recollect.index.rows import content_id
from recollect.index.tables import Names, Tables
from recollect.lifecycle.commands import Act, Actor, Command, Forget, Observe, Remember, Revise
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.store import write_path
from recollect.store.indexed.backend import MemorySpace
from recollect.store.port import Space
from recollect.store.sqlite import memory_index
from recollect.testing.rebuilding import rebuilt_digest

STAMP, CHANCE = "20260101", "abcdefghijklmnop"


@pytest.fixture(params=[1, 10**9], ids=["ahead", "one by one"])
def space(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Space]:
    """A space that looks up the names of every command ahead, and one that never does."""
    monkeypatch.setattr(write_path, "_MANY_ACTS", request.param)
    monkeypatch.setattr(write_path, "_MANY_REQUESTS", request.param)
    with closing(MemorySpace("main")) as space:
        yield space


def remember(text: str, chance: str = CHANCE) -> Remember:
    return Remember(text=text, id=None, stamp=STAMP, chance=chance)


def observe(text: str, chance: str = CHANCE) -> Observe:
    return Observe(
        text=text, role="user", id=None, stamp=STAMP, chance=chance, said_at="", session=None
    )


def subjects(space: Space, *acts: Act) -> tuple[str, ...]:
    command = Command(id=f"c{space.head().seq}", actor=Actor(trust="person"), acts=acts)
    return space.submit(command, lambda reads, outcome: outcome.subjects)


@pytest.mark.parametrize("make", [remember, observe])
@pytest.mark.parametrize("together", [True, False])
def test_an_id_that_is_taken_meanwhile_is_not_given_again(
    space: Space, make: Any, together: bool
) -> None:
    acts: Sequence[Act] = [make("the first"), make("the second")]
    if together:
        ids = subjects(space, *acts)
    else:
        ids = (*subjects(space, acts[0]), *subjects(space, acts[1]))
    assert [id.rpartition("-")[2] for id in ids] == [CHANCE[:6], CHANCE[:8]]
    assert Memory(Handle(space)).admin.verify(deep=True).ok


@pytest.mark.parametrize("together", [True, False])
def test_a_sentence_that_is_said_again_is_still_the_same(space: Space, together: bool) -> None:
    acts = [remember("said twice"), remember("said twice", "qrstuvwxyz")]
    if together:
        ids = subjects(space, *acts)
    else:
        ids = (*subjects(space, acts[0]), *subjects(space, acts[1]))
    assert ids[0] == ids[1]
    (record,) = Memory(Handle(space)).list()
    assert record.reinforcement_count == 1


def test_an_episode_that_was_named_before_it_came_is_not_tied(space: Space) -> None:
    """The id that chance will offer stands in evidence already, and leads elsewhere."""
    coming = f"e-{STAMP}-{CHANCE[:6]}"
    subjects(space, Remember(text="as he said", id="r", stamp="", chance="", evidence=(coming,)))
    subjects(space, Revise(id="r", text="he said nothing"))
    assert subjects(space, observe("what he said")) == (coming,)
    assert Memory(Handle(space)).get(coming).status == "visible"
    assert space.index_problem() is None


def test_what_a_refused_command_saw_is_not_at_hand_for_the_next(space: Space) -> None:
    refused = (msgspec.structs.replace(observe("taken back"), id="e-one"), Forget(id="nobody"))
    assert space.later(Command(id="refused", actor=Actor(trust="person"), acts=refused))
    assert subjects(space, msgspec.structs.replace(observe("kept"), id="e-one")) == ("e-one",)
    assert Memory(Handle(space)).get("e-one").text == "kept"
    assert space.index_problem() is None


def test_a_sentence_that_many_say_comes_back_once(space: Space) -> None:
    """In a space of many users a common one would else come back for each of them."""
    memory = Memory(Handle(space))
    for user in ("ann", "bob", "cem"):
        memory.scoped(user=user).remember("likes tea")
    names = Names(contents=frozenset({content_id("likes tea"), "nowhere"}))
    with space.reading() as reads:
        found = reads.db.rows("there", names.lists())
    assert found == [("contents", content_id("likes tea"))]
    assert names.without(found) == Names(contents=frozenset({"nowhere"}))


def test_an_episode_that_is_at_hand_is_not_shown_as_it_was(space: Space) -> None:
    memory = Memory(Handle(space))
    with memory.batch() as batch:
        batch.observe("seen and forgotten", id="e-one")
        batch.forget("e-one")
        batch.observe("seen and corrected", id="e-two")
        batch.remember("it was so", evidence=["e-two"], id="r")
        batch.revise("r", "it was not so")
    shown = {found.id: found.status for found in batch.results if found.id != "r"}
    assert shown == {"e-one": "forgotten", "e-two": "hidden"}
    memory.erase("e-one")
    assert memory.admin.verify(deep=True).ok
    assert memory.admin.digest() == rebuilt_digest(memory.admin)


def test_a_name_is_believed_absent_until_it_is_written_or_taken_back() -> None:
    with closing(memory_index("main")) as db:
        tables = Tables(db)
        names = Names(
            frozenset({"r"}), frozenset({"e", "f"}), frozenset({"c", "d"}), frozenset({"k", "l"})
        )
        tables.lack(names)
        assert not tables.has_version("r")
        assert tables.episode("e") is None
        assert tables.has_no_content("c")
        assert tables.has_no_key("k")
        tables.write("add_version", (), "c", "k")
        assert not tables.has_no_content("c")
        assert not tables.has_no_key("k")
        assert tables.has_no_content("d")
        assert tables.has_no_key("l")
        assert tables.episode("f") is None
        tables.drop()
        assert not tables.has_no_content("d")
        assert not tables.has_no_key("l")
