"""S3: what superseding does to pages and reads. The call under the seed's own name is beside it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recollect import Memory, NotFound


@pytest.fixture(name="memory")
def _memory() -> Iterator[Memory]:
    with Memory.open(":memory:", embedder="none") as memory:
        yield memory


def test_a_changed_fact_is_struck_and_its_successor_appended(memory: Memory) -> None:
    old = memory.remember("User works at Old Corp.", about="user-profile", tags=["work"])
    memory.remember("User is based in Shanghai.", about="user-profile")
    new = memory.remember("User joined Acme Corp.", replaces=old.id, reason="a new job")
    page = memory.pages.read("user-profile")
    # with a reason, which the history keeps
    assert memory.history(old.id)[-1].note == "a new job"
    # S3-208 S3-209: struck through, and its successor named in its heading
    heading = f"{{id: {old.id}}} #work #superseded-by:{new.id}\n"
    assert f"{heading}~~User works at Old Corp.~~\n" in page
    # S3-211: the replacement is the last entry, in the same file
    assert page.rstrip().endswith(f"{{id: {new.id}}} #work\nUser joined Acme Corp.")


def test_the_old_entry_is_hidden_and_nothing_is_deleted(memory: Memory) -> None:
    first = memory.remember("User works at Old Corp.", about="user-profile")
    second = memory.remember("User works at New Corp.", replaces=first.id)
    third = memory.remember("User works at Acme Corp.", replaces=second.id)
    # S3-210: hidden from default search
    assert [hit.id for hit in memory.recall("Where does the user work?")] == [third.id]
    with pytest.raises(NotFound, match="replaced"):
        memory.get(first.id)
    # S3-212: nothing is deleted
    assert [memory.history(one.id)[0].record.text for one in (first, second)] == [
        "User works at Old Corp.",
        "User works at New Corp.",
    ]
    # S3-213: reads that include superseded records show the chain
    found = memory.recall("Where does the user work?", include=["replaced"])
    assert {hit.id for hit in found} == {first.id, second.id, third.id}
    listed = {one.id: one.replaced_by for one in memory.list(include=["replaced"])}
    assert listed == {first.id: second.id, second.id: third.id, third.id: None}


def test_only_the_named_entry_is_struck_if_its_words_occur_earlier(memory: Memory) -> None:
    words = "The port is 5432."
    first = memory.remember(words, about="project:Apollo", key="test.port")
    longer = memory.remember(f"Bob said: {words}", about="project:Apollo")
    second = memory.remember(words, about="project:Apollo", key="live.port")
    new = memory.remember("The port is 6432.", replaces=second.id)
    page = memory.pages.read("project-apollo")
    # S3-208: the original struck the first place where the words stood
    assert page.count("~~") == 2
    assert f"{{id: {first.id}}}\n{words}\n" in page
    assert f"{{id: {longer.id}}}\nBob said: {words}\n" in page
    assert f"{{id: {second.id}}} #superseded-by:{new.id}\n~~{words}~~\n" in page
