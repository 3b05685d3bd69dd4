"""Run the few tests that failed once more, one after another and with the same seed.

``python -m tools.once_more CODE OPTIONS`` after a run of pytest that ended with CODE. A test that
depends on the speed of a busy machine passes now, and its name is printed; what the seed decides
fails again. The suites are not run again: one failure in a hundred crashes is what they look for.
Nothing is run again after a run that did not come to its end.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

FAILED = Path(".pytest_cache/v/cache/lastfailed")
SOME_FAILED = 1  # pytest's code for: all tests ran, and some failed
TESTS_MAX = 5
NEVER_AGAIN = "tests/suites/"


def tests_to_repeat(failed: Sequence[str]) -> list[str]:
    """The failed tests, or none if they are many, or if one of them must never fail."""
    if len(failed) > TESTS_MAX or any(test.startswith(NEVER_AGAIN) for test in failed):
        return []
    return sorted(failed)


def main(code: int, options: Sequence[str]) -> int:
    if code != SOME_FAILED:
        return code
    failed = list(json.loads(FAILED.read_text("utf-8"))) if FAILED.exists() else []
    tests = tests_to_repeat(failed)
    if not tests:
        return 1
    print(f"{len(tests)} failed, and run once more", flush=True)
    again = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--randomly-seed=last", *tests], check=False
    )
    if again.returncode == 0:
        print("\n".join(["UNSTEADY: failed, and passed the second time:", *tests]), flush=True)
    return again.returncode


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1]), sys.argv[2:]))
