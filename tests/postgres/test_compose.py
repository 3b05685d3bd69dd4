"""The lines of deploy/compose.yaml as processes: roles, migration, two services."""

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


@pytest.fixture
def logins(server: str) -> Iterator[tuple[str, str]]:
    """The addresses of the owner and of the service, after the first start of the database."""
    name = f"compose_{uuid.uuid4().hex[:8]}"
    login = f"service_{uuid.uuid4().hex[:8]}"
    roles = compose(OWNER_PASSWORD="o", SERVICE_PASSWORD="s")["configs"]["roles"]["content"]
    parts = conninfo_to_dict(server)
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}"')
        there = admin.execute("SELECT 1 FROM pg_roles WHERE rolname = 'recollect_app'").fetchone()
        for statement in roles.strip().splitlines():  # roles are the whole server's
            if not (there and statement.startswith("CREATE ROLE recollect_app")):
                admin.execute(statement.replace("service", login))
        address = f"@/{name}?host={parts['host']}"
        yield f"postgresql://{parts['user']}{address}", f"postgresql://{login}:s{address}"
        admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
        admin.execute(f"DROP ROLE {login}")


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
    line = compose(OWNER_PASSWORD="o", SERVICE_PASSWORD="s")["services"]["serve-1"]["command"]
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


def test_two_services_share_one_database(logins: tuple[str, str], tmp_path: Path) -> None:
    owner, service = logins
    migrate = compose(OWNER_PASSWORD="o", SERVICE_PASSWORD="s")["services"]["migrate"]["command"]
    run(owner, tmp_path, *migrate)
    run(owner, tmp_path, *migrate)  # at the next start it finds nothing to do
    run(owner, tmp_path, "--space", "main", "remember", "The team is four.")
    made = run(owner, tmp_path, "admin", "token", "create", "--space", "main", "--label", "first")
    token = re.search("rct_[A-Za-z0-9_-]{20,}", made)
    assert token
    processes: list[tuple[subprocess.Popen[str], str]] = []
    try:
        processes += [start(service, tmp_path)]
        processes += [start(service, tmp_path)]
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
