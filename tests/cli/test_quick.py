"""The verbs that start without Typer: the same meaning, and no Typer."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from recollect.interfaces.cli import app, main, quick
from recollect.interfaces.cli.call import Call, Verb

WORDS = """tea - -- --json --store=x --store x --space s --space=s -k -k 3 -k=3 -3 --limit 5 0x1
    --unit any record --unit=episode --explain --full --filter=a=b --filter --include waiting --
    --tag --include=all --min-relevance .5 1. 1e3 ½ ² a --tag=b --key k --confidence --memory me
    project you --hook --no-receipt --tokens 12 --trust agent --help -h -kx --ke = --= --evidence
    --expires 30d --at 7""".split()
WORDS += ["", "two words"]


def by_typer(given: list[str], monkeypatch: pytest.MonkeyPatch) -> object:
    """What Typer passes to the verb; None if it runs none."""
    ran: list[object] = []

    def keep(self: Verb, before: Call, values: dict[str, Any]) -> None:
        ran.append((self.function, before, values))

    with monkeypatch.context() as patched:
        patched.setattr(Verb, "run", keep)
        try:
            app.command()(given, prog_name="recollect", standalone_mode=False, obj=Call())
        except Exception:  # noqa: BLE001 - every mistake is Typer's to explain
            return None
    return ran[0] if ran else None


def by_quick(given: list[str]) -> object:
    place = quick._verb_at(given)
    if place is None:
        return None
    try:
        verb, call, values = quick.parsed(given, place)
    except quick.NotPlain:
        return None
    return verb.function, call, values


def test_a_command_line_means_the_same_to_both_parsers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(7)
    understood = 0
    for _ in range(1_500):
        verb = rng.choice(["recall", "context", "remember", "recent"])
        before = rng.choices(WORDS, k=rng.choice([0, 0, 0, 1, 2]))
        given = [*before, verb, *rng.choices(WORDS, k=rng.randint(0, 5))]
        found = by_quick(given)
        if found is not None:
            understood += 1
            assert found == by_typer(given, monkeypatch), given
    capsys.readouterr()
    assert understood > 100


@pytest.mark.parametrize(
    "given",
    [
        ["recall", "tea"],
        ["recall", "tea", "-k", "3", "--explain"],
        ["recall"],
        ["--json", "--store", "here", "recall", "--", "-tea"],
        ["remember", "tea", "--tag", "a", "--tag=b", "--confidence", "0.5", "--hypothesis"],
        ["remember", "-"],
        ["context", "tea", "--tokens=40", "--preset", "task"],
        ["recent", "--limit", "3", "--unit", "episode", "--json"],
    ],
)
def test_what_people_type_every_day_needs_no_typer(
    given: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert by_quick(given) == by_typer(given, monkeypatch) is not None


@pytest.mark.parametrize(
    "given",
    [
        [],
        ["recall", "--help"],
        ["recall", "two", "words"],
        ["recall", "tea", "-k"],
        ["recall", "tea", "-k", "-3"],
        ["recall", "tea", "-k", "many"],
        ["recall", "tea", "--unit", "page"],
        ["recall", "tea", "--explain=yes"],
        ["recall", "tea", "--kk", "3"],
        ["recall", "tea", "-k=3"],
        ["remember"],
        ["list"],
        ["--debug", "recall", "tea"],
        ["--store"],
        ["tea", "recall"],
    ],
)
def test_mistakes_and_everything_else_are_left_to_typer(given: list[str]) -> None:
    assert by_quick(given) is None


def test_control_a_parser_that_takes_any_number_would_differ(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(quick, "_value", lambda typed, word: word)
    given = ["recall", "tea", "-k", "3"]
    assert by_quick(given) != by_typer(given, monkeypatch)


def test_neither_typer_nor_rich_is_loaded(tmp_path: Path) -> None:
    program = (
        "import sys; from recollect.__main__ import main; code = main(sys.argv[1:]); "
        "print([n for n in ('typer', 'rich', 'asyncio') if n in sys.modules], code)"
    )
    for words, end in (
        (["remember", "Tea is at four."], "[] 0"),
        (["recall", "tea"], "[] 0"),
        (["context", "tea"], "[] 0"),
        (["recent"], "[] 0"),
        (["recall", "zebra"], "[] 1"),
        (["list"], "['typer'] 0"),  # the control
    ):
        ran = subprocess.run(
            [sys.executable, "-c", program, "--store", str(tmp_path), *words],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
            env={**os.environ, "RECOLLECT_EMBEDDER": "none"},
        )
        assert ran.stdout.splitlines()[-1] == end, (words, ran.stderr)


def test_errors_look_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--store", str(tmp_path / "nowhere"), "--json", "recall", "tea"]
    assert main(given) == 3
    quickly = json.loads(capsys.readouterr().err)
    assert main(["--debug", *given]) == 3  # through Typer
    assert json.loads(capsys.readouterr().err) == quickly
