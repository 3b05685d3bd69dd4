"""What is newest on the command line, and questions that name nothing to look for."""

from __future__ import annotations

import pytest

from tests.cli.running import Shell


def test_recent_lists_records_and_episodes(store: Shell) -> None:
    store.run("remember", "Staging is on 5433.", "--key", "staging.port")
    store.run("observe", "See you at noon.", "--said-at", "2020-01-02", "--session", "s")
    said = store.run("list", "--recent")
    assert said.code == 0
    first, second = said.out.splitlines()
    assert "staging.port: Staging is on 5433." in first
    assert second.startswith("2020-01-02  user: See you at noon.  project e-")
    found = store.run("list", "--recent", "--session", "s", "--json").json["recent"]
    assert [one["text"] for one in found] == ["See you at noon."]
    assert store.run("list", "--recent", "--session", "S").code == 1


def test_recent_takes_times_in_words(store: Shell) -> None:
    store.run("remember", "New.")
    store.run("observe", "Old.", "--said-at", "2020-01-02")

    def texts(*words: str) -> list[str]:
        return [
            one["text"] for one in store.run("list", "--recent", *words, "--json").json["recent"]
        ]

    assert texts("--since", "yesterday") == ["New."]
    assert texts("--since", "2 days ago") == ["New."]
    assert texts("--since", "2020-01-02") == ["New.", "Old."]
    assert texts("--before", "last week") == ["Old."]
    assert texts("--before", "2020-01-02T00:00Z") == []
    wrong = store.run("list", "--recent", "--since", "soon")
    assert wrong.code == 2
    assert "yesterday" in wrong.err


@pytest.mark.parametrize("query", ["what do you know about me?", "everything", "*", ""])
def test_an_unspecific_question_gets_an_overview(store: Shell, query: str) -> None:
    for n in range(13):
        store.run("remember", f"Fact {n} stands.")
    store.run("remember", "Fact 2 stands.")  # reinforced
    store.run("observe", "Hello there.")
    said = store.run("recall", query)
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[:3:2] == ["Most used", "Changed last"]
    assert "Fact 2 stands." in lines[1]
    assert lines[-3] == "Said last"
    assert lines[-1] == "2 more records; ask about something to find them"
    data = store.run("recall", query, "--json").json
    assert data["hits"] == []
    (view,) = data["overviews"]
    assert (view["records"], view["episodes"]) == (13, 1)


def test_a_question_about_a_time_keeps_to_it(store: Shell) -> None:
    store.run("remember", "Today's news.")
    store.run("observe", "Said in June.", "--said-at", "2020-06-05")
    said = store.run("recall", "what happened in June 2020?")
    assert "Said in June." in said.out
    assert "Today's news." not in said.out
    empty = store.run("recall", "what happened in 1999?")
    assert (empty.code, empty.out) == (1, "Nothing is kept of that time.\n")
    assert "Today's news." in store.run("recall", "what changed since yesterday?").out


def test_a_question_with_a_subject_gets_hits(store: Shell) -> None:
    """The control: a subject, a filter or a unit asks for hits, and gets no overview."""
    store.run("remember", "Marta prefers tea.")
    assert "hits" in store.run("recall", "what do you know about tea?", "--json").json
    assert "overviews" not in store.run("recall", "what do you know about tea?", "--json").json
    assert "overviews" not in store.run("recall", "everything", "--unit", "record", "--json").json
    nothing = store.run("recall", "which airport?")
    assert (nothing.code, "Marta" in nothing.out) == (1, False)


def test_an_empty_memory_says_so(store: Shell) -> None:
    store.run("init")
    said = store.run("recall", "what do you know about me?")
    assert (said.code, said.out) == (1, "Nothing is kept here yet.\n")
    assert store.run("list", "--recent").code == 1


def test_a_record_that_was_said_earlier_stands_where_it_was_said(store: Shell) -> None:
    store.run("remember", "Said long ago.", "--said-at", "2019-05-01")
    store.run("observe", "Said later.", "--said-at", "2020-01-02")
    first, second = store.run("list", "--recent").out.splitlines()
    assert first.startswith("2020-01-02  user: Said later.")
    assert second.startswith("2019-05-01  Said long ago.")
