"""A disk that fills up: while writing, erasing, rebuilding and backing up.

A small file system is mounted where that is allowed (in a mount namespace of its own, so it is gone
afterwards). A limit on the length of a file stands for a disk that takes a part of a write.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from tests.suites.conftest import Tell
from tests.suites.filling import SIZE_KIB, Found
from tests.suites.killing import ROOT

OWN_MOUNTS = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "-r", "--mount"]


def fill(how: str, where: Path, before: list[str], *, one_in: int) -> Found:
    done = subprocess.run(
        [*before, sys.executable, "-m", "tests.suites.filling", how, str(where), str(one_in)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
        timeout=300,
    )
    return msgspec.json.decode(done.stdout, type=Found)


def told(found: Found, started: float) -> str:
    return (
        f"{found.cases} cases, {found.refused} refused clearly, {found.acknowledged:,} "
        f"acknowledged, {len(found.problems)} problems, {found.reads:,} reads without room, "
        f"{found.behind} times the last write not yet readable, {found.unread} handles opened "
        f"without room told so, {time.perf_counter() - started:.0f} s"
    )


@pytest.mark.parametrize("one_in", [3, pytest.param(1, marks=pytest.mark.nightly)])
def test_a_full_disk_loses_nothing(one_in: int, tmp_path: Path, tell: Tell) -> None:
    disk = tmp_path / "tried"
    disk.mkdir()
    mount = [*OWN_MOUNTS, "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    tried = subprocess.run(mount, stderr=subprocess.PIPE, check=False)
    if tried.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {tried.stderr.decode().strip()}")
    started = time.perf_counter()
    found = fill("tmpfs", tmp_path, OWN_MOUNTS, one_in=one_in)
    tell(f"full disk: a file system of {SIZE_KIB // 1024} MiB, {told(found, started)}")
    assert found.problems == []
    assert 0 < found.refused < found.cases  # some had room enough, some had not


def test_an_append_that_is_written_in_part_loses_nothing(tmp_path: Path, tell: Tell) -> None:
    started = time.perf_counter()
    found = fill("limit", tmp_path, [], one_in=1)
    tell(f"full disk: files limited in length, {told(found, started)}")
    assert found.problems == []
    assert found.refused == found.cases
