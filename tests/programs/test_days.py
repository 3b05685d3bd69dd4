"""Three days as a developer lives them: what the model was handed at each prompt."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from recollect.recall.pack import count_tokens
from tests.programs.days import ANOTHER, DAYS, Moved, Prompt, Talk, Typed
from tests.programs.driving import FOLDER, PROGRAMS, Program
from tests.programs.model import Asked, Model

pytestmark = [
    pytest.mark.nightly,  # over a minute for each program
    pytest.mark.skipif(not FOLDER.is_dir(), reason="the programs are not installed: .ci/programs"),
]

TOKENS: Final = 600
_MARKS: Final = re.compile(r"\[[^\]\n]*\]|^- [0-9-]{10}", re.MULTILINE)
_BLOCK: Final = re.compile(r"<recollect>.*?</recollect>", re.DOTALL)


class Row(NamedTuple):
    """One prompt, and what the model was handed at it."""

    talk: Talk
    prompt: Prompt
    handed: str
    before: str  # handed over earlier in the talk, and still in the request
    questions: list[str]  # of her own

    @property
    def missing(self) -> list[str]:
        told = said_in(self.handed + self.before)
        return [words for words in self.prompt.needs if words not in told]

    @property
    def is_new(self) -> bool:
        return all(words in said_in(self.handed) for words in self.prompt.needs)

    @property
    def stale(self) -> list[str]:
        return [words for words in self.prompt.stale if words in said_in(self.handed)]

    @property
    def tokens(self) -> int:
        return count_tokens(self.handed)

    def __str__(self) -> str:
        needed = "yes" if self.is_new else "no" if self.missing else "earlier in the talk"
        needed = needed if self.prompt.needs else ""
        where = f"{self.talk.day} | {self.talk.laptop} | {self.talk.repository}"
        return (
            f"| {where} | {self.prompt.says} | {', '.join(self.prompt.needs)} | {needed} "
            f"| {', '.join(self.stale)} | {len(self.questions)} | {self.tokens} |"
        )


@pytest.mark.parametrize(
    ("name", "days"),
    [("claude-code", DAYS), ("codex", DAYS), ("codex", ANOTHER)],
    ids=["claude-code", "codex", "another"],
)
def test_what_the_model_was_handed(
    name: str, days: Sequence[Talk | Moved], model: Model, tmp_path: Path
) -> None:
    rows = Three(name, model, tmp_path).live(days)
    sys.stdout.write(table(rows))
    needing = [row for row in rows if row.prompt.needs]
    assert len([row for row in needing if not row.missing]) >= 0.9 * len(needing)
    assert [row.prompt.says for row in rows if row.stale] == []
    assert [row.prompt.says for row in rows if row.questions] == []
    assert max(row.tokens for row in rows) <= TOKENS


def said_in(handed: str) -> str:
    """What was handed over without ids and dates, whose digits say nothing."""
    return _MARKS.sub("", handed)


def table(rows: list[Row]) -> str:
    """What was handed over at each prompt, and below it what was wrong."""
    head = "| day | laptop | in | prompt | needed | handed over | stale | own questions | tokens |"
    wrong = [row for row in rows if row.missing or row.stale or row.questions]
    lines = ["", head, "|---|---|---|---|---|---|---|---|---|", *map(str, rows)]
    return "\n".join([*lines, *(f"\n{row.prompt.says}\n{row.handed}" for row in wrong), ""])


class Three:
    """Both laptops, with a clone of each repository."""

    def __init__(self, name: str, model: Model, folder: Path) -> None:
        self.model, self.stick = model, folder / "stick"
        self.laptops: dict[int, Program] = {}
        self.asked: list[str] = []
        for number in (1, 2):
            home = folder / f"laptop{number}"
            home.mkdir()
            self.laptops[number] = PROGRAMS[name](name, home, model.address)
            for repository in ("shop", "app"):
                words = ["git", "init", "--quiet", str(home / repository)]
                subprocess.run(words, check=True, timeout=60)
        self.begin(1, ["shop", "app"])

    def begin(self, laptop: int, repositories: list[str]) -> None:
        """Makes or adopts the memories of a laptop, and installs ours once."""
        program = self.laptops[laptop]
        for number, repository in enumerate(repositories):
            program.recollect(program.home / repository, "init", "--yes")
            if program.name == "claude-code":  # its hooks are those of one project
                program.recollect(
                    program.home / repository, "hooks", "install", program.name, "--yes"
                )
            if number == 0:
                program.install(program.home / repository)

    def live(self, days: Sequence[Talk | Moved]) -> list[Row]:
        rows = []
        for part in days:
            if isinstance(part, Moved):
                self.move(part)
                continue
            program = self.laptops[part.laptop]
            folder = program.home / part.repository
            before: Counter[str] = Counter()
            is_first = True
            for step in part.steps:
                if isinstance(step, Typed):
                    self.type(program, folder, step)
                    continue
                handed = self.say(program, folder, step, resumed=not is_first)
                new, old = ("\n".join(one.elements()) for one in (handed - before, handed & before))
                questions = [one for one in self.asked if one in new]
                rows.append(Row(part, step, new, old, questions))
                before, is_first = handed, False
                if step.says.endswith("?"):
                    self.asked.append(step.says)
        return rows

    def say(self, program: Program, folder: Path, prompt: Prompt, *, resumed: bool) -> Counter[str]:
        """Every block of memory in the first request for a prompt."""
        self.model.will(*prompt.does, say=prompt.answers)
        program.ask(folder, prompt.says, resumed=resumed)
        assert self.model.missing == []
        return Counter(blocks(self.model.turns[0]))

    def type(self, program: Program, folder: Path, typed: Typed) -> None:
        words = list(typed.words)
        if words[-1] == "--last":
            listed = program.recollect(folder, "review", "list", "--json")
            (waits,) = json.loads(listed)["waiting"]
            words[-1:] = [f"{waits['id']}@{waits['digest']}", "--yes"]
        program.recollect(folder, *words)

    def move(self, moved: Moved) -> None:
        """As docs/how-to/backup.md says: push to a stick, pull from it, adopt what is new."""
        source, target = self.laptops[moved.source], self.laptops[moved.target]
        places = {"shop": ".git/recollect", "app": ".git/recollect", "": ".recollect"}
        for repository, place in places.items():
            here, there = source.home / repository, target.home / repository
            stick = str(self.stick / (repository or "own"))
            source.recollect(here, "--store", place, "admin", "push", stick)
            merged = ["--merge", "--mine", "--yes"] if moved.merged else []
            target.recollect(there, "--store", place, "admin", "pull", stick, *merged)
        if not moved.merged:
            self.begin(moved.target, ["shop", "app"])


def blocks(asked: Asked) -> list[str]:
    """The blocks of memory in a request."""
    return [block for text in texts(asked.body) for block in _BLOCK.findall(text)]


def texts(part: object) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict):
        yield from (text for name, one in part.items() if name != "tools" for text in texts(one))
    elif isinstance(part, list):
        yield from (text for one in part for text in texts(one))
