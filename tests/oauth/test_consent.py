"""An assistant asks, a person decides: the whole way by HTTP, and everything that must fail."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import msgspec
import pytest

from recollect import Store
from recollect.errors import Forbidden, NotFound, Unavailable
from recollect.interfaces.web import consent as consent_page
from recollect.interfaces.web.guard import Guard
from recollect.serving.oauth import access_request, addresses, clients
from recollect.serving.oauth import desk as desks
from recollect.serving.oauth.desk import ASK_MAX_S, CODE_MAX_S, READ_MIN_S, Approval, Desk
from recollect.serving.oauth.documents import Documents
from recollect.store.tokens import admins
from tests.oauth.assistant import (
    APPROVED,
    BACK,
    answer,
    challenge,
    code_for,
    consent,
    decide,
    exchange,
    register,
    registered,
    request,
    way_back,
)
from tests.web.teams import FORM, Team, serving
from tests.web.test_team import FORGED
from tests.web.visiting import Page, hidden_fields

ADMIN = ("read", "write", "admin")


class Clock:
    """A clock that a test sets. It goes on whenever it is read, as for people who take time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.step = READ_MIN_S

    def __call__(self) -> float:
        self.now += self.step
        return self.now


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, clock: Clock) -> Iterator[Team]:
    where = tmp_path_factory.mktemp("oauth") / "w"
    with Store.open(where, embedder="none") as store:
        store.space("main").remember("Tea is at four.", key="tea")
        store.space("other").remember("The door code is 4711.", key="door")
        with serving(store, desk=Desk(clock=clock)) as found:
            yield found


@pytest.fixture(scope="module")
def alice(team: Team) -> dict[str, str]:
    return team.cookie(team.token("alice", space=None, verbs=ADMIN, trust="person"))


@pytest.fixture(scope="module")
def client(team: Team) -> str:
    return registered(team)


def read(team: Team, token: str, space: str = "main") -> int:
    path = f"/v1/spaces/{space}/records"
    return team.ask("GET", path, {"Authorization": f"Bearer {token}"}).status


def is_refused(found: tuple[int, dict[str, str]], error: str = "invalid_grant") -> bool:
    status, told = found
    return status == 400 and told["error"] == error and "access_token" not in told


# --- the way in ---------------------------------------------------------------------------------


def test_an_assistant_is_let_in_after_a_person_approved(team: Team) -> None:
    came = team.ask("POST", "/mcp", {"Content-Type": "application/json"}, "{}")
    base = f"http://127.0.0.1:{team.port}"
    where = f"{base}/.well-known/oauth-protected-resource/mcp"
    assert came.status == 401
    assert came.headers["www-authenticate"] == f'Bearer resource_metadata="{where}"'
    told = msgspec.json.decode(team.ask("GET", where.removeprefix(base)).text)
    assert (told["resource"], told["authorization_servers"]) == (f"{base}/mcp", [base])
    server = msgspec.json.decode(team.ask("GET", "/.well-known/oauth-authorization-server").text)
    assert server["issuer"] == base
    assert server["code_challenge_methods_supported"] == ["S256"]

    id = registered(team)
    # Without a session the browser is led to the login, and from there to the page.
    first = consent(team, {}, request(team, id))
    login = team.ask("GET", first.headers["location"])
    token = team.token("bob", space=None, verbs=ADMIN, trust="person")
    fields = {**hidden_fields(login, "/login"), "token": token}
    entered = team.ask("POST", "/ui/-/login", FORM, urlencode(fields))
    mine = {"Cookie": entered.headers["set-cookie"].partition(";")[0]}
    page = team.ask("GET", entered.headers["location"], mine)
    assert "It calls itself Planner That is what it says about itself" in page.words
    assert "assistant.example" in page.words
    assert "verb-read" not in page.text  # every token reads, so nothing is asked about it
    assert 'name="verb-write">' in page.text  # not ticked
    assert 'name="asked" required>' in page.text
    told = answer(team, mine, decide(team, mine, page))
    assert (told["state"], told["iss"]) == ("s-1 &=", base)
    status, given = exchange(team, id, told["code"])
    assert status == 200
    assert (given["token_type"], given["scope"]) == ("Bearer", "read")
    assert 7 * 86_400 - 60 < given["expires_in"] <= 7 * 86_400
    held = team.store.entered(given["access_token"]).token()
    assert held is not None
    assert (held.space, held.verbs, held.trust) == ("main", ("read",), "agent")
    assert held.label == "assistant at assistant.example: Planner"
    assert read(team, given["access_token"]) == 200
    assert read(team, given["access_token"], "other") == 404

    page = team.ask("GET", "/ui/-/tokens", mine)
    assert "assistant at assistant.example: Planner" in page.words
    path = f"/tokens/{held.id}/revoke"
    body = urlencode(hidden_fields(page, path))
    assert team.ask("POST", f"/ui/-{path}", {**FORM, **mine}, body).status == 303
    assert read(team, given["access_token"]) == 401


