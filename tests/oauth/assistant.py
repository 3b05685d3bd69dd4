"""An assistant that asks to be let in, and the person who answers, by plain HTTP."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64encode
from hashlib import sha256
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import msgspec

from tests.web.teams import FORM, Team
from tests.web.visiting import Page, hidden_fields

BACK = "https://assistant.example/callback"
VERIFIER = "v" * 64
APPROVED = {"space": "main", "asked": "on", "trust": "agent", "ends": "7"}


def challenge(verifier: str = VERIFIER) -> str:
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=")


def register(team: Team, name: str = "Planner", *uris: str) -> Page:
    body = json.dumps({"client_name": name, "redirect_uris": uris or (BACK,)})
    return team.ask("POST", "/register", {"Content-Type": "application/json"}, body)


def registered(team: Team, name: str = "Planner", *uris: str) -> str:
    answer = register(team, name, *uris)
    assert answer.status == 201, answer.text
    id: str = msgspec.json.decode(answer.text)["client_id"]
    return id


def request(team: Team, client: str, **changed: str | None) -> str:
    """The query of a request, as a client makes it."""
    asked = {
        "response_type": "code", "client_id": client, "redirect_uri": BACK,
        "code_challenge": challenge(), "code_challenge_method": "S256", "state": "s-1 &=",
        "resource": f"http://127.0.0.1:{team.port}/mcp", **changed,
    }  # fmt: skip
    return urlencode({name: value for name, value in asked.items() if value is not None})


def consent(team: Team, cookie: dict[str, str], query: str) -> Page:
    """From the client's link to the page on which a person decides, as a browser goes there."""
    forwarded = team.ask("GET", f"/authorize?{query}", {"Sec-Fetch-Site": "cross-site"})
    assert forwarded.status == 200, forwarded.text
    link = re.search('href="([^"]+)"', forwarded.text)
    assert link is not None
    place = unescape(link[1])
    assert forwarded.headers["refresh"] == f"0; url={place}"
    return team.ask("GET", place, {**cookie, "Sec-Fetch-Site": "same-origin"})


def decide(
    team: Team, cookie: dict[str, str], page: Page, what: str = "approve", **fields: str
) -> Page:
    """Sends one of the two forms."""
    given = {**hidden_fields(page, "/approve"), **(APPROVED if what == "approve" else {}), **fields}
    return team.ask("POST", f"/ui/-/assistants/{what}", {**FORM, **cookie}, urlencode(given))


def answer(team: Team, cookie: dict[str, str], decided: Page) -> dict[str, str]:
    """What the client is told, by the page that leads back to it."""
    assert decided.status == 303, decided.words
    place = way_back(team.ask("GET", decided.headers["location"], cookie))
    return {name: values[0] for name, values in parse_qs(urlsplit(place).query).items()}


def way_back(page: Page) -> str:
    """The address of the assistant: the browser goes there by itself, or there is one link."""
    links = [unescape(each) for each in re.findall('rel="noreferrer" href="([^"]+)"', page.text)]
    led = [page.headers["refresh"].partition("url=")[2]] if "refresh" in page.headers else []
    (place,) = [*links, *led]
    return place


def code_for(team: Team, cookie: dict[str, str], client: str, **fields: str) -> str:
    page = consent(team, cookie, request(team, client))
    return answer(team, cookie, decide(team, cookie, page, **fields))["code"]


def exchange(team: Team, client: str, code: str, **changed: str | None) -> tuple[int, Any]:
    """Asks for the token; the status and the answer."""
    given = {
        "grant_type": "authorization_code", "client_id": client, "code": code,
        "redirect_uri": BACK, "code_verifier": VERIFIER,
        "resource": f"http://127.0.0.1:{team.port}/mcp", **changed,
    }  # fmt: skip
    body = urlencode({name: value for name, value in given.items() if value is not None})
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    told = team.ask("POST", "/token", kind, body)
    assert told.headers["cache-control"] == "no-store"
    return told.status, msgspec.json.decode(told.text)
