"""Spans of requests and of the engine's stages, sent to a collector (OpenTelemetry).

Responsible for what a span says. Leaves sending to the SDK. Invariants: a span has a name from a
closed set and no text, id, space or user; without ``--traces`` nothing of this is loaded.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Final

from recollect.errors import NotInstalled
from recollect.interfaces.http.telemetry.trace import Trace
from recollect.store.figures import Stage
from recollect.store.seam import Seam

_CURRENT: Final[ContextVar[Any]] = ContextVar("span", default=None)
_PATH: Final = "/v1/traces"
# A sync is most of its append, and a wait for a connection is mostly none; figures have both.
_STAGES: Final = frozenset({"append", "fold", "recall.legs", "recall.rank", "recall.pack"})


def check_installed() -> None:
    """Raises NotInstalled without the SDK."""
    try:
        import opentelemetry.exporter.otlp.proto.http
        import opentelemetry.sdk.trace  # noqa: F401 - an extra
    except ImportError as error:
        raise NotInstalled(
            "traces need the packages of OpenTelemetry",
            hint="install them with: pip install 'recollect[otel]'",
        ) from error


class Spans:
    """Makes spans; also an observer of the engine."""

    def __init__(self, collector: str, seam: Seam) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        self._seam = seam
        exporter = OTLPSpanExporter(endpoint=collector.rstrip("/") + _PATH, timeout=5)
        self._provider = TracerProvider(
            resource=Resource({"service.name": "recollect"}), shutdown_on_exit=False
        )
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("recollect")

    def begin(self, caller: Trace | None) -> tuple[Any, Trace]:
        """Begins the span of a request, under the one that the caller named."""
        from opentelemetry import trace
        from opentelemetry.context import Context

        context = Context()
        if caller is not None:
            parent = trace.SpanContext(
                caller.trace_id, caller.span_id, is_remote=True,
                trace_flags=trace.TraceFlags(caller.flags),
            )  # fmt: skip
            context = trace.set_span_in_context(trace.NonRecordingSpan(parent), context)
        span = self._tracer.start_span("http", context, kind=trace.SpanKind.SERVER)
        _CURRENT.set(trace.set_span_in_context(span, Context()))
        made = span.get_span_context()
        return span, Trace(made.trace_id, made.span_id, int(made.trace_flags))

    def end(self, span: Any, route: str, method: str, status: int) -> None:
        """Ends the span of a request."""
        span.set_attributes(
            {
                "http.route": route,
                "http.request.method": method,
                "http.response.status_code": status,
            }
        )
        span.end()

    def took(self, stage: Stage, seconds: float) -> None:
        """Adds a span for a stage that has just ended, under the request that this thread serves.

        An append for several requests stands under the one that wrote it.
        """
        context = _CURRENT.get() if stage in _STAGES else None
        if context is None:
            return
        end = self._seam.now_ns()
        span = self._tracer.start_span(stage, context, start_time=end - int(seconds * 1e9))
        span.end(end)

    def grouped(self, commands: int) -> None:
        """Left to figures: a number has no duration."""

    def lagging(self, events: int) -> None:
        """Left to figures: a number has no duration."""

    def worked(self, kind: str, outcome: str, seconds: float) -> None:
        """Left to figures: no request waits for a job."""

    def close(self) -> None:
        """Sends what waits."""
        self._provider.shutdown()
