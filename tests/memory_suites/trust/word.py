"""The conformance suite of a person's word: who may change what a person vouched for, and by what.

Part of ``TrustSuite``. One table: every way in which a text becomes a person's, every act, and the
author of that act. An agent's own records are the control, because each act changes those.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from recollect.errors import RecollectError
from recollect.memory import Memory
from recollect.model.values import Quote, Record
from recollect.store.disk.disk import write_file
from recollect.store.seam import REAL
from tests.undone import brought_back

Maker = Callable[[Memory, str], str]
Changing = Callable[[Memory, str, str], object]  # a handle, the id of a record, and its key


def _agents(memory: Memory, key: str) -> str:
    agent = memory.scoped(trust="agent")
    made = agent.remember(f"{key}: at one", key=key, is_hypothesis=True)
    return agent.revise(made.id, f"{key}: at four").id


def _written(memory: Memory, key: str) -> str:
    return memory.remember(f"{key}: at four", key=key, is_hypothesis=True).id


def _corrected(memory: Memory, key: str) -> str:
    made = memory.scoped(trust="agent").remember(f"{key}: at one", key=key, is_hypothesis=True)
    return memory.revise(made.id, f"{key}: at four").id


def _restated(memory: Memory, key: str) -> str:
    return memory.remember(memory.get(_agents(memory, key)).text, key=key).id


def _on_what_an_agent_captured(memory: Memory, key: str) -> str:
    (heard,) = memory.observe(f"{key} is at four", role="assistant")
    return memory.remember(f"{key}: at four", key=key, evidence=[heard.id], is_hypothesis=True).id


def _replacing(memory: Memory, key: str) -> str:
    return memory.remember(f"{key}: at five", key=key, evidence=[_agents(memory, key)]).id


def _superseding(memory: Memory, key: str) -> str:
    return memory.remember(f"{key}: at five", replaces=_agents(memory, key)).id


def _reverted(memory: Memory, key: str) -> str:
    return brought_back(memory.undo(_agents(memory, key))).id


def _undone(memory: Memory, key: str) -> str:
    id = _agents(memory, key)
    memory.undo(id)
    return id


def _confirmed(memory: Memory, key: str) -> str:
    return memory.review.confirm(_agents(memory, key)).id


def _approved(memory: Memory, key: str) -> str:
    made = memory.scoped(trust="agent").review.propose(f"{key}: at four", key=key)
    return memory.review.approve(made.id, memory.review.show(made.id).digest).record or ""


def _quoted(memory: Memory, key: str) -> str:
    """A person's, corrected by an agent with that person's words: it has an agent's trust now."""
    id = memory.remember(f"{key}: at one", key=key, is_hypothesis=True).id
    (said,) = memory.observe(f"{key} is at four now")
    agent = memory.scoped(trust="agent")
    return agent.revise(id, f"{key}: at four", evidence=[Quote(said.id, "four now")]).id


def _quoted_under_the_key(memory: Memory, key: str) -> str:
    memory.remember(f"{key}: at one", key=key)
    (said,) = memory.observe(f"{key} is at four now")
    agent = memory.scoped(trust="agent")
    return agent.remember(f"{key}: at four", key=key, evidence=[Quote(said.id, "four now")]).id


WORDS: Final[dict[str, Maker]] = {
    "written": _written,
    "corrected": _corrected,
    "restated": _restated,
    "captured": _on_what_an_agent_captured,
    "replacing": _replacing,
    "superseding": _superseding,
    "reverted": _reverted,
    "undone": _undone,
    "confirmed": _confirmed,
    "approved": _approved,
    "quoted": _quoted,
    "keyed": _quoted_under_the_key,
}


def _ruled(handle: Memory, id: str, key: str) -> None:
    handle.settings.rules.set("all")
    handle.observe(f"{key}: at nine", role="assistant", metadata={"intent": "update", "key": key})
    handle.settings.rules.run("all")


def _batched(handle: Memory, id: str, key: str) -> None:
    with handle.batch() as batch:
        batch.revise(id, f"{key}: at nine")


def _faded(handle: Memory, id: str, key: str) -> None:
    handle.observe("Time passes.", role="assistant")
    handle.admin.archive(below=1.0)


def _derived(handle: Memory, id: str, key: str) -> None:
    handle.graph.link(id, handle.scoped(trust="unverified").remember("a rumour").id, "derived_from")


