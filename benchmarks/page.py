"""The page."""

from __future__ import annotations
from pathlib import Path
from benchmarks.report import Report


def write(report: Report, folder: Path) -> None:
    """."""
