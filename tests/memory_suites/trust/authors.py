"""The conformance suite of authors: who acted, by which name, and what erasing a name leaves.

The fixture ``place`` is what to open.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.errors import NotFound
from recollect.memory import Memory, Store
from recollect.memory.handle.handle import handle_of
from recollect.model.values import Author, Change


@pytest.fixture
def mara(monkeypatch: pytest.MonkeyPatch) -> None:
    """The person here is called Mara."""
    monkeypatch.setenv("RECOLLECT_NAME", "Mara")


def named(memory: Memory) -> list[Change]:
    """The events that gave an author a name."""
    return memory.events.list(kinds=["author.named"])


class AuthorSuite:
    """Names on one engine."""

    @pytest.fixture
    def place(self, tmp_path: Path) -> str:
        return str(tmp_path / "store")

    def says(self, author: Author | None, name: str) -> bool:
        """True if this is the person who opened the store, by the name that was given."""
        return author is not None and (author.name, author.checked) == (name, None)

    @pytest.mark.usefixtures("mara")
    def test_what_a_person_does_says_who(self, place: str) -> None:
        with Memory.open(place, embedder="none") as memory:
            tea = memory.remember("Tea is at four.", key="tea")
            waits = memory.scoped(trust="agent").remember("Tea is at five.", key="tea")
            shown = memory.review.show(waits.id)
            assert shown.decided_by is None
            decided = memory.review.approve(waits.id, shown.digest)
            assert self.says(decided.decided_by, "Mara")
            (first, *_) = memory.history(tea.id)
            approved = next(v for v in memory.history(waits.id) if v.what == "reviewed")
            for author in (
                first.author,
                approved.author,
                memory.why(tea.id).author,
                memory.events.get(first.seq).author,
                next(e.author for e in memory.proof.audit() if e.what == "approved"),
            ):
                assert self.says(author, "Mara")
            assert len({first.author, approved.author}) == 1

    @pytest.mark.usefixtures("mara")
    def test_one_event_names_an_author(self, place: str) -> None:
        for _ in range(2):
            with Memory.open(place, embedder="none") as memory:
                for number in range(3):
                    memory.remember(f"Number {number} of {memory.events.position}.")
        with Memory.open(place, embedder="none") as memory:
            (event,) = named(memory)
            assert event.unit == "author"
            assert {e.author and e.author.id for e in memory.events.list()[1:]} == {event.id}

    @pytest.mark.usefixtures("mara")
    def test_a_claimed_name_is_not_that_of_an_agent(self, place: str) -> None:
        with Memory.open(place, embedder="none") as memory:
            made = memory.scoped(trust="agent", agent="planner").remember("Tea is at four.")
            assert memory.history(made.id)[0].author is None
            assert named(memory) == []

    def test_no_names_are_kept_if_a_person_says_so(
        self, place: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("RECOLLECT_NAME", "")
        with Memory.open(place, embedder="none") as memory:
            memory.remember("Tea is at four.")
            assert named(memory) == []
            assert all(event.author is None for event in memory.events.list())

    def test_the_holder_of_a_token_is_checked(
        self, place: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("RECOLLECT_NAME", "Mara")
        with Store.open(place, embedder="none") as store:
            store.space("main").remember("The first one.")
            label = store.tokens.create("mara-laptop", space="main", trust="person")
            user = store.tokens.create("app", space="main", trust="person", user="ben")
            for token, name in ((label, "mara-laptop"), (user, "ben")):
                memory = store.entered(token.token).space("main").scoped(user=token.user)
                made = memory.remember(f"I am {name}.")
                author = memory.history(made.id)[0].author
                assert author is not None
                assert (author.name, author.checked) == (name, "token")

    @pytest.mark.usefixtures("mara")
    def test_erasing_a_name_leaves_what_was_done(self, place: str) -> None:
        with Memory.open(place, embedder="none") as memory:
            tea = memory.remember("Tea is at four. Mara makes it.")
            coffee = memory.remember("Coffee is at three.")
            author = memory.history(tea.id)[0].author
            assert author is not None
            assert author.name is not None
            planned = memory.erase(author=author.name, dry_run=True)
            assert len(named(memory)) == 1
            done = memory.erase(author=author.name)
            assert planned.authors == done.authors == (author.id,)
            assert done.naming == ((tea.id,) if author.name == "Mara" else ())
            left = memory.history(coffee.id)[0].author
            assert left == Author(id=author.id, name=None)
            assert str(left) == "(name erased)"
            assert memory.get(coffee.id) == coffee

    @pytest.mark.usefixtures("mara")
    def test_a_name_that_was_erased_is_another_one_when_it_comes_again(self, place: str) -> None:
        with Memory.open(place, embedder="none") as memory:
            memory.remember("Tea is at four.")
            (event,) = named(memory)
            memory.erase(author=event.id)
            again = memory.remember("Coffee is at three.")
            (other,) = named(memory)
            assert other.id != event.id
            author = memory.history(again.id)[0].author
            assert author is not None
            assert author.id == other.id

    @pytest.mark.usefixtures("mara")
    def test_a_name_that_nobody_has_is_not_found(self, place: str) -> None:
        with Memory.open(place, embedder="none") as memory:
            memory.remember("Tea is at four.")
            with pytest.raises(NotFound, match="author"):
                memory.erase(author="Nobody")

    def test_erasing_a_user_erases_their_name_and_tells_who_still_names_them(
        self, place: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("RECOLLECT_NAME")
        with Store.open(place, embedder="none") as store:
            whole = store.space("main")
            token = store.tokens.create("app", space="main", trust="person", user="anna")
            anna = store.entered(token.token).space("main").scoped(user="anna")
            anna.remember("I like tea.")
            ben = whole.remember("Ben takes over Anna's customers.")
            said = whole.observe("anna is on holiday")[0]
            whole.remember("Annabel likes coffee.")
            done = whole.erase(user="anna")
            assert set(done.naming) == {ben.id, said.id}
            assert len(done.authors) == 1
            assert [event.text for event in named(whole) if event.text == "anna"] == []

    @pytest.mark.usefixtures("mara")
    def test_an_index_that_is_built_again_names_the_same(self, place: str) -> None:
        with Memory.open(place, embedder="none") as memory:
            tea = memory.remember("Tea is at four.")
            with memory.batch() as batch:
                batch.remember("One.")
                batch.remember("Two.")
            one = memory.list()[0]
            memory.erase(tea.id)
            memory.erase(one.id)
            before = [(e.seq, e.author) for e in memory.events.list()]
            assert handle_of(memory).space.index_problem() is None
            memory.admin.rebuild()
            assert [(e.seq, e.author) for e in memory.events.list()] == before

    @pytest.mark.usefixtures("mara")
    def test_a_call_that_is_repeated_under_another_name_is_the_same(
        self, place: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def told() -> str:
            with Memory.open(place, embedder="none") as memory:
                return memory.remember("Tea is at four.", idempotency_key="k").id

        first = told()
        monkeypatch.setenv("RECOLLECT_NAME", "Ben")
        assert told() == first

    @pytest.mark.usefixtures("mara")
    def test_undoing_the_first_thing_that_a_person_did_keeps_the_name(self, place: str) -> None:
        with Memory.open(place, embedder="none") as memory:
            memory.remember("Tea is at four.")
            undone = memory.undo()
            assert "record.added" in [event.kind for event in undone.events]
            assert memory.list() == []
            (event,) = named(memory)
            assert {each.author and each.author.id for each in undone.undone_by} == {event.id}
