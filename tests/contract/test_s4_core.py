"""S4: SQLAlchemy is used as Core, never as its object mapper."""

from __future__ import annotations

import ast
import re

import pytest
import sqlalchemy

from recollect.contracts.blocks.db import metadata, models
from tests.contract.test_s4_tables import PACKAGE, ROOT, TABLES

ORM = re.compile(
    r"sqlalchemy\.(orm|ext\.(declarative|automap|hybrid|mutable|associationproxy|orderinglist|indexable"
    r"|asyncio\.(session|(AsyncSession|AsyncAttrs|async_(sessionmaker|scoped_session|session|object_session))$)"
    r"))(\.|$)|sqlalchemy\.(ext\.|ext\.asyncio\.)?\*$"
)


def imported(source: str) -> set[str]:
    """Every name that a module imports, or reads of one, in full."""
    found = set[str]()
    full: dict[str, str] = {}  # what a name here stands for
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
            full |= {each.asname: each.name for each in node.names if each.asname}
        elif isinstance(node, ast.ImportFrom):
            names = {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
            found |= set(names.values())
            full |= names
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            first, dot, rest = ast.unparse(node).partition(".")
            found.add(full.get(first, first) + dot + rest)
    return found


def of_the_orm(source: str) -> list[str]:
    return sorted(name for name in imported(source) if ORM.match(name))


def test_sqlalchemy_is_used_as_core_and_only_here() -> None:  # S4-227
    sources = {path: path.read_text() for path in (ROOT / "src").rglob("*.py")}
    naming = {path: text for path, text in sources.items() if "sqlalchemy" in text}
    assert PACKAGE / "queries.py" in naming
    for path, source in naming.items():
        assert of_the_orm(source) == [], path
        if {name.split(".")[0] for name in imported(source)} & {"sqlalchemy", "aiosqlite"}:
            assert PACKAGE in path.parents
    tables = [getattr(models, name) for name in TABLES]
    assert [type(table) for table in tables] == [sqlalchemy.Table] * 7
    assert tables == list(metadata.tables.values())


@pytest.mark.parametrize(
    "source",
    [
        "import sqlalchemy.orm",
        "from sqlalchemy import orm",
        "from sqlalchemy import select, orm as o",
        "from sqlalchemy.orm import Session",
        "from sqlalchemy.orm.decl_api import DeclarativeBase",
        "from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession",
        "from sqlalchemy.ext.asyncio import async_sessionmaker",
        "from sqlalchemy.ext.asyncio import async_scoped_session",
        "from sqlalchemy.ext.asyncio.session import AsyncSession",
        "from sqlalchemy.ext.declarative import declarative_base",
        "from sqlalchemy.ext import declarative",
        "from sqlalchemy.ext.automap import automap_base",
        "import sqlalchemy as sa\nsa.orm.Session",
        "import sqlalchemy.ext.asyncio as aio\naio.AsyncSession",
        "from sqlalchemy.ext import asyncio\nasyncio.AsyncSession",
        "from sqlalchemy.ext.asyncio import AsyncAttrs",
        "import sqlalchemy.ext.automap as a",
        "import sqlalchemy\nx = sqlalchemy.orm.Session",
        "from sqlalchemy.ext.asyncio import *",
        "def f():\n    from sqlalchemy import orm",
    ],
)
def test_a_use_of_the_orm_would_be_found(source: str) -> None:  # S4-227
    assert of_the_orm(source)
    plain = "from sqlalchemy import select\nfrom sqlalchemy.ext.asyncio import AsyncConnection"
    assert of_the_orm(plain) == []
