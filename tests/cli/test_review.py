"""`recollect review`: on a terminal, in a pipe, and with what people type wrongly."""

from __future__ import annotations

import json

from recollect import Memory
from tests.cli.running import Shell

NOW, NEW = "Staging runs on port 5432.", "Staging runs on port 5433."
EVIL = "Pay \x1b[2J\u202e666"


def fill(store: Shell) -> None:
    """A held record under a key of a person's, a proposal, and a text that plays tricks."""
    with Memory.open(store.folder / ".recollect") as memory:
        agent = memory.scoped(trust="agent", agent="helper")
        memory.remember(NOW, key="staging.port")
        agent.remember(NEW, key="staging.port")
        mine = memory.remember("Deploys happen on Fridays.")
        agent.revise(mine.id, "Deploys happen on Mondays.", reason="the runbook says so")
        memory.scoped(trust="unverified").remember(EVIL)


def waiting(store: Shell) -> list[dict[str, str]]:
    ran = store.run("review", "--json")
    found: list[dict[str, str]] = json.loads(ran.out)["waiting"]
    return found


def test_in_a_pipe_it_lists_what_waits(store: Shell) -> None:
    fill(store)
    ran = store.process("review")
    assert ran.code == 0
    assert "change staging.port" in ran.out
    assert f"  now  {NOW}" in ran.out
    assert f"  new  {NEW}" in ran.out
    assert "the runbook says so" in ran.out
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out
    assert [one["unit"] for one in waiting(store)] == ["record", "proposal", "record"]


def test_what_rests_on_it_is_shown(store: Shell) -> None:
    with Memory.open(store.folder / ".recollect") as memory:
        mine = memory.remember(NOW)
        for number in range(5):
            memory.remember(f"Step {number} uses that port.", evidence=[mine.id])
        memory.scoped(trust="agent").forget(mine.id)
    assert "used by 5 records" in store.process("review").out
    shown = store.terminal("review", typed="m\nq\n").out
    assert "used by" in shown
    assert "and 2 more: press m" in shown
    first, _, after = shown.partition("Keys" if "Keys" in shown else "(and Enter)")
    assert first.count("uses that port.") == 3
    assert after.count("uses that port.") == 5


def test_what_is_held_points_at_the_review(store: Shell) -> None:
    held = store.run("remember", "Pay now.", "--trust", "unverified")
    assert held.out.startswith("Waiting for review")
    assert "recollect review" in held.out
    assert "recollect review" not in store.run("remember", "Tea is at four.").out


def test_an_empty_queue_says_so(store: Shell) -> None:
    ran = store.process("review")
    assert (ran.code, ran.out) == (1, "")
    assert "Nothing waits" in ran.err
    assert store.run("review", "--json").json == {"waiting": []}
    assert "Nothing waits" in store.terminal("review").out


def test_a_decision_in_a_pipe_names_what_was_seen(store: Shell) -> None:
    fill(store)
    first = waiting(store)[0]
    refused = store.run("review", "approve", first["id"], "--json")
    assert (refused.code, refused.error["code"]) == (4, "forbidden")
    assert "@DIGEST" in refused.error["hint"]
    wrong = store.run("review", "approve", f"{first['id']}@{'0' * 64}")
    assert wrong.code == 5
    assert "not what was shown" in wrong.err
    done = store.run("review", "approve", f"{first['id'][:-2]}@{first['digest']}", "--json")
    assert (done.code, done.json["state"]) == (0, "approved")
    assert NEW in store.run("recall", "staging port").out


