"""A database with the seven tables of S4, made with plain SQLite from its stated columns."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from recollect.contracts.blocks import content_hash

Rows = Mapping[str, Iterable[Mapping[str, object]]]

DDL: Final = """
CREATE TABLE blocks (
  id TEXT PRIMARY KEY, content TEXT NOT NULL, category TEXT NOT NULL, source TEXT NOT NULL,
  created_at TEXT NOT NULL, status TEXT NOT NULL, archive_reason TEXT, confidence REAL NOT NULL,
  reinforcement_count INTEGER NOT NULL, decay_lambda REAL NOT NULL,
  last_reinforced_at REAL NOT NULL, self_alignment REAL, embedding BLOB, embedding_model TEXT,
  token_count INTEGER, last_session_id TEXT
);
CREATE TABLE block_tags (
  block_id TEXT NOT NULL REFERENCES blocks (id) ON DELETE CASCADE, tag TEXT NOT NULL,
  CONSTRAINT uq_block_tag UNIQUE (block_id, tag)
);
CREATE TABLE edges (
  from_id TEXT NOT NULL REFERENCES blocks (id) ON DELETE CASCADE,
  to_id TEXT NOT NULL REFERENCES blocks (id) ON DELETE CASCADE, weight REAL NOT NULL,
  reinforcement_count INTEGER NOT NULL, created_at TEXT NOT NULL,
  CONSTRAINT uq_edge UNIQUE (from_id, to_id)
);
CREATE TABLE contradictions (
  block_a_id TEXT NOT NULL REFERENCES blocks (id) ON DELETE CASCADE,
  block_b_id TEXT NOT NULL REFERENCES blocks (id) ON DELETE CASCADE, score REAL NOT NULL,
  resolved INTEGER NOT NULL, created_at TEXT NOT NULL,
  CONSTRAINT uq_contradiction UNIQUE (block_a_id, block_b_id)
);
CREATE TABLE frames (
  name TEXT PRIMARY KEY, weights_json TEXT NOT NULL, filters_json TEXT NOT NULL,
  guarantees_json TEXT NOT NULL, template TEXT NOT NULL, token_budget INTEGER NOT NULL,
  cache_json TEXT, source TEXT NOT NULL, created_at TEXT NOT NULL
);
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, task_type TEXT NOT NULL, started_at TEXT NOT NULL, ended_at TEXT,
  start_active_hours REAL NOT NULL
);
CREATE TABLE system_config (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE INDEX idx_blocks_status ON blocks (status);
CREATE INDEX idx_blocks_last_reinforced ON blocks (last_reinforced_at);
CREATE INDEX idx_block_tags_tag ON block_tags (tag);
CREATE INDEX idx_block_tags_block_id ON block_tags (block_id);
CREATE INDEX idx_edges_from ON edges (from_id);
CREATE INDEX idx_edges_to ON edges (to_id);
CREATE INDEX idx_contradictions_unresolved ON contradictions (block_a_id, block_b_id)
  WHERE resolved = 0;
CREATE TABLE alembic_version (version_num TEXT PRIMARY KEY);
"""
FRAME: Final = {
    "weights_json": '{"similarity": 0.2, "confidence": 0.2, "recency": 0.2, "centrality": 0.2, '
    '"reinforcement": 0.2}',
    "filters_json": '{"tag_patterns": ["self/%"],  "search_window": 200.0}',
    "guarantees_json": '["self/never%"]',
    "template": "What is known:",
    "token_budget": 600,
    "cache_json": None,
    "source": "user",
    "created_at": "2026-01-02T03:04:05+00:00",
}


def make(path: Path, rows: Rows, ddl: str = DDL) -> Path:
    """A database with these rows, in the mode that S4 sets."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.executescript(ddl)
        for table, some in rows.items():
            for row in some:
                places = ", ".join("?" * len(row))
                statement = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})"
                database.execute(statement, tuple(row.values()))
        database.commit()
    return path


def block(content: str, **columns: object) -> dict[str, object]:
    """A row of ``blocks``."""
    return {
        "id": content_hash(content),
        "content": content,
        "category": "knowledge",
        "source": "api",
        "created_at": "2026-01-02T03:04:05.678901+00:00",
        "status": "active",
        "archive_reason": None,
        "confidence": 0.5,
        "reinforcement_count": 0,
        "decay_lambda": 0.01,
        "last_reinforced_at": 0.0,
        "self_alignment": None,
        "embedding": None,
        "embedding_model": None,
        "token_count": None,
        "last_session_id": None,
    } | columns


def sample() -> dict[str, list[dict[str, object]]]:
    """84 blocks of every status, and something in each of the other tables."""
    ends: list[dict[str, object]] = [
        {"status": "inbox", "reinforcement_count": 2},
        {"status": "archived", "archive_reason": "decayed", "reinforcement_count": 3},
        {"status": "archived", "archive_reason": "superseded"},
        {"status": "archived", "archive_reason": "forgotten"},
        {"status": "archived", "archive_reason": None},
    ]
    blocks = [
        block(
            f"  Block {n} is about *tea*.\n",
            confidence=round(n / 84, 4),
            created_at=f"2026-02-{1 + n % 28:02d} 10:{n % 60:02d}:00",
            decay_lambda=(0.001, 0.01, 0.05, 0.3)[n % 4],
            last_reinforced_at=n / 8,
            **(
                ends[n // 8]
                if n % 8 == 7 and n < 40
                else {"reinforcement_count": 130 if n == 1 else n % 3}
            ),
            **(
                {}
                if n % 5
                else {
                    "self_alignment": -0.25,
                    "embedding": struct.pack("<3f", n, 0.5, -1.0),
                    "embedding_model": "text-embedding-3-small",
                    "token_count": n + 1,
                    "last_session_id": "s-1",
                }
            ),
        )
        for n in range(84)
    ]
    live = [str(row["id"]) for row in blocks if row["status"] == "active"]
    pairs = [tuple(sorted(live[n : n + 2])) for n in range(0, 60, 3)]
    made = "2026-03-04T05:06:07.000001Z"
    return {
        "blocks": blocks,
        "block_tags": [
            {"block_id": id, "tag": tag} for id in live[:30] for tag in ("self/goal", f"t/{id[0]}")
        ],
        "edges": [
            {
                "from_id": a,
                "to_id": b,
                "weight": n / 20,
                "reinforcement_count": n % 4,
                "created_at": made,
            }
            for n, (a, b) in enumerate(pairs)
        ],
        "contradictions": [
            {"block_a_id": a, "block_b_id": b, "score": 0.75, "resolved": n % 2, "created_at": made}
            for n, (a, b) in enumerate(pairs[:4])
        ],
        "frames": [{"name": "kitchen"} | FRAME],
        "sessions": [
            {
                "id": "s-2",
                "task_type": "coding",
                "started_at": "2026-02-02T00:00:00Z",
                "ended_at": None,
                "start_active_hours": 4.5,
            },
            {
                "id": "s-1",
                "task_type": "general",
                "started_at": "2026-02-01T00:00:00Z",
                "ended_at": "2026-02-01T01:00:00Z",
                "start_active_hours": 0.0,
            },
        ],
        "system_config": [
            {"key": "total_active_hours", "value": "12.5"},
            {"key": "top_k", "value": "7"},
        ],
    }