def test_a_person_says_no(team: Team, alice: dict[str, str], client: str) -> None:
    before = len(team.store.tokens.list())
    page = consent(team, alice, request(team, client))
    told = answer(team, alice, decide(team, alice, page, "deny"))
    assert (told["error"], told["state"]) == ("access_denied", "s-1 &=")
    # What was decided stays: the other form changes nothing any more.
    assert "code" not in answer(team, alice, decide(team, alice, page))
    assert len(team.store.tokens.list()) == before


def test_writing_one_memory_and_one_user_are_what_is_given(
    team: Team, alice: dict[str, str], client: str
) -> None:
    asked = f"http://127.0.0.1:{team.port}/v1/spaces/other/mcp"
    page = consent(team, alice, request(team, client, resource=asked, scope="write"))
    assert "(it asks for this)" in page.words
    assert '<option value="main">' not in page.text
    refused = decide(team, alice, page, space="main")
    assert refused.status == 403
    more = {"space": "other", "verb-write": "on", "trust": "unverified", "user": "carol"}
    told = answer(team, alice, decide(team, alice, page, **more))
    status, given = exchange(team, client, told["code"], resource=asked)
    assert (status, given["scope"]) == (200, "read write")
    held = team.store.entered(given["access_token"]).token()
    assert held is not None
    assert (held.space, held.trust, held.user) == ("other", "unverified", "carol")


def test_a_token_ends_no_later_than_that_of_the_person(team: Team, client: str) -> None:
    made = team.store.tokens.create(
        "short", space="main", verbs=ADMIN, trust="person", expires="2099-01-01T00:00:00Z"
    )
    mine = team.cookie(made.token)
    _, given = exchange(team, client, code_for(team, mine, client))
    held = team.store.entered(given["access_token"]).token()
    assert held is not None
    assert held.expires is not None
    assert made.expires is not None
    assert held.expires < made.expires


def test_the_way_back_is_one_at_a_time_and_ends_with_the_code(
    team: Team, alice: dict[str, str], client: str, clock: Clock
) -> None:
    def looked(decided: Page) -> Page:
        return team.ask("GET", decided.headers["location"], alice)

    decided = decide(team, alice, consent(team, alice, request(team, client)))
    first, again = looked(decided), looked(decided)
    code = parse_qs(urlsplit(way_back(again)).query)["code"][0]
    # By itself at first, then by a link: a code that is sent twice ends the token.
    assert ("refresh" in first.headers, code in first.text) == (True, False)
    assert ("refresh" in again.headers, code in again.text) == (False, True)
    assert exchange(team, client, code)[0] == 200
    used = looked(decided)
    assert ("has taken its token" in used.words, code in used.text) == (True, False)
    exchange(team, client, code)
    assert "This approval has ended" in looked(decided).words

    decided = decide(team, alice, consent(team, alice, request(team, client)))
    clock.now += CODE_MAX_S
    late = looked(decided)
    assert ("This approval has ended" in late.words, "code=" in late.text) == (True, False)
    assert "refresh" not in late.headers


