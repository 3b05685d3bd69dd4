"""The first requests of a service come in several threads at once; none of them may crash it.

msgspec looks at a type when it is first used, in steps. In the control no one has looked before,
and the process ends with a signal sooner or later.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

_PROGRAM = """
import sys, threading
from contextlib import suppress
import msgspec
from recollect.interfaces.http import requests, routes

shapes = [s for row in routes.TABLE for s in (row.takes, row.query) if s is not None]
if sys.argv[1] == "prepared":
    requests.prepare(shapes)
sys.setswitchinterval(1e-6)
for shape in shapes:
    together = threading.Barrier(8)

    def use() -> None:
        together.wait()
        with suppress(msgspec.ValidationError):
            msgspec.convert({"text": "Tea."}, shape)

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def ended(how: str) -> int:
    return subprocess.run(
        [sys.executable, "-c", _PROGRAM, how], check=False, timeout=120
    ).returncode


def test_shapes_that_were_looked_at_are_safe() -> None:
    assert [ended("prepared") for _ in range(4)] == [0, 0, 0, 0]


@pytest.mark.nightly
def test_control_shapes_that_nobody_looked_at_crash() -> None:
    assert any(ended("new") < 0 for _ in range(100))
