"""What a session may not do is off with the reason, and refused before anything is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import msgspec
import pytest

from recollect import Memory, Store
from recollect.interfaces.web import table
from recollect.interfaces.web.rights import NEEDS_PERSON, Needs, Rights
from recollect.memory.keys import Keys
from recollect.model.presets import BUILT_IN
from recollect.model.values import Quote, Token
from recollect.store.tokens.grants import VERBS
from tests.web.teams import FORM, Team, serving
from tests.web.visiting import Page

EVERY: Final = (*table.ACTS, *table.STORE_ACTS)
CHANGES: Final = tuple(each for each in EVERY if each.needs.verb)
# Offered after another act, in its flash or beside a question.
AFTERWARDS: Final = {"r/{id}/undo", "review/{id}/undo", "presets/{name}/undo"}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A memory on whose pages every act has its form."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with Store.open(tmp_path / "w", embedder="none") as store:
        memory = store.space("main")
        seat = memory.remember("Alice sits in 12A.", key="seat", tags=["travel"])
        memory.graph.link(seat.id, memory.remember("She flies on Monday.", key="trip").id)
        memory.forget(memory.remember("Bob sits in 3F.", key="bob").id)
        said = memory.observe("She wants 14C.")
        agent = memory.scoped(trust="agent")
        quote = Quote(said[0].id, "14C")
        agent.review.propose("Alice sits in 14C.", target=seat.id, evidence=[quote])
        memory.erase(memory.remember("A secret.").id)
        Keys(memory).create()
        memory.settings.presets.set({**msgspec.to_builtins(BUILT_IN["task"]), "name": "mine"})
        store.jobs.ask("verify")
        store.jobs.set_schedule("verify", cron="0 3 * * *")
        yield store


@pytest.fixture
def team(store: Store) -> Iterator[Team]:
    with serving(store) as found:
        yield found


def pages(memory: Memory) -> list[str]:
    """Addresses of all pages with a form."""
    gone = memory.events.list(kinds=["events.erased"])[0].seq
    ids = [memory.get(key="seat").id, memory.list(include=("forgotten",), limit=10)[-1].id]
    ids += [each.id for each in memory.list(include=("forgotten",), limit=10)]
    found = [f"main/r/{id}" for id in dict.fromkeys(ids)]
    found += [f"main/erase/{ids[0]}", "main/review", "main/ledger", f"main/ledger/{gone}"]
    found += [
        "main/presets",
        "main/presets/mine",
        "main/presets/mine/edit",
        f"main/erasures/{gone}",
    ]
    return [*found, "-/tokens", "-/jobs"]


def forms(page: Page) -> Iterator[tuple[str, str]]:
    """The path in the table of each form that changes something, and what is in it."""
    for attributes, inside in re.findall("<form([^>]*)>(.*?)</form>", page.text, re.DOTALL):
        if 'method="post"' not in attributes:
            continue
        action = re.findall('action="([^"]*)"', attributes)[0]
        parts = tuple(action.partition("?")[0].removeprefix("/ui/").split("/"))
        if parts[0] == "-" and parts[1] not in ("theme", "keys", "logout"):
            yield table.find(table.STORE_ACTS, parts[1:])[0].path, inside
        elif parts[0] != "-":
            yield table.find(table.ACTS, parts[1:])[0].path, inside


def offered(team: Team, cookie: dict[str, str]) -> tuple[set[str], set[str]]:
    """The acts whose forms were shown: those with a button that is on, and those that are off."""
    on, off = set[str](), set[str]()
    for path in pages(team.store.space("main")):
        for act, inside in forms(team.ask("GET", f"/ui/{path}", cookie)):
            found = re.findall("<button([^>]*)>", inside)
            buttons = [each for each in found if 'formmethod="get"' not in each]
            assert buttons, act
            is_off = all(re.search(r'disabled title="[^"]{10,}', each) for each in buttons)
            (off if is_off else on).add(act)
    return on, off


def test_a_token_that_reads_is_offered_no_change(team: Team) -> None:
    reading = team.cookie(team.token("eve", space="main", verbs=("read",), trust="person"))
    on, off = offered(team, reading)
    assert on & {each.path for each in CHANGES} == set()
    unseen = {each.path for each in CHANGES} - off - AFTERWARDS
    assert unseen == {"tokens/{id}/rotate", "tokens/{id}/revoke"}  # it sees no tokens


def test_control_a_person_with_every_verb_is_offered_all(team: Team) -> None:
    owner = team.cookie(team.token("alice", space="main", verbs=VERBS[:3] + VERBS[5:],
                                   trust="person"))  # fmt: skip
    on, off = offered(team, owner)
    assert off == set()
    assert {each.path for each in CHANGES} - on == AFTERWARDS


def test_control_without_the_table_of_rights_every_button_is_on(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Rights, "lacks", lambda self, needs: None)
    agent = team.cookie(team.token("bob", space="main"))
    on, _ = offered(team, agent)
    assert "review/{id}/approve" in on
    assert "erase/{id}" in on


def test_every_change_of_a_token_that_reads_is_refused(team: Team) -> None:
    reading = team.cookie(team.token("eve", space="main", verbs=("read",), trust="person"))
    memory = team.store.space("main")
    before = memory.events.position, team.store.tokens.list(), team.store.jobs.list()
    for act in CHANGES:
        where = "-" if isinstance(act, table.StoreAct) else "main"
        path = f"/ui/{where}/{re.sub('{[a-z]+}', '1', act.path)}"
        refused = team.ask("POST", path, {**FORM, **reading}, urlencode({"command": "abc"}))
        assert refused.status == 403, act.path
        assert "token may" in refused.words, act.path
    assert (memory.events.position, team.store.tokens.list(), team.store.jobs.list()) == before


@pytest.mark.parametrize("act", EVERY, ids=lambda act: act.path)
def test_each_act_needs_its_verb_and_nothing_else(act: table.Act | table.StoreAct) -> None:
    def token(*verbs: str, **options: object) -> Token:
        fields: dict[str, object] = {
            "id": 1, "label": "x", "space": None, "verbs": verbs, "trust": "person",
            "user": None, "agent": None, "made": "", "expires": None, "revoked": None,
            "live": True, **options,
        }  # fmt: skip
        return Token(**fields)  # type: ignore[arg-type]

    needs = act.needs
    assert Rights(token(needs.verb)).lacks(needs) is None
    assert Rights(None).lacks(needs) is None
    others = [verb for verb in VERBS if verb != needs.verb]
    assert (Rights(token(*others)).lacks(needs) is not None) == bool(needs.verb)
    agents = Rights(token(*VERBS, trust="agent"), "agent").lacks(needs)
    assert agents == (NEEDS_PERSON if needs.by_person else None)
    for name in ("user", "agent"):
        bound = Rights(token(*VERBS, **{name: "bob"})).lacks(needs)
        assert (bound is not None) == (name in needs.not_for)


def test_all_changes_are_off_with_one_reason_and_looking_is_not() -> None:
    found = table.reasons(table.STORE_ACTS, Rights(), "It is read-only.")
    assert set(found.values()) == {"It is read-only.", None}
    assert found["sessions/end"] is None
    assert Needs("").verb == ""
