"""A token for one user, against SQL of its holder: only that user's memory is read and changed.

Every table of the schema is walked, so that a new one cannot be forgotten. Each guard has a
control: without it the same attack works.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from recollect.errors import Conflict, Forbidden, NotFound, RecollectError, Unavailable
from recollect.lifecycle.commands import Pass
from recollect.memory import Memory
from recollect.memory.handle import Handle
from recollect.store.postgres.backend import PostgresBackend
from recollect.store.postgres.db import run
from recollect.store.postgres.tokens import make_token
from recollect.store.indexed.backend import MemoryBackend
from tests.postgres.conftest import keep_checkpoint, keep_keys
from tests.postgres.test_isolation import raw
from tests.postgres.test_shadow import line

Raw = psycopg.Connection[Any]

ANN, BEN = "ann's token", "ben's token"
CANARY = "canary7f3a"
# Tables of the whole space: a token for one user sees their rows, for the reason given.
WHOLE = {
    "position": "where the index stands: numbers and a hash",
    "shelves": "how many texts and words the space has, which scores rest on",
    "erased": "numbers of events that were erased",
    "frames": "set for everybody; a handle for one user cannot set one",
    "documents": "set for everybody; a handle for one user cannot set one",
    "passes": "how far the rules of everybody have looked: names and numbers",
    "embedders": "names of models, and how far they came",
    "notes": "which events are the store's own or took something back: numbers and kinds",
    "checkpoints": "signed numbers of events, each with a hash over all of them",
    "frontiers": "hashes over events, from which the next checkpoint continues",
}
# Tables of which such a token sees nothing, for the reason given.
HIDDEN = {
    "subject_keys": "wrapped keys: it can neither encrypt nor fold",
    "destroyed_keys": "pseudonyms, which folding asks for",
}
# Tables that no token reads, only functions of the owner that check its rights.
CLOSED = {"jobs": "work of the whole space", "schedules": "work of the whole space"}
# What an attacker would change in each table.
CHANGES = {
    "authors": "name = 'x'",
    "commands": "marks = 'x'",
    "versions": "text = 'x'",
    "tags": "until = 0",
    "evidence": "text_seq = 0",
    "episodes": "text = 'x'",
    "resting": "now = 0",
    "replaced": "by = 'x'",
    "ineffective": "record = 'x'",
    "hidden": "until = 0",
    "links": "weight = 0",
    "receipts": "frame = 'x'",
    "sessions": "closed = 1",
    "branches": "name = 'x'",
    "postings": "times = 99",
    "vectors": "piece = piece + 9",
    "position": "active_us = 0",
    "erased": "by = 0",
    "frames": "tokens = 1",
    "documents": "data = '{}'",
    "passes": "through = 0",
    "embedders": "through = 0",
    "notes": "kind = 'x'",
}


def fill(memory: Memory, user: str, word: str) -> None:
    """A row in every table that belongs to a user, and in those of checkpoints."""
    keep_checkpoint(memory)
    mine = memory.scoped(user=user)
    said = mine.observe(f"{word} was said", role="user", session="s", id=f"e-{user}")
    record = mine.remember(
        f"{word} holds", key=word, tags=[word], evidence=[said[0].id], id=f"r-{user}"
    )
    other = mine.remember(f"{word} too", about=word, id=f"s-{user}", idempotency_key=f"c-{word}")
    mine.link(record.id, other.id, "relates_to")
    mine.revise(record.id, f"{word} held")
    mine.forget(said[0].id)
    mine.context(word)
    mine.flush()
    mine.sessions.open(word)
    mine.branches.open(word)
    mine.scoped(origin="agent").revise(other.id, f"{word} as well")


@pytest.fixture
def memory(database: str) -> Iterator[Memory]:
    """The owner's handle of a space that ann and ben share; each has a token."""
    backend = PostgresBackend(database)
    memory = Memory(Handle(backend.space("bob", create=True)))
    fill(memory, "ann", "ordinary")
    fill(memory, "ben", CANARY)
    memory.remember("For everybody.", id="r-all")
    memory.frames.set({**memory.frames.get("task").to_dict(), "name": "mine"})
    memory.documents.set("rules", "mail", {"n": 1})
    memory.rules.set("all", filter="text = ''")
    memory.submit(Pass(rule="all", through=1, after=0, set_at=memory.position))
    memory.erase(memory.remember("Gone.").id)
    for user, token in (("ann", ANN), ("ben", BEN)):
        verbs = ("read", "write", "erase")
        make_token(
            database, token, label=user, space="bob", verbs=verbs, origin="person", user=user
        )
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(
            "INSERT INTO recollect.embedders SELECT id, 'm', 1, 1 FROM recollect.spaces"
            " WHERE name = 'bob'"
        )
        owner.execute(
            "INSERT INTO recollect.vectors SELECT space, 'm', seq, 1, recollect.as_vector('[1]')"
            " FROM recollect.versions"
        )
    yield memory
    backend.close()


