"""The verb ``recollect serve``.

Responsible for its options. Leaves serving to the function that ``__main__`` hands in. Invariant:
this module does not know the service.
"""

from __future__ import annotations

from typing import Annotated, Any

from recollect.errors import Unsupported
from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Option

Port = Annotated[
    int | None,
    Option(metavar="N", min=0, max=65_535, help="The port; 7357 by default, 0 picks a free one."),
]
Host = Annotated[
    str | None,
    Option(metavar="ADDRESS", help="Where to listen; 127.0.0.1, this machine alone, by default."),
]
TlsCert = Annotated[str | None, Option(metavar="FILE", help="A certificate, to serve https.")]
TlsKey = Annotated[str | None, Option(metavar="FILE", help="The key of the certificate.")]
RootPath = Annotated[
    str | None, Option(metavar="PATH", help="The prefix under which a proxy has the service.")
]
Unix = Annotated[
    str | None, Option(metavar="PATH", help="Listen on a socket with this name instead.")
]
Grace = Annotated[
    int | None,
    Option(metavar="S", min=0, max=3_600, help="How long requests may end on SIGTERM; 20 s."),
]
DrainDelay = Annotated[
    int | None,
    Option(
        metavar="S", min=0, max=3_600, help="How long to answer on after SIGTERM, not ready; 0 s."
    ),
]
Rate = Annotated[
    str | None,
    Option(
        metavar="RATES",
        help="How often a token may ask in a second: read=50,recall=10,write=20,admin=1; or off.",
    ),
]
Strict = Annotated[bool, Option("--strict", help="Refuse changes of a record without If-Match.")]
Check = Annotated[bool, Option("--check", help="Only ask a service that runs if it is ready.")]
PrintConfig = Annotated[
    bool, Option("--print-config", help="Only show each setting and where it comes from.")
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
Ui = Annotated[
    bool, Option("--ui", help="Show the memories in a browser too, under /ui/, to token holders.")
]
Oauth = Annotated[
    bool,
    Option(
        "--oauth",
        help="Let assistants ask for a token: a person approves on a page of --ui. "
        "Needs --hostname.",
    ),
]


@verb
def serve(
    call: Call,
    host: Host = None,
    port: Port = None,
    hostname: Hostnames = None,
    no_mcp: Mcp = False,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    root_path: RootPath = None,
    unix: Unix = None,
    grace: Grace = None,
    drain_delay: DrainDelay = None,
    rate: Rate = None,
    streams: Streams = None,
    streams_per_token: StreamsPerToken = None,
    metrics: Metrics = False,
    metrics_port: MetricsPort = None,
    log_requests: LogRequests = False,
    traces: Traces = None,
    work: Work = False,
    ui: Ui = False,
    oauth: Oauth = False,
    strict: Strict = False,
    check: Check = False,
    print_config: PrintConfig = False,
) -> None:
    """Serve the memories of this store over HTTP, for holders of a token."""
    start = (call.start or {}).get("http")
    if start is None:
        raise Unsupported(
            "this entry point cannot start the service",
            hint="run it as `recollect serve` or `python -m recollect serve`",
        )
    found: Any = start(
        store=call.store, mode="print" if print_config else "check" if check else "serve",
        host=host, port=port, hostname=tuple(hostname or ()), tls_cert=tls_cert, tls_key=tls_key,
        root_path=root_path, unix=unix, grace=grace, drain_delay=drain_delay, rate=rate,
        streams=streams, streams_per_token=streams_per_token, strict=strict, mcp=not no_mcp,
        metrics=metrics, metrics_port=metrics_port, log_requests=log_requests, traces=traces,
        work=work, ui=ui, oauth=oauth,
    )  # fmt: skip
    if print_config:
        call.answer(found, _shown)
    elif check:
        call.answer({"status": "ready"}, lambda _: plain.say("The service is ready"))


def _shown(settings: list[Any]) -> None:
    for each in settings:
        words = ", ".join(each.value) if isinstance(each.value, tuple) else each.value
        value = plain.safe(str(words)) if words not in (None, "") else "-"
        plain.say(f"{each.name} = {value}{plain.dim('  ' + each.source)}")
