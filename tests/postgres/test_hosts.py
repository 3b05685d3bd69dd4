"""Addresses of several servers."""

from __future__ import annotations

import pytest
from psycopg.conninfo import conninfo_to_dict

from recollect.store.postgres.hosts import split

WRITES = "target_session_attrs=read-write"


@pytest.mark.parametrize(
    ("url", "found"),
    [
        (f"postgresql://u@a,b/d?{WRITES}", [("a", None), ("b", None)]),
        (f"postgresql://u@a:1,b:2/d?{WRITES}", [("a", "1"), ("b", "2")]),
        (f"host=a,b,c port=7 {WRITES}", [("a", "7"), ("b", "7"), ("c", "7")]),
        ("host=a,b target_session_attrs=primary", [("a", None), ("b", None)]),
        ("postgresql://u@a,b/d", []),  # any of them: perhaps for reads
        ("host=a,b target_session_attrs=standby", []),
        (f"postgresql://u@a/d?{WRITES}", []),
        (f"host=a,b port=1,2,3 {WRITES}", []),  # the driver says what is wrong
        ("postgresql://u:p@ss/w@a,b/d", []),
    ],
)
def test_each_host_has_an_address(url: str, found: list[tuple[str, str | None]]) -> None:
    parts = [conninfo_to_dict(each) for each in split(url)]
    assert [(each["host"], each.get("port") or None) for each in parts] == found