def add_both(database: str) -> None:
    """What no call here writes, of ann and of somebody else."""
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(
            "INSERT INTO recollect.authors SELECT s.id, n.seq, n.name, n.name, 'token', n.name"
            " FROM recollect.spaces s, (VALUES (7000, 'ann'), (7001, %s)) n (seq, name)"
            " WHERE s.name = 'bob'",
            [CANARY],
        )
        owner.execute(
            "INSERT INTO recollect.ineffective SELECT s.id, n.seq, n.record"
            " FROM recollect.spaces s, (VALUES (7000, 'r-ann'), (7009, 'r-ben')) n (seq, record)"
            " WHERE s.name = 'bob'"
        )


def entered(connection: Raw, token: str = ANN) -> int:
    connection.execute("BEGIN")
    row = run(connection, "enter", {"named": "bob", "token": token, "writing": True})[0]
    return int(str(row[0]))


def tables(database: str) -> list[str]:
    """Every table of the schema that holds rows of spaces, from the catalogue."""
    with psycopg.connect(database, autocommit=True) as owner:
        found = owner.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
            " AND a.attname = 'space' WHERE c.relnamespace = 'recollect'::regnamespace"
            " AND c.relkind = 'r' AND c.relname <> 'tokens' ORDER BY 1"
        ).fetchall()
    return [str(name) for (name,) in found]


TEXTS = (
    "SELECT seq FROM recollect.versions WHERE \"user\" = 'ann'"
    " UNION SELECT seq FROM recollect.episodes WHERE \"user\" = 'ann'"
)
IDS = TEXTS.replace("seq", "id")
SAID = "convert_from({}body, 'UTF8') NOT LIKE '%\"user\":\"ann\"%'"
# For each table with a rule for users: what picks the rows that are not ann's.
THEIRS = {
    "events": SAID.format(""),
    "authors": '"user" IS NOT NULL AND "user" <> \'ann\'',
    "versions": "\"user\" IS DISTINCT FROM 'ann'",
    "episodes": "\"user\" IS DISTINCT FROM 'ann'",
    "receipts": "\"user\" IS DISTINCT FROM 'ann'",
    "sessions": "\"user\" <> 'ann'",
    "branches": "\"user\" IS DISTINCT FROM 'ann'",
    "proposals": "\"user\" IS DISTINCT FROM 'ann'",
    "concerns": f"subject NOT IN ({IDS})",
    "tags": f"record NOT IN ({IDS})",
    "evidence": f"record NOT IN ({IDS})",
    "resting": f"episode NOT IN ({IDS})",
    "replaced": f"record NOT IN ({IDS})",
    "ineffective": f"record NOT IN ({IDS})",
    "hidden": f"episode NOT IN ({IDS})",
    "links": f"source NOT IN ({IDS}) AND target NOT IN ({IDS})",
    "postings": f"doc NOT IN ({TEXTS})",
    "vectors": f"seq NOT IN ({TEXTS})",
    "commands": "EXISTS (SELECT 1 FROM recollect.events e WHERE e.seq = t.seq AND "
    f"{SAID.format('e.')})",
}


def rows(connection: Raw, table: str, where: str = "true") -> list[str]:
    """Rows as text, in an order of their own."""
    found = connection.execute(f"SELECT t::text FROM recollect.{table} t WHERE {where}")
    return sorted(str(row) for (row,) in found)


def foreign(database: str, table: str) -> list[str]:
    """The rows that are not ann's, as a superuser sees them."""
    with psycopg.connect(database, autocommit=True) as owner:
        return rows(owner, table, THEIRS.get(table, "true"))


def without_users(database: str, table: str) -> None:
    """The earlier policies: a token that entered the space sees all of it."""
    with psycopg.connect(database, autocommit=True) as owner:
        for name in ("entered", "added", "changed", "removed"):
            owner.execute(f"DROP POLICY IF EXISTS {name} ON recollect.{table}")
        owner.execute(
            f"CREATE POLICY entered ON recollect.{table} USING (space = (SELECT recollect.here()))"
        )


def test_every_table_has_a_rule_for_users_or_a_reason_for_none(database: str) -> None:
    assert set(tables(database)) == {*THEIRS, *WHOLE, *HIDDEN, *CLOSED}
    assert not THEIRS.keys() & WHOLE.keys()


def test_control_a_table_without_a_rule_is_refused(database: str) -> None:
    from recollect.index.statements import postgres_vectors

    guard = postgres_vectors().partition("-- Locks every table")[2]
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(b"-- " + guard.encode())  # as it is: every table is locked
        owner.execute("CREATE TABLE recollect.memos (space bigint, note text)")
        with pytest.raises(psycopg.errors.RaiseException, match="memos has no rule"):
            owner.execute(b"-- " + guard.encode())


