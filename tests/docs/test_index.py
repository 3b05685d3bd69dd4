"""Every page is listed, every link leads somewhere, every variable is on the page of settings."""

from __future__ import annotations

import re
from pathlib import Path

from recollect import config

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"```.*?```", re.DOTALL)
LINK = re.compile(r"\]\((?!\w+:)([^)\s]*)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
LINKED = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def test_every_page_is_listed() -> None:
    index = (DOCS / "README.md").read_text()
    pages = [
        page.relative_to(DOCS).as_posix()
        for folder in ("start", "concepts", "how-to", "reference", "format")
        for page in (DOCS / folder).glob("*.md")
    ]
    assert len(pages) > 15  # the control: they were found
    assert [page for page in pages if f"({page})" not in index] == []


def anchors(page: str) -> set[str]:
    """What a link may name in a page: its headings, as the usual programs write them."""
    plain = (LINKED.sub(r"\1", heading).lower() for heading in HEADING.findall(page))
    return {re.sub(r"[^\w -]", "", heading).strip().replace(" ", "-") for heading in plain}


def dead_links(page: Path, text: str) -> list[str]:
    dead = []
    for link in LINK.findall(BLOCK.sub("", text)):
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        is_page = target.suffix == ".md" and target.exists()
        if not target.exists() or (
            is_page and anchor and anchor not in anchors(target.read_text("utf-8"))
        ):
            dead.append(f"{page.relative_to(ROOT)}: {link}")
    return dead


def test_every_link_leads_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    assert [dead for page in pages for dead in dead_links(page, page.read_text("utf-8"))] == []
    bad = "[a](no.md) [b](README.md#nowhere) [c](README.md) [d](https://example.org/no.md)"
    assert dead_links(DOCS / "x.md", bad) == [  # the control
        "docs/x.md: no.md",
        "docs/x.md: README.md#nowhere",
    ]


def test_every_variable_is_explained() -> None:
    page = (DOCS / "reference" / "settings.md").read_text()
    names = [value for name, value in vars(config).items() if name.endswith("_VARIABLE")]
    assert "RECOLLECT_STORE" in names
    assert [name for name in names if f"| `{name}` |" not in page] == []
