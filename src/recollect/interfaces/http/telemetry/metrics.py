"""Figures about the service, in the format of Prometheus.

Responsible for what is counted and under which labels, and for a port of their own on this machine:
127.0.0.1 only, one path, no token. Leaves who else may read them to ``app``. Invariants: every
label has a closed set of values; none is a space, a user, an id, a query or anything else that a
caller chose; the port answers nothing but the figures, and only to this machine's own name.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from recollect import __version__
from recollect.errors import NotInstalled, Unavailable
from recollect.serving import guard
from recollect.serving.server import ADDRESS
from recollect.store.figures import STAGES, Stage

KIND: Final = b"text/plain; version=0.0.4; charset=utf-8"
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})
_HTTP_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_ENGINE_S: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1.0)
_JOB_S: Final = (0.01, 0.1, 0.5, 1.0, 5.0, 30.0, 120.0, 600.0, 3_600.0)
_GROUPS: Final = (1, 2, 4, 8, 16, 32, 64, 128)
_READ_MAX_S: Final = 5


def check_installed() -> None:
    """Raises NotInstalled without the library."""
    try:
        import prometheus_client  # noqa: F401 - an extra
    except ImportError as error:
        raise NotInstalled(
            "metrics need the package prometheus-client",
            hint="install it with: pip install 'recollect[metrics]'",
        ) from error


class Metrics:
    """The figures of one process; also an observer of its engine."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info
        from prometheus_client.process_collector import ProcessCollector

        self._registry = registry = CollectorRegistry(auto_describe=False)
        ProcessCollector(registry=registry)
        Info("recollect_build", "The release that runs.", registry=registry).info(
            {"version": __version__}
        )

        def seconds(name: str, about: str, buckets: tuple[float, ...], *labels: str) -> Any:
            return Histogram(f"recollect_{name}", about, labels, buckets=buckets, registry=registry)

        def counter(name: str, about: str, *labels: str) -> Any:
            return Counter(f"recollect_{name}", about, labels, registry=registry)

        def gauge(name: str, about: str) -> Any:
            return Gauge(f"recollect_{name}", about, registry=registry)

        self._requests = counter("http_requests", "Answers.", "route", "method", "status")
        self._seconds = seconds("http_seconds", "Time of an answer.", _HTTP_S, "route")
        self.in_flight = gauge("in_flight", "Requests in work.")
        self.streams = gauge("streams", "Streams of events that are open.")
        self.loop_lag = gauge("loop_lag_seconds", "How late the event loop was, at the last look.")
        self._refused = counter("tokens_refused", "Requests without a valid token.", "why")
        self._limited = counter("rate_limited", "Requests that came too fast.", "class")
        self._appends = counter("appends", "Appends to ledgers.")
        self._group = seconds("group_size", "Commands in one append.", _GROUPS)
        self._lag = gauge("index_lag_events", "Events not yet in the index, at the last append.")
        self._stages = _stages(seconds)
        self._jobs = counter("jobs", "Jobs that this process has ended.", "kind", "state")
        self._job_s = seconds("job_seconds", "Time of a job.", _JOB_S, "kind")
        self._gauge = gauge
        self._known: dict[tuple[str, str, int], tuple[Any, Any]] = {}

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """Counts an answer."""
        key = route, method if method in METHODS else "other", status
        found = self._known.get(key)
        if found is None:  # bound once: finding the labels takes longer than counting
            of_route = self._seconds.labels(route)
            found = self._known[key] = self._requests.labels(*key), of_route
        found[0].inc()
        found[1].observe(seconds)

    def refused(self, why: str) -> None:
        """Counts a request without a valid token: ``missing``, ``malformed`` or ``invalid``."""
        self._refused.labels(why).inc()

    def limited(self, rate_class: str) -> None:
        """Counts a request that came too fast."""
        self._limited.labels(rate_class).inc()

    def watch_disk(self, free_bytes: Callable[[], float]) -> None:
        """Has a figure for the room that the disk of a folder has."""
        about = "Room on the disk of the store."
        self._gauge("disk_free_bytes", about).set_function(free_bytes)

    def took(self, stage: Stage, seconds: float) -> None:
        """Notes how long a stage of the engine took."""
        self._stages[stage].observe(seconds)
        if stage == "append":
            self._appends.inc()

    def grouped(self, commands: int) -> None:
        """Notes how many commands shared an append."""
        self._group.observe(commands)

    def lagging(self, events: int) -> None:
        """Notes how many events an index lacks."""
        self._lag.set(events)

    def worked(self, kind: str, outcome: str, seconds: float) -> None:
        """Counts a job that ended."""
        self._jobs.labels(kind, outcome).inc()
        self._job_s.labels(kind).observe(seconds)

    def exposition(self) -> bytes:
        """All of it as text."""
        from prometheus_client import generate_latest

        return bytes(generate_latest(self._registry))


def _stages(seconds: Any) -> dict[Stage, Any]:
    """A histogram for each stage; those of recall share one."""
    recall = seconds("recall_seconds", "Time of a stage of recall.", _ENGINE_S, "stage")
    about = {
        "append": "Time of an append, with its sync.",
        "fsync": "Time of a sync of the ledger.",
        "fold": "Time to bring the index up to the ledger.",
        "pool": "Time to get a connection to the server.",
    }
    return {
        stage: recall.labels(stage.removeprefix("recall."))
        if stage.startswith("recall.")
        else seconds(f"{stage}_seconds", about[stage], _ENGINE_S)
        for stage in STAGES
    }


@contextmanager
def listening(metrics: Metrics, port: int) -> Iterator[int]:
    """Answers on the port while the block runs; 0 picks a free one."""

    class Handler(BaseHTTPRequestHandler):
        timeout = _READ_MAX_S

        def do_GET(self) -> None:
            host = self.headers.get("host", "")
            is_ours = host.rpartition(":")[0] in guard.NAMES and self.path == "/metrics"
            body = metrics.exposition() if is_ours else b"not found\n"
            self.send_response(200 if is_ours else 404)
            self.send_header("content-type", KIND.decode())
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing: a collector asks every few seconds."""

    try:
        server = ThreadingHTTPServer((ADDRESS, port), Handler)
    except OSError as error:
        raise Unavailable(
            f"could not listen on port {port}: {error.strerror}",
            hint="choose another with --metrics-port",
        ) from error
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
