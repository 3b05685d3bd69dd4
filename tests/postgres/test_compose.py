"""The lines of deploy/compose.yaml as processes: the migration, and two services."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from recollect.client import Memory
from recollect.errors import NotFound
from tests.postgres.conftest import as_address, at
from tools.deployment import compose

RECOLLECT = (sys.executable, "-m", "recollect")
SERVICES = compose(DATABASE_PASSWORD="p")["services"]


@pytest.fixture
def url(server: str) -> Iterator[str]:
    """The address of an empty database, after the first start of its server."""
    name = f"compose_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}"')
        yield as_address(at(server, name))
        admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def env(store: str, home: Path) -> dict[str, str]:
    return {**os.environ, "RECOLLECT_STORE": store, "HOME": str(home), "RECOLLECT_EMBEDDER": "none"}


def run(store: str, home: Path, *line: str) -> str:
    done = subprocess.run(
        [*RECOLLECT, *line],
        env=env(store, home),
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def start(store: str, home: Path) -> tuple[subprocess.Popen[str], str]:
    """A service as compose starts it, on a free port."""
    line = SERVICES["serve-1"]["command"]
    process = subprocess.Popen(
        [*RECOLLECT, *line, "--port", "0"], env=env(store, home), stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    said = ""
    for text in process.stderr:
        said += text
        if found := re.search(r"^Serving .* on http://localhost:(\d+)$", said, re.MULTILINE):
            return process, f"http://127.0.0.1:{found[1]}"
    raise AssertionError(said)


def test_two_services_share_one_database(url: str, tmp_path: Path) -> None:
    migrate = SERVICES["migrate"]["command"]
    run(url, tmp_path, *migrate)
    run(url, tmp_path, *migrate)  # at the next start it finds nothing to do
    run(url, tmp_path, "--space", "main", "remember", "The team is four.")
    run(url, tmp_path, "--space", "others", "remember", "A secret of others.")
    made = run(url, tmp_path, "admin", "token", "create", "--space", "main", "--label", "first")
    token = re.search("rct_[A-Za-z0-9_-]{20,}", made)
    assert token
    processes: list[tuple[subprocess.Popen[str], str]] = []
    try:
        processes += [start(url, tmp_path)]
        processes += [start(url, tmp_path)]
        (_, one), (_, two) = processes
        with Memory.open(one, token=token[0]) as here, Memory.open(two, token=token[0]) as there:
            record = here.remember("Alice sits in 12A.", key="alice.seat")
            assert there.get(record.id) == record
            changed = there.revise(record.id, "Alice sits in 2F.")
            assert here.get(record.id) == changed
            assert there.recall("Who is in the team?").hits
        with (
            Memory.open(one, space="others", token=token[0]) as others,
            pytest.raises(NotFound),
        ):
            others.list()
    finally:
        for process, _ in processes:
            process.terminate()
        for process, _ in processes:
            process.communicate(timeout=60)
    assert [process.returncode for process, _ in processes] == [0, 0]
