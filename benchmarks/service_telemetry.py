"""What telemetry costs the service: the same requests with it and without.

Responsible for both sides, and for a collector that keeps what comes. Leaves sending to
``benchmarks.service.load``. Invariant: both sides are the same program on memories of one size,
in turns. What counts is the processor time of the services: telemetry waits for nothing, and other
programs on the machine hardly change it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from benchmarks.measures import questions
from benchmarks.sentences import sentences
from benchmarks.service.load import Load
from benchmarks.service.servers import Service, recollect
from benchmarks.service.sizes import SIDE_BY_SIDE, Sizes
from benchmarks.service.traffic import fill, fine, recalls, remembers
from benchmarks.timing import Clock, Paired, in_turns, slices


class Collector:
    """A receiver of spans (OTLP over HTTP), which keeps them as they came."""

    def __init__(self) -> None:
        self.received: list[bytes] = []
        received = self.received

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                received.append(self.rfile.read(int(self.headers["content-length"])))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextmanager
    def listening(self) -> Iterator[Collector]:
        """Receives while the block runs."""
        thread = threading.Thread(target=self._server.serve_forever)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    def names(self) -> dict[str, int]:
        """How many spans of each name came."""
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
            ExportTraceServiceRequest,
        )

        found: dict[str, int] = {}
        for data in self.received:
            for resource in ExportTraceServiceRequest.FromString(data).resource_spans:
                for scope in resource.scope_spans:
                    for span in scope.spans:
                        found[span.name] = found.get(span.name, 0) + 1
        return found


def metrics_and_log(folder: Path, sizes: Sizes) -> Paired:
    """Writes and recalls with figures and log lines, against none."""
    return _compared(folder, sizes, ["--metrics", "--log-requests"])


def spans(folder: Path, sizes: Sizes) -> Paired:
    """The same with spans that are sent to a collector, too."""
    with Collector().listening() as collector:
        options = ["--metrics", "--log-requests", "--traces", collector.url]
        found = _compared(folder, sizes, options)
    if not {"http", "append", "recall.rank"} <= collector.names().keys():
        raise AssertionError(f"these spans came: {collector.names()}")
    return found


def _compared(folder: Path, sizes: Sizes, options: Sequence[str]) -> Paired:
    texts = slices(sentences((sizes.rounds + 1) * sizes.writes, seed=9), sizes.writes)
    asked = slices(questions((sizes.rounds + 1) * sizes.recalls), sizes.recalls)
    quiet, telling = folder / "quiet", folder / "telling"
    for each in (quiet, telling):
        fill(each, min(sizes.records, 1_000))

    def run(service: Service, load: Load, number: int) -> None:
        fine(load.run([*remembers(service, texts[number]), *recalls(service, asked[number])]))

    def worked_s() -> float:
        return sum(time.clock_gettime(_clock_of(each.process.pid)) for each in (off, on))

    with (
        recollect(str(quiet), folder) as off,
        recollect(str(telling), folder, options=options) as on,
        Load(off.port, SIDE_BY_SIDE) as at_off,
        Load(on.port, SIDE_BY_SIDE) as at_on,
    ):
        return in_turns(
            bare=lambda number: run(off, at_off, number),
            ours=lambda number: run(on, at_on, number),
            rounds=sizes.rounds,
            operations=sizes.writes + sizes.recalls,
            clock=Clock("service", worked_s),
        )


def _clock_of(pid: int) -> int:
    """The clock of another process's time (``clock_getcpuclockid``, which Python lacks)."""
    return (~pid << 3) | 2
