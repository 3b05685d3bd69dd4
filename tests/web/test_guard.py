"""Requests that a browser of this person did not make reach nothing."""

from __future__ import annotations

import itertools

import pytest

from recollect import Memory, Store
from recollect.interfaces.web.guard import CSP, Guard, Turned
from recollect.interfaces.web.login.session import LAUNCH_S, Launched
from tests.web.visiting import Served, Visitor, hidden_fields, served

TEXT = "Bob waters the plants"  # of the memory: it must not reach anyone else


def test_a_browser_that_was_let_in_sees_the_memory(visitor: Visitor) -> None:
    page = visitor.get("/demo/")
    assert page.status == 200
    assert TEXT in page.text


def test_the_headers_bound_what_a_page_may_do(visitor: Visitor) -> None:
    for path in ("/demo/", "/demo/nothing", "/-/app.css"):
        headers = visitor.get(path).headers
        assert headers["content-security-policy"] == CSP
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "camera=()" in headers["permissions-policy"]
    assert visitor.get("/demo/").headers["cache-control"] == "no-store"
    assert visitor.get("/demo/timeline?as=json").headers["cache-control"] == "no-store"


def test_a_launch_key_works_once(inspector: Served) -> None:
    key = inspector.sessions.launch()
    first = inspector.ask("GET", f"/open?key={key}")
    assert first.status == 303
    cookie = first.headers["set-cookie"]
    assert f"Path={inspector.root}/;" in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    again = inspector.ask("GET", f"/open?key={key}")
    assert again.status == 401
    assert "set-cookie" not in again.headers


def test_a_launch_key_ends_after_a_minute() -> None:
    now = itertools.count(0.0, 1.0)
    clock = {"at": next(now)}
    sessions = Launched(clock=lambda: clock["at"])
    key = sessions.launch()
    clock["at"] = LAUNCH_S + 1
    assert sessions.enter(key) is None
    other = sessions.launch()  # the control: in time it works
    assert sessions.enter(other) is not None


def test_a_link_that_is_loaded_ahead_uses_no_key(inspector: Served) -> None:
    key = inspector.sessions.launch()
    ahead = inspector.ask("GET", f"/open?key={key}", {"Sec-Purpose": "prefetch"})
    assert ahead.status == 403
    assert inspector.ask("GET", f"/open?key={key}").status == 303


FORGED: list[tuple[str, dict[str, str]]] = [
    ("a foreign origin", {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}),
    ("a foreign origin alone", {"Origin": "http://evil.example"}),
    ("another port", {"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site"}),
    ("another site", {"Sec-Fetch-Site": "cross-site"}),
    ("an unknown site", {"Sec-Fetch-Site": "somewhere"}),
    ("a null origin of elsewhere", {"Origin": "null", "Sec-Fetch-Site": "cross-site"}),
    ("a null origin", {"Origin": "null"}),
    ("another host", {"Host": "evil.example"}),
    ("a rebound host", {"Host": "evil.example:80"}),
]


@pytest.mark.parametrize("headers", [each for _, each in FORGED], ids=[name for name, _ in FORGED])
@pytest.mark.parametrize("method", ["GET", "POST", "HEAD", "PUT"])
def test_a_forged_request_reaches_nothing(
    inspector: Served, visitor: Visitor, memory: Memory, headers: dict[str, str], method: str
) -> None:
    """Even with the cookie, which a browser would not send."""
    id = memory.get(key="home.plants").id
    position = memory.events.position
    form = "application/x-www-form-urlencoded"
    path = f"{inspector.root}/demo/r/{id}" + ("/forget" if method == "POST" else "")
    seq = memory.get(id).seq
    answer = inspector.ask(
        method,
        path,
        {"Cookie": visitor.cookie, "Content-Type": form, **headers},
        f"command=abc&expect={seq}",
    )
    assert answer.status in (403, 421)
    assert TEXT not in answer.text
    assert memory.events.position == position


