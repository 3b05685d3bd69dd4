"""Requests made from the service's own description, and what is wrong about their answers.

Schemathesis reads the OpenAPI document and makes requests that fit it, and others that do not. Each
is sent to a real service, with names of things that are there as often as with any others. An
answer is wrong if it is a 5xx, has a status or a content type that is not described, or a body that
does not fit its schema; a refusal must be a problem whose code is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from recollect.interfaces.http.problems import known_codes

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
# Any text in one of these refuses a request, so few of them are chosen by hand.
NARROWING = [
    ("Recollect-User", "ann"), ("Recollect-User", "\u00c3\u00a9"), ("Recollect-Session", "s-1"),
    ("Recollect-Agent", "a"), ("Recollect-Origin", "agent"), ("Recollect-Origin", "none"),
    ("Recollect-Subject", "ann"), ("Recollect-Branch", "plan"), ("Recollect-Branch", "none"),
]  # fmt: skip
PROBLEM = "application/problem+json"
NOT_HTTP = b"Invalid HTTP request received."
WRONG_MAX_COUNT = 50


@schemathesis.serializer("application/x-ndjson")
def lines(context: Any, value: Any) -> bytes:
    """The lines of a ledger: any bytes."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    return value if isinstance(value, bytes) else msgspec.json.encode(value)


@dataclass
class Found:
    """What a run has seen."""

    statuses: Counter[int] = field(default_factory=Counter)
    reached: set[str] = field(default_factory=set)  # operations that gave a 2xx
    wrong: list[str] = field(default_factory=list)
    refused_on_branches: int = 0
    not_http: int = 0

    def note(self, what: str) -> None:
        if len(self.wrong) < WRONG_MAX_COUNT and what not in self.wrong:
            self.wrong.append(what)

    @property
    def cases(self) -> int:
        return self.statuses.total()


@dataclass(frozen=True)
class Service:
    """A service, a token that may do everything, and names of what is there."""

    url: str
    token: str
    names: Mapping[str, tuple[str, ...]]  # by the name in a path
    spared: frozenset[str] = frozenset()  # ids of tokens that the run needs


def run(description: bytes, service: Service, per_operation: int, *, chance: int = 7) -> Found:
    """Asks every operation so many times."""
    found = Found()
    schema = schemathesis.openapi.from_dict(_lighter(description))
    with requests.Session() as session:
        session.trust_env = False
        for operation in _operations(schema):
            _ask(operation, service, per_operation, chance, session, found)
    return found


def _lighter(description: bytes) -> dict[str, Any]:
    """The description without the headers that narrow: most of the time went into making them."""
    whole: dict[str, Any] = msgspec.json.decode(description)
    for rows in whole["paths"].values():
        for about in rows.values():
            about["parameters"] = [
                each for each in about["parameters"] if not each["name"].startswith("Recollect-")
            ]
    return whole


def _operations(schema: Any) -> Iterator[Any]:
    for result in schema.get_all_operations():
        yield result.ok()


def _ask(
    operation: Any, service: Service, count: int, chance: int, session: Any, found: Found
) -> None:
    fitting = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
    try:
        other = operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)
        either = st.one_of(fitting, fitting, other)
    except Exception:  # noqa: BLE001 - nothing about it can be wrong
        either = fitting

    @seed(chance)
    @settings(
        max_examples=count, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck), print_blob=False,
    )  # fmt: skip
    @given(either, st.data())
    def ask(case: Any, data: st.DataObject) -> None:
        _aim(case, data, service)
        if case.operation.label.startswith(("DELETE /v1/tokens", "POST /v1/tokens/")) and (
            case.path_parameters.get("token") in service.spared
        ):
            return
        _sent(case, service, session, found)

    ask()


def _aim(case: Any, data: st.DataObject, service: Service) -> None:
    """Puts names of what is there into the path, mostly, and sometimes narrows the request."""
    for name in list(case.path_parameters or ()):
        there = service.names.get(name)
        if there and (name == "space" or data.draw(st.integers(0, 3))):
            case.path_parameters[name] = data.draw(st.sampled_from(there))
    if "space" in (case.path_parameters or {}) and not data.draw(st.integers(0, 3)):
        name, value = data.draw(st.sampled_from(NARROWING))
        case.headers = {**(case.headers or {}), name: value}


def _sent(case: Any, service: Service, session: Any, found: Found) -> None:
    headers = {"Authorization": f"Bearer {service.token}"}
    try:
        answer = case.call(base_url=service.url, session=session, headers=headers, timeout=60)
    except (requests.exceptions.InvalidHeader, UnicodeError):  # no client can send it
        return
    found.statuses[answer.status_code] += 1
    label = case.operation.label
    if answer.status_code == 400 and answer.content == NOT_HTTP:
        found.not_http += 1  # the parser below the service refused it
        return
    if answer.status_code == 501 and "Recollect-Branch" in (case.headers or {}):
        found.refused_on_branches += 1  # what a branch cannot do, such as show the past
        return
    if 200 <= answer.status_code < 300:
        found.reached.add(label)
    else:
        for what in _about_problem(answer):
            found.note(f"{label}: {what}")
    try:
        case.validate_response(answer, checks=CHECKS)
    except FailureGroup as group:
        for failure in group.exceptions:
            found.note(f"{label} {answer.status_code}: {failure.title}: {failure.message[:300]}")


def _about_problem(answer: Any) -> Iterator[str]:
    """What is wrong about a refusal."""
    kind = answer.headers.get("content-type", [""])[0]
    if kind != PROBLEM:
        yield f"{answer.status_code} with {kind!r}"
        return
    problem = msgspec.json.decode(answer.content)
    if problem["status"] != answer.status_code or problem["code"] not in known_codes():
        yield f"{answer.status_code} says {problem['status']} {problem['code']}"
