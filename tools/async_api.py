"""Writes the async API from the plain one.

    python -m tools.async_api           writes src/recollect/aio/
    python -m tools.async_api --check   fails if what is there differs

Responsible for one async method for each public method of the groups that ``Memory`` is made of:
the same signature, the same documentation, one call in a worker thread. Leaves what cannot be
derived (opening, narrowing, batches) to ``aio/memory.py``, which is written by hand. Invariant: a
generated module holds nothing that its plain module does not say.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
PLAIN: Final = ROOT / "src/recollect/memory"
ASYNC: Final = ROOT / "src/recollect/aio"

# Each plain module with its class, and the class whose calls the async one runs.
GROUPS: Final = {
    "writing": ("Writing", "Memory"),
    "reading": ("Reading", "Memory"),
    "linking": ("Linking", "Memory"),
    "contexts": ("Contexts", "Memory"),
    "correcting": ("Correcting", "Memory"),
    "leaving": ("Leaving", "Memory"),
    "upkeep": ("Upkeep", "Memory"),
    "exchanging": ("Exchanging", "Memory"),
    "frames": ("Frames", "Frames"),
    "receipts": ("Receipts", "Receipts"),
    "documents": ("Documents", "Documents"),
    "rules": ("Rules", "Rules"),
    "sessions": ("Sessions", "Sessions"),
    "review": ("Review", "Review"),
    "branches": ("Branches", "Branches"),
    "pages": ("Pages", "Pages"),
    "tokens": ("Tokens", "Tokens"),
    "jobs": ("Jobs", "Jobs"),
}
# What a memory has as a property, each with calls of its own.
PARTS: Final = (
    "AsyncBranches",
    "AsyncDocuments",
    "AsyncFrames",
    "AsyncPages",
    "AsyncReceipts",
    "AsyncReview",
    "AsyncRules",
    "AsyncSessions",
)
BY_HAND: Final = frozenset({"batch"})  # its block is async; ``aio/memory.py`` has it

Method = ast.FunctionDef


def generated(module: str, kinds: frozenset[str] = frozenset(), *, client: bool = False) -> str:
    """The text of one async module; with ``client`` that of the client of a service.

    ``kinds`` are words that the client has from ``client.kinds``.
    """
    source = (PLAIN / f"{module}.py").read_text("utf-8")
    tree = ast.parse(source)
    group, runs = GROUPS[module]
    methods = list(_public(_class(tree, group)))
    body = [_property(m) if _is_property(m) else _method(source, m) for m in methods]
    names = {name for m in methods for name in _names(m)} | {runs}
    if module == "contexts":
        names |= set(PARTS)
    text = "\n\n".join(
        [
            _HEAD.format(module=module),
            "\n".join(["from __future__ import annotations", "", *_imports(tree, names, runs)]),
            "\n".join(_aliases(source, tree, names)),
            f'class Async{group}(AsyncCalls[{runs}]):\n    """{_doc(_class(tree, group))}"""',
            *body,
        ]
    )
    return _formatted(_of_client(text, names & kinds) if client else text)


def _of_client(text: str, kinds: set[str]) -> str:
    """The same module over the client: other packages, and words that it does not load."""
    lines = []
    for line in text.splitlines():
        found = re.fullmatch(r"from (recollect\.\S+) import (.+)", line)
        if found is None:
            lines.append(line)
            continue
        wanted = [name for name in found[2].split(", ") if name not in kinds]
        home = _HOMES.get(found[1], found[1].replace("recollect.aio.", "recollect.client.aio."))
        if wanted:
            lines.append(f"from {home} import {', '.join(wanted)}")
    if kinds:
        place = lines.index("from __future__ import annotations") + 1
        lines.insert(place, f"from recollect.client.kinds import {', '.join(sorted(kinds))}")
    return "\n".join(lines)


_HOMES: Final = {
    "recollect.memory.memory": "recollect.client.memory",
    **{
        f"recollect.memory.{part}": "recollect.client.parts"
        for part in (
            "branches", "documents", "frames", "pages", "receipts", "review", "rules", "sessions",
        )
    },
    "recollect.memory.jobs": "recollect.client.jobs",
    "recollect.memory.tokens": "recollect.client.tokens",
}  # fmt: skip


_HEAD: Final = '''"""The calls of ``memory.{module}``, async; ``make async`` writes this module.

