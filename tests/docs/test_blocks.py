"""Every code block in README.md and docs/ runs, and prints what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import blocks

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("README.md"), *(ROOT / "docs").rglob("*.md")])
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]

each_page = pytest.mark.parametrize("page", [p.read_text("utf-8") for p in PAGES], ids=NAMES)


@each_page
def test_every_block_says_what_it_is(page: str) -> None:
    blocks.check_kinds(page)


@each_page
def test_the_python_blocks_run(page: str, tmp_path: Path) -> None:
    blocks.run_python(page, tmp_path)


@each_page
def test_the_console_blocks_print_what_the_page_says(page: str, tmp_path: Path) -> None:
    blocks.run_console(page, tmp_path)
