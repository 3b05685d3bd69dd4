"""Tokens: the suite of the port, and of a store that is entered with one.

Responsible for ``Store.tokens`` on every engine. Leaves where tokens are kept to the tests of the
engines. Invariant: each test is a sentence about a token.
"""

from __future__ import annotations

import time
from datetime import timedelta

import msgspec
import pytest

from recollect.errors import (
    Ambiguous,
    Forbidden,
    InvalidInput,
    NotFound,
    Unavailable,
    Unsupported,
)
from recollect.lifecycle.commands import Actor
from recollect.memory import Memory, Store
from recollect.memory.handle.handle import Handle, handle_of
from recollect.model.values import MadeToken, Token
from recollect.store.port import Backend
from recollect.store.tokens.tokens import hash_of

PAST = "2020-01-01T00:00:00.000000Z"
FUTURE = "2199-01-01T00:00:00.000000Z"


def shown(made: MadeToken) -> Token:
    """What everybody may see of a new token."""
    fields = msgspec.structs.asdict(made)
    del fields["token"]
    return Token(**fields)


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
        assert (made.space, made.verbs, made.trust) == ("alice", ("read", "write"), "agent")
        assert (made.user, made.agent, made.expires, made.live) == ("ann", None, FUTURE, True)
        assert store.tokens.list() == [shown(made)]
        assert store.tokens.get("laptop") == store.tokens.get(made.id) == shown(made)
        hash = hash_of(made.token)
        said = str([token.to_dict() for token in store.tokens.list()])
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
            store.tokens.create("x", space="alice", trust="god")  # type: ignore[arg-type]
        assert store.tokens.list() == []
        assert store.spaces() == []

    def test_two_tokens_of_a_label_differ_and_end_together_or_by_id(self, store: Store) -> None:
        first, second, third = (store.tokens.create("ci", space="alice") for _ in range(3))
        assert len({first.token, second.token, third.token}) == 3
        assert store.tokens.revoke(second.id) == 1
        assert [token.live for token in store.tokens.list()] == [True, False, True]
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
        same = ("label", "space", "verbs", "trust", "user", "agent")
        assert [getattr(new, name) for name in same] == [getattr(old, name) for name in same]
        assert new.token != old.token
        assert new.id > old.id
        ending = store.tokens.get(old.id)
        assert ending.live
        assert str(old.expires) > str(ending.expires) > new.made
        assert str(new.expires) > str(old.expires)  # it lives as long as the old one was to
        assert store.tokens.list() == [ending, shown(new)]

    def test_a_token_that_is_rotated_without_an_overlap_ends_at_once(self, store: Store) -> None:
        old = store.tokens.create("service", space="alice")
        new = store.tokens.rotate(old.id, overlap=timedelta(0))
        assert new.expires is None
        assert [token.live for token in store.tokens.list()] == [False, True]
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
        live = {token.label: token.live for token in store.tokens.list()}
        assert live == {"mine": False, "other": True, "all": True}
        assert store.tokens.get(kept.id).revoked is None


