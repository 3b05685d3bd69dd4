"""S1: the runtime: export, diagnostics, and actions behind a review."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect.contracts.graph import (
    Action,
    Approval,
    FileBackedMemoryGraphStore,
    GraphStore,
    InMemoryAuditSink,
    InMemoryGraphStore,
    Node,
    PhaseMemoryRuntime,
    Profile,
    digest_of,
    fixture,
    paths,
)
from recollect.errors import InvalidInput, Unavailable
from recollect.model.validate import Json


@pytest.fixture(params=["files", pytest.param("memory", marks=pytest.mark.nightly)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GraphStore]:
    if request.param == "memory":
        opened: GraphStore = InMemoryGraphStore()
    else:
        opened = FileBackedMemoryGraphStore(tmp_path, trust="person")
    with opened as store:
        assert store.import_graph(fixture("graph")) == []
        yield store


@pytest.fixture
def runtime(store: GraphStore) -> PhaseMemoryRuntime:
    return PhaseMemoryRuntime(store)


def approved(actions: list[Action], by: str = "Ines") -> Approval:
    return Approval(by=by, digest=digest_of(actions))


def ended(store: GraphStore) -> list[Mapping[str, Json]]:
    """The audit records without those of what was started."""
    return [record for record in store.audit.list() if record["outcome"] != "started"]


def outcomes(store: GraphStore) -> list[Json]:
    return [record["outcome"] for record in ended(store)]


# Every action that needs a review, with what it would change.
REVIEWED = [
    Action(kind="forget", subject="question.wind"),
    Action(kind="erase", subject="question.wind"),
    Action(kind="merge", subject="try", digest="0" * 64),
    Action(kind="compact", subject="try", text="It was tried."),
    Action(kind="revise", subject="question.wind", text="Is it windy?", review=True),
    Action(kind="restore", subject="question.wind", review=True),
    Action(kind="abandon", subject="try", reason="no", review=True),
]


def test_the_runtime_exports_the_graph(runtime: PhaseMemoryRuntime) -> None:
    # S1-64 S1-105
    assert runtime.export_graph() == fixture("graph")


@pytest.mark.parametrize("action", REVIEWED, ids=lambda action: action.kind)
def test_nothing_is_applied_without_the_marker(
    store: GraphStore, runtime: PhaseMemoryRuntime, action: Action
) -> None:
    # S1-66 S1-100 S1-101 S1-102 S1-113: each is denied, changes nothing, and leaves one record
    paths.branch(store, "try")
    position, graph = store.memory.events.position, store.export_graph()
    wrong: list[Approval | None] = [
        None,
        Approval(by="Ines", digest="0" * 64),
        Approval(by="Ines", digest=digest_of([Action(kind="forget", subject="other")])),
        Approval(by="", digest=digest_of([action])),
        Approval(by=" \n", digest=digest_of([action])),
    ]
    for approval in wrong:
        (done,) = runtime.apply([action], approval=approval)
        assert done.outcome == "denied"
        assert done.detail
    assert (store.memory.events.position, store.export_graph()) == (position, graph)
    assert outcomes(store) == ["denied"] * len(wrong)
    assert {record["approved_by"] for record in store.audit.list()} == {None}
    assert runtime.needs_review(action)


def test_an_action_cannot_talk_its_way_past_the_review(runtime: PhaseMemoryRuntime) -> None:
    # S1-100: what it says of itself can only ask for more
    sly: dict[str, Json] = {"kind": "forget", "subject": "question.wind", "review": False}
    assert runtime.apply([sly])[0].outcome == "denied"
    sly["approved"] = True
    assert runtime.apply([sly])[0].outcome == "denied"
    with pytest.raises(InvalidInput):
        runtime.apply([{"kind": "purge", "subject": "question.wind"}])


def test_an_approval_is_of_exactly_these_actions(
    store: GraphStore, runtime: PhaseMemoryRuntime
) -> None:
    # S1-66 S1-113
    few = [Action(kind="forget", subject="question.wind")]
    more = [*few, Action(kind="forget", subject="decision.crane")]
    assert [one.outcome for one in runtime.apply(more, approval=approved(few))] == ["denied"] * 2
    assert len(store.list_nodes()) == 3
    assert [one.outcome for one in runtime.apply(more, approval=approved(more))] == ["applied"] * 2
    assert [node.id for node in store.list_nodes()] == ["constraint.load"]
    assert [record["approved_by"] for record in ended(store)] == [None, None, "Ines", "Ines"]


def test_approved_actions_are_applied(store: GraphStore, runtime: PhaseMemoryRuntime) -> None:
    # S1-99 S1-101: to a store in files too, one audit record each
    paths.branch(store, "try")
    store.on("try").save_node(Node(id="n.new", kind="claim", text="The wind is weak."))
    paths.branch(store, "long")
    actions = [
        Action(kind="revise", subject="decision.crane", text="All goes to the new crane."),
        Action(kind="merge", subject="try", digest=paths.diff(store, "try").digest),
        Action(kind="compact", subject="long", text="It was long."),
        Action(kind="forget", subject="question.wind", reason="answered"),
        Action(kind="restore", subject="question.wind"),
        Action(kind="erase", subject="constraint.load"),
    ]
    done = runtime.apply(actions, approval=approved(actions))
    assert [one.outcome for one in done] == ["applied"] * 6, done
    assert store.load_node("decision.crane").text == "All goes to the new crane."
    assert store.load_node("n.new").text == "The wind is weak."
    assert store.load_path("long").compaction == "compacted"
    assert store.load_node("question.wind").kind == "question"
    assert "constraint.load" not in {node.id for node in store.list_nodes()}
    started = [record for record in store.audit.list() if record["outcome"] == "started"]
    assert [record["action"] for record in started] == [action.kind for action in actions]
    records = ended(store)
    assert [record["action"] for record in records] == [action.kind for action in actions]
    assert [record["subject"] for record in records] == [action.subject for action in actions]
    assert list(store.differing()) == []


def test_what_needs_no_review_is_applied_beside_what_is_denied(
    store: GraphStore, runtime: PhaseMemoryRuntime
) -> None:
    done = runtime.apply(
        [
            Action(kind="forget", subject="question.wind"),
            Action(kind="revise", subject="decision.crane", text="All goes there."),
            Action(kind="revise", subject="nothing", text="x"),
            Action(kind="revise", subject="decision.crane"),
            Action(kind="abandon", subject="none", reason="x"),
        ]
    )
    assert [one.outcome for one in done] == ["denied", "applied", "failed", "failed", "failed"]
    assert outcomes(store) == [one.outcome for one in done]
    assert store.load_node("decision.crane").text == "All goes there."


def test_a_profile_can_ask_for_a_review_of_everything(
    store: GraphStore, runtime: PhaseMemoryRuntime
) -> None:
    # S1-45 S1-66: policy-aware
    revise = [Action(kind="revise", subject="decision.crane", text="All goes there.")]
    assert not runtime.needs_review(revise[0])
    store.import_profile(fixture("profile"))
    assert runtime.needs_review(revise[0])
    assert runtime.apply(revise)[0].outcome == "denied"
    assert runtime.apply(revise, approval=approved(revise))[0].outcome == "applied"


def test_an_approval_does_not_take_the_place_of_trust(tmp_path: Path) -> None:
    # S1-115: policy and reviews are the memory's own; the marker adds to them
    with FileBackedMemoryGraphStore(tmp_path, trust="person") as person:
        person.import_graph(fixture("graph"))
    with FileBackedMemoryGraphStore(tmp_path) as agent:
        actions = [
            Action(kind="forget", subject="question.wind"),
            Action(kind="erase", subject="question.wind"),
        ]
        done = PhaseMemoryRuntime(agent).apply(actions, approval=approved(actions))
        assert [one.outcome for one in done] == ["failed", "failed"]
        assert "waits for a person" in done[0].detail
        assert len(agent.list_nodes()) == 3
    with FileBackedMemoryGraphStore(tmp_path, trust="person") as person:
        (waiting,) = person.memory.review.list()
        assert waiting.intent == "delete"


def test_audit_records_say_who_what_and_when_and_no_more(tmp_path: Path) -> None:
    # S1-58 S1-101 S1-115: a plain record, without the text of a node
    before = datetime.now(UTC).replace(microsecond=0)
    with FileBackedMemoryGraphStore(tmp_path, trust="person") as store:
        store.import_graph(fixture("graph"))
        actions = [Action(kind="revise", subject="decision.crane", text="A secret.", review=True)]
        runtime = PhaseMemoryRuntime(store)
        runtime.apply(actions)
        runtime.apply(actions, approval=approved(actions))
    after = datetime.now(UTC)
    raw = (tmp_path / "audit.jsonl").read_bytes()
    assert b"secret" not in raw
    records = [json.loads(line) for line in raw.splitlines()]
    for record in records:
        assert sorted(record) == [
            "action", "approved_by", "at", "detail", "digest", "outcome", "schema_version",
            "subject",
        ]  # fmt: skip
    assert [record["outcome"] for record in records] == ["denied", "started", "applied"]
    times = [datetime.fromisoformat(record["at"]) for record in records]
    assert [before, *times, after] == sorted([before, *times, after])
    assert not any((tmp_path / name).exists() for name in ("policies", "reviews"))


class Stopping(InMemoryAuditSink):
    """A sink that cannot be written after some records."""

    def __init__(self, takes: int) -> None:
        super().__init__()
        self.left = takes

    def write(self, record: Mapping[str, Json]) -> None:
        if not self.left:
            raise Unavailable("the disk is full")
        self.left -= 1
        super().write(record)


@pytest.mark.parametrize("review", [True, False])
def test_nothing_is_applied_that_no_record_announces(
    store: GraphStore, runtime: PhaseMemoryRuntime, review: bool
) -> None:
    # S1-101: the record is durable before the action
    actions = [
        Action(kind="revise", subject=id, text="Changed.", review=review)
        for id in ("decision.crane", "question.wind")
    ]
    approval = approved(actions)
    for takes, changed in ((0, 0), (1, 1), (2, 1), (3, 2), (4, 2)):
        store.import_graph(fixture("graph"))
        store.audit = Stopping(takes)
        with suppress(Unavailable):
            runtime.apply(actions, approval=approval)
        texts = [store.load_node(action.subject).text for action in actions]
        assert texts.count("Changed.") == changed
        told = [record["subject"] for record in store.audit.list()]
        assert {action.subject for action in actions[:changed]} <= set(told)
        assert outcomes(store) == ["applied"] * (takes // 2)


def test_an_audit_that_cannot_be_written_is_not_passed_over(tmp_path: Path) -> None:
    # S1-101
    with FileBackedMemoryGraphStore(tmp_path, trust="person") as store:
        store.import_graph(fixture("graph"))
        (tmp_path / "audit.jsonl").symlink_to(tmp_path / "elsewhere")
        forget = [Action(kind="forget", subject="question.wind")]
        for approval in (None, approved(forget)):
            with pytest.raises(Unavailable):
                PhaseMemoryRuntime(store).apply(forget, approval=approval)
            assert len(store.list_nodes()) == 3
        assert not (tmp_path / "elsewhere").exists()


# Diagnostics.


def test_a_sound_store_has_no_findings(store: GraphStore, runtime: PhaseMemoryRuntime) -> None:
    paths.branch(store, "try")
    store.import_profile(fixture("profile"))
    assert runtime.diagnostics() == []


def test_an_edge_without_its_node_is_found(store: GraphStore, runtime: PhaseMemoryRuntime) -> None:
    # S1-65 S1-106
    store.memory.forget("question.wind")
    store.wrote("node", ["question.wind"])
    position = store.memory.events.position
    edges = [one for one in runtime.diagnostics() if one.what == "edges"]
    assert [one.detail for one in edges] == ["the edge 'edge.open' lacks the node 'question.wind'"]
    assert edges[0].fix
    assert store.memory.events.position == position


def test_events_about_nothing_are_found(store: GraphStore, runtime: PhaseMemoryRuntime) -> None:
    # S1-65 S1-107
    updates: list[Json] = [{"node_id": "none", "operation": "create"}]
    store.events.append({"id": "e.node", "kind": "recorded", "node_updates": updates})
    store.events.append({"id": "e.edge", "kind": "x", "edge_updates": [{"edge_id": "none"}]})
    store.events.append({"id": "e.path", "kind": "recorded", "path": "none"})
    gone: list[Json] = [{"node_id": "old", "operation": "create"}]
    store.events.append({"id": "e.old", "kind": "recorded", "node_updates": gone})
    left: list[Json] = [{"node_id": "old", "operation": "delete"}]
    store.events.append({"id": "e.left", "kind": "forgotten", "node_updates": left})
    assert [one.detail for one in runtime.diagnostics()] == [
        "the event 'e.node' is about the node 'none', which is not there",
        "the event 'e.edge' is about the edge 'none', which is not there",
        "the event 'e.path' is about the path 'none', which is not there",
    ]


def test_unknown_schema_versions_are_found(store: GraphStore, runtime: PhaseMemoryRuntime) -> None:
    # S1-57 S1-65 S1-108
    store.save_profile(Profile(id="p", extra={"schema_version": "markitect.memory.profile.v9"}))
    if isinstance(store, FileBackedMemoryGraphStore):
        with (store.root / "events.jsonl").open("ab") as file:
            file.write(b'{"id":"e","kind":"recorded","schema_version":"recollect.event.v9"}\n')
    found = runtime.diagnostics()
    assert {one.what for one in found} == {"schema"}
    assert all("v9" in one.detail and one.fix for one in found)
    assert len(found) == (2 if isinstance(store, FileBackedMemoryGraphStore) else 1)


def test_findings_of_the_memory_itself_are_among_them(tmp_path: Path) -> None:
    # S1-65 S1-106
    from recollect.model import events as e
    from tests.memory.test_forged import forge

    with FileBackedMemoryGraphStore(tmp_path / "m") as store:
        store.save_node(Node(id="r-a", kind="claim", text="A crane."))
    link = e.LinkAdded(source="r-a", target="r-none", kind="cites", trust="person")
    forge(tmp_path, "person", link)
    with FileBackedMemoryGraphStore(tmp_path / "m") as store:
        (found,) = PhaseMemoryRuntime(store).diagnostics()
        assert "1 link without a record at one end: r-a cites r-none" in found.detail
        assert store.list_edges() == []
        edge: Json = {"id": "e", "kind": "cites", "source": "r-a", "target": "r-none"}
        graph: dict[str, Json] = {"schema_version": "markitect.memory.graph.v1", "edges": [edge]}
        assert [one.what for one in store.import_graph(graph)] == ["edges"]