def test_no_row_of_anothers_is_read(memory: Memory, database: str) -> None:
    keep_keys(database, "bob", CANARY)
    add_both(database)
    with raw(database) as connection:
        entered(connection)
        for table in tables(database):
            if table in CLOSED:
                with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
                    rows(connection, table)
                continue
            seen = rows(connection, table)
            assert CANARY not in str(seen), table
            if table in WHOLE:
                assert seen == foreign(database, table), table
                continue
            theirs = foreign(database, table)
            assert theirs, f"no rows of others to find in {table}"
            if table in HIDDEN:
                assert seen == [], table
                continue
            assert seen, f"ann sees nothing of her own in {table}"
            assert not set(seen) & set(theirs), table
        connection.execute("ROLLBACK")
        for table in (*THEIRS, *HIDDEN):  # the control
            without_users(database, table)
            entered(connection)
            assert set(foreign(database, table)) <= set(rows(connection, table)), table
            connection.execute("ROLLBACK")


def attack(connection: Raw, table: str) -> list[str]:
    """Changes and removes whatever the policies let through; what is left of others' rows."""
    entered(connection)
    for statement in (
        f"UPDATE recollect.{table} SET {CHANGES[table]}",
        f"UPDATE recollect.{table} SET {CHANGES[table]} WHERE space > 0",
        f"DELETE FROM recollect.{table}",
    ):
        connection.execute("SAVEPOINT a")
        try:
            connection.execute(statement)
        except psycopg.errors.InsufficientPrivilege:
            connection.execute("ROLLBACK TO a")
    connection.execute("RESET ROLE")
    left = rows(connection, table, THEIRS.get(table, "true"))
    connection.execute("ROLLBACK")
    run(connection, "give_up_rights", {})
    return left


def test_no_row_of_anothers_is_changed_or_removed(memory: Memory, database: str) -> None:
    add_both(database)
    with raw(database) as connection:
        for table in CHANGES:
            before = foreign(database, table)
            assert attack(connection, table) == before, table
            without_users(database, table)  # the control
            assert attack(connection, table) != before, table


STILL = "9007199254740991"
ADDITIONS = [
    f"recollect.tags VALUES (%(space)s, 'x', 'r-ben', 1, {STILL})",
    f"recollect.tags VALUES (%(space)s, 'x', 'not there yet', 1, {STILL})",
    "recollect.evidence VALUES (%(space)s, 'e-ben', 'r-ben', 1, 1)",
    "recollect.resting VALUES (%(space)s, 'e-ben', 'r-ann', 1)",
    f"recollect.hidden VALUES (%(space)s, 'e-ben', 'forgotten', 1, {STILL})",
    f"recollect.links VALUES (%(space)s, 'r-ann', 'r-ben', 'x', 9, {STILL}, 1, 'agent', '', 0, '')",
    "recollect.postings VALUES (%(space)s, 'recallable', 'x', %(doc)s, 1, 1)",
    "recollect.postings VALUES (%(space)s, 'recallable', 'x', 999, 1, 1)",
    "recollect.erased VALUES (%(space)s, %(doc)s, 999)",
    "recollect.sessions VALUES (%(space)s, 'x', 'ben', 999)",
    "recollect.sessions VALUES (%(space)s, 'x', '', 999)",
    "recollect.frames SELECT * FROM recollect.frames",
    "recollect.embedders VALUES (%(space)s, 'n', 1, 1)",
    "recollect.vectors VALUES (%(space)s, 'm', %(doc)s, 2, recollect.as_vector('[1]'))",
    "recollect.commands VALUES (%(space)s, %(doc)s, 1, 'x', '', '', 0)",
    'recollect.versions SELECT (jsonb_populate_record(v, \'{"id": "r-ben", "seq": 999}\')).*'
    " FROM recollect.versions v LIMIT 1",
    'recollect.versions SELECT (jsonb_populate_record(v, \'{"user": "ben", "seq": 999}\')).*'
    " FROM recollect.versions v LIMIT 1",
    'recollect.versions SELECT (jsonb_populate_record(v, \'{"user": null, "seq": 999}\')).*'
    " FROM recollect.versions v LIMIT 1",
    "recollect.replaced VALUES (%(space)s, 'x', 'r-ben', 1, 'r-ann')",
    "recollect.ineffective VALUES (%(space)s, 999, 'r-ben')",
]


def add(connection: Raw, database: str, rest: str) -> None:
    with psycopg.connect(database, autocommit=True) as owner:
        found = owner.execute("SELECT seq FROM recollect.versions WHERE id = 's-ben'").fetchone()
    space = entered(connection)
    connection.execute(
        f"INSERT INTO {rest}", {"space": space, "doc": int(str(found[0])) if found else 0}
    )


def test_nothing_is_added_to_what_is_anothers(memory: Memory, database: str) -> None:
    with raw(database) as connection:
        for rest in ADDITIONS:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                add(connection, database, rest)
            connection.execute("ROLLBACK")
        for rest in (ADDITIONS[0], ADDITIONS[15]):  # the control
            without_users(database, rest.partition(" ")[0].removeprefix("recollect."))
            add(connection, database, rest)
            connection.execute("ROLLBACK")