class EnteredSuite:
    """A store that is entered with a token allows what the token does."""

    @pytest.fixture
    def store(self) -> Store:
        """An empty store of its owner; defined by subclasses."""
        raise NotImplementedError

    def test_a_token_opens_its_own_space(self, store: Store) -> None:
        token = store.tokens.create("a", space="alice").token
        store.space("bob").remember("Bob's.")
        mine = store.entered(token)
        assert mine.spaces() == ["alice"]
        assert mine.space("alice").remember("One.").trust == "agent"
        assert [record.text for record in store.space("alice").list()] == ["One."]
        me = mine.token()
        assert me is not None
        assert (me.label, me.space, me.live) == ("a", "alice", True)
        assert store.token() is None

    def test_what_belongs_to_others_and_what_is_not_there_look_the_same(self, store: Store) -> None:
        token = store.tokens.create("a", space="alice").token
        store.space("bob").remember("Bob's.")
        mine = store.entered(token)
        said = set()
        for name in ("bob", "nobody"):
            for create in (True, False):
                with pytest.raises(NotFound) as refusal:
                    mine.space(name, create=create).list()
                said.add(str(refusal.value).replace(name, ""))
            for call in (mine.drop, lambda name: mine.drop(name, dry_run=True)):
                with pytest.raises(NotFound) as refusal:
                    call(name)
                said.add(str(refusal.value).replace(name, ""))
        assert len(said) == 1
        assert store.space("bob").list()[0].text == "Bob's."
        assert "nobody" not in store.spaces()

    def test_a_token_for_every_space_creates_one_only_if_it_may(self, store: Store) -> None:
        store.tokens.create("a", space="alice")
        for verbs, outcome in ((["read", "write"], "refused"), (["write", "create"], "created")):
            mine = store.entered(store.tokens.create("all", space=None, verbs=verbs).token)
            assert mine.spaces() == ["alice"]
            if outcome == "refused":
                with pytest.raises(NotFound):
                    mine.space("new").remember("One.")
                assert store.spaces() == ["alice"]
            else:
                mine.space("new").remember("One.")
                assert mine.spaces() == store.spaces() == ["alice", "new"]

    def test_a_token_writes_with_its_trust_at_most(self, store: Store) -> None:
        for trust in ("unverified", "agent", "person"):
            token = store.tokens.create("a", space="alice", trust=trust).token
            memory = store.entered(token).space("alice")
            assert memory.scope.trust == trust
            assert memory.remember(f"As {trust}.").trust == trust
            if trust != "person":
                with pytest.raises(Forbidden):
                    memory.scoped(trust="person")
            forged = Memory(Handle(handle_of(memory).space, actor=Actor(trust="person")))
            if trust != "person":
                with pytest.raises(Forbidden):
                    forged.remember("As a person.")
        assert "As a person." not in str(store.space("alice").list(include=["waiting"]))

    def test_a_token_that_reads_writes_nothing(self, store: Store) -> None:
        owner = store.space("alice")
        record = owner.remember("One.", key="k")
        token = store.tokens.create("a", space="alice", verbs=["read"], trust="person").token
        memory = store.entered(token).space("alice")
        assert memory.recall("One").hits
        assert memory.context("One").receipt is None
        before = owner.events.position
        for call in (
            lambda: memory.remember("Two."),
            lambda: memory.observe("Two.", role="user"),
            lambda: memory.revise(record.id, "Two."),
            lambda: memory.forget(record.id),
            lambda: memory.erase(record.id),
            memory.admin.rebuild,
            memory.admin.seal,
            lambda: memory.settings.set_subjects("users"),
        ):
            with pytest.raises((Forbidden, Unsupported)):
                call()
        memory.admin.flush()
        assert owner.events.position == before

    def test_erasing_reviewing_and_dropping_need_their_verbs(self, store: Store) -> None:
        owner = store.space("alice")
        writes = {"space": "alice", "trust": "person"}
        plain = store.entered(store.tokens.create("w", **writes).token)  # type: ignore[arg-type]
        verbs = ["write", "erase", "drop", "review"]
        whole = store.entered(
            store.tokens.create("all", verbs=verbs, **writes).token  # type: ignore[arg-type]
        )
        for mine, allowed in ((plain, False), (whole, True)):
            memory = mine.space("alice")
            record = memory.remember(f"One of {allowed}.")
            held = owner.scoped(trust="unverified").remember(f"Held {allowed}.")
            shown = memory.review.show(held.id)
            if allowed:
                memory.review.approve(held.id, digest=shown.digest)
                memory.erase(record.id)
                mine.drop("alice")
                continue
            with pytest.raises(Forbidden, match="review"):
                memory.review.approve(held.id, digest=shown.digest)
            with pytest.raises(Forbidden, match="erase"):
                memory.erase(record.id)
            with pytest.raises(Forbidden, match="drop"):
                mine.drop("alice")

    def test_a_token_for_one_user_reads_and_writes_for_that_user(self, store: Store) -> None:
        owner = store.space("alice")
        bobs = owner.scoped(user="bob").remember("Bob's canary.", key="k", id="r-bob")
        token = store.tokens.create("a", space="alice", user="ann", agent="planner").token
        memory = store.entered(token).space("alice")
        assert memory.scope.user == "ann"
        assert memory.remember("Ann's.", key="k").scope.user == "ann"
        assert [record.text for record in memory.list()] == ["Ann's."]
        assert "canary" not in str(memory.recall("Which one is Bob's?"))
        with pytest.raises(Forbidden):
            memory.scoped(user="bob")
        with pytest.raises(Forbidden):
            memory.scoped(agent="other")
        said = set()
        for id in (bobs.id, "r-nobody"):
            with pytest.raises(NotFound) as refusal:
                memory.get(id)
            said.add(str(refusal.value).replace(id, ""))
        assert len(said) == 1
        for call in (
            memory.admin.verify,
            memory.admin.rebuild,
            memory.admin.digest,
            memory.admin.backup,
        ):
            with pytest.raises(Forbidden):
                call()
        assert owner.get(bobs.id).text == "Bob's canary."

    def test_a_revoked_or_expired_token_opens_nothing_from_the_next_call_on(
        self, store: Store
    ) -> None:
        keeps = store.tokens.create("keeps", space="alice").token
        made = store.tokens.create("ends", space="alice", expires=timedelta(seconds=4))
        kept, ends = store.entered(keeps).space("alice"), store.entered(made.token).space("alice")
        ends.remember("One.")
        time.sleep(4.1)
        with pytest.raises(Forbidden, match="expired"):
            ends.list()
        with pytest.raises(Forbidden, match="expired"):
            ends.remember("Two.")
        kept.remember("Three.")
        store.tokens.revoke("keeps")
        for call in (kept.list, lambda: kept.remember("Four."), lambda: kept.recall("One")):
            with pytest.raises(Forbidden, match="revoked"):
                call()
        with pytest.raises(Forbidden, match="revoked"):
            store.entered(keeps).spaces()
        assert [record.text for record in store.space("alice").list()] == ["Three.", "One."]

    def test_a_rotated_token_and_the_one_in_its_place_both_work_until_the_old_one_ends(
        self, store: Store
    ) -> None:
        old = store.tokens.create("a", space="alice")
        new = store.tokens.rotate("a", overlap=timedelta(seconds=4))
        for made in (old, new):
            store.entered(made.token).space("alice").remember(f"With {made.id}.")
        time.sleep(4.1)
        store.entered(new.token).space("alice").remember("Later.")
        with pytest.raises(Forbidden, match="expired"):
            store.entered(old.token).space("alice").list()

    def test_a_token_of_another_store_opens_nothing(self, store: Store) -> None:
        store.tokens.create("a", space="alice")
        mine = store.entered("rct_" + "x" * 43)
        for call in (mine.spaces, lambda: mine.space("alice").list(), mine.token):
            with pytest.raises(Forbidden, match="is not one of this"):
                call()

    def test_a_token_may_be_pasted_with_space_around_it_and_not_in_it(self, store: Store) -> None:
        token = store.tokens.create("a", space="alice").token
        for pasted in (f" {token}\n", f'"{token}"', f"'{token}' "):
            assert store.entered(pasted).spaces() == ["alice"]
        for broken in ("", " ", f"{token[:20]} {token[20:]}", f"{token[:20]}\n{token[20:]}"):
            with pytest.raises(InvalidInput) as refusal:
                store.entered(broken)
            assert token[:20] not in str(refusal.value)

    def test_closing_an_entered_store_leaves_the_other_open(self, store: Store) -> None:
        token = store.tokens.create("a", space="alice").token
        with store.entered(token) as mine:
            memory = mine.space("alice")
            memory.remember("One.")
            memory.close()
            with pytest.raises(Unavailable):
                memory.list()
            assert mine.space("alice").list()
        assert store.entered(token).space("alice").list()
        assert store.space("alice").list()

    def test_the_space_of_a_dropped_one_is_not_entered_by_its_old_token(self, store: Store) -> None:
        mine = store.tokens.create("a", space="alice").token
        every = store.tokens.create("all", space=None).token
        first, second = (store.entered(token).space("alice") for token in (mine, every))
        first.remember("One.")
        second.list()
        store.drop("alice")
        store.space("alice").remember("Another's.")
        with pytest.raises(Forbidden, match="revoked"):
            first.list()
        with pytest.raises((NotFound, Unavailable)):
            second.list()
        assert store.entered(every).space("alice").list()[0].text == "Another's."

    def test_a_token_looks_after_others_only_if_it_may(self, store: Store) -> None:
        plain = store.entered(store.tokens.create("w", space="alice", trust="person").token)
        for call in (
            plain.tokens.list,
            lambda: plain.tokens.create("x", space="alice"),
            lambda: plain.tokens.rotate("w"),
            lambda: plain.tokens.revoke("w"),
        ):
            with pytest.raises(Forbidden, match="may not look after tokens"):
                call()
        assert [token.label for token in store.tokens.list()] == ["w"]

    def test_a_token_gives_no_rights_that_it_does_not_have(self, store: Store) -> None:
        store.tokens.create("bob's", space="bob")
        strong = store.tokens.create("strong", space="alice", verbs=["write", "erase"])
        admin = store.entered(self.admin(store, "alice"))
        for verbs in (["erase"], ["write", "erase"], ["write", "review"]):
            with pytest.raises((Forbidden, InvalidInput)):
                admin.tokens.create("x", space="alice", verbs=verbs, trust="person")
        with pytest.raises(Forbidden, match="no rights that it does not have"):
            admin.tokens.create("x", space=None)
        with pytest.raises(Forbidden, match="no rights that it does not have"):
            admin.tokens.rotate(strong.id)
        said = set()
        for name in ("bob", "nobody"):
            with pytest.raises(NotFound) as refusal:
                admin.tokens.create("x", space=name)
            said.add(str(refusal.value).replace(name, ""))
        assert len(said) == 1
        assert {token.label for token in store.tokens.list()} == {"bob's", "strong", "admin"}
        assert store.tokens.get(strong.id).live
        assert sorted(store.spaces()) == ["alice", "bob"]

    def test_tokens_of_another_space_look_like_none(self, store: Store) -> None:
        bobs = store.tokens.create("bob's", space="bob")
        every = store.tokens.create("every", space=None)
        admin = store.entered(self.admin(store, "alice"))
        assert [token.label for token in admin.tokens.list()] == ["admin"]
        for call in (admin.tokens.get, admin.tokens.rotate, admin.tokens.revoke):
            said = set()
            for which in (bobs.id, every.id, "bob's", "every", 4711):
                with pytest.raises(NotFound) as refusal:
                    call(which)
                said.add(str(refusal.value).replace(repr(str(which)), ""))
            assert len({text.replace('"bob\'s"', "") for text in said}) == 1
        assert store.tokens.get(bobs.id).live

    def test_an_admin_that_ends_creates_none_that_lasts_longer(self, store: Store) -> None:
        day = timedelta(days=1)
        verbs = ["read", "write", "admin"]
        made = store.tokens.create("brief", space="alice", verbs=verbs, trust="person", expires=day)
        admin = store.entered(made.token)
        for expires in (None, 2 * day):
            with pytest.raises(Forbidden):
                admin.tokens.create("x", space="alice", expires=expires)
        assert admin.tokens.create("x", space="alice", expires=day / 2).live

    def test_an_admin_creates_lists_rotates_and_revokes(self, store: Store) -> None:
        admin = store.entered(self.admin(store, "alice"))
        made = admin.tokens.create("x", space="alice", user="ann", expires=timedelta(days=1))
        assert store.entered(made.token).space("alice").remember("One.").scope.user == "ann"
        assert admin.tokens.get("x") == shown(made)
        new = admin.tokens.rotate("x", overlap=timedelta(0))
        with pytest.raises(Forbidden, match="revoked"):
            store.entered(made.token).spaces()
        assert store.entered(new.token).spaces() == ["alice"]
        assert admin.tokens.revoke("x") == 1
        with pytest.raises(Forbidden, match="revoked"):
            store.entered(new.token).spaces()
        assert [token.label for token in admin.tokens.list()] == ["admin", "x", "x"]
        assert admin.tokens.revoke("admin") == 1
        with pytest.raises(Forbidden, match="revoked"):
            admin.tokens.list()

    def test_an_admin_of_every_space_creates_spaces_only_if_it_may(self, store: Store) -> None:
        for verbs in (["write", "admin"], ["write", "create", "admin"]):
            made = store.tokens.create("a", space=None, verbs=verbs, trust="person")
            admin = store.entered(made.token)
            if "create" in verbs:
                token = admin.tokens.create("x", space="new").token
                store.entered(token).space("new").remember("One.")
                continue
            with pytest.raises(NotFound):
                admin.tokens.create("x", space="new")
            assert "new" not in store.spaces()

    def admin(self, store: Store, space: str) -> str:
        """A token that reads, writes and looks after others."""
        verbs = ["read", "write", "admin"]
        return store.tokens.create("admin", space=space, verbs=verbs, trust="person").token
