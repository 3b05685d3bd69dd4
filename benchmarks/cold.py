"""``python -m benchmarks.cold``: what an assistant waits for before each prompt.

Responsible for the time of a whole process, from its start to its end: the hook verb against bare
Python that asks the same full text, in turns. Leaves warm calls to ``engine``. Invariant: both
sides read the same index, with the same interpreter and their bytecode at hand.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Final

import msgspec

from benchmarks.bare import INDEX
from benchmarks.machine import commit, machine
from benchmarks.measures import filled, match_of
from benchmarks.report import Aim
from benchmarks.sentences import sentences
from benchmarks.timing import in_turns
from recollect.compose import record_embedder
from recollect.config import EMBEDDER_VARIABLE, NONE, STORE_VARIABLE, load, places
from recollect.index.statements import statements
from recollect.places import consent, known

AIM: Final = Aim("cold_hook_ratio", "`recollect context --hook`, cold", 4.0, is_cost=True)

_BARE: Final = """
import sqlite3, sys
index, match, query = sys.argv[1:]
connection = sqlite3.connect(index)
for doc, rank in connection.execute(match, {"query": query, "limit": 40}):
    print(rank, connection.execute("SELECT text FROM versions WHERE seq = ?", (doc,)).fetchone())
"""
_IMPORT: Final = """
from time import perf_counter
started = perf_counter()
import recollect
print((perf_counter() - started) * 1e3)
"""
_HOOK: Final = "import sys; from recollect.__main__ import main; sys.exit(main())"
_TOP: Final = 20


class Sizes(msgspec.Struct, frozen=True):
    """How much work a run does."""

    records: int = 1_000
    rounds: int = 50
    imports: int = 20


FULL: Final = Sizes()
QUICK: Final = Sizes(records=100, rounds=3, imports=3)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a run found. Milliseconds are those of whole processes, but for ``import_ms``."""

    cold_hook_ratio: float
    aim: float
    reached: bool
    bare_ms: dict[str, float]
    hook_ms: dict[str, float]
    keeping_ratio: float  # the hook where it also stores the prompt, against the same bare process
    keeping_ms: dict[str, float]
    import_ms: float  # of `import recollect`, inside a process
    interpreter_ms: float  # of a process that does nothing
    rounds: int
    records: int
    slowest_imports: list[tuple[str, float]]  # module and its own milliseconds
    machine: dict[str, str | int]
    commit: str


class Side(msgspec.Struct, frozen=True):
    """A process that is started again and again."""

    words: list[str]
    said: bytes
    variables: dict[str, str]

    def run(self, *, quiet: bool = True) -> subprocess.CompletedProcess[bytes]:
        """One start, to its end."""
        return subprocess.run(
            self.words, input=self.said, env=self.variables, check=True, capture_output=quiet
        )


def run(sizes: Sizes, folder: Path) -> Report:
    """Runs all measurements in a folder of the caller."""
    bare, hook = sides(folder, sizes.records)
    if b"additionalContext" not in hook.run().stdout:
        raise AssertionError("the hook returned nothing, so there is nothing to compare")
    paired = in_turns(
        bare=lambda number: bare.run(),
        ours=lambda number: hook.run(),
        rounds=sizes.rounds,
        operations=1,
    )
    ratio = median(paired.ours_s) / median(paired.bare_s)
    keeping = in_turns(
        bare=lambda number: bare.run(),
        ours=lambda number: _keeping(hook, folder, number).run(),
        rounds=sizes.rounds,
        operations=1,
    )
    nothing = Side([sys.executable, "-c", "pass"], b"", hook.variables)
    alone = Side([sys.executable, "-c", _IMPORT], b"", hook.variables)
    starts = in_turns(
        bare=lambda number: nothing.run(),
        ours=lambda number: alone.run(),
        rounds=sizes.imports,
        operations=1,
    )
    return Report(
        cold_hook_ratio=round(ratio, 3),
        aim=AIM.aim or 0.0,
        reached=bool(AIM.reached(ratio)),
        bare_ms=_spread(paired.bare_s),
        hook_ms=_spread(paired.ours_s),
        keeping_ratio=round(median(keeping.ours_s) / median(keeping.bare_s), 3),
        keeping_ms=_spread(keeping.ours_s),
        import_ms=round(median(float(alone.run().stdout) for _ in range(sizes.imports)), 3),
        interpreter_ms=_spread(starts.bare_s)["median"],
        rounds=len(paired.bare_s),
        records=sizes.records,
        slowest_imports=_slowest(hook),
        machine=machine(folder),
        commit=commit(),
    )


