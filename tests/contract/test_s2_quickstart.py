"""S2: its own code blocks run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pydantic
import pytest

from recollect.contracts.episodic import AddDelta
from tests.contract import quickstart_s2
from tests.contract.test_s2_files import environment
from tests.contract.test_s2_values import PAYLOAD, PROVENANCE

PROGRAM = Path(quickstart_s2.__file__)


def test_the_code_blocks_run_as_printed(tmp_path: Path) -> None:
    # S2-116 S2-117 S2-120 S2-121 S2-122 S2-142 S2-155 S2-161 S2-163 S2-165 S2-171
    done = subprocess.run(
        [sys.executable, "-W", "error", str(PROGRAM)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "True True",
        "['e1'] ['e2', 'e1'] ['e3', 'e2', 'e1']",
        "add update noop",
        "12B",
        "3 3 SQLiteMemoryStore('.memory')",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".memory", "table.db"]


def test_the_union_of_the_block_tells_deltas_apart() -> None:  # S2-155
    adapter: pydantic.TypeAdapter[object] = pydantic.TypeAdapter(quickstart_s2.Union)
    delta = AddDelta(**PAYLOAD, **PROVENANCE)
    assert adapter.validate_python({"kind": "add", **PAYLOAD, **PROVENANCE}) == delta
    with pytest.raises(pydantic.ValidationError):
        adapter.validate_python({**PAYLOAD, **PROVENANCE})


# The lines of the seed's blocks, in their order; only what is listed here was changed.
PRINTED = """
from typing import Protocol, runtime_checkable
@runtime_checkable
class MemoryStore(Protocol):
    async def bootstrap(self) -> None: ...
    async def health(self) -> StoreHealth: ...
    async def migrate(self, plan: MigrationPlan) -> None: ...
    async def put(
        self,
        episode: Episode,
        *,
        user: str,
        session: str,
        agent: str,
    ) -> None: ...
    async def recent(
        self,
        user: str,
        session: str | None = None,
        agent: str | None = None,
        *,
        limit: int,
    ) -> list[Episode]: ...
    async def consolidate(
        self,
        rule: ConsolidationRule,
    ) -> list[MemoryDelta]: ...
MemoryDelta = Annotated[
    AddDelta | UpdateDelta | DeleteDelta | NoopDelta,
    Field(discriminator="kind"),
]
from pathlib import Path
from stargraph.stores import SQLiteMemoryStore
store = SQLiteMemoryStore(path=Path("./.memory"))
await store.bootstrap()
recent("alice", "S1", "rag", limit=10)
recent("alice", "S1", limit=10)
recent("alice", limit=10)
CREATE TABLE IF NOT EXISTS episodes (
  id         TEXT PRIMARY KEY,
  scope_key  TEXT NOT NULL,
  content    BLOB NOT NULL,   -- orjson JSONB of the Episode payload
  timestamp  TEXT NOT NULL,
  metadata   BLOB NOT NULL    -- orjson JSONB
);
CREATE INDEX IF NOT EXISTS idx_episodes_scope_ts
  ON episodes(scope_key, timestamp DESC);
stores:
  memory: sqlite:./.memory
"""
CHANGED = {
    "MemoryDelta = Annotated[": "Union = Annotated[  # changed: ",
    "from stargraph.stores import SQLiteMemoryStore": (
        "from recollect.contracts.episodic import SQLiteMemoryStore"
    ),
}


def test_the_blocks_are_those_of_the_seed() -> None:
    rest = PROGRAM.read_text()
    for line in PRINTED.strip().splitlines():
        wanted = CHANGED.get(line, line)
        assert wanted in rest, line
        rest = rest.partition(wanted)[2]
