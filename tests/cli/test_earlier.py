"""On the command line, a question about an earlier value gets it, named as such."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.cli.running import Shell


def test_an_earlier_value_comes_first_and_says_so(store: Shell) -> None:
    store.run("remember", "The staging port is 5432.", "--key", "staging.port", "--id", "one")
    store.run("remember", "The staging port is 5439.", "--key", "staging.port", "--id", "two")
    said = store.run("recall", "what was the old staging port?").out
    assert said.index("5432") < said.index("5439")
    today = datetime.now(UTC).astimezone().date()
    assert f"until {today}, now: The staging port is 5439. (two)" in said
    first, second = store.run("recall", "what was the old staging port?", "--json").json["hits"]
    assert (first["id"], first["current"]["id"], second["until"]) == ("one", "two", None)
    shares = store.run("recall", "what was the old staging port?", "--explain").out
    assert "asked for the value before" in shares
    packed = store.run("context", "what was the old staging port?").out
    assert "(an earlier value, until " in packed
    assert "now [two])" in packed


def test_a_plain_question_shows_no_earlier_value(store: Shell) -> None:
    store.run("remember", "The staging port is 5432.", "--key", "staging.port")
    store.run("remember", f"The staging port is 5439{'9' * 300}.", "--key", "staging.port")
    assert "5432" not in store.run("recall", "what is the staging port?").out
    asked = store.run("recall", "which port was staging on before?").out
    assert "5432" in asked
    assert "9 …" in asked


def test_status_uses_the_word_of_the_list(store: Shell) -> None:
    store.run("remember", "The staging port is 5432.", "--key", "staging.port")
    store.run("remember", "The staging port is 5439.", "--key", "staging.port")
    assert "[replaced]" in store.run("list", "--include", "replaced").out
    assert "replaced 1," in store.run("status").out
    assert store.run("status", "--json").json["replaced"] == 1


def test_every_field_that_ends_in_at_is_an_instant(store: Shell) -> None:
    id = store.run("remember", "Tea at four.", "--json").json["id"]
    store.run("remember", "Tea at four.")  # reinforces it
    (reinforced,) = store.run("list", "--json").json["records"]
    assert reinforced["last_reinforced_at"] == reinforced["at"] > reinforced["created_at"]
    store.run("revise", id, "Tea at five.")
    (revised,) = store.run("list", "--json").json["records"]
    assert revised["last_reinforced_at"] == reinforced["at"] < revised["at"]
    for name in ("at", "created_at", "last_reinforced_at"):
        assert datetime.fromisoformat(revised[name]).tzinfo is not None
