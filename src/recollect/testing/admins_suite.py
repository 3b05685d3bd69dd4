"""Tokens that look after others: the suite of what they may not gain.

Responsible for rotating, for who did it, and for the room of a store, on every engine. Leaves what
a token allows to ``tokens_suite``. Invariant: none of it depends on the engine.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from recollect.errors import LimitExceeded
from recollect.memory import Store


class AdminsSuite:
    """What a token with the verb ``admin`` may do to others, and for how long."""

    @pytest.fixture
    def store(self) -> Store:
        """An empty store; defined by subclasses."""
        raise NotImplementedError

    def test_rotating_gives_no_admin_more_than_its_own_time(self, store: Store) -> None:
        owners = store.tokens.create("the owner's job", space="alice", trust="person")
        minute = store.tokens.create(
            "contractor", space="alice", verbs=["read", "write", "admin"], trust="person",
            expires=timedelta(minutes=1),
        )  # fmt: skip
        admin = store.entered(minute.token)
        day = admin.tokens.create("a day", space="alice", expires=timedelta(seconds=30))
        for which in (str(owners.id), str(minute.id), str(day.id)):  # another's, itself, its own
            made = admin.tokens.rotate(which)
            assert made.expires is not None
            assert minute.expires is not None
            assert made.expires <= minute.expires
            assert made.by == minute.id
            again = store.entered(made.token)
            if "admin" in made.verbs:  # the one in its place rotates once more
                assert again.tokens.rotate(str(made.id)).expires == made.expires

    def test_control_an_owner_rotates_without_an_end_and_within_the_life_of_before(
        self, store: Store
    ) -> None:
        forever = store.tokens.create("forever", space="alice")
        found = store.tokens.rotate(forever.id)
        assert (found.expires, found.by) == (None, None)
        hour = store.tokens.create("hour", space="alice", expires=timedelta(hours=1))
        assert store.tokens.rotate(hour.id).expires is not None

    def test_an_admin_of_one_space_leaves_room_for_the_others(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("recollect.store.tokens.admins.OF_A_SPACE_MAX_COUNT", 5)
        admin = store.entered(self.admin(store, "alice"))
        for number in range(4):
            admin.tokens.create(f"t{number}", space="alice")
        with pytest.raises(LimitExceeded):
            admin.tokens.create("one more", space="alice")
        with pytest.raises(LimitExceeded):  # the same by rotating, while both are valid
            admin.tokens.rotate("t0", overlap=timedelta(hours=1))
        assert admin.tokens.rotate("t0", overlap=timedelta(0)).live
        assert store.tokens.create("the owner's", space="alice").live
        store.tokens.create("another space's", space="bob")
        admin.tokens.revoke("t1")
        admin.tokens.revoke("t2")
        assert admin.tokens.create("in its place", space="alice").live  # the control

    def test_who_created_or_rotated_a_token_is_listed(self, store: Store) -> None:
        admin = store.entered(self.admin(store, "alice"))
        mine = admin.tokens.list()[0].id
        made = admin.tokens.create("x", space="alice")
        new = admin.tokens.rotate("x", overlap=timedelta(0))
        told = {each.id: each.by for each in store.tokens.list()}
        assert told == {mine: None, made.id: mine, new.id: mine}

    def test_erasing_a_person_names_the_tokens_that_are_left(self, store: Store) -> None:
        memory = store.space("alice")
        memory.scoped(user="Zoe").remember("Tea is at four.")
        memory.scoped(user="bob").remember("Coffee is at five.")
        mine = store.tokens.create("phone", space="alice", user="Zoe")
        named = store.tokens.create("zoe's laptop", space=None)
        store.tokens.create("of another space", space="bob", user="Zoe")
        other = store.tokens.create("bob's", space="alice", user="bob")
        store.tokens.revoke(mine.id)
        (left,) = [each for each in memory.erase(user="Zoe").places if "token" in each]
        assert left.startswith("NOT removed")
        assert f"({mine.id}, {named.id})" in left
        assert "1 can still be used" in left
        assert "zoe" not in left.casefold()  # the name is what was to go
        store.tokens.revoke(other.id)
        store.tokens.rotate(named.id, overlap=timedelta(0))

    def test_control_erasing_somebody_without_a_token_names_none(self, store: Store) -> None:
        memory = store.space("alice")
        memory.scoped(user="Zoe").remember("Tea is at four.")
        store.tokens.create("phone", space="alice", user="bob")
        assert not any("token" in each for each in memory.erase(user="Zoe").places)

    def test_a_person_s_token_that_erases_is_told_the_same(self, store: Store) -> None:
        verbs = ["read", "write", "erase"]
        token = store.tokens.create("desk", space="alice", verbs=verbs, trust="person").token
        memory = store.entered(token).space("alice")
        memory.scoped(user="Zoe").remember("Tea is at four.")
        store.tokens.create("phone", space="alice", user="Zoe")
        assert any(
            "NOT removed" in each and "token" in each for each in memory.erase(user="Zoe").places
        )

    def admin(self, store: Store, space: str) -> str:
        """A token that reads, writes and looks after others."""
        verbs = ["read", "write", "admin"]
        return store.tokens.create("admin", space=space, verbs=verbs, trust="person").token
