"""The table of operations as OpenAPI 3.1.

Responsible for the document that clients are made from. Leaves shapes and values to their modules.
Invariant: the document is computed from the table and the types that requests are checked with, so
it cannot say something else than the service does.
"""

from __future__ import annotations

import re
from functools import cache
from types import UnionType
from typing import Any, Final, get_args, get_origin

import msgspec

from recollect import __version__
from recollect.interfaces.http.problems import Problem
from recollect.interfaces.http.routes import CREATING, TABLE, Route

_PAGE: Final = re.compile(rb"\bPage_(\w+?)_\b")  # how msgspec names a generic type
_REF: Final = "#/components/schemas/{name}"
_LEAVING_OUT: Final = ("Problem", "Scope")  # answers without those fields that have a default
_HEADERS: Final = (
    ("Recollect-User", "Narrow the token to one user."),
    ("Recollect-Session", "Write in this session."),
    ("Recollect-Agent", "Write as this agent."),
    ("Recollect-Trust", "Write with less trust than the token allows."),
    ("Recollect-Subject", "This user, whose memory is encrypted under a key of its own."),
    ("Recollect-Branch", "Read and write on this branch."),
)
_WRITE_HEADERS: Final = (
    ("Idempotency-Key", "The same key with the same request again gives the first answer."),
    ("If-Match", "An ETag; the write is refused with 412 if it has changed since."),
)


_CREATE_HEADERS: Final = (
    ("If-None-Match", "`*`: the write is refused with 412 if this is there already."),
)


@cache
def document() -> bytes:
    """The document as JSON."""
    return msgspec.json.format(msgspec.json.encode(described()), indent=1)


def described() -> dict[str, Any]:
    """The document as data."""
    kinds = list(dict.fromkeys(kind for route in TABLE for kind in _kinds(route)))
    schemas, components = msgspec.json.schema_components(
        [*kinds, Problem], ref_template=_REF, schema_hook=_any
    )
    found = dict(zip([*kinds, Problem], schemas, strict=True))
    _require(components)
    paths: dict[str, Any] = {}
    for route in TABLE:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, found)
    made = {
        "openapi": "3.1.0",
        "info": {
            "title": "Recollect",
            "version": __version__,
            "description": "A memory for AI agents that can be read, proved, replayed and erased.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
    plain = _PAGE.sub(rb"\1Page", msgspec.json.encode(made))
    named: dict[str, Any] = msgspec.json.decode(plain)
    return named


def _kinds(route: Route) -> list[Any]:
    wanted = (route.takes, *_parts(route.gives))
    return [kind for kind in wanted if kind not in (None, bytes)]


def _parts(kind: Any) -> tuple[Any, ...]:
    """The values that an answer may be; msgspec describes no union of values without a tag."""
    inner = get_args(kind)[0] if get_origin(kind) is list else kind
    return get_args(inner) if isinstance(inner, UnionType) else (kind,)


def _given(kind: Any, schemas: dict[Any, Any]) -> Any:
    if kind is bytes:
        return {"type": "string", "format": "binary"}
    parts = _parts(kind)
    if parts == (kind,):
        return schemas[kind]
    either = {"anyOf": [schemas[part] for part in parts]}
    return {"type": "array", "items": either} if get_origin(kind) is list else either


def _operation(route: Route, schemas: dict[Any, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": "Done."}
    if route.gives is not None:
        answer["content"] = {route.media: {"schema": _given(route.gives, schemas)}}
    refusal = {
        "description": "Refused: a problem says why.",
        "content": {"application/problem+json": {"schema": schemas[Problem]}},
    }
    statuses = [str(each) for each in (route.status, route.also) if each is not None]
    found: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.summary,
        "description": f"Needs the verb `{route.verb}`.",
        "parameters": [*_names(route), *_query(route), *_headers(route)],
        "responses": {**dict.fromkeys(statuses, answer), "default": refusal},
    }
    if route.takes is not None:
        found["requestBody"] = {
            "required": _is_needed(route.takes),
            "content": {_media(route): {"schema": _given(route.takes, schemas)}},
        }
    return found


def _media(route: Route) -> str:
    return "application/x-ndjson" if route.takes is bytes else "application/json"


def _names(route: Route) -> list[dict[str, Any]]:
    segment = {"type": "string", "pattern": "^([A-Za-z0-9_][A-Za-z0-9_.-]*|~[A-Za-z0-9_-]*)$"}
    return [
        {"name": part[1:-1], "in": "path", "required": True, "schema": segment}
        for part in route.path.split("/")
        if part.startswith("{")
    ]


def _query(route: Route) -> list[dict[str, Any]]:
    if route.query is None:
        return []
    return [
        {
            "name": field.encode_name,
            "in": "query",
            "required": field.required,
            "schema": msgspec.json.schema(field.type, schema_hook=_any),
        }
        for field in msgspec.structs.fields(route.query)
    ]


def _headers(route: Route) -> list[dict[str, Any]]:
    asked = (
        *_HEADERS,
        *(_WRITE_HEADERS if route.is_write else ()),
        *(_CREATE_HEADERS if route.name in CREATING else ()),
    )
    return [
        {"name": name, "in": "header", "required": False, "description": text,
         "schema": {"type": "string"}}
        for name, text in asked
        if "{space}" in route.path
    ]  # fmt: skip


def _is_needed(kind: Any) -> bool:
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return True
    return any(field.required for field in msgspec.structs.fields(kind))


def _require(components: dict[str, Any]) -> None:
    """Says of answers that they have every field: one with its default is written too."""
    for name, schema in components.items():
        is_request = schema.get("additionalProperties") is False
        if "properties" in schema and not is_request and name not in _LEAVING_OUT:
            schema["required"] = [
                field for field, kind in schema["properties"].items()
                if "default" in kind or field in schema["required"]
            ]  # fmt: skip


def _any(kind: type) -> dict[str, Any]:
    """The schema of a value that may be any JSON."""
    return {"description": "Any JSON."}
