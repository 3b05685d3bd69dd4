"""Looks for byte strings in every file of a folder, as a process of its own.

`python -m tests.suites.searching FOLDER`, the strings in hex on the input, one in a line; prints
``[file, number of the line]`` pairs as JSON. It must be another process: one that has a memory
open would lose SQLite's locks by opening and closing the index's file beside it. It imports
nothing but the standard library, so that it starts fast.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def search(folder: Path, strings: list[bytes]) -> list[tuple[str, int]]:
    seen: list[tuple[str, int]] = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        try:
            data = path.read_bytes()
        except FileNotFoundError:  # gone meanwhile: somebody is at work
            continue
        name = path.relative_to(folder).as_posix()
        seen += [(name, number) for number, string in enumerate(strings) if string in data]
    return seen


if __name__ == "__main__":
    lines = sys.stdin.read().splitlines()
    json.dump(search(Path(sys.argv[1]), [bytes.fromhex(line) for line in lines]), sys.stdout)
