"""The table of operations, and the document made from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from recollect.interfaces.http import openapi, routes
from recollect.interfaces.http.problems import Refused
from recollect.model.values import Forgotten


def test_every_row_is_found_by_its_path() -> None:
    for row in routes.TABLE:
        path = row.path.replace("{", "").replace("}", "")
        found, names = routes.find(row.method, path)
        assert found is row
        assert all(key == value for key, value in names.items())


def test_names_are_decoded_after_routing() -> None:
    _, names = routes.find("GET", "/v1/spaces/~w6k/records/~YS9i")
    assert names == {"space": "é", "id": "a/b"}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 404), ("/v1", 404), ("/v1/spaces/", 404), ("/v1/spaces/a/", 404),
        ("/v1/spaces/a/records/", 404), ("/v1/spaces/a/records/b/c", 404), ("//v1/spaces", 404),
        ("/v1/spaces/a%2Fb/records", 400), ("/v1/spaces/../records", 400),
        ("/v1/spaces/a/records/%2e%2e", 400), ("/v1/spaces/~/records", 422),
    ],
)  # fmt: skip
def test_another_path_is_refused(path: str, status: int) -> None:
    if status == 422:  # the empty name is well formed; the memory refuses it
        assert routes.find("GET", path)[1] == {"space": ""}
        return
    with pytest.raises(Refused) as caught:
        routes.find("GET", path)
    assert caught.value.status == status


def test_another_method_is_told_the_right_one() -> None:
    with pytest.raises(Refused) as caught:
        routes.find("PUT", "/v1/spaces/a/records")
    assert (caught.value.status, caught.value.headers["Allow"]) == (405, "GET, POST")
    assert routes.find("HEAD", "/v1/spaces/a/records")[0].name == "list_records"


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for each in value.values():
            yield from references(each)
    elif isinstance(value, list):
        for each in value:
            yield from references(each)


def test_the_document_describes_every_row() -> None:
    document = msgspec.json.decode(openapi.document())
    schemas = document["components"]["schemas"]
    for reference in references(document):
        assert reference.removeprefix("#/components/schemas/") in schemas
    ids = [
        operation["operationId"]
        for path in document["paths"].values()
        for operation in path.values()
    ]
    assert sorted(ids) == sorted({row.name for row in routes.TABLE})
    assert len(ids) == len(set(ids))
    for path, methods in document["paths"].items():
        for operation in methods.values():
            named = {each["name"] for each in operation["parameters"] if each["in"] == "path"}
            assert named == {part[1:-1] for part in path.split("/") if part.startswith("{")}
            assert operation["summary"]
    assert "RecordPage" in schemas
    assert schemas["Remember"]["additionalProperties"] is False
    assert "pattern" in str(document["paths"]["/v1/spaces/{space}/records"]["get"]["parameters"])


def test_the_document_is_openapi() -> None:
    from openapi_spec_validator import validate

    validate(msgspec.json.decode(openapi.document()))


def test_a_document_without_a_title_is_refused() -> None:  # the control
    from openapi_spec_validator import validate
    from openapi_spec_validator.validation.exceptions import OpenAPIValidationError

    document = msgspec.json.decode(openapi.document())
    with pytest.raises(OpenAPIValidationError):
        validate({**document, "paths": {}, "info": {}})


def test_an_answer_has_all_that_the_document_says() -> None:
    schemas = msgspec.json.decode(openapi.document())["components"]["schemas"]
    forgotten = msgspec.json.decode(msgspec.json.encode(Forgotten(id="a", unit="record")))
    assert set(schemas["Forgotten"]["required"]) == set(forgotten)
    assert schemas["Scope"]["required"] == []  # it leaves out what is not set
    assert schemas["Message"]["required"] == ["content"]  # a request may leave out a default
