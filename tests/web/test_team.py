"""The inspector of a service: a token lets in, and shows and changes what it allows."""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

import pytest

from recollect import Store
from recollect.errors import Forbidden, Unavailable
from recollect.interfaces.http.app import App
from recollect.interfaces.http.limits.gate import Gate
from recollect.interfaces.web.checked import CHECKED
from recollect.interfaces.web.draw.words import compared
from recollect.interfaces.web.login.session import (
    IDLE_MAX_S,
    LOGIN_MAX_S,
    SECURE_COOKIE,
    LoggedIn,
    cookie_name,
    set_cookie,
)
from recollect.serving.entries import NotLetIn
from recollect.serving.server import listen
from tests.web.addresses import addresses
from tests.web.teams import FORM, Team, serving
from tests.web.visiting import Page, hidden_fields


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "w", embedder="none") as store:
        store.space("main").remember("Tea is at four.", key="tea")
        store.space("other").remember("The door code is 4711.", key="door")
        yield store


@pytest.fixture
def team(store: Store) -> Iterator[Team]:
    with serving(store) as found:
        yield found


def test_a_browser_is_led_to_the_page_that_asks_for_a_token_and_back(team: Team) -> None:
    assert team.ask("GET", "/").headers["location"] == "/ui/"
    asked = team.ask("GET", "/ui/main/timeline?before=3")
    assert asked.status == 303
    place = asked.headers["location"]
    assert place == "/ui/-/login?back=%2Fui%2Fmain%2Ftimeline%3Fbefore%3D3"
    page = team.ask("GET", place)
    assert page.status == 200
    assert "Tea" not in page.text
    fields = hidden_fields(page, "/ui/-/login")
    assert fields["back"] == "/ui/main/timeline?before=3"
    token = team.token("alice", space="main", trust="person")
    came = team.ask("POST", "/ui/-/login", FORM, urlencode({**fields, "token": token}))
    assert came.headers["location"] == "/ui/main/timeline?before=3"
    given = came.headers["set-cookie"]
    assert "; Path=/ui/; HttpOnly; SameSite=Strict" in given
    assert token not in given


def test_a_token_shows_its_own_memory_and_nothing_says_that_another_exists(team: Team) -> None:
    token = team.token("alice", space="main", trust="person")
    mine = team.cookie(token)
    page = team.ask("GET", "/ui/main/", mine)
    assert "Tea is at four." in page.text
    assert token not in page.text
    foreign, absent = (team.ask("GET", f"/ui/{name}/", mine) for name in ("other", "nothing"))
    assert (foreign.status, absent.status) == (404, 404)
    assert "4711" not in foreign.text
    told = [page.words.partition("request ")[0] for page in (foreign, absent)]
    assert told[0].replace("other", "") == told[1].replace("nothing", "")
    assert team.ask("GET", "/ui/", mine).headers["location"] == "/ui/main/"


def test_what_is_not_a_token_of_this_service_lets_nobody_in(team: Team) -> None:
    ended = team.store.tokens.create("old", space="main")
    team.store.tokens.revoke(ended.id)
    for token in ("", "rct_" + "a" * 43, "secret", "rct_\x00", ended.token, "x" * 5_000):
        page = team.login(token)
        assert page.status == 401, token
        assert "set-cookie" not in page.headers
        assert not token or token not in page.text
    assert team.ask("POST", "/ui/-/login", FORM, "token=" + "x" * 70_000).status == 413


def test_a_session_ends_with_its_token_and_when_it_is_left(team: Team) -> None:
    made = team.store.tokens.create("alice", space="main", trust="person")
    first, second = team.cookie(made.token), team.cookie(made.token)
    left = team.ask("POST", "/ui/-/logout", {**FORM, **first}, "")
    assert "Max-Age=0" in left.headers["set-cookie"]
    assert team.ask("GET", "/ui/main/", first).headers["location"].startswith("/ui/-/login")
    assert team.ask("GET", "/ui/main/", second).status == 200
    team.store.tokens.revoke(made.id)
    assert team.ask("GET", "/ui/main/", second).headers["location"].startswith("/ui/-/login")


def forget(team: Team, cookie: dict[str, str], **headers: str) -> Page:
    """Sends the form that forgets the record, as the page has it."""
    memory = team.store.space("main")
    id = memory.get("tea").id
    page = team.ask("GET", f"/ui/main/r/{id}", cookie)
    body = urlencode(hidden_fields(page, "/forget"))
    return team.ask("POST", f"/ui/main/r/{id}/forget", {**FORM, **cookie, **headers}, body)


def test_a_token_that_only_reads_changes_nothing(team: Team) -> None:
    reading = team.cookie(team.token("eve", space="main", verbs=("read",), trust="person"))
    assert forget(team, reading).status == 403
    assert team.store.space("main").get("tea").text == "Tea is at four."


