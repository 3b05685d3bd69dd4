"""For all tests: Hypothesis profiles, a home folder, the order of a run and what is traced.

Profiles are chosen with `--hypothesis-profile`. Examples are random in every profile, and a failure
prints the blob that reproduces it.
"""

from __future__ import annotations

import gc
import os
import random
import shutil
import signal
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

PRINTED = settings(
    deadline=None,
    derandomize=False,
    print_blob=True,
    # Which of these fire depends on the machine and on the seed, not on what is tested.
    suppress_health_check=[
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
        HealthCheck.too_slow,
    ],
)

settings.register_profile("default", PRINTED, max_examples=50)
settings.register_profile("nightly", PRINTED, max_examples=2_000)
settings.load_profile("default")

_TESTS = Path(__file__).parent
_LONG = ("suites", "postgres")  # folders whose tests take long

# Tracing doubles the time of a test. These cover every branch that must be covered.
_TRACED = tuple(_TESTS / part for part in "model ledger index lifecycle recall memory".split())
_GATED = tuple(
    f"recollect.{part}" for part in ("model", "ledger", "index.fold", "lifecycle", "recall")
)


_HOME = pytest.StashKey[Path]()
_SPENT: defaultdict[str, float] = defaultdict(float)  # seconds by folder and by file
_FILES_COUNT = 25


def pytest_configure(config: pytest.Config) -> None:
    """Gives each process a home of its own, where keys are kept, and ears for an interrupt."""
    config.stash[_HOME] = Path(tempfile.mkdtemp(prefix="recollect-home-"))
    os.environ["HOME"] = str(config.stash[_HOME])
    os.environ["RECOLLECT_NAME"] = ""  # what writes a name is tested where a test gives one
    # A shell starts what it leaves in the background deaf to it, and so are all that this starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def own_home(monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> Iterator[Path]:
    """A home folder for this test alone, so that no key of another one is found in it.

    What lives longer than a test, such as a server of a module, has the home of the process.
    """
    mine = Path(tempfile.mkdtemp(prefix="home-", dir=pytestconfig.stash[_HOME]))
    monkeypatch.setenv("HOME", str(mine))
    yield mine
    shutil.rmtree(mine, ignore_errors=True)


def pytest_unconfigure(config: pytest.Config) -> None:
    if _HOME in config.stash:
        shutil.rmtree(config.stash[_HOME], ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collects no garbage among the tests themselves, which stay, nor ever looks at them again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collectstart(collector: pytest.Collector) -> None:
    """What a module draws while it is imported depends on the seed, too."""
    if isinstance(collector, pytest.Module):
        random.seed(collector.config.getoption("randomly_seed", 0))


@pytest.hookimpl(trylast=True)  # after the order is shuffled
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Runs long tests first, so that no core waits for one at the end."""
    items.sort(key=_length, reverse=True)


def _length(item: pytest.Item) -> tuple[bool, int]:
    folder = item.path.relative_to(_TESTS).parts[0]
    return _is_long(item), 1 + _LONG[::-1].index(folder) if folder in _LONG else 0


def _is_long(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(mark) for mark in ("ci", "nightly"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Traces, with its fixtures, a test that the coverage of the gated parts needs, and no other.

    Forgets what an untraced test computed once, so that a traced one computes it again.
    """
    plugin = item.config.pluginmanager.getplugin("_cov")
    cover = plugin.cov_controller if plugin is not None else None
    if cover is not None:
        wanted = not _is_long(item) and any(path in item.path.parents for path in _TRACED)
        if wanted and not cover.started:
            _forget_what_was_computed()
            cover.resume()
        elif cover.started and not wanted:
            cover.pause()
    return (yield)


def _forget_what_was_computed() -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith(_GATED):
            for value in list(vars(module).values()):
                clear = getattr(value, "cache_clear", None)
                if callable(clear):
                    clear()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    file = report.nodeid.partition("::")[0]
    _SPENT[file] += report.duration
    _SPENT["/".join(file.split("/")[:2])] += report.duration


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says where the time of a run went, if the longest tests are asked for."""
    if not terminalreporter.config.getoption("durations"):
        return
    longest = sorted(_SPENT.items(), key=lambda each: -each[1])
    folders = [each for each in longest if not each[0].endswith(".py")]
    files = [each for each in longest if each[0].endswith(".py")]
    terminalreporter.write_sep("=", "seconds of the workers")
    for name, seconds in [*folders, *files[:_FILES_COUNT]]:
        terminalreporter.write_line(f"{seconds:7.0f}  {name}")
