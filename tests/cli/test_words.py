"""Words become values; a mistake is explained, with the line to type instead."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Literal, get_args, get_origin

import pytest

from recollect.interfaces.cli import main
from recollect.interfaces.cli.commands import Group, every, verb_at
from recollect.interfaces.cli.declare import Argument, Option, Parameter, UsageError
from recollect.interfaces.cli.words import flags_of, is_several, kind_of, values

ID = Parameter("id", str, Argument(metavar="ID", help=""))
MORE = Parameter("more", list[str] | None, Argument(metavar="[TAG]...", help=""), None)
COUNT = Parameter("k", int, Option("-k", help="", min=1, max=9), 3)
SHARE = Parameter("share", float | None, Option("--share", help=""), None)
TAGS = Parameter("tag", list[str] | None, Option("--tag", help=""), None)
UNIT = Parameter("unit", Literal["any", "record"] | None, Option("--unit", help=""), None)
YES = Parameter("yes", bool, Option("--yes", "-y", help=""), False)
FULL = Parameter("full", bool, Option("--full", "-f", help=""), False)
EVERY = [ID, MORE, COUNT, SHARE, TAGS, UNIT, YES, FULL]
NONE = {"k": 3, "share": None, "tag": None, "unit": None, "yes": False, "full": False, "more": None}


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("a", {}),
        ("a b c", {"more": ["b", "c"]}),
        ("-k 4 a", {"k": 4}),
        ("a -k4", {"k": 4}),
        ("a --share 0.5 b --tag x --tag=y", {"share": 0.5, "tag": ["x", "y"], "more": ["b"]}),
        ("a --share -1", {"share": -1.0}),
        ("a --tag=--yes", {"tag": ["--yes"]}),
        ("a --tag -", {"tag": ["-"]}),
        ("a --unit record --unit any", {"unit": "any"}),
        ("a -yf", {"yes": True, "full": True}),
        ("a -y --full", {"yes": True, "full": True}),
        ("a -- --yes", {"more": ["--yes"]}),
        ("--yes -- a", {"yes": True}),
        ("a --tag= ", {"tag": [""]}),
    ],
)
def test_a_line_is_understood(line: str, wanted: dict[str, object]) -> None:
    found = values(EVERY, line.split(), "recollect x")
    assert found == {**NONE, "id": "a", **wanted}


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("", "ID is missing", "--help"),
        ("a --tag", "--tag needs a value", "--help"),
        ("a --tag --yes", "--tag needs a value", "--help"),
        ("a -k", "-k needs a value", "--help"),
        ("a -k many", "-k: 'many' is not a whole number", "--help"),
        ("a -k 10", "-k: 10 is not from 1 to 9", "--help"),
        ("a -k=3", "-k: '=3' is not a whole number", "--help"),
        ("a --share ½", "--share: '½' is not a number", "--help"),
        ("a --unit page", "--unit: 'page' is not one of any, record", "--help"),
        ("a --yes=no", "--yes takes no value", "--help"),
        ("a --ful", "unknown option --ful", "did you mean --full?"),
        ("a --zzz=3", "unknown option --zzz", "`recollect x --help`"),
        ("a -yz", "unknown option -z", "--help"),
    ],
)
def test_a_mistake_is_explained(line: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as refused:
        values(EVERY, line.split(), "recollect x")
    assert refused.value.message == message
    assert hint in refused.value.hint


def test_a_text_that_is_not_quoted_is_explained() -> None:
    text = Parameter("text", str, Argument(metavar="TEXT", help=""))
    with pytest.raises(UsageError) as refused:
        values([ID, text], ["a", "two", "words"], "recollect revise")
    assert refused.value.hint.endswith('in quotes: recollect revise ID "two words"')
    with pytest.raises(UsageError) as refused:
        values([text], ["-5 degrees"], "recollect remember")
    assert refused.value.hint.endswith("with a dash: recollect remember -- '-5 degrees'")


def test_every_declaration_can_be_read() -> None:
    """Each option and argument of each command has a type that the parser knows."""
    seen = 0
    for path, entry in every():
        home = entry.alone if isinstance(entry, Group) else entry
        parameters = verb_at(home, path[-1]).parameters() if home else []
        flags = [flag for one in parameters if one.declared.is_option for flag in one.flags]
        assert len(flags) == len(set(flags)), path
        assert not {"-h", "--help"} & set(flags), path
        arguments = [one for one in parameters if not one.declared.is_option]
        assert not any(is_several(one) for one in arguments[:-1]), path
        for one in parameters:
            kind = kind_of(one.typed)
            known = kind in (str, int, float, bool, list[str]) or get_origin(kind) is Literal
            assert known, (path, one.name, kind)
            seen += 1
    assert seen > 600


def test_what_is_written_from_values_is_read_back() -> None:
    rng = random.Random(7)
    for _ in range(500):
        path, entry = rng.choice([(p, e) for p, e in every() if isinstance(e, str)])
        assert isinstance(entry, str)
        parameters = verb_at(entry, path[-1]).parameters()
        wanted, words = {}, list[str]()
        flags = {one.name: flag for flag, one in flags_of(parameters).items()}
        for one in rng.sample(parameters, len(parameters)):
            if one.default is not ... and rng.random() < 0.6:
                wanted[one.name] = one.default
                continue
            value = _drawn(rng, one)
            wanted[one.name] = value
            if one.declared.is_option:
                each = value if isinstance(value, list) else [value]
                for part in each:
                    words += [flags[one.name]] if value is True else [flags[one.name], str(part)]
        given = [wanted[one.name] for one in parameters if not one.declared.is_option]
        while given and given[-1] is None:
            given.pop()
        if None in given:  # an argument was left out before another one
            continue
        for value in given:
            words += value if isinstance(value, list) else [str(value)]
        assert values(parameters, words, "recollect") == wanted, (path, words)


def _drawn(rng: random.Random, one: Parameter) -> object:
    kind = kind_of(one.typed)
    if get_origin(kind) is Literal:
        return rng.choice(get_args(kind))
    if kind is bool:
        return True
    if kind is int:
        return max(one.declared.min or 0, min(7, one.declared.max or 7))
    if kind is float:
        return 0.25
    return ["x", "two words"] if is_several(one) else rng.choice(["x", "a=b", "two words"])


def test_neither_rich_nor_asyncio_is_loaded(tmp_path: Path) -> None:
    program = (
        "import sys; from recollect.__main__ import main; code = main(sys.argv[1:]); "
        "names = ('argparse', 'difflib', 'rich', 'asyncio')\n"
        "print([n for n in names if n in sys.modules], code)"
    )
    for words, end in (
        (["remember", "Tea is at four."], "[] 0"),
        (["recall", "tea"], "[] 0"),
        (["context", "tea"], "[] 0"),
        (["list"], "[] 0"),
        (["list", "--recent"], "[] 0"),
        (["recall", "zebra"], "[] 1"),
        (["recal"], "['difflib'] 2"),  # the control
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


def test_a_refusal_in_json_has_the_code_of_its_kind(capsys: pytest.CaptureFixture[str]) -> None:
    for given in (["recall", "--zzz", "--json"], ["--json", "recal", "x"], ["--json", "admin"]):
        code = main(given)
        told = capsys.readouterr()
        assert code == 2
        if given != ["--json", "admin"]:  # a group alone shows its help
            assert json.loads(told.err)["error"]["code"] == "usage"
