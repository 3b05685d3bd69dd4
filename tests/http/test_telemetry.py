"""Figures, log lines and spans of the service, and that none of them names anything."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import msgspec.yaml
import pytest

from benchmarks.service_telemetry import Collector
from recollect import Memory as Local
from recollect import Store
from recollect.interfaces.http.routes import TABLE
from recollect.interfaces.http.telemetry import telemetry, trace
from recollect.store import figures
from recollect.store.figures import STAGES, Stage
from tests.http.serving import Client
from tests.http.test_process import running

FIELDS = {
    "at", "level", "event", "route", "method", "status", "ms", "bytes_in", "bytes_out",
    "token_id", "space_ref", "request_id", "trace_id", "code",
}  # fmt: skip
CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
S = "/v1/spaces/main"
ROOT = Path(__file__).parents[2]


class Run(NamedTuple):
    """What a service with everything switched on told."""

    lines: list[dict[str, Any]]
    metrics: str
    spans: dict[str, int]
    headers: dict[str, str]
    statuses: list[int]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("telemetry") / "w"
    with Store.open(folder, embedder="none") as store:
        store.space("main").remember("The first one.")
        token = store.tokens.create("t", space="main", trust="person").token
        admin = store.tokens.create("a", space=None, trust="person", verbs=("read", "admin")).token
        less = store.tokens.create("b", space="main", trust="person", verbs=("read", "admin"))
    options = ("--metrics", "--metrics-port", "0", "--log-requests", "--traces")
    with Collector().listening() as collector:
        with running(folder, *options, collector.url) as service:
            port = int(re.search(r"Serving .*:(\d+)\n", service.said)[1])  # type: ignore[index]
            own = int(re.search(r"Metrics on .*:(\d+)/", service.said)[1])  # type: ignore[index]
            client = Client(port, token)
            for text in ("one", "two"):
                client.post(f"{S}/records", {"text": text})
            said = client.ask("POST", f"{S}/recall", {"query": "one"}, {"traceparent": CALLER})
            client.post(f"{S}/context", {"query": "two"})
            client.ask("PROPFIND", f"{S}/records")  # not a method of ours
            client.get("/nowhere")
            for wrong in (None, "wrong", "rct_" + "A" * 43):
                Client(port, wrong).get(f"{S}/records")
            until = time.monotonic() + 60
            while b'why="invalid"' not in (metrics := Client(own, None).get("/metrics")).raw:
                assert time.monotonic() < until  # a request is counted after its answer
                time.sleep(0.01)
            statuses = [
                Client(port, admin).get("/metrics").status,
                Client(port, less.token).get("/metrics").status,
                Client(port, token).get("/metrics").status,
                Client(port, None).get("/metrics").status,
                Client(own, None).get("/other").status,
                Client(own, None).ask("GET", "/metrics", None, {"Host": "evil.example"}).status,
            ]
            service.process.terminate()
            assert service.process.wait(60) == 0
            assert service.process.stderr is not None
            told = service.process.stderr.read().splitlines()
        names = collector.names()
    lines = [msgspec.json.decode(line) for line in told if line.startswith("{")]
    return Run(lines, metrics.raw.decode(), names, said.headers, statuses)


def test_a_line_has_these_fields_and_no_others(run: Run) -> None:
    first = run.lines[0]
    assert (first["route"], first["method"], first["status"]) == ("remember", "POST", 201)
    assert first["bytes_in"] == len('{"text":"one"}')
    assert first["ms"] > 0
    assert {name for line in run.lines for name in line} == FIELDS
    refs = {line["space_ref"] for line in run.lines if line["route"] == "remember"}
    assert len(refs) == 1  # the same space, told apart from others without its name
    assert "main" not in refs
    refused = [line["code"] for line in run.lines if line["status"] == 401]
    assert refused[:3] == ["unauthorized"] * 3
    unused = next(line for line in run.lines if line["method"] == "other")
    assert unused["status"] in (405, 501)


def test_a_trace_of_the_caller_goes_on(run: Run) -> None:
    line = next(line for line in run.lines if line["route"] == "recall")
    assert line["trace_id"] == CALLER.split("-")[1]
    version, trace_id, span_id, flags = run.headers["traceparent"].split("-")
    assert (version, trace_id, flags) == ("00", CALLER.split("-")[1], "01")
    assert span_id != CALLER.split("-")[2]
    assert run.headers["recollect-request"] == line["request_id"]


def test_spans_of_requests_and_stages_arrive(run: Run) -> None:
    assert run.spans["http"] >= 9
    assert {"append", "recall.legs", "recall.rank", "recall.pack"} <= run.spans.keys()
    assert set(run.spans) <= {"http", *STAGES}


def test_every_label_is_from_a_closed_set(run: Run) -> None:
    routes = {row.name for row in TABLE} | {"none", "mcp", "metrics", "events_stream"}
    found: dict[str, set[str]] = {}
    for name, value in re.findall(r'[{,](\w+)="([^"]*)"', run.metrics):
        found.setdefault(name, set()).add(value)
    assert found.pop("le")
    assert found.pop("version")
    assert found.pop("route") <= routes
    assert found.pop("method") <= {"GET", "POST", "other"}
    assert found.pop("stage") == {"legs", "rank", "pack"}
    assert found.pop("why") == {"missing", "malformed", "invalid"}
    assert all(status.isdecimal() for status in found.pop("status"))
    assert found == {}
    for name in (
        "http_seconds_bucket", "in_flight", "appends_total", "append_seconds_sum",
        "fsync_seconds_sum", "group_size_count", "index_lag_events", "streams",
        "loop_lag_seconds", "build_info", "rate_limited_total", "pool_seconds_count",
        "disk_free_bytes",
    ):  # fmt: skip
        assert f"recollect_{name}" in run.metrics, name


def test_figures_are_for_who_looks_after_every_space(run: Run) -> None:
    assert run.statuses == [200, 403, 403, 401, 404, 404]


@pytest.mark.parametrize("name", ["grafana/recollect.json", "prometheus/alerts.yaml"])
def test_dashboard_and_alerts_ask_for_figures_that_exist(run: Run, name: str) -> None:
    text = (ROOT / "deploy" / name).read_text()
    asked = set(re.findall(r"recollect_[a-z_]+", text))
    assert asked
    assert {name for name in asked if name not in run.metrics} == set()
    decoded = msgspec.json.decode(text) if name.endswith("json") else msgspec.yaml.decode(text)
    assert decoded.get("panels") or decoded["groups"][0]["rules"]


def test_off_means_that_nothing_is_called(tmp_path: Path) -> None:
    with Local.open(tmp_path / "w", embedder="none") as memory:
        heard = _Heard()
        figures.observe(heard)
        try:
            memory.remember("One.")
            memory.recall("one")
        finally:
            figures.observe(None)
        assert {"append", "fsync", "recall.legs", "recall.rank"} <= set(heard.stages)
        assert heard.groups
        heard.stages.clear()
        memory.remember("Two.")
        memory.recall("two")
        assert heard.stages == []


def test_an_observer_that_fails_harms_nobody(tmp_path: Path) -> None:
    class Failing:
        def took(self, stage: Stage, seconds: float) -> None:
            raise RuntimeError

        def grouped(self, commands: int) -> None:
            raise RuntimeError

        def lagging(self, events: int) -> None:
            raise RuntimeError

        def worked(self, kind: str, outcome: str, seconds: float) -> None:
            raise RuntimeError

    with Local.open(tmp_path / "w", embedder="none") as memory:
        figures.observe(Failing())
        try:
            assert memory.remember("One.").text == "One."
        finally:
            figures.observe(None)


class _Heard:
    def __init__(self) -> None:
        self.stages: list[str] = []
        self.groups: list[int] = []
        self.jobs: list[tuple[str, str]] = []

    def took(self, stage: Stage, seconds: float) -> None:
        self.stages.append(stage)

    def grouped(self, commands: int) -> None:
        self.groups.append(commands)

    def lagging(self, events: int) -> None:
        pass

    def worked(self, kind: str, outcome: str, seconds: float) -> None:
        self.jobs.append((kind, outcome))


def test_a_header_that_is_no_traceparent_is_ignored() -> None:
    zero = "00-" + "0" * 32 + "-b7ad6b7169203331-01"
    for wrong in (None, b"", b"x", CALLER.upper().encode(), zero.encode(), CALLER.encode() + b"-"):
        assert trace.parsed(wrong) is None
    found = trace.parsed(CALLER.encode())
    assert found is not None
    assert found.header == CALLER.encode()


def test_a_name_cannot_be_looked_up_without_the_key() -> None:
    one, other = (telemetry.space_ref(key, "main") for key in (b"a" * 32, b"b" * 32))
    assert one != other
    assert one == telemetry.space_ref(b"a" * 32, "main")
