"""The tree keeps the house style."""

from __future__ import annotations

import importlib
import subprocess
import tomllib
from pathlib import Path

from tests.tidy import rules
from tests.tidy.exceptions import CROWDED, OF_ONE, TOO_LONG

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "recollect"
PURE = ("model", "ledger", "index", "lifecycle", "recall", "mirror")
SOURCES = {p.relative_to(ROOT).as_posix(): p.read_text("utf-8") for p in PACKAGE.rglob("*.py")}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
REQUIREMENTS = [*PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"]["dev"]]
CONTRACTS = {c["id"]: c for c in PROJECT["tool"]["importlinter"]["contracts"]}

# Files that tools read to fetch things: they hold no address of any kind.
FETCHING = ("constraints.txt", "Makefile", ".ci/", ".github/")


def tracked() -> dict[str, str]:
    """Read every file that is or would be committed."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        encoding="utf-8",
    ).stdout.split("\0")
    return {n: (ROOT / n).read_text("utf-8", "replace") for n in names if (ROOT / n).is_file()}


def test_functions_and_modules_keep_their_size() -> None:
    found = [name for where, source in SOURCES.items() for name in rules.too_long(source, where)]
    assert rules.sizes(found, TOO_LONG) == []


def test_a_folder_can_be_taken_in() -> None:
    assert rules.sizes(rules.crowded(SOURCES), CROWDED) == []


def test_a_short_module_has_more_than_one_reader() -> None:
    said = "short and imported by one module: put it there, or beside what is the same concern"
    assert rules.sizes(rules.of_one(SOURCES), OF_ONE, said) == []


def test_no_module_has_an_empty_name() -> None:
    assert [c for where in SOURCES for c in rules.empty_names(where)] == []


def test_every_module_says_what_it_is_responsible_for() -> None:
    assert [c for where, source in SOURCES.items() for c in rules.no_docstring(source, where)] == []


def test_every_module_stands_in_a_layer() -> None:
    modules = {p.stem for p in PACKAGE.glob("*.py")} | {
        p.parent.name for p in PACKAGE.glob("*/*.py")
    }
    assert rules.unlayered(CONTRACTS["layers"]["layers"], modules - {"__init__"}) == []


def test_the_architecture_names_what_is_there() -> None:
    assert rules.unknown_names((ROOT / "ARCHITECTURE.md").read_text("utf-8"), SOURCES) == []


def test_the_picture_of_the_packages_has_the_layers() -> None:
    picture = (ROOT / "docs/pictures/architecture.svg").read_text("utf-8")
    layers = [name for name in CONTRACTS["layers"]["layers"] if name != "(__main__)"]
    assert rules.misdrawn(picture, layers) == []


def test_every_pure_package_is_held_pure() -> None:
    there = [name for name in PURE if (PACKAGE / name).is_dir()]
    for contract in ("pure", "pure-files"):
        needed = [name for name in there if (contract, name) != ("pure-files", "index")]
        assert rules.unguarded(needed, CONTRACTS[contract]["source_modules"]) == []


def test_the_pure_packages_know_no_any() -> None:
    pure = {w: s for w, s in SOURCES.items() if w.split("/")[2] in PURE}
    assert [c for where, source in pure.items() for c in rules.uses_any(source, where)] == []


def test_nothing_is_mocked() -> None:
    python = {w: s for w, s in tracked().items() if w.endswith(".py")}
    assert [c for where, source in python.items() for c in rules.uses_mock(source, where)] == []


def test_no_file_names_a_machine_or_an_index() -> None:
    found = [
        complaint
        for where, text in tracked().items()
        for complaint in rules.addresses(text, where, none_at_all=where.startswith(FETCHING))
    ]
    assert found == []


def test_the_public_names_are_few_sorted_and_there() -> None:
    package = importlib.import_module("recollect")
    there = {name: getattr(package, name) for name in package.__all__ if hasattr(package, name)}
    assert rules.public_names(package.__all__, there) == []


def test_the_glossary_explains_the_words() -> None:
    assert rules.glossary((ROOT / "GLOSSARY.md").read_text("utf-8")) == []


def test_every_dependency_is_pinned_with_a_hash() -> None:
    constraints = (ROOT / "constraints.txt").read_text("utf-8")
    assert rules.unpinned(REQUIREMENTS, constraints) == []
    assert rules.unhashed(constraints) == []


def test_every_dependency_is_explained() -> None:
    page = (ROOT / "docs/decisions/dependencies.md").read_text("utf-8")
    assert rules.unexplained(REQUIREMENTS, page) == []
