"""The house style as functions: text in, complaints out.

Knows nothing of the tree; test_tree.py feeds it the real files and test_rules.py feeds each rule
something bad. Invariant: an empty list means the rule is kept.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from tests.tidy.parsing import nodes, parsed, statements

FUNCTION_MAX_LINES = 54  # without its docstring
MODULE_MAX_LINES = 500
FOLDER_MAX_FILES = 25
PUBLIC_MAX_NAMES = 20
OF_ONE_MIN_LINES = 60  # what only one module imports has so many, or belongs to that module
PUBLISHED = "src/recollect/testing/"  # imported by other packages

# Words that say nothing about what a module is for.
EMPTY_WORDS = frozenset(
    "util utils helper helpers common manager managers service services handler handlers "
    "factory factories base bases misc".split()
)

# What people meet; the glossary says all of it in at most thirty words.
USERS = frozenset(
    "memory record episode session evidence key link recall context preset filter receipt trust "
    "author how_known waiting review proposal replaced hidden forgotten archived erased page "
    "branch rule policy space token ledger".split()
)
USERS_MAX_COUNT = 30
GLOSSARY = frozenset("event subject seal reason briefing position mount settle supersede".split())

# A path that only exists on somebody's machine, and the address of a package index. Written so that
# the patterns do not match themselves: this file keeps its own rule.
MACHINE_PATH = re.compile(r"(?<![\w.~/-])/(?:root|home|Users|work|opt|mnt|srv)/[\w.]|[A-Z]:\\Users")
REGISTRY = re.compile(
    r"py[p]i[.](?:org|python)|python[h]osted[.]|anaconda[.]org|file:/{2}|:/{2}\S*/simple\b",
    re.IGNORECASE,
)
ADDRESS = re.compile(r"\w+://")


# --- size


def functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, int]]:
    """Yield the qualified name of every function, and its lines without the docstring."""
    for child in statements(node):
        inner = prefix
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{prefix}{child.name}."
            if not isinstance(child, ast.ClassDef):
                lines = (child.end_lineno or 0) - child.lineno + 1
                yield prefix + child.name, lines - len(_docstring(child))
        yield from functions(child, inner)


def _docstring(function: ast.FunctionDef | ast.AsyncFunctionDef) -> range:
    """The lines of a function's docstring."""
    first = function.body[0]
    if ast.get_docstring(function) is None:
        return range(0)
    return range(first.lineno, (first.end_lineno or 0) + 1)


def too_long(source: str, where: str) -> list[str]:
    found = [where] if len(source.splitlines()) > MODULE_MAX_LINES else []
    return found + [
        f"{where}::{name}"
        for name, lines in functions(parsed(source))
        if lines > FUNCTION_MAX_LINES
    ]


def sizes(found: Iterable[str], allowed: frozenset[str], said: str = "over the limit") -> list[str]:
    """Compare what breaks a rule with the list of exceptions, both ways."""
    wrong = frozenset(found)
    return [
        *(f"{name}: {said}" for name in sorted(wrong - allowed)),
        *(f"{name}: take it out of exceptions.py" for name in sorted(allowed - wrong)),
    ]


def crowded(paths: Iterable[str]) -> list[str]:
    """Find the folders with more modules than a person can take in."""
    counts = Counter(PurePosixPath(path).parent.as_posix() for path in paths)
    return [folder for folder, count in sorted(counts.items()) if count > FOLDER_MAX_FILES]


def of_one(sources: Mapping[str, str]) -> list[str]:
    """Find the short modules that one other module alone imports, by path.

    Left out: packages, what is written by a program, and what other packages import.
    """
    places = {_dotted(where): where for where in sources}
    importers: Counter[str] = Counter()
    for where, source in sources.items():
        named = {name for name in imported(source) if name.startswith("recollect")}
        taken = {places.get(name) or places.get(name.rpartition(".")[0]) for name in named}
        importers.update(place for place in taken if place not in (None, where))
    return [
        where
        for where, source in sorted(sources.items())
        if importers[where] == 1
        and len(source.splitlines()) < OF_ONE_MIN_LINES
        and not where.endswith("/__init__.py")
        and not where.startswith(PUBLISHED)
        and "file is generated" not in source.partition('"""')[0]
    ]


def _dotted(where: str) -> str:
    path = where.removeprefix("src/").removesuffix(".py").removesuffix("/__init__")
    return path.replace("/", ".")


# --- names and docstrings


def empty_names(where: str) -> list[str]:
    """Find the parts of a module's path that are empty words."""
    parts = [
        part for name in PurePosixPath(where).with_suffix("").parts for part in name.split("_")
    ]
    return [f"{where}: `{part}` says nothing" for part in parts if part in EMPTY_WORDS]


def no_docstring(source: str, where: str) -> list[str]:
    said = ast.get_docstring(parsed(source))
    return [] if said and said.strip() else [f"{where}: a module says what it is responsible for"]


def public_names(names: Sequence[str], found: Mapping[str, object]) -> list[str]:
    out = [f"{name}: in __all__ but not there" for name in names if name not in found]
    if len(names) > PUBLIC_MAX_NAMES:
        out.append(f"{len(names)} public names, the limit is {PUBLIC_MAX_NAMES}")
    if list(names) != sorted(set(names)):
        out.append("__all__ is sorted and names nothing twice")
    return out


def glossary(page: str) -> list[str]:
    """Find the words that the glossary must explain and does not, or should not."""
    first, _, rest = page.partition("## For contributors")
    users, others = explained(first), explained(rest.partition("## Codes")[0])
    every = [*users, *others]
    return [
        *(f"{word}: not among the words for users" for word in sorted(USERS - set(users))),
        *(f"{word}: one word too many for users" for word in sorted(set(users) - USERS)),
        *(f"{word}: not in the table" for word in sorted(GLOSSARY - set(others))),
        *(f"{word}: explained twice" for word in sorted({w for w in every if every.count(w) > 1})),
        *(["a word that is not built yet"] if "not built" in page else []),
    ]


