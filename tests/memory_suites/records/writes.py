"""The conformance suite of what every write takes: an idempotency key, and what it expects.

Subclass ``WritesSuite`` and define a fixture ``memory`` with an empty memory. ``WRITES`` is the
table of all calls that write one command; ``PASSES`` says of the others why they take neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from itertools import count
from typing import Any, Final

import pytest

from recollect.errors import Changed, Conflict
from recollect.lifecycle.commands import Reinforce
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from recollect.model.values import Erasure
from tests.memory_suites.behind import BehindSuite

Write = Callable[..., Any]
Prepare = Callable[[Memory], Write]
WRITES: Final[dict[str, Prepare]] = {}
_NUMBERS: Final = count()

# Each looks at the present and does what is left to do, so calling it again is safe.
PASSES: Final = {
    "admin.accept_loss": "writes one event, and nothing if nothing was lost",
    "proof.checkpoint": "writes no event; a signature takes the place of the same one",
    "settings.rules.run": "a rule looks at each episode once",
    "context": "a receipt rides on the next append",
    "admin.copy_to": "appends the events that are missing there",
    "admin.import_": "importing the same again adds nothing",
    "admin.merge_from": "a command of the other ledger comes once",
    "pages.activate": "sets a document, which documents.set does with both",
    "pages.archive": "sets a document, which documents.set does with both",
    "pages.care": "flags each long page once",
    "pages.condense": "merges what says the same, and expects what it has read",
    "pages.describe": "sets a document, which documents.set does with both",
    "pages.flag": "sets a document, which documents.set does with both",
    "pages.set_limits": "sets a document, which documents.set does with both",
    "pages.sync": "expects the digest of the changes; each entry is a command with its own name",
    "pages.unflag": "drops a document, which documents.drop does with both",
    "admin.seal": "writes nothing if the last seal covers everything",
}


def write(name: str) -> Callable[[Prepare], Prepare]:
    """Enters a call into the table; the function prepares a memory for it."""

    def enter(prepare: Prepare) -> Prepare:
        WRITES[name] = prepare
        return prepare

    return enter


def _new(name: str) -> str:
    """A name or a text that nothing has yet."""
    return f"{name}-{next(_NUMBERS)}"


def _tea(memory: Memory) -> str:
    return memory.remember(_new("Likes tea")).id


def _pair(memory: Memory) -> tuple[str, str]:
    return _tea(memory), _tea(memory)


def _proposal(memory: Memory) -> str:
    agent = memory.scoped(trust="agent")
    return agent.review.propose(_new("Likes fado"), reason="said so").id


def _branch(memory: Memory) -> str:
    name = memory.branches.open(_new("travel")).name
    memory.on(name).remember(_new("Likes trains"))
    return name


WRITES.update(
    {
        "remember": lambda memory: partial(memory.remember, _new("Likes tea")),
        "observe": lambda memory: partial(memory.observe, _new("I like tea")),
        "revise": lambda memory: partial(memory.revise, _tea(memory), _new("Likes green tea")),
        "remember:replaces": lambda memory: partial(
            memory.remember, _new("Likes green tea"), replaces=_tea(memory)
        ),
        "forget": lambda memory: partial(memory.forget, _tea(memory)),
        "revise:tags": lambda memory: partial(memory.revise, _tea(memory), tags=["drink"]),
        "graph.link": lambda memory: partial(memory.graph.link, *_pair(memory)),
        "forget:derived": lambda memory: partial(memory.forget, _tea(memory), derived=True),
        "used": lambda memory: partial(memory.used, None, [_tea(memory)]),
        "events.submit": lambda memory: partial(memory.events.submit, Reinforce(id=_tea(memory))),
        "erase": lambda memory: partial(memory.erase, _tea(memory)),
        "settings.set_retention": lambda memory: partial(memory.settings.set_retention, 3),
        "settings.documents.set": lambda memory: partial(
            memory.settings.documents.set, "notes", _new("n"), {}
        ),
        "settings.rules.set": lambda memory: partial(
            memory.settings.rules.set, _new("mail"), every=3
        ),
        "sessions.open": lambda memory: partial(memory.sessions.open, _new("monday")),
        "review.propose": lambda memory: partial(memory.review.propose, _new("Likes fado")),
        "review.erase": lambda memory: partial(memory.review.erase, _proposal(memory)),
        "branches.open": lambda memory: partial(memory.branches.open, _new("travel")),
        "branches.abandon": lambda memory: partial(memory.branches.abandon, _branch(memory)),
        "branches.condense": lambda memory: partial(
            memory.branches.condense, _branch(memory), _new("Looked at trains")
        ),
        "branches.erase": lambda memory: partial(memory.branches.erase, _branch(memory)),
    }
)


@write("batch")
def _(memory: Memory) -> Write:
    likes, said = _new("Likes tea"), _new("I like tea")

    def run(**options: Any) -> object:
        with memory.batch(**options) as batch:
            batch.remember(likes)
            batch.observe(said)
        return batch.results

    return run


@write("undo:id")
def _(memory: Memory) -> Write:
    id = _tea(memory)
    memory.forget(id)
    return partial(memory.undo, id)


@write("graph.unlink")
def _(memory: Memory) -> Write:
    source, target = _pair(memory)
    memory.graph.link(source, target)
    return partial(memory.graph.unlink, source, target)


@write("undo:to")
def _(memory: Memory) -> Write:
    id = _tea(memory)
    first = memory.events.position
    memory.revise(id, _new("Likes green tea"))
    return partial(memory.undo, id, to=first)


@write("undo")
def _(memory: Memory) -> Write:
    memory.revise(_tea(memory), _new("Likes green tea"))
    return memory.undo


@write("review.confirm")
def _(memory: Memory) -> Write:
    guess = memory.remember(_new("It will rain"), is_hypothesis=True)
    return partial(memory.review.confirm, guess.id)


@write("review.refute")
def _(memory: Memory) -> Write:
    guess = memory.remember(_new("It will snow"), is_hypothesis=True)
    return partial(memory.review.refute, guess.id)


@write("admin.archive")
def _(memory: Memory) -> Write:
    _pair(memory)
    memory.observe(_new("Time passes"))
    return partial(memory.admin.archive, below=1.0, limit=1)


@write("erase:expired")
def _(memory: Memory) -> Write:
    memory.settings.set_retention(0)
    memory.remember(_new("Is hired"), expires=timedelta(microseconds=1))
    return partial(memory.erase, expired=True)


@write("settings.set_subjects")
def _(memory: Memory) -> Write:
    return partial(memory.settings.set_subjects, "named")


def _preset(memory: Memory) -> dict[str, object]:
    return {**memory.settings.presets.get("task").to_dict(), "name": _new("mine")}


@write("settings.presets.set")
def _(memory: Memory) -> Write:
    return partial(memory.settings.presets.set, _preset(memory))


@write("settings.presets.drop")
def _(memory: Memory) -> Write:
    return partial(memory.settings.presets.drop, memory.settings.presets.set(_preset(memory)).name)


@write("settings.documents.drop")
def _(memory: Memory) -> Write:
    return partial(
        memory.settings.documents.drop,
        "notes",
        memory.settings.documents.set("notes", _new("n"), {}).name,
    )


@write("settings.rules.drop")
def _(memory: Memory) -> Write:
    return partial(
        memory.settings.rules.drop, memory.settings.rules.set(_new("mail"), every=3).name
    )


@write("sessions.close")
def _(memory: Memory) -> Write:
    return partial(memory.sessions.close, memory.sessions.open(_new("monday")).id)


@write("review.approve")
def _(memory: Memory) -> Write:
    shown = memory.review.show(_proposal(memory))
    return partial(memory.review.approve, shown.id, digest=shown.digest)


@write("review.reject")
def _(memory: Memory) -> Write:
    shown = memory.review.show(_proposal(memory))
    return partial(memory.review.reject, shown.id, digest=shown.digest)


@write("review.withdraw")
def _(memory: Memory) -> Write:
    return partial(memory.review.withdraw, _proposal(memory))


@write("branches.merge")
def _(memory: Memory) -> Write:
    name = _branch(memory)
    return partial(memory.branches.merge, name, digest=memory.branches.diff(name).digest)


@write("proof.receipts.erase")
def _(memory: Memory) -> Write:
    _tea(memory)
    context = memory.context(_new("tea"))
    memory.admin.flush()
    assert context.receipt is not None
    return partial(memory.proof.receipts.erase, context.receipt)


def _calls(memory: Memory, engine: Memory) -> Iterator[tuple[str, Write]]:
    """Each call of the table, prepared when it is asked for."""
    has_keys = handle_of(engine).space.subjects is not None
    for name, prepare in WRITES.items():
        if name == "submit" and memory is not engine:  # acts of the engine's own
            continue
        if name != "set_subjects" or has_keys:  # else the store has no place for them
            yield name, prepare(memory)


def _said(outcome: object) -> object:
    """What an answer says that a repetition must say too."""
    if isinstance(outcome, Erasure):  # what was chosen is gone, and its places are clean
        return outcome.seq, outcome.events
    return outcome


class WritesSuite(BehindSuite):
    """Every write can be repeated under its key, and refused if something has changed."""

    @pytest.fixture
    def memory(self) -> Memory:
        """An empty memory; subclasses say where."""
        raise NotImplementedError

    def test_a_key_is_kept_for_the_life_of_the_ledger(self, memory: Memory, engine: Memory) -> None:
        done: list[tuple[str, Write, object]] = []
        for name, call in _calls(memory, engine):
            before = memory.events.position
            first = call(idempotency_key=f"once:{name}")
            here = memory.events.position
            assert here > before, name
            assert _said(call(idempotency_key=f"once:{name}")) == _said(first), name
            assert memory.events.position == here, name
            done.append((name, call, first))
        memory.remember(_new("Likes rain"), idempotency_key="other")
        engine.admin.seal()
        engine.admin.rebuild()
        here = memory.events.position
        for name, call, first in done:
            assert _said(call(idempotency_key=f"once:{name}")) == _said(first), name
            with pytest.raises(Conflict, match="already used"):
                call(idempotency_key="other")
            assert memory.events.position == here, name

    def test_a_write_is_refused_if_what_it_expects_has_changed(
        self, memory: Memory, engine: Memory
    ) -> None:
        for name, call in _calls(memory, engine):
            watched = memory.remember(_new("Likes rain"))
            seen, now = memory.events.position, memory.revise(watched.id, _new("Likes snow"))
            here = memory.events.position
            for expect in (seen, (watched.id, watched.seq)):
                with pytest.raises(Changed) as refusal:
                    call(expect=expect)
                assert refusal.value.code == "changed"
            assert memory.events.position == here, name
            call(expect=(now.id, now.seq))
            assert memory.events.position > here, name
