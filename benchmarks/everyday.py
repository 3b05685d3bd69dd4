"""``python -m benchmarks.everyday``: what a developer asks of a small memory, and what a hook says.

Responsible for filling a memory with an everyday set, asking its questions through ``recall``,
giving its questions and prompts to the prompt hook, and for asking everything again after the hook
has stored each question. Leaves large memories to ``recall``.
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
from recollect import Hit, Memory, Store
from recollect.assistants import prompts, typed
from recollect.config import Places, Settings
from recollect.finding.vectors import embed_all
from recollect.model.events import Role

Install = Literal["none", "static"]
INSTALLS: Final[dict[str, Install]] = {"base": "none", "[local]": "static"}
_HERE: Final = Path(__file__).parent
_FOUND: Final = _HERE.parents[1] / "shared" / "findings" / "everyday.json"
_SECOND: Final = _HERE / "data" / "everyday.json"
_THIRD: Final = _HERE / "data" / "everyday-third.json"
_HITS: Final = 3
_LIKELY: Final = 0.5
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
    how: Literal["plain", "typo", "paraphrase", "abbreviation"] = "plain"

    def is_in(self, text: str) -> bool:
        """True if a text has a right answer."""
        return any(words in text for words in self.any)


class EverydaySet(msgspec.Struct, frozen=True):
    """Memories, questions about them, and prompts about which they hold nothing."""

    memories: tuple[Told, ...]
    questions: tuple[Asked, ...]
    unanswerable: tuple[str, ...]
    coding_prompts: tuple[str, ...]


class Again(msgspec.Struct, frozen=True, kw_only=True):
    """The same after the hook has stored every question once."""

    hit_at_1: int
    own_question_first: int
    hook_handed_over: int
    hook_wrong_only: int
    lost: list[str]  # questions whose answer was the first hit before, and is not now


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
    recall_unanswerable_likely: int  # and with a relevance of at least a half
    strong: int  # first hits, also of questions that cannot be answered
    strong_right: int
    hook_by_how: dict[str, str]  # how a question is asked -> handed over, of how many
    again: Again
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
        found = [memory.recall(asked.q, k=_HITS).hits for asked in given.questions]
        loose = [memory.recall(query, k=_HITS).hits for query in given.unanswerable]
    hook = _hook(settings)
    told = [hook(asked.q) for asked in given.questions]
    right = [asked.is_in(text) for asked, text in zip(given.questions, told, strict=True)]
    strange = [query for query in given.unanswerable if hook(query)]
    coding = [query for query in given.coding_prompts if hook(query)]
    places = [_place(asked, hits) for asked, hits in zip(given.questions, found, strict=True)]
    paired = list(zip(given.questions, places, strict=True))
    strong = [(asked, hits[0]) for asked, hits in _firsts(given, found, loose)]
    return Figures(
        questions=len(right),
        hit_at_1=sum(place == 1 for place, _ in places),
        hit_at_3=sum(place is not None for place, _ in places),
        hook_handed_over=sum(right),
        hook_wrong_only=_wrong(told, right),
        unanswerable=len(given.unanswerable),
        unanswerable_answered=len(strange),
        coding_prompts=len(given.coding_prompts),
        coding_prompts_answered=len(coding),
        recall_unanswerable_answered=sum(map(bool, loose)),
        recall_unanswerable_likely=sum(
            bool(hits) and hits[0].relevance >= _LIKELY for hits in loose
        ),
        strong=len(strong),
        strong_right=sum(asked is not None and asked.is_in(hit.text) for asked, hit in strong),
        hook_by_how=_by_how(given, right),
        again=_again(given, settings, [place for place, _ in places]),
        right={asked.q: round(rel, 3) for asked, (place, rel) in paired if place is not None},
        missed=[asked.q for asked, (place, _) in paired if place is None],
        silent=[asked.q for asked, ok in zip(given.questions, right, strict=True) if not ok],
        spoke=[*strange, *coding],
    )


def _again(given: EverydaySet, settings: Settings, before: Sequence[int | None]) -> Again:
    """Stores every question as the prompt hook does, and asks them again in another session."""
    own = {asked.q for asked in given.questions} | set(given.unanswerable)
    with Store.open(settings=settings) as store:
        memory = store.space("main")
        for query in (*(asked.q for asked in given.questions), *given.unanswerable):
            typed.keep(memory.scoped(session="asked"), query, "asked")
        embed_all(memory._handle.space, memory._handle.embedders)
        found = [memory.recall(asked.q, k=_HITS).hits for asked in given.questions]
    hook = _hook(settings)
    told = [hook(asked.q) for asked in given.questions]
    right = [asked.is_in(text) for asked, text in zip(given.questions, told, strict=True)]
    places = [_place(asked, hits)[0] for asked, hits in zip(given.questions, found, strict=True)]
    return Again(
        hit_at_1=sum(place == 1 for place in places),
        own_question_first=sum(bool(hits) and hits[0].text in own for hits in found),
        hook_handed_over=sum(right),
        hook_wrong_only=_wrong(told, right),
        lost=[
            asked.q
            for asked, was, now in zip(given.questions, before, places, strict=True)
            if was == 1 != now
        ],
    )


def _firsts(
    given: EverydaySet, found: Sequence[tuple[Hit, ...]], loose: Sequence[tuple[Hit, ...]]
) -> list[tuple[Asked | None, tuple[Hit, ...]]]:
    """The hits of each question whose first one is strong; None for one without an answer."""
    every = [*zip(given.questions, found, strict=True), *((None, hits) for hits in loose)]
    return [(asked, hits) for asked, hits in every if hits and hits[0].strength == "strong"]


def _wrong(told: Sequence[str], right: Sequence[bool]) -> int:
    return sum(bool(text) and not ok for text, ok in zip(told, right, strict=True))


def _by_how(given: EverydaySet, right: Sequence[bool]) -> dict[str, str]:
    """Of each way of asking, how many the hook handed over."""
    groups: dict[str, list[bool]] = {}
    for asked, ok in zip(given.questions, right, strict=True):
        groups.setdefault(asked.how, []).append(ok)
    return {how: f"{sum(oks)}/{len(oks)}" for how, oks in groups.items()}


def _place(asked: Asked, hits: Sequence[Hit]) -> tuple[int | None, float]:
    """The place of the right answer among the first hits, and its relevance."""
    for place, hit in enumerate(hits, start=1):
        if asked.is_in(hit.text):
            return place, hit.relevance
    return None, 0.0


def _hook(settings: Settings) -> Callable[[str], str]:
    """The prompt hook over this memory alone."""
    places = Places(project=settings, personal=settings, named=False)
    return lambda prompt: prompts.for_prompt(places, prompt, tokens=_HOOK_TOKENS)


def run(sets: dict[str, EverydaySet]) -> Report:
    """Every set with every installation, each on a memory of its own."""
    found: dict[str, dict[str, Figures]] = {}
    for name, given in sets.items():
        for install, embedder in INSTALLS.items():
            with tempfile.TemporaryDirectory(prefix="recollect-everyday-") as folder:
                found.setdefault(name, {})[install] = measure(given, embedder, Path(folder))
    return Report(commit=commit(), sets=found)


def table(report: Report) -> str:
    """The report for people; the last four columns are after every question was asked once."""
    heads = (
        *("hit@1", "hit@3", "hook", "wrong", "strong ok", "unans>=.5", "hook unans", "coding"),
        *("| again@1", "own first", "hook", "wrong"),
    )
    lines = [f"{'set':8}{'install':9}" + "".join(f"{head:>11}" for head in heads)]
    for name, installs in report.sets.items():
        for install, one in installs.items():
            figures = (
                f"{one.hit_at_1}/{one.questions}",
                f"{one.hit_at_3}/{one.questions}",
                f"{one.hook_handed_over}/{one.questions}",
                f"{one.hook_wrong_only}",
                f"{one.strong_right}/{one.strong}",
                f"{one.recall_unanswerable_likely}/{one.unanswerable}",
                f"{one.unanswerable_answered}/{one.unanswerable}",
                f"{one.coding_prompts_answered}/{one.coding_prompts}",
                f"{one.again.hit_at_1}/{one.questions}",
                f"{one.again.own_question_first}",
                f"{one.again.hook_handed_over}/{one.questions}",
                f"{one.again.hook_wrong_only}",
            )
            lines.append(f"{name:8}{install:9}" + "".join(f"{each:>11}" for each in figures))
    return "\n".join(lines)


def main(words: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.everyday", description=__doc__)
    parser.add_argument("--found", type=Path, default=_FOUND, help="the first set")
    parser.add_argument("--second", type=Path, default=_SECOND, help="the second set")
    parser.add_argument("--third", type=Path, default=_THIRD, help="the third set")
    parser.add_argument(
        "--only", choices=("found", "second", "third"), help="measure one set alone"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    options = parser.parse_args(words)
    paths = {"found": options.found, "second": options.second, "third": options.third}
    wanted = {name: path for name, path in paths.items() if options.only in (None, name)}
    report = run({name: load(path) for name, path in wanted.items() if path.is_file()})
    plain = msgspec.json.format(msgspec.json.encode(report), indent=2).decode()
    print(plain if options.json else table(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
