"""What an operator asked to be told, and the parts that tell it.

Responsible for loading only what was asked for, and for ending it. Leaves the telling to
``telemetry``. Invariant: without an option nothing of telemetry is loaded or called.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from recollect.interfaces.http.telemetry.metrics import Metrics
    from recollect.interfaces.http.telemetry.telemetry import Told


class Telling(NamedTuple):
    """The options of ``recollect serve`` about it."""

    metrics: bool = False
    metrics_port: int | None = None
    log_requests: bool = False
    traces: str | None = None


@contextmanager
def told_as(asked: Telling) -> Iterator[Told | None]:
    """What tells it, while the service runs; None if nothing was asked for."""
    if asked == Telling():
        yield None
        return
    from recollect.interfaces.http.telemetry import telemetry
    from recollect.store.seam import REAL

    with ExitStack() as stack:
        metrics = _metrics(asked, stack)
        spans = None
        if asked.traces is not None:
            from recollect.interfaces.http.telemetry import spans as tracing

            tracing.check_installed()
            spans = tracing.Spans(asked.traces, REAL)
        log = telemetry.to_stderr if asked.log_requests else None
        told = telemetry.Told(metrics=metrics, spans=spans, log=log)
        told.begin()
        stack.callback(told.end)
        yield told


def _metrics(asked: Telling, stack: ExitStack) -> Metrics | None:
    if not asked.metrics and asked.metrics_port is None:
        return None
    from recollect.interfaces.http.telemetry import metrics

    metrics.check_installed()
    found = metrics.Metrics()
    if asked.metrics_port is not None:
        port = stack.enter_context(metrics.listening(found, asked.metrics_port))
        sys.stderr.write(f"Metrics on http://127.0.0.1:{port}/metrics\n")
    return found
