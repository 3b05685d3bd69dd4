"""A hook ends in time, wherever it hangs.

The control of each is the same place without the limit: it hangs for as long as it is let.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recollect import Memory
from recollect.config import places
from recollect.places.known import adopt
from tests.assistants.session import recorded

pytestmark = pytest.mark.ci

# Code that never ends: waiting for the system, a regular expression, and C that holds the
# interpreter, which no handler written in Python can interrupt.
WAITING = "import time; time.sleep(600)"
BACKTRACKING = "import re; re.match(r'(a|a)+$', 'a' * 60 + 'b')"
HOLDING = "from collections import deque; from itertools import repeat; deque(repeat(0), 0)"
# Each place that a hook comes by: a fresh index, an index that must be opened, the list of what is
# known, and finding the memory at all.
PLACES = {
    "glance": "import recollect.store.files.quick_read as m; m.quick_read = hang",
    "known": "import recollect.places.known as m; m.is_known = hang",
    "finding": "import recollect.config as m; m.places = hang",
}
PROGRAM = """import sys
def hang(*_, **__):
    {hanging}
{place}
from recollect.__main__ import main; sys.exit(main())
"""
HOOK = "recollect.interfaces.cli.assistants.hook"
NO_LIMIT = f"import {HOOK} as h; h._limit_time = lambda seconds: None\n"
# The limit of a hook to which none is given, with room for a busy machine.
PATIENT = f"import {HOOK} as h; h._MAX_S = dict.fromkeys(h._MAX_S, 60.0)\n"
LIMIT_S = 0.4
SLACK_S = 60.0  # for starting Python on a busy machine


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Memory.open(tmp_path / "project" / ".recollect") as memory:
        memory.remember("The staging database moved to port 5433.")
    adopt(places(start=tmp_path / "project", home=tmp_path / "home", environment={}).project)
    return tmp_path


def run(
    folder: Path, program: str, *words: str, limit: object = LIMIT_S, timeout: float = 120.0
) -> tuple[int, str, float]:
    """The exit code, all that was printed, and the seconds it took."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("RECOLLECT")}
    said = {
        "hook_event_name": "UserPromptSubmit" if words[0] == "context" else "SessionEnd",
        "prompt": "which port has the staging database",
        "cwd": str(folder / "project"),
        "transcript_path": str(recorded().write(folder / "t.jsonl")),
    }
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", program, *words, "--hook", f"--time-limit={limit}"],
        cwd=folder / "project",
        env=kept | {"HOME": str(folder / "home")},
        input=json.dumps(said).encode(),
        capture_output=True,
        timeout=timeout,
        check=False,
    )
    return done.returncode, (done.stdout + done.stderr).decode(), time.monotonic() - begun


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("hanging", [WAITING, BACKTRACKING, HOLDING])
def test_a_context_ends_in_time(folder: Path, hanging: str, place: str) -> None:
    code, printed, seconds = run(
        folder, PROGRAM.format(hanging=hanging, place=PLACES[place]), "context"
    )
    assert printed == ""
    assert seconds < SLACK_S
    assert code in ((0, 1) if hanging is HOLDING else (0,))


@pytest.mark.parametrize("hanging", [WAITING, HOLDING])
def test_a_capture_ends_in_time(folder: Path, hanging: str) -> None:
    program = PROGRAM.format(hanging=hanging, place=PLACES["known"])
    code, printed, seconds = run(folder, program, "capture", "claude-code")
    assert (printed, seconds < SLACK_S) == ("", True)
    assert code in ((0, 1) if hanging is HOLDING else (0,))


def test_without_the_limit_it_hangs(folder: Path) -> None:
    program = NO_LIMIT + PROGRAM.format(hanging=WAITING, place=PLACES["glance"])
    with pytest.raises(subprocess.TimeoutExpired):
        run(folder, program, "context", timeout=4.0)


@pytest.mark.timing
def test_a_hook_that_ends_by_itself_leaves_no_limit_behind(folder: Path) -> None:
    """The process may go on, as a test's does: nothing ends it later."""
    program = (
        "import sys, time; from recollect.__main__ import main\n"
        "main(sys.argv[1:]); time.sleep(6); print('went on')"
    )
    code, printed, _ = run(folder, program, "context", limit=4)
    assert code == 0
    assert "5433" in printed
    assert printed.endswith("went on\n")


@pytest.mark.parametrize("limit", ["0", "-1", "nan", "inf", "soon"])
def test_a_limit_that_is_not_a_time_is_not_followed(folder: Path, limit: str) -> None:
    program = PATIENT + "import sys; from recollect.__main__ import main; sys.exit(main())"
    code, printed, _ = run(folder, program, "context", limit=limit)
    assert code == 0
    assert "5433" in printed
