"""Acts and commands for the suites of the store port.

Responsible for short ways to make them. Leaves what they mean to ``lifecycle``. Invariant: nothing
here depends on a clock or on chance.
"""

from __future__ import annotations

import msgspec

from recollect.index.reads import Reads
from recollect.lifecycle.commands import (
    Act,
    Actor,
    Command,
    Expect,
    Hand,
    Observe,
    Remember,
    SetPreset,
)
from recollect.model.events import ContextHanded
from recollect.model.presets import BUILT_IN
from recollect.store.port import Outcome

PERSON = Actor(trust="person")
SAID_AT = "2026-01-01T00:00:00.000000Z"


def remember(text: str, id: str | None = None, key: str | None = None) -> Remember:
    """A minimal record."""
    chance = f"{abs(hash((text, id))):032x}"
    return Remember(text=text, id=id, stamp="20260101-0000", chance=chance, key=key)


def observe(text: str, id: str | None = None) -> Observe:
    """A minimal episode."""
    chance = f"{abs(hash((text, id))):032x}"
    return Observe(
        text=text, role="user", id=id, stamp="20260101-0000", chance=chance, said_at=SAID_AT
    )


def hand(id: str) -> Hand:
    """A receipt with as little as possible."""
    receipt = ContextHanded(
        id=id,
        query="0" * 64,
        frame="task",
        frame_digest="0" * 64,
        ranking=1,
        embedder=None,
        now=SAID_AT,
        position=1,
        budget=100,
        tokens=0,
        counter="words",
        signals=(),
        items=(),
    )
    return Hand(receipt=receipt)


def set_preset(name: str) -> SetPreset:
    """A preset with as little as possible."""
    return SetPreset(preset=msgspec.structs.replace(BUILT_IN["task"], name=name))


def command(
    id: str,
    *acts: Act,
    named: bool = False,
    actor: Actor = PERSON,
    expect: Expect | None = None,
) -> Command:
    """A command of these acts."""
    return Command(id=id, actor=actor, acts=acts, named=named, expect=expect)


def outcome(reads: Reads, outcome: Outcome) -> Outcome:
    """An answer that is the outcome itself."""
    return outcome
