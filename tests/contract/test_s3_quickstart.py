"""S3: its own code blocks run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.contract import quickstart_s3
from tests.contract.test_s2_files import environment

PROGRAM = Path(quickstart_s3.__file__)


def test_the_code_blocks_run_as_printed(tmp_path: Path) -> None:
    # S3-173 S3-176 S3-179 S3-190 S3-201 S3-207 S3-213 S3-218 S3-219 S3-220 S3-221
    # S3-223 S3-224 S3-225
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(PROGRAM)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**environment(), "HOME": str(tmp_path), "PATH": programs},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "[(False, 1), (True, 2), (False, 2)] ()",
        "User joined Acme Corp as a senior engineer.",
        "['User works at Old Corp as a principal engineer.']",
        "1",
        "['user-preferences.md', 'user-profile.md'] True",
        "True",
        "2",
        "20000 50000",
        "True",
        "True",
        "() []",
        "True",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".recollect"]


# The lines of the seed's blocks, in their order; only what is listed here was changed.
PRINTED = """
---
description: Identity and background of the user
tags: [identity, background]
status: active # active | dormant | archived
created: 2026-04-20T14:02:11+08:00
updated: 2026-04-21T09:15:00+08:00
entry_count: 4
needs_compact: false
---
# User Profile
## [2026-04-20T14:02:11] {id: 20260420-1402-a1b23c} #identity
User goes by Kming. Based in Shanghai.
## [2026-04-20T16:30:05] {id: 20260420-1630-3f0e99} #work #employer
~~User works at Old Corp as a principal engineer.~~ #superseded-by:20260421-0915-c4f1a5
## [2026-04-21T09:15:00] {id: 20260421-0915-c4f1a5} #work #employer
User joined Acme Corp as a senior engineer.
## [{iso-timestamp}] {id: YYYYMMDD-HHMM-xxxx} #tag1 #tag2
soft_limit_tokens = 20000 # suggest compaction above this
hard_limit_tokens = 50000 # emergency: always flag
grep -r user- ~/.openchronicle/memory/
uv run openchronicle rebuild-index
uv run openchronicle clean memory
uv run openchronicle clean all
"""


def test_the_blocks_are_those_of_the_seed() -> None:
    rest = PROGRAM.read_text()
    for line in PRINTED.strip().splitlines():
        wanted = line.replace("uv run ", "").replace("openchronicle", "recollect")
        for name in ("rebuild-index", "clean"):  # commands of a group here
            wanted = wanted.replace(f"recollect {name}", f"recollect admin {name}")
        assert wanted in rest, line
        rest = rest.partition(wanted)[2]
