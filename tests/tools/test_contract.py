"""The contract page tells the truth about marks and decisions, and refuses what it cannot place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import contract

CLAUSES = """
[S0]
name = "First"

[S0.clauses]
1 = "It opens."
2 = "It shuts | stays shut."
3 = "It keeps `<name>`."

[S0.notes]
2 = "the original: leaks"

[S1]
name = "Second"

[S1.clauses]
4 = "It sings."
"""

HOLDING = """
# S0-1
def test_above(): ...

@slow
def test_inside():
    x = 1  # S0-1, S1-4: at the end of a line
    text = "# S0-3"

class TestSuite:
    async def test_method(self):
        # S1-4
        ...
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    put(tmp_path, "docs/reference/clauses.toml", CLAUSES)
    return tmp_path


def put(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def page(root: Path) -> str:
    return (root / contract.PAGE).read_text("utf-8")


def last_line(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out.splitlines()[-1]


def test_marks_name_their_test() -> None:
    assert list(contract.marks(HOLDING, "tests/t.py")) == [
        ("S0-1", "tests/t.py::test_above"),
        ("S0-1", "tests/t.py::test_inside"),
        ("S1-4", "tests/t.py::test_inside"),
        ("S1-4", "tests/t.py::TestSuite::test_method"),
    ]


def test_a_mark_in_a_machine_names_the_class() -> None:
    source = "class Machine:\n    @rule()\n    def forget(self):\n        ...  # S0-1\n"
    assert list(contract.marks(source, "t.py")) == [("S0-1", "t.py::Machine")]


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("# S0-1\nx = 1\n", "in or directly above a test"),
        ("# S0-1\n\ndef test_a(): ...\n", "in or directly above a test"),
        ("def helper():\n    ...  # S0-1\n", "in or directly above a test"),
        ("def test_a():\n    ...  # S0-1 is not held\n", "a mark is"),
        ("@pytest.mark.skip\ndef test_a():\n    ...  # S0-1\n", "holds nothing"),
        ("@pytest.mark.xfail(reason='')\ndef test_a():\n    ...  # S0-1\n", "holds nothing"),
    ],
)
def test_a_mark_that_proves_nothing_is_refused(source: str, complaint: str) -> None:
    with pytest.raises(contract.ContractError, match=complaint):
        list(contract.marks(source, "t.py"))


def test_prose_about_a_clause_is_not_a_mark() -> None:
    assert list(contract.marks("# as S0-1 says\ndef test_a(): ...\n", "t.py")) == []


def test_the_page_counts_and_links(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tree, "tests/deep/test_it.py", HOLDING)
    put(tree, "src/recollect/testing/s.py", "class Suite:\n    def test_x(self): ...  # S0-2\n")
    put(tree, "docs/decisions/why.md", "# Why\n\nDecides: S0-2, S0-3\n")
    assert contract.main(["--root", str(tree)]) == 0
    assert last_line(capsys) == "held 2, decided 1, decided without a test 1, open 0 of 4"
    text = page(tree)
    assert (
        "| S0-2 | It shuts \\| stays shut. *(the original: leaks)* "
        "| [held differently](../../docs/decisions/why.md) "
        "| [`src/recollect/testing/s.py::Suite::test_x`](../../src/recollect/testing/s.py) |"
    ) in text
    assert "| S0-3 | It keeps `<name>`. | [held differently, no test]" in text
    assert "[`tests/deep/test_it.py::test_above`](../../tests/deep/test_it.py)<br>" in text


def test_one_seed_is_counted_alone(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tree, "tests/test_it.py", HOLDING)
    assert contract.main(["--root", str(tree), "--seed", "S0"]) == 0
    assert last_line(capsys) == "held 1, decided 0, decided without a test 0, open 2 of 3"
    assert "## S1 Second" in page(tree), "the page still holds every seed"


def test_check_writes_nothing_and_fails_when_stale(tree: Path) -> None:
    assert contract.main(["--root", str(tree), "--check"]) == 1
    assert not (tree / contract.PAGE).exists()
    assert contract.main(["--root", str(tree)]) == 0
    before = page(tree)
    assert contract.main(["--root", str(tree), "--check"]) == 0
    put(tree, "tests/test_it.py", HOLDING)
    assert contract.main(["--root", str(tree), "--check"]) == 1
    assert page(tree) == before


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("tests/test_it.py", "def test_a(): ...  # S0-4\n", "there is no clause S0-4"),
        ("tests/test_it.py", "def test_a(): ...  # S0-01\n", "there is no clause S0-01"),
        ("docs/decisions/why.md", "Decides: S9-1\n", "there is no clause S9-1"),
        ("docs/decisions/why.md", "Decides: the first\n", "write `Decides:"),
    ],
)
def test_an_unknown_clause_fails(
    tree: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, complaint: str
) -> None:
    put(tree, name, text)
    assert contract.main(["--root", str(tree)]) == 1
    assert complaint in capsys.readouterr().err


def test_an_unknown_seed_fails(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert contract.main(["--root", str(tree), "--seed", "S7"]) == 1
    assert "there is no seed S7" in capsys.readouterr().err


def test_the_list_holds_308_clauses_in_a_row() -> None:
    names, clauses = contract.read_clauses((contract.ROOT / contract.CLAUSES).read_text("utf-8"))
    assert list(names) == ["S0", "S1", "S2", "S3", "S4"]
    assert [int(clause.id.split("-")[1]) for clause in clauses] == list(range(1, 309))
