"""A version that finds its text in another row finds none that is not its record's."""

from __future__ import annotations

import psycopg
import pytest

from recollect.errors import IntegrityError
from recollect.memory import Memory
from recollect.memory.handle import Handle
from recollect.store.postgres.backend import PostgresBackend
from tests.postgres.test_isolation import raw
from tests.postgres.test_limited import ANN, CANARY, add, entered, memory, without_users

__all__ = ["memory"]  # a fixture

# A version of a record of ann's own, whose text is said to lie with ben's.
FORGED = (
    "recollect.versions SELECT (jsonb_populate_record(v, jsonb_build_object("
    " 'id', 'forged', 'seq', 999, 'text', NULL, 'text_seq', %(doc)s::bigint))).*"
    " FROM recollect.versions v LIMIT 1"
)
READ = "SELECT text FROM recollect_here.full_versions WHERE id = 'forged'"


def without_ids(database: str) -> None:
    """A view that takes a text by its number alone."""
    with psycopg.connect(database, autocommit=True) as owner:
        found = owner.execute("SELECT pg_get_viewdef('recollect_here.full_versions'::regclass)")
        view = str((found.fetchone() or ("",))[0])
        looked_up = "((t.seq = v.text_seq) AND (t.id = v.id))"
        assert view.count(looked_up) == 1
        owner.execute(
            "CREATE OR REPLACE VIEW recollect_here.full_versions WITH (security_invoker) AS "
            + view.replace(looked_up, "t.seq = v.text_seq")
        )


def forged_text(database: str, *, as_owner: bool) -> object:
    """What a reader is shown of such a version."""
    with raw(database) as connection:
        add(connection, database, FORGED)
        connection.execute("COMMIT")
        if not as_owner:
            entered(connection)
            return connection.execute(READ).fetchall()
    backend = PostgresBackend(database)
    try:
        return Memory(Handle(backend.space("bob", create=False))).get("forged").text
    finally:
        backend.close()


def test_a_token_for_one_user_reads_no_text_of_another_through_its_own_version(
    memory: Memory, database: str
) -> None:
    assert forged_text(database, as_owner=False) == [(None,)]


def test_no_reader_is_shown_another_records_text(memory: Memory, database: str) -> None:
    with pytest.raises(IntegrityError, match="text of version 999 is not in the index") as refusal:
        forged_text(database, as_owner=True)
    assert "rebuild" in str(refusal.value.hint)


@pytest.mark.parametrize("as_owner", [True, False])
def test_control_without_the_record_and_the_policy_it_is_shown(
    memory: Memory, database: str, as_owner: bool
) -> None:
    without_ids(database)
    if not as_owner:
        without_users(database, "versions")
    assert CANARY in str(forged_text(database, as_owner=as_owner))


def test_the_policy_alone_keeps_it_from_a_token_for_one_user(memory: Memory, database: str) -> None:
    without_ids(database)
    assert forged_text(database, as_owner=False) == [(None,)]


def test_a_token_for_one_user_reads_each_version_with_its_text(
    memory: Memory, database: str
) -> None:
    memory.remember("Shared words. " * 200, evidence=["e-ann"], id="shared")
    backend = PostgresBackend(database, token=ANN)
    try:
        ann = Memory(Handle(backend.space("bob", create=False)))
        ann.tag("r-ann", "one")
        long = "ordinary holds again ".ljust(2_000, "x")
        ann.revise("r-ann", long, evidence=["e-ann"])
        ann.tag("r-ann", "two")
        texts = ["ordinary holds", *["ordinary held"] * 2, *[long] * 2]
        assert [version.record.text for version in ann.history("r-ann")] == texts
        with ann._handle.space.reading() as reads:
            episode = reads.episode("e-ann")
            assert episode is not None
            resting = [(row.id, row.text) for row in reads.evidence_for(episode)]
        assert resting == [
            ("r-ann", "ordinary holds"),
            *[("r-ann", long)] * 2,
            ("shared", ""),  # what it says is not for a token of one user
        ]
    finally:
        backend.close()
