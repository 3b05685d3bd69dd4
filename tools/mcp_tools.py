"""The tools as `recollect mcp` lists them, for ``interfaces/mcp/tools.json``.

Responsible for the text of that file. Leaves the tools to ``interfaces.mcp.tools``. Invariant: the
same tools give the same bytes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from recollect.interfaces.mcp.calls import TOOLS, listed
from recollect.interfaces.mcp.lists import TOOLS_FILE

FILE: Final = Path(TOOLS_FILE)


def text() -> str:
    """Every set of tools, one tool on a line."""
    return "{\n" + ",\n".join(_set(name) for name in TOOLS) + "\n}\n"


def _set(name: str) -> str:
    lines = [json.dumps(listed(tool), ensure_ascii=False) for tool in TOOLS[name]]
    return f'"{name}": [\n' + ",\n".join(lines) + "\n]"
