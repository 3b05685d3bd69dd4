"""Notes of Basic Memory: names, kinds, order, links, and what another export changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import Memory
from recollect.exchange.items import RecordItem, named
from recollect.memory.exchange.imports import Importing
from recollect.model.values import Imported


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory.open(tmp_path / "store", embedder="none")


def note(folder: Path, name: str, body: str, **fields: str) -> Path:
    """Writes a note with frontmatter."""
    place = name.removesuffix(".md")
    given = {"title": place.rpartition("/")[2], "permalink": place} | fields
    head = "".join(f"{field}: {value}\n" for field, value in given.items())
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\n{head}---\n{body}", "utf-8")
    return folder


def holding(memory: Memory) -> set[str]:
    """The statements that hold."""
    return {record.text for record in memory.list(limit=1_000) if record.text != record.about}


def counts(done: Imported) -> tuple[int, ...]:
    return done.kept, done.changed, done.forgotten, done.known, done.missing, done.refused


def test_a_title_is_no_fact(memory: Memory, tmp_path: Path) -> None:
    body = "- [lead] Amina leads the writing of it\n- [venue] It goes to Nature\n"
    memory.admin.import_(
        note(tmp_path / "v", "glacier.md", body, title="Glacier Paper", type="project")
    )
    found = memory.recall("who leads the glacier paper?")
    assert found[0].text == "Amina leads the writing of it"
    assert "project: Glacier Paper" not in [hit.text for hit in memory.recall("glacier paper")]
    (name,) = memory.list(filter="kind = 'entity'")
    assert name.text == name.about == "project: Glacier Paper"
    shown = memory.recall("glacier paper", include=["transient"])
    assert name.id in [hit.record.id for hit in shown if hit.record]
    why = memory.admin.why_not(name.id, "glacier paper")
    assert "only the name" in why.detail


def test_notes_of_a_kind_have_pages_of_that_kind_in_their_order(
    memory: Memory, tmp_path: Path
) -> None:
    facts = [
        f"- [fact] {word} is number {place}" for place, word in enumerate("zebra ape cat".split())
    ]
    fields = {"title": "Dr Amina Yusuf", "type": "Person", "modified": "2025-03-04T10:00:00+01:00"}
    memory.admin.import_(note(tmp_path / "v", "amina.md", "\n".join(facts), **fields))
    memory.pages.render(tmp_path / "pages")
    text = (tmp_path / "pages" / "person-dr-amina-yusuf.md").read_text("utf-8")
    places = [text.index(f"number {place}") for place in range(3)]
    assert places == sorted(places)
    assert text.count("## [2025-03-04T09:00:00]") == 4  # with its name
    assert "# Dr Amina Yusuf" in text


def test_a_changed_observation_replaces_the_old_one(memory: Memory, tmp_path: Path) -> None:
    vault = tmp_path / "v"
    memory.admin.import_(
        note(vault, "a.md", "- [deadline] It is due on 1 May\n- [fact] It is long\n")
    )
    note(vault, "a.md", "- [fact] It is long\n- [deadline] It is due on 8 May #hard\n")
    assert counts(memory.admin.import_(vault)) == (0, 1, 0, 2, 0, 0)
    assert holding(memory) == {"It is due on 8 May", "It is long"}
    (old,) = (one for one in memory.list(include=["replaced"]) if one.replaced_by)
    assert old.text == "It is due on 1 May"
    new = memory.get(str(old.replaced_by))
    assert (new.text, new.tags) == ("It is due on 8 May", ("hard",))  # type: ignore[union-attr]


def test_the_only_observation_in_quite_other_words(memory: Memory, tmp_path: Path) -> None:
    vault = note(tmp_path / "v", "a.md", "- [deadline] 1 May\n")
    memory.admin.import_(vault)
    note(vault, "a.md", "- [deadline] when the snow melts\n")
    assert counts(memory.admin.import_(vault)) == (0, 1, 0, 1, 0, 0)
    assert holding(memory) == {"when the snow melts"}


def test_what_goes_away_and_comes_back_any_number_of_times(memory: Memory, tmp_path: Path) -> None:
    bodies = ["- [fact] Tea is green\n- led_by [[b]]\n", "- [fact] Tea is black\n", "Nothing\n"]
    expected = [{"Tea is green", "a led by b"}, {"Tea is black"}, {"Nothing"}]
    vault = note(tmp_path / "v", "b.md", "")
    for turn in (0, 1, 0, 2, 0, 1, 2, 1, 0):
        memory.admin.import_(note(vault, "a.md", bodies[turn]))
        assert holding(memory) == expected[turn]
        links = sum(
            len(memory.why(record.id).links) for record in memory.list(filter="about = 'a'")
        )
        assert links == (1 if turn == 0 else 0)
        assert memory.admin.import_(vault).changed == 0


def test_what_a_person_forgot_stays_forgotten(memory: Memory, tmp_path: Path) -> None:
    vault = note(tmp_path / "v", "a.md", "- [fact] Tea is green\n- [tip] Drink it hot\n")
    memory.admin.import_(vault)
    (tip,) = memory.list(filter="kind = 'tip'")
    memory.forget(tip.id)
    for body in ("- [fact] Tea is green\n", "- [fact] Tea is green\n- [tip] Drink it hot\n"):
        memory.admin.import_(note(vault, "a.md", body))
        assert holding(memory) == {"Tea is green"}


def test_a_persons_correction_is_not_ended(memory: Memory, tmp_path: Path) -> None:
    vault = note(tmp_path / "v", "a.md", "- [fact] Tea is green\n- [tip] Drink it hot\n")
    memory.admin.import_(vault)
    fact, tip = (memory.list(filter=f"kind = '{kind}'")[0] for kind in ("fact", "tip"))
    memory.revise(fact.id, "Tea is brown")
    memory.revise(tip.id, tip.text, data={"mine": 1})  # the same words, now a person's
    done = memory.admin.import_(note(vault, "a.md", "- [fact] Tea is black\n"))
    assert (done.changed, done.forgotten, done.refused) == (0, 0, 2)
    whys = " ".join(problem.why for problem in done.problems)
    assert "changed both there and here" in whys
    assert "more is believed of it here" in whys
    assert holding(memory) == {"Tea is brown", "Drink it hot"}
    assert {memory.get(one.id).trust for one in (fact, tip)} == {"person"}


def test_an_unverified_import_ends_nothing(memory: Memory, tmp_path: Path) -> None:
    vault = note(tmp_path / "v", "a.md", "- [fact] Tea is green\n- [tip] Drink it hot\n")
    memory.admin.import_(vault)
    done = memory.admin.import_(note(vault, "a.md", "- [fact] Tea is black\n"), hold=True)
    assert (done.kept, done.forgotten, done.missing, done.waiting) == (1, 0, 2, True)
    assert holding(memory) == {"Tea is green", "Drink it hot"}
    (held,) = memory.list(filter="status = 'waiting'", include=["waiting"])
    assert held.text == "Tea is black"
    memory.admin.import_(vault)  # a person trusts it now
    assert holding(memory) == set()
    assert memory.get(held.id).status == "waiting"  # it still waits for its review


def test_a_link_to_a_note_that_comes_later(memory: Memory, tmp_path: Path) -> None:
    vault = note(
        tmp_path / "v", "a.md", "We asked [[Dr Bo|her]] and [[Cy#later]].\n- knows [[Dr Bo]]\n"
    )
    waiting = {"links to something that is not there yet": 3}
    for _ in range(2):
        assert memory.admin.import_(vault, dry_run=True).left_out == waiting
        done = memory.admin.import_(vault)
        assert (done.links, done.left_out, done.refused) == (0, waiting, 0)
    assert "a knows Dr Bo" in holding(memory)
    note(vault, "people/bo.md", "She hikes.\n", title="Dr Bo")
    done = memory.admin.import_(vault)
    assert (done.links, done.left_out) == (2, {"links to something that is not there yet": 1})


def test_notes_of_one_title_stay_apart(memory: Memory, tmp_path: Path) -> None:
    vault = tmp_path / "v"
    for place, day in (("work/log", 2), ("home/log", 1), ("old/log", 3)):
        created = f"2025-01-0{day}"
        note(vault, f"{place}.md", f"- [status] done in {place}\n", title="Log", created=created)
    note(vault, "c.md", "- follows [[Log]]\n- cites [[work/log]]\n")
    done = memory.admin.import_(vault)
    assert (done.refused, done.links) == (0, 2)
    assert {one.about for one in memory.list(filter="kind = 'status'")} == {
        "Log",
        "work/log (Log)",
        "old/log (Log)",
    }
    assert "c follows Log" in holding(memory)
    assert "c cites work/log (Log)" in holding(memory)
    note(vault, "new/log.md", "- [status] open\n", title="Log", created="2025-02-01")
    assert counts(memory.admin.import_(vault)) == (2, 0, 0, done.kept, 0, 0)


def test_another_vault_with_a_note_of_that_title_ends_nothing(
    memory: Memory, tmp_path: Path
) -> None:
    memory.admin.import_(
        note(tmp_path / "one", "todo.md", "- [task] Buy milk\n", permalink="one/todo")
    )
    done = memory.admin.import_(
        note(tmp_path / "two", "todo.md", "- [idea] Paint a boat\n", permalink="two/todo")
    )
    assert (done.forgotten, done.missing) == (0, 1)
    assert holding(memory) == {"Buy milk", "Paint a boat"}


def test_prose_and_marks_are_no_relations_and_no_categories(memory: Memory, tmp_path: Path) -> None:
    body = """- Ada went to [[Porto]] by train