def test_control_a_token_that_writes_does(team: Team) -> None:
    writing = team.cookie(team.token("alice", space="main", trust="person"))
    assert forget(team, writing).status == 303
    assert team.store.space("main").get("tea", include=("forgotten",)).status == "forgotten"


FORGED = {
    "another website": {"Sec-Fetch-Site": "cross-site"},
    "another port": {"Sec-Fetch-Site": "same-site"},
    "a typed address": {"Sec-Fetch-Site": "none"},
    "another origin": {"Sec-Fetch-Site": "", "Origin": "http://evil.example"},
}


@pytest.mark.parametrize("headers", FORGED.values(), ids=FORGED)
def test_a_form_of_another_page_does_nothing(team: Team, headers: dict[str, str]) -> None:
    token = team.token("alice", space="main", trust="person")
    assert team.login(token, **headers).status == 403
    mine = team.cookie(token)
    assert forget(team, mine, **headers).status == 403
    assert team.store.space("main").get("tea").text == "Tea is at four."


def test_the_cookie_opens_no_operation_of_the_service(team: Team) -> None:
    mine = team.cookie(team.token("alice", space="main", trust="person"))
    assert team.ask("GET", "/v1/spaces", mine).status == 401


def test_without_the_option_there_are_no_pages(store: Store) -> None:
    with listen(0) as listening:
        assert App(store, Gate([f"127.0.0.1:{listening.getsockname()[1]}"]))._ui is None


def test_behind_a_proxy_addresses_keep_its_prefix(store: Store) -> None:
    with serving(store, "/memory") as team:
        for path in ("/ui", "/ui/", "/memory/ui/"):
            place = team.ask("GET", path).headers["location"]
            assert place == "/memory/ui/-/login?back=%2Fmemory%2Fui%2F"
        came = team.login(team.token("alice", space="main", trust="person"))
        assert "Path=/memory/ui/;" in came.headers["set-cookie"]


def test_sessions_end_in_time_and_are_bound_to_https() -> None:
    now = [0.0]

    def check(token: str) -> None:
        if token != "rct_good":
            raise NotLetIn

    sessions = LoggedIn(check, is_secure=True, clock=lambda: now[0])
    assert sessions.enter("rct_bad") is None
    session = sessions.enter("rct_good")
    assert session is not None
    assert cookie_name(sessions) == SECURE_COOKIE
    assert set_cookie(sessions, session.id).endswith(
        "; Path=/ui/; HttpOnly; SameSite=Strict; Secure"
    )
    assert sessions.find("") is None
    for _ in range(int(LOGIN_MAX_S / IDLE_MAX_S)):
        now[0] += IDLE_MAX_S
        assert sessions.find(session.id) is session
    now[0] += 1
    assert sessions.find(session.id) is None  # twelve hours, though it was used
    other = sessions.enter("rct_good")
    assert other is not None
    now[0] += IDLE_MAX_S + 1
    assert sessions.find(other.id) is None


def field(page: Page, action: str, **fields: str) -> str:
    return urlencode({**hidden_fields(page, action), **fields})


MADE = {
    "label": "the planner", "space": "main", "trust": "agent", "ends": "30",
    "verb-read": "on", "verb-write": "on",
}  # fmt: skip


def test_a_token_is_created_rotated_and_revoked_and_told_once(team: Team) -> None:
    person = team.token("alice", space=None, verbs=("read", "write", "admin"), trust="person")
    mine = team.cookie(person)
    page = team.ask("GET", "/ui/-/tokens", mine)
    body = field(page, "/tokens/create", **MADE)
    sent = [team.ask("POST", "/ui/-/tokens/create", {**FORM, **mine}, body) for _ in range(2)]
    assert len({each.headers["location"] for each in sent}) == 1  # a double click
    told = team.ask("GET", sent[0].headers["location"], mine)
    token = re.findall(r"rct_[A-Za-z0-9_-]{20,}", told.text)[0]
    assert team.store.entered(token).spaces() == ["main"]
    assert "rct_" not in team.ask("GET", sent[0].headers["location"], mine).text
    made = team.store.tokens.get("the planner")
    assert made.verbs == ("read", "write")
    assert "May read and write in the memory main." in told.words

    page = team.ask("GET", "/ui/-/tokens", mine)
    path = f"/tokens/{made.id}/rotate"
    moved = team.ask("POST", f"/ui/-{path}", {**FORM, **mine}, field(page, path, overlap="0"))
    fresh = re.findall(
        r"rct_[A-Za-z0-9_-]{20,}", team.ask("GET", moved.headers["location"], mine).text
    )[0]
    assert fresh != token
    page = team.ask("GET", "/ui/-/tokens", mine)
    live = next(each for each in team.store.tokens.list() if each.live and each.label == made.label)
    path = f"/tokens/{live.id}/revoke"
    assert team.ask("POST", f"/ui/-{path}", {**FORM, **mine}, field(page, path)).status == 303
    with pytest.raises(Forbidden):
        team.store.entered(fresh).spaces()


