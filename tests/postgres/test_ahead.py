"""What a write looks for is asked ahead, in one statement, and never believed for too long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import psycopg
import pytest

from recollect.index.rows import content_id
from recollect.index.tables import Names, Tables
from recollect.lifecycle.commands import Act, Actor, Command, Forget, Observe, Remember, Revise
from recollect.memory import Memory
from recollect.memory.handle import Handle
from recollect.store.postgres import db
from recollect.store.postgres.backend import PostgresBackend
from recollect.store.postgres.db import PostgresDb
from recollect.store.postgres.space import PostgresSpace
from recollect.testing.rebuilding import rebuilt_digest

STAMP, CHANCE = "20260101", "abcdefghijklmnop"


@pytest.fixture
def space(database: str) -> Iterator[PostgresSpace]:
    backend = PostgresBackend(database)
    space = backend.space("main", create=True)
    space.head()
    yield space
    backend.close()


@pytest.fixture
def asked(space: PostgresSpace, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of all reads that waited for an answer of their own."""
    names: list[str] = []
    for method in ("rows", "one"):
        plain = getattr(PostgresDb, method)

        def noted(self: PostgresDb, name: str, *more: Any, plain: Any = plain) -> object:
            names.append(name)
            return plain(self, name, *more)

        monkeypatch.setattr(PostgresDb, method, noted)
    return names


def remember(text: str, chance: str = CHANCE) -> Remember:
    return Remember(text=text, id=None, stamp=STAMP, chance=chance)


def observe(text: str, chance: str = CHANCE) -> Observe:
    return Observe(
        text=text, role="user", id=None, stamp=STAMP, chance=chance, said_at="", session=None
    )


def subjects(space: PostgresSpace, *acts: Act) -> tuple[str, ...]:
    command = Command(id=f"c{space.head().seq}", actor=Actor(trust="person"), acts=acts)
    return space.submit(command, lambda reads, outcome: outcome.subjects)


def test_a_batch_of_what_is_new_waits_for_no_answer(space: PostgresSpace, asked: list[str]) -> None:
    memory = Memory(Handle(space))
    memory.remember("one by itself", key="k")
    with memory.batch() as batch:
        for number in range(15):
            batch.remember(f"sentence {number}")
            batch.remember(f"statement {number}", id=f"r{number}", key=f"k{number}")
            batch.observe(f"word {number}")
            batch.observe(f"saying {number}", id=f"e-{number}")
    assert asked == []
    assert len(memory.list(limit=100)) == 31
    assert memory.verify(deep=True).ok


def test_control_without_asking_ahead_each_name_is_asked_for(
    space: PostgresSpace, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PostgresDb, "absent", lambda self: Names())
    Memory(Handle(space)).remember("one by itself")
    assert asked == ["twins", "has_version"]


@pytest.mark.parametrize("make", [remember, observe])
@pytest.mark.parametrize("together", [True, False])
def test_an_id_that_is_taken_meanwhile_is_not_given_again(
    space: PostgresSpace, make: Any, together: bool
) -> None:
    acts: Sequence[Act] = [make("the first"), make("the second")]
    if together:
        ids = subjects(space, *acts)
    else:
        ids = (*subjects(space, acts[0]), *subjects(space, acts[1]))
    assert [id.rpartition("-")[2] for id in ids] == [CHANCE[:6], CHANCE[:8]]
    assert Memory(Handle(space)).verify(deep=True).ok


@pytest.mark.parametrize("together", [True, False])
def test_a_sentence_that_is_said_again_is_still_the_same(
    space: PostgresSpace, together: bool
) -> None:
    acts = [remember("said twice"), remember("said twice", "qrstuvwxyz")]
    if together:
        ids = subjects(space, *acts)
    else:
        ids = (*subjects(space, acts[0]), *subjects(space, acts[1]))
    assert ids[0] == ids[1]
    (record,) = Memory(Handle(space)).list()
    assert record.reinforcement_count == 1


