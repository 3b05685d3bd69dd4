"""A row is known by its columns: every statement gives and takes them in the order of its class."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator

import pytest

from recollect.index.branches import BranchRow
from recollect.index.digest import TABLES
from recollect.index.proposals import ProposalRow
from recollect.index.rows import (
    Card,
    CommandRow,
    EpisodeRow,
    LinkRow,
    PositionRow,
    PresetRow,
    ReceiptRow,
    SessionRow,
    VersionRow,
)
from recollect.index.statements import lookups, schema, statements

Columns = tuple[str, ...]
VERSION, EPISODE, LINK = VersionRow._fields, EpisodeRow._fields, LinkRow._fields
STORED_EPISODE = EPISODE[:-1]  # `hidden` is computed

# What each read gives. Those that are not here give one or two plain cells.
READS: dict[str, Columns] = {
    "get_position": PositionRow._fields,
    "get_command": CommandRow._fields,
    "command_at": CommandRow._fields,
    **dict.fromkeys(
        [
            "get_version",
            "get_versions",
            "keyed",
            "keyed_at",
            "versions_by_content",
            "holder",
            "list_versions",
            "tagged",
            "version_of_event",
        ],
        VERSION,
    ),
    "evidence_of_episode": ("tied", *VERSION),
    **dict.fromkeys(
        ["get_episode", "list_episodes", "episode_of_event", "episodes_of_texts"], EPISODE
    ),
    **dict.fromkeys(
        ["cards_of_texts", "cards_of_changed_texts", "last_cards_of_texts"], Card._fields[:-1]
    ),
    "cards_of_episodes": Card._fields[: Card._fields.index("hidden") + 1],
    "versions_of_events": VERSION,
    **dict.fromkeys(["links_of", "trusted_links_of", "links_around", "get_link"], LINK),
    **dict.fromkeys(["get_preset", "list_presets"], PresetRow._fields),
    **dict.fromkeys(["get_receipt", "list_receipts"], ReceiptRow._fields),
    **dict.fromkeys(
        ["sessions_named", "list_sessions", "open_session_now", "session_of_event"],
        SessionRow._fields,
    ),
    **dict.fromkeys(["get_branch", "branches_named", "list_branches"], BranchRow._fields),
    **dict.fromkeys(["get_proposal", "proposals_on"], ProposalRow._fields),
    **{f"digest_{table.name}": table.columns for table in TABLES},
}
# What each write takes.
WRITES: dict[str, Columns] = {
    "add_version": VERSION,
    "add_episode": STORED_EPISODE,
    "add_link": LINK,
    "add_preset": PresetRow._fields,
    "add_receipt": ReceiptRow._fields,
}
INSERT = re.compile(r"INSERT INTO \w+ \(([^)]*)\)")


class Nothing(dict[str, object]):
    """Every parameter, each of them an empty list of JSON or, for a limit, nothing."""

    def __missing__(self, name: str) -> object:
        return 0 if name == "limit" else "[]"


@pytest.fixture(name="empty", scope="module")
def without_rows() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.executescript(schema())
    connection.executescript(lookups())
    yield connection
    connection.close()


def given(connection: sqlite3.Connection, statement: str) -> Columns:
    """The names of the columns that a read gives."""
    params = Nothing() if ":" in statement else (None,) * statement.count("?")
    return tuple(column for column, *_ in connection.execute(statement, params).description)


@pytest.mark.parametrize("name", READS)
def test_a_read_gives_the_columns_of_its_row(empty: sqlite3.Connection, name: str) -> None:
    assert given(empty, statements()[name]) == READS[name]


@pytest.mark.parametrize("name", WRITES)
def test_a_write_takes_the_columns_of_its_row(name: str) -> None:
    taken = INSERT.match(statements()[name])
    assert taken is not None
    assert tuple(column.strip(' "\n') for column in taken[1].split(",")) == WRITES[name]


def test_a_column_in_another_place_is_seen(empty: sqlite3.Connection) -> None:
    swapped = statements()["digest_links"].replace("source, target", "target, source")
    assert given(empty, swapped) != LINK
    assert sorted(given(empty, swapped)) == sorted(LINK)
