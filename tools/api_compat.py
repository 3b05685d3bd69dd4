"""Compare the document of the service with the one of the last release: nothing may be gone.

    python -m tools.api_compat            compares openapi.json with the frozen copy
    python -m tools.api_compat --freeze   makes the copy new; do this with a release

Knows what breaks a client: an operation, a parameter, a field or a value that is gone, and what was
optional and became required. Leaves whether the document is true to `make reference`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
NOW = FOLDER / "openapi.json"
RELEASED = FOLDER / "openapi-released.json"
Json = dict[str, Any]


def breaks(old: Json, new: Json) -> list[str]:
    """What a client of the old document would miss in the new one."""
    return list(dict.fromkeys(_Comparing(old, new).operations()))


class _Comparing:
    def __init__(self, old: Json, new: Json) -> None:
        self._old, self._new = old, new
        self._seen: set[tuple[str, str, bool]] = set()

    def operations(self) -> Iterator[str]:
        for path, methods in self._old["paths"].items():
            for method, old in methods.items():
                place = f"{method.upper()} {path}"
                new = self._new["paths"].get(path, {}).get(method)
                if new is None:
                    yield f"{place} is gone"
                else:
                    yield from self._parameters(place, old, new)
                    yield from self._bodies(place, old, new)

    def _parameters(self, place: str, old: Json, new: Json) -> Iterator[str]:
        before, after = (
            {(p["name"], p["in"]): p for p in each["parameters"]} for each in (old, new)
        )
        for key, one in before.items():
            if key not in after:
                yield f"{place}: the parameter {key[0]} is gone"
            else:
                yield from self._schemas(
                    f"{place} {key[0]}", one["schema"], after[key]["schema"], True
                )
        for key, one in after.items():
            if one.get("required") and not before.get(key, {}).get("required"):
                yield f"{place}: the parameter {key[0]} is required now"

    def _bodies(self, place: str, old: Json, new: Json) -> Iterator[str]:
        before, after = old.get("requestBody"), new.get("requestBody")
        if after and after["required"] and not (before and before["required"]):
            yield f"{place}: a body is required now"
        if before:
            yield from self._contents(f"{place} body", before, after or {}, True)
        for status, answer in old["responses"].items():
            if status not in new["responses"]:
                yield f"{place}: the answer {status} is gone"
            else:
                yield from self._contents(
                    f"{place} {status}", answer, new["responses"][status], False
                )

    def _contents(self, place: str, old: Json, new: Json, asks: bool) -> Iterator[str]:
        for media, one in old.get("content", {}).items():
            other = new.get("content", {}).get(media)
            if other is None:
                yield f"{place}: {media} is gone"
            else:
                yield from self._schemas(place, one["schema"], other["schema"], asks)

    def _schemas(self, place: str, old: Any, new: Any, asks: bool) -> Iterator[str]:
        if not isinstance(old, dict) or not isinstance(new, dict):
            return
        if "$ref" in old and "$ref" in new:
            key = (old["$ref"], new["$ref"], asks)
            if key in self._seen:
                return
            self._seen.add(key)
            place = old["$ref"].rpartition("/")[2]
        old, new = self._resolved(self._old, old), self._resolved(self._new, new)
        for value in old.get("enum", ()):
            if value not in new.get("enum", [value]):
                yield f"{place}: the value {value!r} is gone"
        for name, one in old.get("properties", {}).items():
            if name not in new.get("properties", {}):
                yield f"{place}: the field {name} is gone"
            else:
                yield from self._schemas(f"{place}.{name}", one, new["properties"][name], asks)
        if asks:
            for name in sorted(set(new.get("required", ())) - set(old.get("required", ()))):
                yield f"{place}: the field {name} is required now"
        else:
            for name in sorted(set(old.get("required", ())) - set(new.get("required", ()))):
                yield f"{place}: the field {name} may be missing now"
        yield from self._schemas(place, old.get("items"), new.get("items"), asks)
        for word in ("anyOf", "oneOf"):
            yield from self._choices(place, old.get(word, []), new.get(word, []), asks)

    def _choices(self, place: str, old: list[Json], new: list[Json], asks: bool) -> Iterator[str]:
        """Alternatives: a named one by its name, values wherever they are, another by its type."""
        named = {one.get("$ref") or str(one.get("type")): one for one in new}
        values = {"enum": [value for one in new for value in one.get("enum", ())]}
        for one in old:
            key = one.get("$ref") or str(one.get("type"))
            if "enum" in one and values["enum"]:
                yield from self._schemas(place, one, values, asks)
            elif key in named:
                yield from self._schemas(place, one, named[key], asks)
            elif new:
                yield f"{place}: the alternative {key.rpartition('/')[2]} is gone"

    @staticmethod
    def _resolved(document: Json, schema: Json) -> Json:
        while "$ref" in schema:
            schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return schema


def main(arguments: list[str]) -> int:
    if arguments == ["--freeze"]:
        RELEASED.write_text(NOW.read_text("utf-8"), "utf-8")
        return 0
    found = breaks(json.loads(RELEASED.read_text("utf-8")), json.loads(NOW.read_text("utf-8")))
    for each in found:
        print(each)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