- "is part of" [[Trip]] (in June)
- [00:01:02] The talk begins
- [/] in progress
- [ ] buy *tickets*

```
- [code] stays [[whole]]
```
"""
    done = memory.admin.import_(
        note(tmp_path / "v", "reise.md", body, title="Große Reise", type="Notiz")
    )
    assert done.refused == 0
    assert holding(memory) == {
        "Ada went to [[Porto]] by train",
        "Große Reise is part of Trip (in June)",
        "[00:01:02] The talk begins",
        "[/] in progress",
        "buy *tickets*",
        "```\n- [code] stays [[whole]]\n```",
    }
    assert done.left_out == {"links to something that is not there yet": 2}


def test_a_note_that_is_gone_is_counted_and_stays(memory: Memory, tmp_path: Path) -> None:
    vault = note(tmp_path / "v", "a.md", "- [fact] Tea is green\n")
    memory.admin.import_(note(vault, "b.md", "- [fact] Milk is white\n"))
    (vault / "b.md").unlink()
    assert counts(memory.admin.import_(vault)) == (0, 0, 0, 2, 2, 0)
    assert holding(memory) == {"Tea is green", "Milk is white"}


def test_what_an_earlier_release_imported_is_not_doubled(memory: Memory, tmp_path: Path) -> None:
    """It gave a note its title and type as a text, and nothing but the title to know it by."""
    about = {"about": "Dr Bo", "where": "bo.md"}
    importing = Importing(memory._handle, "basic-memory")
    importing.take(
        [
            RecordItem(
                id=named("basic-memory", "note", "dr bo"),
                text="Dr Bo (person)",
                kind="entity",
                **about,  # type: ignore[arg-type]
            ),
            *(
                RecordItem(
                    id=named("basic-memory", "said", "Dr Bo", f"[{kind}] {text}"),
                    text=text,
                    kind=kind,
                    **about,  # type: ignore[arg-type]
                )
                for kind, text in (("sport", "She hikes"), ("deadline", "Due on 1 May"))
            ),
        ]
    )
    body = "- [sport] She hikes\n- [deadline] Due on 8 May\n"
    vault = note(tmp_path / "v", "bo.md", body, title="Dr Bo", type="person")
    assert counts(memory.admin.import_(vault)) == (0, 3, 0, 0, 0, 0)
    assert holding(memory) == {"She hikes", "Due on 8 May"}
    assert {record.about for record in memory.list()} == {"person: Dr Bo"}
    assert counts(memory.admin.import_(vault)) == (0, 0, 0, 3, 0, 0)
