"""Uses a field of a record, which is named on the command line, in every way that a person has.

Started by ``test_new_field`` in a copy of the tree that has this field; prints what it has shown.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from recollect import AsyncMemory, Memory, Store
from recollect.client import Store as Remote
from tests.http.serving import served
from tests.web import visiting


def of(field: str, value: str) -> Any:
    return {field: value}


def told(record: Any, field: str) -> object:
    return getattr(record, field)


def in_memory(memory: Memory, field: str) -> None:
    made = memory.remember("The house is red.", **of(field, "one"))
    again = memory.revise(made.id, **of(field, "two"))
    assert (told(made, field), told(again, field)) == ("one", "two")
    undone = memory.undo(made.id).record
    assert told(undone, field) == "one"
    with memory.batch() as batch:
        batch.remember("The door is blue.", **of(field, "one"))
        batch.revise(made.id, **of(field, "three"))
    assert [told(each, field) for each in batch.results] == ["one", "three"]
    memory.admin.rebuild()
    assert [each.id for each in memory.list(filter=f"{field} = 'three'")] == [made.id]
    said = memory.remember("The house is red.", **of(field, "four"))  # restated
    assert (said.id, told(said, field)) == (made.id, "four")


def in_review(memory: Memory, field: str) -> None:
    own = memory.remember("The roof is flat.", **of(field, "one"))
    memory.scoped(trust="agent").revise(own.id, "The roof is steep.", **of(field, "two"))
    assert told(memory.get(own.id), field) == "one"
    (waiting,) = memory.review.list()
    shown: Any = memory.review.show(waiting.id)
    assert field in json.dumps(shown.to_dict())
    memory.review.approve(shown.id, shown.digest)
    assert told(memory.get(own.id), field) == "two"


def on_a_branch(memory: Memory, field: str) -> None:
    own = memory.remember("The wall is old.", **of(field, "one"))
    memory.branches.open("b")
    memory.on("b").revise(own.id, "The wall is new.", **of(field, "two"))
    added = memory.on("b").remember("The wall is high.", **of(field, "three"))
    assert told(memory.on("b").get(own.id), field) == "two"
    memory.branches.merge("b", digest=memory.branches.diff("b").digest)
    assert told(memory.get(own.id), field) == "two"
    found = memory.list(filter="text = 'The wall is high.'")
    assert [told(each, field) for each in found] == ["three"], added


def in_an_export(memory: Memory, field: str, folder: Path) -> None:
    file = folder / "all.ndjson"
    memory.admin.export("ndjson", file)
    with Memory.open(folder / "other", embedder="none") as other:
        other.admin.import_(file)
        assert {each.id: told(each, field) for each in other.list()} == {
            each.id: told(each, field) for each in memory.list()
        }


def over_a_service(store: Store, field: str) -> None:
    token = store.tokens.create("all", space=None, verbs=("read", "write"), trust="person").token
    with (
        served(store) as port,
        Remote.open(f"http://127.0.0.1:{port}", token=token, timeout_s=20) as remote,
        remote.space("main") as memory,
    ):
        made = memory.remember("Sent.", **of(field, "one"))
        assert told(memory.revise(made.id, **of(field, "two")), field) == "two"
        with memory.batch() as batch:
            batch.remember("Sent together.", **of(field, "three"))
            batch.revise(made.id, **of(field, "four"))
        assert [told(each, field) for each in batch.results] == ["three", "four"]
        asked = AsyncMemory(memory)
        found = asyncio.run(asked.remember("Sent from a loop.", **of(field, "five")))
        assert told(found, field) == "five"


def in_a_shell(folder: Path, field: str) -> None:
    command = [sys.executable, "-m", "recollect", "--store", str(folder / "shell")]
    words = ("remember", "Typed.", f"--{field}", "one", "--json")
    done = subprocess.run([*command, *words], check=True, capture_output=True, timeout=60)
    made = json.loads(done.stdout)
    assert made[field] == "one"
    shown = subprocess.run(
        [*command, "show", made["id"], "--json"], check=True, capture_output=True, timeout=60
    )
    assert f'"{field}":"one"' in shown.stdout.decode().replace(" ", "")


def in_the_inspector(store: Store, field: str) -> None:
    own = store.space("main").remember("Looked at.", **of(field, "seldom"))
    with visiting.served(store) as inspector:
        assert "seldom" in inspector.enter().get(f"/main/r/{own.id}").words


def main(field: str) -> None:
    with TemporaryDirectory() as name, Store.open(Path(name) / "w", embedder="none") as store:
        memory = store.space("main")
        uses: dict[str, Callable[[], None]] = {
            "memory": lambda: in_memory(memory, field),
            "review": lambda: in_review(memory, field),
            "branch": lambda: on_a_branch(memory, field),
            "export": lambda: in_an_export(memory, field, Path(name)),
            "service": lambda: over_a_service(store, field),
            "shell": lambda: in_a_shell(Path(name), field),
            "inspector": lambda: in_the_inspector(store, field),
        }
        for where, use in uses.items():
            use()
            sys.stdout.write(f"{where}\n")


if __name__ == "__main__":
    main(sys.argv[1])
