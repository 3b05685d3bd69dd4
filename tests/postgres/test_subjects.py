"""Subjects on a server: encrypted bodies, wrapped keys, and what is erased with them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec
import psycopg
import pytest

from recollect import Memory, Store
from recollect.errors import (
    ConfigError,
    Conflict,
    Forbidden,
    IntegrityError,
    KeyMissing,
    NotFound,
    RecollectError,
)
from recollect.ledger.chain import Draft, chain, event_id
from recollect.ledger.codec import encode_body
from recollect.ledger.line import Line
from recollect.ledger.scan import scan
from recollect.lifecycle.commands import Actor, Command, EraseAll, Remember
from recollect.memory.handle.handle import Handle
from recollect.memory.keys import Keys
from recollect.model import rules
from recollect.model.events import KIND_OF, AnyBody, Origin, RecordAdded, Trust
from recollect.store.indexed.space import IndexedSpace
from recollect.store.keys.subjects import Subjects
from recollect.store.port import Space
from recollect.store.postgres.ledgers import PostgresBackend
from recollect.testing.rebuilding import rebuilt_digest
from tests.postgres.conftest import as_address, make_token
from tests.postgres.proxy import Proxy
from tests.postgres.test_command import recollect

WORD = "zanzibar"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("RECOLLECT_MASTER_KEY", "RECOLLECT_MASTER_KEY_COMMAND", "RECOLLECT_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "home"


@pytest.fixture
def memory(url: str, home: Path) -> Iterator[Memory]:
    """The owner's handle of a space in which every user is a subject."""
    with Memory.open(url, space="bob", embedder="none") as memory:
        memory.settings.set_subjects("users")
        memory.scoped(user="ann").remember("Ann is here.", id="first")
        yield memory


def encrypted(memory: Memory, user: str, origin: Origin, body: AnyBody) -> Draft:
    """An event as a client would encrypt it for a user."""
    space = memory._handle.space
    subjects, head = space.subjects, space.head()
    named = subjects.keys.named(user)[-1]
    plain = Draft(
        event_id(f"forged{head.seq}", 1),
        KIND_OF[type(body)],
        origin,
        encode_body(body),
        named.pseudonym,
        named.cipher,
    )
    (made,) = subjects.encrypted([plain])
    return made


def bring(space: Space, draft: Draft) -> None:
    """Brings an event as another ledger would, with a chain that is right."""
    head, before = space.head(), b"".join(space.pieces())
    data, _ = chain(head, head.at, [draft], b"s" * 16)
    space.receive([before, data])


def append(memory: Memory, draft: Draft) -> None:
    """Appends an event that nobody looks at first."""
    space = memory._handle.space
    assert isinstance(space, IndexedSpace)
    before = space.head()
    data, head = chain(before, before.at, [draft], b"s" * 16)
    assert space.ledger.append(before, data, head, None, lambda: None)


def claims(trust: Trust) -> RecordAdded:
    return RecordAdded(
        id="claim",
        text=f"Wire it to {WORD}.",
        kind="fact",
        confidence=1.0,
        status="active",
        trust=trust,
        user="ann",
    )


def trust_of(url: str, id: str) -> str:
    with Memory.open(url, space="bob", embedder="none") as again:
        again.remember("The next writer folds what was appended.")
        assert again.admin.verify(deep=True).ok
        return again.get(id).trust


# What is brought.


def test_an_encrypted_claim_of_a_persons_trust_comes_out_at_the_agents(
    memory: Memory, url: str
) -> None:
    bring(memory._handle.space, encrypted(memory, "ann", "agent", claims("person")))
    assert trust_of(url, "claim") == "agent"


