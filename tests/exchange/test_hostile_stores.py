"""Hostile files in the formats of other memories: each gives a line or an error, and harms nothing.

Every file has a good item before the hostile one and, if the format is one of lines, after it.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from recollect import Memory
from recollect.errors import RecollectError
from recollect.model.values import Imported

FORMATS = ("basic-memory", "chatgpt", "mcp-memory", "mem0")
DEEP = 10_000


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory.open(tmp_path / "store", embedder="none")


def raw(text: str) -> str:
    """A JSON text for these words."""
    return json.dumps(text)


def mem0(folder: Path, value: str, id: str = '"x"', at: str = "null") -> Path:
    good = '{"id": "good", "memory": "Good words", "user_id": null}'
    bad = f'{{"id": {id}, "memory": {value}, "user_id": null, "created_at": {at}}}'
    file = folder / "mem0.json"
    file.write_bytes(f'{{"results": [{good}, {bad}]}}'.encode("utf-8", "surrogatepass"))
    return file


def mcp(folder: Path, value: str, id: str = '"x"', at: str = "null") -> Path:
    lines = [
        '{"type": "entity", "name": "Ada", "entityType": "person", "observations": ["Good words"]}',
        f'{{"type": "entity", "name": {id}, "entityType": {at}, "observations": [{value}]}}',
        '{"type": "entity", "name": "Bo", "entityType": "person", "observations": ["Last words"]}',
    ]
    file = folder / "memory.json"
    file.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    return file


def chatgpt(folder: Path, value: str, id: str = '"x"', at: str = "null") -> Path:
    def talk(session: str, id: str, value: str, at: str) -> str:
        content = f'{{"content_type": "text", "parts": [{value}]}}'
        message = f'{{"id": {id}, "author": {{"role": "user"}}, "content": {content}'
        node = f'{{"id": "n", "parent": null, "message": {message}, "create_time": {at}}}}}'
        return f'{{"id": {session}, "current_node": "n", "mapping": {{"n": {node}}}}}'

    file = folder / "conversations.json"
    text = f"[{talk(raw('c'), raw('g'), raw('Good words'), '1.7e9')}, {talk(id, id, value, at)}]"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    return file


def notes(folder: Path, value: str, id: str = '"x"', at: str = "null") -> Path:
    """The value of JSON as plain text in a note."""
    vault = folder / "vault"
    vault.mkdir(exist_ok=True)
    (vault / "a.md").write_text("---\npermalink: a\n---\n- [fact] Good words\n", "utf-8")
    try:
        said, place = json.loads(value), json.loads(id)
    except (ValueError, RecursionError):
        said, place = value, id
    head = f"---\npermalink: {place}\ntitle: {place}\ncreated: {at}\n---\n"
    (vault / "b.md").write_bytes(f"{head}- [fact] {said}\n".encode("utf-8", "surrogatepass"))
    (vault / "c.md").write_text("---\npermalink: c\n---\n- [fact] Last words\n", "utf-8")
    return vault


MAKERS: dict[str, Callable[..., Path]] = {
    "basic-memory": notes,
    "chatgpt": chatgpt,
    "mcp-memory": mcp,
    "mem0": mem0,
}


def brought(memory: Memory, path: Path, format: str) -> tuple[Imported, set[str]]:
    """What an import reported, twice the same, and what a memory holds then."""
    planned = memory.admin.import_(path, format, dry_run=True)
    done = memory.admin.import_(path, format)
    assert (planned.kept, planned.refused) == (done.kept, done.refused)
    digest = memory.admin.digest()
    again = memory.admin.import_(path, format)
    assert (again.kept, again.changed, again.forgotten) == (0, 0, 0)
    assert memory.admin.digest() == digest
    said = {record.text for record in memory.list(limit=1_000)}
    return done, said | {episode.text for episode in memory.sessions.episodes(limit=1_000)}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "value",
    ["[" * DEEP, "[" * DEEP + "]" * DEEP, '{"a":' * DEEP + "1" + "}" * DEEP, "NaN", "1e999",
     "9" * 5_000, "null", "{}", "[]", "true", '"\\u0000"', '"\\ud800"', '""', '" "'],
)  # fmt: skip
def test_a_value_that_no_text_has(value: str, format: str, memory: Memory, tmp_path: Path) -> None:
    done, said = brought(memory, MAKERS[format](tmp_path, value), format)
    assert "Good words" in said
    if format != "basic-memory":  # in a note anything is a text
        told = done.refused + sum(done.left_out.values())
        assert told >= 1 or "\ufffd" in said
    if format in ("basic-memory", "mcp-memory"):
        assert "Last words" in said


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "id",
    ["../../../etc/passwd", "/etc/passwd", "..\\..\\x", "a\u0000b", "x" * 100_000, "\u202eevil",
     "a\nb", "@gone", "good@ended-1", "c:\\x", "%2e%2e/x"],
)  # fmt: skip
def test_an_id_that_leads_elsewhere(id: str, format: str, memory: Memory, tmp_path: Path) -> None:
    before = set(tmp_path.parent.iterdir())
    _, said = brought(memory, MAKERS[format](tmp_path, raw("Odd words"), raw(id)), format)
    assert {"Good words", "Odd words"} <= said
    assert set(tmp_path.parent.iterdir()) == before
    for record in memory.list(limit=1_000):
        assert len(record.id) <= 128
        assert not set(record.id) & set("\\\x00\n%")


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "at",
    ['"0001-01-01T00:00:00+23:59"', '"9999-12-31T23:59:59-23:59"', '"-5000-01-01"', "-1e18",
     "1e18", "253402300800", '"yesterday"', '"10000-01-01"', "1e308", "{}", "[]"],
)  # fmt: skip
def test_a_date_that_is_none(at: str, format: str, memory: Memory, tmp_path: Path) -> None:
    done, said = brought(memory, MAKERS[format](tmp_path, raw("Odd words"), at=at), format)
    assert {"Good words", "Odd words"} <= said
    assert all("was not kept as it is" in one.why for one in done.problems)


@pytest.mark.parametrize("format", FORMATS)
def test_an_item_of_ten_megabytes(format: str, memory: Memory, tmp_path: Path) -> None:
    done, said = brought(memory, MAKERS[format](tmp_path, raw("long " * 2_000_000)), format)
    assert "Good words" in said
    cut = any(text.startswith("long long") for text in said)
    assert cut or done.refused == 1
    assert all(problem.where and problem.why for problem in done.problems)


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_that_is_of_another_format(format: str, memory: Memory, tmp_path: Path) -> None:
    for other in FORMATS:
        if other == format:
            continue
        folder = tmp_path / other
        folder.mkdir()
        path = MAKERS[other](folder, raw("Odd words"))
        with suppress(RecollectError):  # a clear error is as good
            assert memory.admin.import_(path, format).kept == 0
        assert memory.list() == []


@pytest.mark.parametrize("format", FORMATS)
def test_symbolic_links_are_counted_and_not_followed(
    format: str, memory: Memory, tmp_path: Path
) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    made = MAKERS[format](folder, raw("Odd words"))
    secret = outside / "secret.md"
    secret.write_text("---\npermalink: s\n---\n- [fact] A secret\n", "utf-8")
    at = made if made.is_dir() else folder
    (at / "secret.md").symlink_to(secret)
    (at / "more").symlink_to(outside)
    done = memory.admin.import_(at, format)
    assert done.left_out["symbolic links"] == 2
    assert "A secret" not in {record.text for record in memory.list(limit=1_000)}


@pytest.mark.parametrize("format", ["chatgpt", "mcp-memory", "mem0"])
def test_an_archive_that_is_damaged_in_the_middle_says_where_it_ends(
    format: str, memory: Memory, tmp_path: Path
) -> None:
    good = MAKERS[format](tmp_path, raw("Odd words"))
    file = tmp_path / "export.zip"
    names = ["conversations-000.json", "conversations-001.json"] if format == "chatgpt" else []
    names = names or [f"0{good.suffix}", f"1{good.suffix}"]
    with zipfile.ZipFile(file, "w") as made:
        for name in names:
            made.writestr(name, good.read_bytes())
    damaged = file.read_bytes()
    middle = damaged.rindex(b"Good words")
    file.write_bytes(damaged[:middle] + b"Evil words" + damaged[middle + 10 :])
    if format == "mcp-memory":  # it is read twice, so the damage is found before anything is stored
        with pytest.raises(RecollectError, match="could not be read"):
            memory.admin.import_(file, format)
        assert memory.list() == []
        return
    done = memory.admin.import_(file, format)
    assert done.kept == 2
    assert (done.refused, done.problems[0].where) == (1, "the import ends early")
    assert "could not be read" in done.problems[0].why


@pytest.mark.parametrize("format", ["chatgpt", "mcp-memory", "mem0"])
def test_a_file_that_is_cut_off_gives_what_comes_before(
    format: str, memory: Memory, tmp_path: Path
) -> None:
    file = MAKERS[format](tmp_path, raw("Odd words"))
    data = file.read_bytes()
    file.write_bytes(data[: data.index(b"Odd words") + 3])
    done, said = brought(memory, file, format)
    assert "Good words" in said
    assert (done.refused, "Odd words" in said) == (1, False)
