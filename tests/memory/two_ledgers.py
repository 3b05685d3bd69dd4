"""A memory in a folder and a copy of it that grew too, for the tests of merging."""

from __future__ import annotations

import shutil
from pathlib import Path

from recollect import Memory
from recollect.ledger.chain import Draft, chain, event_id
from recollect.ledger.codec import encode_body
from recollect.memory.handle.handle import handle_of
from recollect.model import events as e
from recollect.model.values import Include
from recollect.testing.rebuilding import rebuilt_digest

EVERYTHING: tuple[Include, ...] = ("replaced", "forgotten", "waiting", "expired", "archived")


class Two:
    """A memory in a folder and a copy of it in another one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with Memory.open(folder / "a") as first:
            self.seat = first.remember("The seat is 12A.", key="seat").id
            self.tea = first.remember("Tea without milk.").id
            (said,) = first.observe("I sit by the window.", role="user")
            self.said = said.id
        shutil.copytree(folder / "a", folder / "b")
        self.a, self.b = Memory.open(folder / "a"), Memory.open(folder / "b")

    def close(self) -> None:
        self.a.close()
        self.b.close()


def texts(memory: Memory) -> dict[str, tuple[str, str, str, tuple[str, ...]]]:
    found = memory.list(include=EVERYTHING, limit=1_000)
    return {one.id: (one.text, one.status, one.trust, tuple(sorted(one.tags))) for one in found}


def assert_same(two: Two) -> None:
    assert texts(two.a) == texts(two.b)
    for memory in (two.a, two.b):
        assert memory.admin.verify(deep=True).ok
        space = handle_of(memory).space
        assert rebuilt_digest(space) == space.digest()


def append(
    memory: Memory, origin: e.Origin, *bodies: e.AnyBody, command: str | None = None
) -> None:
    """Events that say of themselves what their writer likes, with a chain that is right."""
    space = handle_of(memory).space
    head, before = space.head(), b"".join(space.pieces())
    drafts = [
        Draft(
            event_id(command or f"forged{head.seq}", place),
            e.KIND_OF[type(body)],
            origin,
            encode_body(body),
        )
        for place, body in enumerate(bodies, 1)
    ]
    data, _ = chain(head, head.at, drafts, b"s" * 16 * len(drafts))
    space.receive([before, data])


def added(id: str, **more: object) -> e.RecordAdded:
    fields = {"text": f"{id} is forged", "kind": "fact", "confidence": 1.0, "status": "active"}
    return e.RecordAdded(id=id, **{"trust": "person", **fields, **more})  # type: ignore[arg-type]
