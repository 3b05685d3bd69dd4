"""Sessions on the command line."""

from __future__ import annotations

from tests.cli.running import Shell


def test_a_session_is_opened_listed_and_closed(store: Shell) -> None:
    none = store.run("sessions", "list")
    assert (none.code, none.out) == (1, "No session is known here.\n")
    opened = store.run("sessions", "open", "chat-1", "--task-type", "review")
    assert opened.code == 0
    assert opened.out.startswith("Opened chat-1  review  open, from 20")
    store.run("observe", "Hello.", "--session", "named")
    named, chat = store.run("sessions", "list").out.splitlines()
    assert named.startswith("named  named, from 20")
    assert chat.startswith("chat-1  review  open, from 20")
    found = store.run("sessions", "list", "--limit", "1", "--json").json["sessions"]
    assert [(one["id"], one["status"]) for one in found] == [("named", "named")]
    position = store.run("status", "--json").json["seq"]
    closed = store.run("sessions", "close", "chat-1")
    assert closed.out.startswith("Closed chat-1  review  closed, from 20")
    assert " to 20" in closed.out
    then = store.run("sessions", "list", "--at", str(position), "--json").json["sessions"]
    assert [one["status"] for one in then] == ["named", "open"]
    assert store.run("sessions", "open", "chat-1").code == 5
    assert store.run("sessions", "close", "named").code == 3


def test_an_id_is_made_and_a_user_has_sessions_of_their_own(store: Shell) -> None:
    made = store.run("sessions", "open", "--user", "ann", "--json").json
    assert (made["id"][:2], made["user"], made["status"]) == ("s-", "ann", "open")
    assert " of ann  open" in store.run("sessions", "list").out
    assert store.run("sessions", "list", "--user", "bob").code == 1
    assert store.run("sessions", "close", made["id"], "--user", "bob").code == 3
    assert store.run("sessions", "close", made["id"], "--user", "ann").code == 0


def test_erasing_when_a_session_ran_needs_a_confirmation(store: Shell) -> None:
    store.run("sessions", "open", "chat-1")
    assert store.run("sessions", "close", "chat-1", "--erase", "--json").code == 4
    erased = store.run("sessions", "close", "chat-1", "--erase", "--yes")
    assert (erased.code, erased.out) == (0, "Erased chat-1\n")
    assert store.run("sessions", "list").code == 1
