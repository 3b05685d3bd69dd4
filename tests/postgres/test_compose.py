"""The lines of deploy/compose.yaml as processes: the database, migration, two services."""

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
from psycopg.conninfo import conninfo_to_dict

from recollect.client import Memory
from tools.deployment import compose

RECOLLECT = (sys.executable, "-m", "recollect")


PASSWORDS = {"ADMIN_PASSWORD": "a", "DATABASE_PASSWORD": "d"}


@pytest.fixture
def store(server: str) -> Iterator[str]:
    """The address that the services have, after the first start of the database."""
    name = f"compose_{uuid.uuid4().hex[:8]}"
    prepare = compose(**PASSWORDS)["configs"]["prepare"]["content"]
    with psycopg.connect(server, autocommit=True) as admin:
        for statement in prepare.strip().splitlines():  # roles are the whole server's
            admin.execute(statement.replace(" recollect", f" {name}"))
        yield f"postgresql://{name}:d@/{name}?host={conninfo_to_dict(server)['host']}"
        admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
        admin.execute(f"DROP ROLE {name}")


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
    line = compose(**PASSWORDS)["services"]["serve-1"]["command"]
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


def test_two_services_share_one_database(store: str, tmp_path: Path) -> None:
    migrate = compose(**PASSWORDS)["services"]["migrate"]["command"]
    run(store, tmp_path, *migrate)
    run(store, tmp_path, *migrate)  # at the next start it finds nothing to do
    run(store, tmp_path, "--space", "main", "remember", "The team is four.")
    made = run(store, tmp_path, "admin", "token", "create", "--space", "main", "--label", "first")
    token = re.search("rct_[A-Za-z0-9_-]{20,}", made)
    assert token
    processes: list[tuple[subprocess.Popen[str], str]] = []
    try:
        processes += [start(store, tmp_path)]
        processes += [start(store, tmp_path)]
        (_, one), (_, two) = processes
        with Memory.open(one, token=token[0]) as here, Memory.open(two, token=token[0]) as there:
            record = here.remember("Alice sits in 12A.", key="alice.seat")
            assert there.get(record.id) == record
            assert there.recall("Who is in the team?").hits
    finally:
        for process, _ in processes:
            process.terminate()
        for process, _ in processes:
            process.communicate(timeout=60)
    assert [process.returncode for process, _ in processes] == [0, 0]