def test_control_without_the_fold_s_bound_the_claim_succeeds(
    memory: Memory, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(memory._handle.space, encrypted(memory, "ann", "agent", claims("person")))
    monkeypatch.setattr(rules, "within", lambda origin, body: body)
    monkeypatch.setattr(rules, "may_add", lambda origin, body: True)
    assert trust_of(url, "claim") == "person"


def test_an_agents_token_brings_nothing_that_nobody_can_judge(
    memory: Memory, url: str, database: str
) -> None:
    made = encrypted(memory, "ann", "agent", claims("agent"))
    for origin, verbs in (("agent", ("read", "write")), ("person", ("read",))):
        token = make_token(database, origin, space="bob", trust=origin, verbs=verbs)
        with Store.open(url) as store, pytest.raises(Forbidden):
            bring(store.entered(token).space("bob")._handle.space, made)
    before = memory.events.position
    bring(memory._handle.space, made)  # the control
    assert memory.events.position == before + 1


def test_nothing_but_a_known_subjects_body_is_taken(memory: Memory) -> None:
    """Each would stop every later writer, because no client could read it."""
    kept, space = encrypted(memory, "ann", "agent", claims("agent")), memory._handle.space
    before = b"".join(space.pieces())

    def refused(**changes: object) -> None:
        with pytest.raises(RecollectError):
            bring(space, msgspec.structs.replace(kept, **changes))
        assert b"".join(space.pieces()) == before

    refused(subject="0" * 32)
    refused(cipher=2)
    refused(data=b'{"id":"claim"}')
    refused(data=b'"' + b"A" * 38 + b'"')
    refused(data=b'"' + b"A" * 43 + b'*"')
    refused(kind="document.set")
    refused(subject="Z" * 32)
    refused(cipher=0)
    bring(space, kept)  # the control


def test_a_body_that_does_not_open_is_given_up_and_a_missing_key_is_not(
    memory: Memory, url: str, home: Path
) -> None:
    made = encrypted(memory, "ann", "agent", claims("agent"))
    append(memory, msgspec.structs.replace(made, id="another.1"))  # what was another event's
    with Memory.open(url, space="bob", embedder="none") as again:
        with pytest.raises(IntegrityError, match="does not open"):
            again.remember("Later.")
        assert any("--accept-loss" in str(found.fix) for found in again.admin.doctor())
    (home / ".recollect" / "master.key").rename(home / "away")
    with Memory.open(url, space="bob", embedder="none") as again:
        assert [found.what for found in again.admin.doctor() if found.level == "problem"] == [
            "keys"
        ]
        with pytest.raises(KeyMissing, match="master key"):
            again._handle.space.accept_loss("no key")
    (home / "away").rename(home / ".recollect" / "master.key")
    with Memory.open(url, space="bob", embedder="none") as again:
        again._handle.space.accept_loss("not readable")
        again.remember("Later.")
        assert again.admin.verify(deep=True).ok
        assert again.get("first").text == "Ann is here."


# Writing and reading.


def lines_of(memory: Memory) -> list[Line]:
    return [line for append in scan(memory._handle.space.pieces()) for line in append.lines]


def rows(database: str, table: str) -> list[tuple[object, ...]]:
    with psycopg.connect(database, autocommit=True) as owner:
        return owner.execute(f"SELECT * FROM recollect.{table}").fetchall()


def test_the_ledger_on_the_server_has_no_word_of_a_subject(memory: Memory, database: str) -> None:
    ann = memory.scoped(user="ann")
    record = ann.remember(f"Ann went to {WORD}", key="trip")
    ann.observe(f"I was in {WORD}")
    memory.revise(record.id, text=f"Ann moved to {WORD}")  # by a handle for the whole space
    memory.remember("The office is closed")
    assert record.id in [hit.id for hit in ann.recall(WORD)]
    assert WORD not in str(rows(database, "events"))
    (key,) = rows(database, "subject_keys")
    assert "ann" not in str(key)
    assert memory.admin.digest() == rebuilt_digest(memory.admin)
    memory.admin.rebuild()
    assert memory.admin.verify(deep=True).ok
    assert ann.get(record.id).text == f"Ann moved to {WORD}"
    found = [
        line.subject for append in scan(memory._handle.space.pieces()) for line in append.lines
    ]
    assert len({*found} - {None}) == 1
    assert (found[0], found[-1]) == (None, None)


def test_only_those_who_are_named_are_encrypted(url: str, database: str, home: Path) -> None:
    with Memory.open(url, space="bob", embedder="none") as memory:
        memory.scoped(user="ann").remember(f"Plain {WORD}")
        with pytest.raises(Conflict, match="no subjects"):
            memory.scoped(subject="ann")
        memory.settings.set_subjects("named")
        memory.scoped(user="ben").remember("Of ben")
        memory.scoped(subject="ann").remember("Encrypted")
        memory.scoped(user="ann").remember("Still a subject")
        assert [line.subject is None for line in lines_of(memory)[1:]] == [
            True,
            True,
            True,
            False,
            False,
        ]
        assert memory.settings.subjects() == "named"
        assert len(rows(database, "subject_keys")) == 1


def test_another_process_and_another_token_use_the_same_key(
    memory: Memory, url: str, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_TOKEN", make_token(database, "agent", space="bob"))
    with Memory.open(url, space="bob", embedder="none") as agents:
        agents.scoped(user="ann").remember("The agent noted it.")
        agents.scoped(user="ben").remember("For ben.")
        assert agents.admin.verify(deep=True).ok
    assert memory.admin.verify(deep=True).ok
    assert len(rows(database, "subject_keys")) == 2


@pytest.mark.parametrize("is_control", [False, True])
def test_the_keys_of_many_are_read_together(
    memory: Memory, database: str, monkeypatch: pytest.MonkeyPatch, is_control: bool
) -> None:
    """By a process that folds the ledger, and by one that follows what another has written."""
    if is_control:
        monkeypatch.setattr(Subjects, "ahead", lambda subjects, pieces: pieces)
    trips = dict[str, int]()
    with (
        Proxy(database) as proxy,
        Memory.open(as_address(proxy.address), space="bob", embedder="none") as again,
    ):
        for when in ("folded", "followed"):
            for number in range(20):
                memory.scoped(user=f"{when} {number}").remember("Someone is here.")
            trips[when] = proxy.counted(again.list)
        assert len(again.list(limit=100)) == 41
    most = 20 if is_control else 0  # one for each subject
    assert most <= trips["folded"] <= most + 9
    assert most <= trips["followed"] <= most + 4  # one of them for the key of the caches


@pytest.mark.parametrize("each", ["users", "named"])
def test_another_master_key_reads_and_writes_nothing(
    memory: Memory, url: str, monkeypatch: pytest.MonkeyPatch, each: Literal["users", "named"]
) -> None:
    memory.settings.set_subjects(each)
    before = memory.events.position
    with Memory.open(url, space="other", embedder="none") as other:
        other.remember("Of everybody")
    monkeypatch.setenv("RECOLLECT_MASTER_KEY", "A" * 43 + "=")
    with Memory.open(url, space="bob", embedder="none") as other:
        for user in ("ann", "ben", None):
            with pytest.raises(ConfigError, match="does not open"):
                other.scoped(user=user).remember(f"Ann in {WORD}")
            with pytest.raises(ConfigError, match="does not open"):
                other.scoped(user=user).list()
    assert memory.events.position == before
    with Memory.open(url, space="other", embedder="none") as other:
        assert [record.text for record in other.list()] == ["Of everybody"]  # the control


def test_without_a_place_for_keys_nothing_is_written_in_the_clear(
    memory: Memory, database: str
) -> None:
    backend = PostgresBackend(database)
    before = memory.events.position
    bare = Memory(Handle(backend.space("bob", create=False)))
    for call in (lambda: bare.recall("Ann"), lambda: bare.remember(f"Ann in {WORD}")):
        with pytest.raises(KeyMissing, match="no place for the keys"):
            call()
    assert memory.events.position == before
    backend.close()


# Tokens for one user or one agent.


@pytest.mark.parametrize("limit", [{"user": "ann"}, {"agent": "scout"}])
def test_a_limited_token_reads_and_writes_with_the_keys_of_its_user(
    memory: Memory,
    url: str,
    database: str,
    limit: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memory.scoped(user="ben").remember("Ben is away.")
    token = make_token(database, "l", space="bob", trust="person", **limit)
    monkeypatch.setenv("RECOLLECT_TOKEN", token)
    with Memory.open(url, space="bob", embedder="none") as theirs:
        mine = theirs.scoped(**{"user": "ann", **limit})
        assert [hit.text for hit in mine.recall("Ann")] == ["Ann is here."]
        mine.context("Ann")
        mine.remember(f"Mine: {WORD}")
    assert WORD not in bodies(database)
    assert len(rows(database, "subject_keys")) == 2
    assert memory.admin.verify(deep=True).ok


# Erasing.


def test_erasing_a_subject_takes_the_key_and_leaves_the_others(
    memory: Memory, url: str, database: str
) -> None:
    ann = memory.scoped(user="ann")
    ann.remember(f"Ann went to {WORD}", key="trip")
    ann.observe(f"{WORD} was hot")
    ann.context("trip")
    memory.scoped(user="ben").remember("Ben stayed")
    planned = memory.erase(subject="ann", dry_run=True)
    done = memory.erase(subject="ann")
    assert planned.subjects == done.subjects
    assert any(
        place.startswith(f"the key of {done.subjects[0]}: destroyed") for place in done.places
    )
    assert any("other machines" in place for place in done.places)
    assert memory.admin.digest() == rebuilt_digest(memory.admin)
    assert memory.admin.verify(deep=True).ok
    assert [record.text for record in memory.list()] == ["Ben stayed"]
    assert [rows(database, table) for table in ("snapshots", "blocks")] == [[], []]
    assert [named for _, named, *_ in rows(database, "destroyed_keys")] == [*done.subjects]
    with pytest.raises(NotFound):
        memory.erase(subject="ann")
    ann.remember("Ann is back")  # under another pseudonym and key
    assert len(rows(database, "subject_keys")) == 2
    memory.admin.rebuild()
    assert [record.text for record in ann.list()] == ["Ann is back"]


def test_old_plain_events_of_a_subject_go_too(url: str, database: str, home: Path) -> None:
    with Memory.open(url, space="bob", embedder="none") as memory:
        old = memory.scoped(user="ann").remember(f"Before: {WORD}", key="trip")
        memory.settings.set_subjects("named")
        memory.scoped(subject="ann").revise(old.id, text=f"After: {WORD}")
        memory.erase(subject="ann")
        assert memory.list() == []
        assert memory.admin.digest() == rebuilt_digest(memory.admin)
    assert WORD not in str(rows(database, "events"))


def test_a_subject_without_events_is_forgotten(memory: Memory, database: str) -> None:
    memory.scoped(subject="cleo")
    done = memory.erase(subject="cleo")
    assert (len(done.subjects), done.events) == (1, ())
    assert memory.admin.verify(deep=True).ok
    with pytest.raises(NotFound):
        memory.erase(subject="cleo")


def test_what_is_written_in_the_same_append_as_the_order_is_readable(memory: Memory) -> None:
    """The order takes the key along: the next write, from whichever client, makes another."""
    space = memory._handle.space
    erase = Command(
        id="erase",
        actor=Actor(trust="person"),
        acts=(EraseAll(ids=("first",), subjects=space.subjects.pseudonyms("ann")),),
    )
    text = Remember(text="Back.", id="back", stamp="20260101", chance="abcdefghijklmnop")
    again = Command(id="again", actor=Actor(trust="person", user="ann"), acts=(text,))
    space.submit_all([erase, again], lambda reads, outcome: None)
    memory.admin.rebuild()
    assert [record.id for record in memory.scoped(user="ann").list()] == ["back"]
    space.purge()
    memory.admin.rebuild()
    assert memory.admin.verify(deep=True).ok
    assert [record.id for record in memory.scoped(user="ann").list()] == ["back"]


def held(database: str, wrapped: bytes) -> bool:
    """True if a file of the table of keys, or of its indexes, has these bytes."""
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute("CHECKPOINT")
        (folder,) = owner.execute("SHOW data_directory").fetchone() or ("",)
        paths = owner.execute(
            "SELECT pg_relation_filepath(oid) FROM pg_class WHERE relname LIKE 'subject_keys%'"
        ).fetchall()
    files = [Path(folder, str(path)) for (path,) in paths]
    if not files[0].exists():
        pytest.skip("the server's files are not on this machine")
    return any(wrapped in file.read_bytes() for file in files)


@pytest.mark.parametrize("owned", [True, False], ids=["owner", "token"])
def test_the_pages_of_a_destroyed_key_are_written_again(
    memory: Memory, url: str, database: str, monkeypatch: pytest.MonkeyPatch, owned: bool
) -> None:
    ((_, _, _, tag, key, name, _),) = rows(database, "subject_keys")
    parts = [bytes(one) for one in (tag, key, name)]  # type: ignore[call-overload]
    assert all(held(database, one) for one in parts)
    if not owned:
        allowed = ("read", "write", "erase")
        token = make_token(database, "e", space="bob", trust="person", verbs=allowed)
        monkeypatch.setenv("RECOLLECT_TOKEN", token)
    with Memory.open(url, space="bob", embedder="none") as mine:
        told = mine.erase(subject="ann").places
    assert any(place.startswith("subject_keys and cache_keys: their pages") for place in told)
    assert any("recollect admin vacuum" in place for place in told)
    assert any("until about 1GB more is written" in place for place in told)
    assert not any(held(database, one) for one in parts)


def test_an_open_transaction_that_keeps_the_key_is_told(memory: Memory, database: str) -> None:
    ((_, _, _, _, key, _, _),) = rows(database, "subject_keys")
    with psycopg.connect(database) as old:
        old.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        old.execute("SELECT 1 FROM pg_database")
        told = memory.erase(subject="ann").places
        assert any("open transaction may still see" in place for place in told)
        assert held(database, bytes(key))  # type: ignore[call-overload]


def test_the_next_process_finishes_an_erasure(
    memory: Memory, url: str, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that ended between the order and the bodies, whatever its own token allows."""
    memory.settings.set_subjects(None)
    memory.scoped(user="ann").remember(f"Plain {WORD}")
    with monkeypatch.context() as patch:
        patch.setattr(IndexedSpace, "purge", lambda self: ())
        memory.erase(subject="ann")
    assert WORD in bodies(database)
    monkeypatch.setenv("RECOLLECT_TOKEN", make_token(database, "agent", space="bob"))
    with Memory.open(url, space="bob", embedder="none") as again:
        assert again.list() == []
        assert again.admin.verify(deep=True).ok
    assert WORD not in bodies(database)


def bodies(database: str) -> str:
    with psycopg.connect(database, autocommit=True) as owner:
        found = owner.execute("SELECT encode(line, 'escape') FROM recollect.events").fetchall()
    return str(found)


def test_the_commands_are_those_of_files(url: str, database: str, home: Path) -> None:
    run_ = partial(recollect, url)
    code, said = run_("init", "--store", url, "--subjects", "users")
    assert (code, "Created a memory: space main" in said, "encrypted" in said) == (0, True, True)
    assert "already exists" in run_("init", "--store", url)[1]
    assert run_("remember", f"Ann in {WORD}", "--user", "ann")[0] == 0
    assert WORD not in bodies(database)
    assert run_("proof", "key", "create")[0] == 0
    note = str(home / "ann.note")
    code, said = run_("erase", "--subject", "ann", "--yes", "--certificate", note)
    assert (code, "the key of " in said, "NOT cleaned: the server's write" in said) == (
        0,
        True,
        True,
    )
    assert run_("admin", "verify", "--certificate", note)[0] == 0
    assert run_("erase", "--subject", "ann", "--yes")[0] == 3


def test_a_certificate_says_what_was_erased(memory: Memory) -> None:
    Keys(memory).create()
    done = memory.erase(subject="ann", certificate=True)
    note = done.certificate or ""
    assert done.subjects[0] in note
    assert "write-ahead log" in note
    memory.remember("Later")
    found = memory.proof.check_certificate(note)
    assert (found.ok, found.subjects, found.event) == (True, done.subjects, done.seq)


# Carrying, and backups.


def test_push_brings_the_keys_and_pull_brings_them_back(
    url: str, database: str, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(tmp_path / "w", embedder="none") as mine:
        mine.settings.set_subjects("users")
        mine.scoped(user="ann").remember(f"Ann in {WORD}", id="trip")
        mine.scoped(user="ben").remember("Ben stayed")
        mine.erase(subject="ben")
        with Memory.open(url, embedder="none") as server:
            mine.admin.copy_to(server)
            assert server.admin.digest() == mine.admin.digest()
            assert len(rows(database, "subject_keys")) == 1
            assert mine.admin.copy_to(server).events == 0
            server.scoped(user="ann").remember("Written there")
            server.scoped(user="cleo").remember("Cleo is new")
            assert len(rows(database, "subject_keys")) == 2
            assert server.admin.verify(deep=True).ok
            server.admin.copy_to(mine)
            assert mine.admin.digest() == server.admin.digest() == rebuilt_digest(mine.admin)
    # Another machine, with the master key alone.
    other = tmp_path / "other" / ".recollect"
    other.mkdir(parents=True)
    (other / "master.key").write_bytes((home / ".recollect" / "master.key").read_bytes())
    (other / "master.key").chmod(0o600)
    monkeypatch.setenv("HOME", str(other.parent))
    with Memory.open(url, embedder="none") as server, Memory.open(tmp_path / "v") as mine:
        server.admin.copy_to(mine)
        assert mine.get("trip").text == f"Ann in {WORD}"
        mine.erase(subject="ann")
        mine.admin.copy_to(server)  # the order goes along
        assert [record.text for record in server.list()] == ["Cleo is new"]
        assert len(rows(database, "subject_keys")) == 1
        assert server.admin.verify(deep=True).ok
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    with Memory.open(url, embedder="none") as server, Memory.open(tmp_path / "u") as mine:
        with pytest.raises(KeyMissing, match="master key"):
            server.admin.copy_to(mine)
        assert mine.list() == []


def test_a_push_without_the_keys_is_refused_and_sends_nothing(
    url: str, database: str, tmp_path: Path, home: Path
) -> None:
    with Memory.open(tmp_path / "w", embedder="none") as mine:
        mine.settings.set_subjects("users")
        mine.scoped(user="ann").remember(f"Ann in {WORD}")
    (keys,) = (home / ".recollect" / "subjects").glob("*.json")
    keys.unlink()
    with (
        Memory.open(tmp_path / "w", embedder="none") as mine,
        Memory.open(url) as server,
        pytest.raises(KeyMissing, match="was not erased"),
    ):
        mine.admin.copy_to(server)
    assert rows(database, "events") == rows(database, "subject_keys") == []


def test_a_backup_can_be_read_here_and_brings_nothing_back(
    memory: Memory, database: str, tmp_path: Path, home: Path
) -> None:
    memory.settings.set_subjects("named")
    plain = memory.remember(f"Plain {WORD}")
    memory.scoped(subject="ben").remember("Ben stayed", id="ben")
    made = memory.admin.backup(str(tmp_path / "backup")).path
    (keys,) = (home / ".recollect" / "subjects").glob("*.json")
    with Store.restore_backup(made, tmp_path / "before") as before:
        assert len(before.list()) == 3
    memory.erase(subject="ann")
    memory.erase(plain.id)
    with Store.restore_backup(made, tmp_path / "after") as after:
        assert [record.text for record in after.list()] == ["Ben stayed"]
        assert after.admin.verify(deep=True).ok
    assert [one["by"] for one in json.loads(keys.read_bytes())["destroyed"]] != []


def test_a_dropped_space_leaves_no_key(memory: Memory, url: str, database: str) -> None:
    memory.erase(subject="ann")
    memory.scoped(user="ben").remember("Ben")
    with Store.open(url) as store:
        store.drop("bob")
    assert rows(database, "subject_keys") == rows(database, "destroyed_keys") == []