def _resting(handle: Memory, id: str, key: str) -> None:
    """The record comes to rest on another one, which then turns out to be a rumour."""
    base = handle.remember(f"a base of {key}")
    handle.graph.link(id, base.id, "derived_from")
    _derived(handle, base.id, key)


def _moved(handle: Memory, id: str, key: str) -> None:
    handle.remember(f"{key}: at nine", replaces=id, key=f"{key}.other")


def _quoting(handle: Memory, id: str, key: str) -> None:
    """With words that a person said before, and with an agent's own."""
    for said in handle.sessions.episodes():
        if said.text.startswith(key):
            handle.revise(id, f"{said.text}, or nine", evidence=[Quote(said.id, said.text)])
    (own,) = handle.observe(f"{key} is at nine", role="assistant")
    handle.revise(id, f"{key}: at nine", evidence=[Quote(own.id, "at nine")])


ACTS: Final[dict[str, Changing]] = {
    "revise": lambda handle, id, key: handle.revise(id, f"{key}: at nine"),
    "revise with other words": _quoting,
    "remember": lambda handle, id, key: handle.remember(f"{key}: at nine", key=key),
    "supersede": lambda handle, id, key: handle.remember(f"{key}: at nine", replaces=id),
    "supersede under another key": _moved,
    "forget": lambda handle, id, key: handle.forget(id),
    "revert": lambda handle, id, key: handle.undo(id),
    "undo": lambda handle, id, key: handle.undo(id),
    "retract": lambda handle, id, key: handle.forget(id, derived=True),
    "settle": lambda handle, id, key: handle.review.refute(id),
    "archive": _faded,
    "tag": lambda handle, id, key: handle.revise(id, tags=["x"]),
    "expire": lambda handle, id, key: handle.revise(id, expires=timedelta(days=1)),
    "data": lambda handle, id, key: handle.revise(id, data={"x": 1}),
    "derive from a rumour": _derived,
    "derive from a base": _resting,
    "rule": _ruled,
    "batch": _batched,
}


def _merged(agent: Memory, key: str, folder: Path) -> None:
    agent.branches.open("mine")
    agent.on("mine").revise(agent.get(key=key).id, f"{key}: at nine")
    agent.branches.merge("mine", agent.branches.diff("mine").digest)


def _approving(agent: Memory, key: str, folder: Path) -> None:
    made = agent.review.propose(f"{key}: at nine", key=key)
    agent.review.approve(made.id, agent.review.show(made.id).digest)


def _edited(file: Path) -> None:
    write_file(REAL, file, [file.read_bytes().replace(b"at four", b"at nine")])


def _synced(agent: Memory, key: str, folder: Path) -> None:
    agent.pages.render(folder)
    for page in folder.rglob("*.md"):
        _edited(page)
    agent.pages.sync(folder, take="page")


def _imported(agent: Memory, key: str, folder: Path) -> None:
    """What the agent exported, with another text."""
    file = folder / "mine.ndjson"
    agent.admin.export("ndjson", file)
    _edited(file)
    agent.admin.import_(file, "recollect")


def _taking(agent: Memory, key: str, folder: Path) -> None:
    own = agent.remember(f"{key} may be at nine")
    agent.remember(f"{key}: at nine", replaces=own.id, key=key)


def _guessing(agent: Memory, key: str, folder: Path) -> None:
    made = agent.remember(f"{key}: at nine", key=key, is_hypothesis=True)
    agent.review.confirm(made.id)


def _restoring(agent: Memory, key: str, folder: Path) -> None:
    """What a person's word took the place of."""
    for one in agent.list(include=["archived", "replaced", "forgotten"]):
        _tried(lambda handle, id, _: handle.undo(id), agent, one.id, key)


AROUND: Final[dict[str, Callable[[Memory, str, Path], None]]] = {
    "branch": _merged,
    "proposal": _approving,
    "page": _synced,
    "import": _imported,
    "another key": _taking,
    "hypothesis": _guessing,
    "restore": _restoring,
}


DERIVED: Final = "derived_from"
WEAKER: Final[dict[str, dict[str, Any]]] = {
    "an end": {"expires": timedelta(milliseconds=1)},
    "no longer valid": {"valid_to": "2020-01-01"},
    "a guess": {"is_hypothesis": True},
    "not believed": {"confidence": 0.0},
}