def test_a_token_gives_no_more_than_it_has(team: Team) -> None:
    plain = team.cookie(team.token("bob", space="main", trust="agent"))
    team.token("dora", space="main")
    seen = team.ask("GET", "/ui/-/tokens", plain)
    assert "Your token may not look after tokens" in seen.words
    assert "dora" not in seen.text
    body = urlencode({**MADE, "command": "abc"})
    before = len(team.store.tokens.list())
    assert team.ask("POST", "/ui/-/tokens/create", {**FORM, **plain}, body).status == 403
    admin = team.cookie(team.token("carol", space="main", verbs=("read", "admin"), trust="person"))
    for more in ({"space": ""}, {"verb-erase": "on"}, {"space": "other"}):
        body = urlencode({**MADE, **more, "command": f"c{len(str(more))}"})
        refused = team.ask("POST", "/ui/-/tokens/create", {**FORM, **admin}, body)
        assert refused.status in (403, 404, 422), more
    assert len(team.store.tokens.list()) == before + 1


def test_jobs_are_asked_for_shown_and_cancelled(team: Team) -> None:
    mine = team.cookie(team.token("alice", space="main", trust="person"))
    page = team.ask("GET", "/ui/-/jobs", mine)
    ask = field(page, "/jobs/ask", space="main", kind="verify")
    done = team.ask("POST", "/ui/-/jobs/ask", {**FORM, **mine}, ask)
    told = team.ask("GET", done.headers["location"], mine)
    job = team.store.jobs.list()[0]
    assert (job.kind, job.state) == ("verify", "waiting")
    assert f"(job {job.id})" in told.words
    path = f"/jobs/{job.id}/cancel"
    assert team.ask("POST", f"/ui/-{path}", {**FORM, **mine}, field(told, path)).status == 303
    assert team.store.jobs.get(job.id).state == "cancelled"
    when = field(page, "/jobs/schedule", space="main", kind="verify", cron="0 3 * * *")
    assert team.ask("POST", "/ui/-/jobs/schedule", {**FORM, **mine}, when).status == 303
    assert team.store.jobs.get_schedule("verify", space="main").cron == "0 3 * * *"
    page = team.ask("GET", "/ui/-/jobs", mine)
    drop = field(page, "/jobs/unschedule")
    agent = team.cookie(team.token("bob", space="main", trust="agent"))
    assert team.ask("POST", "/ui/-/jobs/unschedule", {**FORM, **agent}, drop).status == 403
    assert team.ask("POST", "/ui/-/jobs/unschedule", {**FORM, **mine}, drop).status == 303
    assert team.store.jobs.schedules(space="main") == []


def test_over_plain_http_the_path_is_only_told_in_the_terminal(store: Store) -> None:
    """Cookies know no ports: another program here would be sent one whose path it can guess."""
    with serving(store, is_secure=False) as team:
        assert re.fullmatch("/ui-[0-9a-f]{12}/", team.path)
        for path in ("/ui/", "/ui", "/ui/main/", "/ui-000000000000/"):
            found = team.ask("GET", path)
            assert (found.status, team.path in found.text) == (404, False)
        body = urlencode({"token": team.token("alice", space="main"), "back": ""})
        came = team.ask("POST", f"{team.path}-/login", FORM, body)
        assert f"; Path={team.path}; HttpOnly; SameSite=Strict" in came.headers["set-cookie"]


def test_one_user_finds_pages_and_the_way_out(team: Team) -> None:
    memory = team.store.space("main")
    memory.scoped(user="bob").remember("Bob likes plums.", key="bob.fruit")
    memory.scoped(user="alice").remember("Alice likes figs.", key="alice.fruit")
    mine = team.cookie(team.token("bob", space="main", user="bob", trust="person"))
    bob = memory.scoped(user="bob")
    for path in addresses(bob, "main"):
        page = team.ask("GET", f"/ui{path}", mine)
        assert page.status in (200, 303, 403, 404), (path, page.words)
        assert "figs" not in page.text
        assert page.status == 303 or "Log out" in page.text, path
    assert team.ask("GET", "/ui/main/", mine).status == 200
    assert team.ask("GET", "/ui/main/audit", mine).status == 200


def test_a_token_with_many_sessions_ends_its_own(team: Team) -> None:
    alice = team.cookie(team.token("alice", space="main", trust="person"))
    other = team.token("eve", space="main", verbs=("read",))
    first = team.cookie(other)
    for _ in range(9):
        team.login(other)
    assert team.ask("GET", "/ui/main/", first).status == 200  # ten are not too many
    for _ in range(3):
        team.login(other)
    assert team.ask("GET", "/ui/main/", alice).status == 200
    assert team.ask("GET", "/ui/main/", first).status == 303


