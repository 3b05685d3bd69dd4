"""``python -m benchmarks.inspector``: what the pages of the inspector cost over their calls.

Responsible for the server's time of a page; the browser's side is measured by ``tests/web``.
Leaves what is on a page to the inspector. Invariant: the calls are timed inside the very page whose
time they are compared with, so both lie in the same moment of the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import inspect
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from threading import local
from time import process_time
from typing import Any, Final, NamedTuple

import msgspec

from benchmarks.machine import commit, machine
from benchmarks.report import Aim
from recollect import Memory, Store
from recollect.interfaces.web.app import App
from recollect.interfaces.web.guard import Guard
from recollect.interfaces.web.login.session import Launched, cookie_name
from recollect.interfaces.web.memories import Own

_BATCH: Final = 2_000
_HOST: Final = "127.0.0.1:1"
PAGES: Final = {
    "timeline": ("timeline", b""),
    "record": ("r/item.7", b""),
    "search": ("search", b"q=which+shelf+holds+item+77"),
}
AIMS: Final = (
    *(Aim(f"{name}_ratio", f"{name}, over its calls", 1.5, is_cost=True) for name in PAGES),
    Aim("timeline_growth", "timeline, long memory over short", 1.2, is_cost=True),
    Aim("record_growth", "record, long memory over short", 1.2, is_cost=True),
    Aim("wheel_kb", "everything in the wheel, packed", 150.0, is_cost=True),
    Aim("script_kb", "all scripts", 30.0, is_cost=True),
)


class Sizes(msgspec.Struct, frozen=True):
    """Counts."""

    short: int = 1_000
    long: int = 100_000
    rounds: int = 40


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a run found. All figures are better the lower."""

    figures: dict[str, float]
    aims: dict[str, str]
    reached: dict[str, bool | None]
    page_ms: dict[str, float]
    sizes: Sizes
    machine: dict[str, str | int]
    commit: str


