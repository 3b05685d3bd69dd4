"""Write docs/reference/contract.md: which clause of the contract is held, and where.

Reads the clauses (docs/reference/clauses.toml), the marks in the tests and the decisions, and
writes one table. Leaves it to the tests to be true. Invariant: the same tree gives the same bytes,
and a mark or decision that names no clause is an error, never ignored.

A mark is a comment that starts with clauses, in or directly above a test: `# S0-18 S0-19: why`.
A decision is a line in docs/decisions/*.md: `Decides: S0-24, S0-25`.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLAUSES = Path("docs/reference/clauses.toml")
PAGE = Path("docs/reference/contract.md")
DECISIONS = Path("docs/decisions")
SCANNED = (Path("tests"), Path("src/recollect/testing"))

ID = r"S\d+-\d+"
STARTS_AS_MARK = re.compile(rf"#+\s*{ID}\b")
MARK = re.compile(rf"#\s*({ID}(?:[ ,]+{ID})*)\s*(?::.*)?")
DECIDES = re.compile(rf"Decides: *({ID}(?:, *{ID})*)\.?")
UNTESTED = "decided without a test"
STATES = ("held", "decided", UNTESTED, "open")
NOT_RUN = frozenset({"skip", "xfail"})

PREFACE = """\
# The contract

Recollect does what the documents of five earlier memory systems for AI agents promise. This page
lists each clause as held, held differently, or open. A clause that is held differently has a
decision, and needs a test as much as the others. The page is made by `make contract` from the marks
in the tests and the `Decides:` lines in `docs/decisions/`; do not edit it.
"""


class ContractError(Exception):
    """A mark, a decision or the list of clauses is wrong; the text says where."""


@dataclass(frozen=True)
class Clause:
    """One clause as it is listed."""

    id: str
    seed: str
    text: str
    note: str = ""


@dataclass(frozen=True)
class Evidence:
    """What the tree says about the clauses: tests by clause, decisions by clause."""

    tests: Mapping[str, Sequence[str]] = field(default_factory=dict)
    decisions: Mapping[str, str] = field(default_factory=dict)

    def state(self, clause: str) -> str:
        if clause in self.decisions:
            return "decided" if clause in self.tests else UNTESTED
        return "held" if clause in self.tests else "open"


def read_clauses(text: str) -> tuple[dict[str, str], list[Clause]]:
    """Return the name of each seed and all clauses in their order."""
    names: dict[str, str] = {}
    clauses: list[Clause] = []
    for seed, table in tomllib.loads(text).items():
        names[seed] = table["name"]
        notes = table.get("notes", {})
        clauses += [
            Clause(f"{seed}-{number}", seed, text, notes.get(number, ""))
            for number, text in table["clauses"].items()
        ]
    return names, clauses


# --- what the tests say


@dataclass(frozen=True)
class Span:
    """The lines of a test or of a class of tests."""

    name: str
    first: int
    last: int
    runs: bool


def spans(body: Sequence[ast.stmt], lines: Sequence[str], prefix: str = "") -> Iterator[Span]:
    """Yield tests and classes, outer before inner, with the comments directly above them."""
    for node in body:
        if isinstance(node, ast.ClassDef) or (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name.startswith("test_")
        ):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            while first > 1 and lines[first - 2].lstrip().startswith("#"):
                first -= 1
            yield Span(prefix + node.name, first, node.end_lineno or node.lineno, runs(node))
            if isinstance(node, ast.ClassDef):
                yield from spans(node.body, lines, f"{prefix}{node.name}::")


def runs(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether no decorator skips the test or expects it to fail."""
    named = (n for d in node.decorator_list for n in ast.walk(d))
    return not any(isinstance(n, ast.Attribute) and n.attr in NOT_RUN for n in named)


def marks(source: str, where: str) -> Iterator[tuple[str, str]]:
    """Yield (clause, test) for each mark in a test module."""
    found = list(spans(ast.parse(source).body, source.split("\n")))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or not STARTS_AS_MARK.match(token.string):
            continue
        line = token.start[0]
        mark = MARK.fullmatch(token.string.rstrip())
        if mark is None:
            raise ContractError(f"{where}:{line}: a mark is `# S0-1 S0-2`, then maybe `: why`")
        around = [span for span in found if span.first <= line <= span.last]
        if not around:
            raise ContractError(f"{where}:{line}: a mark stands in or directly above a test")
        if not all(span.runs for span in around):
            raise ContractError(f"{where}:{line}: a test that is skipped or xfails holds nothing")
        for clause in re.findall(ID, mark[1]):
            yield clause, f"{where}::{around[-1].name}"


