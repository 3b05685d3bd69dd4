"""Every page is on the list of pages, and every variable on the page of settings."""

from __future__ import annotations

from pathlib import Path

from recollect import config

DOCS = Path(__file__).parents[2] / "docs"


def test_every_page_is_listed() -> None:
    index = (DOCS / "README.md").read_text()
    pages = [
        page.relative_to(DOCS).as_posix()
        for folder in ("start", "concepts", "how-to", "reference", "format")
        for page in (DOCS / folder).glob("*.md")
    ]
    assert len(pages) > 15  # the control: they were found
    assert [page for page in pages if f"({page})" not in index] == []


def test_every_variable_is_explained() -> None:
    page = (DOCS / "reference" / "settings.md").read_text()
    names = [value for name, value in vars(config).items() if name.endswith("_VARIABLE")]
    assert "RECOLLECT_STORE" in names
    assert [name for name in names if f"| `{name}` |" not in page] == []
