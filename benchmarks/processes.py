"""Whole processes, from their start to their end, against Python with nothing but sqlite3.

Responsible for the command line of both installs and for the prompt hook. Leaves the hook's own
report to ``cold``. Invariant: both sides read the same index, with the same interpreter and their
bytecode at hand.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from benchmarks import cold
from benchmarks.bare import INDEX
from benchmarks.measures import Advance, Sizes, Skipped, filled, match_of, questions
from benchmarks.reads import need_static
from benchmarks.sentences import sentences
from benchmarks.timing import Paired, in_turns
from recollect.compose import record_embedder
from recollect.config import NONE, load
from recollect.embedder_names import STATIC
from recollect.index.statements import statements
from recollect.memory import Memory

_BARE: Final = """
import sqlite3, sys
index, match, query = sys.argv[1:]
connection = sqlite3.connect(index)
for doc, rank in connection.execute(match, {"query": query, "limit": 10}):
    text = connection.execute("SELECT text FROM versions WHERE seq = ?", (doc,)).fetchone()
    print(rank, text)
"""


def cold_base(folder: Path, sizes: Sizes, advance: Advance) -> Paired:
    """``recollect recall`` as the base install does it: the memory's recorded embedder is none."""
    return _cold(folder / "cold", NONE, sizes, advance)


def cold_local(folder: Path, sizes: Sizes, advance: Advance) -> Paired:
    """The same with static vectors, all of them there."""
    return _cold(folder / "local", STATIC, sizes, advance)


def hook_after_write(folder: Path, sizes: Sizes, advance: Advance) -> Paired:
    """The prompt hook, right after another process wrote to the memory and went on living."""
    place = folder / "hook"
    place.mkdir()
    bare, hook = cold.sides(place, sizes.batch)
    texts = iter(sentences(2 * (sizes.cold_rounds + 1), seed=10))

    def by_us() -> None:
        if b"additionalContext" not in hook.run().stdout:
            raise AssertionError("the hook returned nothing, so there is nothing to compare")

    with Memory.open(cold.store_of(place), embedder=NONE) as memory:
        return _in_turns(bare.run, by_us, lambda: memory.remember(next(texts)), sizes, advance)


def _cold(place: Path, embedder: str, sizes: Sizes, advance: Advance) -> Paired:
    command = shutil.which("recollect", path=str(Path(sys.executable).parent))
    if command is None:
        raise Skipped("the `recollect` command is not installed beside this Python")
    if embedder != NONE:
        need_static()
    with filled(place, sizes.batch, embedder=embedder) as memory:
        memory.admin.embed()
    record_embedder(load(place, embedder=embedder, environment={}), replace=True)
    question = questions(1)[0]
    ours = [command, "recall", question, "--store", str(place), "--json"]
    match = statements()["match_recallable"]
    bare = [sys.executable, "-c", _BARE, str(place / INDEX), match, match_of(question)]
    variables = cold.variables(place.parent)
    tried = subprocess.run(ours, env=variables, capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        last = (tried.stderr.strip() or "no message").splitlines()[-1]
        raise Skipped(f"`recollect recall` ended with {tried.returncode}: {last}")

    def process(arguments: list[str]) -> None:
        subprocess.run(arguments, env=variables, check=True, capture_output=True)

    return _in_turns(lambda: process(bare), lambda: process(ours), None, sizes, advance)


def _in_turns(
    bare: Callable[[], object],
    ours: Callable[[], object],
    before: Callable[[], object] | None,
    sizes: Sizes,
    advance: Advance,
) -> Paired:
    return in_turns(
        bare=lambda number: bare(),
        ours=lambda number: ours(),
        rounds=sizes.cold_rounds,
        operations=1,
        before=None if before is None else lambda number: before(),
        advance=advance,
    )