def explained(part: str) -> list[str]:
    """The words in the first column of a part's tables that have a meaning in the second."""
    rows = re.findall(r"^\|([^|\n]+)\|([^|\n]+)", part, re.MULTILINE)
    return [word for head, meaning in rows[1:] if meaning.strip("- ") for word in words(head)]


def words(text: str) -> list[str]:
    return re.findall(r"[a-z][a-z_-]*", text.lower())


# --- imports


def imported(source: str) -> Iterator[str]:
    """Yield the dotted name of everything a module imports, and every attribute of a name."""
    for node in nodes(source, ast.Import):
        yield from (alias.name for alias in node.names)
    for taken in nodes(source, ast.ImportFrom):
        yield from (f"{taken.module}.{alias.name}" for alias in taken.names)
    for used in nodes(source, ast.Attribute):
        if isinstance(used.value, ast.Name):
            yield f"{used.value.id}.{used.attr}"


def uses_any(source: str, where: str) -> list[str]:
    found = {"typing.Any", "typing_extensions.Any", "t.Any"} & set(imported(source))
    return [f"{where}: {name} has no place in a pure package" for name in sorted(found)]


def uses_mock(source: str, where: str) -> list[str]:
    if "mock" not in source:  # parsing every file takes seconds
        return []
    roots = ("unittest.mock", "mock", "pytest_mock")
    return [
        f"{where}: {name}: use a fake from recollect.testing"
        for name in imported(source)
        if any(name == root or name.startswith(f"{root}.") for root in roots)
    ]


def unlayered(layers: Sequence[str], modules: Iterable[str]) -> list[str]:
    """Find the modules of the package that no layer names."""
    named = {name for layer in layers for name in re.findall(r"\w+", layer)}
    return [f"{module}: in no layer of pyproject.toml" for module in sorted(set(modules) - named)]


def unknown_names(page: str, sources: Mapping[str, str]) -> list[str]:
    """Find the dotted names in code type that begin with a package and lead nowhere."""
    modules = {_dotted(where).removeprefix("recollect."): said for where, said in sources.items()}
    packages = {name.partition(".")[0] for name in modules} - {"recollect"}
    named = sorted(set(re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)(?:\(\))?`", page)))
    files = (".py", ".lock")
    return [
        f"{name}: no such module, and no such name in one"
        for name in named
        if name.partition(".")[0] in packages and not name.endswith(files)
        if name not in modules and not _is_in_one(name, modules)
    ]


def _is_in_one(name: str, modules: Mapping[str, str]) -> bool:
    home, _, last = name.rpartition(".")
    return re.search(rf"\b{last}\b", modules.get(home, "")) is not None


def misdrawn(picture: str, layers: Sequence[str]) -> list[str]:
    """Find the packages that the picture of them lacks, or shows beside or below their layer."""
    rooms = re.findall(r'data-name="(\w+)"><rect x="\d+" y="(\d+)"', picture)
    tops = {name: int(top) for name, top in rooms}
    named = [re.findall(r"\w+", layer) for layer in layers]
    known = {name for names in named for name in names}
    drawn = [[tops[name] for name in names if name in tops] for names in named]
    found = [f"{name}: not in the picture" for name in sorted(known - set(tops))]
    found += [f"{name}: in no layer" for name in sorted(set(tops) - known)]
    found += [
        f"{', '.join(lower)}: not below {', '.join(upper)}"
        for upper, lower, above, below in zip(named, named[1:], drawn, drawn[1:], strict=False)
        if above and below and max(above) >= min(below)
    ]
    return found


def unguarded(pure: Iterable[str], contract: Sequence[str]) -> list[str]:
    """Find the pure packages that exist and that the contract on drivers forgets."""
    return [f"{name}: not held pure" for name in pure if f"recollect.{name}" not in contract]


# --- files and dependencies


def addresses(text: str, where: str, *, none_at_all: bool) -> list[str]:
    """Find paths of a machine and addresses of a package index, or any address at all."""
    rules = [MACHINE_PATH, REGISTRY, *([ADDRESS] if none_at_all else [])]
    return [
        f"{where}:{number}: {found[0]}"
        for number, line in enumerate(text.split("\n"), 1)
        for rule in rules
        if (found := rule.search(line))
    ]


def distribution(requirement: str) -> str:
    """Take the normalised name out of a requirement."""
    name = re.match(r"[\w.-]+", requirement)
    return re.sub(r"[-_.]+", "-", name[0]).lower() if name else ""


def unpinned(requirements: Iterable[str], constraints: str) -> list[str]:
    pinned = {distribution(line) for line in constraints.split("\n") if re.match(r"\w.*==", line)}
    return [
        f"{requirement}: not in constraints.txt"
        for requirement in requirements
        if distribution(requirement) not in pinned
    ]


def unhashed(constraints: str) -> list[str]:
    entries = re.split(r"\n(?=\w)", constraints)
    return [
        f"{entry.split()[0]}: pinned without a hash"
        for entry in entries
        if re.match(r"\w", entry) and "--hash=sha256:" not in entry
    ]


def unexplained(requirements: Iterable[str], page: str) -> list[str]:
    """Find the dependencies that docs/decisions/dependencies.md does not name in code type."""
    explained = {distribution(name) for name in re.findall(r"`([\w.-]+)`", page)}
    return [
        f"{requirement}: not in docs/decisions/dependencies.md"
        for requirement in requirements
        if distribution(requirement) not in explained
    ]
