"""Every command that a page, a message or a file of deployment names is there."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from recollect.interfaces.cli.call import shared_parameters
from recollect.interfaces.cli.commands import BEFORE, TOP, Group, find, verb_at
from recollect.interfaces.cli.former import FORMER
from recollect.interfaces.cli.words import after_options, flags_of

ROOT = Path(__file__).resolve().parents[2]
BEFORE_IT = [*shared_parameters(), *BEFORE]
# A code span, a line of a block, what follows a colon or quotes: there a command is meant.
SPAN = re.compile(r"`recollect\s+([^`]*)`")
LINE = re.compile(r"(?m)^(?:\$ |> )?(?:[A-Z_]+=\S* )*recollect (.*)$")
IN_TEXT = re.compile(r"(?::\s|^)recollect ((?:--?)?[a-z][^\n]*+)(?!\n)")
ENDS = re.compile(r"\s*(?:[|;>#&,()]|\\$|…|<<|\.\.\.|$).*", re.DOTALL)
HTML = re.compile(r"(?:<code>|[\"'])recollect ([a-z][^<\"'{]*)")
OTHERS = {"help", "--install-completion", "--show-completion", "--complete"}


def complaint(told: str) -> str | None:
    """What is wrong with the words behind ``recollect``, or None."""
    words = ENDS.sub("", " ".join(told.split())).split()
    words = [word.strip("'\"") for word in words]
    place = after_options(BEFORE_IT, words)
    if (
        not words[place:]
        or words[0] in OTHERS
        or words[place][:1] in "<{[$"
        or words[place].isupper()
    ):
        return None
    found = find(words[place:])
    if not found.path or (
        isinstance(found.entry, Group) and found.rest and found.rest[0][0].islower()
    ):
        return f"no such command: {told!r}"
    if isinstance(found.entry, Group) and not found.entry.alone:
        return None
    home = found.entry.alone if isinstance(found.entry, Group) else found.entry
    flags = flags_of(verb_at(home, found.path[-1]).parameters())
    given = (word.partition("=")[0] for word in found.rest if word.startswith("--"))
    unknown = [flag for flag in given if flag not in (*flags, "--", "--help")]
    return f"no such option: {unknown} in {told!r}" if unknown else None


def tracked(*patterns: str) -> list[Path]:
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns],
        cwd=ROOT, check=True, capture_output=True, encoding="utf-8",
    ).stdout.split("\0")  # fmt: skip
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def strings(source: str) -> Iterator[str]:
    """Every text of a module; what a run puts into one is an ellipsis."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else " X " for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def of_python(source: str) -> Iterator[str]:
    for text in strings(source):
        yield from SPAN.findall(text)
        yield from IN_TEXT.findall(text)


def of_inspector(source: str) -> Iterator[str]:
    """The commands that a page of the inspector shows: ``asked.cli("list", ...)``."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "cli":
            words = (each.value if isinstance(each, ast.Constant) else "X" for each in node.args)
            yield " ".join(map(str, words))


def of_page(text: str) -> Iterator[str]:
    """The commands of code spans, and of the lines of blocks."""
    in_block = False
    prose = list[str]()
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            in_block = not in_block
        elif in_block:
            yield from LINE.findall(line.strip())
        else:
            prose.append(line)
    yield from SPAN.findall("\n".join(prose))


def wrong(texts: Iterable[tuple[str, str]]) -> list[str]:
    return sorted({f"{where}: {why}" for where, told in texts if (why := complaint(told))})


def test_the_commands_in_messages_and_documentation_of_the_code_are_there() -> None:
    files = tracked("src/**/*.py", "examples/**/*.py", "tools/**/*.py", "clients/**/*.py")
    assert len(files) > 500
    skipped = {ROOT / "src/recollect/interfaces/cli/former.py"}
    texts = ((str(file.relative_to(ROOT)), told) for file in files if file not in skipped
             for told in of_python(file.read_text("utf-8")))  # fmt: skip
    assert wrong(texts) == []


def test_the_commands_in_the_inspector_are_there() -> None:
    files = tracked("src/recollect/interfaces/web/**/*.py")
    texts = [(str(file.relative_to(ROOT)), told) for file in files
             for told in of_inspector(file.read_text("utf-8"))]  # fmt: skip
    assert len(texts) > 20
    assert wrong(texts) == []
    html = tracked("src/recollect/interfaces/web/**/*.html")
    named = (told for file in html for told in HTML.findall(file.read_text("utf-8")))
    assert wrong(("html", told) for told in named) == []


def test_the_commands_in_the_pages_are_there() -> None:
    files = tracked("*.md")
    assert len(files) > 80
    texts = ((str(file.relative_to(ROOT)), told) for file in files
             for told in of_page(file.read_text("utf-8")))  # fmt: skip
    assert wrong(texts) == []


def test_the_commands_in_files_of_deployment_are_there() -> None:
    files = tracked("deploy/**", "Makefile", ".ci/**", "*.yml", "*.yaml")
    assert files
    texts = ((str(file.relative_to(ROOT)), told) for file in files
             for line in file.read_text("utf-8", "replace").splitlines()
             for told in (*SPAN.findall(line), *LINE.findall(line.strip())))  # fmt: skip
    assert wrong(texts) == []


@pytest.mark.parametrize("former", [" ".join(path) for path in FORMER])
def test_control_a_former_name_is_noticed(former: str) -> None:
    assert complaint(f"{former} X") is not None


def test_control_what_is_there_is_accepted() -> None:
    assert complaint("--store notes remember 'two words' --tag=a | cat") is None
    assert complaint("review") is None
    assert complaint("admin key create") is not None
    assert complaint("remember x --nothing") is not None
    assert len(TOP.commands) <= 32
