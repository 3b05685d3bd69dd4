"""Tokens: the suite of the port, and of a store that is entered with one.

Responsible for ``Store.tokens`` on every engine. Leaves what the server enforces against
hand-written SQL to the tests of PostgreSQL. Invariant: each test is a sentence about a token.
"""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from recollect.errors import Ambiguous, InvalidInput, NotFound
from recollect.memory import Store
from recollect.model.values import MadeToken, Token
from recollect.store.port import Backend
from recollect.store.tokens import hash_of

PAST = "2020-01-01T00:00:00.000000Z"
FUTURE = "2999-01-01T00:00:00.000000Z"


def shown(made: MadeToken) -> Token:
    """What everybody may see of a new token."""
    fields = msgspec.structs.asdict(made)
    del fields["token"]
    return Token(**fields)


def listed(store: Store) -> list[Token]:
    """Every token but those that a server's owner has for the life of a process."""
    return [token for token in store.tokens.list() if token.label != "session"]


class TokensSuite:
    """Tokens are created, listed, replaced and revoked."""

    @pytest.fixture
    def store(self) -> Store:
        """An empty store; defined by subclasses."""
        raise NotImplementedError

    def test_a_token_is_shown_once_and_stored_as_a_hash(self, store: Store) -> None:
        made = store.tokens.create("laptop", space="alice", user="ann", expires=FUTURE)
        assert made.token.startswith("rct_")
        assert len(made.token) == len("rct_") + 43  # 256 bits
        assert made.token not in repr(made)
        assert (made.space, made.verbs, made.origin) == ("alice", ("read", "write"), "agent")
        assert (made.user, made.agent, made.expires, made.live) == ("ann", None, FUTURE, True)
        assert listed(store) == [shown(made)]
        assert store.tokens.get("laptop") == store.tokens.get(made.id) == shown(made)
        hash = hash_of(made.token)
        said = str([token.to_dict() for token in listed(store)])
        for secret in (made.token, made.token[4:], hash.hex()):
            assert secret not in said

    def test_a_token_is_found_by_its_hash(self, backend: Backend) -> None:
        made = backend.tokens().create("laptop", space="alice")
        assert backend.tokens().find(hash_of(made.token)) == shown(made)
        assert backend.tokens().find(hash_of(made.token + "x")) is None

    def test_a_token_for_one_space_creates_it(self, store: Store) -> None:
        assert store.spaces() == []
        store.tokens.create("laptop", space="alice")
        assert "alice" in store.spaces()
        store.tokens.create("all", space=None, verbs=["read", "write", "create"])
        assert store.spaces() == ["alice"]

    def test_what_no_token_can_have_is_refused(self, store: Store) -> None:
        for verbs in (["read", "fly"], ["write", "create"], ["erase"], ["read", "drop"]):
            with pytest.raises(InvalidInput):
                store.tokens.create("x", space="alice", verbs=verbs)
        for label in ("17", "", "rct_" + "a" * 43):
            with pytest.raises(InvalidInput):
                store.tokens.create(label, space="alice")
        for expires in (PAST, timedelta(seconds=-1)):
            with pytest.raises(InvalidInput):
                store.tokens.create("x", space="alice", expires=expires)
        with pytest.raises(InvalidInput):
            store.tokens.create("x", space="alice", origin="god")  # type: ignore[arg-type]
        assert listed(store) == []
        assert store.spaces() == []

    def test_two_tokens_of_a_label_differ_and_end_together_or_by_id(self, store: Store) -> None:
        first, second, third = (store.tokens.create("ci", space="alice") for _ in range(3))
        assert len({first.token, second.token, third.token}) == 3
        assert store.tokens.revoke(second.id) == 1
        assert [token.live for token in listed(store)] == [True, False, True]
        with pytest.raises(Ambiguous, match="3 tokens"):
            store.tokens.get("ci")
        with pytest.raises(Ambiguous) as refusal:
            store.tokens.rotate("ci")
        assert f"{first.id}, {third.id}" in str(refusal.value.hint)
        assert store.tokens.revoke("ci") == 2
        with pytest.raises(NotFound, match="no valid token 'ci'"):
            store.tokens.revoke("ci")

    def test_a_rotated_token_is_followed_by_one_that_allows_the_same(self, store: Store) -> None:
        old = store.tokens.create(
            *("service",), space="alice", user="ann", agent="bot", expires=timedelta(days=30)
        )
        new = store.tokens.rotate("service", overlap=timedelta(hours=2))
        same = ("label", "space", "verbs", "origin", "user", "agent")
        assert [getattr(new, name) for name in same] == [getattr(old, name) for name in same]
        assert new.token != old.token
        assert new.id > old.id
        ending = store.tokens.get(old.id)
        assert ending.live
        assert str(old.expires) > str(ending.expires) > new.made
        assert str(new.expires) > str(old.expires)  # it lives as long as the old one was to
        assert listed(store) == [ending, shown(new)]

    def test_a_token_that_is_rotated_without_an_overlap_ends_at_once(self, store: Store) -> None:
        old = store.tokens.create("service", space="alice")
        new = store.tokens.rotate(old.id, overlap=timedelta(0))
        assert new.expires is None
        assert [token.live for token in listed(store)] == [False, True]
        with pytest.raises(NotFound):
            store.tokens.rotate(old.id)
        for overlap in (timedelta(seconds=-1), timedelta(days=31)):
            with pytest.raises(InvalidInput, match="overlap"):
                store.tokens.rotate("service", overlap=overlap)

    def test_an_overlap_does_not_prolong_a_token(self, store: Store) -> None:
        old = store.tokens.create("short", space="alice", expires=timedelta(minutes=5))
        store.tokens.rotate("short", overlap=timedelta(days=1))
        assert store.tokens.get(old.id).expires == old.expires

    def test_a_token_is_not_named_by_itself(self, store: Store) -> None:
        made = store.tokens.create("laptop", space="alice")
        for call in (store.tokens.get, store.tokens.rotate, store.tokens.revoke):
            for pasted in (made.token, f" {made.token}\n", f'"{made.token}"'):
                with pytest.raises(InvalidInput, match="is a token") as refusal:
                    call(pasted)
                assert made.token not in str(refusal.value)
        assert store.tokens.get("laptop").live

    def test_a_label_that_nobody_has_is_told_so(self, store: Store) -> None:
        for call in (store.tokens.get, store.tokens.rotate, store.tokens.revoke):
            with pytest.raises(NotFound) as refusal:
                call("labtop")
            assert "recollect admin token list" in str(refusal.value.hint)

    def test_a_dropped_space_takes_its_tokens_along(self, store: Store) -> None:
        store.tokens.create("mine", space="alice")
        kept = store.tokens.create("other", space="bob")
        store.tokens.create("all", space=None)
        store.drop("alice")
        live = {token.label: token.live for token in listed(store)}
        assert live == {"mine": False, "other": True, "all": True}
        assert store.tokens.get(kept.id).revoked is None