# A part of the statement changes a setting after the policy has looked at the mark.
BETWEEN = """
SELECT text FROM recollect.versions WHERE space = {space} AND id = (
  SELECT CASE WHEN set_config('recollect.user', '{user}', true) IS NOT NULL THEN 'r-ben' END
)
"""
SPLIT = """
DROP POLICY entered ON recollect.versions;
CREATE POLICY entered ON recollect.versions FOR SELECT USING (
  space = (SELECT recollect.here()) AND (
    (SELECT current_setting('recollect.user', true) = '')
    OR "user" = (SELECT current_setting('recollect.user', true))
  )
)
"""


@pytest.mark.parametrize("user", ["", "ben"])
@pytest.mark.parametrize("guarded", [True, False], ids=["guarded", "control"])
def test_a_setting_that_changes_inside_a_statement_opens_nothing(
    memory: Memory, database: str, user: str, guarded: bool
) -> None:
    if not guarded:
        with psycopg.connect(database, autocommit=True) as owner:
            owner.execute(SPLIT)
    with raw(database) as connection:
        connection.execute("SET enable_seqscan = off")  # the index's keys are asked for in order
        connection.execute("SET enable_bitmapscan = off")
        space = entered(connection)
        found = str(connection.execute(BETWEEN.format(space=space, user=user)).fetchall())
        assert (CANARY in found) is not guarded


def test_every_setting_is_in_the_mark(memory: Memory, database: str) -> None:
    with raw(database) as connection:
        for name in ("space", "token", "rights", "user", "agent", "mark"):
            entered(connection)
            assert rows(connection, "versions")
            value = "999" if name in ("space", "token") else "person:read,write,erase,create"
            connection.execute("SELECT set_config(%s, %s, true)", (f"recollect.{name}", value))
            assert not rows(connection, "versions"), name
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("SELECT recollect.append('{}')")
            connection.execute("ROLLBACK")


def test_the_name_of_a_user_cannot_be_taken_for_that_of_an_agent(
    memory: Memory, database: str
) -> None:
    make_token(database, "both", label="b", space="bob", user="ann", agent="bot")
    with raw(database) as connection:
        entered(connection, "both")
        connection.execute("SELECT set_config('recollect.user', 'annbot', true)")
        connection.execute("SELECT set_config('recollect.agent', '', true)")
        assert not rows(connection, "versions")


# Appending.


def body(**parts: object) -> str:
    return json.dumps({"user": "ann", **parts}, separators=(",", ":"))


def added(**parts: object) -> str:
    more = {"kind": "fact", "confidence": 0.7, "status": "active", "trust": "person"}
    return body(**{"id": "new", "text": "x", **more, **parts})


OTHERS = [
    ("record.revised", body(id="r-ben", trust="person", text="As ann would have it.")),
    ("record.forgotten", body(id="r-ben")),
    ("record.forgotten", body(id="r-all")),
    ("record.added", added(id="r-ben")),
    ("record.added", added(id="e-ben")),
    ("record.added", added(supersedes="r-ben")),
    ("record.added", added(user="ben")),
    ("record.added", added(user=None)),
    ("record.superseded", body(id="r-ann", by="r-ben")),
    ("record.tagged", body(id="r-ben", add=["x"])),
    ("episode.forgotten", body(id="e-ben")),
    ("episode.observed", body(id="e-ben", text="x", role="user", said_at="2026-01-01")),
    ("link.added", body(source="r-ann", target="r-ben", kind="x", trust="person")),
    ("link.removed", body(source="r-ben", target="s-ben", kind="relates_to")),
    ("frame.dropped", body(name="mine")),
    ("events.erased", body(targets=[1])),
    ("ledger.sealed", body(first=1, count=1, head="", digest="", index_version=6)),
    ("space.opened", body(space="bob")),
    ("ledger.loss_accepted", body(seen_seq=1, seen_hash="")),
]


def append(connection: Raw, token: str, **parts: str) -> None:
    connection.execute("BEGIN")
    lines = [line(connection, token, **parts)]
    connection.execute("SELECT recollect.append(%b)", (lines,))
    connection.execute("COMMIT")


