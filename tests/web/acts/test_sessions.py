"""Sessions: each is listed in plain words, and ends when its owner says so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Store
from recollect.interfaces.web.draw.browsers import UNKNOWN, browser
from tests.web.teams import FORM, Team, serving
from tests.web.test_team import field
from tests.web.visiting import Page, hidden_fields, served

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"
CHROME = "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/130.0 Safari/537.36"


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    with Store.open(tmp_path / "w", embedder="none") as store:
        store.space("main").remember("Tea is at four.", key="tea")
        with serving(store) as found:
            yield found


def came(team: Team, token: str, agent: str) -> dict[str, str]:
    """A browser that logged in."""
    found = team.login(token, **{"User-Agent": agent})
    return {"Cookie": found.headers["set-cookie"].partition(";")[0]}


def is_in(team: Team, cookie: dict[str, str]) -> bool:
    return team.ask("GET", "/ui/main/", cookie).status == 200


def end(team: Team, cookie: dict[str, str], page: Page, path: str) -> Page:
    return team.ask("POST", f"/ui/-{path}", {**FORM, **cookie}, field(page, path))


def paths(page: Page) -> list[str]:
    """The forms that end a session."""
    return re.findall(r'action="/ui/-(/sessions/[0-9a-f]+/end)"', page.text)


def test_the_sessions_of_a_token_are_listed_and_ended(team: Team) -> None:
    token = team.token("alice", space="main", verbs=("read",))
    here, there = came(team, token, FIREFOX), came(team, token, CHROME)
    page = team.ask("GET", "/ui/-/tokens", here)
    assert "Firefox on Linux this browser" in page.words
    assert "Chrome on Windows since" in page.words
    for secret in (token, here["Cookie"].partition("=")[2], there["Cookie"].partition("=")[2]):
        assert secret not in page.text
    (path,) = paths(page)
    assert end(team, here, page, path).status == 303
    assert is_in(team, here)
    assert not is_in(team, there)
    again = team.ask("POST", f"/ui/-{path}", {**FORM, **here}, "command=other")
    assert again.status == 404


def test_all_others_of_a_token_end_at_once_and_those_of_other_tokens_stay(team: Team) -> None:
    mine, others = team.token("alice", space="main"), team.token("bob", space="main")
    here, there, bob = (came(team, each, FIREFOX) for each in (mine, mine, others))
    page = team.ask("GET", "/ui/-/tokens", here)
    assert "bob" not in page.text
    assert len(paths(page)) == 1
    assert end(team, here, page, "/sessions/end").status == 303
    assert [is_in(team, each) for each in (here, there, bob)] == [True, False, True]


def test_a_session_of_another_token_ends_only_for_who_may_revoke_it(team: Team) -> None:
    bob = came(team, team.token("bob", space="main"), CHROME)
    admin = came(
        team, team.token("carol", space="main", verbs=("read", "admin"), trust="person"), FIREFOX
    )
    plain = came(team, team.token("eve", space="main"), FIREFOX)
    page = team.ask("GET", "/ui/-/tokens", admin)
    assert "Chrome on Windows with the token bob" in page.words
    for path in paths(page):
        refused = team.ask("POST", f"/ui/-{path}", {**FORM, **plain}, "command=abc")
        assert refused.status in (303, 404)  # 303: its own
    assert is_in(team, bob)
    for path in paths(page):
        end(team, admin, page, path)
    assert not is_in(team, bob)
    again = came(team, team.token("dora", space="main"), CHROME)
    team.store.tokens.revoke("dora")
    assert "with the token dora" not in team.ask("GET", "/ui/-/tokens", admin).words
    assert not is_in(team, again)


def test_ending_a_session_needs_a_form_of_the_page(team: Team) -> None:
    token = team.token("alice", space="main")
    here, there = came(team, token, FIREFOX), came(team, token, CHROME)
    page = team.ask("GET", "/ui/-/tokens", here)
    foreign = {**FORM, **here, "Sec-Fetch-Site": "cross-site"}
    for path in (*paths(page), "/sessions/end"):
        assert team.ask("POST", f"/ui/-{path}", foreign, field(page, path)).status == 403
        assert team.ask("GET", f"/ui/-{path}", here).status == 404
    assert is_in(team, there)


def test_the_person_at_this_machine_ends_other_browsers_too() -> None:
    with Store.open(":memory:") as store:
        store.space("main").remember("Tea is at four.")
        with served(store, read_only=True) as inspector:
            here, there = inspector.enter(), inspector.enter()
            page = here.get("/-/tokens")
            fields = hidden_fields(page, "/sessions/end")
            assert here.post("/-/sessions/end", fields).status == 303
            assert here.get("/main/").status == 200
            assert there.get("/main/").status == 401


@pytest.mark.parametrize(
    ("says", "words"),
    [
        (FIREFOX, "Firefox on Linux"),
        (CHROME, "Chrome on Windows"),
        (CHROME + " Edg/130.0", "Edge on Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Safari/604.1",
         "Safari on an iPhone"),
        ("curl/8.1", "curl"),
        ("Mozilla/5.0 (Linux)", "a browser on Linux"),
        ("<script>alert(1)</script>", UNKNOWN),
        ("", UNKNOWN),
    ],
)  # fmt: skip
def test_a_browser_is_said_in_our_own_words(says: str, words: str) -> None:
    assert browser(says) == words
