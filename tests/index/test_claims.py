"""What a text claims, and what it only asks, doubts or denies."""

from __future__ import annotations

import pytest

from recollect.index.words.claims import claims_of


@pytest.mark.parametrize(
    ("text", "so", "not_so"),
    [
        ("Tea is at nine, not at four.", "nine", "four"),
        ("It's no longer 5433 but 6000", "6000", "5433"),
        ("Don\u2019t move it to nine.", "", "nine"),
        ("Is it at nine? It is at ten.", "ten", ""),
        ("Tea is at nine?", "", ""),
        ("Can you move tea to nine?", "nine", ""),
        ("So tea is at nine, right?", "", ""),
        ("Isn't tea at nine", "", ""),
        ("Remind me: is tea at nine", "", ""),
        ("If it rains, tea is at ten. Tea is at nine.", "ten nine", ""),
        ("I wonder whether tea is at nine", "", ""),
        ("Is tea at nine", "", ""),
        ("Is at nine now", "nine", ""),
        ("Was in Lisbon, moved to Porto.", "lisbon porto", ""),
        ("The limit is 5,000 (never 6,000)", "5 000", "6"),
        ("Der Tee ist nicht um vier, sondern um neun.", "neun", "vier"),
        ("", "", ""),
    ],
)
def test_what_a_text_claims(text: str, so: str, not_so: str) -> None:
    claims = claims_of(text)
    watched = set("nine ten four 5433 6000 lisbon porto 5 000 6 neun vier".split())
    assert claims.so & watched == set(so.split())
    assert claims.not_so & watched >= set(not_so.split())
    assert (claims.not_so & watched) - set(not_so.split()) <= {"000"}


def test_a_sentence_that_is_too_long_to_be_said_claims_nothing() -> None:
    words = "tea is at nine and " * 1_200
    claims = claims_of(f"{words}so on. Coffee is at ten.")
    assert "nine" not in claims.so
    assert "ten" in claims.so
    assert "nine" in claims_of(words[:10_000]).so  # the control