def _keeping(hook: Side, folder: Path, number: int) -> Side:
    """The hook where a person said yes to storing sessions; each prompt is of another session."""
    consent.give(places(start=store_of(folder).parent, home=folder, environment={}).project)
    said = json.loads(hook.said) | {"session_id": f"s-{number}"}
    return msgspec.structs.replace(hook, said=json.dumps(said).encode())


def store_of(folder: Path) -> Path:
    """Where ``sides`` makes its memory."""
    return folder / "project" / ".recollect"


def sides(folder: Path, records: int) -> tuple[Side, Side]:
    """The bare process and the hook, on one memory, as the base install has it."""
    store = store_of(folder)
    store.parent.mkdir()
    filled(store, records).close()
    record_embedder(load(store, embedder=NONE, environment={}), replace=True)
    known.adopt(places(start=store.parent, home=folder, environment={}).project)
    question = f"what about {' '.join(sentences(1, seed=1)[0].split()[3:9])}?"
    match = statements()["match_recallable"]
    bare = [sys.executable, "-c", _BARE, str(store / INDEX), match, match_of(question)]
    command = shutil.which("recollect", path=str(Path(sys.executable).parent))
    program = [command] if command else [sys.executable, "-c", _HOOK]
    said = {
        "hook_event_name": "UserPromptSubmit",
        "prompt": question,
        "cwd": str(store.parent),
        "session_id": "s",
        "transcript_path": str(folder / "t.jsonl"),
    }
    own = variables(folder)
    return (
        Side(bare, b"", own),
        Side([*program, "context", "--hook"], json.dumps(said).encode(), own),
    )


def variables(home: Path) -> dict[str, str]:
    """The environment of a process that finds its settings and its bytecode below this folder."""
    # An installed package has its bytecode at hand; so has this one after the first run.
    bytecode = str(home / "bytecode")
    found = {**os.environ, "HOME": str(home), "PYTHONPYCACHEPREFIX": bytecode}
    for name in ("PYTHONDONTWRITEBYTECODE", STORE_VARIABLE, EMBEDDER_VARIABLE):
        found.pop(name, None)
    return found


def _spread(seconds: Sequence[float]) -> dict[str, float]:
    """Median and 95th percentile, in milliseconds."""
    p95 = quantiles(seconds, n=20, method="inclusive")[-1] if len(seconds) > 1 else seconds[0]
    return {"median": round(median(seconds) * 1e3, 2), "p95": round(p95 * 1e3, 2)}


def _slowest(hook: Side) -> list[tuple[str, float]]:
    """The modules that take longest to load, each without those that it loads itself."""
    words = [sys.executable, "-X", "importtime", "-c", _HOOK, "context", "--hook"]
    lines = msgspec.structs.replace(hook, words=words).run().stderr.decode().splitlines()
    found: list[tuple[str, float]] = []
    for line in lines:
        parts = line.removeprefix("import time:").split("|")
        if len(parts) == 3 and parts[0].strip().isdigit():
            found.append((parts[2].strip(), int(parts[0]) / 1e3))
    return sorted(found, key=lambda each: -each[1])[:_TOP]


def table(report: Report) -> str:
    """The report for people."""
    word = "reached" if report.reached else "missed"
    rows = {
        "bare Python and sqlite3, ms": report.bare_ms,
        "recollect context --hook, ms": report.hook_ms,
        "… that stores the prompt, ms": report.keeping_ms,
    }
    lines = [f"{'':32}{'median':>10}{'p95':>10}"]
    lines += [f"{name:32}{ms['median']:>10}{ms['p95']:>10}" for name, ms in rows.items()]
    lines += [
        f"{'ratio':32}{report.cold_hook_ratio:>10}  {AIM.sign} {word}",
        f"{'ratio where it is stored':32}{report.keeping_ratio:>10}",
        f"{'import recollect, ms':32}{report.import_ms:>10}",
        f"{'an interpreter alone, ms':32}{report.interpreter_ms:>10}",
    ]
    if not report.reached:
        lines += ["", "the slowest modules of the hook, own ms"]
        lines += [f"  {name:40}{ms:>8.2f}" for name, ms in report.slowest_imports]
    facts = ", ".join(f"{name} {value}" for name, value in report.machine.items())
    return "\n".join(
        [*lines, "", f"{report.rounds} starts each, {report.records:,} records; {facts}"]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cold",
        description="Measure a hook's process against bare Python with sqlite3.",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--quick", action="store_true", help="a few starts")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="recollect-cold-") as folder:
        report = run(QUICK if chosen.quick else FULL, Path(folder))
    if chosen.json:
        print(msgspec.json.format(msgspec.json.encode(report), indent=2).decode())
    else:
        print(table(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