def test_one_call_decides_many_as_the_list_prints_them(store: Shell) -> None:
    fill(store)
    listed = [line.strip() for line in store.process("review").out.splitlines() if "@" in line]
    assert listed == [f"{one['id']}@{one['digest']}" for one in waiting(store)]
    first, second, third = listed
    refused = store.run("review", "approve", first, second.partition("@")[0])
    assert (refused.code, "@DIGEST" in refused.err) == (4, True)
    assert len(waiting(store)) == 3  # of several, none is decided unless all were seen
    done = store.process("review", "approve", first, second, third[:-64] + "0" * 64)
    assert (done.code, done.out.count("Approved")) == (5, 2)
    assert "not what was shown" in done.err
    assert [f"{one['id']}@{one['digest']}" for one in waiting(store)] == [third]
    again = store.run("review", "reject", second, third, "--json")
    assert again.code == 5
    assert [one["state"] for one in again.json["reviews"]] == ["rejected"]
    assert [one["id"] for one in again.json["refused"]] == [second.partition("@")[0]]
    assert waiting(store) == []


def test_what_names_nothing_stops_none_of_the_others(store: Shell) -> None:
    fill(store)
    first, second, _ = (f"{one['id']}@{one['digest']}" for one in waiting(store))
    nothing = f"nosuch@{'0' * 64}"
    done = store.run("review", "approve", first, nothing)
    assert (done.code, done.out.count("Approved")) == (3, 1)
    assert f"{nothing}: nothing that waits" in done.err
    done = store.run("review", "reject", nothing, second, "--json")
    assert done.code == 3
    assert [one["state"] for one in done.json["reviews"]] == ["rejected"]
    assert [(one["id"], one["code"]) for one in done.json["refused"]] == [(nothing, "not_found")]
    alone = store.run("review", "approve", nothing, "--json")
    assert (alone.code, alone.error["code"]) == (3, "not_found")


def test_a_digest_may_be_in_capitals(store: Shell) -> None:
    fill(store)
    one = waiting(store)[0]
    done = store.run("review", "approve", f"{one['id']}@{one['digest'].upper()}")
    assert done.out.startswith("Approved")


def test_one_is_shown_whole_and_rejected_with_a_reason(store: Shell) -> None:
    fill(store)
    second = waiting(store)[1]
    shown = store.run("review", "show", second["id"])
    assert second["digest"] in shown.out
    assert "Deploys happen on Mondays." in shown.out
    seen = f"{second['id']}@{second['digest']}"
    rejected = store.run("review", "reject", seen, "--reason", "no")
    assert rejected.out.startswith(f"Rejected {second['id']}")
    assert store.run("review", "show", second["id"], "--json").json["note"] == "no"


def test_what_people_type_wrongly(store: Shell) -> None:
    fill(store)
    both = store.run("review", "approve", "x", "--reject")
    assert (both.code, "unknown option --reject" in both.err) == (2, True)
    no_id = store.run("review", "approve")
    assert (no_id.code, "ID[@DIGEST]... is missing" in no_id.err) == (2, True)
    nothing = store.run("review", "show", "nothing-here")
    assert (nothing.code, "nothing that waits" in nothing.err) == (3, True)
    several = store.run("review", "show", waiting(store)[0]["id"][:4])
    assert (several.code, "give more of the id" in several.err) == (2, True)
    assert "`recollect review approve`" in store.run("approve").err


def test_a_person_goes_through_the_queue_with_keys(store: Shell) -> None:
    fill(store)
    typed = "what?\nagain\nmore\na\nu\nl\nr\nno\nq\n"
    shown = store.terminal("review", typed=typed).out
    assert "1 of 3 · change staging.port" in shown
    assert "digest" in shown  # m showed more
    assert "Taken back." in shown
    assert "2 of 3" in shown
    assert "1 rejected, 2 still waiting." in shown
    assert "\u202e" not in shown
    left = waiting(store)
    assert [one["unit"] for one in left] == ["record", "record"]


def test_approving_on_a_terminal_shows_it_and_asks(store: Shell) -> None:
    fill(store)
    first = waiting(store)[0]
    no = store.terminal("review", "approve", first["id"], typed="n\n")
    assert "5433." in no.out
    assert len(waiting(store)) == 3
    yes = store.terminal("review", "approve", first["id"], typed="y\n")
    assert "Approved" in yes.out
    assert len(waiting(store)) == 2
