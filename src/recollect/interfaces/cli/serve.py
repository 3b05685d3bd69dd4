"""The verb ``recollect serve``.

Responsible for its options. Leaves serving to the function that ``__main__`` hands in. Invariant:
this module does not know the service.
"""

from __future__ import annotations

from typing import Annotated

from recollect.errors import Unsupported
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Option

Port = Annotated[
    int,
    Option(metavar="N", min=0, max=65_535, help="The port on 127.0.0.1; 0 picks a free one."),
]
Hostnames = Annotated[
    list[str] | None,
    Option(
        "--hostname",
        metavar="NAME",
        help="A name under which a proxy passes requests on; may be repeated.",
    ),
]
Mcp = Annotated[bool, Option("--no-mcp", help="Do not speak MCP with assistants on the same port.")]


Streams = Annotated[
    int | None,
    Option(
        "--streams",
        metavar="N",
        min=1,
        max=20_000,
        help="The most streams of events at a time; 256 if the limit of open files allows it.",
    ),
]
StreamsPerToken = Annotated[
    int | None,
    Option(
        "--streams-per-token",
        metavar="N",
        min=1,
        max=20_000,
        help="The most streams of one token; 64 by default.",
    ),
]
Metrics = Annotated[
    bool, Option("--metrics", help="Answer /metrics for a token that looks after every space.")
]
MetricsPort = Annotated[
    int | None,
    Option(
        metavar="N", min=0, max=65_535,
        help="Answer /metrics without a token on this port of 127.0.0.1.",
    ),
]  # fmt: skip
LogRequests = Annotated[
    bool, Option("--log-requests", help="Write a line of JSON about each request to stderr.")
]
Traces = Annotated[
    str | None,
    Option(metavar="URL", help="Send spans to this OpenTelemetry collector (OTLP over HTTP)."),
]
Work = Annotated[
    bool, Option("--work", help="Also do the jobs of this store, as `recollect admin work` does.")
]


@verb
def serve(
    call: Call,
    port: Port = 7357,
    hostname: Hostnames = None,
    no_mcp: Mcp = False,
    streams: Streams = None,
    streams_per_token: StreamsPerToken = None,
    metrics: Metrics = False,
    metrics_port: MetricsPort = None,
    log_requests: LogRequests = False,
    traces: Traces = None,
    work: Work = False,
) -> None:
    """Serve the memories of this store over HTTP; every request needs a token."""
    start = (call.start or {}).get("http")
    if start is None:
        raise Unsupported(
            "this entry point cannot start the service",
            hint="run it as `recollect serve` or `python -m recollect serve`",
        )
    start(
        store=call.store, port=port, hostnames=hostname or (), mcp=not no_mcp,
        streams=streams, streams_per_token=streams_per_token,
        metrics=metrics, metrics_port=metrics_port, log_requests=log_requests, traces=traces,
        work=work,
    )  # fmt: skip
