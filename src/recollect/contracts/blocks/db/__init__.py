"""The storage layer of S4: SQLAlchemy Core on SQLite, over a memory.

Responsible for the API as a whole. Leaves tables to ``models``, engines to ``engine`` and calls to
``queries``. Invariant: nothing outside this package imports SQLAlchemy, which is an extra.

    engine = await create_engine("agent/blocks.db")
    async with engine.begin() as conn:
        await insert_block(conn, block_id=…, content=…, category="knowledge", source="api")
"""

from __future__ import annotations

from recollect.errors import NotInstalled

try:
    from recollect.contracts.blocks.db.engine import create_engine, create_test_engine
    from recollect.contracts.blocks.db.models import metadata
except ModuleNotFoundError as error:
    raise NotInstalled(
        f"the package {error.name!r} is not installed",
        hint="install it with: pip install 'recollect[blocks]'",
    ) from error

__all__ = ["create_engine", "create_test_engine", "metadata"]
