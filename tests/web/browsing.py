"""A real browser for the tests; skipped, with the reason, where it cannot be had."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = os.environ.get("RECOLLECT_TEST_CHROMIUM", "/usr/bin/chromium")


@contextmanager
def chromium() -> Iterator[Any]:
    """Chromium without a window."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed; see .ci/browser.txt"
    )
    if not Path(CHROMIUM).exists():
        pytest.skip(f"{CHROMIUM} is not here; set RECOLLECT_TEST_CHROMIUM")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()
