"""For all tests: Hypothesis profiles, a home folder, the order of a run and what is traced.

Profiles are chosen with `--hypothesis-profile`. Examples are random in every profile, and a failure
prints the blob that reproduces it.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

PRINTED = settings(
    deadline=None,
    derandomize=False,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)

settings.register_profile("default", PRINTED, max_examples=50)
settings.register_profile("ci", PRINTED, max_examples=100)
settings.register_profile("slow", PRINTED, max_examples=2_000)
settings.load_profile("default")

_LONG = [Path(__file__).parent / folder for folder in ("suites", "postgres")]

_GATED = tuple(
    f"recollect.{part}" for part in ("model", "ledger", "index.fold", "lifecycle", "recall")
)


_HOME = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    """Gives the run a home folder of its own, because keys are kept in ``~/.recollect``."""
    if hasattr(config, "workerinput"):  # a worker has the environment of the process it belongs to
        return
    config.stash[_HOME] = Path(tempfile.mkdtemp(prefix="recollect-home-"))
    os.environ["HOME"] = str(config.stash[_HOME])


def pytest_unconfigure(config: pytest.Config) -> None:
    if _HOME in config.stash:
        shutil.rmtree(config.stash[_HOME], ignore_errors=True)


@pytest.hookimpl(trylast=True)  # after the order is shuffled
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Runs long tests first, so that no core waits for one at the end, and does not trace them.

    Tracing doubles their time. The other tests cover every branch that must be covered.
    """
    for item in items:
        if _is_long(item):
            item.add_marker("no_cover")
    items.sort(key=_is_slow, reverse=True)


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Forgets what an untraced test computed once, so that a traced one computes it again."""
    if not _is_long(item):
        return
    for name, module in list(sys.modules.items()):
        if name.startswith(_GATED):
            for value in list(vars(module).values()):
                clear = getattr(value, "cache_clear", None)
                if callable(clear):
                    clear()


def _is_slow(item: pytest.Item) -> tuple[bool, bool]:
    return item.get_closest_marker("slow") is not None, _LONG[0] in item.path.parents


def _is_long(item: pytest.Item) -> bool:
    return _is_slow(item)[0] or any(folder in item.path.parents for folder in _LONG)