def test_an_episode_that_was_named_before_it_came_is_not_tied(space: PostgresSpace) -> None:
    """The id that chance will offer stands in evidence already, and leads elsewhere."""
    coming = f"e-{STAMP}-{CHANCE[:6]}"
    subjects(space, Remember(text="as he said", id="r", stamp="", chance="", evidence=(coming,)))
    subjects(space, Revise(id="r", text="he said nothing"))
    assert subjects(space, observe("what he said")) == (coming,)
    assert Memory(Handle(space)).get(coming).status == "visible"
    assert space.index_problem() is None


def test_what_a_refused_command_saw_is_not_at_hand_for_the_next_of_its_append(
    space: PostgresSpace,
) -> None:
    refused = (msgspec.structs.replace(observe("taken back"), id="e-one"), Forget(id="nobody"))
    assert space.later(Command(id="refused", actor=Actor(trust="person"), acts=refused))
    assert subjects(space, msgspec.structs.replace(observe("kept"), id="e-one")) == ("e-one",)
    assert Memory(Handle(space)).get("e-one").text == "kept"
    assert space.index_problem() is None


def test_a_sentence_that_many_say_comes_back_once(space: PostgresSpace) -> None:
    """In a space of many users a common one would else come back for each of them."""
    memory = Memory(Handle(space))
    for user in ("ann", "bob", "cem"):
        memory.scoped(user=user).remember("likes tea")
    lists = {"records": "[]", "episodes": "[]", "contents": f'["{content_id("likes tea")}"]'}
    lists["keys"] = "[]"
    with space.reading() as reads:
        assert reads.db.rows("there", lists) == [("contents", content_id("likes tea"))]


def test_what_is_absent_is_told_once(space: PostgresSpace) -> None:
    """An answer is read once: read again it is empty, and everything would seem to be absent."""
    Memory(Handle(space)).remember("it is there")
    names = Names(contents=frozenset({content_id("it is there"), "nowhere"}))
    with space._index.writing(names=names) as (db, _):
        assert db.absent() == Names(contents=frozenset({"nowhere"}))
        assert db.absent() == Names()


def test_additions_to_one_table_never_share_a_statement(
    space: PostgresSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both shelves are counted in one table: a statement that did it twice would do it once."""
    sent: list[str] = []
    plain = db._together

    def noted(texts: tuple[str, ...]) -> str:
        sent.append(plain(texts))
        return sent[-1]

    monkeypatch.setattr(db, "_together", noted)
    memory = Memory(Handle(space))
    with memory.batch() as batch:
        batch.observe("said by a person")
        batch.observe("found by a tool", role="tool")
    assert [text.count("INTO recollect.shelves") for text in sent if "shelves" in text] == [1, 1]
    assert any(text.count("INTO recollect.") > 1 for text in sent)
    assert memory.verify(deep=True).ok


def test_postings_that_need_several_statements_are_counted_once(
    space: PostgresSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(db, "_POSTINGS_MAX_COUNT", 3)
    with Memory(Handle(space)).batch() as batch:
        for text in ("one", "two and three", "!", "four five six seven", "null", "eight eight"):
            batch.observe(text)
    assert space.index_problem() is None


def test_an_episode_that_is_at_hand_is_not_shown_as_it_was(space: PostgresSpace) -> None:
    memory = Memory(Handle(space))
    with memory.batch() as batch:
        batch.observe("seen and forgotten", id="e-one")
        batch.forget("e-one")
        batch.observe("seen and corrected", id="e-two")
        batch.remember("it was so", evidence=["e-two"], id="r")
        batch.revise("r", "it was not so")
    shown = {found.id: found.status for found in batch.results if found.id != "r"}
    assert shown == {"e-one": "forgotten", "e-two": "shadowed"}
    memory.erase("e-one")
    assert memory.verify(deep=True).ok
    assert memory.digest() == rebuilt_digest(memory)


def test_a_name_is_believed_absent_until_it_is_written_or_taken_back(
    database: str, space: PostgresSpace
) -> None:
    with psycopg.connect(database) as connection:
        tables = Tables(PostgresDb(connection))
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
