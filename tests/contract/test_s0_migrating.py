"""S0: what the original left is taken over: both dialects of its log, and the JSON of specsmith."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from recollect import Memory
from recollect.contracts.chrono import BridgeStatus, ChronoRecord, ChronoStore, EsdbBridge
from recollect.contracts.chrono.originals import read_original
from recollect.contracts.chrono.taking_over import move_aside, take
from recollect.errors import Conflict, IntegrityError, InvalidInput, NotFound
from recollect.exchange.importers.chrono import items_of
from recollect.model.limits import LIST_MAX_RECORDS
from recollect.model.values import INCLUDES
from recollect.store.seam import REAL, Seam
from tests.contract.test_s0_files import CANARY, has_canary, home
from tests.contract.test_s2_files import environment
from tests.memory_suites.pages.chrono import ids

SAMPLES = Path(__file__).parents[3] / "shared" / "samples"
SPACED, COMPACT = (", ", ": "), (",", ":")
REQUIREMENTS: list[Any] = [
    {"id": "REQ-1", "title": "Survives a crash", "status": "implemented", "test_ids": ["TEST-1"]},
    {"id": "REQ-2", "title": "Old export", "status": "Deprecated"},
    {"id": "", "title": "no id"},
    "not an object",
]
TESTCASES: list[Any] = [
    {"id": "TEST-1", "title": "kill -9", "requirement_id": "REQ-1", "confidence": 1.0}
]
JSON_STATUS = {
    "available": True,
    "backend": ".specsmith/ JSON (run esdb migrate to upgrade)",
    "record_count": 4,
    "wal_seq": 0,
    "epoch": 0,
    "chain_valid": True,
}


def event(id: str, op: str = "upsert", **fields: Any) -> dict[str, Any]:
    blank = {
        "id": id, "kind": "fact", "status": "active", "label": f"statement {id}", "confidence": 0.7,
        "source_type": "observed", "evidence": [], "epistemic_boundary": [], "data": {},
        "is_hypothesis": False, "model_assumptions": {}, "recursion_depth": 0,
    }  # fmt: skip
    return {"op": op, "record_id": id, "record": blank | fields}


EVENTS = [
    event("F-1", label="Water freezes\u2028at 0 °C", evidence=["NIST"], confidence=1.0),
    event("F-1", label="Water freezes\u2028at 0 °C", evidence=["NIST"], status="invalidated"),
    event("H-1", kind="hypothesis", is_hypothesis=True, source_type="inferred", recursion_depth=2),
    event("R-1", kind="requirement", data={"id": "R-1", "deep": {"x": [1]}}),
    event("R-1", op="delete", label="", status="tombstone"),
    event("not an id °", label="an odd id"),
]


def log(events: list[dict[str, Any]], dialect: tuple[str, str] = SPACED, first: int = 1) -> bytes:
    written, before = [], ""
    for seq, one in enumerate(events, first):
        whole = {"seq": seq, "ts": "2026-01-02T03:04:05Z", **one, "prev_hash": before}
        text = json.dumps(whole, sort_keys=True, ensure_ascii=False, separators=dialect)
        before = sha256(text.encode()).hexdigest()
        written.append(json.dumps(whole | {"hash": before}, ensure_ascii=False))
    return "".join(f"{line}\n" for line in written).encode()


def original(project: Path, raw: bytes) -> Path:
    home(project).mkdir()
    (home(project) / "events.wal").write_bytes(raw)
    return project


def specsmith(project: Path) -> Path:
    folder = project / ".specsmith"
    folder.mkdir()
    (folder / "requirements.json").write_text(json.dumps(REQUIREMENTS))
    (folder / "testcases.json").write_text(json.dumps(TESTCASES))
    return folder


# The log.


NO_ID = "its 'id' was not kept as it is: it cannot be an id here, so it has another one"


@pytest.mark.parametrize(("dialect", "name"), [(SPACED, "spaced"), (COMPACT, "compact")])
def test_both_dialects_are_taken_over(tmp_path: Path, dialect: tuple[str, str], name: str) -> None:
    raw = log(EVENTS, dialect)
    original(tmp_path, raw)
    with ChronoStore(tmp_path) as store:
        assert ids(store.query(status="tombstone")) == ["R-1"]
        water, guess = store.get("F-1"), store.get("H-1")
        assert water == ChronoRecord(
            id="F-1",
            label="Water freezes\u2028at 0 °C",
            evidence=["NIST"],
            status="invalidated",
        )
        assert guess == ChronoRecord(
            id="H-1",
            kind="hypothesis",
            label="statement H-1",
            is_hypothesis=True,
            source_type="inferred",
            recursion_depth=2,
        )
        gone = store.get("R-1")
        assert gone is not None
        assert (gone.label, gone.data) == ("statement R-1", {"id": "R-1", "deep": {"x": [1]}})
        (odd,) = [one for one in store.query() if one.label == "an odd id"]
        assert odd.id.startswith("chrono-")
        said = store.memory.settings.documents.get("chrono", "original").data
        changed = said.pop("changed")
        assert isinstance(changed, list)
        assert [str(one).partition(": ")[2] for one in changed] == [NO_ID]
        assert said == {"lines": 6, "dialect": name, "seq": 6, "records": 4, "torn": False}
        position = store.memory.events.position
        kept = store.memory.get("H-1")
        assert kept.said_at == "2026-01-02T03:04:05.000000Z"
        assert kept.trust == "agent"
        assert store.chain_valid()
    assert (home(tmp_path) / "events.wal.original").read_bytes() == raw
    with ChronoStore(tmp_path) as store:
        assert store.memory.events.position == position, "it is taken over once"


def test_a_log_is_known_by_its_beginning(tmp_path: Path) -> None:
    """A long first record is no reason to take it for a ledger, nor are its keys in our data."""
    original(tmp_path, log([event("LONG", label="é" * 9_000)]))
    with ChronoStore(tmp_path) as store:
        assert ids(store.query()) == ["LONG"]
    (tmp_path / "ours").mkdir()
    with ChronoStore(tmp_path / "ours") as store:
        store.upsert(ChronoRecord(id="A", label="x", data={"record_id": 1, "prev_hash": ""}))
    with ChronoStore(tmp_path / "ours") as store:
        assert ids(store.query()) == ["A"]


def test_a_compacted_log_is_taken_over_from_its_snapshot(tmp_path: Path) -> None:
    before = [event("OLD")["record"], event("DEL", status="tombstone")["record"]]
    original(tmp_path, log([event("__compact__", op="compact"), event("NEW")], first=7))
    content = {"seq": 6, "last_hash": "", "ts": "2026-01-01T00:00:00Z", "records": before}
    (home(tmp_path) / "snapshot.json").write_text(json.dumps(content))
    assert EsdbBridge(tmp_path).status() == BridgeStatus(True, "ChronoStore WAL", 2, 8)
    with ChronoStore(tmp_path) as store:
        assert sorted(ids(store.query())) == ["NEW", "OLD"]
        assert ids(store.query(status="tombstone")) == ["DEL"]
        assert store.chain_valid(), "the original's snapshot is not taken for ours"
        assert store.compact() > 0
        assert store.chain_valid()


def test_a_line_that_a_crash_cut_off_is_left_out(tmp_path: Path) -> None:
    original(tmp_path, log(EVENTS)[:-20])
    assert EsdbBridge(tmp_path).status().chain_valid is False
    with ChronoStore(tmp_path) as store:
        assert store.memory.settings.documents.get("chrono", "original").data["torn"] is True
        assert len(store.query(status=None)) == 3


@pytest.mark.parametrize("at", [0, 3, -1])
def test_a_damaged_log_is_refused_and_stays(tmp_path: Path, at: int) -> None:
    every = log(EVENTS).splitlines(keepends=True)
    every[at] = every[at].replace(b'"fact"', b'"lies"').replace(b'"requirement"', b'"lies"')
    raw = b"".join(every)
    original(tmp_path, raw)
    line = at + 1 if at >= 0 else len(every)
    with pytest.raises(IntegrityError, match=f"line {line}"):
        ChronoStore(tmp_path).open()
    assert (home(tmp_path) / "events.wal").read_bytes() == raw
    assert EsdbBridge(tmp_path).status().chain_valid is False


def test_a_compacted_log_without_its_records_is_refused(tmp_path: Path) -> None:
    original(tmp_path, log([event("__compact__", op="compact"), event("NEW")]))
    (home(tmp_path) / "snapshot.json").write_text('{"records": [{"id": ')
    with pytest.raises(IntegrityError, match="compacted"):
        ChronoStore(tmp_path).open()
    assert (home(tmp_path) / "snapshot.json").exists()


def test_a_taking_over_that_was_interrupted_goes_on(tmp_path: Path) -> None:
    original(tmp_path, log(EVENTS))
    move_aside(REAL, home(tmp_path))
    aside = home(tmp_path) / "events.wal.original"
    with Memory.open(home(tmp_path), embedder="none") as memory:
        some = list(items_of(read_original(aside, aside).state))[:2]
        assert take(memory.scoped(trust="agent"), "chrono", some).records == 2
    with ChronoStore(tmp_path) as store:
        assert len(store.query(status=None)) == 4
        assert len(store.memory.history("H-1")) == 1


def test_two_logs_in_one_folder_are_refused(tmp_path: Path) -> None:
    original(tmp_path, log(EVENTS))
    (home(tmp_path) / "events.wal.original").write_bytes(b"another")
    with pytest.raises(Conflict, match="two original logs"):
        ChronoStore(tmp_path).open()


def test_a_snapshot_of_an_earlier_taking_over_is_not_overwritten(tmp_path: Path) -> None:
    original(tmp_path, log(EVENTS))
    first, second = (
        home(tmp_path) / "events.wal.original-snapshot",
        home(tmp_path) / "snapshot.json",
    )
    first.write_text("the first")
    second.write_text('{"records": {}, "seq": 0}')
    for _ in range(2):
        with pytest.raises(
            Conflict, match=r"two original snapshots .*original-snapshot .* snapshot\.json"
        ):
            ChronoStore(tmp_path).open()
    assert (first.read_text(), second.exists()) == ("the first", True)


class Stopping(Seam):
    """Stops before a log is moved aside."""

    def replace(self, source: Path, target: Path) -> None:
        if target.name == "events.wal.original":
            raise KeyboardInterrupt
        super().replace(source, target)


def test_a_moving_aside_that_was_stopped_between_two_files_goes_on(tmp_path: Path) -> None:
    original(tmp_path, log([event("__compact__", op="compact"), event("NEW")]))
    kept = {"records": [{"id": "OLD", "kind": "fact", "label": "only here"}], "seq": 1}
    (home(tmp_path) / "snapshot.json").write_text(json.dumps(kept))
    with pytest.raises(KeyboardInterrupt):
        ChronoStore(tmp_path, seam=Stopping()).open()
    assert not (home(tmp_path) / "snapshot.json").exists()
    with ChronoStore(tmp_path) as store:
        assert set(ids(store.query(status=None))) == {"OLD", "NEW"}


def test_erasing_reaches_the_log_that_was_taken_over(tmp_path: Path) -> None:
    original(tmp_path, log([event("secret", label=CANARY), event("other")]))
    with ChronoStore(tmp_path) as store:
        store.upsert(ChronoRecord(id="mine", label="my own"))
    with Memory.open(home(tmp_path), embedder="none") as person:
        person.erase("secret")
    assert [path for path in home(tmp_path).rglob("*") if has_canary(path)] == []
    with ChronoStore(tmp_path) as store:
        assert ids(store.query(status=None)) == ["other", "mine"]
        assert store.chain_valid()


def test_a_hostile_log_does_no_harm(tmp_path: Path) -> None:
    odd: list[dict[str, Any]] = [
        event("../../etc/passwd", label="\0\ud800 lone"),
        event("b", confidence="high", evidence="one text", data=[1], recursion_depth=-3),
        event("c", confidence=1e400, label=None, source_type=7, status=None, kind=""),
        event("d", data={"chrono": {"status": "tombstone", "label": "lies"}}),
        event("e", data=json.loads("[" * 200 + "]" * 200), epistemic_boundary=[[[[]]], None]),
        {"op": "upsert", "record_id": "f", "record": "not an object"},
        {"op": "upsert", "record_id": None, "record": {}},
        {"op": "delete", "record_id": "never-there", "record": {}},
    ]
    raw = b""
    before = ""
    for seq, one in enumerate(odd, 1):
        whole = {"seq": seq, "ts": "not a time", **one, "prev_hash": before}
        text = json.dumps(whole, sort_keys=True, ensure_ascii=False)
        before = sha256(text.encode("utf-8", "replace")).hexdigest()
        raw += json.dumps(whole | {"hash": before}).encode() + b"\n"
    original(tmp_path, raw)
    try:
        with ChronoStore(tmp_path) as store:
            assert store.chain_valid()
            assert [one for one in store.query(status=None) if one.label == "lies"] == []
    except IntegrityError:
        assert (home(tmp_path) / "events.wal").read_bytes() == raw
    assert sorted(path.name for path in tmp_path.iterdir()) == [".chronomemory"]


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not here")
def test_the_samples_are_read_as_the_original_read_them(tmp_path: Path) -> None:
    # S0-35 S0-36 S0-37: what `status().to_dict()` gave there, with a log and without one
    project = tmp_path / "project"
    shutil.copytree(SAMPLES / "chrono_project", project, copy_function=shutil.copyfile)
    bridge = EsdbBridge(project)
    wanted = json.loads((SAMPLES / "bridge_status_wal.json").read_text())
    assert bridge.status().to_dict() == wanted
    with ChronoStore(project) as store:
        assert len(store.query()) == wanted["record_count"]
        assert store.chain_valid()
    shutil.rmtree(home(project))
    wanted = json.loads((SAMPLES / "bridge_status_fallback.json").read_text())
    assert bridge.status().to_dict() == wanted


@pytest.mark.nightly
def test_any_number_of_records_is_taken_over_and_shown(tmp_path: Path) -> None:
    # S0-12: more than one page of the memory's list
    count = LIST_MAX_RECORDS + 1
    original(tmp_path, log([event(f"N{number}") for number in range(count)]))
    with ChronoStore(tmp_path) as store:
        assert {one.id for one in store.query()} == {f"N{number}" for number in range(count)}
        assert len(store.query(kind="fact", rag_filter=True)) == count


# The JSON.


def test_json_is_migrated_and_counted(tmp_path: Path) -> None:
    # S0-31 S0-32
    folder = specsmith(tmp_path)
    with ChronoStore(tmp_path) as store:
        counts = store.migrate_from_json(folder)
        assert counts == {"requirements": 2, "testcases": 1, "skipped": 2}
        assert list(counts) == ["requirements", "testcases", "skipped"]
        assert store.get("REQ-1") == ChronoRecord(
            id="REQ-1",
            kind="requirement",
            label="Survives a crash",
            evidence=["migrated from requirements.json"],
            data=REQUIREMENTS[0],
        )
        old, test = store.get("REQ-2"), store.get("TEST-1")
        assert old is not None
        assert test is not None
        assert (old.status, old.confidence) == ("deprecated", 0.7)
        assert (test.kind, test.confidence, test.data) == ("testcase", 1.0, TESTCASES[0])
        test.label = "changed here"
        store.upsert(test)
        again = store.migrate_from_json(str(folder))
        assert again == {"requirements": 0, "testcases": 0, "skipped": 5}
        assert store.get("TEST-1") == test, "what was changed here stays"


def test_a_file_may_lack_and_a_folder_may_not(tmp_path: Path) -> None:  # S0-32
    folder = specsmith(tmp_path)
    (folder / "testcases.json").unlink()
    with ChronoStore(tmp_path) as store:
        assert store.migrate_from_json(folder)["testcases"] == 0
        with pytest.raises(NotFound, match="not a folder"):
            store.migrate_from_json(tmp_path / ".specsmit")
        (folder / "testcases.json").write_text('[{"id": "TEST-1"')
        with pytest.raises(InvalidInput, match=r"testcases\.json"):
            store.migrate_from_json(folder)


def recollect(folder: Path, *words: str) -> Any:
    """What a command says, for the memory in a folder."""
    command = [sys.executable, "-m", "recollect", "--store", str(folder), "--json", *words]
    env = {**environment(), "HOME": str(folder.parent)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def everything(store: ChronoStore) -> dict[str, tuple[object, ...]]:
    """Each record, with what it says and when it was said."""
    found = {one.id: one for one in store.query(status=None)}
    kept = {id: store.memory.get(id, include=INCLUDES) for id in found}
    return {id: (one, kept[id].said_at, kept[id].trust) for id, one in found.items()}


def test_the_command_line_imports_the_same(tmp_path: Path) -> None:
    # S0-33: `recollect import`, into the same memory, before or after `migrate_from_json`
    folder = specsmith(tmp_path)
    (tmp_path / "other").mkdir()
    with ChronoStore(tmp_path / "other") as store:
        counts = store.migrate_from_json(folder)
        wanted = everything(store)
    assert [one[0].status for one in wanted.values()] == ["active", "deprecated", "active"]  # type: ignore[attr-defined]
    said = recollect(home(tmp_path), "import", str(folder))
    assert (said["format"], said["records"], said["links"]) == ("specsmith", 3, 1)
    assert said["records"] == counts["requirements"] + counts["testcases"]
    assert (said["refused"], said["known"], said["changed"]) == (counts["skipped"], 0, 0)
    assert [one["why"] for one in said["problems"]] == ["no id", "not an object"]
    with ChronoStore(tmp_path) as store:
        assert everything(store) == wanted
        position = store.memory.events.position
        assert store.migrate_from_json(folder)["skipped"] == 5
        assert store.memory.events.position == position
    again = recollect(home(tmp_path / "other"), "import", str(folder))
    assert (again["kept"], again["changed"], again["known"]) == (0, 0, 4)
    with ChronoStore(tmp_path / "other") as store:
        assert everything(store) == wanted
    assert [one.label for one in EsdbBridge(tmp_path).requirements()] == ["Survives a crash"]


def test_a_log_is_imported_as_it_is_taken_over(tmp_path: Path) -> None:
    # S0-33: ids, statuses and dates, tombstones among them; into any memory, and twice
    (tmp_path / "old").mkdir()
    old = original(tmp_path / "old", log([*EVENTS, event("D-1", status="draft", label=" ")]))
    with Memory.open(tmp_path / "memory", embedder="none") as memory:
        for kept, known in ((5, 0), (0, 5)):
            done = memory.scoped(trust="agent").admin.import_(home(old))
            assert (done.kept, done.known, done.changed, done.refused) == (kept, known, 0, 1)
            assert [one.why for one in done.problems] == [NO_ID], "and nothing else"
        imported = everything(ChronoStore.over(memory))
        hits = [hit.id for hit in memory.recall("statement").hits]
        assert hits == ["H-1"], "what was deleted or archived there is not recalled here"
    with ChronoStore(old) as store:
        assert everything(store) == imported


def test_an_import_into_the_folder_of_an_original_takes_it_over_first(tmp_path: Path) -> None:
    """Else its log would be cut off as a write that a crash had torn."""
    raw = log(EVENTS)
    folder = specsmith(original(tmp_path, raw))
    for verb in (["list"], ["remember", "x"]):
        command = [sys.executable, "-m", "recollect", "--store", str(home(tmp_path)), *verb]
        env = {**environment(), "HOME": str(tmp_path)}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
        assert done.returncode != 0
        assert "events.wal belongs to another program" in done.stderr
        assert "import FOLDER" in done.stderr
    assert (home(tmp_path) / "events.wal").read_bytes() == raw
    said = recollect(home(tmp_path), "import", str(folder))
    assert (said["records"], said["links"]) == (3, 1)
    again = recollect(home(tmp_path), "import", str(home(tmp_path)))
    assert (again["kept"], again["changed"], again["known"]) == (0, 0, 4)
    assert [one["why"] for one in again["problems"]] == [
        "this is a ledger of Recollect; copy what was written in it with `recollect admin push`",
        NO_ID,
    ]
    with ChronoStore(tmp_path) as store:
        assert len(store.query(status=None)) == 7
        assert store.chain_valid()
    assert (home(tmp_path) / "events.wal.original").read_bytes() == raw
    other = recollect(tmp_path / "other", "import", str(home(tmp_path)))
    assert (other["kept"], len(other["problems"])) == (4, 2)


def test_an_id_of_something_else_is_reported_and_stays(tmp_path: Path) -> None:
    # S0-33: a file cannot change, revive or forget what it did not bring
    (tmp_path / "old").mkdir()
    same = [event("MINE", op="delete"), event("GONE", label="lies"), event("SAME"), event("TOLD")]
    old = original(tmp_path / "old", log(same))
    with Memory.open(tmp_path / "memory", embedder="none") as memory:
        agent = memory.scoped(trust="agent")
        agent.remember("My own.", id="MINE")
        agent.remember("My own, and forgotten.", id="GONE")
        agent.forget("GONE")
        agent.remember("statement SAME", id="SAME")
        agent.observe("Said by someone.", id="TOLD")
        position = memory.events.position
        for _ in range(2):
            done = agent.admin.import_(home(old))
            assert (done.kept, done.changed, done.forgotten, done.known) == (0, 0, 0, 1)
            assert [one.why for one in done.problems] == [
                "'TOLD' is the id of an episode",
                "MINE has another text there; the one here stays",
                "GONE has another text there; the one here stays",
            ]
        assert memory.events.position == position
        alice = memory.scoped(user="alice", trust="agent")
        refused = [one.why for one in alice.admin.import_(home(old)).problems]
        assert "the id SAME is already used" in refused


def test_what_changed_there_follows_and_what_ended_here_does_not_come_back(tmp_path: Path) -> None:
    # S0-33: decision 45 holds for what keeps its id
    (tmp_path / "old").mkdir()
    old = original(tmp_path / "old", log([event("A"), event("B"), event("C"), event("P")]))
    with Memory.open(tmp_path / "memory", embedder="none") as memory:
        agent = memory.scoped(trust="agent")
        assert agent.admin.import_(home(old)).kept == 4
        agent.forget("B")
        memory.erase("C")
        memory.revise("P", "A person's words.")
        later = [event("A", label="changed"), event("B", label="back"), event("C"), event("P")]
        (home(old) / "events.wal").write_bytes(log([*later, event("P", op="delete")]))
        done = agent.admin.import_(home(old))
        assert (done.kept, done.changed, done.known) == (0, 1, 2)
        assert [one.why for one in done.problems] == ["a person has changed P here"]
        assert (memory.get("A").text, memory.get("P").text) == ("changed", "A person's words.")
        (home(old) / "events.wal").write_bytes(log([*later, event("A", op="delete")]))
        agent.admin.import_(home(old))
        store = ChronoStore.over(memory)
        assert {one.id: one.status for one in store.query(status=None)} == {
            "A": "tombstone", "B": "tombstone", "P": "active",
        }  # fmt: skip


def test_a_held_import_trusts_nothing(tmp_path: Path) -> None:  # decision 45
    (tmp_path / "old").mkdir()
    old = original(tmp_path / "old", log(EVENTS))
    with Memory.open(tmp_path / "memory", embedder="none") as memory:
        done = memory.admin.import_(home(old), hold=True)
        assert (done.waiting, done.kept) == (True, 4)
        assert {one.trust for one in memory.list(include=INCLUDES)} == {"unverified"}
        assert memory.recall("statement").hits == ()


def test_ids_of_an_earlier_release_stay(tmp_path: Path) -> None:
    # An upgrade: the records were called specsmith-REQ-1 then, and a new test case verifies one.
    folder = specsmith(tmp_path)
    with Memory.open(tmp_path / "memory", embedder="none") as memory:
        agent = memory.scoped(trust="agent")
        for id, text in (("REQ-1", "Survives a crash"), ("REQ-2", "Old"), ("TEST-1", "kill -9")):
            name = f"specsmith-{id}"
            agent.remember(text, id=name, idempotency_key=name)
        more = {"id": "TEST-2", "title": "power off", "requirement_id": "REQ-1"}
        changed = {"id": "REQ-2", "title": "Old export"}
        (folder / "testcases.json").write_text(json.dumps([*TESTCASES, more]))
        (folder / "requirements.json").write_text(json.dumps([REQUIREMENTS[0], changed]))
        for _ in range(2):
            agent.admin.import_(folder)
            assert {one.id for one in memory.list()} == {
                "specsmith-REQ-1", "specsmith-REQ-2", "specsmith-TEST-1", "TEST-2",
            }  # fmt: skip
        assert memory.get("specsmith-REQ-2").text == "Old export"
        assert {one.source for one in memory.why("specsmith-REQ-1").links} == {
            "specsmith-TEST-1", "TEST-2",
        }  # fmt: skip


def test_a_secret_is_in_no_record_whichever_way_it_comes(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    (tmp_path / "old").mkdir()
    old = original(tmp_path / "old", log([event("S", label=f"token {token}", kind=token)]))
    with Memory.open(tmp_path / "memory", embedder="none") as memory:
        memory.scoped(trust="agent").admin.import_(home(old))
        imported = everything(ChronoStore.over(memory))
    assert token not in str(imported)
    assert token not in str(EsdbBridge(old).status())
    with ChronoStore(old) as store:
        assert everything(store) == imported
        assert token.encode() not in (home(old) / "events.wal").read_bytes()


def test_two_items_with_one_id_are_one_record(tmp_path: Path) -> None:
    folder = specsmith(tmp_path)
    twice = [REQUIREMENTS[0], {"id": "REQ-1", "title": "another"}]
    (folder / "requirements.json").write_text(json.dumps(twice))
    with ChronoStore(tmp_path) as store:
        for kept in (1, 0):
            counts = store.migrate_from_json(folder)
            assert (counts["requirements"], counts["skipped"]) == (kept, 2 - kept + 1 - kept)
            said = recollect(home(tmp_path), "import", str(folder))
            why = "there is another record with the id REQ-1"
            assert [one["why"] for one in said["problems"]] == [why]
        found = store.get("REQ-1")
        assert found is not None
        assert found.label == "Survives a crash"


# The bridge.


def test_a_bridge_reads_json_if_there_is_no_log(tmp_path: Path) -> None:
    # S0-34 S0-36 S0-37 S0-38
    specsmith(tmp_path)
    bridge = EsdbBridge(project_dir=str(tmp_path))
    assert bridge.status().to_dict() == JSON_STATUS
    assert list(bridge.status().to_dict()) == list(JSON_STATUS)
    assert ids(bridge.requirements()) == ["REQ-1"]
    assert ids(bridge.testcases()) == ["TEST-1"]
    assert not home(tmp_path).exists(), "a bridge changes nothing"


def test_a_bridge_reads_the_store_if_there_is_a_log(tmp_path: Path) -> None:
    # S0-35 S0-37 S0-38: the same records from either source
    folder = specsmith(tmp_path)
    bridge = EsdbBridge(tmp_path)
    before = bridge.requirements(), bridge.testcases()
    with ChronoStore(tmp_path) as store:
        store.migrate_from_json(folder)
        seq = store.memory.events.position
    (folder / "requirements.json").write_text("[]")
    assert (bridge.requirements(), bridge.testcases()) == before
    assert bridge.status().to_dict() == {
        "available": True,
        "backend": "ChronoStore WAL",
        "record_count": 2,
        "wal_seq": seq,
        "epoch": 0,
        "chain_valid": True,
    }
    with ChronoStore(tmp_path) as store:
        store.delete("REQ-1")
        store.compact()
    assert bridge.requirements() == []
    assert (bridge.status().record_count, bridge.status().epoch) == (1, 1)


def test_a_bridge_reads_a_log_of_the_original_as_it_is(tmp_path: Path) -> None:
    # S0-35 S0-37 S0-38
    raw = log([*EVENTS, event("R-2", kind="requirement")])
    original(tmp_path, raw)
    bridge = EsdbBridge(tmp_path)
    assert bridge.status() == BridgeStatus(True, "ChronoStore WAL", 3, 7)
    assert ids(bridge.requirements()) == ["R-2"]
    assert (home(tmp_path) / "events.wal").read_bytes() == raw
    before = bridge.requirements()
    with ChronoStore(tmp_path):
        pass
    assert bridge.requirements() == before


def test_a_bridge_without_anything_says_so(tmp_path: Path) -> None:
    bridge = EsdbBridge(tmp_path)
    assert bridge.status().to_dict() == JSON_STATUS | {"available": False, "record_count": 0}
    assert bridge.requirements() == bridge.testcases() == []
