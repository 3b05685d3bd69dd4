"""``recollect --store http://…``: programs that name a service as their store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Memory, Store
from recollect.errors import ConfigError
from tests.http.test_process import Service, running


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    place = tmp_path_factory.mktemp("served") / "w"
    with Memory.open(place, embedder="none") as memory:
        memory.remember("Alice sits in 12A.", key="alice.seat")
    with running(place) as service:
        yield service


def said(
    service: Service, tmp_path: Path, *words: str, token: str | None = "", store: str | None = None
) -> subprocess.CompletedProcess[str]:
    """One call of the command line, in a home folder of its own."""
    names = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "COLUMNS": "200"}
    found = service.token if token == "" else token
    if found is not None:
        names["RECOLLECT_TOKEN"] = found
    command = [sys.executable, "-m", "recollect", "--store", store or service.url, *words]
    return subprocess.run(
        command, env=names, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )


def test_the_daily_commands(service: Service, tmp_path: Path) -> None:
    made = said(service, tmp_path, "remember", "The fair is on Monday.", "--json")
    assert made.returncode == 0, made.stderr
    id = json.loads(made.stdout)["id"]
    for words in (
        ("recall", "fair"), ("list",), ("show", id), ("log",),
        ("revise", id, "The fair is on Tuesday."), ("forget", id), ("context", "seat"),
        ("status",), ("erase", id, "--dry-run"), ("erase", id, "--yes"),
        ("--space", "other", "remember", "Elsewhere."),
    ):  # fmt: skip
        done = said(service, tmp_path, *words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
    assert "12A" in said(service, tmp_path, "recall", "Alice").stdout


@pytest.mark.parametrize(
    ("token", "store", "step"),
    [
        (None, None, "RECOLLECT_TOKEN"),
        ("rct_" + "x" * 43, None, "token"),
        ("", "http://127.0.0.1:1", "check that it runs"),
        ("", "http://memory.example", "use https://"),
    ],
)
def test_a_first_try_that_fails_says_the_next_step(
    service: Service, tmp_path: Path, token: str | None, store: str | None, step: str
) -> None:
    done = said(service, tmp_path, "recall", "Alice", token=token, store=store)
    assert done.returncode != 0
    assert step in done.stderr
    assert "Traceback" not in done.stderr
    assert "rct_x" not in done.stderr


@pytest.mark.parametrize(
    ("words", "step"),
    [
        (("admin", "rebuild"), "where the store is"),
        (("proof", "key", "create"), "where the store is"),
        (("proof", "witness", "list"), "where the store is"),
        (("admin", "work", "--once"), "recollect serve --work"),
    ],
)
def test_what_a_service_does_not_offer_says_what_to_do(
    service: Service, tmp_path: Path, words: tuple[str, ...], step: str
) -> None:
    done = said(service, tmp_path, *words)
    assert done.returncode not in (0, 70), done.stderr
    assert "Traceback" not in done.stderr
    assert step in done.stderr


def test_jobs_and_schedules_of_a_service(service: Service, tmp_path: Path) -> None:
    assert "No schedule is set." in said(service, tmp_path, "admin", "schedule", "list").stdout
    asked = json.loads(said(service, tmp_path, "--json", "admin", "job", "ask", "verify").stdout)
    listed = json.loads(said(service, tmp_path, "--json", "admin", "job", "list").stdout)
    assert asked["id"] in [each["id"] for each in listed]


def test_a_program_changes_only_the_address(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_STORE", service.url)
    with pytest.raises(ConfigError, match="RECOLLECT_TOKEN"):
        Memory.open()
    monkeypatch.setenv("RECOLLECT_TOKEN", service.token or "")
    with Memory.open() as memory:
        assert memory.get(key="alice.seat").text == "Alice sits in 12A."
        assert memory.scope.trust == "person"
    with Store.open(service.url) as store:
        assert "main" in store.spaces()