def test_a_person_who_denied_is_led_nowhere(team: Team, alice: dict[str, str], client: str) -> None:
    decided = decide(team, alice, consent(team, alice, request(team, client)), "deny")
    led = team.ask("GET", decided.headers["location"], alice)
    assert ("refresh" in led.headers, "error=access_denied" in led.text) == (False, True)


def test_a_token_that_allows_more_than_was_approved_is_ended(
    team: Team, alice: dict[str, str], client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = team.store.tokens.create("plain", space="main", verbs=("write",))
    assert plain.verbs == ("read", "write")  # the store adds ``read`` to every token
    odd = desks.Wish(space="main", verbs=("write",), trust="agent", days=1)
    monkeypatch.setattr(consent_page, "wish", lambda ask, fields, store: odd)
    assert is_refused(exchange(team, client, code_for(team, alice, client)))
    last = team.store.tokens.list()[-1]
    assert (last.label.startswith("assistant"), last.revoked is None) == (True, False)


def test_one_click_does_not_approve(
    team: Team, alice: dict[str, str], client: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = consent(team, alice, request(team, client))
    assert page.text.index("/deny") < page.text.index(">Approve<")  # Enter takes the first
    without = decide(team, alice, page, asked="")
    assert (without.status, "I asked for this just now" in without.words) == (422, True)
    monkeypatch.setattr(clock, "step", 0.0)
    page = consent(team, alice, request(team, client))
    early = decide(team, alice, page)
    assert (early.status, "sooner than it can be read" in early.words) == (422, True)
    clock.now += READ_MIN_S
    assert "code" in answer(team, alice, decide(team, alice, page))


def test_a_code_ends_with_the_session_in_which_it_was_approved(team: Team, client: str) -> None:
    mine = team.cookie(team.token("zoe", space=None, verbs=ADMIN, trust="person"))
    code = code_for(team, mine, client)
    assert team.ask("POST", "/ui/-/logout", {**FORM, **mine}, "").status == 303
    assert is_refused(exchange(team, client, code))


def code_for_dropped(team: Team, client: str) -> str:
    """A code for a memory that was dropped since, by a person who may create it again."""
    team.store.space("gone").remember("Soon over.")
    token = team.token("zed", space=None, verbs=(*ADMIN, "create"), trust="person")
    code = code_for(team, team.cookie(token), client, space="gone")
    team.store.drop("gone")
    return code


def test_a_dropped_memory_does_not_come_back(team: Team, client: str) -> None:
    code = code_for_dropped(team, client)
    assert is_refused(exchange(team, client, code))
    assert "gone" not in team.store.spaces()


def test_visits_that_a_website_forces_leave_the_page_that_is_read(
    team: Team, alice: dict[str, str], client: str
) -> None:
    read = consent(team, alice, request(team, client))
    evil = registered(team, "Evil", "https://evil.example/cb")
    for _ in range(12):
        consent(team, alice, request(team, evil, redirect_uri="https://evil.example/cb"))
    assert "code" in answer(team, alice, decide(team, alice, read))


def test_a_person_who_may_not_approve_any_more_does_not(team: Team, client: str) -> None:
    made = team.store.tokens.create("gina", space="main", verbs=ADMIN, trust="person")
    mine = team.cookie(made.token)
    page = consent(team, mine, request(team, client))
    team.store.tokens.revoke(made.id)
    assert decide(team, mine, page).status == 401


def test_a_description_is_fetched_only_for_a_person_who_may_approve(
    team: Team, alice: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def get(self: Documents, url: str) -> bytes:
        asked.append(url)
        told = {"client_id": url, "client_name": "Planner", "redirect_uris": [BACK]}
        return msgspec.json.encode(told)

    monkeypatch.setattr(Documents, "get", get)
    id = "https://assistant.example/client.json"
    plain = team.cookie(team.token("plain", space="main", trust="person"))
    assert consent(team, {}, request(team, id)).status == 303
    assert consent(team, plain, request(team, id)).status == 403
    assert asked == []
    page = consent(team, alice, request(team, id))
    assert "It is described at assistant.example" in page.words
    code = answer(team, alice, decide(team, alice, page))["code"]
    assert exchange(team, id, code)[0] == 200
    assert asked == [id]


def test_a_double_click_makes_one_code(team: Team, alice: dict[str, str], client: str) -> None:
    page = consent(team, alice, request(team, client))
    told = [answer(team, alice, decide(team, alice, page)) for _ in range(2)]
    assert told[0] == told[1]


def test_a_program_on_the_persons_computer_may_use_any_port(
    team: Team, alice: dict[str, str]
) -> None:
    id = registered(team, "Local", "http://127.0.0.1/cb", "http://localhost:1/cb?x=1")
    page = consent(team, alice, request(team, id, redirect_uri="http://127.0.0.1:50123/cb"))
    assert "a program on the computer of this browser" in page.words
    told = answer(team, alice, decide(team, alice, page))
    uri = "http://127.0.0.1:50123/cb"
    assert exchange(team, id, told["code"], redirect_uri=uri)[0] == 200
    for wrong in ("http://127.0.0.1:50123/other", "http://localhost:5/cb", "http://[::1]:5/cb"):
        assert consent(team, alice, request(team, id, redirect_uri=wrong)).status == 422


def test_under_the_prefix_of_a_proxy_every_address_has_it(tmp_path: Path) -> None:
    with Store.open(tmp_path / "w", embedder="none") as store:
        store.space("main").remember("Tea is at four.")
        with serving(store, "/memory", desk=Desk()) as team:
            base = f"http://127.0.0.1:{team.port}/memory"
            for path in (
                "/.well-known/oauth-authorization-server/memory",
                "/memory/.well-known/openid-configuration",
                "/memory/.well-known/oauth-authorization-server",
            ):
                told = msgspec.json.decode(team.ask("GET", path).text)
                assert (told["issuer"], told["token_endpoint"]) == (base, f"{base}/token")
            page = team.ask("GET", "/memory/authorize?client_id=x")
            assert "/memory/ui/-/assistants?client_id=x" in page.text


# --- codes --------------------------------------------------------------------------------------


def test_a_code_works_once_and_a_second_use_ends_the_token(
    team: Team, alice: dict[str, str], client: str
) -> None:
    code = code_for(team, alice, client)
    status, given = exchange(team, client, code)
    assert (status, read(team, given["access_token"])) == (200, 200)
    assert is_refused(exchange(team, client, code))
    assert read(team, given["access_token"]) == 401


def test_of_many_at_the_same_time_one_gets_a_token(
    team: Team, alice: dict[str, str], client: str
) -> None:
    code = code_for(team, alice, client)
    before = len(team.store.tokens.list())
    work = [threading.Thread(target=exchange, args=(team, client, code)) for _ in range(8)]
    for each in work:
        each.start()
    for each in work:
        each.join()
    assert len(team.store.tokens.list()) == before + 1


WRONG: dict[str, dict[str, str | None]] = {
    "another verifier": {"code_verifier": "w" * 64},
    "no verifier": {"code_verifier": None},
    "the challenge as the verifier": {"code_verifier": challenge()},
    "another address": {"redirect_uri": "https://assistant.example/other"},
    "no address": {"redirect_uri": None},
    "no client": {"client_id": None},
    "a code that never was": {"code": "a" * 43},
}


@pytest.mark.parametrize("changed", WRONG.values(), ids=WRONG)
def test_a_code_in_wrong_hands_gives_nothing(
    team: Team, alice: dict[str, str], client: str, changed: dict[str, str | None]
) -> None:
    code = code_for(team, alice, client)
    found = exchange(team, client, **{"code": code, **changed})  # type: ignore[arg-type]
    assert is_refused(found)
    if "code" not in changed:  # it was tried, so it is over
        assert is_refused(exchange(team, client, code))


def test_a_code_of_another_client_or_resource_gives_nothing(
    team: Team, alice: dict[str, str], client: str
) -> None:
    thief = registered(team, "Thief", BACK)
    assert is_refused(exchange(team, thief, code_for(team, alice, client)))
    other = f"http://127.0.0.1:{team.port}/v1/spaces/other/mcp"
    code = code_for(team, alice, client)
    assert is_refused(exchange(team, client, code, resource=other), "invalid_target")


def test_a_code_ends_after_a_minute(
    team: Team, alice: dict[str, str], client: str, clock: Clock
) -> None:
    code = code_for(team, alice, client)
    clock.now += CODE_MAX_S
    assert is_refused(exchange(team, client, code))


def test_a_code_dies_with_the_rights_of_who_approved(team: Team, client: str) -> None:
    made = team.store.tokens.create("dora", space="main", verbs=ADMIN, trust="person")
    mine = team.cookie(made.token)
    code = code_for(team, mine, client)
    team.store.tokens.revoke(made.id)
    assert is_refused(exchange(team, client, code))


def test_the_exchange_takes_only_its_own_form(team: Team, client: str) -> None:
    wrong = exchange(team, client, "x", grant_type="refresh_token")
    assert is_refused(wrong, "unsupported_grant_type")
    kind = {"Content-Type": "application/json"}
    assert team.ask("POST", "/token", kind, "{}").status == 400
    assert team.ask("GET", "/token").status == 405
    twice = "grant_type=authorization_code&code=a&code=b"
    assert team.ask("POST", "/token", {"Content-Type": FORM["Content-Type"]}, twice).status == 400
    assert team.ask("POST", "/token", kind, "x" * 20_000).status == 413
    foreign = {"Content-Type": FORM["Content-Type"], "Origin": "https://evil.example"}
    assert team.ask("POST", "/token", foreign, "grant_type=x").status == 403


# --- who may approve, and what --------------------------------------------------------------------


@pytest.mark.parametrize("headers", FORGED.values(), ids=FORGED)
def test_another_website_cannot_approve(
    team: Team, alice: dict[str, str], client: str, headers: dict[str, str]
) -> None:
    page = consent(team, alice, request(team, client))
    body = urlencode({**hidden_fields(page, "/approve"), **APPROVED})
    sent = team.ask("POST", "/ui/-/assistants/approve", {**FORM, **alice, **headers}, body)
    assert sent.status == 403
    ask = hidden_fields(page, "/approve")["ask"]
    assert team.ask("GET", f"/ui/-/assistants/answered?ask={ask}", alice).status == 404


def test_another_session_cannot_approve_or_look(team: Team, alice: dict[str, str]) -> None:
    page = consent(team, alice, request(team, registered(team)))
    other = team.cookie(team.token("eve", space=None, verbs=ADMIN, trust="person"))
    assert decide(team, other, page).status == 404
    assert decide(team, {}, page).status == 401
    ask = hidden_fields(page, "/approve")["ask"]
    answer(team, alice, decide(team, alice, page))
    assert team.ask("GET", f"/ui/-/assistants/answered?ask={ask}", other).status == 404


def test_a_request_that_waited_too_long_has_ended(
    team: Team, alice: dict[str, str], client: str, clock: Clock
) -> None:
    page = consent(team, alice, request(team, client))
    clock.now += ASK_MAX_S
    late = decide(team, alice, page)
    assert (late.status, "has ended" in late.words) == (404, True)


def test_nobody_gives_more_than_they_hold(team: Team, client: str) -> None:
    before = len(team.store.tokens.list())
    for origin in ("person", "agent"):
        plain = team.cookie(team.token(origin, space="main", trust=origin))
        page = consent(team, plain, request(team, client))
        assert (page.status, "you cannot let an assistant in" in page.words) == (403, True)
        assert "/approve" not in page.text
    reads = team.cookie(team.token("carl", space="main", verbs=("read", "admin"), trust="person"))
    page = consent(team, reads, request(team, client))
    more = {
        "writing": {"verb-write": "on"}, "another memory": {"space": "other"},
        "every memory": {"space": ""}, "no such memory": {"space": "none"},
    }  # fmt: skip
    for what, fields in more.items():
        assert decide(team, reads, page, **fields).status == 403, what
    for fields in (
        {"trust": "person"},
        {"ends": "9999"},
        {"ends": ""},
        {"asked": ""},
        {"user": "a\x00b"},
    ):
        assert decide(team, reads, page, **fields).status == 422, fields
    assert len(team.store.tokens.list()) == before + 3


# --- where answers go -----------------------------------------------------------------------------

OPEN = (
    "https://evil.example/callback", "https://assistant.example/callback/../x",
    "https://assistant.example/callback?x", "https://assistant.example:444/callback",
    "https://assistant.example/callback#x", "https://assistant.example@evil.example/callback",
    "https://assistant.example\\@evil.example/callback", "http://assistant.example/callback",
    "//assistant.example/callback", "javascript:alert(1)", "data:text/html,x",
    "HTTPS://assistant.example/callback", "https://assistant.example/callback\r\nX: y",
    "https://assistant.example/callback%0d%0a", "", "/ui/",
)  # fmt: skip


@pytest.mark.parametrize("uri", OPEN)
def test_an_answer_goes_nowhere_else(
    team: Team, alice: dict[str, str], client: str, uri: str
) -> None:
    page = consent(team, alice, request(team, client, redirect_uri=uri))
    assert page.status == 422
    assert "evil" not in page.text
    assert "refresh" not in page.headers


@pytest.mark.parametrize(
    "uri",
    [
        "http://assistant.example/cb", "javascript:alert(1)", "data:text/html,x", "file:/x",
        "cursor://callback", "https://evil.example\\@good.example/", "https://u@good.example/",
        "https://good.example/#f", "https://good/x", "https://gооd.example/", "https:///x",
        "https://good.example/ x", "http://127.0.0.1.evil.example/", "https://good.example/\n",
        "https://" + "a" * 101 + ".example/", "https://good.example/" + "x" * 500,
        "https://127.0.0.1/cb", "https://0x7f.1/cb", "https://1.1/cb", "https://a.0x7f:443/cb",
        "https://a.0x?b", "https://good.7",
    ],
)  # fmt: skip
def test_no_client_registers_an_address_that_is_not_safe(team: Team, uri: str) -> None:
    told = register(team, "Planner", uri)
    assert told.status == 400
    assert msgspec.json.decode(told.text)["error"] == "invalid_redirect_uri"


WRONG_REQUESTS: dict[str, dict[str, str | None]] = {
    "no PKCE": {"code_challenge": None},
    "plain PKCE": {"code_challenge_method": "plain"},
    "PKCE without a method": {"code_challenge_method": None},
    "a short challenge": {"code_challenge": "a"},
    "a token at once": {"response_type": "token"},
    "another service": {"resource": "https://evil.example/mcp"},
    "a name that begins alike": {"resource": "http://127.0.0.1:1.evil.example/mcp"},
    "another path": {"resource": "/mcp"},
    "a long state": {"state": "x" * 1_001},
    "no client": {"client_id": None},
    "a client that never was": {"client_id": "client_x"},
    "a client in another form": {"client_id": "client_WyJQbGFubmVyIixbXV0"},
    "a client that is a local address": {"client_id": "https://127.0.0.1/client.json"},
    "a client that is a private address": {"client_id": "https://10.0.0.1/client.json"},
}


@pytest.mark.parametrize("changed", WRONG_REQUESTS.values(), ids=WRONG_REQUESTS)
def test_a_request_in_a_wrong_form_is_shown_and_answered_to_nobody(
    team: Team, alice: dict[str, str], client: str, changed: dict[str, str | None]
) -> None:
    page = consent(team, alice, request(team, client, **changed))
    assert page.status == 422
    assert "/approve" not in page.text
    assert "refresh" not in page.headers


def test_what_stands_twice_in_a_request_is_refused(
    team: Team, alice: dict[str, str], client: str
) -> None:
    twice = f"{request(team, client)}&redirect_uri=https%3A%2F%2Fevil.example%2F"
    assert consent(team, alice, twice).status == 422


HOSTILE = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7*7 }}", "\u202egnp.exe",
    "a\x00b", "Claude\u200b\n\n\nApproved", "x" * 5_000, "rct_" + "a" * 43, "123456", "",
)  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_name_is_a_text(team: Team, alice: dict[str, str], name: str) -> None:
    id = registered(team, name)
    page = consent(team, alice, request(team, id))
    assert page.status == 200
    for bad in ("<script>alert", "<img src=x", "\u202e", "\u200b", "\x00", "x" * 61):
        assert bad not in page.text
    decided = decide(team, alice, page)
    led = team.ask("GET", decided.headers["location"], alice)
    assert "<script>alert" not in led.text
    status, given = exchange(team, id, answer(team, alice, decided)["code"])
    assert status == 200
    held = team.store.entered(given["access_token"]).token()
    assert held is not None
    assert held.label.startswith("assistant ")
    assert len(held.label) < 200


