"""S1: its work packages run, its commands work, and its guide says what it should."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import msgspec

from recollect.contracts.graph import (
    FIXTURES,
    FileBackedMemoryGraphStore,
    MemoryPath,
    fixture,
)
from recollect.model import events as e
from recollect.model.events import Trust
from tests.contract import quickstart_s1
from tests.contract.test_s1_workspace import visible
from tests.contract.test_s2_files import environment
from tests.memory.test_forged import forge

PROGRAM = Path(quickstart_s1.__file__)
PROJECT = PROGRAM.parents[2]
ORIGINS: Final[tuple[Trust, ...]] = ("agent", "person")
GUIDE = (PROJECT / "docs" / "local-persistence.md").read_text()


def run(tmp_path: Path, *command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command,
        cwd=cwd or tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**environment(), "HOME": str(tmp_path), "PATH": programs},
    )


def test_the_work_packages_run_one_by_one(tmp_path: Path) -> None:
    # S1-59 S1-64 S1-65 S1-66 S1-71 S1-75 S1-84 S1-99 S1-103 S1-104 S1-105
    done = run(tmp_path, sys.executable, "-W", "error", str(PROGRAM))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "T01 recollect.workspace.v1 activations audit.jsonl edges events.jsonl nodes paths"
        " profiles",
        "T01 graph.json profile.json",
        "T02 {'title': 'Sample'} Use one journal.",
        "T02 supports ['a']",
        "T02 1 0",
        "T02 True",
        "T03 the log has an event with the id '1'",
        "T03 ['1', '2'] 1",
        "T03 True",
        "T03 ['line 3 of log.jsonl is not JSON']",
        "T04 bad main ('said.bad',) False None a dead end none",
        "T04 good main ('said.good',) False main None none",
        "T04 long main ('said.long',) False None None compacted",
        "T04 main None ('said.good',) True None None none",
        "T05 ['denied']",
        "T05 ['applied']",
        "T05 [('denied', None), ('started', 'Ines'), ('applied', 'Ines')]",
        "T06 []",
        "T06 harbour-profile",
        "T06 8 6 []",
        "T06 ['edges', 'events', 'schema']",
        "T06 markitect.memory.graph.v1 3 2",
        "T06 True",
        "T07 docs/local-persistence.md, whose blocks are run by tests/docs",
    ]


# The titles of the seed's work packages, in their order.
PACKAGES = """
Define local storage layout
Implement a file-backed graph store
Implement a JSONL event log
Model conversational paths explicitly
Add safe apply behavior behind review gates
Add import, export, and repair diagnostics
Update docs with local persistence examples
"""


def test_the_packages_are_those_of_the_seed() -> None:
    rest = PROGRAM.read_text()
    for number, title in enumerate(PACKAGES.strip().splitlines(), 1):
        words = title.lower().replace(",", "").replace("-", "_").replace(" ", "_")
        wanted = f"def t{number:02}_{words}("
        assert wanted in rest, title
        rest = rest.partition(wanted)[2]


def test_the_fixtures_ship(tmp_path: Path) -> None:
    # S1-74 S1-104: in the package, in the formats that they say, and they can be imported
    import recollect

    assert FIXTURES.is_relative_to(Path(recollect.__file__).parent)
    assert fixture("graph")["schema_version"] == "markitect.memory.graph.v1"
    assert fixture("profile")["schema_version"] == "markitect.memory.profile.v1"
    with FileBackedMemoryGraphStore(tmp_path) as store:
        assert store.import_graph(fixture("graph")) == []
        assert store.import_profile(fixture("profile")).to_dict() == fixture("profile")
        assert store.load_profile("harbour-profile").to_dict() == fixture("profile")


def test_the_tests_of_the_project_pass_with_pytest(tmp_path: Path) -> None:
    # S1-110 S1-111: `python3 -m pytest` in the project, with its configuration; CI runs them all
    suite = "tests/contract/test_s1_suite.py"
    adapters = ("TestInMemory", "TestInFiles")
    names = [f"{suite}::{adapter}" for adapter in adapters]
    command = (sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *names)
    done = run(tmp_path, *command, cwd=PROJECT)
    assert done.returncode == 0, done.stdout
    assert "configfile: pyproject.toml" in done.stdout
    for adapter in adapters:
        assert len(re.findall(f"::{adapter}::.* PASSED", done.stdout)) >= 25
    assert not re.search("FAILED|ERROR|SKIPPED|XFAIL|deselected", done.stdout)


def test_repairs_are_reported_on_the_command_line(tmp_path: Path) -> None:
    # S1-106 S1-107: what a ledger from elsewhere may hold; tests/cli/test_workspaces.py has S1-69
    with FileBackedMemoryGraphStore(tmp_path / "w") as store:
        store.import_graph(fixture("graph"))
    link = e.LinkAdded(source="decision.crane", target="none", kind="cites", trust="person")
    forge(tmp_path, "person", link, e.RecordForgotten(id="r-none"))
    run(tmp_path, "recollect", "--store", "w/.recollect", "list")  # folds the two events
    done = run(tmp_path, "recollect", "--store", "w/.recollect", "admin", "doctor")
    said = " ".join(done.stdout.split())
    assert "1 link without a record at one end: decision.crane cites none" in said
    assert "1 event changed nothing" in said


def test_the_suite_passes_with_pytest_alone(tmp_path: Path) -> None:
    # S1-110 S1-111: `python3 -m pytest`, as the seed calls it, on both adapters
    (tmp_path / "test_graph.py").write_text(
        """
