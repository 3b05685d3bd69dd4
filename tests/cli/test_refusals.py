"""What goes wrong is said in one line, with the next step, and with its own exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.interfaces.cli import answer
from tests.cli.running import Shell


def test_without_a_memory_a_read_says_what_to_do(shell: Shell) -> None:
    for words in (("recall", "x"), ("list",), ("status",), ("show", "x"), ("admin", "verify")):
        ran = shell.run(*words)
        assert (ran.code, ran.out) == (3, ""), words
        assert "recollect init" in ran.err
    assert list(shell.home.iterdir()) == []
    assert shell.run("admin", "doctor").code == 1


def test_remember_creates_the_home_memory_if_it_is_missing(shell: Shell) -> None:
    ran = shell.run("remember", "At home.")
    assert ran.code == 0
    assert "Created a memory" in ran.err
    assert (shell.home / ".recollect" / "events.wal").exists()


@pytest.mark.parametrize(
    ("words", "code", "name"),
    [
        (("show", "nope"), 3, "not_found"),
        (("forget", "nope"), 3, "not_found"),
        (("erase", "nope", "--yes"), 3, "not_found"),
        (("remember", " "), 2, "invalid_input"),
        (("remember", "x", "--confidence", "7"), 2, "invalid_input"),
        (("remember", "x", "--confidence", "much"), 2, "usage"),
        (("remember", "x", "--data", '{"a": 1, "a": 2}'), 2, "invalid_input"),
        (("remember", "x", "--data", "[]"), 2, "invalid_input"),
        (("remember", "x", "--expires", "soon"), 2, "invalid_input"),
        (("recall", "x", "--at", "2026-01-31T25:30"), 2, "invalid_input"),
        (("recall", "x", "--include", "everything"), 2, "invalid_input"),
        (("recall", "x", "--unit", "page"), 2, "usage"),
        (
            (
                "admin",
                "why-not",
            ),
            2,
            "usage",
        ),
        (("recal", "x"), 2, "usage"),
        (("observe",), 2, "invalid_input"),
        (("observe", "--messages", "missing.json"), 2, "invalid_input"),
        (("list", "--filter", "1 = 1"), 2, "invalid_input"),
        (("list", "--store", "pg://somewhere"), 6, "unsupported"),
        (("init", "--store", ":memory:"), 2, "config"),
        (("admin", "doctor", "--accept-loss", "--yes"), 5, "conflict"),
    ],
)
def test_a_refusal_has_its_code(store: Shell, words: tuple[str, ...], code: int, name: str) -> None:
    ran = store.run(*words, "--json")
    assert (ran.code, ran.error["code"], ran.out) == (code, name, "")
    assert ran.error["hint"]
    said = store.run(*words)
    assert said.code == code
    assert [line[:10] for line in said.err.splitlines()] == ["recollect:", "     next:"]


def test_erase_asks_first(store: Shell) -> None:
    id = store.run("remember", "A secret canary.", "--json").json["id"]
    refused = store.run("erase", id, "--json")
    assert (refused.code, refused.error["code"]) == (4, "forbidden")
    assert "--yes" in refused.error["hint"]
    assert store.process("erase", id).code == 4
    assert store.run("recall", "canary").code == 0
    no = store.terminal("erase", id, typed="n\n")
    assert no.code == 1
    assert "A secret canary." in no.out
    assert "Erased" not in no.out
    yes = store.terminal("erase", id, typed="y\n")
    assert (yes.code, "permanently" in yes.out) == (0, True)
    assert store.run("show", id).code == 3


def test_erase_leaves_no_byte(store: Shell) -> None:
    episode = store.run("observe", "My code is CANARY77.", "--json").json["episodes"][0]["id"]
    id = store.run("remember", "CANARY77", "--evidence", episode, "--json").json["id"]
    store.run("admin", "backup")
    assert _hits(store.folder, b"canary77") > 0
    gone = store.run("erase", id, "--yes", "--json").json
    assert gone["episodes"] == [episode]
    assert _hits(store.folder, b"canary77") == 0
    assert store.run("admin", "verify", "--json").json["erased"] == 2


def _hits(folder: Path, canary: bytes) -> int:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sum(path.read_bytes().lower().count(canary) for path in files)


def test_a_flipped_byte_is_found_and_located(store: Shell) -> None:
    store.run("remember", "The port is 5433.")
    ledger = store.folder / ".recollect" / "events.wal"
    ledger.write_bytes(ledger.read_bytes().replace(b"5433", b"5434"))
    check = store.run("admin", "verify", "--json")
    assert (check.code, check.json["status"], check.json["broken_at"]) == (1, "broken", 2)
    assert "Broken at event 2" in store.run("admin", "verify").out
    examined = store.run("admin", "doctor", "--json")
    assert (examined.code, examined.json["ok"]) == (1, False)
    assert store.run("admin", "rebuild", "--json").error["code"] == "integrity"


def test_an_index_ahead_of_its_ledger_stops_everything(store: Shell) -> None:
    store.run("remember", "First.")
    store.run("remember", "Second.")
    ledger = store.folder / ".recollect" / "events.wal"
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:-1]))
    for words in (("recall", "first"), ("remember", "Third."), ("status",)):
        ran = store.run(*words, "--json")
        assert (ran.code, ran.error["code"]) == (7, "integrity"), words
    told = store.run("admin", "doctor")
    assert told.code == 1
    assert "--accept-loss" in told.out
    assert store.run("admin", "doctor", "--accept-loss", "--json").code == 4
    assert store.run("admin", "doctor", "--accept-loss", "--yes", "--json").json["ok"]
    assert store.run("recall", "first").code == 0
    assert store.run("recall", "second").code == 1


def test_an_unexpected_error_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer.refuse(ValueError("surprise"), ["recall", "x"]) == 70
    said = capsys.readouterr().err
    assert "ValueError: surprise" in said
    assert len(said.splitlines()) == 2
    answer.refuse(ValueError("surprise"), ["--debug", "recall", "--", "--json"])
    with_trace = capsys.readouterr().err
    assert len(with_trace.splitlines()) > 2
    assert "with `--debug`" in with_trace
