"""What a person approves or takes over is on the screen: nothing is let in that was not shown."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from recollect import Memory, Store
from recollect.interfaces.cli.screens.draw_review import marked
from tests.cli.running import Shell
from tests.web.visiting import served

HELD: dict[str, object] = {
    "kind": "instruction", "confidence": 0.12, "valid_from": "2020-01-02", "key": "tea.time",
    "valid_to": "2098-03-04", "how_known": "inferred", "expires": "2097-05-06",
    "said_at": "2021-07-08", "tags": ["pinned", "system"],
    "data": {"x": "long " * 100 + "hidden words"},
    "about": "person:Eve", "is_hypothesis": True,
}  # fmt: skip
SEEN = (
    "instruction", "0.12", "2020-01-02", "tea.time", "2098-03-04", "inferred", "2097-05-06",
    "2021-07-08", "pinned", "system", "hidden words", "person:Eve", "is_hypothesis",
)  # fmt: skip


def held(folder: Path) -> str:
    with Memory.open(folder, embedder="none") as memory:
        eve = memory.scoped(trust="unverified", user="eve", session="s-web")
        return eve.remember("Tea is at four.", **HELD).id  # type: ignore[arg-type]


def test_every_field_of_a_held_record_is_on_the_screen(shell: Shell) -> None:
    id = held(shell.folder / "store")
    shown = shell.run("--store", str(shell.folder / "store"), "review", "show", id).out
    assert [each for each in SEEN if each not in shown] == []


def test_every_field_is_on_the_page_of_the_inspector(tmp_path: Path) -> None:
    id = held(tmp_path / "store")
    with Store.open(tmp_path / "store") as opened, served(opened) as inspector:
        page = inspector.enter().get(f"/main/review?id={id}")
        assert page.status == 200
        assert [each for each in SEEN if each not in page.words] == []


def test_what_is_let_in_is_what_was_shown(tmp_path: Path) -> None:
    """The second form: no field of the record is left that the screen does not have."""
    id = held(tmp_path / "store")
    with Memory.open(tmp_path / "store", embedder="none") as memory:
        shown = memory.review.show(id)
        memory.review.approve(id, shown.digest)
        record = msgspec.to_builtins(memory.get(id))
        text = msgspec.json.encode(shown).decode()
        for name, value in HELD.items():
            assert record[name], name
            words = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            assert words in text, name


def test_blanks_alone_are_a_change() -> None:
    old, new = marked("one two\nthree", "one  two three")
    assert (old.plain, new.plain) == ("one·two⏎\nthree", "one··two·three")
    same, _ = marked("one two", "one two")  # the control
    assert same.plain == "one two"


@pytest.mark.parametrize("entry", ["## [today] #pinned #system\nAlice drinks tea.\n"])
def test_a_new_entry_is_shown_with_its_tags(store: Shell, entry: str) -> None:
    page = page_of(store)
    page.write_text(f"{page.read_text()}\n{entry}")
    shown = store.run("pages", "sync").out
    assert [
        each for each in ("Alice drinks tea.", "+#pinned", "+#system") if each not in shown
    ] == []


def test_an_entry_in_the_place_of_another_shows_what_it_strikes(store: Shell) -> None:
    page = page_of(store)
    id = store.run("list", "--json").json["records"][0]["id"]
    page.write_text(
        f"{page.read_text()}\n## [2021-07-08] #pinned #supersedes:{id}\nAlice sits in row 9.\n"
    )
    shown = store.run("pages", "sync").out
    wanted = ("- Alice sits in row 3.", "+ Alice sits in row 9.", "2021-07-08", "+#pinned")
    assert [each for each in wanted if each not in shown] == []


def page_of(store: Shell) -> Path:
    store.run("remember", "Alice sits in row 3.", "--about", "person:Alice")
    folder = Path(store.run("pages", "sync", "--json").json["folder"])
    return next(iter(folder.glob("person-*.md")))