import pytest
from recollect.contracts.graph import *
from recollect.testing.graph_suite import GraphSuite


class TestFiles(GraphSuite):
    @pytest.fixture
    def store(self, tmp_path):
        with FileBackedMemoryGraphStore(tmp_path) as store:
            yield store

    @pytest.fixture
    def log(self, store):
        return store.events

    @pytest.fixture
    def sink(self, store):
        return store.audit


class TestMemory(TestFiles):
    @pytest.fixture
    def store(self):
        with InMemoryGraphStore() as store:
            yield store
"""
    )
    done = run(tmp_path, sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", ".")
    assert done.returncode == 0, done.stdout
    for adapter in ("TestFiles", "TestMemory"):
        assert len(re.findall(f"::{adapter}::.* PASSED", done.stdout)) >= 25
    assert not re.search("FAILED|ERROR|SKIPPED|XFAIL|deselected", done.stdout)


# The sections of the guide, and what each of them shows.
COVERED = {
    "Create a workspace": [
        "FileBackedMemoryGraphStore(", "workspace.json", "profiles/", "nodes/", "edges/", "paths/",
        "activations/", "events.jsonl", "audit.jsonl", ".recollect/", "(format/workspace.md)",
    ],
    "Import a profile and a graph": ["store.import_profile(", "store.import_graph("],
    "Append events": ["store.events.append(", "store.events.list(", "store.events.replay("],
    "Inspect paths": [
        "store.load_path(", "paths.branch(", "paths.extend(", "paths.diff(", "paths.merge(",
        "paths.abandon(", "paths.compact(", "`branched`", "`merged`", "`abandoned`", "`compacted`",
    ],
    "Apply actions behind a review": [
        "runtime.apply(", "Approval(by=", '.outcome == "denied"', '.outcome == "applied"',
        "audit.jsonl",
    ],
    "Export, and find what to repair": ["runtime.export_graph(", "runtime.diagnostics("],
    "Files of others": [
        "store.findings", "store.import_workspace()", "store.render(replace=True)", "`aside/`",
    ],
    "On the command line": [
        "recollect --store quay/.recollect import", "/graph.json", "/profile.json",
        "recollect --store quay/.recollect export markitect",
        "recollect --store quay/.recollect admin doctor",
    ],
}  # fmt: skip


def test_the_guide_covers_what_the_seed_asks_for() -> None:
    # S1-70 S1-109: tests/docs runs its blocks; here that nothing is left out, and README names it
    parts = dict(part.split("\n", 1) for part in GUIDE.split("\n## ")[1:])
    assert parts.keys() == COVERED.keys()
    for heading, words in COVERED.items():
        for word in words:
            assert word in parts[heading], (heading, word)
    fields = [one.name for one in msgspec.structs.fields(MemoryPath)]
    assert len(fields) == 8
    rows = [row for row in parts["Inspect paths"].splitlines() if row.startswith("| `")]
    assert re.findall(r"`(\w+)`", " ".join(row.split("|")[1] for row in rows)) == fields
    assert "docs/local-persistence.md" in (PROJECT / "README.md").read_text()


def test_the_guide_runs(tmp_path: Path) -> None:
    # S1-50 S1-70 S1-109: its Python, in one piece; what it says of a clone holds for its workspace
    blocks = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    assert len(blocks) == len(COVERED) - 1, "each section but that of the commands has one"
    done = run(tmp_path, sys.executable, "-W", "error", "-c", "\n".join(blocks))
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "harbour" / "paths" / "night-shift.json").exists()
    outcomes = [json.loads(line)["outcome"] for line in
        (tmp_path / "harbour" / "audit.jsonl").read_bytes().splitlines()]  # fmt: skip
    assert outcomes == ["denied", "started", "applied", "started", "applied"]
    with FileBackedMemoryGraphStore(tmp_path / "harbour", trust="person") as store:
        assert store.activate("Which crane do containers go to?") is not None
        wanted = everything(store)
        assert [len(part) for part in wanted[1:]] == [2, 1, 1]
        store.render()
    clone = tmp_path / "clone"
    shutil.copytree(tmp_path / "harbour", clone, ignore=shutil.ignore_patterns(".recollect"))
    before = visible(clone)
    for origin in ORIGINS:
        with FileBackedMemoryGraphStore(clone, trust=origin) as store:
            assert everything(store) == wanted
            assert store.render() == 0
        assert visible(clone) == before
        shutil.rmtree(clone / ".recollect")


def everything(store: FileBackedMemoryGraphStore) -> tuple[object, list[Any], list[Any], list[Any]]:
    """The graph, its paths, its activations and its profiles."""
    lists = (store.list_paths(), store.list_activations(), store.list_profiles())
    return store.export_graph(), *lists
