"""The conformance suite of places for the keys of subjects.

Subclass ``SubjectKeysSuite`` and define a fixture ``place``: a function from the name of a ledger
to its keys. At first there are none; the same name again opens the same keys.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from recollect.errors import KeyMissing
from recollect.ledger.cipher import KEY_BYTES
from recollect.store.keys.subjects import Named, SubjectKeys

LEDGER, OTHER = "a1" * 32, "b2" * 32
NAMES = ("ann", "Ann", "bob", "Zoë Müller", "日本", "a/../b", 'quote " and \\', "x" * 200)

Place = Callable[[str], SubjectKeys]


def key(keys: SubjectKeys, one: Named) -> bytes:
    """A key that must be there."""
    found = keys.key(one.pseudonym, one.cipher)
    assert found is not None
    return found


class SubjectKeysSuite:
    """Every place for the keys of subjects passes this."""

    def test_a_user_has_no_subject_before_one_is_added(self, place: Place) -> None:
        keys = place(LEDGER)
        assert keys.named("ann") == []
        keys.add("bob")
        assert keys.named("ann") == []
        assert keys.destroyed() == {}

    def test_each_subject_has_a_pseudonym_and_a_key_of_its_own(self, place: Place) -> None:
        keys = place(LEDGER)
        made = [keys.add(name) for name in NAMES]
        assert [keys.named(name) for name in NAMES] == [[one] for one in made]
        found = {key(keys, one) for one in made}
        assert len(found) == len({one.pseudonym for one in made}) == len(NAMES)
        assert {len(one) for one in found} == {KEY_BYTES}
        for one in made:
            assert bytes.fromhex(one.pseudonym).hex() == one.pseudonym
            assert len(one.pseudonym) == 32
            assert one.cipher >= 1

    def test_the_subjects_of_a_user_are_told_oldest_first(self, place: Place) -> None:
        keys = place(LEDGER)
        made = [keys.add("ann") for _ in range(3)]
        assert keys.named("ann") == place(LEDGER).named("ann") == made

    def test_a_key_is_the_same_when_the_place_is_opened_again(self, place: Place) -> None:
        one = place(LEDGER).add("ann")
        found = {key(place(LEDGER), one) for _ in range(3)}
        assert len(found) == 1
        assert place(LEDGER).named("ann") == [one]

    def test_a_key_that_is_not_known_is_missing(self, place: Place) -> None:
        keys = place(LEDGER)
        one = keys.add("ann")
        for pseudonym, cipher in (("0" * 32, 1), (one.pseudonym, one.cipher + 1)):
            with pytest.raises(KeyMissing) as raised:
                keys.key(pseudonym, cipher)
            assert pseudonym in str(raised.value)
            assert raised.value.hint

    def test_a_destroyed_key_is_not_a_missing_one(self, place: Place) -> None:
        keys = place(LEDGER)
        one = keys.add("ann")
        assert key(keys, one)
        keys.destroy([one.pseudonym], 7)
        for opened in (keys, place(LEDGER)):
            assert opened.key(one.pseudonym, one.cipher) is None
            assert opened.destroyed() == {one.pseudonym: 7}

    def test_a_destroyed_subject_has_no_name_any_more(self, place: Place) -> None:
        keys = place(LEDGER)
        old = keys.add("ann")
        keys.destroy([old.pseudonym], 7)
        assert keys.named("ann") == place(LEDGER).named("ann") == []
        new = keys.add("ann")
        assert keys.named("ann") == [new]
        assert new.pseudonym != old.pseudonym

    def test_the_first_order_to_destroy_a_key_is_the_one_that_is_kept(self, place: Place) -> None:
        keys = place(LEDGER)
        one = keys.add("ann")
        for by in (7, 9):
            keys.destroy([one.pseudonym], by)
        assert keys.destroyed() == {one.pseudonym: 7}

    def test_a_key_that_was_never_here_can_be_destroyed(self, place: Place) -> None:
        keys = place(LEDGER)
        assert keys.destroy(["0" * 32], 7) == ()
        assert keys.key("0" * 32, 1) is None
        assert place(LEDGER).destroyed() == {"0" * 32: 7}

    def test_destroying_one_key_leaves_the_others(self, place: Place) -> None:
        keys = place(LEDGER)
        first, second, bob = keys.add("ann"), keys.add("ann"), keys.add("bob")
        before = key(keys, second), key(keys, bob)
        keys.destroy([first.pseudonym], 7)
        assert (key(keys, second), key(keys, bob)) == before
        assert keys.named("ann") == [second]
        assert keys.named("bob") == [bob]

    def test_what_was_destroyed_is_told_once(self, place: Place) -> None:
        keys = place(LEDGER)
        one = keys.add("ann")
        told = keys.destroy([one.pseudonym], 7)
        assert len(told) == 1
        assert one.pseudonym in told[0]
        assert "ann" not in told[0].split()
        assert keys.destroy([one.pseudonym], 7) == ()
        assert keys.destroy([], 8) == ()

    def test_the_keys_of_another_ledger_are_others(self, place: Place) -> None:
        one = place(LEDGER).add("ann")
        assert place(OTHER).named("ann") == []
        with pytest.raises(KeyMissing):
            place(OTHER).key(one.pseudonym, one.cipher)
        place(OTHER).destroy([one.pseudonym], 7)
        assert key(place(LEDGER), one)
        assert place(LEDGER).destroyed() == {}

    def test_two_that_have_the_place_open_see_what_the_other_does(self, place: Place) -> None:
        mine, its = place(LEDGER), place(LEDGER)
        assert its.named("ann") == []
        one = mine.add("ann")
        assert its.named("ann") == [one]
        assert key(its, one) == key(mine, one)
        its.destroy([one.pseudonym], 7)
        assert mine.key(one.pseudonym, one.cipher) is None
        assert mine.named("ann") == []

    def test_no_key_is_lost_when_several_are_made_at_once(self, place: Place) -> None:
        def add(number: int) -> Named:
            return place(LEDGER).add(f"user{number}")

        with ThreadPoolExecutor(4) as pool:
            made = [*pool.map(add, range(12))]
        keys = place(LEDGER)
        assert [keys.named(f"user{number}") for number in range(12)] == [[one] for one in made]
        assert len({key(keys, one) for one in made}) == 12

    def test_keys_that_can_be_opened_are_not_set_aside(self, place: Place) -> None:
        keys = place(LEDGER)
        one = keys.add("ann")
        keys.set_aside()
        assert key(keys, one)
        assert place(LEDGER).named("ann") == [one]
