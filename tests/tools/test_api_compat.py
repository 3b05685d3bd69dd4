"""The service keeps what its last release offered; each kind of break is found."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tools import api_compat

NOW: Any = json.loads(api_compat.NOW.read_text("utf-8"))
RECORDS = "/v1/spaces/{space}/records"


def test_nothing_of_the_last_release_is_gone() -> None:
    released = json.loads(api_compat.RELEASED.read_text("utf-8"))
    assert api_compat.breaks(released, NOW) == []


def _drop_operation(new: Any) -> None:
    del new["paths"][RECORDS]["post"]


def _drop_parameter(new: Any) -> None:
    new["paths"][RECORDS]["get"]["parameters"].pop()


def _require_parameter(new: Any) -> None:
    for each in new["paths"][RECORDS]["get"]["parameters"]:
        each["required"] = True


def _require_field(new: Any) -> None:
    new["components"]["schemas"]["Remember"]["required"].append("key")


def _drop_field(new: Any) -> None:
    del new["components"]["schemas"]["Remember"]["properties"]["key"]


def _drop_answer(new: Any) -> None:
    del new["components"]["schemas"]["Record"]["properties"]["text"]


def _drop_value(new: Any) -> None:
    found = [each for each in _enums(new["components"]["schemas"]) if "tool" in each]
    for each in found:
        each.remove("tool")


def _enums(value: Any) -> Iterator[list[str]]:
    if isinstance(value, dict):
        if isinstance(value.get("enum"), list):
            yield value["enum"]
        for each in value.values():
            yield from _enums(each)
    elif isinstance(value, list):
        for each in value:
            yield from _enums(each)


def _drop_alternative(new: Any) -> None:
    acts = new["components"]["schemas"]["Batch"]["properties"]["acts"]["items"]
    acts["anyOf"] = [one for one in acts["anyOf"] if not one["$ref"].endswith("/UndoAct")]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_drop_operation, f"POST {RECORDS} is gone"), (_drop_parameter, "is gone"),
        (_require_parameter, "is required now"), (_require_field, "the field key is required"),
        (_drop_field, "the field key is gone"), (_drop_answer, "the field text is gone"),
        (_drop_value, "the value 'tool' is gone"), (_drop_alternative, "UndoAct is gone"),
    ],
)  # fmt: skip
def test_a_break_is_found(change: Callable[[Any], None], said: str) -> None:  # controls
    new = copy.deepcopy(NOW)
    change(new)
    found = api_compat.breaks(NOW, new)
    assert any(said in each for each in found), found
    assert api_compat.breaks(new, NOW) == [] or change == _require_parameter
