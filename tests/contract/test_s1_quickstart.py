"""S1: its work packages run, its commands work, and its guide says what it should."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from recollect import Memory
from recollect.contracts.graph import FIXTURES, FileBackedMemoryGraphStore, fixture
from recollect.model import events as e
from tests.contract import quickstart_s1
from tests.contract.test_s2_files import environment
from tests.memory.test_forged import forge

PROGRAM = Path(quickstart_s1.__file__)
PROJECT = PROGRAM.parents[2]
GUIDE = (PROJECT / "docs" / "local-persistence.md").read_text()


def run(tmp_path: Path, *command: str) -> subprocess.CompletedProcess[str]:
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command,
        cwd=tmp_path,
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
        "T05 [('denied', None), ('applied', 'Ines')]",
        "T06 []",
        "T06 harbour-profile",
        "T06 8 6 []",
        "T06 ['edges', 'events', 'schema']",
        "T06 markitect.memory.graph.v1 4 2",
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
    # S1-74: in the package, in the formats that they say, and they can be imported
    import recollect

    assert FIXTURES.is_relative_to(Path(recollect.__file__).parent)
    assert fixture("graph")["schema_version"] == "markitect.memory.graph.v1"
    assert fixture("profile")["schema_version"] == "markitect.memory.profile.v1"
    with FileBackedMemoryGraphStore(tmp_path) as store:
        assert store.import_graph(fixture("graph")) == []
        assert store.import_profile(fixture("profile")).to_dict() == fixture("profile")


def test_fixtures_are_imported_on_the_command_line(tmp_path: Path) -> None:
    # S1-67 S1-103 S1-104
    for name, said in (("graph", "Imported 3 records, 2 links"), ("profile", "Imported 1 record")):
        done = run(tmp_path, "recollect", "--store", "m", "import", str(FIXTURES / f"{name}.json"))
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(said)
    again = run(tmp_path, "recollect", "--store", "m", "import", str(FIXTURES / "graph.json"))
    assert again.stdout.startswith("Imported nothing new")
    with Memory.open(tmp_path / "m", embedder="none") as memory:
        texts = {record.text for record in memory.list()}
        assert "Containers go to the new crane." in texts
        assert len(memory.graph().links) == 2


def test_a_graph_envelope_is_exported_on_the_command_line(tmp_path: Path) -> None:
    # S1-68 S1-82 S1-105: the same that the store exports, but for the events, which are in a file
    with FileBackedMemoryGraphStore(tmp_path / "w") as store:
        store.import_graph(fixture("graph"))
        store.memory.link("decision.crane", "question.wind", "raises")
        store.memory.remember("Not a node any more.", id="gone")
        store.memory.link("gone", "decision.crane")
        store.memory.forget("gone")
        wanted = store.export_graph()
    done = run(
        tmp_path, "recollect", "--store", "w/.recollect", "export", "markitect", "graph.json"
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "graph.json").read_text())
    del wanted["events"]
    for part in ("nodes", "edges"):
        found[part].sort(key=lambda each: each["id"])
    assert found == wanted
    with FileBackedMemoryGraphStore(tmp_path / "again") as store:
        assert store.import_graph(found) == []
        assert store.export_graph() == wanted


def test_repairs_are_reported_on_the_command_line(tmp_path: Path) -> None:
    # S1-69 S1-106 S1-107
    with FileBackedMemoryGraphStore(tmp_path / "w") as store:
        store.import_graph(fixture("graph"))
    link = e.LinkAdded(source="decision.crane", target="none", kind="cites", trust="person")
    forge(tmp_path, "person", link, e.RecordForgotten(id="r-none"))
    run(tmp_path, "recollect", "--store", "w/.recollect", "list")  # folds the two events
    done = run(tmp_path, "recollect", "--store", "w/.recollect", "doctor")
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
    done = run(tmp_path, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", ".")
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
    assert "failed" not in done.stdout


def test_the_guide_covers_what_the_seed_asks_for() -> None:
    # S1-70 S1-109: tests/docs runs its blocks; here that nothing is left out, and README names it
    headings = [line.removeprefix("## ") for line in GUIDE.splitlines() if line.startswith("## ")]
    assert headings == [
        "Create a workspace",
        "Import a profile and a graph",
        "Append events",
        "Inspect paths",
        "Apply actions behind a review",
        "Export, and find what to repair",
        "On the command line",
    ]
    for name in ("workspace.json", "profiles/", "nodes/", "edges/", "paths/", "activations/",
        "events.jsonl", "audit.jsonl", "recollect --store", "Approval(", "paths.diff"):  # fmt: skip
        assert name in GUIDE, name
    assert "docs/local-persistence.md" in (PROJECT / "README.md").read_text()
    assert "(format/workspace.md)" in GUIDE
