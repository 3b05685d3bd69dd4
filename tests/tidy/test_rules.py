"""Each rule sees what it is there for, and lets the good through."""

from __future__ import annotations

import pytest

from tests.tidy import rules


def test_a_long_function_is_seen() -> None:
    assert rules.too_long("def f():\n" + "    x = 1\n" * 54, "m.py") == ["m.py::f"]
    assert rules.too_long("def f():\n" + "    x = 1\n" * 53, "m.py") == []


def test_a_long_method_and_a_nested_function_are_seen_by_name() -> None:
    inner = "        def g():\n" + "            x = 1\n" * 60
    source = f"class A:\n    async def f(self):\n{inner}"
    assert rules.too_long(source, "m.py") == ["m.py::A.f", "m.py::A.f.g"]


def test_a_long_module_is_seen() -> None:
    assert rules.too_long("x = 1\n" * 501, "m.py") == ["m.py"]
    assert rules.too_long("x = 1\n" * 500, "m.py") == []


def test_exceptions_only_shrink() -> None:
    assert rules.sizes(["a"], frozenset({"a"})) == []
    assert rules.sizes(["a"], frozenset()) == ["a: over the limit"]
    assert rules.sizes([], frozenset({"a"})) == ["a: take it out of exceptions.py"]


def test_a_crowded_folder_is_seen() -> None:
    paths = [f"src/r/{number}.py" for number in range(25)]
    assert rules.crowded([*paths, "src/r/deep/a.py"]) == []
    assert rules.crowded([*paths, "src/r/more.py"]) == ["src/r"]


@pytest.mark.parametrize(
    "where", ["src/r/utils.py", "src/r/common/__init__.py", "src/r/base_store.py", "handlers/a.py"]
)
def test_an_empty_name_is_seen(where: str) -> None:
    assert len(rules.empty_names(where)) == 1


def test_a_telling_name_passes() -> None:
    assert rules.empty_names("src/recollect/store/database.py") == []


@pytest.mark.parametrize("source", ["", "x = 1\n", "# a comment\n", '"""  """\n'])
def test_a_missing_docstring_is_seen(source: str) -> None:
    assert len(rules.no_docstring(source, "m.py")) == 1
    assert rules.no_docstring(f'"""Responsible."""\n{source}', "m.py") == []


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (["A", "gone"], "not there"),
        (["B", "A"], "sorted"),
        (["A", "A"], "twice"),
        ([f"A{n:02}" for n in range(21)], "the limit is 20"),
    ],
)
def test_a_bad_public_name_is_seen(names: list[str], complaint: str) -> None:
    found = rules.public_names(names, {n: 1 for n in names if n != "gone"})
    assert len(found) == 1
    assert complaint in found[0]


def page(users: str, others: str, meaning: str = "what it means") -> str:
    def table(words: str) -> str:
        rows = "\n".join(f"| {word} | {meaning} |" for word in words.split())
        return f"| word | meaning |\n|---|---|\n{rows}\n"

    return f"## For users\n\n{table(users)}\n## For contributors\n\n{table(others)}"


def test_a_word_missing_from_the_glossary_is_seen() -> None:
    users, others = " ".join(sorted(rules.USERS)), " ".join(sorted(rules.GLOSSARY))
    assert len(rules.USERS) <= rules.USERS_MAX_COUNT
    assert rules.glossary(page(users, others)) == []
    less = rules.glossary(page(users.replace("recall", ""), others))
    assert less == ["recall: not among the words for users"]
    more = rules.glossary(page(f"{users} fold", others))
    assert more == ["fold: one word too many for users"]
    less = rules.glossary(page(users, others.replace("briefing", "")))
    assert less == ["briefing: not in the table"]
    twice = rules.glossary(page(users, f"{others} seal"))
    assert twice == ["seal: explained twice"]
    again = rules.glossary(page(users, f"{others} trust"))
    assert again == ["trust: explained twice"]
    planned = rules.glossary(page(users, others, "not built yet"))
    assert planned == ["a word that is not built yet"]


@pytest.mark.parametrize(
    "source",
    [
        "from typing import Any\n",
        "from typing import Final, Any as Whatever\n",
        "import typing\nx: typing.Any\n",
        "def f():\n    from typing_extensions import Any\n",
    ],
)
def test_any_is_seen(source: str) -> None:
    assert len(rules.uses_any(source, "m.py")) == 1
    assert rules.uses_any("from typing import Final\nany([])\n", "m.py") == []


@pytest.mark.parametrize(
    "source",
    [
        "import unittest.mock\n",
        "from unittest import mock\n",
        "from unittest.mock import patch\n",
        "def f():\n    import mock\n",
        "from pytest_mock import MockerFixture\n",
    ],
)
def test_a_mock_is_seen(source: str) -> None:
    assert len(rules.uses_mock(source, "m.py")) == 1
    assert rules.uses_mock("from unittest import TestCase\nimport mocking\n", "m.py") == []


def test_a_module_outside_the_layers_is_seen() -> None:
    layers = ["interfaces | (contracts)", "(aio)", "errors"]
    assert rules.unlayered(layers, ["aio", "contracts", "errors"]) == []
    assert len(rules.unlayered(layers, ["errors", "stray"])) == 1


def test_a_pure_package_without_its_contract_is_seen() -> None:
    assert rules.unguarded(["model"], ["recollect.model"]) == []
    assert rules.unguarded(["model", "mirror"], ["recollect.model"]) == ["mirror: not held pure"]


# Cut in two, so that this file keeps the rule it tests.
@pytest.mark.parametrize(
    "line",
    [
        "path = '/ho" + "me/ann/notes'",
        "see /Us" + "ers/ann",
        "cd /wo" + "rk/tree",
        "C:\\Us" + "ers\\ann",
        "--index-url https://py" + "pi.org",
        "https://files.python" + "hosted.org/a.whl",
        "index = https://example.test/sim" + "ple/",
        "file:" + "///somewhere/wheels",
    ],
)
def test_a_machine_path_or_an_index_address_is_seen(line: str) -> None:
    assert len(rules.addresses(f"fine\n{line}\n", "f", none_at_all=False)) == 1


@pytest.mark.parametrize(
    "line", ["~/.recollect", "docs/work/x.md", "/user/alice/session/", "https://example.test/a"]
)
def test_other_paths_and_addresses_pass(line: str) -> None:
    assert rules.addresses(line, "f", none_at_all=False) == []


def test_no_address_at_all_where_tools_fetch() -> None:
    assert len(rules.addresses("https://example.test", "f", none_at_all=True)) == 1


PINS = """\
# made by hand
a-b==1 \\
    --hash=sha256:0 \\
    --hash=sha256:1
    # via c
c==2 ; x == 'y' \\
"""


def test_a_missing_pin_or_hash_is_seen() -> None:
    assert rules.unpinned(["A_b>=1", "c"], PINS) == []
    assert rules.unpinned(["d>=1"], PINS) == ["d>=1: not in constraints.txt"]
    assert rules.unhashed(PINS) == ["c==2: pinned without a hash"]


def test_a_dependency_without_a_reason_is_seen() -> None:
    assert rules.unexplained(["Py_Thing>=1"], "We use `py-thing` because.") == []
    assert len(rules.unexplained(["other<2"], "We use `py-thing` because.")) == 1
