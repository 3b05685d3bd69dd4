"""Pages: Markdown files under the API of an earlier design (``contracts.md``, part S3).

Responsible for the API as a whole. Leaves its calls to ``store`` and its values to ``values``.
Invariants: an entry of a file is a record of the memory; the files and the index are made from the
ledger; nothing is stored outside it.

    with MemoryFiles() as files:
        files.create("project-apollo.md", "The guidance computer")
        files.append("project-apollo.md", "The build runs make.", ["build"])
"""

from __future__ import annotations

from recollect.contracts.pages.store import MemoryFiles
from recollect.contracts.pages.values import Contents, Entry, IndexRebuilt, MemoryFile, SearchHit

__all__ = ["Contents", "Entry", "IndexRebuilt", "MemoryFile", "MemoryFiles", "SearchHit"]