class Calls:
    """How long the calls of a memory took, those that a page makes and not those inside them."""

    def __init__(self) -> None:
        self.taken_s = 0.0
        self._inside = local()

    def timed(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """A method that is counted here."""

        @functools.wraps(method)
        def call(*args: Any, **named: Any) -> Any:
            if getattr(self._inside, "is_set", False):
                return method(*args, **named)
            self._inside.is_set, started = True, process_time()
            try:
                return method(*args, **named)
            finally:
                self._inside.is_set = False
                self.taken_s += process_time() - started

        return call

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Counts every public call of every memory until the end."""
        kept: list[tuple[type, str, Any]] = []
        for kind in Memory.__mro__[:-1]:
            for name, method in list(vars(kind).items()):
                if inspect.isfunction(method) and not name.startswith("_"):
                    kept.append((kind, name, method))
                    setattr(kind, name, self.timed(method))
        try:
            yield
        finally:
            for kind, name, method in kept:
                setattr(kind, name, method)


class Took(NamedTuple):
    """Processor seconds of one page, and of the calls in it."""

    page_s: float
    calls_s: float


class Inspector:
    """The application, asked without a socket between."""

    def __init__(self, store: Store) -> None:
        self._sessions = Launched()
        self.app = App(Own(store), self._sessions, Guard([_HOST]))
        session = self._sessions.enter(self._sessions.launch())
        assert session is not None
        self._cookie = f"{cookie_name(self._sessions)}={session.id}"

    async def get(self, path: str, query: bytes) -> bytes:
        """The bytes of a page."""
        target = f"{self._sessions.root}/main/{path}"
        headers = {"host": _HOST, "cookie": self._cookie, "sec-fetch-site": "same-origin"}
        return await answered(self.app, target, query, headers)


async def answered(app: Any, path: str, query: bytes, headers: dict[str, str]) -> bytes:
    """What an ASGI application sends for one GET."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(),
        "query_string": query, "scheme": "http", "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip
    await app(scope, receive, send)
    body: bytes = sent[1]["body"]
    if sent[0]["status"] != 200:
        raise SystemExit(f"{path} was answered with {sent[0]['status']}: {body[:300]!r}")
    return body


def filled(store: Store, count: int) -> None:
    """A memory of that many records, with keys that were written several times."""
    memory = store.space("main")
    for first in range(0, count, _BATCH):
        with memory.batch() as batch:
            for place in range(first, min(first + _BATCH, count)):
                batch.remember(
                    f"Item {place} lies on shelf {place % 977} in row {place % 31}.",
                    key=f"item.{place % max(1, count // 3)}",
                    about=f"shelf {place % 977}",
                )


async def pages(inspector: Inspector, rounds: int) -> dict[str, list[Took]]:
    """Every page that many times, in turns."""
    calls = Calls()
    found: dict[str, list[Took]] = {name: [] for name in PAGES}
    with calls.watching():
        for number in range(rounds + 1):
            for name, (path, query) in PAGES.items():
                calls.taken_s, started = 0.0, process_time()
                await inspector.get(path, query)
                if number:
                    found[name].append(Took(process_time() - started, calls.taken_s))
    return found


def weights() -> dict[str, float]:
    """Kilobytes that the inspector adds to the wheel, and kilobytes of script."""
    import zlib

    import recollect.interfaces.web as web

    files = [each for each in Path(str(web.__file__)).parent.rglob("*") if each.is_file()]
    shown = [each for each in files if each.suffix in {".html", ".css", ".js", ".svg", ".py"}]
    scripts = sum(each.stat().st_size for each in shown if each.suffix == ".js")
    packed = sum(len(zlib.compress(each.read_bytes())) for each in shown)
    return {"wheel_kb": packed / 1_000, "script_kb": scripts / 1_000}


async def measured(folder: Path, sizes: Sizes, say: Callable[[str], None]) -> Report:
    """All figures."""
    took: dict[str, dict[str, list[Took]]] = {}
    figures: dict[str, float] = {}
    for name, count in (("short", sizes.short), ("long", sizes.long)):
        say(f"a memory of {count:,} records")
        with Store.open(str(folder / name), embedder="none") as store:
            filled(store, count)
            took[name] = await pages(Inspector(store), sizes.rounds)
    for name, found in took["long"].items():
        figures[f"{name}_ratio"] = median(each.page_s / each.calls_s for each in found)
    middle = {
        size: {name: median(each.page_s for each in found) for name, found in by_page.items()}
        for size, by_page in took.items()
    }
    for name in ("timeline", "record"):
        figures[f"{name}_growth"] = middle["long"][name] / middle["short"][name]
    figures = {name: round(value, 2) for name, value in {**figures, **weights()}.items()}
    return Report(
        figures=figures,
        aims={aim.name: aim.sign for aim in AIMS},
        reached={aim.name: aim.reached(figures[aim.name]) for aim in AIMS},
        page_ms={name: round(value * 1_000, 2) for name, value in middle["long"].items()},
        sizes=sizes,
        machine=machine(folder),
        commit=commit(),
    )


def table(report: Report) -> str:
    """The report for people."""
    lines = [f"{'':42}{'figure':>8}{'aim':>8}"]
    for aim in AIMS:
        word = "" if report.reached[aim.name] else "  missed"
        lines.append(f"{aim.what:42}{report.figures[aim.name]:>8}{aim.sign:>8}{word}")
    times = ", ".join(f"{name} {value} ms" for name, value in report.page_ms.items())
    return "\n".join([*lines, "", times])


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.inspector",
        description="Measure the pages of the inspector against the calls in them.",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    chosen = parser.parse_args(arguments)
    sizes = Sizes(short=100, long=300, rounds=2) if chosen.quick else Sizes()
    with tempfile.TemporaryDirectory(prefix="recollect-inspector-") as folder:
        say: Callable[[str], None] = lambda words: print(words, file=sys.stderr)  # noqa: E731
        report = asyncio.run(measured(Path(folder), sizes, say))
    if chosen.json:
        print(msgspec.json.format(msgspec.json.encode(report), indent=2).decode())
    else:
        print(table(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
