"""Print the pins, with hashes, of what a plain `pip install recollect` installs.

Reads the installed metadata for what needs what, and constraints.txt for versions and hashes.
Leaves downloading to pip. Invariant: every package printed has a version and at least one hash.

From a shell: `.venv/bin/python -m tools.base_pins > pins`, then `pip download --require-hashes`.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PIN = re.compile(
    r"^([A-Za-z0-9._-]+)(?:\[[a-z0-9,-]+\])?==\S[^\n]*\n(?:    [^\n]*\n)*", re.MULTILINE
)


def needed(name: str) -> set[str]:
    """The packages that this one needs here without any extra, and those that they need."""
    found: set[str] = set()
    todo = [(canonicalize_name(name), frozenset[str]())]
    seen = set(todo)
    while todo:
        package, extras = todo.pop()
        for text in distribution(package).requires or ():
            requirement = Requirement(text)
            if applies(requirement, extras):
                below = (canonicalize_name(requirement.name), frozenset(requirement.extras))
                found.add(below[0])
                if below not in seen:
                    seen.add(below)
                    todo.append(below)
    return found


def applies(requirement: Requirement, extras: frozenset[str]) -> bool:
    """True if this requirement holds on this machine, with these extras."""
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras))


def pins(constraints: str, names: set[str]) -> str:
    """The parts of a constraints file that pin these packages."""
    found = {str(canonicalize_name(match[1])): match[0] for match in PIN.finditer(constraints)}
    missing = sorted(name for name in names if "--hash=" not in found.get(name, ""))
    if missing:
        raise SystemExit(f"constraints.txt has no hash for: {', '.join(missing)}")
    return "".join(found[name] for name in sorted(names))


if __name__ == "__main__":
    sys.stdout.write(pins((ROOT / "constraints.txt").read_text("utf-8"), needed("recollect")))
