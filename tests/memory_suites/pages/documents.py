"""The conformance suite of documents: they behave the same on every engine.

Subclass ``DocumentsSuite`` and define a fixture ``memory`` with an empty memory.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recollect.errors import Changed, Conflict, Forbidden, InvalidInput, LimitExceeded, NotFound
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from recollect.model.presets import BUILT_IN, Preset


class DocumentsSuite:
    """A document is set whole, by a writer with enough trust, and can be read in the past."""

    @pytest.fixture
    def memory(self) -> Memory:
        """An empty memory; subclasses say where."""
        raise NotImplementedError

    def test_a_document_is_set_whole_and_read(self, memory: Memory) -> None:
        documents = memory.settings.documents
        made = documents.set("rules", "mail", {"never": ["before noon"], "n": 1})
        assert (made.id, made.trust, made.data["n"]) == ("rules/mail", "person", 1)
        assert documents.get("rules", "mail") == made
        other = documents.set("profile", "mail", {"name": "Ann"})
        again = documents.set("rules", "mail", {"n": 2})
        assert again.data == {"n": 2}
        assert documents.list() == [other, again]
        assert documents.list("rules") == [again]
        assert documents.list("nothing") == []

    def test_documents_are_listed_in_pages(self, memory: Memory) -> None:
        documents = memory.settings.documents
        ids = ["a/9", "a/b/c", "a-b/1", "b/1", "b/2"]
        for type, _, name in (id.partition("/") for id in ids):
            documents.set(type, name, {"n": 1})
        whole = documents.list()
        assert sorted(ids) == sorted(one.id for one in whole)
        for size in (1, 2, 5):
            pages = list(page := documents.list(limit=size))
            while page:
                page = documents.list(limit=size, after=page[-1].id)
                assert len(page) <= size
                pages += page
            assert pages == whole
        assert [one.id for one in documents.list("a", after="a/9")] == ["a/b/c"]
        assert [one.id for one in documents.list("b", after="a/9")] == ["b/1", "b/2"]
        assert [one.id for one in documents.list(after="b/1x")] == ["b/2"]

    def test_what_cannot_be_listed_is_refused(self, memory: Memory) -> None:
        documents = memory.settings.documents
        documents.set("rules", "mail", {"n": 1})
        for type in ("a\0", "A", "", 5, ["rules"]):
            with pytest.raises(InvalidInput, match="type of a document"):
                documents.list(type)  # type: ignore[arg-type]
        for after in ("", "rules", "rules/", "/mail", "rules/a\0", 5, ("rules", "mail")):
            with pytest.raises(InvalidInput):
                documents.list(after=after)  # type: ignore[arg-type]
        for limit in (0, True, "5"):
            with pytest.raises(InvalidInput, match="limit"):
                documents.list(limit=limit)  # type: ignore[arg-type]
        with pytest.raises(LimitExceeded):
            documents.list(limit=1_001)

    def test_the_same_data_again_writes_nothing(self, memory: Memory) -> None:
        documents = memory.settings.documents
        made = documents.set("rules", "mail", {"a": 1, "b": [2]})
        position = memory.events.position
        assert documents.set("rules", "mail", {"b": [2], "a": 1}) == made
        assert memory.events.position == position

    def test_a_document_of_then(self, memory: Memory) -> None:
        documents = memory.settings.documents
        first = documents.set("rules", "mail", {"n": 1})
        position = memory.events.position
        documents.set("rules", "mail", {"n": 2})
        documents.drop("rules", "mail")
        with pytest.raises(NotFound):
            documents.get("rules", "mail")
        assert memory.at(position).settings.documents.get("rules", "mail") == first
        assert memory.at(position + 1).settings.documents.list()[0].data == {"n": 2}
        with pytest.raises(NotFound):
            documents.drop("rules", "mail")
        memory.admin.rebuild()
        assert memory.at(position).settings.documents.list() == [first]

    def test_a_document_is_not_changed_with_less_trust(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent").settings.documents
        low = memory.scoped(trust="unverified").settings.documents
        assert agent.set("rules", "mail", {"n": 1}).trust == "agent"
        person = memory.settings.documents
        assert person.set("rules", "mail", {"n": 2}).trust == "person"
        for change in (
            lambda: agent.set("rules", "mail", {"n": 3}),
            lambda: agent.drop("rules", "mail"),
            lambda: low.set("rules", "new", {}),
            lambda: agent.drop("rules", "mail", erase=True),
            lambda: memory.scoped(user="ann").settings.documents.set("rules", "new", {}),
            lambda: memory.scoped(user="ann").settings.documents.drop("rules", "mail", erase=True),
        ):
            with pytest.raises(Forbidden):
                change()
        assert person.get("rules", "mail").data == {"n": 2}
        assert len(person.list()) == 1

    def test_an_agent_is_told_what_to_do_instead_of_erasing(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent").settings.documents
        agent.set("rules", "mail", {"n": 1})
        with pytest.raises(Forbidden) as refusal:
            agent.drop("rules", "mail", erase=True)
        assert refusal.value.hint == "drop it without erase: its past stays readable"
        with pytest.raises(InvalidInput, match="erase must be True or False, not 'false'"):
            memory.settings.documents.drop("rules", "mail", erase="false")  # type: ignore[arg-type]
        agent.drop("rules", "mail")

    def test_a_document_is_read_by_everybody(self, memory: Memory) -> None:
        made = memory.settings.documents.set("rules", "mail", {"n": 1})
        assert memory.scoped(user="ann").settings.documents.get("rules", "mail") == made

    def test_every_byte_of_a_document_can_be_erased(self, memory: Memory) -> None:
        documents = memory.settings.documents
        kept = documents.set("rules", "other", {"n": 1})
        documents.set("rules", "mail", {"secret": "canary7f3a"})
        documents.drop("rules", "mail")
        documents.set("rules", "mail", {"secret": "canary7f3a again"})
        documents.drop("rules", "mail", erase=True)
        assert b"canary" not in b"".join(handle_of(memory).space.pieces())
        assert documents.list() == [kept]
        assert memory.at(memory.events.position - 1).settings.documents.list() == [kept]
        with pytest.raises(NotFound):
            documents.drop("rules", "mail", erase=True)
        digest = memory.admin.digest()
        memory.admin.rebuild()
        assert memory.admin.digest() == digest
        assert memory.admin.verify(deep=True).ok

    def test_what_a_document_expects(self, memory: Memory) -> None:
        documents = memory.settings.documents
        seen = documents.set("rules", "mail", {"n": 1})
        memory.remember("Another subject with this id", id="rules/mail")
        now = documents.set("rules", "mail", {"n": 2}, expect=(seen.id, seen.seq))
        with pytest.raises(Changed):
            documents.set("rules", "mail", {"n": 3}, expect=(seen.id, seen.seq))
        with pytest.raises(NotFound):
            documents.set("rules", "mail", {"n": 3}, expect=("rules/none", 3))
        with pytest.raises(Changed):
            documents.drop("rules", "mail", expect=now.seq - 1)
        documents.drop("rules", "mail", expect=(now.id, now.seq))

    def test_a_call_with_a_key_happens_once(self, memory: Memory) -> None:
        documents = memory.settings.documents
        first = documents.set("rules", "mail", {"n": 1}, idempotency_key="k1")
        documents.set("rules", "mail", {"n": 2})
        assert documents.set("rules", "mail", {"n": 1}, idempotency_key="k1").data == {"n": 2}
        assert first.data == {"n": 1}
        for erase in (False, True):
            documents.set("rules", "mail", {"n": 3})
            position = memory.events.position + 1
            for _ in range(2):
                documents.drop("rules", "mail", erase=erase, idempotency_key=f"drop-{erase}")
            assert memory.events.position == position
            with pytest.raises(
                Conflict if erase else NotFound
            ):  # of what is erased no mark is left
                documents.set("rules", "mail", {"n": 1}, idempotency_key="k1")

    def test_documents_are_in_the_list_of_events(self, memory: Memory) -> None:
        documents = memory.settings.documents
        documents.set("rules", "mail", {"n": 1})
        documents.set("rules", "mail", {"n": 2})
        documents.drop("rules", "mail")
        found = memory.events.list(id="rules/mail")
        assert [(one.kind, one.unit) for one in found] == [
            ("document.set", "document"),
            ("document.set", "document"),
            ("document.dropped", "document"),
        ]
        assert memory.events.list()[1:] == found
        assert memory.scoped(user="ann").events.list() == []

    def test_documents_change_the_digest_and_their_absence_does_not(self, memory: Memory) -> None:
        memory.remember("Likes tea", id="r1")
        before = memory.admin.digest()
        memory.settings.documents.set("rules", "mail", {"n": 1})
        assert memory.admin.digest() != before

    def test_what_cannot_be_a_document_is_refused(self, memory: Memory) -> None:
        documents = memory.settings.documents
        for type, name in (
            ("", "x"),
            ("Rules", "x"),
            ("a/b", "x"),
            ("rules", ""),
            ("rules", "a b"),
        ):
            with pytest.raises(InvalidInput):
                documents.set(type, name, {})
        with pytest.raises(LimitExceeded):
            documents.set("rules", "x" * 118, {})
        with pytest.raises(InvalidInput):
            documents.set("rules", "x", {"n": float("nan")})
        with pytest.raises(LimitExceeded):
            documents.set("rules", "x", {"n": "x" * 1_000_000})

    def test_a_document_or_a_preset_is_undone(self, memory: Memory) -> None:
        documents, presets = memory.settings.documents, memory.settings.presets
        documents.set("rules", "mail", {"n": 1})
        memory.undo()
        assert documents.list() == []
        memory.undo()
        documents.set("rules", "mail", {"n": 2})
        memory.undo()
        assert documents.get("rules", "mail").data == {"n": 1}
        built_in = len(presets.list())
        mine = presets.set(Preset(name="mine", weights=BUILT_IN["task"].weights, tokens=100))
        memory.undo()
        assert len(presets.list()) == built_in
        memory.undo()
        assert presets.get("mine") == mine
        presets.drop("mine")
        memory.undo()
        assert presets.get("mine") == mine

    def test_an_agent_brings_back_no_document_or_preset_that_a_person_dropped(
        self, memory: Memory
    ) -> None:
        agent = memory.scoped(trust="agent")
        agent.settings.documents.set("rules", "mail", {"n": 1})
        agent.settings.presets.set(
            Preset(name="mine", weights=BUILT_IN["task"].weights, tokens=100)
        )
        drops: list[Callable[[Memory], object]] = [
            lambda handle: handle.settings.documents.drop("rules", "mail"),
            lambda handle: handle.settings.presets.drop("mine"),
        ]
        for drop in drops:
            drop(agent)
            agent.undo()  # the control: its own it may
            drop(memory)
            with pytest.raises(Forbidden, match="made by 'person'"):
                agent.undo()
        assert memory.settings.documents.list() == []
