"""S2: stores from a configuration in YAML, without a YAML library."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import ConfigError
from recollect.contracts.episodic import (
    FactStore,
    MemoryStore,
    SQLiteFactStore,
    SQLiteMemoryStore,
    load_stores,
)
from recollect.contracts.episodic.configured import _in_yaml
from recollect.testing.episodic_suite import episode, ids, put

# As the seed prints it.
WIRING = """\
stores:
  memory: sqlite:./.memory
"""


def test_a_store_is_wired_by_its_address(tmp_path: Path) -> None:  # S2-165
    (store,) = load_stores(WIRING, base=tmp_path).values()
    assert isinstance(store, SQLiteMemoryStore)
    assert list(tmp_path.iterdir()) == []

    async def scenario() -> None:
        await store.bootstrap()
        assert (tmp_path / ".memory" / "events.wal").is_file()
        await put(store, episode("e1"))
        assert ids(await store.recent("alice", limit=1)) == ["e1"]
        await store.close()

    asyncio.run(scenario())


def test_a_path_counts_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # S2-165
    monkeypatch.chdir(tmp_path)
    store = load_stores(WIRING)["memory"]
    asyncio.run(store.bootstrap())
    asyncio.run(store.close())
    assert os.listdir(tmp_path) == [".memory"]


def test_what_a_yaml_reader_made_is_taken_too(tmp_path: Path) -> None:  # S2-165
    given = {"stores": {"memory": "sqlite:./m", "fact": "sqlite:./m"}, "other": [1]}
    stores = load_stores(given, base=tmp_path)
    assert isinstance(stores["memory"], MemoryStore)
    assert isinstance(stores["fact"], SQLiteFactStore)
    assert isinstance(stores["fact"], FactStore)
    assert str(tmp_path / "m") in repr(stores["memory"])


@pytest.mark.parametrize(
    "text",
    [
        WIRING,
        'stores: {memory: "sqlite:./.memory"}',
        "stores: { 'memory': 'sqlite:./.memory' }  # one line\r\n",
        "# note\ngraph:\n  - a: 1\n\nstores:\n\n    # where\n    memory:   sqlite:./m\nrest: x",
        '"stores":\n  "memory": "sqlite:./.memory" # quoted\n',
        "stores: {}",
        "stores:\n  memory: sqlite:./a b#c\n",
    ],
)  # fmt: skip
def test_it_reads_what_a_yaml_library_reads(text: str) -> None:  # S2-165
    assert dict(_in_yaml(text)) == yaml.safe_load(text)["stores"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "memory: sqlite:./.memory",
        "other:\n  stores:\n    memory: sqlite:./m",
        "stores:\n  memory: sqlite:./a\nstores:\n  memory: sqlite:./b",
        "stores:\n  memory: sqlite:./a\n  memory: sqlite:./b",
        "stores:\n  memory: !!python/object/apply:os.system ['true']",
        "stores: !!python/object/apply:os.system ['true']",
        "stores: &all\n  memory: sqlite:./a",
        "stores: *all",
        "stores:\n  <<: *all",
        "stores:\n  memory: *all",
        "stores:\n  memory: &all sqlite:./a",
        "stores:\n  memory: |\n    sqlite:./a",
        "stores:\n  memory:\n    path: sqlite:./a",
        "stores:\n  - memory",
        "stores: [memory]",
        "stores: {memory: {path: x}}",
        "stores:\n\tmemory: sqlite:./a",
        "stores:\n  memory: sqlite:./a\n    more: b",
        "stores:\n  memory: \"sqlite:./\\x41\"",
        "stores:\n  memory: 'sqlite:./a",
        "stores:\n  memory",
        "stores:\n  memory: a: b",
        "stores: {memory: 'sqlite:./a'",
        "x" * 70_000,
    ],
)  # fmt: skip
def test_what_is_no_plain_mapping_is_refused(text: str, tmp_path: Path) -> None:  # S2-165
    with pytest.raises(ConfigError):
        load_stores(text, base=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "value", ["&a x", "*a", "!t x", "|", ">", "[x]", "{a: b}", "@x", "`x", "%x"]
)
def test_a_value_that_yaml_reads_as_more_than_text_is_refused(value: str) -> None:  # S2-165
    with pytest.raises(ConfigError, match="line 2"):
        list(_in_yaml(f"stores:\n  memory: {value}"))


@pytest.mark.parametrize(
    "stores",
    [
        {"memory": "./.memory"},
        {"memory": "postgresql:./x"},
        {"memory": "SQLITE:./x"},
        {"memory": "sqlite:"},
        {"memory": "sqlite:  "},
        {"memory": "sqlite:a\0b"},
        {"memory": None},
        {"memory": 5},
        {"memory": ["sqlite:./x"]},
        {"vector": "sqlite:./x"},
        {5: "sqlite:./x"},
        "memory",
        None,
    ],
)
def test_an_address_that_is_no_path_is_refused(stores: Any) -> None:  # S2-165
    with pytest.raises(ConfigError):
        load_stores({"stores": stores})


LINES = st.sampled_from(
    [
        "stores:", "  memory: sqlite:./a", "  memory: 'x'", "  fact: y # z", "stores: {memory: b}",
        "# note", "", "other: 1", "  - x", "  <<: *a", "   memory: c", "stores: !x", "'stores': {}",
    ]
)  # fmt: skip


@given(st.lists(LINES, max_size=6).map("\n".join) | st.text(max_size=80))
@settings(max_examples=100, deadline=None)
def test_any_text_is_read_as_yaml_does_or_refused(text: str) -> None:
    try:
        found = dict(_in_yaml(text))
    except ConfigError:
        return
    parsed = yaml.safe_load(text)["stores"] if _is_yaml(text) else None
    if parsed is not None:
        assert found == parsed


def _is_yaml(text: str) -> bool:
    try:
        return isinstance(yaml.safe_load(text), dict)
    except yaml.YAMLError:
        return False