def test_no_event_about_anothers_memory_is_taken(memory: Memory, database: str) -> None:
    before = memory.position
    with raw(database) as connection:
        for kind, data in OTHERS:
            for origin in ("person", "system"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    append(connection, ANN, kind=kind, data=data, origin=origin)
                connection.execute("ROLLBACK")
    assert memory.position == before
    assert memory.verify(deep=True).ok
    no_judge(database)  # the control
    kind, data = OTHERS[0]
    with raw(database) as connection:
        append(connection, ANN, kind=kind, data=data, origin="person")
    memory.rebuild()
    assert memory.position == before + 1


def test_control_an_event_of_ones_own_is_taken(memory: Memory, database: str) -> None:
    with raw(database) as connection:
        append(connection, ANN, kind="record.added", data=added(), origin="person")
    memory.rebuild()
    assert memory.get("new").id == "new"


def no_judge(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(
            "CREATE OR REPLACE FUNCTION recollect.judge(number bigint, head bigint, kind text,"
            " body jsonb, ceiling text) RETURNS void LANGUAGE sql AS ''"
        )


def test_erasing_reaches_nothing_of_anothers(memory: Memory, database: str) -> None:
    with psycopg.connect(database, autocommit=True) as owner:
        found = owner.execute("SELECT seq FROM recollect.versions WHERE id = 's-ben'").fetchone()
    data = body(targets=[found and found[0]])
    with raw(database) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        append(connection, ANN, kind="events.erased", data=data, origin="person")
    no_judge(database)  # the control
    with raw(database) as connection:
        append(connection, ANN, kind="events.erased", data=data, origin="person")


def test_an_agents_token_writes_as_that_agent(memory: Memory, database: str) -> None:
    make_token(database, "agent", label="a", space="bob", agent="planner")
    said = {"kind": "record.added", "data": added(user="ben", trust="agent", agent="other")}
    with raw(database) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        append(connection, "agent", **said)
    said["data"] = added(user="ben", trust="agent", agent="planner")
    with raw(database) as connection:
        append(connection, "agent", **said)


def test_while_the_index_is_behind_a_token_for_one_user_appends_nothing(
    memory: Memory, database: str
) -> None:
    """Whose memory something is stands in the index."""
    make_token(database, "agent", label="a", space="bob")
    with raw(database) as connection:
        append(connection, "agent", data=NOBODY)
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
            append(connection, ANN, kind="record.added", data=added(), origin="person")
    backend = PostgresBackend(database, token=ANN)
    try:
        ann = Memory(Handle(backend.space("bob", create=False)))
        assert ann.list()
        with pytest.raises(Unavailable) as refusal:
            ann.remember("Not yet.")
        assert "recollect admin rebuild" in str(refusal.value.hint)
        memory.rebuild()
        assert (
            Memory(Handle(backend.space("bob", create=False))).remember("Now.").status == "active"
        )
    finally:
        backend.close()


UNVERIFIED = {"status": "held", "trust": "unverified"}


MORE = [
    ("record.added", added(**{**UNVERIFIED, "status": "active"})),
    ("record.added", added(**UNVERIFIED, supersedes="r-ann")),
    ("record.superseded", body(id="r-ann", by="s-ann")),
    ("record.reinforced", body(id="r-ann", how="used")),
    ("frame.dropped", body(name="mine")),
    ("frame.set", body(name="mine", trust="unverified")),
]


def test_a_token_for_one_user_lists_that_users_events(memory: Memory, database: str) -> None:
    backend = PostgresBackend(database, token=ANN)
    try:
        ann = Memory(Handle(backend.space("bob", create=False)))
        found = ann.events()
        assert found == memory.scoped(user="ann").events()
        assert len(found) > 5
        assert CANARY not in str(found)
        assert ann.events(id="r-ben") == []
        assert CANARY in str(memory.events())  # the control
        assert ann.events(id="r-ann", kinds=["record.revised"])[0].text == "ordinary held"
    finally:
        backend.close()


def test_a_token_for_one_user_dates_events_of_commands_that_it_cannot_see(
    memory: Memory, database: str
) -> None:
    """The command of an event may end with another's event, or with an erased one."""
    backend = PostgresBackend(database, token=ANN)
    try:
        ann = Memory(Handle(backend.space("bob", create=False)))
        ann.observe("said here", id="e-here")
        memory.revise("r-ann", "Revised for the whole space.")
        memory.link("r-ann", "s-ann", "supports")
        memory.unlink("r-ann", "s-ann", "supports")
        memory.forget("e-here")
        memory.restore("e-here")
        ann.remember("Written later.", idempotency_key="later")
        with ann.batch(idempotency_key="batch") as batch:
            batch.remember("The first of two.", id="one")
            batch.remember("The last of two.", id="two")
        ann.erase("two")
        ann.remember("Written last.", idempotency_key="last")
        found = ann.events()
        assert found == memory.scoped(user="ann").events()
        keys = {one.id: one.idempotency_key for one in found}
        assert (keys["e-here"], keys["r-ann"], keys["one"]) == (None, None, None)
        assert [one.idempotency_key for one in found if one.text == "Written later."] == ["later"]
        assert {one.kind for one in found} >= {"link.removed", "episode.restored"}
    finally:
        backend.close()


def test_a_token_for_one_user_undoes_no_other_command_than_the_one_it_means(
    memory: Memory, database: str
) -> None:
    backend = PostgresBackend(database, token=ANN)
    try:
        ann = Memory(Handle(backend.space("bob", create=False)))
        memory.revise("r-ann", "Revised for the whole space.")  # a command that ann does not see
        kept = ann.remember("Written later.")
        with pytest.raises(Conflict, match="nothing to undo"):
            ann.undo("r-ann")
        assert ann.get(kept.id).status == "active"
        ann.undo(kept.id)  # the control
        assert ann.get(kept.id, include=["forgotten"]).status == "forgotten"
    finally:
        backend.close()


def test_a_token_for_one_user_is_not_told_the_origin_and_key_of_others_events(
    memory: Memory, database: str
) -> None:
    theirs = memory.events(id="s-ben", kinds=["record.added"])[0]
    ours = memory.events(id="s-ann", kinds=["record.added"])[0]
    asked = "SELECT recollect.event_origin(%s), recollect.event_key(%s)"
    with raw(database) as connection:
        assert connection.execute(asked, (ours.seq, ours.seq)).fetchone() == (None, None)
        entered(connection)
        assert connection.execute(asked, (theirs.seq, theirs.seq)).fetchone() == (None, None)
        assert connection.execute(asked, (ours.seq, ours.seq)).fetchone() == (  # the control
            "person",
            "c-ordinary",
        )
        connection.execute("ROLLBACK")


def test_an_unverified_source_does_not_do_what_needs_more(memory: Memory, database: str) -> None:
    make_token(database, "low", label="l", space="bob", origin="unverified")
    with raw(database) as connection:
        for kind, data in MORE:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                append(connection, "low", kind=kind, data=data, origin="unverified")
            connection.execute("ROLLBACK")
        no_judge(database)  # the control
        with psycopg.connect(database, autocommit=True) as owner:
            owner.execute("UPDATE recollect.kinds SET needs = 'unverified'")
        for kind, data in MORE:
            append(connection, "low", kind=kind, data=data, origin="unverified")


def test_an_unverified_source_still_adds_what_is_held(memory: Memory, database: str) -> None:
    make_token(database, "low", label="l", space="bob", origin="unverified")
    backend = PostgresBackend(database, token="low")
    try:
        low = Memory(Handle(backend.space("bob", create=False)))
        assert low.remember("Somebody says so.").status == "held"
        low.context("who says so")
        low.flush()
    finally:
        backend.close()
    assert memory.verify(deep=True).ok


def test_an_unverified_source_forgets_no_record_of_a_persons(memory: Memory, database: str) -> None:
    """The server takes the event, whose past it does not know; no fold lets it change anything."""
    make_token(database, "low", label="low", space="bob", origin="unverified")
    make_token(database, "high", label="high", space="bob", origin="person")
    with raw(database) as connection:
        said = {"kind": "record.forgotten", "data": '{"id":"r-all"}'}
        append(connection, "low", origin="unverified", **said)
        memory.rebuild()
        assert memory.get("r-all").id == "r-all"
        assert memory.verify(deep=True).ok
        append(connection, "high", origin="person", id="y.1", **said)  # the control
    memory.rebuild()
    with pytest.raises(NotFound):
        memory.get("r-all")


# Time.


NOBODY = '{"id":"nobody"}'


def test_an_event_dated_ahead_of_the_servers_clock_is_refused(
    memory: Memory, database: str
) -> None:
    at = "9999-12-31T23:59:59.999999Z"
    make_token(database, "agent", label="a", space="bob")
    with raw(database) as connection, pytest.raises(psycopg.errors.DatetimeFieldOverflow):
        append(connection, "agent", at=at, data=NOBODY)
    with psycopg.connect(database, autocommit=True) as owner:  # the control
        found = owner.execute(
            "SELECT pg_get_functiondef('recollect.latest_instant'::regproc)"
        ).fetchone()
        owner.execute(
            "CREATE OR REPLACE FUNCTION recollect.latest_instant() RETURNS text LANGUAGE sql"
            " AS $$ SELECT '9999-12-31T23:59:59.999999Z' $$"
        )
        with raw(database) as connection:
            append(connection, "agent", at=at, data=NOBODY)
        owner.execute(str(found and found[0]).encode())
    memory.rebuild()
    written = memory.remember("A space that is ahead already goes on from where it is.")
    assert written.at == at


def test_a_client_whose_clock_is_ahead_is_told(memory: Memory, database: str) -> None:
    from datetime import UTC, datetime, timedelta

    from recollect.model.instants import instant
    from recollect.store.seam import Seam

    class Ahead(Seam):
        minutes = 4

        def now(self) -> str:
            return instant(datetime.now(UTC) + timedelta(minutes=self.minutes))

    seam = Ahead()
    backend = PostgresBackend(database, seam=seam)
    try:
        mine = Memory(Handle(backend.space("bob", create=False), seam))
        mine.remember("A few minutes are let pass.")
        seam.minutes = 6
        with pytest.raises(Unavailable, match="5 minutes ahead") as refusal:
            mine.remember("An hour is not.")
        assert "clock" in str(refusal.value.hint)
    finally:
        backend.close()


# The end of a token.

END = {
    "revoked": "UPDATE recollect.tokens SET revoked = now() WHERE label = '{}'",
    "expired": "UPDATE recollect.tokens SET expires = now() - interval '1 s' WHERE label = '{}'",
    "deleted": "DELETE FROM recollect.tokens WHERE label = '{}'",
}


def test_a_token_that_ended_ends_the_rights_of_an_open_transaction(
    memory: Memory, database: str
) -> None:
    with raw(database) as connection, psycopg.connect(database, autocommit=True) as owner:
        for how, end in END.items():
            make_token(database, how, label=how, space="bob", user="ann", origin="person")
            connection.execute("BEGIN")
            lines = [line(connection, how, kind="record.added", data=added(), origin="person")]
            assert rows(connection, "versions")
            owner.execute(end.format(how))
            assert rows(connection, "versions") == []
            assert rows(connection, "events") == []
            assert connection.execute("UPDATE recollect.versions SET text = 'x'").rowcount == 0
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("SELECT recollect.append(%b)", (lines,))
            connection.execute("ROLLBACK")


def test_control_a_mark_that_does_not_look_at_the_token_outlives_it(
    memory: Memory, database: str
) -> None:
    with psycopg.connect(database, autocommit=True) as owner:
        found = owner.execute("SELECT pg_get_functiondef('recollect.sign'::regproc)").fetchone()
        text = str(found and found[0]).replace("AND t.revoked IS NULL", "")
        owner.execute(text.encode())
        with raw(database) as connection:
            connection.execute("BEGIN")
            lines = [line(connection, ANN, kind="record.added", data=added(), origin="person")]
            owner.execute(END["revoked"].format("ann"))
            assert rows(connection, "versions")
            connection.execute("SELECT recollect.append(%b)", (lines,))


def test_a_snapshot_of_before_the_end_writes_nothing_and_reads_nothing_newer(
    memory: Memory, database: str
) -> None:
    with raw(database) as connection, psycopg.connect(database, autocommit=True) as owner:
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        lines = [line(connection, ANN, kind="record.added", data=added(), origin="person")]
        before = rows(connection, "versions")
        owner.execute(END["revoked"].format("ann"))
        assert rows(connection, "versions") == before  # what it could read when it was alive
        with pytest.raises(psycopg.errors.InvalidTransactionState):
            connection.execute("SELECT recollect.append(%b)", (lines,))


# The calls.


@pytest.fixture
def ann(memory: Memory, database: str) -> Iterator[Memory]:
    backend = PostgresBackend(database, token=ANN)
    yield Memory(Handle(backend.space("bob", create=False)))
    backend.close()


def test_ids_that_are_taken_are_taken(memory: Memory, ann: Memory) -> None:
    for id in ("r-ben", "e-ben", "r-all"):
        with pytest.raises(Conflict):
            ann.remember("x", id=id)
        with pytest.raises(Conflict):
            ann.observe("x", id=id)
        with pytest.raises(NotFound):
            ann.forget(id)
    with pytest.raises(Conflict):
        ann.remember("x", idempotency_key=f"c-{CANARY}")
    assert ann.remember("ordinary, again", id="r-new").id == "r-new"
    assert memory.verify(deep=True).ok


def test_a_token_for_one_user_supersedes_that_users_records(memory: Memory, ann: Memory) -> None:
    new = ann.supersede("r-ann", "ordinary holds again", reason="checked")
    assert (new.key, new.scope.user, new.supersedes) == ("ordinary", "ann", "r-ann")
    assert memory.history("r-ann")[-1].note == "checked"
    for id in ("r-ben", "r-all"):  # another's, and that of nobody in particular
        with pytest.raises(NotFound):
            ann.supersede(id, "x")
    waits = ann.scoped(origin="unverified").supersede("s-ann", "from the web")
    assert waits.pending is not None
    (last,) = [one for one in memory.review.list() if one.id == waits.pending]
    memory.review.approve(last.id, last.digest)
    assert memory.history("s-ann")[-1].what == "superseded"
    ann.revert(new.id)
    assert ann.keyed("ordinary").id == "r-ann"


def test_what_needs_the_whole_space_is_refused(ann: Memory) -> None:
    for ask in (ann.verify, ann.status, ann.digest, ann.rebuild, ann.seal):
        with pytest.raises(Forbidden):
            ask()
    assert [finding.level for finding in ann.doctor()] == ["note", "ok"]
    with pytest.raises(Forbidden):
        ann.frames.drop("mine")


def test_a_space_may_begin_with_a_token_for_one_user(database: str) -> None:
    make_token(database, "first", label="f", space="new", user="ann", origin="person")
    backend, owner = PostgresBackend(database, token="first"), PostgresBackend(database)
    try:
        ann = Memory(Handle(backend.space("new", create=False)))
        assert ann.list() == []
        ann.remember("The first thing.")
        assert Memory(Handle(owner.space("new", create=False))).verify(deep=True).ok
    finally:
        backend.close()
        owner.close()


def test_erasing_ones_own_takes_everything_of_it(memory: Memory, ann: Memory) -> None:
    memory.tag("r-ann", "tagged-by-the-owner", idempotency_key="owner-1")
    memory.link("r-ann", "r-ben", "relates_to")
    memory.remember("For everybody, too.", evidence=["e-ann"], id="r-more")
    report = ann.erase("r-ann")
    assert "e-ann" in report.kept
    with pytest.raises(NotFound):
        memory.get("r-ann")
    assert not memory.why("r-ben").links or "r-ann" not in str(memory.why("r-ben").links)
    ann.erase("s-ann")
    assert memory.verify(deep=True).ok
    assert memory.get("r-ben").id == "r-ben"
    ledger = b"".join(memory._handle.space.pieces())
    assert b"ordinary too" not in ledger
    assert b"tagged-by-the-owner" not in ledger
    with pytest.raises(RecollectError):
        ann.erase("r-ben")


def script(owner: Memory, ann: Memory) -> list[object]:
    """The same calls on any engine, by ann and beside her; what she is answered."""
    ben = owner.scoped(user="ben")
    for number in range(6):
        ben.observe(f"Ben saw the harbour {number} times.", id=f"eb{number}", session=f"b{number}")
        ann.observe(f"The harbour is loud, day {number}.", id=f"ea{number}", session=f"a{number}")
        ben.remember(f"Harbour number {number} belongs to ben.", id=f"rb{number}", tags=["harbour"])
    first = ann.remember(
        "The harbour office opens at nine.", id="ra0", key="office", evidence=["ea0", "eb0", "ea1"]
    )
    owner.remember("Everybody meets at the harbour.", id="all", evidence=["ea1"])
    owner.tag("ra0", "by-the-owner")
    ann.remember("The harbour office opens at ten.", id="ra1", key="office", evidence=["ea2"])
    ann.remember("Ann's boat is blue.", id="ra2", tags=["boat"])
    ann.link("ra1", "ra2", "relates_to")
    owner.link("ra2", "rb0", "relates_to")
    ann.revise("ra2", "Ann's boat is green.", evidence=["ea3"])
    ann.forget("ea4")
    ann.forget("ra2")
    ann.restore("ra2")
    ann.erase("ea5")
    with ann.batch() as batch:
        batch.observe("Said in a batch.", id="ea9")
        batch.remember("Written in a batch.", id="ra9", evidence=["ea9"])
    found: list[object] = [first.id]
    for words in ("harbour office", "boat", "ben harbour number", "batch", "loud day"):
        hits = ann.recall(words, k=20, include=("superseded", "forgotten", "shadowed")).hits
        found.append([(hit.id, round(hit.relevance, 12)) for hit in hits])
        found.append(ann.context(words, receipt=False).text)
    found.append([(each.id, each.text, each.status) for each in ann.list(include=["superseded"])])
    found.append([(each.id, each.text) for each in ann.episodes(include=["forgotten", "shadowed"])])
    found.append([(each.what, each.record.text) for each in ann.history("ra2")])
    why = ann.why("ra1")
    found.append(([each.id for each in why.sources], why.other_evidence, why.replaced[0].id))
    found.append([(each.source, each.target) for each in ann.why("ra2").links])
    found.append(ann.at(ann.position).keyed("office").id)
    return found


def test_a_token_for_one_user_answers_as_a_handle_for_one_does(database: str) -> None:
    verbs = ("read", "write", "erase")
    make_token(database, ANN, label="ann", space="main", verbs=verbs, origin="person", user="ann")
    server, limited = PostgresBackend(database), PostgresBackend(database, token=ANN)
    try:
        files = Memory(Handle(MemoryBackend().space("main", create=True)))
        owner = Memory(Handle(server.space("main", create=True)))
        owner.status()
        theirs = script(owner, Memory(Handle(limited.space("main", create=False))))
        for ours, answer in zip(script(files, files.scoped(user="ann")), theirs, strict=True):
            assert ours == answer
        assert owner.verify(deep=True).ok
        assert b"day 5" not in b"".join(owner._handle.space.pieces())
    finally:
        limited.close()
        server.close()


def derivations(owner: Memory, ann: Memory) -> list[object]:
    """What ann may lower and what she may not, on any engine."""
    bot = ann.scoped(origin="agent").remember("The harbour opens at nine, said the bot.")
    found: list[object] = []
    for word, make in (("tied", owner.remember), ("own", ann.remember)):
        base = ann.remember(f"The harbour opens at nine ({word}).", id=f"base-{word}")
        make(f"The office opens then ({word}).", evidence=[base.id], id=f"top-{word}")
    linked = ann.remember("The harbour opens at nine (linked).", id="base-linked")
    owner.scoped(user="ben").remember("Ben opens at nine.", id="top-linked")
    owner.link("top-linked", linked.id, "derived_from")
    for word in ("tied", "own", "linked"):
        try:
            ann.link(f"base-{word}", bot.id, "derived_from")
            found.append(ann.get(f"base-{word}").trust)
        except Forbidden as refused:
            found.append(str(refused))
        found.append(owner.get(f"top-{word}").trust)
    return found


def test_a_token_for_one_user_lowers_as_a_handle_for_one_does(database: str) -> None:
    make_token(database, ANN, label="ann", space="main", origin="person", user="ann")
    server, limited = PostgresBackend(database), PostgresBackend(database, token=ANN)
    try:
        files = Memory(Handle(MemoryBackend().space("main", create=True)))
        owner = Memory(Handle(server.space("main", create=True)))
        owner.status()
        theirs = derivations(owner, Memory(Handle(limited.space("main", create=False))))
        assert derivations(files, files.scoped(user="ann")) == theirs
        assert [one in ("person", "agent") for one in theirs] == [
            False,
            True,
            *[True] * 2,
            False,
            True,
        ]
        assert [theirs[1], *theirs[2:4], theirs[5]] == ["person", "agent", "agent", "person"]
        assert owner.verify(deep=True).ok
    finally:
        limited.close()
        server.close()
