"""S4: its own code blocks run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.contract import quickstart_s4
from tests.contract.test_s2_files import environment

PROGRAM = Path(quickstart_s4.__file__)


def test_the_code_blocks_run_as_printed(tmp_path: Path) -> None:
    # S4-235 S4-238 S4-254 S4-255 S4-257 S4-259 S4-260 S4-270 S4-303 S4-304 S4-305
    done = subprocess.run(
        [sys.executable, "-W", "error", str(PROGRAM)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )
    assert (done.returncode, done.stderr) == (0, "")
    even = dict.fromkeys("similarity confidence recency centrality reinforcement".split(), 0.2)
    assert done.stdout.splitlines() == [
        "7 True True",
        "[True, True]",
        "33 True",
        "True",
        "True",
        "[0.5, 1.0] 2.5",
        "True 1",
        "1 1 1",
        "['self/goal'] True",
        "[0.75]",
        "True {'38b552cb9983b255': 0.75}",
        "1",
        "0",
        "['attention', 'self', 'task']",
        f"7 {even}",
        "s",
        "7 2.5",
        "['wal', 1, 1, -32000, 2]",
        "None",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elfmem.db", "elfmem.db-memory"]


# A line of each of the seed's blocks, in their order; only what is listed here was changed.
PRINTED = """
from elfmem.db.models import metadata
from elfmem.db.engine import create_engine, create_test_engine
__all__ = ["metadata", "create_engine", "create_test_engine"]
from sqlalchemy import (
    Real,
metadata = MetaData()
blocks = Table(
    Column("status", Text, nullable=False, default="inbox"),
    Column("confidence", Real, nullable=False, default=0.50),
    Column("last_reinforced_at", Real, nullable=False, default=0.0),
    Column("embedding", LargeBinary),
block_tags = Table(
    UniqueConstraint("block_id", "tag", name="uq_block_tag"),
edges = Table(
    Column("weight", Real, nullable=False),
    UniqueConstraint("from_id", "to_id", name="uq_edge"),
contradictions = Table(
    Column("resolved", Integer, nullable=False, default=0),
    UniqueConstraint("block_a_id", "block_b_id", name="uq_contradiction"),
frames = Table(
    Column("guarantees_json", Text, nullable=False, default="[]"),
sessions = Table(
    Column("task_type", Text, nullable=False, default="general"),
system_config = Table(
Index("idx_blocks_status", blocks.c.status)
Index("idx_blocks_last_reinforced", blocks.c.last_reinforced_at)
Index("idx_block_tags_tag", block_tags.c.tag)
Index("idx_block_tags_block_id", block_tags.c.block_id)
Index("idx_edges_from", edges.c.from_id)
Index("idx_edges_to", edges.c.to_id)
    sqlite_where=(contradictions.c.resolved == 0),
from sqlalchemy.ext.asyncio import create_async_engine, AsyncEngine
from sqlalchemy.pool import NullPool, StaticPool
from sqlalchemy import event, text
async def create_engine(
    echo: bool = False,
PRAGMA journal_mode=WAL;
PRAGMA foreign_keys=ON;
PRAGMA synchronous=NORMAL;
PRAGMA cache_size=-32000;
PRAGMA temp_store=MEMORY;
async def create_test_engine() -> AsyncEngine:
from sqlalchemy import delete, insert, select, update, func, and_
from sqlalchemy.ext.asyncio import AsyncConnection
def embedding_to_bytes(vec: np.ndarray) -> bytes:
    return vec.astype(np.float32).tobytes()
def bytes_to_embedding(data: bytes) -> np.ndarray:
    return np.frombuffer(data, dtype=np.float32)
def content_hash(content: str) -> str:
    return hashlib.sha256(normalised.encode("utf-8")).hexdigest()[:16]
async def insert_block(
    last_reinforced_at: float = 0.0,
async def get_block(conn: AsyncConnection, block_id: str) -> dict | None:
async def reinforce_blocks(
async def add_tags(
async def insert_edge(
async def insert_contradiction(
async def get_frame(conn: AsyncConnection, name: str) -> dict | None:
async def start_session(
async def get_config(conn: AsyncConnection, key: str) -> str | None:
async def seed_builtin_data(conn: AsyncConnection) -> None:
try:
    from elfmem.db.models import metadata as target_metadata
except ImportError:
    target_metadata = None
from elfmem.db.models import metadata as target_metadata
from elfmem.db.engine import create_engine, create_test_engine
"""
CHANGED = {
    "    Real,": "    Float as Real,  # changed: ",
    '__all__ = ["metadata", "create_engine", "create_test_engine"]': (
        '# changed: a program exports nothing\nexported = ["metadata",'
    ),
}


def test_the_blocks_are_those_of_the_seed() -> None:
    rest = PROGRAM.read_text()
    for line in PRINTED.strip().splitlines():
        wanted = CHANGED.get(line, line.replace("elfmem", "recollect.contracts.blocks"))
        assert wanted in rest, line
        rest = rest.partition(wanted)[2]
