"""A new field of a record is written in four files, and is everywhere.

The tree is copied, the field ``language`` is added by hand in four files, what is generated is
generated, and ``new_field`` uses it in every way that a person has.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# For each file: a line, the line that is added after it, and how often it occurs.
BY_HAND = {
    "model/events/records.py": [
        ("    said_at: str | None = None", "    language: str | None = None", 2),
        (
            "    said_at: str | None | UnsetType = UNSET",
            "    language: str | None | UnsetType = UNSET",
            2,
        ),
    ],
    "model/values/records.py": [
        ("    said_at: str | None = None", "    language: str | None = None", 1),
    ],
    "index/rows.py": [
        ("    reinforced_at: str | None", "    language: str | None", 1),
    ],
    "memory/writing.py": [
        ("        how_known: SourceType", "        language: str | None = None,", 1),
        ("            how_known: How", "            language: Of the text, such as ``de``.", 1),
        ('                "how_known":', '                "language": language,', 1),
        (
            "        expires: Moment | timedelta | None | Un",
            "        language: str | None = None,",
            1,
        ),
        ("            untag: Tags", "            language: Of the text; stays by default.", 1),
        ("            expires=expires,", "            language=language,", 1),
    ],
}


USES = ["memory", "review", "branch", "export", "service", "shell", "inspector"]


def write(folder: Path, edits: dict[str, list[tuple[str, str, int]]]) -> None:
    for name, changes in edits.items():
        lines = (folder / name).read_text("utf-8").split("\n")
        for anchor, added, count in changes:
            places = [at for at, line in enumerate(lines, 1) if line.startswith(anchor)]
            assert len(places) == count, (name, anchor)
            for place in reversed(places):
                lines.insert(place, added)
        (folder / name).write_text("\n".join(lines), "utf-8")


def run(folder: Path, module: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A module of the copy, in a process that knows no other."""
    (folder / "home").mkdir(exist_ok=True)
    kept = {name: each for name, each in os.environ.items() if not name.startswith("RECOLLECT")}
    own = {"PYTHONPATH": f"{folder / 'src'}{os.pathsep}{folder}", "HOME": str(folder / "home")}
    command = [sys.executable, "-m", module, *words]
    return subprocess.run(
        command, cwd=folder, env=kept | own, capture_output=True, text=True, timeout=240,
        check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    leave_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", folder / "src", ignore=leave_out)
    for name in ("tests", "tools", "pyproject.toml"):
        (folder / name).symlink_to(ROOT / name)
    write(folder / "src/recollect", BY_HAND)
    for maker in ("tools.async_api", "tools.client_api"):
        made = run(folder, maker)
        assert made.returncode == 0, made.stderr
    return folder


def test_a_field_written_in_four_files_is_everywhere(copy: Path) -> None:
    assert len(BY_HAND) <= 4
    done = run(copy, "tests.tidy.new_field", "language")
    assert done.returncode == 0, done.stderr[-3_000:]
    assert done.stdout.split() == USES


def test_a_field_that_is_not_there_is_refused(copy: Path) -> None:
    """The control: the same program with a field that nobody added."""
    done = run(copy, "tests.tidy.new_field", "colour")
    assert done.returncode != 0
    assert "unexpected keyword argument 'colour'" in done.stderr