def test_a_form_that_is_sent_at_once_creates_one_token(team: Team) -> None:
    person = team.token("alice", space=None, verbs=("read", "write", "admin"), trust="person")
    mine = team.cookie(person)
    body = field(team.ask("GET", "/ui/-/tokens", mine), "/tokens/create", **MADE)
    asked = [
        threading.Thread(
            target=team.ask, args=("POST", "/ui/-/tokens/create", {**FORM, **mine}, body)
        )
        for _ in range(3)
    ]
    for each in asked:
        each.start()
    for each in asked:
        each.join()
    assert [each.label for each in team.store.tokens.list()].count("the planner") == 1


def test_a_form_after_the_session_ended_says_so(team: Team) -> None:
    made = team.store.tokens.create("alice", space="main", trust="person")
    mine = team.cookie(made.token)
    id = team.store.space("main").get("tea").id
    body = urlencode({"command": "abc", "expect": "1", "text": "Tea is at five."})
    team.store.tokens.revoke(made.id)
    for _ in range(2):  # once with a session whose token has ended, once without a session
        said = team.ask("POST", f"/ui/main/r/{id}/revise", {**FORM, **mine}, body)
        assert said.status == 401
        assert "logged out" in said.words
        assert "recollect ui" not in said.words


@pytest.mark.parametrize("back", ["/ui/../v1/x", "/ui/./../../x", "//evil.example", "/ui//x", "/x"])
def test_nobody_is_led_elsewhere_after_the_login(team: Team, back: str) -> None:
    token = team.token("alice", space="main", trust="person")
    came = team.ask("POST", "/ui/-/login", FORM, urlencode({"token": token, "back": back}))
    assert came.headers["location"] == "/ui/"


def test_pages_count_as_requests_of_their_token(store: Store) -> None:
    counted: list[tuple[str, str]] = []

    def take(token: str, kind: str) -> None:
        counted.append((token, kind))
        if len(counted) > 5:
            raise Unavailable("this token asks too often", hint="wait 1 s")

    with serving(store) as team:
        team.app._ui._take = take  # type: ignore[union-attr]
        token = team.token("alice", space="main", trust="person")
        mine = team.cookie(token)
        paths = ("/ui/main/", "/ui/main/search?q=tea", "/ui/main/context?q=tea", "/ui/-/jobs")
        for path in paths:
            assert team.ask("GET", path, mine).status == 200
        assert [kind for _, kind in counted] == ["read", "recall", "recall", "admin"]
        assert {each for each, _ in counted} == {token}
        forget(team, mine)
        assert counted[-1][1] == "write"
        assert team.ask("GET", "/ui/main/", mine).status == 503


def test_a_service_that_stops_shows_nothing_more(team: Team) -> None:
    mine = team.cookie(team.token("alice", space="main", trust="person"))
    team.app.drain()
    found = team.ask("GET", "/ui/main/", mine)
    assert (found.status, found.headers["retry-after"]) == (503, "1")


def test_a_stream_ends_with_its_session(team: Team) -> None:
    mine = team.cookie(team.token("alice", space="main", trust="person"))
    connection = HTTPConnection("127.0.0.1", team.port, timeout=60)
    connection.request("GET", "/ui/main/live?after=0", headers=mine)
    answer = connection.getresponse()
    assert answer.readline().startswith(b"data: ")
    team.ask("POST", "/ui/-/logout", {**FORM, **mine}, "")
    team.store.space("main").remember("Nobody hears of this.")
    assert answer.read().strip() == b""
    connection.close()


def test_what_is_being_checked_is_not_checked_twice(team: Team) -> None:
    mine = team.cookie(team.token("alice", space="main", trust="person"))
    asked = "POST", "/ui/main/ledger/verify", {**FORM, **mine}
    assert team.ask(*asked, "command=a").status == 303
    assert "sound" in team.ask("GET", "/ui/main/ledger", mine).words
    with CHECKED._lock:
        busy = team.ask(*asked, "command=b")
    assert busy.status == 503
    assert "another check is running" in busy.words.lower()


@pytest.mark.timing
def test_texts_of_few_words_are_compared_in_bounded_time() -> None:
    rng = random.Random(7)
    old, new = (" ".join(str(rng.randrange(30)) for _ in range(2_400)) for _ in range(2))
    began = time.process_time()
    pieces = compared(old, new)
    assert time.process_time() - began < 0.5
    assert "".join(each.text for each in pieces if each.change != "added") == old
    assert "".join(each.text for each in pieces if each.change != "removed") == new