class WordSuite:
    """Every engine passes this."""

    @pytest.fixture
    def memory(self) -> Memory:
        """An empty memory; defined by subclasses."""
        raise NotImplementedError

    @pytest.mark.parametrize("act", ACTS)
    def test_no_agent_changes_what_a_person_vouched_for(self, memory: Memory, act: str) -> None:
        made = {name: make(memory, name) for name, make in WORDS.items()}
        before = {name: _state(memory, id, name) for name, id in made.items()}
        own = _agents(memory, "own")
        was = _state(memory, own, "own")
        for origin in ("unverified", "agent"):
            handle = memory.scoped(trust=origin)
            for name, id in {**made, "own": own}.items():
                _tried(ACTS[act], handle, id, name)
            now = {name: _state(memory, id, name) for name, id in made.items()}
            assert now == before, origin
            assert (_state(memory, own, "own") != was) == (origin == "agent")  # the control

    @pytest.mark.parametrize("way", AROUND)
    def test_no_agent_gets_around_it(self, memory: Memory, way: str, tmp_path: Path) -> None:
        agent = memory.scoped(trust="agent")
        agent.remember("tea: at one", key="tea", about="tea")
        tea = memory.remember("tea: at four", key="tea", about="tea")
        before = _state(memory, tea.id, "tea")
        with suppress(RecollectError):
            AROUND[way](agent, "tea", tmp_path)
        assert _state(memory, tea.id, "tea") == before

    def test_what_is_a_persons_word(self, memory: Memory) -> None:
        trust = {name: memory.get(make(memory, name)).trust for name, make in WORDS.items()}
        assert {name for name in trust if trust[name] != "person"} == {"quoted", "keyed"}
        assert memory.get(_agents(memory, "own")).trust == "agent"

    def test_a_quote_opens_one_change(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        for name in ("quoted", "keyed"):
            id = WORDS[name](memory, name)
            (said,) = memory.observe(f"no, {name} is at seven")
            words = [Quote(said.id, "at seven")]
            assert agent.revise(id, f"{name}: at seven", evidence=words).pending is None
            assert agent.revise(id, f"{name}: seven at night", evidence=words).pending
            assert agent.forget(id).pending

    @pytest.mark.parametrize("weaker", WEAKER)
    def test_a_correction_leaves_no_gap(self, memory: Memory, weaker: str) -> None:
        """A quote opens a change of the words, and does not let the key fall silent."""
        agent = memory.scoped(trust="agent")
        keyed = memory.remember("Tea is at four.", key="tea")
        bare = memory.remember("The tea of Ann is at four.")
        (said,) = memory.observe("Tea is at nine.")
        words, more = [Quote(said.id, "at nine")], WEAKER[weaker]
        agent.remember("Tea is at nine.", key="tea", evidence=words, **more)
        for record in (keyed, bare) if "expires" in more else ():
            with suppress(RecollectError):
                agent.revise(record.id, "Tea is at nine.", evidence=words, **more)
            with suppress(RecollectError):
                agent.remember("Tea is at nine.", replaces=record.id, evidence=words, **more)
        assert memory.get(key="tea") == keyed
        assert memory.get(bare.id) == bare
        agent.remember("Tea is at nine.", key="tea", evidence=words)
        assert memory.get(key="tea").text == "Tea is at nine."  # the control

    def test_a_person_who_brings_back_what_an_agent_ended_vouches(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        its, other = agent.remember("Tea is at four."), agent.remember("Rain is at five.")
        agent.forget(its.id)
        assert brought_back(memory.undo(its.id)).trust == "person"
        assert agent.forget(its.id).pending
        memory.forget(other.id)
        assert (
            brought_back(memory.undo(other.id)).trust == "agent"
        )  # the person's own act, taken back

    def test_a_link_that_comes_with_an_import_lowers_nothing(
        self, engine: Memory, tmp_path: Path
    ) -> None:
        agent = engine.scoped(trust="agent")
        pay, base = engine.remember("Payroll account is 111."), agent.remember("Base note zebra.")
        own = agent.remember("filler")
        agent.graph.link(own.id, base.id, "derived_from")
        file = tmp_path / "mine.ndjson"
        agent.admin.export("ndjson", file)
        lines = file.read_bytes().splitlines(keepends=True)
        moved = [
            line.replace(own.id.encode(), pay.id.encode()) if b"derived_from" in line else line
            for line in lines
        ]
        write_file(REAL, file, moved)
        agent.admin.import_(file, "recollect")
        agent.graph.link(
            base.id, engine.scoped(trust="unverified").remember("a rumour").id, DERIVED
        )
        assert engine.get(pay.id) == pay
        engine.forget(base.id, derived=True)
        assert engine.get(pay.id) == pay
        engine.graph.unlink(pay.id, base.id, DERIVED)  # it did come

    def test_a_person_who_revises_to_the_same_words_vouches(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        its = agent.remember("Tea is at four.")
        assert memory.revise(its.id, its.text).trust == "person"
        assert agent.revise(its.id, "Tea is at nine.").pending
        seq = memory.events.position
        assert memory.revise(its.id, its.text).trust == "person"
        assert memory.events.position == seq  # it is a person's already

    def test_a_chain_without_a_key_stays_a_persons(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        last = memory.remember("Row 0.")
        for row in ("1", "2", "3"):
            (said,) = memory.observe(f"I moved to row {row}.")
            assert agent.remember("Row 9.", replaces=last.id).pending
            words = [Quote(said.id, f"row {row}")]
            last = agent.remember(f"Row {row}.", replaces=last.id, evidence=words)
            assert last.pending is None
        assert agent.forget(last.id).pending
        assert agent.remember("Row 8.").status == "active"  # beside it, it may say what it likes

    def test_a_person_who_names_no_evidence_is_the_source(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        (heard,) = agent.observe("12A, says the desk", role="assistant")
        seat = agent.remember("Alice sits in 12A.", evidence=[heard.id])
        mine = memory.revise(seat.id, "Alice sits in 2F.")
        assert (mine.trust, mine.evidence) == ("person", ())
        steps = [(step.what, step.by) for step in memory.history(seat.id)]
        assert steps == [("added", "agent"), ("revised", "person"), ("vouched", "person")]
        assert [change.kind for change in memory.events.list(id=seat.id)][-1] == "record.vouched"
        again = memory.revise(seat.id, "Alice sits in 3F.")
        assert len(memory.history(again.id)) == len(steps) + 1  # it is a person's already

    def test_unverified_evidence_lowers_a_persons_word(self, memory: Memory) -> None:
        (page,) = memory.observe("Pay account 666", role="tool")
        assert memory.remember("Pay 666", evidence=[page.id]).status == "waiting"
        agent, web = memory.scoped(trust="agent"), memory.scoped(trust="unverified")
        base = agent.remember("Account 666 is ours")
        mine = memory.remember("We pay 666", evidence=[base.id])
        assert mine.trust == "person"
        memory.graph.link(base.id, web.remember("a rumour").id, "derived_from")
        now = memory.history(mine.id)[-1].record
        assert (now.trust, now.status) == ("unverified", "waiting")

    def test_taking_back_ones_own_change_vouches_for_nothing(self, memory: Memory) -> None:
        its = memory.scoped(trust="agent").remember("Tea is at four.")
        memory.revise(its.id, "Tea is at five.")
        memory.undo()
        now = memory.get(its.id)
        assert isinstance(now, Record)
        assert (now.text, now.trust) == (its.text, "agent")

    def test_taking_back_an_agents_doubt_confirms(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        its = agent.remember("Tea is at four.")
        agent.remember("Tea is at four.", is_hypothesis=True)
        now = brought_back(memory.undo(its.id))
        assert (now.is_hypothesis, now.trust) == (False, "person")
        assert agent.revise(its.id, "Tea is at nine.").pending

    def test_what_is_held_waits_for_its_own_review(self, memory: Memory) -> None:
        memory.remember("Tea is at four.", key="tea")
        held = memory.scoped(trust="agent").remember("Tea is at five.", key="tea")
        now = memory.revise(held.id, "Tea is at six.")
        assert (now.status, now.trust) == ("waiting", "agent")

    def test_a_rule_does_not_vouch(self, memory: Memory) -> None:
        its = memory.scoped(trust="agent").remember("Tea is at four.")
        memory.settings.rules.set("all")
        memory.observe("Tea is at four.")
        memory.settings.rules.run("all")
        now = memory.get(its.id)
        assert (now.trust, len(memory.list())) == ("agent", 1)


def _tried(act: Changing, handle: Memory, id: str, key: str) -> None:
    with suppress(RecollectError):  # refused, which is as good as waiting
        act(handle, id, key)


def _state(memory: Memory, id: str, key: str) -> tuple[object, ...]:
    """What a record says, and what is believed under its key."""
    now = memory.history(id)[-1].record
    said = (now.text, now.status, now.trust, now.tags, now.expires, now.data, now.is_hypothesis)
    return (*said, [(one.id, one.text) for one in memory.list(filter=f"key = '{key}'")])