def decided(text: str, where: str) -> Iterator[str]:
    """Yield the clauses that a decision record says are held differently."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("Decides:"):
            match = DECIDES.fullmatch(line.strip())
            if match is None:
                raise ContractError(f"{where}:{number}: write `Decides: S0-1, S0-2`")
            yield from re.findall(ID, match[1])


def gather(root: Path, known: frozenset[str]) -> Evidence:
    """Read marks and decisions of a tree; refuse those that name no clause."""
    tests: dict[str, list[str]] = {}
    decisions: dict[str, str] = {}

    def check(clause: str, where: str) -> str:
        if clause not in known:
            raise ContractError(f"{where}: there is no clause {clause}")
        return clause

    for folder in SCANNED:
        for path in sorted((root / folder).rglob("*.py")):
            where = path.relative_to(root).as_posix()
            for clause, test in marks(path.read_text("utf-8"), where):
                names = tests.setdefault(check(clause, test), [])
                if test not in names:
                    names.append(test)
    for path in sorted((root / DECISIONS).glob("*.md")):
        where = path.relative_to(root).as_posix()
        for clause in decided(path.read_text("utf-8"), where):
            decisions.setdefault(check(clause, where), where)
    return Evidence(tests, decisions)


# --- the page


def count(clauses: Sequence[Clause], evidence: Evidence) -> str:
    states = [evidence.state(clause.id) for clause in clauses]
    tally = ", ".join(f"{state} {states.count(state)}" for state in STATES)
    return f"{tally} of {len(states)}"


def cell(text: str) -> str:
    """Escape what would end a table cell."""
    return text.replace("|", "\\|")


def link(text: str, path: str) -> str:
    return f"[{text}](../../{path})"


def row(clause: Clause, evidence: Evidence) -> str:
    text = cell(clause.text) + (f" *({cell(clause.note)})*" if clause.note else "")
    state = evidence.state(clause.id)
    if clause.id in evidence.decisions:
        shown = "held differently" if state == "decided" else "held differently, no test"
        state = link(shown, evidence.decisions[clause.id])
    where = [link(f"`{test}`", test.split("::")[0]) for test in evidence.tests.get(clause.id, ())]
    return f"| {clause.id} | {text} | {state} | {'<br>'.join(where)} |"


def render(names: Mapping[str, str], clauses: Sequence[Clause], evidence: Evidence) -> str:
    parts = [PREFACE, f"All: {count(clauses, evidence)}.\n"]
    for seed, name in names.items():
        mine = [clause for clause in clauses if clause.seed == seed]
        rows = "\n".join(row(clause, evidence) for clause in mine)
        parts.append(
            f"## {seed} {name}\n\n{count(mine, evidence)}.\n\n"
            f"| clause | text | state | where |\n|---|---|---|---|\n{rows}\n"
        )
    return "\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="contract", description="Write the contract page.")
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree to read")
    parser.add_argument("--seed", help="count this seed alone")
    parser.add_argument("--check", action="store_true", help="write nothing, fail if stale")
    options = parser.parse_args(arguments)
    try:
        names, clauses = read_clauses((options.root / CLAUSES).read_text("utf-8"))
        if options.seed and options.seed not in names:
            raise ContractError(f"there is no seed {options.seed}; there are {', '.join(names)}")
        evidence = gather(options.root, frozenset(clause.id for clause in clauses))
    except ContractError as error:
        print(error, file=sys.stderr)
        return 1
    text = render(names, clauses, evidence)
    page = options.root / PAGE
    stale = not page.exists() or page.read_text("utf-8") != text
    if stale and options.check:
        print(f"{PAGE} is stale: run make contract", file=sys.stderr)
    elif stale:
        page.write_text(text, "utf-8")
    print(count([c for c in clauses if options.seed in (None, c.seed)], evidence))
    return int(stale and options.check)


if __name__ == "__main__":
    sys.exit(main())
