"""``python -m benchmarks.everyday``: what a developer asks of a small memory, and what a hook says.

Responsible for filling a memory with an everyday set, asking its questions through ``recall``, and
giving its questions and prompts to the prompt hook. Leaves large memories to ``recall``.
Invariant: a set is only read; the hook is asked exactly what a person would type.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec

from benchmarks.machine import commit
from recollect import Memory, Store
from recollect.assistants import prompting
from recollect.config import Places, Settings
from recollect.finding.vectors import embed_all
from recollect.model.events import Role

Install = Literal["none", "static"]
INSTALLS: Final[dict[str, Install]] = {"base": "none", "[local]": "static"}
_HERE: Final = Path(__file__).parent
_FOUND: Final = _HERE.parents[1] / "shared" / "findings" / "everyday.json"
_SECOND: Final = _HERE / "data" / "everyday.json"
_HITS: Final = 3
_HOOK_TOKENS: Final = 1_000


class Told(msgspec.Struct, frozen=True):
    """One memory of a set, in the order in which it came."""

    kind: Literal["record", "episode"]
    text: str
    key: str | None = None
    tags: tuple[str, ...] = ()
    about: str | None = None
    role: Role = "user"
    said_at: str | None = None
    session: str | None = None


class Asked(msgspec.Struct, frozen=True):
    """A question, and words of its right answers; any of them will do."""

    q: str
    any: tuple[str, ...]

    def is_in(self, text: str) -> bool:
        """True if a text has a right answer."""
        return any(words in text for words in self.any)


class EverydaySet(msgspec.Struct, frozen=True):
    """Memories, questions about them, and prompts about which they hold nothing."""

    memories: tuple[Told, ...]
    questions: tuple[Asked, ...]
    unanswerable: tuple[str, ...]
    coding_prompts: tuple[str, ...]


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What one installation did with one set; counts, and relevances where it says so."""

    questions: int
    hit_at_1: int
    hit_at_3: int
    hook_handed_over: int
    hook_wrong_only: int  # handed something over, and not the answer
    unanswerable: int
    unanswerable_answered: int
    coding_prompts: int
    coding_prompts_answered: int
    recall_unanswerable_answered: int  # by recall, of the questions that cannot be answered
    right: dict[str, float]  # question -> relevance of the right answer, where it is among the hits
    missed: list[str]
    silent: list[str]  # questions on which the hook did not hand over the answer
    spoke: list[str]  # prompts and unanswerable questions on which the hook spoke


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of each set and installation."""

    commit: str
    sets: dict[str, dict[str, Figures]]


def load(path: Path) -> EverydaySet:
    """A set from its file."""
    return msgspec.json.decode(path.read_bytes(), type=EverydaySet)


def fill(memory: Memory, told: Sequence[Told]) -> None:
    """Stores the memories of a set in their order, and computes their vectors."""
    for one in told:
        if one.kind == "record":
            memory.remember(one.text, key=one.key, tags=one.tags, about=one.about)
        else:
            memory.observe(one.text, role=one.role, session=one.session, said_at=one.said_at)
    embed_all(memory._handle.space, memory._handle.embedders)


def measure(given: EverydaySet, embedder: Install, folder: Path) -> Figures:
    """One installation, on a memory of files in an empty folder."""
    settings = Settings(where=str(folder), why="measured", embedder=embedder)
    with Store.open(settings=settings) as store:
        memory = store.space("main")
        fill(memory, given.memories)
        places = [_recalled(memory, asked) for asked in given.questions]
        loose = sum(bool(memory.recall(query, k=_HITS).hits) for query in given.unanswerable)
    hook = _hook(settings)
    told = [hook(asked.q) for asked in given.questions]
    right = [asked.is_in(text) for asked, text in zip(given.questions, told, strict=True)]
    strange = [query for query in given.unanswerable if hook(query)]
    coding = [query for query in given.coding_prompts if hook(query)]
    paired = list(zip(given.questions, places, strict=True))
    return Figures(
        questions=len(right),
        hit_at_1=sum(place == 1 for place, _ in places),
        hit_at_3=sum(place is not None for place, _ in places),
        hook_handed_over=sum(right),
        hook_wrong_only=sum(bool(text) and not ok for text, ok in zip(told, right, strict=True)),
        unanswerable=len(given.unanswerable),
        unanswerable_answered=len(strange),
        coding_prompts=len(given.coding_prompts),
        coding_prompts_answered=len(coding),
        recall_unanswerable_answered=loose,
        right={asked.q: round(rel, 3) for asked, (place, rel) in paired if place is not None},
        missed=[asked.q for asked, (place, _) in paired if place is None],
        silent=[asked.q for asked, ok in zip(given.questions, right, strict=True) if not ok],
        spoke=[*strange, *coding],
    )


def _recalled(memory: Memory, asked: Asked) -> tuple[int | None, float]:
    """The place of the right answer among the first hits, and its relevance."""
    for place, hit in enumerate(memory.recall(asked.q, k=_HITS).hits, start=1):
        if asked.is_in(hit.text):
            return place, hit.relevance
    return None, 0.0


def _hook(settings: Settings) -> Callable[[str], str]:
    """The prompt hook over this memory alone."""
    places = Places(project=settings, me=settings, named=False)
    return lambda prompt: prompting.for_prompt(places, prompt, tokens=_HOOK_TOKENS)


def run(sets: dict[str, EverydaySet]) -> Report:
    """Every set with every installation, each on a memory of its own."""
    found: dict[str, dict[str, Figures]] = {}
    for name, given in sets.items():
        for install, embedder in INSTALLS.items():
            with tempfile.TemporaryDirectory(prefix="recollect-everyday-") as folder:
                found.setdefault(name, {})[install] = measure(given, embedder, Path(folder))
    return Report(commit=commit(), sets=found)


def table(report: Report) -> str:
    """The report for people."""
    heads = ("hit@1", "hit@3", "hook", "hook wrong", "unanswerable", "coding")
    lines = [f"{'set':10}{'install':10}" + "".join(f"{head:>14}" for head in heads)]
    for name, installs in report.sets.items():
        for install, one in installs.items():
            figures = (
                f"{one.hit_at_1}/{one.questions}",
                f"{one.hit_at_3}/{one.questions}",
                f"{one.hook_handed_over}/{one.questions}",
                f"{one.hook_wrong_only}",
                f"{one.unanswerable_answered}/{one.unanswerable}",
                f"{one.coding_prompts_answered}/{one.coding_prompts}",
            )
            lines.append(f"{name:10}{install:10}" + "".join(f"{each:>14}" for each in figures))
    return "\n".join(lines)


def main(words: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.everyday", description=__doc__)
    parser.add_argument("--found", type=Path, default=_FOUND, help="the first set")
    parser.add_argument("--second", type=Path, default=_SECOND, help="the second set")
    parser.add_argument("--only", choices=("found", "second"), help="measure one set alone")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    options = parser.parse_args(words)
    paths = {"found": options.found, "second": options.second}
    wanted = {name: path for name, path in paths.items() if options.only in (None, name)}
    report = run({name: load(path) for name, path in wanted.items() if path.is_file()})
    plain = msgspec.json.format(msgspec.json.encode(report), indent=2).decode()
    print(plain if options.json else table(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
