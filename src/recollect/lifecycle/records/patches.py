"""JSON Merge Patch on a record's data.

Responsible for applying a patch to data. Leaves when it applies to ``lifecycle.records``.
Invariant: keys that a patch does not name stay.
"""

from __future__ import annotations

from recollect.model import validate
from recollect.model.validate import Json


def patched(old: dict[str, Json], patch: dict[str, Json]) -> dict[str, Json]:
    """The old data with a patch applied: objects are merged, null removes a key."""
    return validate.data(_merged(old, patch))


def _merged(old: dict[str, Json], patch: dict[str, Json]) -> dict[str, Json]:
    new = dict(old)
    for key, value in patch.items():
        if value is None:
            new.pop(key, None)
        elif isinstance(value, dict):
            below = new.get(key)
            new[key] = _merged(below if isinstance(below, dict) else {}, value)
        else:
            new[key] = value
    return new