Responsible for one call in a worker thread for each call there. Leaves everything else to the plain
memory. Invariant: signatures and documentation are the same.
"""'''


def _class(tree: ast.Module, name: str) -> ast.ClassDef:
    return next(one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == name)


def _public(group: ast.ClassDef) -> Iterator[Method]:
    for member in group.body:
        if not isinstance(member, ast.FunctionDef) or member.name in BY_HAND:
            continue
        if not member.name.startswith("_"):
            yield member


def _doc(node: ast.ClassDef | Method) -> str:
    return ast.get_docstring(node) or ""


def _is_property(method: Method) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "property" for d in method.decorator_list)


def _property(method: Method) -> str:
    """A group of a memory, such as ``frames``: the async group of the same calls."""
    group = f"Async{ast.unparse(method.returns)}" if method.returns else ""
    return (
        f"    @property\n    def {method.name}(self) -> {group}:\n"
        f'        """{_doc(method)}"""\n'
        f"        return {group}(self._calls.{method.name}, self._workers)"
    )


def _method(source: str, method: Method) -> str:
    """The signature and documentation as they are written, and one call."""
    lines = source.splitlines()
    shown = lines[method.lineno - 1 : method.body[0].end_lineno]
    shown[0] = shown[0].replace("def ", "async def ", 1)
    returns = "" if ast.unparse(method.returns or ast.Constant(None)) == "None" else "return "
    arguments = ", ".join([f"self._calls.{method.name}", *_passed(method.args)])
    return "\n".join([*shown, f"        {returns}await self._run({arguments})"])


def _passed(arguments: ast.arguments) -> Iterator[str]:
    for one in [*arguments.posonlyargs, *arguments.args][1:]:
        yield one.arg
    if arguments.vararg:
        yield f"*{arguments.vararg.arg}"
    for one in arguments.kwonlyargs:
        yield f"{one.arg}={one.arg}"
    if arguments.kwarg:
        yield f"**{arguments.kwarg.arg}"


def _names(method: Method) -> Iterator[str]:
    """Every name that a signature uses."""
    for part in (method.args, method.returns):
        if part is not None:
            yield from (one.id for one in ast.walk(part) if isinstance(one, ast.Name))


def _imports(tree: ast.Module, names: set[str], runs: str) -> Iterator[str]:
    """The imports of the plain module that the signatures need, and those of the async one."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            wanted = [one for one in node.names if (one.asname or one.name) in names - {runs}]
            if wanted:
                yield f"from {node.module} import {', '.join(map(ast.unparse, wanted))}"
        elif isinstance(node, ast.Import):
            yield from (f"import {one.name}" for one in node.names if one.name in names)
    for group in PARTS:
        if group in names:
            yield f"from recollect.aio.{group.removeprefix('Async').lower()} import {group}"
    yield "from recollect.aio.workers import AsyncCalls"
    yield f"from recollect.memory.{runs.lower()} import {runs}"


def _aliases(source: str, tree: ast.Module, names: set[str]) -> Iterator[str]:
    """Assignments of the plain module that the signatures use, such as ``List = list``."""
    lines = source.splitlines()
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in names:
            yield lines[node.lineno - 1]


def _formatted(text: str) -> str:
    """Sorted imports and the project's layout."""
    for command in (["check", "--select", "I,F401", "--fix", "--quiet"], ["format", "--quiet"]):
        run = [sys.executable, "-m", "ruff", *command, "--stdin-filename", "aio/x.py", "-"]
        done = subprocess.run(run, input=text, capture_output=True, text=True, cwd=ROOT, check=True)
        text = done.stdout
    return text


def stale() -> list[str]:
    """The generated modules that differ from what would be written now."""
    return [
        module
        for module in GROUPS
        if not (ASYNC / f"{module}.py").exists()
        or (ASYNC / f"{module}.py").read_text("utf-8") != generated(module)
    ]


def main() -> None:
    """Writes, or checks."""
    if "--check" in sys.argv[1:]:
        if found := stale():
            sys.exit(f"out of date: {', '.join(found)}; run `make async`")
        return
    for module in GROUPS:
        (ASYNC / f"{module}.py").write_text(generated(module), "utf-8")


if __name__ == "__main__":
    main()
