"""Verbs that take an id also take a key or the beginning of an id."""

from __future__ import annotations

from tests.cli.running import Shell
from tests.cli.test_verbs import remembered


def test_a_key_or_a_beginning_stands_for_an_id(store: Shell) -> None:
    id = remembered(store, "The port is 5432.", "--key", "staging.port")
    assert id in store.run("show", "staging.port").out
    assert id in store.run("log", "--id", id[:-2]).out
    assert store.run("revise", "staging.port", "It is 5433.", "--json").json["id"] == id
    assert store.run("forget", id[:-1], "--json").json["id"] == id
    assert store.run("undo", "staging.port", "--json").json["id"] == id
    assert store.run("admin", "why-not", "staging.port", "moon", "--json").json["id"] == id
    assert store.run("show", "staging.por").code == 3
    assert store.run("erase", "staging.port", "--yes", "--json").json["id"] == id


def test_a_beginning_of_several_is_refused_with_their_ids(store: Shell) -> None:
    ids = [remembered(store, f"Number {n}.") for n in range(2)]
    refused = store.run("forget", ids[0][:8], "--json")
    assert (refused.code, refused.error["code"]) == (2, "ambiguous")
    assert all(id in refused.error["message"] for id in ids)
    assert store.run("list", "--json").json["records"][1]["id"] == ids[0]
