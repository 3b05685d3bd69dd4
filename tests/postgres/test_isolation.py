"""Isolation on a server: what a token opens, what it allows, and that no text is ever run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from recollect import Memory, Store
from recollect.errors import Forbidden, NotFound, RecollectError
from recollect.model.events import Trust
from recollect.store.postgres.ledger import PostgresLedger

CANARY = "canary7f3a"
EVERYTHING = ("read", "write", "erase")
ATTACKS = (
    "SET search_path = recollect",
    "SELECT set_config('recollect.dropping', '1', false)",
    "DELETE FROM recollect.tokens",
    "x'; DROP SCHEMA recollect CASCADE; --",
    "'); DELETE FROM versions; --",
    "%(named)s :space $1 ? %s",
)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """The owner's store: alice's space with a canary in every kind of row, and bob's beside it."""
    with Store.open(url, embedder="none") as store:
        for name, word in (("alice", CANARY), ("bob", "nothing")):
            memory = store.space(name)
            said = memory.observe(f"{word} was said", role="user", id=f"e-{word}")
            record = memory.remember(
                f"{word} holds", key=word, tags=[word], evidence=[said[0].id], id=f"r-{word}"
            )
            other = memory.remember(f"{word} too", about=word)
            memory.graph.link(record.id, other.id, "relates_to")
            memory.revise(record.id, f"{word} held")
            memory.forget(said[0].id)
        yield store


def entered(
    store: Store,
    space: str,
    *,
    verbs: tuple[str, ...] = EVERYTHING,
    origin: Trust = "person",
    user: str | None = None,
) -> Store:
    """The store for the holder of a new token."""
    made = store.tokens.create("t", space=space, verbs=verbs, trust=origin, user=user)
    return store.entered(made.token)


def test_a_token_opens_its_own_space(store: Store) -> None:
    assert CANARY in str(entered(store, "alice").space("alice").recall(CANARY))
    bob = entered(store, "bob")
    assert bob.spaces() == ["bob"]
    said = set()
    for name in ("alice", "nobody"):
        with pytest.raises(NotFound) as refusal:
            bob.space(name).list()
        said.add(refusal.value.message.replace(name, ""))
    assert len(said) == 1  # whether there is such a space is not told
    assert store.spaces() == ["alice", "bob"]


def every_text(store: Store, memory: Memory, id: str, text: str) -> list[Callable[[], object]]:
    """Calls with this in each place where a call takes a text."""
    return [
        lambda: memory.recall(text),
        lambda: memory.list(filter=f"text = {text!r}"),
        lambda: memory.list(filter=text),
        lambda: memory.get(text),
        lambda: memory.revise(id, tags=[text]),
        lambda: memory.revise(id, text, reason=text),
        lambda: memory.observe(text, role="user", metadata={"a": text}),
        lambda: memory.scoped(user=text, session=text, agent=text).list(),
        lambda: memory.remember("x", idempotency_key=text),
        lambda: memory.at(text),
        lambda: store.space(text).list(),
        lambda: store.entered(text).spaces(),
    ]


def test_no_text_of_a_caller_is_ever_run(store: Store) -> None:
    """Statements in every text that a call takes: kept or refused as text, and nothing crosses."""
    bobs = entered(store, "bob")
    bob = bobs.space("bob")
    for attack in ATTACKS:
        record = bob.remember(attack, key=attack, about=attack, tags=["t"], data={"a": attack})
        assert bob.get(record.id).text == attack
        for ask in every_text(bobs, bob, record.id, attack):
            with suppress(RecollectError):
                assert CANARY not in repr(ask())
        assert CANARY not in repr(bob.list(limit=1_000)), attack
        assert not bob.recall(CANARY).hits, attack
    assert bob.admin.verify(deep=True).ok
    assert CANARY in repr(store.space("alice").list())  # the control
    assert store.space("alice").admin.verify(deep=True).ok


def test_a_token_that_reads_writes_nothing(store: Store) -> None:
    mine = entered(store, "alice", verbs=("read",)).space("alice")
    before = store.space("alice").events.position
    with pytest.raises(Forbidden):
        mine.remember("not allowed")
    with pytest.raises(Forbidden):
        mine.settings.presets.set({**mine.settings.presets.get("task").to_dict(), "name": "mine"})
    packed = mine.context(mine.list()[0].text)
    assert packed.text
    assert packed.receipt is None  # a token that may only read writes no receipt
    mine.admin.flush()
    assert store.space("alice").events.position == before


def test_an_agents_token_gives_no_more_than_it_says(store: Store) -> None:
    verbs = ("read", "write")
    mine = entered(store, "alice", verbs=verbs, origin="agent", user="ann").space("alice")
    record = mine.remember("an agent says")
    assert (record.trust, record.scope.user) == ("agent", "ann")
    with pytest.raises(RecollectError):
        mine.scoped(trust="person")
    with pytest.raises(Forbidden):
        mine.erase(record.id)


def test_a_token_without_erase_is_told_so_whatever_it_erases_by(store: Store) -> None:
    store.space("alice").remember("The seat is 14C.", key="seat")
    no = entered(store, "alice", verbs=("read", "write")).space("alice")
    record = no.remember("an id", key="other")
    for wish in ({"id": record.id}, {"key": "seat"}, {"filter": "key = 'seat'"}):
        with pytest.raises(Forbidden, match="this token may not erase in 'alice'"):
            no.erase(**wish)  # type: ignore[arg-type]
    assert entered(store, "alice").space("alice").erase(key="seat").records  # the control


def test_a_token_that_is_revoked_in_a_call_ends_with_that_call(
    store: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Revoked by another process after the look at the token, before the append."""
    mine = entered(store, "alice").space("alice")
    real, revoked = PostgresLedger.append, list[int]()

    def late(self: PostgresLedger, *given: Any) -> bool:
        if not revoked:
            with Store.open(url, embedder="none") as other:
                revoked.append(other.tokens.revoke("t"))
        return real(self, *given)

    monkeypatch.setattr(PostgresLedger, "append", late)
    made = mine.remember("This call had begun.")
    assert revoked == [1]
    before = store.space("alice").events.position
    for call in (mine.list, lambda: mine.remember("No."), lambda: mine.get(made.id)):
        with pytest.raises(Forbidden, match="revoked"):
            call()
    assert store.space("alice").events.position == before
    assert store.space("alice").get(made.id).text == "This call had begun."


def test_a_revoked_token_opens_nothing(store: Store) -> None:
    mine = entered(store, "alice").space("alice")
    assert mine.list()
    assert store.tokens.revoke("t") == 1
    with pytest.raises(Forbidden, match="revoked"):
        mine.list()