def test_a_name_cannot_go_on_in_the_words_of_the_page(team: Team, alice: dict[str, str]) -> None:
    name = "Claude”. «Checked» by [Recollect]: (it is) <claude.ai>. “\u200b O’Neil’s"
    id = registered(team, name)
    page = consent(team, alice, request(team, id))
    told = "Claude . Checked by Recollect : it is claude.ai . U+200B O'N"
    assert f"It calls itself {told} That is what it says about itself" in page.words
    assert 'class="lead own-word"' in page.text
    exchange(team, id, answer(team, alice, decide(team, alice, page))["code"])
    assert team.store.tokens.list()[-1].label == f"assistant at assistant.example: {told}"


def test_a_registration_that_is_nested_deeply_is_refused(team: Team) -> None:
    kind = {"Content-Type": "application/json"}
    deep = "[" * 7_000 + "]" * 7_000
    body = f'{{"redirect_uris":["{BACK}"],"x":{deep}}}'
    told = team.ask("POST", "/register", kind, body)
    assert told.status == 400
    assert msgspec.json.decode(told.text)["error"] == "invalid_client_metadata"


def test_registering_keeps_nothing_and_requests_are_bounded(team: Team) -> None:
    desk = Desk()
    client = clients.registered("Planner", [BACK])
    base = f"http://127.0.0.1:{team.port}"
    query = {
        "response_type": ("code",), "client_id": (client.id,), "redirect_uri": (BACK,),
        "code_challenge": (challenge(),), "code_challenge_method": ("S256",),
    }  # fmt: skip
    asked = access_request.parsed(query, base)
    first = desk.ask("one", asked, client)
    for _ in range(50):
        desk.ask("one", asked, client)
    assert len(desk._asks) == 10
    with pytest.raises(NotFound, match="has ended"):
        desk.asked("one", first.id)
    for number in range(990):
        desk.ask(str(number), asked, client)
    with pytest.raises(Unavailable, match="too many assistants"):
        desk.ask("more", asked, client)
    assert len(desk._asks) == 1_000
    for number in range(200):
        registered(team, f"Client {number}")
    assert registered(team) == registered(team)
    too_many = register(team, "Planner", *[f"https://a.example/{each}" for each in range(6)])
    assert too_many.status == 400


