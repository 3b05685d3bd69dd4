"""People do not meet the words that are gone: in messages, help, templates and pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tidy import former
from tests.tidy.parsing import parsed
from tests.tidy.wording import public_docstrings, strings

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "recollect"
# Where codes are described, or the words are those of earlier designs.
ELSEWHERE = (
    "docs/decisions/",
    "docs/format/",
    "docs/coming-from/",
    "docs/reference/contract.md",
    "docs/reference/contracts.md",
    "docs/local-persistence.md",
    "src/recollect/contracts/",
    "src/recollect/exchange/importers/",
)
# Words with another meaning, or of another program, by place.
ALLOWED: dict[str, list[str]] = {
    "docs/concepts/pages.md": ["superseded-by", "#supersedes:ID"],
    "docs/how-to/background-work.md": ["`curate`", "`retain`"],
    "docs/how-to/deploy.md": ["mount a disk"],
    "docs/how-to/obsidian.md": ["superseded-by"],
    "docs/how-to/serve.md": ["`Origin`"],
    "docs/reference/attacks.md": ['"Held"'],
    "docs/reference/events.md": [r"frame\.set"],
    "docs/reference/mcp.md": ["`Origin`", "include_superseded"],
    "src/recollect/index/columns.py": ["superseded"],
    "src/recollect/index/filter/sql.py": ["superseded"],
    "src/recollect/interfaces/http/oauth.py": ["frame-ancestors"],
    "src/recollect/interfaces/web/guard.py": ["frame-ancestors"],
    "src/recollect/ledger/line.py": ["origin"],
    "src/recollect/mirror/parse.py": ["supersedes:"],
    "src/recollect/mirror/render.py": ["superseded-by"],
    "src/recollect/proof/checkpoints.py": ["origin"],
    "src/recollect/serving/guard.py": ["Origin"],
}


def pages() -> Iterator[tuple[str, str]]:
    """Everything that is read as it stands."""
    found = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found += sorted((SOURCE / "interfaces").rglob("*.html"))
    for path in found:
        where = path.relative_to(ROOT).as_posix()
        if not where.startswith(ELSEWHERE):
            yield where, path.read_text("utf-8")


def test_pages_and_templates_have_the_words_of_today() -> None:
    read = list(pages())
    assert len(read) > 80
    found = [
        complaint
        for where, text in read
        for complaint in former.complaints(
            enumerate(text.splitlines(), 1), where, ALLOWED.get(where, ())
        )
    ]
    assert found == []


def test_messages_and_help_have_the_words_of_today() -> None:
    found = [
        complaint
        for path in sorted(SOURCE.rglob("*.py"))
        if not (where := path.relative_to(ROOT).as_posix()).startswith(ELSEWHERE)
        for complaint in former.complaints(
            sorted(strings(path.read_text("utf-8"))), where, ALLOWED.get(where, ())
        )
    ]
    assert found == []


def test_what_editors_and_openapi_show_has_the_words_of_today() -> None:
    public = [*(SOURCE / "memory").rglob("*.py"), *(SOURCE / "model/values").rglob("*.py")]
    found = [
        complaint
        for path in sorted(public)
        for line, text in public_docstrings(parsed(path.read_text("utf-8")))
        for complaint in former.complaints(
            ((line, each) for each in text.splitlines()), path.relative_to(ROOT).as_posix(), ()
        )
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "the frame 'mail' is built in",
        "Held for review",
        "what is derived from it is held too",
        'include=["held"]',
        "2 more held for review",
        "lists held records",
        "1 shadowed episode",
        "superseded by r-2",
        "a record that supersedes another",
        "settle each of them",
        "what a person has settled",
        "embed, curate, seal",
        "retains it for a year",
        "in the mount project",
        "use --origin agent",
        "the source_type of a record",
    ],
)
def test_a_former_word_is_found(text: str) -> None:
    assert former.complaints([(1, text)], "page.md", ())


@pytest.mark.parametrize(
    "text",
    [
        "a framework",
        "the lock is held by process 7",
        "what held before",
        "All events are held in memory",
        "the original",
        "an amount",
    ],
)
def test_ordinary_english_passes(text: str) -> None:
    assert former.complaints([(1, text)], "page.md", ()) == []


def test_a_word_may_be_allowed_in_a_place() -> None:
    line = [(1, "mount a disk there")]
    assert former.complaints(line, "page.md", ())
    assert former.complaints(line, "page.md", ["mount a disk"]) == []