@pytest.mark.parametrize(
    "cookie",
    [
        "",
        "recollect-ui=",
        "recollect-ui=" + "0" * 48,
        "other=1",
        "recollect-ui=é".encode().decode("latin-1"),
    ],
)
def test_without_a_right_cookie_nothing_is_shown(inspector: Served, cookie: str) -> None:
    headers = {"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}
    for path in ("/demo/", "/demo/timeline", "/demo/search?q=alice", "/", "/demo/timeline?as=json"):
        answer = inspector.ask("GET", f"{inspector.root}{path}", headers)
        assert answer.status == 401
        assert TEXT not in answer.text
        assert "demo" not in answer.words


def test_a_cookie_of_another_process_opens_nothing(store: Store, inspector: Served) -> None:
    with served(store) as other:
        stranger = other.enter()
        headers = {"Cookie": stranger.cookie, "Sec-Fetch-Site": "same-origin"}
        assert inspector.ask("GET", f"{inspector.root}/demo/", headers).status == 401
        assert stranger.get("/demo/").status == 200  # the control


def test_a_cookie_that_comes_twice_opens_nothing(inspector: Served, visitor: Visitor) -> None:
    doubled = f"{visitor.cookie}; recollect-ui=x"
    answer = inspector.ask("GET", f"{inspector.root}/demo/", {"Cookie": doubled})
    assert answer.status == 401


def test_a_change_needs_a_form_of_this_page(inspector: Served, visitor: Visitor) -> None:
    """Without Sec-Fetch-Site, which old browsers do not send, the right Origin counts."""
    guard = Guard(["127.0.0.1:7"])
    host = (b"host", b"127.0.0.1:7")
    with pytest.raises(Turned):
        guard.check("POST", [host])
    with pytest.raises(Turned):
        guard.check("POST", [host, (b"origin", b"http://127.0.0.1:8")])
    with pytest.raises(Turned):
        guard.check("POST", [host, host])
    assert guard.check("POST", [host, (b"origin", b"http://127.0.0.1:7")])
    assert guard.check("POST", [host, (b"sec-fetch-site", b"same-origin"), (b"origin", b"null")])
    with pytest.raises(Turned):  # typed into the address bar: no form
        guard.check("POST", [host, (b"sec-fetch-site", b"none")])


def test_read_only_changes_nothing(store: Store, memory: Memory) -> None:
    id = memory.get(key="home.plants").id
    with served(store, read_only=True) as inspector:
        visitor = inspector.enter()
        page = visitor.get(f"/demo/r/{id}")
        assert "--read-only" in page.words
        assert "disabled" in page.text
        fields = hidden_fields(page, "/forget")
        position = memory.events.position
        assert visitor.post(f"/demo/r/{id}/forget", fields).status == 403
        assert memory.events.position == position


def test_paths_that_are_not_in_their_one_form_are_not_found(visitor: Visitor) -> None:
    paths = "/demo/r/%61 /demo/../demo/ /demo/r/~ /%64emo/ /demo// /-/../app.py /-/app.css/x /-/"
    for path in [*paths.split(), "/nothing/"]:
        assert visitor.get(path).status == 404, path


def test_two_thousand_forged_requests_reach_nothing(
    inspector: Served, visitor: Visitor, memory: Memory
) -> None:
    """Every mix of a wrong host, site, origin and cookie, on reads, acts, settings and keys."""
    id = memory.get(key="home.plants").id
    used = inspector.sessions.launch()
    assert inspector.ask("GET", f"/open?key={used}").status == 303
    right = f"127.0.0.1:{inspector.port}"
    hosts = [right, "localhost", f"evil.example:{inspector.port}", "127.0.0.1:1"]
    sites = [None, "same-origin", "same-site", "cross-site", "none", "x"]
    origins = [None, f"http://{right}", "http://evil.example", "null", "http://127.0.0.1:1"]
    cookies = [visitor.cookie, "", "recollect-ui=" + "1" * 48]
    asked = [
        ("GET", f"{inspector.root}/demo/"),
        ("GET", f"{inspector.root}/demo/r/{id}"),
        ("POST", f"{inspector.root}/demo/r/{id}/forget"),
        ("POST", f"{inspector.root}/demo/r/{id}/revise"),
        ("POST", f"{inspector.root}/-/theme"),
        ("GET", f"/open?key={used}"),
    ]
    body = f"command=abc&expect={memory.get(id).seq}&text=owned&theme=dark"
    position, count, let_in = memory.events.position, 0, 0
    for host, site, origin, cookie, (method, path) in itertools.product(
        hosts, sites, origins, cookies, asked
    ):
        headers = {"Host": host, "Content-Type": "application/x-www-form-urlencoded"}
        headers |= {"Sec-Fetch-Site": site} if site else {}
        headers |= {"Origin": origin} if origin else {}
        headers |= {"Cookie": cookie} if cookie else {}
        is_read = method == "GET" and site in (None, "same-origin", "none")
        is_act = site == "same-origin" or (site is None and origin == f"http://{right}")
        is_ours = origin in (None, f"http://{right}") or (origin, site) == ("null", "same-origin")
        if host == right and is_ours and cookie == visitor.cookie and (is_read or is_act):
            let_in += 1  # the control is what a browser of ours sends
            continue
        answer = inspector.ask(method, path, headers, body if method == "POST" else None)
        assert answer.status in (401, 403, 421), (headers, method, path)
        assert TEXT not in answer.text
        assert "set-cookie" not in answer.headers
        count += 1
    assert memory.events.position == position
    assert count >= 2_000
    assert let_in > 0
