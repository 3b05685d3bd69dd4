"""The pages of reference say what the code says, and all of it."""

from __future__ import annotations

from typing import Annotated

import pytest

from recollect import Memory
from recollect.errors import RecollectError
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.commands import every
from recollect.interfaces.cli.declare import Argument, Option
from tools import cli_reference, python_reference, reference


def test_the_pages_are_up_to_date() -> None:
    assert reference.stale() == [], "run `make reference` and commit what it writes"


def test_every_verb_has_a_section() -> None:
    names = [" ".join(path) for path, _ in every()]
    page = cli_reference.page().splitlines()
    assert len(names) > 100
    assert [name for name in names if f"### {name}" not in page] == []


def test_every_exit_code_is_listed() -> None:
    page = cli_reference.page()
    assert [n for n in (0, 1, 2, 3, 4, 5, 6, 7, 70, 130) if f"\n| {n} | " not in page] == []


def test_every_call_and_every_error_is_listed() -> None:
    page = python_reference.page()
    calls = [name for name in dir(Memory) if not name.startswith("_")]
    errors = ["RecollectError", *(kind.__name__ for kind in RecollectError.__subclasses__())]
    assert len(calls) == 32  # see decision 84 before adding one
    assert [name for name in calls if f"emory.{name}" not in page] == []
    assert [name for name in errors if f"| `{name}` |" not in page] == []


def test_a_page_does_not_depend_on_the_process() -> None:
    assert " at 0x" not in python_reference.page()  # the address of a default


def test_another_option_of_a_verb_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: the page changes with a declaration."""

    @verb
    def ponder(
        call: Call,
        what: Annotated[str, Argument(metavar="TEXT", help="What about.")],
        depth: Annotated[int, Option(metavar="N", help="How long.")] = 3,
    ) -> None:
        """Think about it."""

    monkeypatch.setattr(cli_reference, "verb_at", lambda home, name: ponder)
    page = cli_reference.page()
    assert "`recollect recall TEXT [OPTIONS]`\n\nThink about it.\n" in page
    assert "| `TEXT` | What about. |\n| `--depth N` | How long. Default: 3. |\n" in page
    assert reference.stale() == ["cli.md"]


def test_another_call_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def ponder(self: Memory, what: str, *, depth: int = 3) -> bool:
        """Think about it. For long."""
        return bool(what) and depth > 0

    monkeypatch.setattr(Memory, "ponder", ponder, raising=False)
    entry = "memory.ponder(what: str, *, depth: int = 3) -> bool\n    Think about it.\n"
    assert entry in python_reference.page()
    assert reference.stale() == ["python.md"]
