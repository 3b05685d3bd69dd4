"""Requests: strict JSON, parameters, headers, and problems that say where."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from recollect.errors import (
    Ambiguous,
    Changed,
    Conflict,
    Forbidden,
    IntegrityError,
    InvalidInput,
    LimitExceeded,
    NotFound,
    RecollectError,
    Unavailable,
    Unsupported,
)
from recollect.interfaces.http import problems, requests, routes, shapes, signatures
from recollect.interfaces.http.limits.gate import Gate
from recollect.interfaces.http.problems import Refused
from recollect.model.instants import Moment


class Told(msgspec.Struct):
    text: str


@pytest.mark.parametrize(
    "raw",
    [
        b"{", b"", b"[]", b'"x"', b"null", b'{"text": NaN}', b'{"text": "a", "text": "b"}',
        b'{"text": 1}', b'{"text": ""}', b'{"text": null}', b'{"text": "a", "colour": "red"}',
        b'{"text": "a", "tags": "x"}', b'{"text": "a", "confidence": 2}', b"\xff",
        b'{"text": "a", "data": {"k": 1, "k": 2}}', b"[" * 100_000,
        b'{"text": "a", "tags": [' + b'"t",' * 70 + b'"t"]}',
    ],
)  # fmt: skip
def test_a_body_that_is_not_what_it_should_be_is_refused(raw: bytes) -> None:
    with pytest.raises(Refused) as caught:
        requests.body(raw, shapes.Remember)
    assert caught.value.status in (400, 422)


def test_what_was_left_out_is_not_passed_on() -> None:
    body = requests.body(b'{"text": "a", "key": "k"}', shapes.Remember)
    assert body.given("text") == {"key": "k"}
    assert requests.body(b'{"expires": null}', shapes.Revise).given() == {"expires": None}


def test_an_empty_body_is_an_empty_object() -> None:
    assert requests.body(b"", shapes.Used).given() == {}
    assert requests.body(b" {} ", None) is None
    with pytest.raises(Refused, match="no body"):
        requests.body(b'{"a": 1}', None)


@pytest.mark.parametrize(
    ("raw", "pointer"),
    [
        (b'{"messages": [{"content": "a"}, {"content": 5}]}', "/messages/1/content"),
        (b'{"messages": []}', "/messages"),
        (b"{}", ""),
    ],
)
def test_a_problem_says_where(raw: bytes, pointer: str) -> None:
    with pytest.raises(Refused) as caught:
        requests.body(raw, shapes.Observe)
    (fault,) = caught.value.problem.errors
    assert fault.pointer == pointer


@pytest.mark.parametrize(
    "raw", [b"limit=0", b"limit=1001", b"limit=x", b"colour=red", b"limit=1&limit=2", b"limit",
            b"include=secret", b"%ff=1", b"\xff=1", b"&".join([b"include=waiting"] * 101)],
)  # fmt: skip
def test_parameters_that_could_mean_something_else_are_refused(raw: bytes) -> None:
    with pytest.raises(Refused):
        requests.parameters(raw, shapes.Listing)


def test_parameters_are_read() -> None:
    found = requests.parameters(b"limit=5&include=waiting&include=expired&at=7", shapes.Listing)
    assert (found.limit, found.include, found.at) == (5, ["waiting", "expired"], "7")
    assert requests.parameters(b"", None) is None
    with pytest.raises(Refused, match="no parameters"):
        requests.parameters(b"a=1", None)


def test_headers_narrow_a_handle() -> None:
    assert requests.narrowing({"recollect-user": "Zo\u00c3\u00ab"}) == {"user": "Zoë"}
    with pytest.raises(Refused, match="UTF-8"):
        requests.narrowing({"recollect-user": "\u00ff"})


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (InvalidInput, 422), (LimitExceeded, 422), (Ambiguous, 422), (NotFound, 404),
        (Forbidden, 403), (Conflict, 409), (Changed, 412), (Unavailable, 503),
        (Unsupported, 501), (IntegrityError, 500),
    ],
)  # fmt: skip
def test_each_error_has_a_status(error: type[RecollectError], status: int) -> None:
    found = problems.refusal(error("what", hint="next"))
    assert (found.status, found.problem.status, found.problem.code) == (status, status, error.code)
    assert found.problem.type == f"/problems/{error.code}"
    assert error.code in problems.known_codes()


def test_what_is_not_there_and_what_is_not_yours_have_the_same_bytes() -> None:
    one = problems.refusal(NotFound("nothing here has the id 'a'"))
    other = problems.refusal(NotFound("no space 'b'", hint="create it"))
    assert msgspec.json.encode(one.problem) == msgspec.json.encode(other.problem)


def test_an_unexpected_error_says_nothing() -> None:
    assert "secret" not in str(problems.refusal(ValueError("secret")).problem)


HOST = (b"host", b"localhost:7357")


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"host", b"evil.example")],
        [HOST, HOST],
        [HOST, (b"Authorization", b"Bearer a"), (b"authorization", b"Bearer b")],
        [HOST, (b"origin", b"http://evil.example")],
        [HOST, (b"origin", b"null")],
        [HOST, (b"idempotency-key", b"a"), (b"idempotency-key", b"b")],
        [HOST, (b"x-unknown", b"a"), (b"X-Unknown", b"a")],
    ],
)
def test_the_gate_refuses_what_is_doubled_or_unknown(headers: list[tuple[bytes, bytes]]) -> None:
    with pytest.raises(Refused):
        Gate(["localhost:7357"]).headers(headers)


def test_the_gate_passes_its_own_origin() -> None:
    found = Gate(["localhost:7357"]).headers([HOST, (b"Origin", b"http://localhost:7357")])
    assert found["host"] == "localhost:7357"
    Gate(["localhost:7357"]).headers([HOST, (b"via", b"a"), (b"via", b"b")])  # a list


@pytest.mark.parametrize(
    "value", [None, "", "Bearer", "Basic rct_x", "rct_x", "Bearer x", "Bearer rct_" + "x" * 300,
              "Bearer rct_é"],
)  # fmt: skip
def test_what_is_not_a_token_is_refused(value: str | None) -> None:
    gate = Gate(["localhost:7357"])
    with pytest.raises(Refused) as caught:
        gate.token({} if value is None else {"authorization": value})
    assert (caught.value.status, "WWW-Authenticate" in caught.value.headers) == (401, True)


def test_writes_leave_room_to_reads() -> None:
    gate = Gate(["localhost"], in_work_max_count=4)
    for _ in range(3):
        gate.enter(is_write=True)
    with pytest.raises(Refused, match="3 writes"):
        gate.enter(is_write=True)
    gate.enter()
    gate.leave()
    gate.leave(is_write=True)
    gate.enter(is_write=True)


def test_only_so_many_requests_are_in_work() -> None:
    gate = Gate(["localhost"], in_work_max_count=2)
    gate.enter()
    gate.enter()
    with pytest.raises(Refused) as caught:
        gate.enter()
    assert (caught.value.status, caught.value.headers["Retry-After"]) == (503, "1")
    gate.leave()
    gate.enter()
    gate.is_draining = True
    with pytest.raises(Refused, match="stopping"):
        gate.enter()


def unlimited(schema: object) -> list[object]:
    """The texts in a schema that may have any length; quotes have their limits in the memory."""
    if isinstance(schema, list):
        return [each for one in schema for each in unlimited(one)]
    if not isinstance(schema, dict):
        return []
    is_text = schema.get("type") == "string" and "enum" not in schema
    own = [schema] if is_text and not {"maxLength", "pattern"} & schema.keys() else []
    return own + [
        each for name, one in schema.items() if name != "Quote" for each in unlimited(one)
    ]


REQUESTS: dict[str, type] = {
    shape.__name__: shape
    for row in routes.TABLE
    for shape in (row.takes, row.query)
    if isinstance(shape, type) and issubclass(shape, shapes.Request)
}


@pytest.mark.parametrize("name", sorted(REQUESTS))
def test_no_text_in_a_request_is_without_a_limit(name: str) -> None:
    assert unlimited(msgspec.json.schema(REQUESTS[name], schema_hook=lambda _: {})) == []


def test_a_parameter_has_the_limit_of_its_name_or_of_its_type() -> None:
    def call(
        self: object,
        text: str,
        *,
        colour: str | None = None,
        at: Moment | None = None,
        shades: Iterable[str] = (),
        ends: Moment | None | UnsetType = UNSET,
        idempotency_key: str | None = None,
    ) -> None:
        """A call of no memory."""

    made = signatures.request("Call", call, "Said.", base=shapes.Request)
    schema = msgspec.json.schema(made)["$defs"]["Call"]
    limits = {name: kind.get("maxLength") for name, kind in schema["properties"].items()}
    assert limits == {"text": 1_048_576, "colour": 200, "at": 64, "shades": None, "ends": None}
    assert schema["required"] == ["text"]
    assert unlimited(schema) == []
    for wrong in (b'{"text": "a", "colour": null}', b'{"text": "a", "shade": "b"}', b"{}"):
        with pytest.raises(Refused):
            requests.body(wrong, made)
    assert requests.body(b'{"text": "a", "ends": null}', made).given() == {
        "text": "a",
        "ends": None,
    }


def test_a_text_without_a_limit_is_found() -> None:
    """The control."""
    assert unlimited(msgspec.json.schema(Told)) != []
