"""Writes the pages of reference that are made from the code.

    python -m tools.reference           writes docs/reference/cli.md, python.md and openapi.json,
                                        the tools that `recollect mcp` lists, and the
                                        fields of a record in docs/format/ledger.md
    python -m tools.reference --check   fails if what is there differs

Responsible for which pages there are and for comparing them. Leaves their text to
``tools.cli_reference``, ``tools.python_reference``, ``tools.mcp_tools`` and
``interfaces.http.openapi``. Invariant: the
same code gives the same bytes.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from recollect.interfaces.http import openapi
from recollect.model.events import Body, RecordAdded, RecordRevised
from tools import cli_reference, mcp_tools, python_reference

FOLDER: Final = Path(__file__).resolve().parent.parent / "docs/reference"
LEDGER: Final = FOLDER.parent / "format/ledger.md"
_SHOWN: Final = ("id", "trust", "reason", "proposal")  # of every revision


def ledger_format(text: str) -> str:
    """The page about the ledger with the fields of the events that a field of a record is in."""
    added, revised = _own(RecordAdded), _own(RecordRevised)
    changing = [name for name in revised if name not in _SHOWN]
    text = _ADDED.sub(rf"\g<1>{' '.join(added)}`", text)
    return _REVISED.sub(rf"\g<1>{' '.join(changing)}`", text)


def _own(body: type[Body]) -> list[str]:
    return [name for name in body.__struct_fields__ if name not in Body.__struct_fields__]


_ADDED: Final = re.compile(r"(\| `record\.added` \| `)[^`]*`")
_REVISED: Final = re.compile(r"(\| `record\.revised` \| [^|]*each of `)[^`]*`")
PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "cli.md": cli_reference.page,
    "python.md": python_reference.page,
    os.path.relpath(mcp_tools.FILE, FOLDER): mcp_tools.text,
    "openapi.json": lambda: openapi.document().decode() + "\n",
    os.path.relpath(LEDGER, FOLDER): lambda: ledger_format(LEDGER.read_text("utf-8")),
}


def stale(folder: Path = FOLDER) -> list[str]:
    """The pages that differ from what the code says."""
    return [
        name
        for name, page in PAGES.items()
        if not (folder / name).exists() or (folder / name).read_text("utf-8") != page()
    ]


def main() -> None:
    """Writes, or checks."""
    if "--check" in sys.argv[1:]:
        if found := stale():
            sys.exit(f"out of date: {', '.join(found)}; run `make reference`")
        return
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