def test_nothing_of_it_is_there_unless_it_is_asked_for(tmp_path: Path) -> None:
    with Store.open(tmp_path / "w", embedder="none") as store:
        store.space("main").remember("Tea is at four.")
        with serving(store) as team:
            for path in ("/authorize", "/.well-known/oauth-authorization-server"):
                assert team.ask("GET", path).status == 401
            mine = team.cookie(team.token("a", space=None, verbs=ADMIN, trust="person"))
            assert team.ask("GET", "/ui/-/assistants", mine).status == 404


# --- controls: with a check taken out, the attack gets through ----------------------------------


def test_control_without_pkce_a_stolen_code_works(
    team: Team, alice: dict[str, str], client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_request, "is_answer", lambda verifier, challenge: True)
    code = code_for(team, alice, client)
    assert exchange(team, client, code, code_verifier="w" * 64)[0] == 200


def test_control_without_its_binding_anybody_exchanges_a_code(
    team: Team, alice: dict[str, str], client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desks, "check", lambda approval, given: None)
    thief = registered(team, "Thief", BACK)
    assert exchange(team, thief, code_for(team, alice, client))[0] == 200
    code = code_for(team, alice, client)
    assert exchange(team, client, code, redirect_uri="https://evil.example/")[0] == 200


def test_control_a_code_that_is_not_used_up_works_again(
    team: Team, alice: dict[str, str], client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    unused = property(lambda approval: False, lambda approval, value: None)
    monkeypatch.setattr(Approval, "is_used", unused, raising=False)
    code = code_for(team, alice, client)
    assert [exchange(team, client, code)[0] for _ in range(2)] == [200, 200]


def test_control_without_the_check_an_answer_goes_to_another_website(
    team: Team, alice: dict[str, str], client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addresses, "is_same_redirect", lambda asked, registered: True)
    page = consent(team, alice, request(team, client, redirect_uri="https://evil.example/"))
    decided = decide(team, alice, page)
    led = team.ask("GET", decided.headers["location"], alice)
    assert "url=https://evil.example/?code=" in led.headers["refresh"]


def test_control_without_the_guard_another_website_approves(
    team: Team, alice: dict[str, str], client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Guard.check
    monkeypatch.setattr(
        Guard, "check",
        lambda self, method, raw: found(
            self, method,
            [(n, v) for n, v in raw if n not in (b"origin", b"sec-fetch-site")]
            + [(b"sec-fetch-site", b"same-origin")],
        ),
    )  # fmt: skip
    page = consent(team, alice, request(team, client))
    body = urlencode({**hidden_fields(page, "/approve"), **APPROVED})
    evil = {**FORM, **alice, "Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    sent = team.ask("POST", "/ui/-/assistants/approve", evil, body)
    assert "code" in answer(team, alice, sent)


def test_control_without_both_ceilings_more_is_given_than_held(
    team: Team, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = team.cookie(team.token("carl", space="main", verbs=("read", "admin"), trust="person"))
    more = desks.Wish(space="main", verbs=("read", "write"), trust="agent", days=1)
    monkeypatch.setattr(consent_page, "wish", lambda ask, fields, store: more)
    # The page is not the only ceiling: the store refuses it too.
    assert is_refused(exchange(team, client, code_for(team, reads, client)))
    monkeypatch.setattr(admins, "_check_within", lambda mine, verbs, origin: None)
    status, given = exchange(team, client, code_for(team, reads, client))
    assert (status, given["scope"]) == (200, "read write")


def test_control_without_box_and_wait_one_click_approves(
    team: Team, alice: dict[str, str], client: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "step", 0.0)
    monkeypatch.setattr(desks, "READ_MIN_S", 0.0)
    given = consent_page.wish
    monkeypatch.setattr(
        consent_page,
        "wish",
        lambda ask, fields, store: given(ask, {**fields, "asked": "on"}, store),
    )
    page = consent(team, alice, request(team, client))
    assert "code" in answer(team, alice, decide(team, alice, page, asked=""))


def test_control_without_the_session_a_code_outlives_the_logout(
    team: Team, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    always = property(lambda approval: lambda: True, lambda approval, value: None)
    monkeypatch.setattr(Approval, "is_open", always, raising=False)
    mine = team.cookie(team.token("zora", space=None, verbs=ADMIN, trust="person"))
    code = code_for(team, mine, client)
    team.ask("POST", "/ui/-/logout", {**FORM, **mine}, "")
    assert exchange(team, client, code)[0] == 200


def test_control_without_the_check_a_dropped_memory_comes_back(
    team: Team, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = code_for_dropped(team, client)
    monkeypatch.setattr(Store, "spaces", lambda store: ["gone"])
    assert exchange(team, client, code)[0] == 200
    monkeypatch.undo()
    assert "gone" in team.store.spaces()


def test_an_ended_token_is_refused_at_the_store_too(team: Team, alice: dict[str, str]) -> None:
    id = registered(team, "Short")
    _, given = exchange(team, id, code_for(team, alice, id))
    held = team.store.entered(given["access_token"]).token()
    assert held is not None
    team.store.tokens.revoke(held.id)
    with pytest.raises(Forbidden):
        team.store.entered(given["access_token"]).spaces()
